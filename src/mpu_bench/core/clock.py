"""The clock of training: seconds and what disturbs them, without those of compiling and of work that is not training.

Such work, as making the examples of a stream, falls within training and is set apart by `untimed`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from numba.core import event

from mpu_bench import usage
from mpu_bench.usage import NOTHING, Usage


@dataclass
class _LeftOut:
    """Adds up what is left out; where it nests, the outermost counts."""

    used: Usage = NOTHING
    depth: int = 0
    _began: Usage = NOTHING

    @property
    def seconds(self) -> float:
        """Wall seconds."""
        return self.used.seconds

    def begin(self) -> None:
        if self.depth == 0:
            self._began = usage.at_end().used  # of what is measured
        self.depth += 1

    def end(self, counts: bool = True) -> None:
        self.depth -= 1
        if self.depth == 0 and counts:
            self.used = self.used.plus(usage.at_start().used.minus(self._began))


#: what compiling has cost this process so far, and what untimed work
COMPILER, UNTIMED = _LeftOut(), _LeftOut()


class _CompilerEvents(event.Listener):
    """Hears when numba compiles."""

    def on_start(self, event: Any) -> None:  # noqa: ARG002
        COMPILER.begin()

    def on_end(self, event: Any) -> None:  # noqa: ARG002
        COMPILER.end(counts=UNTIMED.depth == 0)


event.register("numba:compile", _CompilerEvents())


@contextmanager
def untimed() -> Iterator[None]:
    """Leave what is done inside out of a run's seconds."""
    UNTIMED.begin()
    try:
        yield
    finally:
        UNTIMED.end()


@dataclass
class Clock:
    """Adds up seconds and what disturbs them while it is entered, without what is left out.

    Workers compile before they train; should a solver reach a function only later, its compilation still does
    not count as training. Nor does making the examples of a stream.
    """

    used: Usage = NOTHING
    _load_seconds: float = 0.0  # the integral of the load over the wall seconds
    _started: Usage = NOTHING
    _load_then: float = 0.0

    @property
    def seconds(self) -> float:
        """Wall seconds."""
        return self.used.seconds

    @property
    def cpu_seconds(self) -> float:
        """Processor seconds of all threads."""
        return self.used.cpu_seconds

    @property
    def load(self) -> float:
        """How many other threads of the machine ran or were ready to run, on average over the wall seconds."""
        return self._load_seconds / self.seconds if self.seconds else self._load_then

    def __enter__(self) -> None:
        begun = usage.at_start()
        self._started, self._load_then = _without_left_out(begun.used), begun.others_running

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, traceback: TracebackType | None
    ) -> None:
        ended = usage.at_end()
        used = _without_left_out(ended.used).minus(self._started)
        self.used = self.used.plus(used)
        self._load_seconds += (self._load_then + ended.others_running) / 2 * used.seconds


def _without_left_out(now: Usage) -> Usage:
    return now.minus(COMPILER.used).minus(UNTIMED.used)
