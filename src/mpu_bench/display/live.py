"""What a person sees while an experiment runs: one line per finished run, and what goes on below it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from rich.status import Status

from mpu_bench.data.download import progress
from mpu_bench.display.terminal import Terminal, reason, styled
from mpu_bench.experiment.messages import Compiled, News, Phase, Progress
from mpu_bench.experiment.run import Run
from mpu_bench.experiment.runner import Listener
from mpu_bench.quantities import FINISHED, RunStatus

_PHASES = {
    "starting": "starting",
    "importing": "importing a plugin",
    "loading": "loading data",
    "compiling": "loading compiled code (the first time on a machine: compiling)",
    "training": "training",
}


_MOST_SHOWN, _FEWEST_TO_ESTIMATE = 4, 3


class Display:
    """Turns the runner's messages into lines, and on a terminal into a status line, unless that is in the way."""

    def __init__(self, console: Terminal, status_line: bool = True) -> None:
        self._console = console
        self._has_status_line = status_line and console.is_terminal
        self._status: Status | None = None
        self._total = self._done = 0
        self._began = time.monotonic()
        self._running: dict[str, str] = {}
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
            yield listener
        finally:
            self._stop()

    def _stop(self) -> None:
        if self._status is not None:
            self._status.stop()
            self._status = None

    def _planned(self, missing: int, kept: int) -> None:
        self._total, self._done, self._began = missing, 0, time.monotonic()
        if kept:
            self._console.print(f"{_runs(kept)} kept from before, {_runs(missing)} to do")
        if missing and self._has_status_line:
            self._status = self._console.status(styled(""))
            self._status.start()

    def _news(self, run: Run, news: News) -> None:
        match news:
            case Phase(name):
                self._running[str(run)] = _PHASES[name]
            case Compiled(seconds):
                self._compiled[str(run)] = seconds
            case Progress():
                self._running[str(run)] = _how_far(news)
        self._refresh()

    def _refresh(self) -> None:
        if self._status is not None:
            shown = [f"{run}: {words}" for run, words in list(self._running.items())[:_MOST_SHOWN]]
            if (more := len(self._running) - _MOST_SHOWN) > 0:
                shown.append(f"and {more} more")
            self._status.update(styled(f"[{self._done + 1}/{self._total}{self._left()}] " + " | ".join(shown)))

    def _left(self) -> str:
        """Return about how long it still takes, if as many runs of this experiment have ended as tell that."""
        if self._done < _FEWEST_TO_ESTIMATE or not self._total - self._done:
            return ""
        seconds = (time.monotonic() - self._began) / self._done * (self._total - self._done)
        return f", about {duration(seconds)} left"

    def _finished(self, run: Run, record: Mapping[str, Any]) -> None:
        self._done += 1
        self._running.pop(str(run), None)
        head = f"{self._done}/{self._total}  {run}"
        if record["status"] in FINISHED:
            line = f"{head}: {_result(record)}"
            if compiled := self._compiled.pop(str(run), 0.0):
                line += f" (after {compiled:.1f} s of compiling, once on a machine)"
            self._console.print(line)
        else:
            why = reason(record["reason"]) if record["reason"] != self._last_reason else "as above"
            self._last_reason = record["reason"]
            values = f"; {_result(record)}" if record["status"] == RunStatus.PROVISIONAL else ""
            self._console.print(f"{head}: {record['status'].upper()}: {why}{values}", style="bold red")
        self._refresh()


def duration(seconds: float) -> str:
    """Return seconds as people say them, in one unit: ``40 s``, ``12 min``, ``3.5 h``."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def _runs(count: int) -> str:
    return "1 run" if count == 1 else f"{count} runs"


def _how_far(progress: Progress) -> str:
    words = [f"{progress.passes:.3g} passes", f"{progress.seconds:.1f} s"]
    if progress.objective is not None:
        words.append(f"objective {progress.objective:.4g}")
    if progress.gap is not None:
        words.append(f"gap {progress.gap:.1e}")
    return ", ".join(words)


def _result(record: Mapping[str, Any]) -> str:
    words = [f"{record['status']} in {record['train_seconds']:.3g} s"] if record["status"] in FINISHED else []
    if record.get("objective") is not None:
        words.append(f"objective {record['objective']:.7g}")
    if record.get("gap") is not None:
        words.append(f"gap {record['gap']:.1e}")
    if record.get("test_error") is not None:
        rows = "held-out" if record.get("trial", "") not in (None, "", "test set") else "test"
        words.append(f"{rows} error {100 * record['test_error']:.2f} %")
    if record.get("reason") and record["status"] in FINISHED:
        words.append(reason(record["reason"]))
    return ", ".join(words)
