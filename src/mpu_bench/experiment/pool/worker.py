"""A child process that makes runs, as its pool sees it: its task, how far that is, and how long it may take.

Every phase of a run has a bound, from the moment it is handed to a worker.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from mpu_bench.config.schema import Limits, Stop
from mpu_bench.experiment.messages import Aside, Message, Phase, Preparation, Progress, Task
from mpu_bench.experiment.pool import Outcome
from mpu_bench.guard.process import AwakeClock, Child
from mpu_bench.quantities import Record

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
