"""Where runs are executed: tasks in, outcomes out, in whatever order they finish.

The runner knows this interface alone. `local.LocalPool` implements it by child processes of this machine,
`cluster.client.ClusterPool` by those of the machines of a Dask cluster.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from mpu_bench.config.schema import Limits
from mpu_bench.data.download.cache import DataDirectory
from mpu_bench.data.download.progress import Progress
from mpu_bench.experiment.messages import News, Task
from mpu_bench.quantities import Record


@dataclass(frozen=True)
class Outcome:
    """What came of a task: its record, as far as the worker knows it, and its checkpoints.

    ``environment`` is the machine with its versions; None for this machine. ``model`` is the saved one, where it was
    made on another and is wanted.
    """

    task: Task
    record: Record
    checkpoints: list[Record]
    environment: Mapping[str, Any] | None = None
    model: bytes = b""


OnNews = Callable[[Task, News], None]


class Pool(ABC):
    """Workers that make runs, each with a fixed number of threads.

    A run that raises, crashes or exceeds its limits has an outcome, too, whose record says so. An exception such as
    that of Ctrl-C passes; `close`, which leaving the context does, then ends what is under way.
    """

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def get_ready(self) -> None:  # noqa: B027 - most are ready
        """Begin to start what will be needed, without waiting for it: there is something to do soon."""

    def compile_ahead(  # noqa: B027 - most let each run compile what it needs
        self, tasks: Sequence[Task], say: Callable[[str], object]
    ) -> None:
        """Compile what tasks need by all processors at once, where that is for the pool to do.

        What fails here is no result: it fails again where the run is executed.

        Parameters
        ----------
        tasks : sequence of Task
            Of different code each, with ``only_compiles``.
        say : function
            Called with what is compiled.
        """

    @property
    @abstractmethod
    def has_room(self) -> bool:
        """Whether a further task can be submitted now."""

    @abstractmethod
    def submit(self, task: Task) -> None:
        """Begin a task, or let it wait for a worker; only while a slot is free."""

    @abstractmethod
    def next_outcome(self, on_news: OnNews) -> Outcome:
        """Wait until some task has ended, and return what came of it.

        Parameters
        ----------
        on_news : function
            Called meanwhile with the news of the tasks under way.
        """

    @abstractmethod
    def prepare(
        self, name: str, options: Mapping[str, Any], home: DataDirectory, limits: Limits, progress: Progress
    ) -> str:
        """Fetch and prepare a dataset in a worker; return why it is unavailable, or nothing.

        Whatever goes wrong there (any exception, the end of the process, too much memory) becomes that text.

        Parameters
        ----------
        name : str
            Of the dataset's card.
        options : mapping
            Those that a config gives it.
        home : DataDirectory
        limits : Limits
            Its memory holds for the preparation, too.
        progress : Progress
            Shows downloads and the preparation.
        """

    def use_threads(self, threads: int) -> None:  # noqa: B027 - a cluster's are those of each run
        """Set the number of threads of each worker from now on; only while no task is under way."""

    def use_jobs(self, jobs: int) -> None:  # noqa: B027 - most have a number of their own
        """Set the number of parallel runs, where the pool has one; only while no task is under way."""

    @abstractmethod
    def close(self) -> None:
        """End all workers at once, and what they are at; a task that is submitted later has a new one."""
