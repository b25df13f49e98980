"""From a plan to a store: references first, what is known is recalled, what fails is a row."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mpu_bench.config.read import read_config
from mpu_bench.data.download.cache import Home
from mpu_bench.experiment import plan, runner
from mpu_bench.experiment.pool.local import Pool
from mpu_bench.results.store import Store

HEAD = "name: tried\ndataset: {digits: {positive: ['8']}}\nreference: true\n"


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool() as made:
        yield made


@pytest.fixture
def execute(tmp_path: Path, pool: Pool):
    home = Home(tmp_path / "home", offline=True)

    def run(text: str, filters: list[str] | None = None, folder: str = "results") -> tuple[bool, list[dict[str, Any]]]:
        path = tmp_path / "tried.yaml"
        path.write_text(HEAD + text, encoding="utf-8")
        experiment = read_config(path)
        runs = plan.plan(experiment)
        chosen = plan.only(runs, filters) if filters else runs
        right = runner.execute(experiment, runs, chosen, home, tmp_path / folder, pool, runner.Listener())
        with Store(tmp_path / folder) as store:
            return right, store.records()

    return run


def test_every_linear_objective_is_set_against_the_optimum_of_its_own_problem(execute) -> None:
    C = "[0.1, {over-examples: 100}]"
    right, records = execute(f"solvers: [{{dcd: {{C: {C}, tolerance: 0.1}}}}, {{mpu: {{C: 0.1}}}}, perceptron]")
    assert right
    assert [record["solver"] for record in records] == ["reference", "reference", "dcd", "dcd", "mpu", "perceptron"]
    for record in records[:2]:
        assert 0 <= record["gap"] <= 1e-8
    for record in records[2:5]:
        assert record["suboptimality"] >= 0
        assert record["suboptimality"] <= record["gap"] + 1e-8
    assert records[5]["suboptimality"] is None


def test_a_deviation_ends_a_run(execute) -> None:
    _, (_, record) = execute("solvers: [{dcd: {tolerance: 1.0e-9}}]\nstop: {deviation: 0.01}\n")
    assert (record["status"], record["reason"]) == ("stopped", "deviation 0.01")
    assert 0 <= record["suboptimality"] <= 0.01


def test_the_reference_of_a_chosen_run_is_done_too_and_no_other(execute) -> None:
    _, records = execute("solvers: [{dcd: {C: [0.1, 1]}}, {mpu: {C: 1}}]", ["solver=mpu"])
    states = [(record["solver"], record["status"]) for record in records]
    assert states.count(("reference", "done")) == 1
    assert states.count(("reference", "not run")) == 1
    assert ("mpu", "done") in states
    assert ("dcd", "done") not in states


def test_an_optimum_is_recalled_by_another_experiment(execute, monkeypatch: pytest.MonkeyPatch) -> None:
    _, first = execute("solvers: [dcd]")
    monkeypatch.setattr(runner._Session, "_remember", lambda *_: pytest.fail("computed again"))
    _, second = execute("solvers: [dcd]", folder="others", filters=["solver=reference"])
    assert second[0]["objective"] == first[0]["objective"]
    assert second[0]["train_seconds"] == first[0]["train_seconds"]


def test_a_damaged_kept_optimum_is_computed_again(execute, tmp_path: Path) -> None:
    execute("solvers: [dcd]")
    (kept,) = (tmp_path / "home" / "references").iterdir()
    kept.write_text("{", encoding="utf-8")
    _, records = execute("solvers: [dcd]", folder="others")
    assert records[0]["status"] == "done"
    assert kept.read_text(encoding="utf-8").startswith('{"record"')


def test_the_same_data_under_two_labels_are_run_once(execute, tmp_path: Path) -> None:
    global_head = "name: twice\ndatasets: [{digits: {positive: ['8']}}, {digits: {positive: ['8'], as: again}}]\n"
    path = tmp_path / "twice.yaml"
    path.write_text(global_head + "solvers: [dcd]\n", encoding="utf-8")
    experiment = read_config(path)
    runs = plan.plan(experiment)
    told: list[str] = []
    listener = runner.Listener(finished=lambda run, _record: told.append(run.label))
    home = Home(tmp_path / "home", offline=True)
    with Pool() as pool:
        assert runner.execute(experiment, runs, runs, home, tmp_path / "twice", pool, listener)
    with Store(tmp_path / "twice") as store:
        records = store.records()
    assert len(told) == 1
    assert [record["dataset"] for record in records] == ["digits", "again"]
    assert records[0]["objective"] == records[1]["objective"]


def test_an_unprepared_dataset_is_looked_at_without_being_touched(tmp_path: Path) -> None:
    path = tmp_path / "tried.yaml"
    path.write_text("name: tried\ndataset: adult\nsolvers: [dcd]\n", encoding="utf-8")
    home = Home(tmp_path / "home", offline=True)
    (planned,) = runner.look(plan.plan(read_config(path)), home)
    assert [file.name for file in planned.description.missing] == ["a9a", "a9a.t"]
    assert not home.folder.exists()


def test_only_the_data_of_the_chosen_runs_are_fetched(tmp_path: Path, pool: Pool) -> None:
    path = tmp_path / "tried.yaml"
    text = "name: tried\ndatasets: [adult, {digits: {positive: ['8']}}]\nreference: true\nsolvers: [dcd]\n"
    path.write_text(text, encoding="utf-8")
    experiment = read_config(path)
    runs = plan.plan(experiment)
    chosen = plan.only(runs, ["dataset=digits"])
    home = Home(tmp_path / "home", offline=True)
    assert runner.execute(experiment, runs, chosen, home, tmp_path / "results", pool, runner.Listener())
    with Store(tmp_path / "results") as store:
        states = [(record["dataset"], record["status"]) for record in store.records()]
    assert states == [("adult", "not run")] * 2 + [("digits", "done")] * 2
