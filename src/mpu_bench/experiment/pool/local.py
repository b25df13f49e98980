"""Tasks in child processes of this machine.

Workers are started when there is something to do, kept warm and given one run after another; a worker that crashes or
exceeds a limit is replaced, and its run becomes a row with the reason. So is one that has served a solver of a user's
own when another's turn comes: that solver may have changed whatever it reached. Every phase of a run has a bound, from
the moment it is handed to a worker.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any, Self

from mpu_bench.config.schema import Limits, Stop
from mpu_bench.data.download import progress
from mpu_bench.data.download.cache import DataDirectory
from mpu_bench.errors import DataError
from mpu_bench.experiment.messages import (
    Aside,
    Failed,
    Finished,
    Message,
    Phase,
    Preparation,
    Prepared,
    Progress,
    Task,
    Work,
    decode,
)
from mpu_bench.experiment.pool import OnNews, Outcome, Pool
from mpu_bench.guard.process import AwakeClock, Child, over, wait_for
from mpu_bench.quantities import Ending, Record, RunStatus

_ENDS = (RunStatus.DONE, RunStatus.STOPPED, RunStatus.DIVERGED)  # of a run whose worker has an answer
_OWN: tuple[Any, ...] = ()  # the kind of a worker for solvers of the project

#: what getting to the data may take, and a worker to begin
LOADING_SECONDS = 600.0
#: what importing a plugin may take
IMPORTING_SECONDS = 120.0
#: what numba may take in one warm-up; the rest of a warm-up is training on 200 examples
COMPILING_SECONDS = 900.0
#: what a warm-up may take where the config bounds no seconds
WARM_UP_SECONDS = 600.0
#: what a warm-up may take beyond what the config allows, for imports
WARM_UP_GRACE_SECONDS = 30.0
#: what evaluating a model once may take, where the config bounds seconds: so many times these, or a minute
EVALUATING_FACTOR, EVALUATING_SECONDS = 20.0, 60.0
#: what a solver that cannot be sliced may take beyond stop.seconds
STOP_GRACE_FACTOR, STOP_GRACE_SECONDS = 1.5, 30.0

_WORDS = {
    "starting": "starting",
    "loading": "loading",
    "kernel matrix": "computing the kernel matrix without a word",
}


@dataclass
class Course:
    """The phases of a run as they are heard of, and which bound is exceeded.

    ``limits.seconds`` bounds training and a warm-up, without evaluating, compiling and loading code, which have bounds
    of their own. Only a config without ``limits.seconds`` and ``stop.seconds`` leaves training without a bound.
    """

    limits: Limits
    stop: Stop
    clock: Callable[[], float] = field(default_factory=AwakeClock)
    phase: str = "starting"
    since: float = 0.0  #: when the phase began, later by what does not count of it
    heard: float = 0.0  #: when there was a message
    aside_since: float | None = None  #: when compiling, or evaluating, began
    compiled_seconds: float = 0.0

    def hear(self, message: Message) -> None:
        """Take note of a message."""
        self.heard = now = self.clock()
        match message:
            case Phase(name):
                self.phase, self.since, self.aside_since, self.compiled_seconds = name, now, None, 0.0
            case Aside(begins=True):
                self.aside_since = now
            case Aside() if self.aside_since is not None:
                self.since += now - self.aside_since
                self.compiled_seconds += now - self.aside_since
                self.aside_since = None

    def silent_training(self) -> float:
        """Return for how many seconds it has trained without a word."""
        return self.clock() - self.heard if self.phase == "training" and self.aside_since is None else 0.0

    def overdue(self) -> str:
        """Return which bound is exceeded, in words; nothing if none is."""
        now, allowed = self.clock(), self._training_seconds()
        aside = 0.0 if self.aside_since is None else now - self.aside_since
        lasted = now - self.since - aside
        match self.phase:
            case "training" if self.aside_since is not None:
                doing, lasted = "evaluating", aside
                allowed = None if allowed is None else max(EVALUATING_FACTOR * allowed, EVALUATING_SECONDS)
            case "training":
                doing = "training"
                if self.limits.seconds is None:  # a solver that obeys stop.seconds reports progress
                    lasted = now - self.heard
            case "compiling" if self.compiled_seconds + aside > COMPILING_SECONDS:
                return self._words("compiling", COMPILING_SECONDS)
            case "compiling":
                doing = "warming up on a few rows, before training,"
                allowed = WARM_UP_SECONDS if allowed is None else allowed + WARM_UP_GRACE_SECONDS
            case "importing":
                doing, allowed = "importing the plugin", IMPORTING_SECONDS
            case _:
                doing, allowed = _WORDS[self.phase], LOADING_SECONDS
        return self._words(doing, allowed) if allowed is not None and lasted > allowed else ""

    def _training_seconds(self) -> float | None:
        if self.limits.seconds is not None or self.stop.seconds is None:
            return self.limits.seconds
        return STOP_GRACE_FACTOR * self.stop.seconds + STOP_GRACE_SECONDS

    @staticmethod
    def _words(doing: str, seconds: float) -> str:
        return f"still {doing} after {seconds:g} seconds; ended by mpu-bench"


class WorkerHandle(Child):
    """One child process, and the task it is at.

    ``kind`` is whom it serves: the plugin files and the name of their solver, or nothing of that for all solvers of
    the project; None as long as it has done nothing.

    Parameters
    ----------
    jobs : int
        Workers that share the machine's memory.
    threads : int
        Threads of BLAS and of numba in it.
    """

    def __init__(self, jobs: int, threads: int) -> None:
        super().__init__("mpu_bench.experiment.worker:serve", jobs, threads=threads)
        self.kind: tuple[Any, ...] | None = None
        self.task: Task | None = None
        self.course: Course | None = None
        self.progress: Progress | None = None
        self.is_announced = False  #: whether the begin of the task was announced

    def begin(self, request: Task | Preparation) -> None:
        """Let the worker begin something."""
        self.progress, self.is_announced, self.task, self.course = None, False, None, None
        if isinstance(request, Task):
            self.task, self.course = request, Course(request.limits, request.run.settings.stop)
        self.send(request)

    def failed(self, record: Record) -> Outcome:
        """Return the outcome of a task that has no result, with what is known of it."""
        assert self.task is not None
        record = replace(record, peak_memory_mb=self.peak_memory / 2**20 if self.peak_memory else None)
        if (reached := self.progress) is not None and reached.seconds > 0:
            record = replace(
                record, train_seconds=reached.seconds, cpu_seconds=reached.cpu_seconds, passes=reached.passes
            )
        return Outcome(self.task, record, [])

    def take_stock(self) -> None:
        """Look once more at what a run has used that is about to be ended."""
        self.look_at_peak()
        if self.progress is not None and self.course is not None and (seconds := self.course.silent_training()):
            used = self.cpu_seconds() - self.progress.process_seconds
            self.progress = replace(
                self.progress,
                seconds=self.progress.seconds + seconds,
                cpu_seconds=self.progress.cpu_seconds + max(0.0, used),
            )


class Transfers:
    """Shows the progress that a worker reports; transfers that have not ended when it ends have failed."""

    def __init__(self, shown: progress.Progress) -> None:
        self._progress = shown
        self._transfers: dict[int, tuple[AbstractContextManager[progress.Advance], progress.Advance]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for number in list(reversed(self._transfers)):
            self._end(number, DataError("cut short"))

    def show(self, work: Work) -> None:
        """Show a message."""
        match work.step:
            case "note":
                self._progress.note(work.text)
            case "begin":
                transfer = self._progress.transfer(work.text, work.total, work.done)
                self._transfers[work.number] = transfer, transfer.__enter__()
            case "advance" if work.number in self._transfers:
                self._transfers[work.number][1](work.done)
            case "end" | "fail" if work.number in self._transfers:
                self._end(work.number, DataError("failed") if work.step == "fail" else None)

    def _end(self, number: int, error: DataError | None) -> None:
        self._transfers.pop(number)[0].__exit__(type(error) if error else None, error, None)


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
        for worker in self._workers:
            worker.stop()
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

    def compile_ahead(self, tasks: Sequence[Task], say: Callable[[str], object]) -> None:  # noqa: D102
        say(f"compiling {', '.join(dict.fromkeys(task.run.solver.name for task in tasks))} (once per machine)")
        with LocalPool(min(len(tasks), os.cpu_count() or 1), self.threads, self.sharers) as others:
            for task in tasks:
                if not others.has_room:
                    others.next_outcome(lambda _task, _news: None)
                others.submit(task)
            for _ in range(others.jobs):
                others.next_outcome(lambda _task, _news: None)

    @property
    def has_room(self) -> bool:  # noqa: D102
        return sum(worker.task is not None for worker in self._workers) < self.jobs

    def submit(self, task: Task) -> None:  # noqa: D102
        solver = task.run.solver
        self._idle_worker((solver.plugin, solver.name) if solver.plugin else _OWN).begin(task)

    def prepare(  # noqa: D102
        self, name: str, options: Mapping[str, Any], home: DataDirectory, limits: Limits, progress: progress.Progress
    ) -> str:
        chosen = self._idle_worker(_OWN)
        answer: Prepared | Failed | Record | None = None
        try:
            chosen.begin(Preparation(name, options, home, limits))
            with Transfers(progress) as shown:

                def hear(line: bytes) -> Prepared | Failed | None:
                    message = decode(line)
                    if isinstance(message, Work):
                        shown.show(message)
                    return message if isinstance(message, Prepared | Failed) else None

                while answer is None:
                    wait_for([chosen])
                    answer = chosen.look(hear, lambda: "", limits.memory)
        finally:  # an interruption, too, ends what is under way
            if not isinstance(answer, Prepared | Failed) or len(self._workers) > self.jobs:
                self._discard(chosen)
        if isinstance(answer, Record):
            return f"its preparation failed: {answer.reason}"
        return answer.reason if isinstance(answer, Failed) else ""

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
        busy = [worker for worker in self._workers if worker.task is not None]
        if not busy:
            raise LookupError("no task is under way")
        for worker in busy:
            if outcome := self._look_after(worker, on_news):
                return outcome
        wait_for(busy)
        return None

    def _idle_worker(self, kind: tuple[Any, ...]) -> WorkerHandle:
        """Return a living worker that has served this kind of solver, or none; others make room for it."""
        idle = [worker for worker in self._workers if worker.task is None]
        for dead in [worker for worker in idle if worker.is_dead]:
            self._discard(dead)
            idle.remove(dead)
        fitting = [worker for wanted in (kind, None) for worker in idle if worker.kind == wanted]
        if not fitting and idle and len(self._workers) >= self.jobs:
            self._discard(idle[0])
        chosen = fitting[0] if fitting else self._start()
        chosen.kind = kind
        return chosen

    def _start(self) -> WorkerHandle:
        self._workers.append(WorkerHandle(self.sharers, self.threads))
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

        def hear(line: bytes) -> Outcome | None:
            assert busy.course is not None
            busy.course.hear(message := decode(line))
            outcome = _receive(busy, message, on_news)
            return self._ended(busy, message, outcome) if outcome else None

        result: Outcome | Record | None = busy.look(hear, busy.course.overdue, busy.task.limits.memory)
        if not isinstance(result, Record):
            return result
        if result.ended_by in (Ending.TIME_LIMIT, Ending.MEMORY_LIMIT):
            busy.take_stock()
        self._discard(busy)
        return busy.failed(result)

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
            busy.peak_memory = max(busy.peak_memory, message.resident_bytes)  # which may be between two looks
            if limit is not None and busy.peak_memory > limit:
                return busy.failed(over(limit))
            return Outcome(busy.task, record, checkpoints)
        case Failed():
            return busy.failed(message.record)
        case Prepared() | Work():
            raise ValueError("news of a preparation")
        case Aside():
            return None
        case Progress():
            busy.progress = message
        case Phase("training"):
            busy.peak_memory = 0
    on_news(busy.task, message)
    return None
