"""A process with all its descendants: which they are, how much memory they have, and the end of them.

psutil is imported where it is used, so that a supervisor starts at once and stays small.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

LINUX = sys.platform == "linux"
_PROC = Path("/proc")
_DEATH_SIGNAL, _SUBREAPER = 1, 36  # PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER
_SECONDS_BETWEEN_KILLS = 0.002
MARK = "MPU_BENCH_CHILD"  #: variable of the environment by which descendants of a child are known


def die_with_parent(signal_number: int, parent: int) -> None:
    """Let this process get a signal when its parent dies (Linux), or end now if it is dead already."""
    if LINUX:
        _prctl(_DEATH_SIGNAL, signal_number)
    if os.getppid() != parent:
        os._exit(1)


def adopt_orphans() -> None:
    """Let this process become the parent of descendants whose own parent dies, so that none escapes (Linux)."""
    if LINUX:
        _prctl(_SUBREAPER, 1)


def _prctl(option: int, value: int) -> None:
    import ctypes

    ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def descendants(pid: int) -> list[int]:
    """Return the living descendants of a process, and those that nobody has waited for; in no order."""
    import psutil

    with suppress(psutil.Error):
        return [process.pid for process in psutil.Process(pid).children(recursive=True)]
    return []


def near_descendants(pid: int) -> list[int]:
    """Return the descendants of a process as `descendants` does, without looking at all processes where that goes."""
    pids, waiting = [], [pid]
    try:
        while waiting:
            for thread in (_PROC / str(waiting.pop()) / "task").iterdir():
                with suppress(ProcessLookupError):
                    its = [int(child) for child in (thread / "children").read_bytes().split()]
                    pids += its
                    waiting += its
    except OSError:  # a kernel without it, another system, or a process that has just ended
        return descendants(pid)
    return pids


def resident_bytes(pids: list[int]) -> int:
    """Return how much memory processes have; what several share counts once (Linux)."""
    return sum(_resident(pid) if len(pids) == 1 else _stated(pid, "smaps_rollup", b"Pss:") for pid in pids)


def _resident(pid: int) -> int:
    import psutil

    with suppress(psutil.Error):
        return int(psutil.Process(pid).memory_info().rss)
    return 0


def peak_bytes(pid: int) -> int:
    """Return the largest memory that a process has had, as far as the system counts it (Linux); else what it has."""
    return _stated(pid, "status", b"VmHWM:")


def forget_peak() -> None:
    """Let the largest memory of this process count from now on (Linux)."""
    with suppress(OSError):
        (_PROC / "self" / "clear_refs").write_text("5", encoding="ascii")


def cpu_seconds(pid: int) -> float:
    """Return the processor seconds of all threads of a process; 0 if it is gone."""
    import psutil

    with suppress(psutil.Error):
        return sum(psutil.Process(pid).cpu_times()[:2])
    return 0.0


def _stated(pid: int, file: str, label: bytes) -> int:
    """Return the memory of a process that a file of /proc states under a label; else what it has."""
    with suppress(OSError, ValueError, IndexError):
        for line in (_PROC / str(pid) / file).read_bytes().splitlines():
            if line.startswith(label):
                return int(line.split()[1]) * 1024
    return _resident(pid)


def kill(pids: Iterable[int]) -> None:
    """Kill processes; those that are gone, or of another user, are passed over."""
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


def kill_until_none(find: Callable[[], list[int]], seconds: float) -> None:
    """Kill what `find` returns, again and again, until that is nothing, or the seconds are over.

    Children of this process that have ended are waited for.
    """
    until = time.monotonic() + seconds
    while (pids := find()) and time.monotonic() < until:
        kill(pids)
        for pid in pids:
            with suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
        time.sleep(_SECONDS_BETWEEN_KILLS)


def of_session_or_mark(pids: Iterable[int], session: int, mark: str) -> list[int]:
    """Return those processes that are of a session, or have this mark in their environment."""
    import psutil

    matching = []
    for pid in pids:
        with suppress(psutil.Error, OSError):  # it is gone, or of another user
            if os.getsid(pid) == session or psutil.Process(pid).environ().get(MARK) == mark:
                matching.append(pid)
    return matching
