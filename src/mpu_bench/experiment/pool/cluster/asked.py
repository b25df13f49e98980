"""What a client sends to a worker of a cluster with a run, and what it gets back.

Nothing in it depends on the client's disk: plugins and models travel as bytes, cards of the user's own as data.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from mpu_bench.config.choices import DatasetChoice
from mpu_bench.data.cards import catalog
from mpu_bench.data.download.address import is_web
from mpu_bench.data.download.cache import DataHome
from mpu_bench.experiment.messages import Task


@dataclass(frozen=True)
class About:
    """What a worker says of itself: the machine it is on, and what a run's result may depend on.

    ``machine`` is the same for workers that share a host and its data home; ``versions`` are those of packages by
    name, of Python, and of the code of mpu-bench.
    """

    machine: str
    host: str
    versions: Mapping[str, str]


@dataclass(frozen=True)
class Asked:
    """A run for a worker.

    Attributes
    ----------
    key : str
        Of this attempt to make it.
    topic : str
        Of the events that tell how it goes.
    task : Task
        Its paths are the client's.
    plugins : mapping of str to bytes
        The files of the user's own, by their paths.
    threads, slots, sharers : int
        Of a run; how many runs the worker makes at once; how many runs share the machine's memory.
    data_bytes : int
        Of the prepared arrays.
    """

    key: str
    topic: str
    task: Task
    plugins: Mapping[Path, bytes] = field(default_factory=dict)
    threads: int = 1
    slots: int = 1
    sharers: int = 1
    data_bytes: int = 0


@dataclass(frozen=True)
class Made:
    """What came of a run.

    Attributes
    ----------
    outcome : bytes
        The message `Finished` of the record and the checkpoints, as a line.
    environment : mapping
        The machine and the versions.
    model : bytes
        The saved model, if one was asked for.
    starved : bool
        Whether it ended because the machine had no memory left.
    """

    outcome: bytes
    environment: Mapping[str, Any]
    model: bytes = b""
    starved: bool = False


@dataclass(frozen=True)
class Refused:
    """Why a machine cannot make a run that another may be able to make."""

    what: Literal["data", "memory"]
    why: str


def portable_options(dataset: DatasetChoice) -> Mapping[str, Any]:
    """Return the options of a dataset where no file of the client's is: a card of the user's own is one of them."""
    if catalog.CARD in dataset.options or dataset.name in catalog.shipped_names():
        return dataset.options
    return {catalog.CARD: catalog.whole(dataset.name), **dataset.options}


def for_another_machine(task: Task, options: Mapping[str, Any]) -> Task:
    """Return a task whose dataset has other options, and which knows nothing of the speed of this machine."""
    run = replace(task.run, dataset=replace(task.run.dataset, options=options))
    return replace(task, run=run, fastest_probe=math.inf)


def with_home(task: Task, folder: Path, mirrors: tuple[str, ...]) -> Task:
    """Return a task for a machine whose data are in a folder; of the client's mirrors those it can reach are kept."""
    kept = tuple(each for each in task.home.mirrors if is_web(each) or Path(each).is_dir())
    home = DataHome(folder, (*kept, *mirrors), task.home.offline, task.home.limit, remote=True)
    return replace(task, home=home)


def with_plugins(task: Task, paths: tuple[Path, ...]) -> Task:
    """Return a task whose plugins are elsewhere."""
    settings = replace(task.run.settings, plugins=paths)
    return replace(task, run=replace(task.run, settings=settings))
