"""A solver of a user's own held to what every solver promises, in a child process; nothing of it is imported here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mpu_bench.errors import ConfigError, nearest
from mpu_bench.solvers.contract.checks import CHECKS
from mpu_bench.solvers.plugins import process, source
from mpu_bench.solvers.plugins.source import PluginSource
from mpu_bench.texts import plain

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
    read = source.read(path.resolve())
    read.parsed()
    try:
        names = [each.facts["name"] for each in process.describe(read)]
        if name is not None and name not in names:
            raise ConfigError(f"{path}: defines no solver '{name}': {nearest(name, names)}")
        for solver in names if name is None else [name]:
            for key, check in CHECKS.items():
                yield _finding(read, solver, key, check.words, seconds)
    finally:
        process.close()


def _finding(read: PluginSource, solver: str, key: str, words: str, seconds: float) -> Finding:
    try:
        holds, answer, traceback = process.ask(read, "check", solver, key, seconds=seconds)
    except ConfigError as fault:  # it has died, hangs, or answers nonsense
        return Finding(solver, words, False, str(fault))
    return Finding(solver, words, holds, plain(answer or ""), plain(traceback))
