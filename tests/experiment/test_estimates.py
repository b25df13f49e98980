"""About how long runs will train, by what was made before."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mpu_bench import resources
from mpu_bench.config.choices import Experiment
from mpu_bench.config.read import read_config
from mpu_bench.experiment import estimates, plan
from mpu_bench.experiment.estimates import Estimate, Estimates, Expected, typical_rows
from mpu_bench.experiment.plan import PlannedRun
from mpu_bench.files import csv_text
from mpu_bench.resources import bundled
from records import record

TEXT = """
name: estimated
dataset: checkerboard
solvers:
  - dcd: {C: [1, 10]}
  - mpu
"""
ROW: dict[str, Any] = {
    "experiment": "estimated", "dataset": "checkerboard", "solver": "dcd", "kernel": "linear",
    "parameters": '{"C": 5.0, "tolerance": 0.1, "stop": 0.0}', "budget_vectors": None, "trial": None, "overridden": "",
    "status": "done", "train_seconds": 8.0, "n": 100_000, "n_test": 20_000, "d": 2,
}  # fmt: skip


@pytest.fixture
def typical(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a made-up file of seconds in place of the project's."""
    monkeypatch.setattr(estimates, "bundled", lambda _: tmp_path)
    monkeypatch.setattr(resources, "config_path", lambda name: tmp_path / f"{name}.yaml")
    estimates._typical.cache_clear()
    yield tmp_path / estimates.FILE
    estimates._typical.cache_clear()


def seconds(experiment: Experiment, *records: dict[str, Any]) -> list[float | None]:
    runs = plan.plan(experiment)
    estimates = Estimates(experiment, runs, map(record, records))
    return [estimates.expected(run).seconds for run in runs]


def test_nothing_is_known_of_what_was_never_made(typical: Path, read: Callable[[str], Experiment]) -> None:
    assert seconds(read(TEXT)) == [None, None, None]
    assert seconds(read(TEXT), ROW | {"status": "timeout"}, ROW | {"dataset": "web"}) == [None, None, None]
    runs = [Expected(1.0, 0.5, 200.0), Expected(None, 0.25, None, 3600.0), Expected(2.0, 0.25, 100.0)]
    assert Estimate.of(runs) == Estimate(3.0, 3, 1, 1.0, 200.0, 3600.0, 1)


def test_what_a_run_takes_beside_its_training_is_told_of_earlier_ones(
    typical: Path, read: Callable[[str], Experiment]
) -> None:
    used = [
        {"overhead_seconds": 3.0, "peak_memory_mb": 100.0},
        {"overhead_seconds": 1.0, "peak_memory_mb": 300.0},
        {"overhead_seconds": None},
    ]
    experiment = read(TEXT)
    runs = plan.plan(experiment)
    first, _, unknown = map(Estimates(experiment, runs, [record(ROW | each) for each in used]).expected, runs)
    assert first == Expected(8.0, 2.0, 300.0)
    assert unknown == Expected(None, estimates._OVERHEAD_SECONDS)


def test_processor_seconds_stand_for_disturbed_ones(typical: Path, read: Callable[[str], Experiment]) -> None:
    disturbed = ROW | {"disturbed": "waited", "train_seconds": 120.0, "cpu_seconds": 51.0, "threads": 1}
    assert seconds(read(TEXT), disturbed) == [51.0, 51.0, None]
    assert seconds(read(TEXT), disturbed | {"threads": 2}) == [120.0, 120.0, None]
    assert seconds(read(TEXT), disturbed | {"disturbed": ""}) == [120.0, 120.0, None]
    assert typical_rows([record(disturbed)])[0]["train_seconds"] == "51"


def test_the_papers_seconds_stand_beside_runs_of_which_nothing_is_known(typical: Path) -> None:
    experiment = read_config(bundled("configs") / "mpu-table1.yaml")
    runs = plan.plan(experiment)
    found = [each for each in map(Estimates(experiment, runs).expected, runs) if each.seconds is None]
    reported = {each.reported for each in found}
    assert {0.4, 0.3} <= reported  # of adult
    assert all(each is None or each > 0 for each in reported)


def test_runs_of_the_same_folder_tell_first_those_with_the_same_parameters(
    typical: Path, read: Callable[[str], Experiment]
) -> None:
    experiment = read(TEXT)
    same = ROW | {"parameters": runner_text(experiment), "train_seconds": 2.0}
    assert seconds(experiment, ROW, same) == [2.0, 5.0, None]


def runner_text(experiment: Experiment) -> str:
    return PlannedRun(plan.plan(experiment)[0], None, "").record().parameters


@pytest.mark.parametrize("size", [{"n": 2000}, {"d": 3}, {"trial": "hold-out 0.2", "n": 80_000, "n_test": 2000}])
def test_runs_on_data_of_another_size_tell_nothing(
    typical: Path, read: Callable[[str], Experiment], size: dict[str, Any]
) -> None:
    assert seconds(read(TEXT), ROW | size) == [None, None, None]
    assert seconds(read(TEXT), ROW) == [8.0, 8.0, None]


def test_a_trial_is_of_the_size_of_the_rows_that_it_was_taken_from(
    typical: Path, read: Callable[[str], Experiment]
) -> None:
    text = "name: estimated\ndataset: checkerboard\nsolvers: [dcd]\ntune: {C: [1, 10], holdout: 0.2}\n"
    runs = plan.plan(read(text))
    trial = ROW | {"trial": "hold-out 0.2", "n": 80_000, "n_test": 20_000}
    told = [each.seconds for each in map(Estimates(read(text), runs, [record(trial)]).expected, runs)]
    assert [each for run, each in zip(runs, told, strict=True) if run.trial] == [8.0, 8.0]
    assert [each for run, each in zip(runs, told, strict=True) if not run.trial] == [None]


@pytest.mark.parametrize(
    ("changed", "known"),
    [
        ("regularization: 0.5", 8.0), ("kernel: {gaussian: {gamma: 9}}", 8.0), ("passes: 20", None),
        ("kernel: {polynomial: {degree: 2}}", None), ("vectors: 50", None),
    ],
)  # fmt: skip
def test_runs_with_other_work_tell_nothing(
    typical: Path, read: Callable[[str], Experiment], changed: str, known: float | None
) -> None:
    """Another penalty or width leaves the work about the same; more passes do not."""
    values = {
        "kernel": "{gaussian: {gamma: 1}}",
        "vectors": "10",
        "regularization": "0.1",
        "passes": "1",
        "maintenance": "random",
    }

    def config(**values: str) -> Experiment:
        parameters = ", ".join(f"{name}: {value}" for name, value in values.items())
        return read(f"name: estimated\ndataset: checkerboard\nsolvers:\n  - bpegasos: {{{parameters}}}\n")

    (made,) = plan.plan(config(**values))
    row = ROW | PlannedRun(made, None, "").record().known() | {"n": 100_000, "n_test": 20_000, "d": 2}
    name, _, value = changed.partition(": ")
    assert seconds(config(**values | {name: value}), row) == [known]


def test_a_file_that_was_changed_is_no_reason_to_fail(typical: Path, read: Callable[[str], Experiment]) -> None:
    assert seconds(read(TEXT), *(ROW | {"parameters": each} for each in ("{", "5"))) == [None] * 3


def test_no_run_is_thought_to_train_longer_than_it_may(typical: Path, read: Callable[[str], Experiment]) -> None:
    assert seconds(read(f"{TEXT}stop: {{seconds: 3}}\n"), ROW) == [3.0, 3.0, None]


def test_what_the_project_has_measured_is_known_of_its_own_settings_alone(typical: Path, tmp_path: Path) -> None:
    rows = typical_rows(map(record, [ROW, ROW | {"train_seconds": 10.0}, ROW | {"status": "crashed"}]))
    typical.write_text(csv_text(rows, estimates.COLUMNS), encoding="utf-8")
    path = tmp_path / "tried.yaml"
    path.write_text(TEXT, encoding="utf-8")
    assert seconds(read_config(path, repeats=2)) == [9.0] * 4 + [None] * 2
    assert seconds(read_config(path, settings=["solvers.dcd.tolerance=0.5"])) == [None] * 3
    copied = tmp_path / "elsewhere" / "tried.yaml"
    copied.parent.mkdir()
    copied.write_text(TEXT, encoding="utf-8")
    assert seconds(read_config(copied)) == [None] * 3


def test_runs_with_changed_settings_tell_nothing_of_others(typical: Path, read: Callable[[str], Experiment]) -> None:
    assert seconds(read(TEXT), ROW | {"overridden": "stop.passes = 1"}) == [None, None, None]
