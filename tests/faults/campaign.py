"""What all campaigns share: a fault with what went wrong after it, and the undisturbed results to compare with."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path

from faults import experiments
from faults.experiments import Results
from faults.processes import HANG_SECONDS, Ended, Started, call, started
from http_server import Server

TRACEBACK = "Traceback (most recent call last)"
#: what can go wrong, by the word its problems begin with
PROBLEMS = (
    "lost", "doubled", "differs", "hang", "orphan", "traceback", "exit code", "left over", "damaged", "message",
)  # fmt: skip


@dataclass
class Fault:
    """One injected fault: when it came, and what of it should not be, each beginning with a word of `PROBLEMS`."""

    kind: str
    seed: int
    moment: str
    problems: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Reference:
    """An experiment's results as nothing disturbed them, and how long it took."""

    results: Results
    seconds: float


class References:
    """The undisturbed results of the experiments, each made when it is first asked for.

    Parameters
    ----------
    place : Path
        A folder to work in.
    names : collection of str
        The experiments that faults are injected into, where a campaign may choose.
    """

    def __init__(self, place: Path, names: Collection[str] = tuple(experiments.CONFIGS)) -> None:
        self.place = place
        self.names = sorted(names)
        self._made: dict[str, Reference] = {}
        self._locks = {name: threading.Lock() for name in experiments.CONFIGS}

    def of(self, name: str) -> Reference:
        """Return the results of an experiment."""
        with self._locks[name]:
            if name not in self._made:
                self._made[name] = self._make(name)
            return self._made[name]

    def _make(self, name: str) -> Reference:
        place = self.place / name
        with serving() as server:
            experiments.write(place, name, server.address)
            ended = call(place, "run", f"{name}.yaml")
            assert ended.code == 0, f"{name}, undisturbed: {ended.text}"
            began = time.monotonic()  # with nothing to compile
            call(place, "run", f"{name}.yaml", "--force")
            seconds = time.monotonic() - began
        return Reference(Results.read(place / "results" / name, place / "home"), seconds)


#: makes the faults of one seed in an empty folder
Campaign = Callable[[int, Path, References], list[Fault]]


def serving() -> Server:
    """Return a server, not yet started, that offers what the experiments fetch."""
    server = Server()
    for name, content in experiments.served().items():
        server.put(name, content)
    return server


def wait_for(process: Started, allowed: Collection[int]) -> tuple[Ended | None, list[str]]:
    """Wait for a process, and list what is wrong about its end: it hangs, its code, a traceback, orphans."""
    try:
        ended = process.ended()
    except subprocess.TimeoutExpired:
        return None, [f"hang: still there after {HANG_SECONDS:g} s: {' '.join(process.arguments)}"]
    problems = [f"orphan: {left}" for left in process.orphans()]
    if ended.code not in allowed:
        problems.append(f"exit code {ended.code} of {' '.join(process.arguments)}: {ended.err[-500:]}")
    if TRACEBACK in ended.text:
        problems.append(f"traceback: {ended.text[ended.text.index(TRACEBACK) :][-1500:]}")
    return ended, problems


def check(place: Path, *arguments: str, codes: tuple[int, ...] = (0,), words: str = "", **variables: str) -> list[str]:
    """Call the command line; list what is wrong about its end, or that its message lacks words."""
    with started(place, *arguments, **variables) as process:
        ended, problems = wait_for(process, codes)
    if ended is not None and words not in ended.text:
        problems.append(f"message of {' '.join(arguments)} lacks '{words}': {ended.err[-500:]}")
    return problems


def completed(place: Path, name: str, references: References, *options: str) -> list[str]:
    """Run an experiment to its end, twice at most, and compare it with the undisturbed one.

    Twice, since a row that failed is made again by the next command.
    """
    problems: list[str] = []
    for codes in ((0, 1), (0,)):
        with started(place, "run", f"{name}.yaml", *options) as process:
            ended, wrong = wait_for(process, codes)
        problems += wrong
        if ended is None or ended.code == 0:
            break
    if not problems:
        folder = place / "results" / name
        problems = Results.read(folder, place / "home").problems(references.of(name).results)
        problems += experiments.stored_twice(folder)
    return problems
