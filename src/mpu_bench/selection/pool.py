"""The child processes of a selection: each at one request, ended where it takes more seconds or memory than it may."""

from __future__ import annotations

import math
import multiprocessing
import os
import time
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any

import psutil

from mpu_bench.guard import system
from mpu_bench.guard.process import thread_variables
from mpu_bench.selection.rows import Source
from mpu_bench.selection.schedule import Fit, Fitted
from mpu_bench.selection.worker import Answer, Asked, Evaluated, Ready, serve

_LOOK_SECONDS = 0.05
_SECONDS_TO_START = 600.0  # to import, to load the rows, and to compile; a machine may be busy
_GRACE = 1.2  # times the seconds that a classifier was told, ...
_GRACE_SECONDS = 1.0  # ... and so many more: it may have to be validated on many folds
_SHARE_OF_MEMORY = 0.8  # of what is free, for all workers


@dataclass
class _Worker:
    process: SpawnProcess
    connection: Any
    asked: Asked | None = None
    began: float = 0.0
    is_ready: bool = False  #: whether what is asked has begun

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began


class Pool:
    """Processes that train and evaluate.

    Parameters
    ----------
    source : Source
        The rows, which each of them loads.
    folder : Path
        Where they keep models meanwhile.
    jobs : int
        How many.
    """

    def __init__(self, source: Source, folder: Path, jobs: int) -> None:
        self._source, self._folder = source, folder
        self._preparing: list[tuple[float, float]] = []  # from when to when
        self._most_memory = _SHARE_OF_MEMORY * psutil.virtual_memory().available / jobs
        self._workers = [self._start() for _ in range(jobs)]

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        for each in self._workers:
            _end(each)

    def _start(self) -> _Worker:
        here, there = multiprocessing.Pipe()
        context = multiprocessing.get_context("spawn")
        process = context.Process(target=serve, args=(there, self._source, self._folder, os.getpid()), daemon=True)
        kept = dict(os.environ)
        # read by what the process imports, none of it from the current folder
        os.environ.update(thread_variables(1) | {"PYTHONSAFEPATH": "1"})
        try:
            process.start()
        finally:
            os.environ.clear()
            os.environ.update(kept)
        there.close()
        return _Worker(process, here)

    @property
    def has_room(self) -> bool:
        """Whether a worker has nothing to do."""
        return any(each.asked is None for each in self._workers)

    @property
    def is_busy(self) -> bool:
        """Whether a worker is at something."""
        return any(each.asked is not None for each in self._workers)

    @property
    def is_getting_ready(self) -> bool:
        """Whether a worker imports, loads or compiles what it was asked for."""
        return any(each.asked is not None and not each.is_ready for each in self._workers)

    @property
    def preparing(self) -> float:
        """The seconds in which some worker imported, loaded or compiled what it needed."""
        seconds, until = 0.0, -math.inf
        for began, ended in sorted(self._preparing):
            seconds += max(ended - max(began, until), 0.0)
            until = max(until, ended)
        return seconds

    def ask(self, asked: Asked) -> None:
        """Let a worker that has nothing to do begin; only while there is one. One that has died is replaced before."""
        place = next(place for place, each in enumerate(self._workers) if each.asked is None)
        if not self._workers[place].process.is_alive():
            _end(self._workers[place])
            self._workers[place] = self._start()
        chosen = self._workers[place]
        chosen.asked, chosen.began, chosen.is_ready = asked, time.monotonic(), False
        with suppress(BrokenPipeError, ConnectionResetError):  # one that dies at this moment has no answer
            chosen.connection.send(asked)

    def answers(self, seconds: float) -> list[Answer]:
        """Wait until some worker has answered, or for so many seconds and until all are ready; return the answers."""
        end, found = time.monotonic() + seconds, list[Answer]()
        while not found and self.is_busy and (time.monotonic() < end or self.is_getting_ready):
            wait([each.connection for each in self._workers if each.asked], timeout=_LOOK_SECONDS)
            for place, each in enumerate(self._workers):
                if each.asked is not None and (answer := self._look_at(each)) is not None:
                    found.append(answer)
                    each.asked = None
                    if not each.process.is_alive():
                        self._workers[place] = self._start()
        return found

    def drop(self) -> None:
        """End what is under way; its workers are replaced."""
        for place, each in enumerate(self._workers):
            if each.asked is not None:
                _end(each)
                self._workers[place] = self._start()

    def _look_at(self, worker: _Worker) -> Answer | None:
        assert worker.asked is not None
        try:
            while worker.connection.poll():
                told: Answer | Ready = worker.connection.recv()
                if not isinstance(told, Ready):
                    return told
                self._preparing.append((worker.began, time.monotonic()))
                worker.began, worker.is_ready = time.monotonic(), True
        except (EOFError, OSError):
            _end(worker)
            return _without_result(worker.asked, "its process ended by itself")
        most = worker.asked.seconds * _GRACE + _GRACE_SECONDS if worker.is_ready else _SECONDS_TO_START
        if worker.seconds > most:
            _end(worker)
            return _without_result(worker.asked, _why_ended(worker))
        assert worker.process.pid is not None
        if system.resident_bytes([worker.process.pid]) > self._most_memory:
            _end(worker)
            return _without_result(worker.asked, f"used more than {self._most_memory / 2**30:.1f} GiB of memory")
        return None


def _why_ended(worker: _Worker) -> str:
    assert worker.asked is not None
    if not worker.is_ready:
        return f"was not ready to begin within {_SECONDS_TO_START:.3g} s"
    rows = f" on {worker.asked.rows:,} rows" if isinstance(worker.asked, Fit) else ""
    return f"did not end within {worker.asked.seconds:.3g} s{rows}"


def _without_result(asked: Asked, reason: str) -> Answer:
    return Fitted(asked, reason=reason) if isinstance(asked, Fit) else Evaluated(asked, reason=reason)


def _end(worker: _Worker) -> None:
    worker.process.kill()
    worker.process.join()
    worker.connection.close()
