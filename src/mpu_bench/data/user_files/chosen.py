"""Datasets that a config names by their file, without a card: ``dataset: {file: mine.csv, label: y}``."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from mpu_bench.data.cards import catalog
from mpu_bench.data.cards.schema import can_name_a_file
from mpu_bench.data.download.user_files import identity
from mpu_bench.data.user_files.adding import Wishes, look, name_of
from mpu_bench.document import Label
from mpu_bench.errors import DataError


class OwnFile(Wishes):
    """A dataset as a config names it by its file: with a name for tables, if that is chosen."""

    file: Annotated[str, Field(min_length=1, max_length=4096)]
    name: Label | None = Field(default=None, alias="as")
    augment: float | None = None

    def options(self, folder: Path, origin: str) -> tuple[str, dict[str, Any]]:
        """Return what `options_of` does, of files that are found from a folder."""
        test = None if self.test is None else str(folder / self.test)
        wishes = Wishes(**self.model_dump(include=set(Wishes.model_fields)) | {"test": test})
        return options_of(folder / self.file, wishes, origin, self.name)


def options_of(path: Path, wishes: Wishes, origin: str, label: str | None) -> tuple[str, dict[str, Any]]:
    """Return the name of a file's dataset, and the options with which `catalog.card` knows it.

    A file that has not changed is looked at once in a process.

    Parameters
    ----------
    path : Path
    wishes : Wishes
    origin : str
        Where it is asked for, for messages.
    label : str or None
        What it is called in tables, if that is chosen.

    Raises
    ------
    DataError
        If the file is no dataset, or its name is that of one of the project.
    """
    states = _states(path, wishes)
    card = json.loads(_looked(str(path), wishes.model_dump_json(), states)[0])
    name = label if label and can_name_a_file(label) else name_of(path)
    if name in catalog.names():
        raise DataError(f"'{name}' is the name of another dataset; rename this one with as: NAME")
    return name, {catalog.CARD: {**card, "origin": origin}}


def remarks(path: Path, wishes: Wishes) -> tuple[list[tuple[str, str]], list[str]]:
    """Return the columns of a file that are left out, each with the reason, and what else is to be told of it.

    Raises
    ------
    DataError
        As of `options_of`.
    """
    _, left_out, notes = _looked(str(path), wishes.model_dump_json(), _states(path, wishes))
    return [*left_out], [*notes]


def _states(path: Path, wishes: Wishes) -> tuple[tuple[str, object], ...]:
    return tuple((str(each), _state(each)) for each in (path, *([Path(wishes.test)] if wishes.test else [])))


def _state(path: Path) -> object:
    try:
        return identity(os.stat(path))  # noqa: PTH116 - of a name that no file can have, too
    except (OSError, ValueError):
        return None  # whose reader says why


@lru_cache(maxsize=32)
def _looked(path: str, wishes: str, _states: Any) -> tuple[str, list[tuple[str, str]], Sequence[str]]:
    added = look(Path(path), Wishes.model_validate_json(wishes))
    return json.dumps(added.card), added.left_out, added.notes
