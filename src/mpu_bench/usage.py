"""What the system counts of this process, and how busy the machine is. NaN where the system does not count it."""

from __future__ import annotations

import math
import os
import resource
import time
from contextlib import suppress
from typing import NamedTuple

#: how often a second the system's slow counters, such as that of steal, go on
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")

_TASKS, _MACHINE = "/proc/self/task", "/proc/stat"
_STEAL = 8  # its index in the first line of /proc/stat


class Usage(NamedTuple):
    """Seconds, and what disturbs them: counters of the system, or how far they went on.

    Attributes
    ----------
    seconds : float
        Wall seconds.
    cpu_seconds : float
        Processor seconds of all threads of this process.
    system_seconds : float
        Those of them that the system took for it, as to find memory that it touches for the first time (Unix).
    waiting_seconds : float
        Seconds in which its threads were ready to run and others had the processor, summed over threads (Linux).
    steal_seconds : float
        Seconds that the host of a virtual machine took from all its processors, in whole ticks (Linux).
    involuntary_switches : float
        How often its threads were made to leave the processor.
    """

    seconds: float = 0.0
    cpu_seconds: float = 0.0
    system_seconds: float = 0.0
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


class Moment(NamedTuple):
    """What the counters say at one moment.

    Attributes
    ----------
    used : Usage
        The counters.
    others_running : float
        Threads besides the calling one that run or are ready to run on this machine (Linux). The average load of the
        last minute would say nothing of a run of seconds, and would hold what ended before it.
    """

    used: Usage
    others_running: float


def at_start() -> Moment:
    """Read the counters before something that is measured: the clocks last."""
    waiting, (steal, others), (system, switches) = _waiting_seconds(), _machine(), _system_seconds_and_switches()
    return Moment(Usage(time.perf_counter(), time.process_time(), system, waiting, steal, switches), others)


def at_end() -> Moment:
    """Read the counters after something that is measured: the clocks first."""
    seconds, cpu_seconds = time.perf_counter(), time.process_time()
    waiting, (steal, others), (system, switches) = _waiting_seconds(), _machine(), _system_seconds_and_switches()
    return Moment(Usage(seconds, cpu_seconds, system, waiting, steal, switches), others)


def clocks() -> Usage:
    """Read the two clocks alone, which takes a microsecond; the other counters are 0."""
    return Usage(time.perf_counter(), time.process_time())


def others_running() -> float:
    """Return how many threads besides the calling one run or are ready to run on this machine now (Linux)."""
    return _machine()[1]


def _waiting_seconds() -> float:
    """Sum the delays of all threads in the queue for a processor."""
    nanoseconds = turns = 0
    try:
        for task in os.listdir(_TASKS):  # noqa: PTH208 - a Path costs more than what is read
            with suppress(FileNotFoundError, ProcessLookupError):  # the thread has ended meanwhile
                _, delay, times_run = map(int, _read(f"{_TASKS}/{task}/schedstat").split())
                nanoseconds, turns = nanoseconds + delay, turns + times_run
    except (OSError, ValueError):
        return math.nan
    return nanoseconds / 1e9 if turns else math.nan  # without a turn the kernel counts none: this thread runs now


def _machine() -> tuple[float, float]:
    """Return the steal seconds and how many others run, of one reading."""
    steal, others, text = math.nan, math.nan, b""
    with suppress(OSError):
        text = _read(_MACHINE)
    with suppress(ValueError, IndexError):
        steal = int(text.partition(b"\n")[0].split()[_STEAL]) / TICKS_PER_SECOND
    with suppress(ValueError, IndexError):
        others = max(0.0, float(text.partition(b"\nprocs_running ")[2].split(maxsplit=1)[0]) - 1)
    return steal, others


def _read(path: str) -> bytes:
    """Return a file of the system's counters; without a buffer and a decoder, which cost more than the counters."""
    with open(path, "rb", buffering=0) as stream:  # noqa: PTH123 - as above
        return stream.readall()


def _system_seconds_and_switches() -> tuple[float, float]:
    """Return the system's seconds, and how often threads were made to leave the processor."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_stime, used.ru_nivcsw
