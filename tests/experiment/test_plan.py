"""Which runs an experiment consists of, and which of them need the results of others."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpu_bench.config.choices import Experiment
from mpu_bench.config.read import read_config
from mpu_bench.errors import ConfigError
from mpu_bench.experiment import plan

TEXT = """
name: planned
datasets: [adult, web]
solvers:
  - mpu: {C: [1, 10]}
  - dcd
repeats: 2
"""


@pytest.fixture
def experiment(tmp_path: Path) -> Experiment:
    path = tmp_path / "planned.yaml"
    path.write_text(TEXT, encoding="utf-8")
    return read_config(path)


def test_the_plan_is_the_product_dataset_by_dataset(experiment: Experiment) -> None:
    runs = plan.plan(experiment)
    assert len(runs) == 2 * 3 * 2
    labels = [run.dataset.label for run in runs]
    assert labels == sorted(labels)
    assert len(set(map(str, runs))) == len(runs)


@pytest.mark.parametrize(
    ("filters", "count"),
    [(["solver=mpu"], 8), (["solver=mpu,dcd"], 12), (["dataset=web", "seed=1"], 3), (["kernel=linear"], 12)],
)
def test_filters(experiment: Experiment, filters: list[str], count: int) -> None:
    assert len(plan.only(plan.plan(experiment), filters)) == count


@pytest.mark.parametrize("filters", [["solver"], ["solvr=mpu"], ["solver=mpv"], ["seed=9"]])
def test_a_wrong_filter_is_told(experiment: Experiment, filters: list[str]) -> None:
    with pytest.raises(ConfigError, match="--only"):
        plan.only(plan.plan(experiment), filters)


def test_a_label_with_a_comma_is_chosen_and_what_runs_have_not_is_not_suggested(tmp_path: Path) -> None:
    path = tmp_path / "commas.yaml"
    path.write_text(TEXT.replace("web", "web: {as: 'a, b'}"), encoding="utf-8")
    runs = plan.plan(read_config(path))
    assert {run.dataset.label for run in plan.only(runs, ["dataset=a, b"])} == {"a, b"}
    for filters in (["budget=5"], ["split=5"]):
        with pytest.raises(ConfigError, match=r"no run has (budget|split) '5': there are none"):
            plan.only(runs, filters)


GAUSSIAN = """
name: tried
dataset: {digits: {positive: ['8'], split: {train: 300, seed: 0}}}
kernel: {gaussian: {sigma2: 500}}
"""


def test_the_optimum_of_weighted_classes_has_their_weights(tmp_path: Path) -> None:
    path = tmp_path / "weighted.yaml"
    solvers = "[dcd: {class_weight: [balanced, {'+1': 2}]}]"
    path.write_text(f"name: weighted\ndataset: adult\noptimum: true\nsolvers: {solvers}\n", encoding="utf-8")
    runs = plan.plan(read_config(path))
    of_optima = [run.solver.parameters["class_weight"] for run in runs if run.solver.name == "optimum"]
    assert of_optima == ["balanced", {"+1": 2.0}]


def test_equal_problems_have_one_optimum(read) -> None:
    nu = "{from-regularization: {over-examples: %s}}"
    text = f"solvers: [{{sbp: {{nu: {nu % 0.5}, passes: 1}}}}, {{sbp: {{nu: {nu % '[0.5, 2]'}}}}}]\n"
    runs = plan.plan(read(GAUSSIAN + text))
    assert [run.solver.parameters["C"] for run in runs if run.solver.name == "kernel-optimum"] == [2.0, 0.5]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("solvers: [{sbp: {nu: {from-regularization: 0}}}]", "must be a number above 0"),
        ("solvers: [{sbp: {nu: {from-regularization: {over-example: 1}}}}]", "must be a number above 0"),
        ("solvers: [{sdca: {regularization: {from-regularization: 1}}}]", "only nu can be derived"),
        ("solvers: [smo]\nstop: {seconds_of: {solver: libsvm, factor: 1}}", "'libsvm' must stand in this config once"),
        ("solvers: [{libsvm: {C: [1, 2]}}, smo]\nstop: {seconds_of: {solver: libsvm, factor: 1}}", "there are 2"),
        ("solvers: [libsvm, smo]\nstop: {seconds_of: {solver: libsvm, factor: 0}}", "must be greater than 0"),
    ],
)
def test_bad_configs_are_refused(read, text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        read(GAUSSIAN + text)


def test_what_a_config_lists_twice_is_one_run(tmp_path: Path) -> None:
    path = tmp_path / "twice.yaml"
    path.write_text("name: twice\ndataset: adult\nsolvers: [dcd, dcd: {C: [1, 1.0]}]\nrepeats: 2\n", encoding="utf-8")
    runs = plan.plan(read_config(path))
    assert [run.seed for run in runs] == [0, 1]
