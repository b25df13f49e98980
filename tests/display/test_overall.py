"""How far an experiment is, and how long it still takes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mpu_bench.config.choices import DatasetChoice, KernelChoice, SolverChoice
from mpu_bench.display import overall
from mpu_bench.display.overall import Overall, duration
from mpu_bench.experiment.run import Run, RunSettings
from records import record

RUN = Run(
    "tried", DatasetChoice("digits", {}, "digits", ()), SolverChoice("dcd", {}, KernelChoice()), RunSettings(), seed=0
)
RUNS = [replace(RUN, seed=seed) for seed in range(8)]


class Clock:
    now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(overall, "time", made)
    return made


def test_the_time_left_is_known_from_the_start_where_all_estimates_are(clock: Clock) -> None:
    assert Overall(RUNS, [10.0] * 8).seconds_left() == 80
    assert Overall(RUNS, [*[10.0] * 7, None]).seconds_left() is None
    begun = Overall(RUNS, [10.0] * 8)
    begun.is_at(RUNS[0], "first", "training", seconds=4.0)
    assert begun.seconds_left() == 76
    assert begun.share() == pytest.approx(0.05)


@pytest.mark.parametrize(("seconds", "left"), [([None] * 8, 20.0), ([1.0] * 4 + [9.0] * 4, 36.0 + 16.0)])
def test_the_time_left_is_what_runs_have_taken(clock: Clock, seconds: list[float | None], left: float) -> None:
    """With what every run takes besides training: four of 1 s have taken 20 s, so 4 s each."""
    tried = Overall(RUNS, seconds)
    clock.now = 20.0
    for run in RUNS[:4]:
        tried.has_ended(run, "", record({"status": "done", "train_seconds": 1.0}))
    assert tried.seconds_left() == pytest.approx(left)


def test_a_group_adds_up_its_runs(clock: Clock) -> None:
    tried = Overall(RUNS, [None] * 8)
    tried.has_ended(RUNS[0], "", record({"status": "done", "train_seconds": 1.0, "test_error": 0.5}))
    tried.has_ended(
        RUNS[1], "", record({"status": "done", "train_seconds": 2.0, "test_error": 0.1, "trial": "hold-out"})
    )
    tried.has_ended(RUNS[2], "", record({"status": "crashed", "reason": "why"}))
    (tally,) = tried.tallies.values()
    assert (tally.total, tally.done, tally.failed, tally.seconds, tally.trained) == (8, 2, 1, 1.0, 1)
    assert (tally.errors, tally.measured) == (0.5, 1)
    assert tried.summary() == "8 runs: 2 done, 1 failed, 5 not made, in 0 s"


@pytest.mark.parametrize(("seconds", "words"), [(0.4, "0 s"), (99, "99 s"), (720, "12 min"), (12_600, "3.5 h")])
def test_seconds_have_the_unit_that_people_use(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_nothing_is_said_of_the_time_left_before_a_run_of_each_solver_has_ended(clock: Clock) -> None:
    slow = [replace(run, solver=replace(run.solver, name="smo")) for run in RUNS[:2]]
    tried = Overall([*RUNS[:6], *slow], [None] * 8)
    clock.now = 6.0
    for run in RUNS[:6]:
        tried.has_ended(run, "", record({"status": "done", "train_seconds": 1.0}))
    assert tried.seconds_left() is None
    clock.now = 66.0
    tried.has_ended(slow[0], "", record({"status": "done", "train_seconds": 60.0}))
    assert tried.seconds_left() == pytest.approx(60.0, rel=0.3)
