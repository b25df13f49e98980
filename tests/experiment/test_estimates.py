"""About how long runs will train, by what was made before."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mpu_bench.config.choices import Experiment
from mpu_bench.config.read import read_config
from mpu_bench.experiment import estimates, plan
from mpu_bench.experiment.estimates import Estimate, Estimates, typical_rows
from mpu_bench.files import csv_text

TEXT = """
name: estimated
dataset: checkerboard
solvers:
  - dcd: {C: [1, 10]}
  - mpu
"""
ROW: dict[str, Any] = {
    "experiment": "estimated", "dataset": "checkerboard", "solver": "dcd", "parameters": "{}", "kernel": "linear",
    "budget_vectors": None, "trial": None, "overridden": "", "status": "done", "train_seconds": 8.0,
}  # fmt: skip


@pytest.fixture
def typical(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a made-up file of seconds in place of the project's."""
    monkeypatch.setattr(estimates, "bundled", lambda _: tmp_path)
    estimates._typical.cache_clear()
    yield tmp_path / estimates.FILE
    estimates._typical.cache_clear()


def seconds(experiment: Experiment, *records: dict[str, Any]) -> list[float | None]:
    runs = plan.plan(experiment)
    return Estimates(experiment, runs, records).seconds(runs)


def test_nothing_is_known_of_what_was_never_made(typical: Path, read: Callable[[str], Experiment]) -> None:
    assert seconds(read(TEXT)) == [None, None, None]
    assert seconds(read(TEXT), ROW | {"status": "timeout"}, ROW | {"dataset": "web"}) == [None, None, None]
    assert Estimate.of([1.0, None, 2.0]) == Estimate(3.0, 3, 1)


def test_runs_of_the_same_folder_tell_first_those_with_the_same_parameters(
    typical: Path, read: Callable[[str], Experiment]
) -> None:
    experiment = read(TEXT)
    same = ROW | {"parameters": runner_text(experiment), "train_seconds": 2.0}
    assert seconds(experiment, ROW, same) == [2.0, 5.0, None]


def runner_text(experiment: Experiment) -> str:
    from mpu_bench.experiment.planned import PlannedRun

    return PlannedRun(plan.plan(experiment)[0], None, "").record()["parameters"]


def test_no_run_is_thought_to_train_longer_than_it_may(typical: Path, read: Callable[[str], Experiment]) -> None:
    assert seconds(read(f"{TEXT}stop: {{seconds: 3}}\n"), ROW) == [3.0, 3.0, None]


def test_what_the_project_has_measured_is_known_of_its_own_settings_alone(typical: Path, tmp_path: Path) -> None:
    rows = typical_rows([ROW, ROW | {"train_seconds": 10.0}, ROW | {"status": "crashed"}])
    typical.write_text(csv_text(rows, estimates.COLUMNS), encoding="utf-8")
    path = tmp_path / "tried.yaml"
    path.write_text(TEXT, encoding="utf-8")
    assert seconds(read_config(path, repeats=2)) == [9.0] * 4 + [None] * 2
    assert seconds(read_config(path, settings=["solvers.dcd.tolerance=0.5"])) == [None] * 3


def test_runs_with_changed_settings_tell_nothing_of_others(typical: Path, read: Callable[[str], Experiment]) -> None:
    assert seconds(read(TEXT), ROW | {"overridden": "stop.passes = 1"}) == [None, None, None]
