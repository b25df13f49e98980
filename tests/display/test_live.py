"""What is printed while an experiment runs."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import replace

import pytest

from mpu_bench.config.choices import DatasetChoice, KernelChoice, SolverChoice
from mpu_bench.display.live import Display
from mpu_bench.display.terminal import Terminal, say
from mpu_bench.experiment.messages import Compiled, Phase, Progress
from mpu_bench.experiment.run import Run, RunSettings
from mpu_bench.experiment.runner import Todo
from mpu_bench.quantities import Record, RunStatus

RUN = Run(
    "tried",
    DatasetChoice("digits", {}, "digits", ("0", "8")),
    SolverChoice("dcd", {"C": 1.0}, KernelChoice()),
    RunSettings(),
    seed=3,
)
DONE = Record(status=RunStatus.DONE, train_seconds=2.0, objective=12.5, gap=1e-3, test_error=0.05)
CRASHED = Record(status=RunStatus.CRASHED, reason="its process was ended by SIGKILL")


def printed(terminal: bool, records: Sequence[Record], table: bool = True, kept: int = 0) -> str:
    runs = [replace(RUN, seed=seed) for seed in range(len(records))]
    console = Terminal(file=io.StringIO(), width=200, height=20, force_terminal=terminal, color_system=None)
    with Display(console, table).listening() as listener:
        listener.planned(Todo(runs, runs, kept, [None] * len(runs)))
        for run, record in zip(runs, records, strict=True):
            listener.news(run, Phase("compiling"))
            listener.news(run, Compiled(1.5))
            listener.news(run, Progress(passes=4, seconds=0.5, objective=12.5, gap=0.25))
            listener.finished(run, record)
    return console.file.getvalue()


def test_a_finished_run_is_one_line_that_names_what_varies() -> None:
    first, second, _ = printed(False, [DONE, DONE], kept=2).splitlines()
    assert first == "2 runs finished before, 2 runs to do"
    assert second == (
        "1/2  digits dcd seed=0: done in 2 s, objective 12.5, gap 1.0e-03, test error 5.00 % "
        "(after 1.5 s of compilation, once per machine)"
    )


def test_a_reason_is_told_once() -> None:
    first, second = printed(False, [CRASHED, CRASHED]).splitlines()
    assert first.endswith("seed=0: CRASHED: its process was ended by SIGKILL")
    assert second.endswith("CRASHED: as above")


def test_of_many_runs_a_terminal_shows_a_table_and_the_failed_ones() -> None:
    text = printed(True, [*[DONE] * 24, CRASHED])
    assert "24/25  digits" not in text
    assert "25/25  digits dcd seed=24: CRASHED: its process was ended by SIGKILL" in text
    assert "25 runs: 24 done, 1 failed, in " in text


def test_of_few_runs_a_terminal_shows_lines_too() -> None:
    text = printed(True, [DONE, DONE])
    assert "2/2  digits dcd seed=1: done in 2 s" in text
    assert "2 runs: " not in text


@pytest.mark.parametrize("is_dumb", [True, False])
def test_without_a_table_every_run_has_a_line_and_nothing_moves(is_dumb: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb" if is_dumb else "xterm")
    text = printed(True, [DONE] * 25, table=is_dumb)
    assert len(text.splitlines()) == 25
    assert "\x1b" not in text


def test_what_is_said_meanwhile_stands_above_the_table(capfd: pytest.CaptureFixture[str]) -> None:
    console = Terminal(file=io.StringIO(), width=200, height=20, force_terminal=True, color_system=None)
    with Display(console).listening() as listener:
        listener.planned(Todo([RUN], [RUN], 0, [None]))
        say("waiting for workers")
    say("done")
    assert "waiting for workers\n" in console.file.getvalue()
    assert capfd.readouterr().err == "done\n"
