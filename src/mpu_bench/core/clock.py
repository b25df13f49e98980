"""The clock of training: wall and processor seconds without those of compiling and of work that is not training.

Such work, as making the examples of a stream, falls within training and is set apart by `untimed`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from numba.core import event


@dataclass
class _LeftOut:
    """Adds up seconds that are left out; where they nest, the outermost count."""

    seconds: float = 0.0
    cpu_seconds: float = 0.0
    depth: int = 0
    _began: tuple[float, float] = (0.0, 0.0)

    def begin(self) -> None:
        if self.depth == 0:
            self._began = (time.perf_counter(), time.process_time())
        self.depth += 1

    def end(self, counts: bool = True) -> None:
        self.depth -= 1
        if self.depth == 0 and counts:
            self.seconds += time.perf_counter() - self._began[0]
            self.cpu_seconds += time.process_time() - self._began[1]


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
    """Adds up wall and processor seconds while it is entered, without those left out.

    Workers compile before they train; should a solver reach a function only later, its compilation still does
    not count as training. Nor does making the examples of a stream.
    """

    seconds: float = 0.0
    cpu_seconds: float = 0.0
    _started: tuple[float, float] = (0.0, 0.0)

    def __enter__(self) -> None:
        self._started = _training_time()

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, traceback: TracebackType | None
    ) -> None:
        seconds, cpu_seconds = _training_time()
        self.seconds += seconds - self._started[0]
        self.cpu_seconds += cpu_seconds - self._started[1]


def _training_time() -> tuple[float, float]:
    """Read the wall and the processor clock, set back by what was not training."""
    return (
        time.perf_counter() - COMPILER.seconds - UNTIMED.seconds,
        time.process_time() - COMPILER.cpu_seconds - UNTIMED.cpu_seconds,
    )
