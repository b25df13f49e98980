"""The sentences of the papers, from configs/published/sentences, one YAML per paper; and further observations."""

from __future__ import annotations

import re
from functools import cache
from typing import Annotated

from pydantic import Field

from mpu_bench import resources, yaml_text
from mpu_bench.config.rules import Observation, Sentence, check_statement
from mpu_bench.document import Strict
from mpu_bench.errors import ConfigError

_FOLDER = "configs/published/sentences"


class File(Strict):
    """The sentences of one paper, in its order, and what its experiments showed that it does not say."""

    sentences: Annotated[list[Sentence], Field(min_length=1)]
    seen: Annotated[list[Observation], Field(default_factory=list)]


def sentences(paper: str) -> list[Sentence]:
    """Return the sentences of a paper, those without a statement among them; none of an unknown paper.

    Raises
    ------
    ConfigError
        If its file cannot be read, names what does not exist, or has a name twice.
    """
    return _read(paper).sentences


def observations(paper: str) -> list[Observation]:
    """Return what was seen in a paper's experiments, and those that explain them; raises as `sentences`."""
    return _read(paper).seen


@cache
def _read(paper: str) -> File:
    path = resources.bundled(_FOLDER) / f"{paper}.yaml"
    if not re.fullmatch("[a-z0-9-]{1,100}", paper) or not path.is_file():
        return File.model_construct(sentences=[], seen=[])
    file = yaml_text.read(path, ConfigError)
    read: File = file.root.validated(File)
    names, configs = set[str](), resources.config_names()
    every: list[Sentence | Observation] = [*read.sentences, *read.seen]
    for entry, node in zip(every, [*file["sentences"].entries(), *file["seen"].entries()], strict=True):
        if entry.name in names:
            raise node["name"].error(f"there is another sentence '{entry.name}' above")
        names.add(entry.name)
        node["experiments"].check_names("config", configs)
        if entry.statement is not None:
            check_statement(entry.statement, node["statement"], None)
    return read


def of_experiment(paper: str, experiment: str) -> list[Sentence]:
    """Return the sentences of a paper that the results of an experiment answer, or help to."""
    return [sentence for sentence in sentences(paper) if experiment in sentence.experiments]
