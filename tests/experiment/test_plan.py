from __future__ import annotations

import dataclasses
import random
from pathlib import Path

import pytest

from mpu_bench import solvers
from mpu_bench.config.choices import Experiment
from mpu_bench.config.read import read_config
from mpu_bench.config.schema import Stop
from mpu_bench.errors import ConfigError
from mpu_bench.experiment import identity, plan

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
    labels = [run.label for run in runs]
    assert labels == sorted(labels)
    assert len({identity.run_id(run, run.label) for run in runs}) == len(runs)


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


def test_a_key_depends_on_what_changes_a_result_and_on_nothing_else(experiment: Experiment) -> None:
    run = plan.plan(experiment)[0]
    key = identity.run_id(run, "data")
    assert identity.run_id(dataclasses.replace(run, experiment="other", label="other"), "data") == key
    assert identity.run_id(dataclasses.replace(run, kernel_memory=2**30), "data") == key
    assert identity.run_id(run, "other data") != key
    for change in (
        {"seed": 5},
        {"parameters": {**run.parameters, "C": 3.0}},
        {"stop": Stop(passes=3)},
        {"threads": 2},
        {"solver": "dcd"},
    ):
        assert identity.run_id(dataclasses.replace(run, **change), "data") != key


def test_keys_do_not_depend_on_the_order_in_the_config(tmp_path: Path, experiment: Experiment) -> None:
    lines = TEXT.replace("- mpu: {C: [1, 10]}\n  - dcd", "- dcd\n  - mpu: {C: [10, 1]}").replace(
        "adult, web", "web, adult"
    )
    path = tmp_path / "other.yaml"
    path.write_text(lines, encoding="utf-8")
    keys = [{identity.run_id(run, run.label) for run in plan.plan(each)} for each in (experiment, read_config(path))]
    assert keys[0] == keys[1]


@pytest.fixture
def plugin(tmp_path: Path):
    """Write a solver of the user's own and give its code version."""
    source = (Path(__file__).parents[1] / "plugins" / "misbehaving.py").read_text(encoding="utf-8")

    def version(change: str = "", name: str = "") -> str:
        name = name or f"solver{random.randrange(10**9)}"
        path = tmp_path / f"{name}.py"
        path.write_text(source.replace('name = "misbehaving"', f'name = "{name}"') + change, encoding="utf-8")
        solvers.load_plugin(path)
        try:
            return plan._meaning(path).replace(name, "")
        finally:
            del solvers.SOLVERS[name]

    return version


def test_a_comment_keeps_results_and_a_change_does_not(plugin) -> None:
    assert plugin("\n# a comment\n") == plugin()
    assert plugin("\nX = 1\n") != plugin()


def test_the_code_version_reaches_the_core() -> None:
    files = {path.name for path in plan._imported_files("mpu_bench.solvers.mpu.mpu")}
    assert {"mpu.py", "certificates.py", "rows.py", "rng.py", "jit.py"} <= files
    assert "config.py" not in files
    assert "perceptron.py" not in files
