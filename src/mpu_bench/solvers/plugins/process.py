"""The child processes that have imported plugins: one for each file, started when needed and ended soon after."""

from __future__ import annotations

import atexit
import time
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

import psutil

from mpu_bench.errors import ConfigError
from mpu_bench.guard.messages import from_line
from mpu_bench.guard.process import LOOK_SECONDS, Child
from mpu_bench.solvers.plugins.description import KNOWN, SolverDescription
from mpu_bench.solvers.plugins.source import PluginSource
from mpu_bench.texts import plain

START_SECONDS = 300.0  # for a process to start and import what every solver needs
IMPORT_SECONDS = 60.0  # for a plugin to be imported
ANSWER_SECONDS = 20.0  # for anything else
_SHARE_OF_MEMORY = 0.8  # of what is free, for a plugin and all that it starts
_MOST_BYTES = 2000  # of a message

_children: dict[Path, Child] = {}


def describe(source: PluginSource) -> list[SolverDescription]:
    """Import a plugin in a process of its own, which stays if it is to be asked; return what its solvers are.

    Raises
    ------
    ConfigError
        Naming the file and, where it is known, the line in it, and the cause.
    """
    described = _start(source)
    if not any(each.own for each in described):
        end(source)
    return described


def ask(source: PluginSource, question: str, solver: str, *given: Any, seconds: float = ANSWER_SECONDS) -> Any:
    """Let a solver of a plugin answer a question about itself, within so many seconds.

    Raises
    ------
    ConfigError
        If its code raises, if it refuses what it is given, or does not answer.
    """
    if source.path not in _children:
        _start(source)
    _children[source.path].send((question, solver, *given))
    return _answer(source, seconds, {"accept": "constructing it", "check": "checking it"}.get(question, question))


def _start(source: PluginSource) -> list[SolverDescription]:
    end(source)
    child = Child("mpu_bench.solvers.plugins.answers:serve", str(source.path), source.content_hash, is_shown=False)
    _children[source.path] = child
    try:
        _line(source, START_SECONDS, "starting its process")
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


def _answer(source: PluginSource, seconds: float, doing: str) -> Any:
    line = _line(source, seconds, doing)
    try:
        kind, answer = from_line(line, KNOWN)
    except Exception:  # whatever its code has written there
        raise _ended(source, f"{doing} has sent what is no answer") from None
    if kind == "answer":
        return answer
    raise ConfigError(plain(answer, _MOST_BYTES).strip() or f"{source.path}: {doing} was refused")


def most_memory() -> float:
    """Return the bytes that a plugin and all that it starts may have."""
    return _SHARE_OF_MEMORY * psutil.virtual_memory().available


def _line(source: PluginSource, seconds: float, doing: str) -> bytes:
    """Return the next line of a plugin's process; end it where none comes."""
    child, until = _children[source.path], time.monotonic() + seconds
    most = most_memory()
    while True:
        is_dead = child.is_dead  # first: what it has sent before is there then
        try:
            lines, is_closed = child.receive()
        except ValueError as fault:
            raise _ended(source, f"its answer is too long: {fault}") from None
        if lines:
            return lines[0]
        if is_dead or is_closed:
            raise _ended(source, f"while {doing}, {child.why_dead()}")
        if time.monotonic() > until:
            raise _ended(source, f"{doing} takes more than {seconds:g} seconds; it was ended")
        if child.look_at_memory() > most:
            raise _ended(source, f"{doing} takes more than {most / 2**30:.1f} GiB of memory; it was ended")
        wait(child.waited_for, timeout=LOOK_SECONDS)


def _ended(source: PluginSource, why: str) -> ConfigError:
    end(source)
    return ConfigError(f"{source.path}: {why}")
