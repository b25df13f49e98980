"""Work that falls within training but is none of it, such as making the examples of a stream: it is not timed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

_spent = {"seconds": 0.0, "cpu_seconds": 0.0}
_depth = {"now": 0}


@contextmanager
def off_the_clock() -> Iterator[None]:
    """Leave what is done inside out of a run's seconds; where it is nested, the outermost counts."""
    began = time.perf_counter(), time.process_time()
    _depth["now"] += 1
    try:
        yield
    finally:
        _depth["now"] -= 1
        if _depth["now"] == 0:
            _spent["seconds"] += time.perf_counter() - began[0]
            _spent["cpu_seconds"] += time.process_time() - began[1]


def off_clock_seconds() -> tuple[float, float]:
    """Give the wall and processor seconds that this process has spent off the clock so far."""
    return _spent["seconds"], _spent["cpu_seconds"]


def is_off_the_clock() -> bool:
    """Tell whether what is being done just now is left out."""
    return _depth["now"] > 0
