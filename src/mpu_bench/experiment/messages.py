"""What a pool sends to a worker, and what it receives.

A worker runs code of others, so what comes from it is read as text and looked at before it is believed: a word for the
kind of message and JSON of bounded size, whose columns have their types. A pool sends pickles; nothing comes back so.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AllowInfNan, Field, PlainValidator, TypeAdapter, ValidationError

from mpu_bench.config.schema import Limits
from mpu_bench.data.download.cache import DataDirectory
from mpu_bench.experiment.run import Run
from mpu_bench.quantities import COLUMNS, Ending, Record, RunStatus
from mpu_bench.results.rows import record_of
from mpu_bench.texts import plain

_LARGEST_INTEGER = 2**63 - 1

_Finite = Annotated[float, AllowInfNan(False)]


def _record(values: Any) -> Record:
    """Return the record of a message; reject values of another type and names that are not columns."""
    record = record_of(values)
    if unknown := sorted(values.keys() - COLUMNS.keys()):
        raise ValueError(f"there is no column {plain(unknown[0], 100)!r}")
    return record


_Checked = Annotated[Record, PlainValidator(_record)]
_Count = Annotated[int, Field(ge=0, le=_LARGEST_INTEGER)]


@dataclass(frozen=True)
class Task:
    """A run that is ready: the key of its result, what it may take, and what it needs of other runs.

    ``optimum`` is what the run's objective is set against, if that is known, and ``optimum_gap`` how far it may be off.
    ``fastest_probe`` is the shortest of this machine that is known, in processor seconds. ``model_files`` are where its
    model is saved, if it is: one for each name of its data. ``fingerprint`` is that of the data as the plan knows them.
    Runs of one ``group`` belong on one machine; ``host`` is the name of the one that has run others of them before.
    ``matrices`` is the folder of the kernel matrices that runs share, if they do. ``code`` is the key of the machine
    code that it needs; with ``only_compiles`` that is compiled, and nothing is run.
    """

    run_id: str
    run: Run
    home: DataDirectory
    limits: Limits = field(default_factory=Limits)
    optimum: float | None = None
    optimum_gap: float = 0.0
    fastest_probe: float = math.inf
    model_files: Sequence[Path] = ()
    fingerprint: str = ""
    group: str = ""
    host: str = ""
    matrices: Path | None = None
    code: str = ""
    only_compiles: bool = False


@dataclass(frozen=True)
class Preparation:
    """A dataset that is to be fetched and prepared: its name, the options that the config gives it, and where."""

    name: str
    options: Mapping[str, Any]
    home: DataDirectory
    limits: Limits = field(default_factory=Limits)


@dataclass(frozen=True)
class Phase:
    """What a worker begins now."""

    name: Literal["starting", "importing", "loading", "compiling", "kernel matrix", "training"]


@dataclass(frozen=True)
class Aside:
    """Whether a worker begins, or ends, what does not count of its phase: compiling, loading code, evaluating."""

    begins: bool


@dataclass(frozen=True)
class Compiled:
    """The seconds a worker has just spent compiling; zero where all came from the disk cache."""

    seconds: _Finite


@dataclass(frozen=True)
class Progress:
    """How far a run is after a slice, with what was measured at its last checkpoint.

    ``cpu_seconds`` are those of training, ``process_seconds`` the processor seconds of all that the worker has done.
    """

    passes: _Finite
    seconds: _Finite
    objective: _Finite | None = None
    gap: _Finite | None = None
    cpu_seconds: _Finite = 0.0
    process_seconds: _Finite = 0.0


@dataclass(frozen=True)
class Work:
    """What is to be shown of a preparation: a line, or how far a transfer is, which has a number of its own.

    ``text`` is the line of a note, or what is transferred. ``done`` are the bytes done before a transfer begins, or
    further bytes.
    """

    step: Literal["note", "begin", "advance", "end", "fail"]
    number: _Count = 0
    text: str = ""
    total: _Count | None = None
    done: _Count = 0


@dataclass(frozen=True)
class Prepared:
    """The end of a preparation."""


@dataclass(frozen=True)
class Finished:
    """The end of a run: its record, as far as the worker knows it, and its checkpoints."""

    record: _Checked
    checkpoints: list[_Checked]
    threads_left: _Count = 0  #: that a solver has started and not ended
    resident_bytes: _Count = 0  #: the most memory that the process has had, with what was there before the run


@dataclass(frozen=True)
class Failed:
    """The end of a run without a result: one of the words for it, why, and the traceback of an exception."""

    status: Literal["error", "skipped", "out-of-memory"]
    reason: str
    threads_left: _Count = 0
    traceback: str = ""

    @property
    def record(self) -> Record:
        """The record of the run: memory that the system did not give has ended it, or what the solver did."""
        ended_by = Ending.SYSTEM if self.status == "out-of-memory" else Ending.FAULT
        return Record(
            status=RunStatus(self.status), ended_by=ended_by, reason=self.reason, traceback=self.traceback or None
        )


#: messages while a run is under way
News = Phase | Compiled | Progress
Message = News | Aside | Work | Prepared | Finished | Failed

_KINDS: dict[str, TypeAdapter[Any]] = {
    kind.__name__: TypeAdapter(kind) for kind in (Phase, Aside, Compiled, Progress, Work, Prepared, Finished, Failed)
}


def encode(message: Message) -> bytes:
    """Return a message as a line: its kind and JSON, with texts that are `plain`."""
    return f"{type(message).__name__} {json.dumps(_plain(vars(message)), default=_columns)}\n".encode()


def decode(line: bytes) -> Message:
    """Return the message of a line, each column of the type that it is declared with.

    Raises
    ------
    ValueError
        If it is not a message.
    """
    kind, _, content = line.partition(b" ")
    adapter = _KINDS.get(kind.decode("ascii", "replace"))
    if adapter is None:
        raise ValueError(f"no message: {plain(line[:100].decode(errors='replace'))}")
    try:
        message: Message = adapter.validate_json(content, strict=True)
    except ValidationError as error:
        raise ValueError(f"no message: {plain(str(error), 300)}") from error
    return message


def _columns(record: Record) -> dict[str, Any]:
    return _plain(record.known())


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values as a message may hold them: texts that are `plain`, and None for what is not finite."""
    numbers = {
        name: None if isinstance(value, float) and not math.isfinite(value) else value for name, value in values.items()
    }
    return {name: plain(value) if isinstance(value, str) else value for name, value in numbers.items()}
