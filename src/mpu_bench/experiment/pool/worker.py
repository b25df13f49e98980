"""A child process that makes runs, as its pool sees it: the task that it is at, and how far it is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from mpu_bench.experiment.messages import Preparation, Progress, Task
from mpu_bench.experiment.pool import Outcome
from mpu_bench.experiment.pool.bounds import Course
from mpu_bench.guard.process import Child
from mpu_bench.quantities import Ending, Record, RunStatus


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

    def failed(self, status: str, ended_by: Ending, reason: str, traceback: str = "") -> Outcome:
        """Return the outcome of a task that has no result, with what is known of it."""
        assert self.task is not None
        record = Record(
            status=RunStatus(status),
            ended_by=ended_by,
            reason=reason,
            traceback=traceback or None,
            peak_memory_mb=self.peak_memory / 2**20 if self.peak_memory else None,
        )
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
