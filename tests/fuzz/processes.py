"""Targets: what workers say, the files of plugins, and what experiments leave for others."""

from __future__ import annotations

import json

from fuzz.mutation import bent_words, mutator_of_json, mutator_of_parts
from fuzz.target import Target, empty_place, written
from mpu_bench.errors import StoreError
from mpu_bench.experiment import environment, messages
from mpu_bench.experiment.optima import OptimaCache
from mpu_bench.quantities import CHECKPOINT_COLUMNS, RECORD_COLUMNS, Record, RunStatus
from mpu_bench.results.rows import columns_to_keep, to_keep
from mpu_bench.solvers.plugins import importing

_RECORD = Record(status=RunStatus.DONE, n=10, objective=1.5, test_error=0.25, updates=7, threads=1)
_POINTS = [Record(), Record(**dict.fromkeys(CHECKPOINT_COLUMNS, 1))]
MESSAGES = (
    messages.Phase("training"),
    messages.Aside(True),
    messages.Compiled(0.5),
    messages.Progress(1.0, 0.5, 2.0, None),
    messages.Work("begin", 1, "prepare digits", 100, 0),
    messages.Prepared(),
    messages.Finished(_RECORD, _POINTS),
    messages.Failed("error", "ValueError: no"),
)


def _message_examples() -> list[bytes]:
    return [messages.encode(each) for each in MESSAGES]


def _read_message(data: bytes) -> None:
    try:
        message = messages.decode(data)
    except ValueError as fault:  # becomes the row of a run
        raise StoreError(str(fault)) from fault
    again = messages.encode(message)
    assert messages.encode(messages.decode(again)) == again
    if isinstance(message, messages.Finished):
        to_keep(message.record)
        columns_to_keep(message.checkpoints)


_PLUGIN = b'''"""A plugin."""
from dataclasses import dataclass
from mpu_bench.core.solver import Solver

@dataclass(frozen=True)
class Mine(Solver):
    """Mine."""
    name = "mine"
    C: float = 1.0
'''


def _read_plugin(data: bytes) -> None:
    read = importing.read_plugin(written("plugin", data).rename(empty_place("plugins") / "mine.py"))
    read.parsed()
    str((read.code_hash, read.module_name))


def _optimum_examples() -> list[bytes]:
    folder = empty_place("optima-made")
    OptimaCache(folder, str).save("key", (_RECORD, _POINTS, environment.describe(threads=1)))
    return [(folder / "optima" / "key.json").read_bytes()]


def _read_optimum(data: bytes) -> None:
    folder = empty_place("optima-read")
    (folder / "optima").mkdir()
    (folder / "optima" / "key.json").write_bytes(data)
    remarks: list[str] = []
    if (found := OptimaCache(folder, remarks.append).load("key")) is None:
        raise StoreError("; ".join(remarks))
    json.dumps([to_keep(found[0]), columns_to_keep(found[1])], allow_nan=False)


def targets() -> list[Target]:
    """Return the targets of this file."""
    of_json = mutator_of_json(lambda: (*RECORD_COLUMNS, *CHECKPOINT_COLUMNS, "status", "reason"))
    of_kind = lambda data, random: bent_words(data, random, [type(each).__name__ for each in MESSAGES])  # noqa: E731
    return [
        Target(
            "message",
            _read_message,
            _message_examples,
            ("mpu_bench.experiment.messages", "mpu_bench.guard.process"),
            6,
            mutator_of_parts([of_kind, of_json], b" "),
        ),
        Target("plugin", _read_plugin, lambda: [_PLUGIN], ("mpu_bench.solvers.plugins.importing",), 4),
        Target("optimum", _read_optimum, _optimum_examples, ("mpu_bench.experiment.optima",), 4, of_json),
    ]
