"""Datasets that a config names by their file, without a card: ``dataset: {file: mine.csv, label: y}``."""

from __future__ import annotations

import json
import os
from functools import lru_cache
from pathlib import Path
from typing import Any

from mpu_bench.data.cards import catalog
from mpu_bench.data.cards.schema import can_name_a_file
from mpu_bench.data.own.adding import Wishes, look, name_of
from mpu_bench.errors import DataError


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
    paths = [path, *([Path(wishes.test)] if wishes.test else [])]
    states = tuple((str(each), _state(each)) for each in paths)
    card = json.loads(_looked(str(path), wishes.model_dump_json(), states))
    name = label if label and can_name_a_file(label) else name_of(path)
    if name in catalog.names():
        raise DataError(f"'{name}' is the name of another dataset; call this one otherwise with as: NAME")
    return name, {catalog.CARD: {**card, "origin": origin}}


def _state(path: Path) -> tuple[int, int]:
    try:
        state = os.stat(path)  # noqa: PTH116 - of a name that no file can have, too
    except (OSError, ValueError):
        return 0, 0  # whose reader says why
    return state.st_size, state.st_mtime_ns


@lru_cache(maxsize=32)
def _looked(path: str, wishes: str, _states: Any) -> str:
    return json.dumps(look(Path(path), Wishes.model_validate_json(wishes)).card)
