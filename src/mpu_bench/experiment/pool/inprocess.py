"""Tasks in this process, one at a time and without limits, so that a debugger can look at a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mpu_bench.config.schema import Limits
from mpu_bench.data.download.cache import DataDirectory
from mpu_bench.data.download.progress import Progress
from mpu_bench.errors import ConfigError
from mpu_bench.experiment.messages import Compiled, Failed, Finished, Message, Phase, Task, decode, encode
from mpu_bench.experiment.messages import Progress as RunProgress
from mpu_bench.experiment.pool import OnNews, Outcome, Pool
from mpu_bench.experiment.pool.local import LocalPool
from mpu_bench.experiment.worker import RunExecutor


class InProcessPool(Pool):
    """The process it is in: that imports the plugins of the runs that it makes, and has the threads that it has.

    Data are prepared in a child process, as ever.

    Parameters
    ----------
    threads : int
        Those that this process has.
    at_error : function
        Called with each exception that ends a run, while its frames can be looked at; what it raises passes.
    """

    def __init__(self, threads: int, at_error: Callable[[BaseException], None]) -> None:
        self._threads = threads
        self._last: Message | None = None
        self._executor = RunExecutor(self._hear, jobs=1, has_own_process=False, at_error=at_error)
        self._preparing = LocalPool(0)
        self._task: Task | None = None
        self._on_news: OnNews = lambda _task, _news: None

    @property
    def has_room(self) -> bool:  # noqa: D102 - the interface says it
        return self._task is None

    def submit(self, task: Task) -> None:  # noqa: D102
        self._task = task

    def next_outcome(self, on_news: OnNews) -> Outcome:  # noqa: D102
        if self._task is None:
            raise LookupError("no task is under way")
        self._on_news = on_news
        on_news(self._task, Phase("starting"))
        try:
            self._executor.answer(self._task)
            assert isinstance(self._last, Finished | Failed)
            checkpoints = self._last.checkpoints if isinstance(self._last, Finished) else []
            return Outcome(self._task, self._last.record, checkpoints)
        finally:
            self._task = None

    def _hear(self, message: Message) -> None:
        """Take a message as one that comes from another process: with columns that are plain."""
        self._last = decode(encode(message))
        if self._task is not None and isinstance(self._last, Phase | Compiled | RunProgress):
            self._on_news(self._task, self._last)

    def prepare(  # noqa: D102
        self, name: str, options: Mapping[str, Any], home: DataDirectory, limits: Limits, progress: Progress
    ) -> str:
        return self._preparing.prepare(name, options, home, limits, progress)

    def use_threads(self, threads: int) -> None:
        """Reject another number of threads: a process settles it when it starts.

        Raises
        ------
        ConfigError
        """
        if threads != self._threads:
            raise ConfigError(
                f"the config wants {threads} threads, and this process, which executes its runs, has "
                f"{self._threads}; give --threads {threads}"
            )

    def close(self) -> None:  # noqa: D102
        self._preparing.close()
