"""The clock of training: seconds and what disturbs them, without getting ready and without work that is not training.

At the first call with arguments of some types jitted code gets ready: it is compiled, or was before and is loaded. Work
that is not training, as making the examples of a stream, falls within it and is set apart by `untimed`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from numba.core import event

from mpu_bench import usage
from mpu_bench.core.jit import GETS_READY
from mpu_bench.usage import NOTHING, Moment, Usage

_SHORT_PAUSE, _MAX_SECONDS_APART = 1e-3, 1e-2  # for which disturbances are not looked at


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


#: what compiling has cost this process so far, what getting ready, compiling included, and what untimed work
COMPILER, GETTING_READY, UNTIMED = _LeftOut(), _LeftOut(), _LeftOut()


class _Events(event.Listener):
    """Hears of what is left out; within untimed work it counts as that."""

    def __init__(self, *heard: _LeftOut) -> None:
        self._heard = heard

    def on_start(self, event: Any) -> None:  # noqa: ARG002
        for left_out in self._heard:
            left_out.begin()

    def on_end(self, event: Any) -> None:  # noqa: ARG002
        for left_out in self._heard:
            left_out.end(counts=UNTIMED.depth == 0)


event.register("numba:compile", _Events(COMPILER, GETTING_READY))
event.register(GETS_READY, _Events(GETTING_READY))


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

    The clocks are read whenever it is entered and left. What the system counts of disturbances takes fifty
    microseconds to read, as long as many a slice of training: pauses that follow pauses of less than a millisecond
    are counted with what is around them, for ten milliseconds at most, until `settle`.
    """

    _used: Usage = NOTHING
    _load_seconds: float = 0.0  # the integral of the load over the wall seconds
    _started: Usage = NOTHING  # what the clocks said when it was entered
    _opened: Moment | None = None  # the counters at the beginning of what is not yet added up
    _added_up: float = 0.0  # the wall seconds whose disturbances are
    _left: float = -math.inf  # when it was left
    _pause: float = math.inf  # how long it stood still the last time

    @property
    def used(self) -> Usage:
        """Seconds, and the disturbances up to the last time they were added up."""
        return self._used

    @property
    def seconds(self) -> float:
        """Wall seconds."""
        return self._used.seconds

    @property
    def cpu_seconds(self) -> float:
        """Processor seconds of all threads."""
        return self._used.cpu_seconds

    @property
    def load(self) -> float:
        """How many other threads of the machine ran or were ready to run, on average over the wall seconds."""
        return self._load_seconds / self.seconds if self.seconds else math.nan

    def __enter__(self) -> None:
        self._pause = time.perf_counter() - self._left
        if self._opened is None:
            begun = usage.at_start()
            self._opened = begun._replace(used=_without_left_out(begun.used))
            self._started = self._opened.used
        else:
            self._started = _without_left_out(usage.clocks())

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        ended = _without_left_out(usage.clocks())
        seconds, cpu_seconds = ended.seconds - self._started.seconds, ended.cpu_seconds - self._started.cpu_seconds
        self._used = self._used.plus(Usage(seconds, cpu_seconds))
        self._left = time.perf_counter()
        if self._pause > _SHORT_PAUSE or self._used.seconds - self._added_up > _MAX_SECONDS_APART:
            self.settle()

    def settle(self) -> None:
        """Add up the disturbances until now, if that is not done; to be called before a long pause, and at the end."""
        if self._opened is None:
            return
        begun, ended, seconds = self._opened, usage.at_end(), self.seconds - self._added_up
        disturbed = _without_left_out(ended.used).minus(begun.used)
        self._used = self._used.plus(disturbed._replace(seconds=0.0, cpu_seconds=0.0))
        self._load_seconds += (begun.others_running + ended.others_running) / 2 * seconds
        self._opened, self._added_up = None, self.seconds


def _without_left_out(now: Usage) -> Usage:
    return now.minus(GETTING_READY.used).minus(UNTIMED.used)
