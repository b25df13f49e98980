"""What the system counts of this process, and how busy the machine is. NaN where the system does not count it."""

from __future__ import annotations

import math
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

#: how often a second the system's slow counters, such as that of steal, go on
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100

_TASKS, _MACHINE = Path("/proc/self/task"), Path("/proc/stat")
_STEAL = 8  # its place in the first line of /proc/stat


class Usage(NamedTuple):
    """Seconds, and what disturbs them: counters of the system, or how far they went on.

    Attributes
    ----------
    seconds : float
        Wall seconds.
    cpu_seconds : float
        Processor seconds of all threads of this process.
    waiting_seconds : float
        Seconds in which its threads were ready to run and others had the processor, summed over threads (Linux).
    steal_seconds : float
        Seconds that the host of a virtual machine took from all its processors, in whole ticks (Linux).
    involuntary_switches : float
        How often its threads were made to leave the processor.
    """

    seconds: float = 0.0
    cpu_seconds: float = 0.0
    waiting_seconds: float = 0.0
    steal_seconds: float = 0.0
    involuntary_switches: float = 0.0

    def plus(self, other: Usage) -> Usage:
        """Return the sum."""
        return Usage(*(a + b for a, b in zip(self, other, strict=True)))

    def minus(self, other: Usage) -> Usage:
        """Return the difference."""
        return Usage(*(a - b for a, b in zip(self, other, strict=True)))


NOTHING = Usage()


def at_start() -> Usage:
    """Read the counters before something that is measured: the clocks last."""
    slow = _slow_counters()
    return Usage(time.perf_counter(), time.process_time(), *slow)


def at_end() -> Usage:
    """Read the counters after something that is measured: the clocks first."""
    seconds, cpu_seconds = time.perf_counter(), time.process_time()
    return Usage(seconds, cpu_seconds, *_slow_counters())


def _slow_counters() -> tuple[float, float, float]:
    return _waiting_seconds(), _steal_seconds(), _involuntary_switches()


def _waiting_seconds() -> float:
    """Sum the delays of all threads in the queue for a processor."""
    nanoseconds = turns = 0
    try:
        for task in _TASKS.iterdir():
            with suppress(FileNotFoundError, ProcessLookupError):  # the thread has ended meanwhile
                _, delay, times_run = map(int, (task / "schedstat").read_text("ascii").split())
                nanoseconds, turns = nanoseconds + delay, turns + times_run
    except (OSError, ValueError):
        return math.nan
    return nanoseconds / 1e9 if turns else math.nan  # without a turn the kernel counts none: this thread runs now


def _steal_seconds() -> float:
    try:
        with _MACHINE.open(encoding="ascii") as stream:
            return int(stream.readline().split()[_STEAL]) / TICKS_PER_SECOND
    except (OSError, ValueError, IndexError):
        return math.nan


def _involuntary_switches() -> float:
    try:
        import resource
    except ImportError:  # Windows
        return math.nan
    return resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw


def others_running() -> float:
    """Return how many threads besides the calling one run or are ready to run on this machine now (Linux).

    The average load of the last minute would say nothing of a run of seconds, and would hold what ended before it.
    """
    with suppress(OSError, ValueError, IndexError):
        for line in _MACHINE.read_text("ascii").splitlines():
            if line.startswith("procs_running"):
                return max(0.0, float(line.split()[1]) - 1)
    return math.nan
