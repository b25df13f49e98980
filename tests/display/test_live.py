"""What is printed while an experiment runs."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest

from mpu_bench.config.choices import DatasetChoice, KernelChoice, SolverChoice
from mpu_bench.display.live import Display, duration
from mpu_bench.display.terminal import Terminal
from mpu_bench.experiment.messages import Compiled, Phase, Progress
from mpu_bench.experiment.run import Run, RunSettings

RUN = Run(
    "tried",
    DatasetChoice("digits", {}, "digits", ("0", "8")),
    SolverChoice("dcd", {"C": 1.0}, KernelChoice()),
    RunSettings(),
    seed=3,
)
DONE = {"status": "done", "reason": "", "train_seconds": 2.0, "objective": 12.5, "gap": 1e-3, "test_error": 0.05}


def printed(terminal: bool, *records: dict[str, object]) -> str:
    console = Terminal(file=io.StringIO(), width=200, force_terminal=terminal, color_system=None)
    with Display(console).listening() as listener:
        listener.planned(len(records), 2)
        for record in records:
            listener.news(RUN, Phase("compiling"))
            listener.news(RUN, Compiled(1.5))
            listener.news(RUN, Progress(passes=4, seconds=0.5, objective=12.5, gap=0.25))
            listener.finished(RUN, record)
    return console.file.getvalue()


def test_a_finished_run_is_one_line() -> None:
    first, second = printed(False, DONE).splitlines()
    assert first == "2 runs kept from before, 1 run to do"
    assert second == (
        "1/1  digits dcd C=1 seed=3: done in 2 s, objective 12.5, gap 1.0e-03, test error 5.00 % "
        "(after 1.5 s of compiling, once on a machine)"
    )


def test_a_reason_is_told_once() -> None:
    failed = {"status": "crashed", "reason": "its process was ended by SIGKILL"}
    _, first, second = printed(False, failed, failed).splitlines()
    assert first.endswith("seed=3: CRASHED: its process was ended by SIGKILL")
    assert second.endswith("CRASHED: as above")


def test_a_terminal_shows_how_far_a_run_is() -> None:
    text = printed(True, DONE)
    assert "digits dcd C=1 seed=3: 4 passes, 0.5 s, objective 12.5, gap 2.5e-01" in text
    assert "1/1  digits dcd C=1 seed=3: done in 2 s" in text


def test_of_many_runs_a_terminal_shows_a_few_and_about_how_long_it_takes() -> None:
    console = Terminal(file=io.StringIO(), width=400, force_terminal=True, color_system=None)
    display = Display(console)
    with display.listening() as listener:
        listener.planned(20, 0)
        display._began -= 40
        for seed in range(4):
            listener.finished(replace(RUN, seed=seed), DONE)
        for seed in range(4, 12):
            listener.news(replace(RUN, seed=seed), Phase("training"))
    text = console.file.getvalue()
    assert "[5/20, about 160 s left]" in text or "[5/20, about 3 min left]" in text
    assert "and 4 more" in text


@pytest.mark.parametrize(("seconds", "words"), [(0.4, "0 s"), (99, "99 s"), (720, "12 min"), (12_600, "3.5 h")])
def test_seconds_have_the_unit_that_people_use(seconds: float, words: str) -> None:
    assert duration(seconds) == words
