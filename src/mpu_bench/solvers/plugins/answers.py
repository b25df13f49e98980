"""What a process that has imported a plugin answers about its solvers; the other end is `process`."""

from __future__ import annotations

import dataclasses
import socket
from collections.abc import Mapping
from json import dumps, loads  # as they are before a plugin may change the module
from pathlib import Path
from typing import Any, get_type_hints

from pydantic import TypeAdapter, ValidationError

from mpu_bench.core import kernels
from mpu_bench.core.kernels import Kernel
from mpu_bench.core.solver import Solver
from mpu_bench.errors import ConfigError, UserError
from mpu_bench.scaled import from_json, to_json
from mpu_bench.solvers.plugins import source, tracebacks
from mpu_bench.solvers.plugins.description import describe, is_said
from mpu_bench.solvers.plugins.importing import cause_of, import_solvers, text_of

#: bytes of a line, of either end
LONGEST_LINE_BYTES = 1_000_000
_MOST_CHARACTERS = 200  # of an objective's name


def serve(connection: socket.socket) -> None:
    """Answer questions, a line of JSON each, until the other end is closed.

    An answer is ``{"answer": ...}``, ``{"refused": text}`` where the solver refuses what it is given, or
    ``{"failed": text, "kind": the exception's name}``.
    """
    answers = _Answers()
    connection.sendall(b'{"answer": "ready"}\n')
    with connection.makefile("rb") as questions:
        for line in questions:
            connection.sendall(answers.line(line))


class _Answers:
    """The answers of one plugin's file, which is imported when its description is asked for."""

    def __init__(self) -> None:
        self._path = Path()
        self._solvers: dict[str, type[Solver]] = {}

    def line(self, question: bytes) -> bytes:
        """Return the answer to a question, as a line."""
        try:
            answer = self._answer(loads(question))
            line = dumps(answer).encode()
        except BaseException as fault:
            line = dumps({"failed": cause_of(fault, self._path), "kind": type(fault).__name__}).encode()
        if len(line) >= LONGEST_LINE_BYTES:
            line = b'{"failed": "the answer is too long", "kind": "ValueError"}'
        return line + b"\n"

    def _answer(self, question: dict[str, Any]) -> dict[str, Any]:
        try:
            return {"answer": getattr(self, f"_{question.pop('question')}")(**question)}
        except UserError as refusal:
            return {"refused": text_of(refusal)}

    def _describe(self, path: str, content_hash: str) -> list[dict[str, Any]]:
        self._path = Path(path)
        read = source.read(self._path)
        if read.content_hash != content_hash:
            raise ConfigError(f"{path}: was changed while it was read; run again")
        self._solvers = {each.name: each for each in import_solvers(read)}
        return [describe(each, self._path).model_dump() for each in self._solvers.values()]

    def _construct(self, solver: str, parameters: dict[str, Any]) -> None:
        self._constructed(solver, parameters)

    def _check_kernel(self, solver: str, parameters: dict[str, Any], kernel: list[Any]) -> None:
        self._constructed(solver, parameters).check_kernel(kernel_from(kernel))

    def _check(self, solver: str, check: str) -> dict[str, str]:
        """Hold a solver to a promise that every solver makes; say what broke it, and where its code raised."""
        from mpu_bench.solvers.contract.checks import CHECKS, BrokenContractError

        try:
            return {"remark": CHECKS[check].of(self._solvers[solver])}
        except (BrokenContractError, UserError) as broken:
            return {"broken": text_of(broken)}
        except BaseException as fault:
            said = f"{type(fault).__name__}: {text_of(fault)}"
            place = tracebacks.place_of(fault, (self._path,))
            traced = tracebacks.traceback_of(fault, (self._path,), said)
            return {"broken": f"{said} ({place})" if place else said, "traceback": traced}

    def _objective_of(self, solver: str, parameters: dict[str, Any]) -> str:
        text = self._solvers[solver].objective_of(_values(parameters))
        if not isinstance(text, str) or len(text) > _MOST_CHARACTERS or not text.isprintable():
            raise ConfigError(f"{self._path}: objective_of must return a text of {_MOST_CHARACTERS} characters at most")
        return text

    def _optimum_solver(self, solver: str, parameters: dict[str, Any], linear: bool) -> list[Any] | None:
        optimum = self._solvers[solver].optimum_solver(_values(parameters), linear)
        if optimum is None:
            return None
        try:
            name, chosen = optimum
            return [str(name), loads(dumps(dict(chosen), default=to_json, allow_nan=False))]
        except (TypeError, ValueError):
            raise ConfigError(
                f"{self._path}: optimum_solver must return None, or the name of a solver and its parameters"
            ) from None

    def _constructed(self, name: str, parameters: dict[str, Any]) -> Solver:
        """Construct a solver; the parameters whose types have no description are checked against them first."""
        solver, values = self._solvers[name], _values(parameters)
        hints = get_type_hints(solver, include_extras=True)
        defaults = {field.name: field.default for field in dataclasses.fields(solver)}
        for parameter, value in values.items():
            hint = hints[parameter]
            if is_said(hint) or value == defaults[parameter]:
                continue
            try:
                TypeAdapter(hint).validate_python(value, strict=True)
            except ValidationError as fault:
                raise ConfigError(f"{name}: {parameter} is {value!r}: {fault.errors()[0]['msg']}") from None
        return solver(**values)


def _values(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters with the relative ones among them as the project's own types."""
    return loads(dumps(parameters), object_hook=from_json)  # type: ignore[no-any-return]


def kernel_to(kernel: Kernel) -> list[Any]:
    """Return a kernel as JSON can say it: its type's name and its parameters."""
    return [type(kernel).__name__, *kernel]


def kernel_from(described: list[Any]) -> Kernel:
    """Return the kernel that `kernel_to` was given."""
    kind: type[Kernel] = getattr(kernels, described[0])
    return kind(*(from_json(each) if isinstance(each, dict) else each for each in described[1:]))
