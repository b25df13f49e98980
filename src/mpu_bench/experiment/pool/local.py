"""Tasks in child processes of this machine.

Workers are kept warm and given one run after another; a worker that crashes or exceeds a limit is replaced,
and its run becomes a row with the reason.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any

import psutil
from pydantic import ByteSize

from mpu_bench.config.schema import Limits
from mpu_bench.data.download import progress
from mpu_bench.data.download.cache import DataHome
from mpu_bench.experiment import worker
from mpu_bench.experiment.messages import (
    Compiled,
    Failed,
    Finished,
    Message,
    Phase,
    Preparation,
    Progress,
    Task,
    Work,
)
from mpu_bench.experiment.pool import OnNews, Outcome, Pool
from mpu_bench.experiment.preparation import Shown

_THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMBA_NUM_THREADS",
)
_LOOK_SECONDS = 0.05  # how often limits are looked at
_GRACE_FACTOR, _GRACE_SECONDS = 1.5, 30.0  # what a solver that cannot be sliced may take beyond stop.seconds


@dataclass
class WorkerHandle:
    """One child process, and the task it is at."""

    process: Any
    connection: Connection
    task: Task | None = None
    training_since: float | None = None
    last_message: float = 0.0  #: when it was last heard of
    peak_memory: int = 0
    progress: Progress | None = None

    def send(self, task: Task) -> None:
        """Let the worker begin a task."""
        self.connection.send(task)
        self.task, self.training_since, self.peak_memory, self.progress = task, None, 0, None

    def failed(self, status: str, reason: str) -> Outcome:
        """Return the outcome of a task that has no result, with what is known of it."""
        assert self.task is not None
        record: dict[str, Any] = {"status": status, "reason": reason}
        if self.progress is not None:
            record |= {"train_seconds": self.progress.seconds, "passes": self.progress.passes}
        if self.peak_memory:
            record["peak_memory_mb"] = self.peak_memory / 2**20
        return Outcome(self.task, record, [])

    def resident_bytes(self) -> int:
        """Return how much memory the process has at present; zero if it is gone."""
        with suppress(psutil.Error):
            return int(psutil.Process(self.process.pid).memory_info().rss)
        return 0

    def end(self) -> int | None:
        """Kill the process, wait for it, and return its exit code."""
        self.process.kill()
        self.process.join()
        self.connection.close()
        return self.process.exitcode  # type: ignore[no-any-return]


class LocalPool(Pool):
    """Worker processes of this machine.

    Parameters
    ----------
    jobs : int
        How many runs at once.
    threads : int
        Threads of BLAS and of numba in each worker.
    """

    def __init__(self, jobs: int = 1, threads: int = 1) -> None:
        self.jobs = jobs
        self.threads = threads
        self._workers: list[WorkerHandle] = []
        for _ in range(jobs):
            self._start()

    def close(self) -> None:  # noqa: D102 - the interface says it
        for each in self._workers:
            each.end()
        self._workers = []

    def use_threads(self, threads: int) -> None:  # noqa: D102
        if threads != self.threads:  # a process settles it when it starts
            self.close()
            self.threads = threads

    @property
    def has_room(self) -> bool:  # noqa: D102
        return sum(each.task is not None for each in self._workers) < self.jobs

    def submit(self, task: Task) -> None:  # noqa: D102
        idle = next((each for each in self._workers if each.task is None), None)
        try:
            (idle or self._start()).send(task)
        except (BrokenPipeError, ConnectionResetError):  # it died while it waited
            assert idle is not None
            self._discard(idle)
            self._start().send(task)

    def prepare(  # noqa: D102
        self, name: str, options: Mapping[str, Any], home: DataHome, limits: Limits, progress: progress.Progress
    ) -> str:
        idle = next((each for each in self._workers if each.task is None), None) or self._start()
        reason: str | None = None
        try:
            idle.connection.send(Preparation(name, options, home, limits))
            with Shown(progress) as shown:
                while True:
                    if idle.connection.poll(_LOOK_SECONDS):
                        match idle.connection.recv():
                            case Work() as work:
                                shown.show(work)
                            case Failed(_, reason):
                                break
                            case _:
                                reason = ""
                                break
                    if limits.memory is not None and idle.resident_bytes() > limits.memory:
                        return _over_memory(limits.memory)[1]
        except (EOFError, BrokenPipeError, ConnectionResetError):
            return _death(self._discard(idle))
        finally:
            if reason is None and idle in self._workers:
                self._discard(idle)
        return reason

    def next_outcome(self, on_news: OnNews) -> Outcome:  # noqa: D102
        while busy := [each for each in self._workers if each.task is not None]:
            for each in busy:
                if outcome := self._look_after(each, on_news):
                    return outcome
            wait([each.connection for each in busy], timeout=_LOOK_SECONDS)
        raise LookupError("no task is under way")

    def _start(self) -> WorkerHandle:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=worker.serve, args=(theirs, os.getpid(), self.jobs), daemon=True)
        with _thread_variables(self.threads), _deaf_to_interruption():
            process.start()
        theirs.close()
        self._workers.append(WorkerHandle(process, ours))
        return self._workers[-1]

    def _discard(self, broken: WorkerHandle) -> int | None:
        self._workers.remove(broken)
        return broken.end()

    def _look_after(self, busy: WorkerHandle, on_news: OnNews) -> Outcome | None:
        try:
            while busy.connection.poll():
                if outcome := _receive(busy, busy.connection.recv(), on_news):
                    busy.task = None
                    return outcome
        except (EOFError, ConnectionResetError):
            return busy.failed("crashed", _death(self._discard(busy)))
        if exceeded := _exceeded(busy):
            self._discard(busy)
            return busy.failed(*exceeded)
        return None


def _receive(busy: WorkerHandle, message: Message, on_news: OnNews) -> Outcome | None:
    assert busy.task is not None
    match message:
        case Finished(record, checkpoints):
            limit = busy.task.limits.memory
            if limit is not None and record["peak_memory_mb"] * 2**20 > limit:  # it was over between two looks
                return busy.failed(*_over_memory(limit))
            return Outcome(busy.task, record, checkpoints)
        case Failed(status, reason):
            return busy.failed(status, reason)
        case Phase("training"):
            busy.training_since = busy.last_message = time.monotonic()
        case Progress():
            busy.last_message, busy.progress = time.monotonic(), message
        case Phase() | Compiled():
            pass
        case _:
            return None
    on_news(busy.task, message)
    return None


def _exceeded(busy: WorkerHandle) -> tuple[str, str] | None:
    """Return which limit a run exceeds now, if any, as status and reason."""
    assert busy.task is not None
    limits, stop = busy.task.limits, busy.task.run.settings.stop
    allowed, since = limits.seconds, busy.training_since
    if allowed is None and stop.seconds is not None:  # evaluating, off the clock, may take longer
        allowed, since = _GRACE_FACTOR * stop.seconds + _GRACE_SECONDS, since and busy.last_message
    if allowed is not None and since is not None and time.monotonic() - since > allowed:
        return "timeout", f"still training after {allowed:g} seconds"
    if limits.memory is None:
        return None
    busy.peak_memory = max(busy.peak_memory, busy.resident_bytes())
    return _over_memory(limits.memory) if busy.peak_memory > limits.memory else None


def _over_memory(limit: ByteSize) -> tuple[str, str]:
    return "out-of-memory", f"used more than the limit of {limit.human_readable()}"


def _death(exit_code: int | None) -> str:
    if exit_code is not None and exit_code < 0:
        with suppress(ValueError):
            name = signal.Signals(-exit_code).name
            hint = "; the system may have run out of memory" if name == "SIGKILL" else ""
            return f"its process was ended by {name}{hint}"
    return f"its process ended with exit code {exit_code}"


@contextmanager
def _deaf_to_interruption() -> Iterator[None]:
    """Let a process that is started here ignore Ctrl-C from its first moment: its parent decides what it means."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _thread_variables(threads: int) -> Iterator[None]:
    """Let a process that is started here have so many threads: it settles that when it starts."""
    before = {name: os.environ[name] for name in _THREAD_VARIABLES if name in os.environ}
    os.environ.update(dict.fromkeys(_THREAD_VARIABLES, str(threads)))
    try:
        yield
    finally:
        for name in _THREAD_VARIABLES:
            del os.environ[name]
        os.environ.update(before)
