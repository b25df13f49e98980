"""What a pool sends to a worker, and what it hears from it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from mpu_bench.config.schema import Limits
from mpu_bench.data.download.cache import DataHome
from mpu_bench.experiment.run import Run


@dataclass(frozen=True)
class Task:
    """A run that can be made: the key of its result, what it may take, and what it needs of other runs.

    ``optimum`` is what the run's objective is set against, if that is known. ``fastest_probe`` is the shortest of this
    machine that is known, in processor seconds.
    """

    run_id: str
    run: Run
    home: DataHome
    limits: Limits = field(default_factory=Limits)
    optimum: float | None = None
    fastest_probe: float = math.inf


@dataclass(frozen=True)
class Preparation:
    """A dataset that is to be fetched and prepared: its name, the options that the config gives it, and where."""

    name: str
    options: Mapping[str, Any]
    home: DataHome
    limits: Limits = field(default_factory=Limits)


@dataclass(frozen=True)
class Phase:
    """What a worker begins now."""

    name: Literal["starting", "loading", "compiling", "training"]


@dataclass(frozen=True)
class Compiled:
    """The seconds a worker has just spent compiling; zero where all came from the disk cache."""

    seconds: float


@dataclass(frozen=True)
class Progress:
    """How far a run is after a slice, with what was measured at its last checkpoint."""

    passes: float
    seconds: float
    objective: float | None = None
    gap: float | None = None


@dataclass(frozen=True)
class Work:
    """What is to be shown of a preparation: a line, or how far a transfer is, which has a number of its own.

    ``text`` is the line of a note, or what is transferred. ``done`` are the bytes done before a transfer begins, or
    further bytes.
    """

    step: Literal["note", "begin", "advance", "end"]
    number: int = 0
    text: str = ""
    total: int | None = None
    done: int = 0


@dataclass(frozen=True)
class Prepared:
    """The end of a preparation."""


@dataclass(frozen=True)
class Finished:
    """The end of a run: the columns of its record that the worker knows, and its checkpoints."""

    record: dict[str, Any]
    checkpoints: list[dict[str, Any]]


@dataclass(frozen=True)
class Failed:
    """The end of a run without a result: one of the words for it, and why."""

    status: str
    reason: str


#: what is told while a run is under way
News = Phase | Compiled | Progress
Message = News | Work | Prepared | Finished | Failed
