"""Targets: what workers and the processes of plugins say, and what experiments leave for others."""

from __future__ import annotations

import dataclasses
import json
import socket
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

from pydantic import create_model

from fuzz.documents import words
from fuzz.mutation import bent_words, mutator_of_json, mutator_of_parts
from fuzz.target import Target, empty_place, written
from mpu_bench.config import parameters
from mpu_bench.errors import StoreError
from mpu_bench.experiment import messages
from mpu_bench.experiment.optima import OptimaCache
from mpu_bench.quantities import CHECKPOINT_COLUMNS, RECORD_COLUMNS, Record, RunStatus
from mpu_bench.results.rows import columns_to_keep, to_keep
from mpu_bench.solvers.plugins import process, source
from mpu_bench.solvers.plugins.description import SolverDescription
from mpu_bench.solvers.plugins.stand_in import StandIn, stand_in

_RECORD = Record(status=RunStatus.DONE, n=10, objective=1.5, test_error=0.25, updates=7, threads=1)
_POINTS = [Record(), Record(**dict.fromkeys(CHECKPOINT_COLUMNS, 1))]
MESSAGES = (
    messages.Phase("training"),
    messages.Compiler(True),
    messages.Evaluating(True),
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


_TYPES: list[dict[str, Any]] = [
    {"kind": "int"},
    {"kind": "bounded", "parts": [{"kind": "float"}], "bounds": [{"kind": "gt", "number": 0}]},
    {"kind": "union", "parts": [{"kind": "text"}, {"kind": "none"}]},
    {"kind": "literal", "values": ["a", "b"]},
    {"kind": "any"},
]
_DESCRIBED = {
    "class_name": "Mine",
    "name": "mine",
    "paper": "",
    "kernels": "linear",
    "classes": "two",
    "weighted": False,
    "online": False,
    "sliceable": True,
    "ends": False,
    "is_maximised": False,
    "deterministic": True,
    "rounding": {"updates": 0.1},
    "version": 1,
    "questions": [],
    "parameters": [
        {"name": f"p{number}", "type": each, "required": number == 1, "default": None}
        for number, each in enumerate(_TYPES)
    ],
}
_PLUGIN = b'''"""A plugin."""
from dataclasses import dataclass
from mpu_bench.core.solver import Solver

@dataclass(frozen=True)
class Mine(Solver):
    """Mine."""
    name = "mine"
    C: float = 1.0
'''


def _read_description(data: bytes) -> None:
    """Let the process that has imported a plugin say this of its solvers."""
    ours, theirs = socket.socketpair()
    with closing(ours), theirs:
        read = source.PluginSource(Path("/nowhere/mine.py"), b"")
        plugin = process._Plugin(read, 0, process._Connection(ours))
        theirs.sendall(data[:60_000] + b"\n")
        theirs.shutdown(socket.SHUT_WR)
        inspector = process.Inspector()
        with mock.patch.object(inspector, "_fork", return_value=plugin):
            described = inspector.describe(read)
        for each in described:
            made = stand_in(each, read)
            fields = {field.name: (Any, None) for field in dataclasses.fields(made)}
            create_model("parameters", **fields)


_ASKED = ("objective_of", "optimum_solver")
_ANSWERS: tuple[Any, ...] = (
    "1/2 ||w||^2",
    ["optimum", {"regularization": 0.1}],
    ["dcd", {"C": {"over-examples": 1}}],
    None,
)


@cache
def _solver_that_answers() -> type[StandIn]:
    described = SolverDescription.model_validate(_DESCRIBED | {"questions": list(_ASKED)})
    return stand_in(described, source.PluginSource(Path("/nowhere/mine.py"), b""))


def _read_answer(data: bytes) -> None:
    """Let the process of a plugin say this of the objective, and of the solver that finds its optimum."""
    try:
        answer = json.loads(data)
    except (ValueError, RecursionError) as fault:  # refused before it comes to the solver
        raise StoreError(str(fault)) from fault
    solver = _solver_that_answers()
    solver.known.clear()
    with mock.patch.object(process.INSPECTOR, "ask", return_value=answer):
        assert len(solver.objective_of({"p1": 0.5})) < 2_000
        parameters._check_optimum(solver.optimum_solver({"p1": 0.5}, True))


def _read_plugin(data: bytes) -> None:
    read = source.read(written("plugin", data).rename(empty_place("plugins") / "mine.py"))
    read.parsed()
    str((read.code_hash, read.module_name))


def _optimum_examples() -> list[bytes]:
    folder = empty_place("optima-made")
    OptimaCache(folder, str).save("key", (_RECORD, _POINTS))
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
    described = [
        json.dumps({"answer": [_DESCRIBED]}).encode(),
        b'{"refused": "no"}',
        b'{"failed": "no", "kind": "ValueError"}',
    ]
    return [
        Target(
            "message",
            _read_message,
            _message_examples,
            ("mpu_bench.experiment.messages", "mpu_bench.experiment.pool.child"),
            6,
            mutator_of_parts([of_kind, of_json], b" "),
        ),
        Target(
            "description",
            _read_description,
            lambda: described,
            ("mpu_bench.solvers.plugins.process",),
            4,
            mutator_of_json(lambda: (*_DESCRIBED, *(each["kind"] for each in _TYPES), "parts", "values", "bounds")),
        ),
        Target(
            "answer",
            _read_answer,
            lambda: [json.dumps(each).encode() for each in _ANSWERS],
            ("mpu_bench.solvers.plugins.stand_in",),
            4,
            mutator_of_json(lambda: ("over-examples", "from-regularization", *words())),
        ),
        Target("plugin", _read_plugin, lambda: [_PLUGIN], ("mpu_bench.solvers.plugins.source",), 4),
        Target("optimum", _read_optimum, _optimum_examples, ("mpu_bench.experiment.optima",), 4, of_json),
    ]
