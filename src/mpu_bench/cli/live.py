"""What a person sees while an experiment runs: one line per finished run, and what goes on below it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.status import Status

from mpu_bench.data.download import progress
from mpu_bench.experiment.run import Run
from mpu_bench.experiment.runner import Listener, Planned
from mpu_bench.experiment.worker import Compiled
from mpu_bench.quantities import FINISHED

_PHASES = {
    "compiling": "getting ready (compiles where this machine has not yet)",
    "training": "training",
    "loading": "loading",
    "starting": "starting",
}


class Display:
    """Turns the runner's messages into lines, and on a terminal into a status line."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._status: Status | None = None
        self._total = self._done = 0
        self._running: dict[str, str] = {}
        self._compiled: dict[str, float] = {}
        self._told = ""

    @contextmanager
    def listening(self) -> Iterator[Listener]:
        """Listen to one experiment."""
        listener = Listener(
            progress=progress.for_console(self._console),
            planned=self._planned,
            message=self._message,
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

    def _planned(self, missing: Sequence[Planned], kept: int) -> None:
        self._total, self._done = len(missing), 0
        if kept:
            self._console.print(f"{_runs(kept)} kept from earlier; {_runs(len(missing))} to do", highlight=False)
        if missing and self._console.is_terminal:
            self._status = self._console.status("")
            self._status.start()

    def _message(self, run: Run, kind: str, content: Any) -> None:
        if kind == "progress":
            words = [f"{content['passes']:.3g} passes", f"{content['seconds']:.1f} s"]
            words += [
                f"{name.replace('_', ' ')} {content[name]:.4g}" for name in ("objective", "gap") if content.get(name)
            ]
            self._running[str(run)] = ", ".join(words)
        elif isinstance(content, Compiled):
            self._compiled[str(run)] = content
        else:
            self._running[str(run)] = _PHASES[content]
        self._refresh()

    def _refresh(self) -> None:
        if self._status is not None:
            lines = [f"{escape(run)}: {escape(words)}" for run, words in self._running.items()]
            self._status.update(f"[{self._done + 1}/{self._total}] " + " | ".join(lines))

    def _finished(self, run: Run, record: Mapping[str, Any]) -> None:
        self._done += 1
        self._running.pop(str(run), None)
        place = f"{self._done}/{self._total}"
        if record["status"] in FINISHED:
            words = f"{place}  {run}: {_result(record)}"
            if compiled := self._compiled.pop(str(run), 0.0):
                words += f" (compiled for {compiled:.1f} s, once per machine)"
            self._console.print(words, highlight=False, markup=False)
        else:
            reason = record["reason"] if record["reason"] != self._told else "as above"
            self._told = record["reason"]
            words = f"{place}  {run}: {record['status'].upper()}: {reason}"
            self._console.print(words, style="bold red", highlight=False, markup=False)
        self._refresh()


def _runs(count: int) -> str:
    return "1 run" if count == 1 else f"{count} runs"


def _result(record: Mapping[str, Any]) -> str:
    words = [f"{record['status']} in {record['train_seconds']:.3g} s"]
    if record.get("objective") is not None:
        words.append(f"objective {record['objective']:.7g}")
    if record.get("gap") is not None:
        words.append(f"gap {record['gap']:.1e}")
    if record.get("test_error") is not None:
        rows = "held-out" if record.get("trial", "") not in (None, "", "test set") else "test"
        words.append(f"{rows} error {100 * record['test_error']:.2f} %")
    if record.get("reason"):
        words.append(record["reason"])
    return ", ".join(words)
