"""The sentences of the papers, from configs/published/sentences, one YAML per paper."""

from __future__ import annotations

import re
from functools import cache
from typing import Annotated

from pydantic import Field

from mpu_bench import document, resources
from mpu_bench.config.rules import Sentence, check_statement
from mpu_bench.document import Strict
from mpu_bench.errors import ConfigError

_FOLDER = "configs/published/sentences"


class File(Strict):
    """The sentences of one paper, in its order."""

    sentences: Annotated[list[Sentence], Field(min_length=1)]


@cache
def sentences(paper: str) -> tuple[Sentence, ...]:
    """Return the sentences of a paper, those without a statement among them; none of an unknown paper.

    Raises
    ------
    ConfigError
        If its file cannot be read, names what does not exist, or has a name twice.
    """
    path = resources.bundled(_FOLDER) / f"{paper}.yaml"
    if not re.fullmatch("[a-z0-9-]{1,100}", paper) or not path.is_file():
        return ()
    file = document.read(path, ConfigError)
    read: File = file.root.validated(File)
    names: set[str] = set()
    for position, sentence in enumerate(read.sentences):
        node = file["sentences"][position]
        if sentence.name in names:
            raise node["name"].error(f"there is another sentence '{sentence.name}' above")
        names.add(sentence.name)
        for index, experiment in enumerate(sentence.experiments):
            if experiment not in resources.config_names():
                raise node["experiments"][index].unknown("config", experiment, resources.config_names())
        if sentence.statement is not None:
            check_statement(sentence.statement, node["statement"], None)
    return tuple(read.sentences)


def of_experiment(paper: str, experiment: str) -> list[Sentence]:
    """Return the sentences of a paper that the results of an experiment answer, or help to."""
    return [sentence for sentence in sentences(paper) if experiment in sentence.experiments]
