"""Tasks in child processes of this machine.

Workers are started when there is something to do, kept warm and given one run after another; a worker that crashes or
exceeds a limit is replaced, and its run becomes a row with the reason. So is one that has served a solver of a user's
own when another's turn comes: that solver may have changed whatever it reached.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from multiprocessing.connection import wait
from typing import Any

from pydantic import ByteSize

from mpu_bench.config.schema import Limits
from mpu_bench.data.download import progress
from mpu_bench.data.download.cache import DataHome
from mpu_bench.experiment.messages import (
    Compiler,
    Evaluating,
    Failed,
    Finished,
    Message,
    Phase,
    Preparation,
    Prepared,
    Progress,
    Task,
    Work,
)
from mpu_bench.experiment.pool import OnNews, Outcome, Pool, child
from mpu_bench.experiment.pool.child import WorkerHandle
from mpu_bench.experiment.preparation import Shown
from mpu_bench.quantities import Ending, RunStatus

_LOOK_SECONDS = 0.05  # how often limits are looked at
_ENDS = (RunStatus.DONE, RunStatus.STOPPED, RunStatus.DIVERGED)  # of a run whose worker has an answer
_OWN: tuple[Any, ...] = ()  # the kind of a worker for solvers of the project


class LocalPool(Pool):
    """Worker processes of this machine.

    Parameters
    ----------
    jobs : int
        How many runs at once.
    threads : int
        Threads of BLAS and of numba in each worker.
    sharers : int or None
        How many runs at once share the memory of this machine; by default those of this pool.
    """

    def __init__(self, jobs: int = 1, threads: int = 1, sharers: int | None = None) -> None:
        self.jobs = jobs
        self.sharers = sharers or jobs
        self.threads = threads
        self._workers: list[WorkerHandle] = []

    def close(self) -> None:  # noqa: D102 - the interface says it
        for each in self._workers:
            each.stop()
        while self._workers:
            self._discard(self._workers[-1])

    def use_threads(self, threads: int) -> None:  # noqa: D102
        if threads != self.threads:  # a process settles it when it starts
            self.close()
            self.threads = threads

    def use_jobs(self, jobs: int) -> None:  # noqa: D102
        if jobs != self.jobs:  # idle workers would keep data and memory from those that are busy
            self.close()
            self.jobs = self.sharers = jobs

    def get_ready(self) -> None:  # noqa: D102
        if not self._workers:
            self._start()

    def compile_ahead(self, tasks: Sequence[Task]) -> None:  # noqa: D102
        waiting, under_way = list(reversed(tasks)), 0
        with LocalPool(min(len(tasks), os.cpu_count() or 1), self.threads, self.sharers) as others:
            while waiting or under_way:
                if waiting and others.has_room:
                    others.submit(waiting.pop())
                    under_way += 1
                else:
                    others.next_outcome(lambda _task, _news: None)
                    under_way -= 1

    @property
    def has_room(self) -> bool:  # noqa: D102
        return sum(each.task is not None for each in self._workers) < self.jobs

    def submit(self, task: Task) -> None:  # noqa: D102
        plugins = task.run.settings.plugins
        self._idle_worker((plugins, task.run.solver.name) if plugins else _OWN).send(task)

    def prepare(  # noqa: D102
        self, name: str, options: Mapping[str, Any], home: DataHome, limits: Limits, progress: progress.Progress
    ) -> str:
        chosen = self._idle_worker(_OWN)
        answer: Prepared | Failed | str | None = None
        try:
            chosen.send(Preparation(name, options, home, limits))
            with Shown(progress) as shown:
                while answer is None:
                    wait(chosen.waited_for, timeout=_LOOK_SECONDS)
                    answer = _prepared(chosen, limits.memory, shown)
        finally:  # an interruption, too, ends what is under way
            if not isinstance(answer, Prepared | Failed) or len(self._workers) > self.jobs:
                self._discard(chosen)
        return answer if isinstance(answer, str) else answer.reason if isinstance(answer, Failed) else ""

    def next_outcome(self, on_news: OnNews) -> Outcome:  # noqa: D102
        while True:
            if outcome := self.look(on_news):
                return outcome

    def look(self, on_news: OnNews) -> Outcome | None:
        """Return what came of a task, if one has ended; after a moment, if none has.

        Parameters
        ----------
        on_news : function
            As of `next_outcome`.
        """
        busy = [each for each in self._workers if each.task is not None]
        if not busy:
            raise LookupError("no task is under way")
        for each in busy:
            if outcome := self._look_after(each, on_news):
                return outcome
        wait([it for each in busy for it in each.waited_for], timeout=_LOOK_SECONDS)
        return None

    def _idle_worker(self, kind: tuple[Any, ...]) -> WorkerHandle:
        """Return a living worker that has served this kind of solver, or none; others make room for it."""
        idle = [each for each in self._workers if each.task is None]
        for each in [each for each in idle if each.is_dead]:
            self._discard(each)
            idle.remove(each)
        fitting = [each for wanted in (kind, None) for each in idle if each.kind == wanted]
        if not fitting and idle and len(self._workers) >= self.jobs:
            self._discard(idle[0])
        chosen = fitting[0] if fitting else self._start()
        chosen.kind = kind
        return chosen

    def _start(self) -> WorkerHandle:
        self._workers.append(child.start(self.threads, self.sharers))
        return self._workers[-1]

    def _discard(self, worker: WorkerHandle) -> None:
        self._workers.remove(worker)
        worker.end()

    def _look_after(self, busy: WorkerHandle, on_news: OnNews) -> Outcome | None:
        assert busy.task is not None
        assert busy.course is not None
        if not busy.is_announced:
            busy.is_announced = True
            on_news(busy.task, Phase("starting"))
        is_dead = busy.is_dead  # first: what it has sent before is there then
        try:
            messages, is_closed = busy.receive()
            for message in messages:
                busy.course.hear(message)
                if outcome := _receive(busy, message, on_news):
                    return self._ended(busy, message, outcome)
        except ValueError as fault:
            self._discard(busy)
            return busy.failed("error", Ending.FAULT, f"its process sent what no worker sends: {fault}")
        if is_dead or is_closed:
            cause, ended_by = busy.why_dead(), Ending.SYSTEM if busy.was_killed else Ending.FAULT
            self._discard(busy)
            return busy.failed("crashed", ended_by, cause)
        status, ended_by, reason = "timeout", Ending.TIME_LIMIT, busy.course.overdue()
        limit = busy.task.limits.memory
        if not reason and limit is not None and busy.look_at_memory() > limit:
            status, ended_by, reason = "out-of-memory", Ending.MEMORY_LIMIT, _over(limit)
        if not reason:
            return None
        busy.take_stock()
        self._discard(busy)
        return busy.failed(status, ended_by, reason)

    def _ended(self, worker: WorkerHandle, message: Message, outcome: Outcome) -> Outcome:
        """Replace a worker in which a solver has left something behind; nothing of that may reach another run."""
        worker.task = worker.course = None
        if worker.kind == _OWN:
            return outcome
        counts = {"processes": worker.left_running()}
        if isinstance(message, Finished | Failed):
            counts["threads"] = message.threads_left
        if left := " and ".join(f"{count} {what}" for what, count in counts.items() if count):
            self._discard(worker)
            remark = f"left running, ended by mpu-bench: {left}"
            reason = "; ".join(filter(None, [outcome.record.reason, remark]))
            return replace(outcome, record=replace(outcome.record, reason=reason))
        return outcome


def _receive(busy: WorkerHandle, message: Message, on_news: OnNews) -> Outcome | None:
    """Take note of a message; return the outcome if it is the last."""
    assert busy.task is not None
    match message:
        case Finished(record, checkpoints):
            if record.status not in _ENDS:
                raise ValueError("a record of no run")
            limit = busy.task.limits.memory
            if limit is not None and max(message.resident_bytes, busy.peak_memory) > limit:  # between two looks
                return busy.failed("out-of-memory", Ending.MEMORY_LIMIT, _over(limit))
            return Outcome(busy.task, record, checkpoints)
        case Failed(status, reason, _, traceback):
            return busy.failed(status, message.ended_by, reason, traceback)
        case Prepared() | Work():
            raise ValueError("news of a preparation")
        case Compiler() | Evaluating():
            return None
        case Progress():
            busy.progress = message
        case Phase("training"):
            busy.peak_memory = 0
        case _:
            pass
    on_news(busy.task, message)
    return None


def _prepared(worker: WorkerHandle, limit: ByteSize | None, shown: Shown) -> Prepared | Failed | str | None:
    """Return a worker's last word on a preparation, or why there is none; None while it is under way."""
    is_dead = worker.is_dead
    try:
        messages, is_closed = worker.receive()
    except ValueError as fault:
        return f"its preparation sent what no worker sends: {fault}"
    for message in messages:
        match message:
            case Work():
                shown.show(message)
            case Prepared() | Failed():
                return message
            case _:
                pass
    if is_dead or is_closed:
        return f"its preparation failed: {worker.why_dead()}"
    if limit is not None and worker.look_at_memory() > limit:
        return f"its preparation {_over(limit)}"
    return None


def _over(limit: ByteSize) -> str:
    return f"used more than the limit of {limit.human_readable()}; ended by mpu-bench"
