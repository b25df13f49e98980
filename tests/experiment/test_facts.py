"""What a results folder remembers of its config: whether runs are as it says, and that it is of this config alone."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from mpu_bench import resources
from mpu_bench.config.choices import Experiment
from mpu_bench.config.read import read_config
from mpu_bench.errors import StoreError
from mpu_bench.experiment import facts, plan
from mpu_bench.results.store import Store

TEXT = """
name: tried
dataset: {digits: {positive: ['8']}}
solvers:
  - mpu: {C: [1, 10]}
  - dcd
repeats: 2
limits: {seconds: 100}
profiles:
  ci: {solvers.mpu.C: 1, repeats: 1, limits: {seconds: 5}}
  short: {stop: {passes: 3}}
"""
TIMED = """
name: timed
dataset: {digits: {positive: ['8']}}
solvers: [{libsvm: {C: 1}}, {smo: {C: 1}}]
kernel: {gaussian: {sigma2: 500}}
stop: {seconds_of: {solver: libsvm, factor: 0.5}}
"""
TUNED = """
name: tuned
dataset: {digits: {positive: ['8']}}
solvers: [dcd]
tune: {C: [1, 10], holdout: 0.3}
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "tried.yaml"
    path.write_text(TEXT, encoding="utf-8")
    return path


def marked(experiment: Experiment) -> dict[tuple[str, object], tuple[int, str]]:
    runs = plan.plan(experiment)
    return {
        (run.solver.name, run.solver.parameters.get("C")): (mark.as_published, mark.overridden)
        for run, mark in zip(runs, plan.marks_of(experiment, runs), strict=True)
    }


def test_all_runs_of_a_config_are_as_it_says(config: Path) -> None:
    assert set(marked(read_config(config)).values()) == {(1, "")}
    assert set(marked(read_config(config, seed=5, repeats=1)).values()) == {(1, "")}


def test_only_runs_whose_settings_an_option_changes_are_not(config: Path) -> None:
    assert marked(read_config(config, settings=["solvers.mpu.C=100", "limits.seconds=1"])) == {
        ("mpu", 100): (0, "solvers.mpu.C = 100; limits.seconds = 1"),
        ("dcd", 1.0): (1, ""),
    }
    assert set(marked(read_config(config, threads=2)).values()) == {(0, "threads = 2")}
    assert set(marked(read_config(config, settings=["dataset.digits.positive=['7']"])).values()) == {
        (0, "dataset.digits.positive = ['7']")
    }


def test_a_value_of_a_sweep_is_as_published(config: Path) -> None:
    assert set(marked(read_config(config, settings=["solvers.mpu.C=10"])).values()) == {(1, "")}


def test_what_a_profile_leaves_alone_is_as_published(config: Path) -> None:
    assert set(marked(read_config(config, profile="ci")).values()) == {(1, "")}
    assert set(marked(read_config(config, profile="short")).values()) == {(0, "profile short (stop)")}


def test_what_a_run_takes_from_another_belongs_to_its_settings(tmp_path: Path) -> None:
    path = tmp_path / "timed.yaml"
    path.write_text(TIMED, encoding="utf-8")
    runs = marked(read_config(path, settings=["solvers.libsvm.C=2"]))
    assert {name: mark[0] for (name, _), mark in runs.items()} == {"libsvm": 0, "smo": 0}


def test_the_values_that_are_tried_belong_to_the_settings(tmp_path: Path) -> None:
    path = tmp_path / "tuned.yaml"
    path.write_text(TUNED, encoding="utf-8")
    for values, known in (("[1, 10]", 1), ("[1, 10, 100]", 0)):
        experiment = read_config(path, settings=[f"tune.C={values}"])
        runs = plan.plan(experiment)
        marks = plan.marks_of(experiment, runs)
        assert [mark.as_published for run, mark in zip(runs, marks, strict=True) if run.trial is None] == [known]


def test_a_config_that_is_not_whole_without_an_option_is_published_nowhere(tmp_path: Path) -> None:
    path = tmp_path / "part.yaml"
    path.write_text("name: part\nsolvers: [dcd]\n", encoding="utf-8")
    assert set(marked(read_config(path, settings=["dataset=adult"])).values()) == {(0, "dataset = adult")}


def check(path: Path, folder: Path) -> None:
    """Do what a run does with the config and the folder before it begins."""
    experiment = read_config(path)
    with Store(folder, create=True) as store:
        facts.check_config(experiment, store)
        store.save_plan([], facts.facts_of(experiment, folder))


def test_another_config_of_the_same_name_is_refused_with_the_fix(config: Path, tmp_path: Path) -> None:
    folder = tmp_path / "results" / "tried"
    check(config, folder)
    other = tmp_path / "other.yaml"
    other.write_text(TEXT.replace("dcd", "pegasos"), encoding="utf-8")
    with pytest.raises(StoreError, match=r"results of another config named tried \(.*tried\.yaml\).*name:.*--results"):
        check(other, folder)
    check(config, folder)


def test_an_edited_file_is_the_same_config_and_so_is_a_project_that_moved(config: Path, tmp_path: Path) -> None:
    folder = tmp_path / "results" / "tried"
    check(config, folder)
    config.write_text(TEXT.replace("dcd", "pegasos"), encoding="utf-8")
    check(config, folder)
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    shutil.move(folder.parent, moved)
    shutil.move(config, moved)
    check(moved / "tried.yaml", moved / "results" / "tried")
    shutil.copy(moved / "tried.yaml", tmp_path / "copied.yaml")
    check(tmp_path / "copied.yaml", moved / "results" / "tried")


def test_a_copy_of_a_shipped_config_that_was_edited_is_another(tmp_path: Path) -> None:
    folder = tmp_path / "adult"
    check(Path("adult"), folder)
    check(Path("adult"), folder)
    (tmp_path / "adult.yaml").write_text("name: adult\ndataset: web\nsolvers: [dcd]\n", encoding="utf-8")
    with pytest.raises(StoreError, match="another config named adult of mpu-bench itself"):
        check(tmp_path / "adult.yaml", folder)


def test_the_keys_of_a_config_hold_no_path(config: Path, tmp_path: Path) -> None:
    keys = facts.facts_of(read_config(config), tmp_path / "results")["config_keys"]
    assert all(len(key) == 16 and int(key, 16) >= 0 for key in keys)


def test_where_runs_are_made_makes_no_other_config_and_no_other_runs(config: Path, tmp_path: Path) -> None:
    folder = tmp_path / "results" / "tried"
    check(config, folder)
    before = read_config(config)
    config.write_text(TEXT + "placement: together\n", encoding="utf-8")
    check(config, folder)
    after = read_config(config)
    assert (before.placement, after.placement) == ("spread", "together")
    assert plan.plan(after) == plan.plan(before)
    changed = read_config(config, settings=["placement=spread"])
    assert set(marked(changed).values()) == {(1, "")}


def test_a_shipped_config_is_the_same_by_its_name_and_by_its_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shipped = resources.config_path("quickstart")
    assert shipped is not None
    monkeypatch.chdir(shipped.parent)
    by_name, by_path = (read_config(Path(path)) for path in ("quickstart", "quickstart.yaml"))
    assert facts.facts_of(by_path, tmp_path)["config"] == facts.facts_of(by_name, tmp_path)["config"] == "quickstart"
    assert facts.facts_of(by_path, tmp_path)["config_keys"] == facts.facts_of(by_name, tmp_path)["config_keys"]
