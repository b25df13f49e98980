"""The child processes that have imported plugins: one for each file, started when needed and ended soon after.

They say what its solvers are, answer for them, and hold them to what every solver promises; nothing of a plugin is
imported here. A stand-in takes the place of each solver: the same parameters and attributes, but nothing to run.
"""

from __future__ import annotations

import atexit
import dataclasses
import pickle
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NoReturn

import psutil
from pydantic import TypeAdapter, ValidationError

from mpu_bench.core.solver import Optimum, Solver
from mpu_bench.errors import ConfigError, nearest
from mpu_bench.guard.messages import from_line
from mpu_bench.guard.process import Child, awake, wait_for
from mpu_bench.kernels import Kernel
from mpu_bench.quantities import Record
from mpu_bench.solvers.contract.checks import CHECKS
from mpu_bench.solvers.plugins import importing
from mpu_bench.solvers.plugins.description import KNOWN, SolverDescription
from mpu_bench.solvers.plugins.importing import PluginSource
from mpu_bench.texts import plain

START_SECONDS = 300.0  # for a process to start and import what every solver needs
IMPORT_SECONDS = 60.0  # for a plugin to be imported
ANSWER_SECONDS = 20.0  # for anything else
_SHARE_OF_MEMORY = 0.8  # of what is free, for a plugin and all that it starts
_MAX_BYTES = 2000  # of a message
_MAX_CHARACTERS = 200  # of an objective's name
_OPTIMUM: TypeAdapter[Optimum | None] = TypeAdapter(Optimum | None)

_children: dict[Path, Child] = {}


def describe(source: PluginSource) -> list[SolverDescription]:
    """Import a plugin in a process of its own, which stays if it is to be asked; return what its solvers are.

    Raises
    ------
    ConfigError
        Naming the file and, where it is known, the line in it, and the cause.
    """
    described = _start(source)
    if not any(description.overrides for description in described):
        end(source)
    return described


def ask(source: PluginSource, question: str, solver: str, *arguments: Any, seconds: float = ANSWER_SECONDS) -> Any:
    """Let a solver of a plugin answer a question about itself, within so many seconds.

    Raises
    ------
    ConfigError
        If its code raises, if it refuses what it is given, or does not answer.
    """
    if source.path not in _children:
        _start(source)
    _children[source.path].send((question, solver, *arguments))
    doing = {"accept": "constructing it", "check": "checking it"}.get(question, f"calling {question}")
    return _answer(source, seconds, doing)


def _start(source: PluginSource) -> list[SolverDescription]:
    end(source)
    child = Child("mpu_bench.solvers.plugins.answers:serve", str(source.path), source.content_hash, is_shown=False)
    _children[source.path] = child
    try:
        _answer(source, START_SECONDS, "starting its process")
        child.send("import it")
        described: list[SolverDescription] = _answer(source, IMPORT_SECONDS, "importing it")
    except ConfigError:
        end(source)
        raise
    return described


def end(source: PluginSource) -> None:
    """End the process of a plugin, if it is running, with all that it has started."""
    if child := _children.pop(source.path, None):
        child.end()


def close() -> None:
    """End all processes."""
    while _children:
        _children.popitem()[1].end()


atexit.register(close)


def max_memory() -> float:
    """Return the bytes that a plugin and all that it starts may have."""
    return _SHARE_OF_MEMORY * psutil.virtual_memory().available


def _answer(source: PluginSource, seconds: float, doing: str) -> Any:
    """Return the next answer of a plugin's process; end it where none comes."""
    child, until, memory_limit = _children[source.path], awake() + seconds, max_memory()

    def overdue() -> str:
        return f"still at it after {seconds:g} seconds; ended by mpu-bench" if awake() > until else ""

    while (message := child.look(lambda line: from_line(line, KNOWN), overdue, memory_limit)) is None:
        wait_for([child])
    if isinstance(message, Record):
        end(source)
        raise ConfigError(f"{source.path}: while {doing}: {message.reason}")
    kind, answer = message
    if kind == "answer":
        return answer
    raise ConfigError(plain(answer, _MAX_BYTES).strip() or f"{source.path}: {doing} was refused")


@dataclass(frozen=True)
class StandIn(Solver):
    """What is known of a plugin's solver; what only its own code knows is asked of the process that has imported it."""

    source: ClassVar[PluginSource]
    overrides: ClassVar[frozenset[str]] = frozenset()  #: methods that only its own code has
    known: ClassVar[dict[bytes, Any]]  #: answers, by their questions

    def __post_init__(self) -> None:
        """Refuse parameters outside their range, and those that the solver itself refuses."""
        try:
            super().__post_init__()
        except TypeError as error:  # of a default that is of another type
            raise ConfigError(f"{self.source.path}: solver '{self.name}': {error}") from None
        if "__post_init__" in self.overrides:
            self._ask("accept", vars(self))

    def check_kernel(self, kernel: Kernel) -> None:  # noqa: D102
        super().check_kernel(kernel)
        if "check_kernel" in self.overrides:
            self._ask("accept", vars(self), kernel)

    def start(self, *_: Any) -> NoReturn:  # noqa: D102
        raise NotImplementedError(f"solver '{self.name}' is not imported here")

    advance = model = start  # type: ignore[assignment]  # none of them returns

    @classmethod
    def objective_of(cls, parameters: Mapping[str, Any]) -> str:  # noqa: D102
        if "objective_of" not in cls.overrides:
            return super().objective_of(parameters)
        text = cls._ask("objective_of", parameters)
        if not isinstance(text, str) or len(text) > _MAX_CHARACTERS or not text.isprintable():
            raise ConfigError(
                f"{cls.source.path}: objective_of must return a text of {_MAX_CHARACTERS} characters at most"
            )
        return text

    @classmethod
    def optimum_solver(cls, parameters: Mapping[str, Any], linear: bool) -> Optimum | None:  # noqa: D102
        if "optimum_solver" not in cls.overrides:
            return super().optimum_solver(parameters, linear)
        try:
            return _OPTIMUM.validate_python(cls._ask("optimum_solver", parameters, linear))
        except ValidationError:
            raise ConfigError(
                f"{cls.source.path}: optimum_solver must return None, or the name of a solver and its parameters"
            ) from None

    @classmethod
    def _ask(cls, question: str, parameters: Mapping[str, Any], *more: Any) -> Any:
        """Return what the solver answers, which is asked once."""
        key = pickle.dumps((question, dict(parameters), more))
        if key not in cls.known:
            cls.known[key] = ask(cls.source, question, cls.name, dict(parameters), *more)
        return cls.known[key]


def stand_in(described: SolverDescription, source: PluginSource) -> type[StandIn]:
    """Return the class that takes the place of a solver."""
    more = {"__module__": source.module_name, "source": source, "overrides": described.overrides, "known": {}}
    return dataclasses.make_dataclass(
        described.class_name,
        described.parameters,
        bases=(StandIn,),
        namespace=described.facts | more,
        frozen=True,
        kw_only=True,
    )


class Undescribed(StandIn):
    """A solver of a plugin that is not described: it takes any parameters and refuses nothing."""

    kernels = "any"
    classes = "any"
    online = True
    ends = True

    def __init__(self, **_parameters: Any) -> None:
        pass


CHECK_SECONDS = 120.0  #: for one check, with what is compiled for it


@dataclass(frozen=True)
class Finding:
    """Whether a solver keeps a promise: the promise, whether it holds, what there is to say, where its code raised."""

    solver: str
    promise: str
    holds: bool
    said: str = ""
    traceback: str = ""


def check_solvers(path: Path, name: str | None = None, seconds: float = CHECK_SECONDS) -> Iterator[Finding]:
    """Put the solvers of a plugin to every check, one after the other.

    A check that raises, ends its process or takes too long does not hold, and the next has a new process.

    Parameters
    ----------
    path : Path
        The file.
    name : str, optional
        The solver; all that the file defines by default.
    seconds : float
        What one check may take.

    Raises
    ------
    ConfigError
        If the file cannot be imported, defines no solver fit to be run, or none of this name.
    """
    read = importing.read_plugin((Path.cwd() / path).resolve())  # solvers are compiled in a folder that exists
    read.parsed()
    try:
        names = [description.facts["name"] for description in describe(read)]
        if name is not None and name not in names:
            raise ConfigError(f"{path}: defines no solver '{name}': {nearest(name, names)}")
        for solver in names if name is None else [name]:
            for key, check in CHECKS.items():
                yield _finding(read, solver, key, check.words, seconds)
    finally:
        close()


def _finding(read: PluginSource, solver: str, key: str, words: str, seconds: float) -> Finding:
    try:
        holds, answer, traceback = ask(read, "check", solver, key, seconds=seconds)
    except ConfigError as error:  # it has died, hangs, or answers nonsense
        return Finding(solver, words, False, str(error))
    return Finding(solver, words, holds, plain(answer or ""), plain(traceback))
