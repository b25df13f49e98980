"""What a process that has imported a plugin answers about its solvers; the other end is `process`.

A question is its kind, a solver's name and what that solver is given. An answer is a line of ``("answer", value)``, or
of ``("refused", text)`` where the solver refuses what it is given or its code raises.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, get_type_hints

from pydantic import TypeAdapter, ValidationError

from mpu_bench.core.solver import Solver
from mpu_bench.errors import ConfigError, UserError
from mpu_bench.guard.messages import Channel, from_line, to_line
from mpu_bench.scaled import Derived, Scaled
from mpu_bench.solvers.contract.checks import CHECKS, BrokenContractError
from mpu_bench.solvers.plugins import importing
from mpu_bench.solvers.plugins.description import KNOWN, SolverDescription, describe, said
from mpu_bench.solvers.plugins.importing import cause_of, import_solvers, text_of


def serve(descriptor: int, path: str, content_hash: str) -> None:
    """Import a plugin, send the description of its solvers, and answer questions until the other end is closed."""
    sys.dont_write_bytecode = True
    file, solvers = Path(path), dict[str, type[Solver]]()

    def answer(question: Callable[..., Any], *arguments: Any) -> None:
        channel.send(_answer(file, question, *arguments))

    channel = Channel(descriptor)
    channel.send(to_line(("answer", "ready")))  # all is imported but the plugin
    requests = channel.requests()
    next(requests)
    answer(_describe, file, content_hash, solvers)
    for kind, solver, *arguments in requests:
        answer(_QUESTIONS[kind], solvers[solver], *arguments)


def _answer(file: Path, question: Callable[..., Any], *arguments: Any) -> bytes:
    try:
        line = to_line(("answer", question(*arguments)))
        from_line(line, KNOWN)
    except UserError as refusal:
        return to_line(("refused", text_of(refusal)))
    except BaseException as error:
        return to_line(("refused", cause_of(error, file)))
    return line


def _describe(file: Path, content_hash: str, solvers: dict[str, type[Solver]]) -> list[SolverDescription]:
    read = importing.read_plugin(file)
    if read.content_hash != content_hash:
        raise ConfigError(f"{file}: was changed while it was read; run again")
    solvers.update({solver.name: solver for solver in import_solvers(read)})
    return [describe(solver, file) for solver in solvers.values()]


def _accept(solver: type[Solver], parameters: Mapping[str, Any], *kernels: Any) -> None:
    """Let a solver refuse parameters, and a kernel if there is one."""
    try:
        constructed = _constructed(solver, parameters)
        for kernel in kernels:
            constructed.check_kernel(kernel)
    except TypeError:  # it may compute with what is known with the data only
        if not any(isinstance(value, Scaled | Derived) for value in parameters.values()):
            raise


def _constructed(solver: type[Solver], parameters: Mapping[str, Any]) -> Solver:
    """Construct a solver; the parameters whose types only this process knows are checked against them first."""
    for name, hint in get_type_hints(solver, include_extras=True).items():
        if name in parameters and said(hint) is not hint and parameters[name] != getattr(solver, name, None):
            try:
                TypeAdapter(hint).validate_python(parameters[name], strict=True)
            except ValidationError as invalid:
                problem = invalid.errors()[0]["msg"]
                raise ConfigError(f"{solver.name}: {name} is {parameters[name]!r}: {problem}") from None
    return solver(**parameters)


def _check(solver: type[Solver], key: str) -> tuple[bool, str, str]:
    """Hold a solver to a promise that every solver makes; return whether it holds, what to say, and a traceback."""
    try:
        return True, CHECKS[key].of(solver), ""
    except (BrokenContractError, UserError) as broken:
        return False, text_of(broken), ""
    except BaseException as error:
        file = sys.modules[solver.__module__].__file__
        message, files = f"{type(error).__name__}: {text_of(error)}", (Path(str(file)),)
        return False, *importing.located(error, files, message)


_QUESTIONS: dict[str, Callable[..., Any]] = {
    "accept": _accept,
    "check": _check,
    "objective_of": lambda solver, *arguments: solver.objective_of(*arguments),
    "optimum_solver": lambda solver, *arguments: solver.optimum_solver(*arguments),
}
