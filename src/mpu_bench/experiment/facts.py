"""What a results folder remembers of its config."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

from mpu_bench import resources
from mpu_bench.config.choices import Experiment
from mpu_bench.errors import StoreError
from mpu_bench.results.store import Store

_DIGITS = 16  # of a hash


def facts_of(experiment: Experiment, folder: Path) -> dict[str, Any]:
    """Return what the results folder of an experiment remembers of its config."""
    return {
        "name": experiment.name,
        "config": None if experiment.given else name_of(experiment),
        "given": experiment.given or None,
        "config_keys": _keys_of(experiment, folder),
        "options": list(experiment.options),
        "description": experiment.description,
        "paper": experiment.paper,
        "judging": experiment.judging.model_dump(mode="json", by_alias=True, exclude_unset=True),
        "figures": [drawing.model_dump(mode="json", exclude_unset=True) for drawing in experiment.figures],
    }


def check_config(experiment: Experiment, store: Store) -> None:
    """Reject a second config of one name, whose results would stand among those of the first.

    An edited file is the same config still, and so is one that was moved with its results, or copied.

    Raises
    ------
    StoreError
        With the fix.
    """
    facts = store.facts()
    known, name = facts.get("config_keys"), facts.get("name")
    if known is not None and not set(known) & set(_keys_of(experiment, store.folder)):
        config = facts.get("config") or "given by a program"
        where = "of mpu-bench itself" if config == name else f"({config})"
        raise StoreError(
            f"{store.folder}: holds results of another config named {name} {where}; "
            "give one of them another name:, or choose another folder with --results"
        )


def name_of(experiment: Experiment) -> str:
    """Return what a config is called on the command line: its name if it comes with the project, else its file."""
    source = Path(experiment.source)
    shipped = resources.config_path(source.stem)
    return source.stem if shipped and source.resolve() == shipped.resolve() else experiment.source


def _keys_of(experiment: Experiment, folder: Path) -> list[str]:
    """Return by what a config is known again: its path, seen from the results folder, and its content.

    Both are hashes: a path may hold the name of a user.
    """
    if experiment.given:  # whatever a program gives by this name is the same config, edited
        return [_hash(f"given {experiment.name}".encode()), _hash(experiment.given.encode())]
    name, source = name_of(experiment), Path(experiment.source)
    is_own = name == experiment.source
    path = os.path.relpath(source.resolve(), folder.resolve()) if is_own else f"shipped {name}"
    return [_hash(path.encode()), _hash(source.read_bytes())]


def _hash(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()[:_DIGITS]
