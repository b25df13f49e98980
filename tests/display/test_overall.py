"""How far an experiment is, and how long it still takes."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from mpu_bench.config.choices import DatasetChoice, KernelChoice, SolverChoice
from mpu_bench.config.read import read_config
from mpu_bench.display import live
from mpu_bench.display.live import Overall, duration
from mpu_bench.experiment import plan
from mpu_bench.experiment.estimates import Estimates, training_seconds
from mpu_bench.experiment.run import Run, RunSettings
from mpu_bench.quantities import Record
from mpu_bench.resources import config_names
from mpu_bench.results.folder import open_results
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
    monkeypatch.setattr(live, "time", made)
    return made


def test_the_time_left_is_known_from_the_start_where_all_estimates_are(clock: Clock) -> None:
    assert Overall(RUNS, [10.0] * 8).seconds_left() == 80
    assert Overall(RUNS, [None] * 8).seconds_left() is None
    begun = Overall(RUNS, [10.0] * 8)
    begun.is_at(RUNS[0], "first", "training")
    clock.now = 4.0
    begun.is_at(RUNS[0], "first", "training")
    assert begun.seconds_left() == 76
    assert begun.share() == pytest.approx(0.05)


@pytest.mark.parametrize("expected", [None, 1.0, 20.0])
def test_the_time_left_is_what_runs_have_taken(clock: Clock, expected: float | None) -> None:
    """With what each takes besides training, and without compiling, which happens once."""
    tried = Overall(RUNS, [expected] * 8)
    clock.now = 60.0  # of downloads
    for run in RUNS[:4]:
        tried.is_at(run, "", "starting")
        clock.now += 5.0
        compiled = 30.0 if run is RUNS[0] else 0.0
        clock.now += compiled
        tried.has_ended(run, "", record({"status": "done", "train_seconds": 1.0}), compiled)
    assert tried.seconds_left() == pytest.approx(20.0, rel=0.1)


def test_runs_at_once_share_the_time_left(clock: Clock) -> None:
    tried = Overall(RUNS, [10.0] * 8)
    for run in RUNS[:2]:
        tried.is_at(run, str(run.seed), "training")
    assert tried.seconds_left() == 40


def test_a_run_that_takes_longer_than_expected_is_not_about_to_end(clock: Clock) -> None:
    tried = Overall(RUNS[:1], [10.0])
    tried.is_at(RUNS[0], "", "training")
    clock.now = 100.0
    assert tried.seconds_left() == pytest.approx(10.0)


def test_runs_that_fail_at_once_make_no_machine_fast(clock: Clock) -> None:
    tried = Overall(RUNS, [100.0] * 8)
    for run in RUNS[:4]:
        tried.has_ended(run, "", record({"status": "unavailable", "reason": "no data"}))
    assert tried.seconds_left() == 400


BASELINE = Path(__file__).parents[2] / "results" / "baseline"
#: the runs of this one take 0.03 s or 0.8 s by chance, so that no tenth of them tells what the others will take
BY_CHANCE = "fw-w6a-seeds"
FULL = [name for name in config_names() if (BASELINE / name / "runs.csv").is_file() and name != BY_CHANCE]


@cache
def finished(name: str) -> tuple[list[tuple[Run, Record]], list[float | None]]:
    """Return the runs of a baseline with their records, and what is expected of each."""
    experiment = read_config(Path(name))
    runs = plan.plan(experiment)
    with open_results(BASELINE / name) as results:
        made = [pair for pair in zip(runs, results.records(), strict=True) if pair[1].is_finished]
    estimates = Estimates(experiment, runs)
    return made, [estimates.expected(run).total_seconds for run, _ in made]


@pytest.mark.parametrize(("slower", "spread"), [(1.0, 0.0), (3.0, 0.15), (0.5, 0.15), (None, 0.0)])
@pytest.mark.parametrize("name", FULL)
def test_the_time_left_is_right_within_a_factor_of_two_after_a_tenth_of_the_runs(
    clock: Clock, name: str, slower: float | None, spread: float
) -> None:
    """Replayed as the baseline was run, by machines so much slower, by solver more or less; None: without estimates."""
    made, expected = finished(name)
    draw = random.Random(name)
    pace = {run.solver.name: (slower or 1.0) * math.exp(draw.gauss(0.0, spread)) for run, _ in made}
    taken = [pace[row.solver] * (training_seconds(row) + (row.overhead_seconds or 0.03)) for _, row in made]
    tried = Overall([run for run, _ in made], [None] * len(made) if slower is None else expected)
    said = 0
    for index, ((run, row), seconds) in enumerate(zip(made, taken, strict=True), 1):
        tried.is_at(run, "", "training")
        clock.now += seconds
        tried.has_ended(run, "", replace(row, train_seconds=None))
        if index < len(made) / 10 or index % max(1, len(made) // 60):
            continue
        left = sum(taken) - clock.now
        if left > 10 and (shown := tried.seconds_left()) is not None:
            said += 1
            assert left / 2 <= shown <= 2 * left, f"after {index} of {len(made)} runs"
    assert said or slower is None or sum(taken) < 60


def test_a_group_adds_up_its_runs(clock: Clock) -> None:
    tried = Overall(RUNS, [None] * 8)
    tried.has_ended(RUNS[0], "", record({"status": "done", "train_seconds": 1.0, "test_error": 0.5}))
    tried.has_ended(
        RUNS[1], "", record({"status": "done", "train_seconds": 2.0, "test_error": 0.1, "trial": "hold-out"})
    )
    tried.has_ended(RUNS[2], "", record({"status": "crashed", "reason": "why"}))
    (tally,) = tried.tallies.values()
    assert (tally.total, tally.done, len(tally.records)) == (8, 2, 3)
    assert (tally.mean("train_seconds"), tally.mean("test_error")) == (1.0, 0.5)
    assert tried.summary() == "8 runs: 2 done, 1 failed, 5 not run, in 0 s"


@pytest.mark.parametrize(("seconds", "words"), [(0.4, "0 s"), (99, "99 s"), (720, "12 min"), (12_600, "3.5 h")])
def test_seconds_have_the_unit_that_people_use(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_nothing_is_said_of_the_time_left_before_a_run_of_each_solver_has_ended(clock: Clock) -> None:
    slow = [replace(run, solver=replace(run.solver, name="smo")) for run in RUNS[:2]]
    tried = Overall([*RUNS[:6], *slow], [None] * 8)
    for run in RUNS[:6]:
        tried.has_ended(run, "", record({"status": "done", "train_seconds": 1.0}))
    assert tried.seconds_left() is None
    tried.has_ended(slow[0], "", record({"status": "done", "train_seconds": 60.0}))
    assert tried.seconds_left() == pytest.approx(60.0)
