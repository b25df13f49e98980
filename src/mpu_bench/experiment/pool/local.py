"""Run tasks in child processes of this machine.

Workers are kept warm and given one run after another; a worker that crashes or exceeds a limit is replaced,
and its run becomes a row with the reason.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from typing import Any

import psutil
from pydantic import ByteSize

from mpu_bench.config.schema import Limits
from mpu_bench.experiment import worker
from mpu_bench.experiment.worker import Task

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


@dataclass(frozen=True)
class Outcome:
    """What came of a task: the part of its record that the worker knows, and its checkpoints."""

    task: Task
    record: dict[str, Any]
    checkpoints: list[dict[str, Any]]


#: told of every message of a worker: the task, the kind of message, its content
Listener = Callable[[Task, str, Any], None]


@dataclass
class _Worker:
    """One child process and the task it is at."""

    process: Any
    connection: Connection
    task: Task | None = None
    training_since: float | None = None
    heard: float = 0.0  #: when it last said how far it is
    peak_memory: int = 0
    measured: dict[str, Any] = field(default_factory=dict)

    def give(self, task: Task) -> None:
        self.task, self.training_since, self.peak_memory, self.measured = task, None, 0, {}
        self.connection.send(task)

    def end(self) -> int | None:
        """Kill the process, wait for it, and give its exit code."""
        self.process.kill()
        self.process.join()
        self.connection.close()
        return self.process.exitcode  # type: ignore[no-any-return]


class Pool:
    """Worker processes with a fixed number of threads each.

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
        self._workers = [self._start() for _ in range(jobs)]

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def use_threads(self, threads: int) -> None:
        """Start the workers anew where they have another number of threads: it is settled when a process starts."""
        if threads != self.threads:
            self.close()
            self.threads = threads
            self._workers = [self._start() for _ in range(self.jobs)]

    def close(self) -> None:
        """End all workers at once."""
        for each in self._workers:
            each.end()
        self._workers = []

    def _start(self) -> _Worker:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=worker.serve, args=(theirs, os.getpid(), self.jobs), daemon=True)
        with _environment(dict.fromkeys(_THREAD_VARIABLES, str(self.threads))), _deaf_to_interruption():
            process.start()
        theirs.close()
        return _Worker(process, ours)

    def _replace(self, broken: _Worker) -> int | None:
        exit_code = broken.end()
        self._workers[self._workers.index(broken)] = self._start()
        return exit_code

    def run(self, tasks: Sequence[Task], limits: Limits, listener: Listener) -> Iterator[Outcome]:
        """Run all tasks and give each outcome as soon as it is known.

        Parameters
        ----------
        tasks : sequence of Task
        limits : Limits
            A run over its seconds (of training) or memory is ended, with a row that says so.
        listener : function
            Told of phases and progress.
        """
        waiting = deque(tasks)
        while waiting or any(each.task for each in self._workers):
            for idle in [each for each in self._workers if each.task is None]:
                if waiting:
                    self._assign(idle, waiting.popleft(), listener)
            for busy in [each for each in self._workers if each.task is not None]:
                yield from self._look_after(busy, limits, listener)
            busy_ends = [each.connection for each in self._workers if each.task is not None]
            if busy_ends:
                wait(busy_ends, timeout=_LOOK_SECONDS)

    def _assign(self, idle: _Worker, task: Task, listener: Listener) -> None:
        try:
            idle.give(task)
        except (BrokenPipeError, ConnectionResetError):  # it died while it waited
            self._replace(idle)
            next(each for each in self._workers if each.task is None).give(task)
        listener(task, "phase", "starting")

    def _look_after(self, busy: _Worker, limits: Limits, listener: Listener) -> Iterator[Outcome]:
        task = busy.task
        assert task is not None
        try:
            while busy.task is not None and busy.connection.poll():
                yield from self._hear(busy, busy.connection.recv(), limits, listener)
        except (EOFError, ConnectionResetError):
            yield _failed(task, busy, "crashed", _death(self._replace(busy)))
            return
        if busy.task is not None and (exceeded := _exceeded(busy, limits)):
            self._replace(busy)
            yield _failed(task, busy, *exceeded)

    def _hear(self, busy: _Worker, message: tuple[Any, ...], limits: Limits, listener: Listener) -> Iterator[Outcome]:
        task, (kind, *content) = busy.task, message
        assert task is not None
        if kind == "phase" and content[0] == "training":
            busy.training_since = busy.heard = time.monotonic()
        if kind == "progress":
            busy.heard = time.monotonic()
            busy.measured = content[0]
        if kind in ("phase", "progress"):
            listener(task, kind, content[0])
            return
        busy.task = None
        if kind == "failed":
            yield _failed(task, busy, *content)
        elif limits.memory is not None and content[0]["peak_memory_mb"] * 2**20 > limits.memory:
            yield _failed(task, busy, *_over_memory(limits.memory))  # it was over between two looks
        else:
            yield Outcome(task, *content)


def _exceeded(busy: _Worker, limits: Limits) -> tuple[str, str] | None:
    """Say which limit a run exceeds now, if any."""
    assert busy.task is not None
    allowed, since = limits.seconds, busy.training_since
    if allowed is None and busy.task.run.stop.seconds is not None:  # evaluating, off the clock, may take longer
        allowed, since = _GRACE_FACTOR * busy.task.run.stop.seconds + _GRACE_SECONDS, busy.training_since and busy.heard
    if allowed is not None and since is not None and time.monotonic() - since > allowed:
        return "timeout", f"still training after {allowed:g} seconds"
    if limits.memory is None:
        return None
    with suppress(psutil.Error):
        busy.peak_memory = max(busy.peak_memory, psutil.Process(busy.process.pid).memory_info().rss)
    return _over_memory(limits.memory) if busy.peak_memory > limits.memory else None


def _over_memory(limit: ByteSize) -> tuple[str, str]:
    return "out-of-memory", f"used more than the limit of {limit.human_readable()}"


def _failed(task: Task, busy: _Worker, status: str, reason: str) -> Outcome:
    record: dict[str, Any] = {"status": status, "reason": reason}
    if "seconds" in busy.measured:
        record |= {"train_seconds": busy.measured["seconds"], "passes": busy.measured["passes"]}
    if busy.peak_memory:
        record["peak_memory_mb"] = busy.peak_memory / 2**20
    return Outcome(task, record, [])


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
def _environment(variables: dict[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
