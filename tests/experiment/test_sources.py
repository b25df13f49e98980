"""Runs that need the result of another: the optimum of a kernel SVM, nu derived from it, a part of a peer's seconds."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mpu_bench.config.read import read_config
from mpu_bench.data.download.cache import Home
from mpu_bench.errors import ConfigError
from mpu_bench.experiment import identity, plan, runner
from mpu_bench.experiment.pool.local import Pool
from mpu_bench.results.store import Store

HEAD = """
name: tried
dataset: {digits: {positive: ['8'], split: {train: 300, seed: 0}}}
kernel: {gaussian: {sigma2: 500}}
"""
DERIVED = "{sbp: {nu: {from-regularization: {over-examples: 0.5}}, passes: 1}}"


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool() as made:
        yield made


@pytest.fixture
def read(tmp_path: Path):
    def text(text: str) -> list[plan.Run]:
        path = tmp_path / "tried.yaml"
        path.write_text(HEAD + text, encoding="utf-8")
        return plan.plan(read_config(path))

    return text


@pytest.fixture
def execute(tmp_path: Path, pool: Pool, read):
    home = Home(tmp_path / "home", offline=True)

    def run(text: str, filters: list[str] | None = None, folder: str = "results") -> list[dict[str, Any]]:
        runs = read(text)
        chosen = plan.only(runs, filters) if filters else runs
        experiment = read_config(tmp_path / "tried.yaml")
        runner.execute(experiment, runs, chosen, home, tmp_path / folder, pool, runner.Listener())
        with Store(tmp_path / folder) as store:
            return store.records()

    return run


def test_kernel_svms_are_set_against_the_optimum_of_their_own_problem(execute) -> None:
    one = "{regularization: {over-examples: 0.5}"
    records = execute(
        f"reference: true\nsolvers: [{{sdca: {one}}}}}, {{pegasos-kernel: {one}}}}}, {{smo: {{C: 2}}}}, "
        f"{{smo: {one}, bias: true}}}}, {{libsvm: {{C: 2}}}}, {{rff: {one}, pairs: 4}}}}]\n"
    )
    solvers = ["kernel-reference", "kernel-reference", "sdca", "pegasos-kernel", "smo", "smo", "libsvm", "rff"]
    assert [record["solver"] for record in records] == solvers
    unbiased, biased, sdca, pegasos, smo, with_bias, libsvm, rff = records
    assert unbiased["objective"] > 1.001 * biased["objective"]
    for record in (sdca, smo, with_bias, libsvm):
        assert -1e-9 <= record["suboptimality"] <= record["gap"] + 1e-4
    assert pegasos["suboptimality"] > 0
    assert rff["suboptimality"] is None
    for record, reference in ((smo, unbiased), (with_bias, biased), (libsvm, biased)):
        assert record["nu"] == pytest.approx(reference["nu"], rel=1e-2)


def test_nu_is_that_of_the_optimum_which_has_a_row_of_its_own(execute, monkeypatch: pytest.MonkeyPatch) -> None:
    reference, sbp = execute(f"solvers: [{DERIVED}]")
    assert reference["solver"] == "kernel-reference"
    assert sbp["nu"] == reference["nu"] > 0
    assert sbp["reason"] == f"nu {sbp['nu']:.6g} derived in {reference['train_seconds']:.3g} s, not counted"
    monkeypatch.setattr(runner._Session, "_remember", lambda *_: pytest.fail("derived again"))
    execute(f"solvers: [{DERIVED}]", folder="others", filters=["solver=kernel-reference"])
    _, again = execute(f"solvers: [{DERIVED}]", folder="results")
    assert again["run_id"] == sbp["run_id"]


def test_a_run_gets_a_part_of_the_seconds_of_a_peer(execute) -> None:
    stop = "stop: {seconds_of: {solver: libsvm, factor: 0.25}}\n"
    records = execute(f"{stop}solvers: [libsvm, {{sbp: {{nu: 0.1, passes: 1000000}}}}]\n", ["solver=sbp"])
    libsvm, sbp = records
    part = 0.25 * libsvm["train_seconds"]
    assert libsvm["status"] == "done"
    assert sbp["status"] == "stopped"
    assert sbp["reason"] == f"seconds {part:g}; 0.25 of the {libsvm['train_seconds']:.4g} s of libsvm"
    assert sbp["train_seconds"] >= part


def test_a_run_that_lacks_what_it_needs_is_a_row_that_says_so(execute, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "optimum_of", lambda _run: None)
    text = "solvers: [{libsvm: {kernel: {polynomial: {degree: 300, scale: 1000}}}}, {sbp: {nu: 0.1, kernel: %s}}]\n"
    stop = "stop: {seconds_of: {solver: libsvm, factor: 0.25}}\n"
    records = execute(stop + text % "{polynomial: {degree: 300, scale: 1000}}")
    assert [record["status"] for record in records] == ["error", "error"]
    assert records[1]["reason"] == "libsvm failed, whose train_seconds it needs"


def test_keys_depend_on_what_settles_a_run(read, monkeypatch: pytest.MonkeyPatch) -> None:
    reference, sbp = runs = read(f"solvers: [{DERIVED}]")
    key = runner._run_id(sbp, "data", runs)
    assert runner._run_id(reference, "data", runs) == identity.run_id(reference, "data")
    tighter = dataclasses.replace(reference, parameters={**reference.parameters, "tolerance": 1e-6})
    monkeypatch.setattr(plan, "nu_of", lambda run: tighter if run is sbp else None)
    assert runner._run_id(sbp, "data", [tighter, sbp]) != key


def test_equal_problems_have_one_reference(read) -> None:
    runs = read(f"solvers: [{DERIVED}, {{sbp: {{nu: {{from-regularization: {{over-examples: [0.5, 2]}}}}}}}}]\n")
    assert [run.parameters["C"] for run in runs if run.solver == "kernel-reference"] == [2.0, 0.5]


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
        read(text)
