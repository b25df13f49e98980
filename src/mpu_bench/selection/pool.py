"""The child processes of a selection: each at one request, ended where it takes more seconds or memory than it may.

`mpu_bench.cli.trying` starts them before it imports what reads rows and draws: both import at once. So little is
imported here, and what is known of requests only when there are some.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from mpu_bench.guard.messages import from_line
from mpu_bench.guard.process import Child, Ended, awake, wait_for

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
        self.asked: Asked | None = None
        self.began = 0.0
        self.is_ready = False  #: whether what is asked has begun

    def ask(self, asked: Asked) -> None:
        self.asked, self.began, self.is_ready = asked, awake(), False
        self.send(asked)

    def overdue(self) -> str:
        """Return in words that it takes more seconds than it may; nothing if it does not."""
        assert self.asked is not None
        most = self.asked.seconds * _GRACE + _GRACE_SECONDS if self.is_ready else _SECONDS_TO_START
        if awake() - self.began <= most:
            return ""
        if not self.is_ready:
            return f"was not ready to begin within {_SECONDS_TO_START:.3g} s"
        from mpu_bench.selection.schedule import Fit

        rows = f" on {self.asked.rows:,} rows" if isinstance(self.asked, Fit) else ""
        return f"did not end within {self.asked.seconds:.3g} s{rows}"


class Pool:
    """Processes that train and evaluate.

    Parameters
    ----------
    jobs : int
        How many.
    """

    def __init__(self, jobs: int) -> None:
        self._given: tuple[Source, Path] | None = None
        self._preparing = 0.0  # seconds of all workers together
        self._most_memory = _SHARE_OF_MEMORY * psutil.virtual_memory().available / jobs
        self._workers = [_Worker() for _ in range(jobs)]

    def give(self, source: Source, folder: Path) -> None:
        """Let all of them load the rows, and keep models in a folder meanwhile; before the first request."""
        self._given = source, folder
        for each in self._workers:
            each.send(self._given)

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        for each in self._workers:
            each.stop()
        for each in self._workers:
            each.end()

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
        """The seconds in which workers imported, loaded or compiled what they needed: the mean of them."""
        now = awake()
        under_way = sum(now - each.began for each in self._workers if each.asked is not None and not each.is_ready)
        return (self._preparing + under_way) / len(self._workers)

    def ask(self, asked: Asked) -> None:
        """Let a worker that has nothing to do begin; only while there is one. One that has died is replaced before."""
        idle = next(each for each in self._workers if each.asked is None)
        (self._replaced(idle) if idle.is_dead else idle).ask(asked)

    def answers(self, seconds: float) -> list[Answer]:
        """Wait until some worker has answered, or for so many seconds and until all are ready; return the answers."""
        end = awake() + seconds
        found: list[Answer] = []
        while not found and self.is_busy and (awake() < end or self.is_getting_ready):
            busy = [each for each in self._workers if each.asked is not None]
            wait_for(busy)
            found = [answer for each in busy if (answer := self._look_at(each)) is not None]
        return found

    def drop(self) -> None:
        """End what is under way; its workers are replaced."""
        for each in [each for each in self._workers if each.asked is not None]:
            self._replaced(each)

    def _replaced(self, worker: _Worker) -> _Worker:
        worker.end()
        new = self._workers[self._workers.index(worker)] = _Worker()
        new.send(self._given)
        return new

    def _look_at(self, worker: _Worker) -> Answer | None:
        from mpu_bench.selection.worker import answer_of

        asked = worker.asked
        assert asked is not None

        def hear(line: bytes) -> Answer | None:
            if (answer := from_line(line, _NUMBERS)) is not None:
                return answer_of(asked, **answer)
            self._preparing += awake() - worker.began
            worker.began, worker.is_ready = awake(), True
            return None

        found: Answer | Ended | None = worker.look(hear, worker.overdue, self._most_memory)
        if isinstance(found, Ended):
            self._replaced(worker)
            return answer_of(asked, reason=found.reason)
        if found is not None:
            worker.asked = None
        return found
