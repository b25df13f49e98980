"""The child processes of a selection: each at one request, ended where it takes more seconds or memory than it may.

`mpu_bench.cli.trying` starts them before it imports what reads rows and draws: both import at once. So little is
imported here, and what is known of requests only when there are some.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from mpu_bench.guard.messages import from_line
from mpu_bench.guard.process import Child, awake, wait_for
from mpu_bench.quantities import Record

if TYPE_CHECKING:
    from mpu_bench.selection.rows import Source
    from mpu_bench.selection.worker import Answer, Asked

_SECONDS_TO_START = 600.0  # to import, to load the rows, and to compile; a machine may be busy
_GRACE = 1.2  # times the seconds that a classifier was told, ...
_GRACE_SECONDS = 1.0  # ... and so many more: it may have to be validated on many folds
_SHARE_OF_MEMORY = 0.8  # of what is free, for all workers
_NUMBERS = ("numpy", "numpy.core.multiarray", "numpy._core.multiarray")  # modules of numpy's numbers


class _Worker(Child):
    def __init__(self) -> None:
        super().__init__("mpu_bench.selection.worker:serve")
        self.request: Asked | None = None
        self.began = 0.0
        self.is_ready = False  #: whether what is asked has begun

    def ask(self, request: Asked) -> None:
        self.request, self.began, self.is_ready = request, awake(), False
        self.send(request)

    def overdue(self) -> str:
        """Return in words that it takes more seconds than it may; nothing if it does not."""
        assert self.request is not None
        limit = self.request.seconds * _GRACE + _GRACE_SECONDS if self.is_ready else _SECONDS_TO_START
        if awake() - self.began <= limit:
            return ""
        if not self.is_ready:
            return f"was not ready to begin within {_SECONDS_TO_START:.3g} s"
        from mpu_bench.selection.schedule import Fit

        rows = f" on {self.request.rows:,} rows" if isinstance(self.request, Fit) else ""
        return f"did not end within {self.request.seconds:.3g} s{rows}"


class Pool:
    """Processes that train and evaluate.

    Parameters
    ----------
    jobs : int
        How many.
    """

    def __init__(self, jobs: int) -> None:
        self._source_and_folder: tuple[Source, Path] | None = None
        self._preparing = 0.0  # seconds of all workers together
        self._max_memory = _SHARE_OF_MEMORY * psutil.virtual_memory().available / jobs
        self._workers = [_Worker() for _ in range(jobs)]

    def give(self, source: Source, folder: Path) -> None:
        """Let all of them load the rows, and keep models in a folder meanwhile; before the first request."""
        self._source_and_folder = source, folder
        for worker in self._workers:
            worker.send(self._source_and_folder)

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._workers:
            worker.stop()
        for worker in self._workers:
            worker.end()

    @property
    def has_room(self) -> bool:
        """Whether a worker has nothing to do."""
        return any(worker.request is None for worker in self._workers)

    @property
    def is_busy(self) -> bool:
        """Whether a worker is at something."""
        return any(worker.request is not None for worker in self._workers)

    @property
    def is_getting_ready(self) -> bool:
        """Whether a worker imports, loads or compiles what it was asked for."""
        return any(worker.request is not None and not worker.is_ready for worker in self._workers)

    @property
    def preparing(self) -> float:
        """The seconds in which workers imported, loaded or compiled what they needed: the mean of them."""
        now = awake()
        under_way = sum(
            now - worker.began for worker in self._workers if worker.request is not None and not worker.is_ready
        )
        return (self._preparing + under_way) / len(self._workers)

    def ask(self, request: Asked) -> None:
        """Let a worker that has nothing to do begin; only while there is one. One that has died is replaced before."""
        idle = next(worker for worker in self._workers if worker.request is None)
        (self._replaced(idle) if idle.is_dead else idle).ask(request)

    def answers(self, seconds: float) -> list[Answer]:
        """Wait until some worker has answered, or for so many seconds and until all are ready; return the answers."""
        end = awake() + seconds
        answers: list[Answer] = []
        while not answers and self.is_busy and (awake() < end or self.is_getting_ready):
            busy = [worker for worker in self._workers if worker.request is not None]
            wait_for(busy)
            answers = [answer for worker in busy if (answer := self._look_at(worker)) is not None]
        return answers

    def drop(self) -> None:
        """End what is under way; its workers are replaced."""
        for worker in [worker for worker in self._workers if worker.request is not None]:
            self._replaced(worker)

    def _replaced(self, worker: _Worker) -> _Worker:
        worker.end()
        new = self._workers[self._workers.index(worker)] = _Worker()
        new.send(self._source_and_folder)
        return new

    def _look_at(self, worker: _Worker) -> Answer | None:
        from mpu_bench.selection.worker import answer_of

        request = worker.request
        assert request is not None

        def hear(line: bytes) -> Answer | None:
            if (answer := from_line(line, _NUMBERS)) is not None:
                return answer_of(request, **answer)
            self._preparing += awake() - worker.began
            worker.began, worker.is_ready = awake(), True
            return None

        result: Answer | Record | None = worker.look(hear, worker.overdue, self._max_memory)
        if isinstance(result, Record):
            self._replaced(worker)
            return answer_of(request, reason=result.reason)
        if result is not None:
            worker.request = None
        return result
