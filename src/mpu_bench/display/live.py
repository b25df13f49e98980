"""What a person sees while an experiment runs: lines, or on a terminal a table that grows, with what is left below."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

from mpu_bench.data.download import progress
from mpu_bench.display.overall import Overall, number_of_runs
from mpu_bench.display.terminal import Terminal, reason, screen_on
from mpu_bench.experiment.messages import Compiled, News, Phase, Progress
from mpu_bench.experiment.run import Names, Run
from mpu_bench.experiment.runner import Listener, Todo
from mpu_bench.quantities import Record, RunStatus

if TYPE_CHECKING:
    from rich.live import Live

_PHASES = {
    "starting": "starting",
    "importing": "importing a plugin",
    "loading": "loading data",
    "compiling": "loading compiled code (compiling, the first time on a machine)",
    "kernel matrix": "computing the shared kernel matrix",
    "training": "training",
}
_SCREENS_A_SECOND = 2  # every one costs this process milliseconds, beside runs whose seconds are measured
_MOST_LINES = 20  # runs that have a line of their own beside the table


class Display:
    """Turns the runner's messages into lines, and on a terminal into a table of what is done.

    Parameters
    ----------
    console : Terminal
    table : bool
        Without, there is a line for every run, and nothing else.
    """

    def __init__(self, console: Terminal, table: bool = True) -> None:
        self._console = console
        self._has_table = table and console.is_terminal and not console.is_dumb_terminal
        self._live: Live | None = None
        self._names = Names([])
        self._overall = Overall([], [])
        self._compiled: dict[str, float] = {}
        self._last_reason = ""

    @contextmanager
    def listening(self) -> Iterator[Listener]:
        """Listen to one experiment."""
        listener = Listener(
            progress=progress.for_console(self._console),
            planned=self._planned,
            news=self._news,
            finished=self._finished,
        )
        try:
            with screen_on(self._console) if self._has_table else nullcontext():
                yield listener
        finally:
            self._stop()

    def _stop(self) -> None:
        if self._live is None:
            return
        self._live.stop()
        self._live = None
        if not self._has_lines:
            self._console.tell(self._overall.summary())

    def _planned(self, todo: Todo) -> None:
        self._names, self._overall = Names(todo.plan), Overall(todo.runs, todo.seconds)
        if todo.kept:
            self._console.tell(f"{number_of_runs(todo.kept)} finished before, {number_of_runs(len(todo.runs))} to do")
        if todo.runs and self._has_table:
            self._start()

    def _start(self) -> None:
        from rich.live import Live

        from mpu_bench.display.screen import screen

        self._live = Live(
            console=self._console,
            get_renderable=lambda: screen(self._overall, self._console),
            refresh_per_second=_SCREENS_A_SECOND,
            transient=True,
        )
        self._live.start()

    @property
    def _has_lines(self) -> bool:
        """Whether every finished run has a line."""
        return not self._has_table or self._overall.total <= _MOST_LINES

    def _news(self, run: Run, news: News) -> None:
        name = self._names.of(run)
        match news:
            case Phase(phase):
                self._overall.is_at(run, name, _PHASES[phase])
            case Compiled(seconds):
                self._compiled[name] = seconds
            case Progress():
                self._overall.is_at(run, name, _how_far(news))

    def _finished(self, run: Run, record: Record) -> None:
        name = self._names.of(run)
        compiled = self._compiled.pop(name, 0.0)
        self._overall.has_ended(run, name, record, compiled)
        head = f"{self._overall.ended}/{self._overall.total}  {name}"
        if record.is_finished:
            if self._has_lines:
                more = f" (after {compiled:.1f} s of compilation, once per machine)" if compiled else ""
                self._console.tell(f"{head}: {_result(record)}{more}")
            return
        why = reason(record.reason) if record.reason != self._last_reason else "as above"
        self._last_reason = record.reason
        values = f"; {_result(record)}" if record.status == RunStatus.PROVISIONAL else ""
        self._console.tell(f"{head}: {record.status.upper()}: {why}{values}", style="bold red")


def _how_far(progress: Progress) -> str:
    words = [f"{progress.passes:.3g} passes", f"{progress.seconds:.1f} s"]
    if progress.objective is not None:
        words.append(f"objective {progress.objective:.4g}")
    if progress.gap is not None:
        words.append(f"gap {progress.gap:.1e}")
    return ", ".join(words)


def _result(record: Record) -> str:
    words = [f"{record.status} in {record.train_seconds or 0.0:.3g} s"] if record.is_finished else []
    if record.objective is not None:
        words.append(f"objective {record.objective:.7g}")
    if record.gap is not None:
        words.append(f"gap {record.gap:.1e}")
    if record.test_error is not None:
        rows = "validation" if record.trial and not record.tuned_on_test else "test"
        words.append(f"{rows} error {100 * record.test_error:.2f} %")
    if record.reason and record.is_finished:
        words.append(reason(record.reason))
    return ", ".join(words)
