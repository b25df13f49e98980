"""Runs in child processes: whatever one of them does, it becomes a row, and the others go on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mpu_bench.config.read import read_config
from mpu_bench.config.schema import Limits
from mpu_bench.data.download.cache import Home
from mpu_bench.experiment import plan
from mpu_bench.experiment.pool import local
from mpu_bench.experiment.pool.local import Outcome, Pool
from mpu_bench.experiment.worker import Task

PLUGIN = Path(__file__).parents[1] / "plugins" / "misbehaving.py"


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool() as made:
        yield made


@pytest.fixture
def outcomes(tmp_path: Path, shared_home: Home, pool: Pool):
    def run(behaviours: list[str], limits: Limits | None = None, more: str = "") -> list[Outcome]:
        path = tmp_path / "tried.yaml"
        written = behaviours[0] if len(behaviours) == 1 else f"[{', '.join(behaviours)}]"
        path.write_text(
            f"name: tried\ndataset: {{checkerboard: {{rows: 300, test_rows: 50}}}}\nplugins: [{PLUGIN}]\n"
            f"solvers:\n  - misbehaving: {{how: {written}}}\n{more}",
            encoding="utf-8",
        )
        runs = plan.plan(read_config(path))
        told: list[Any] = []
        tasks = [Task(each, shared_home) for each in runs]
        return list(pool.run(tasks, limits or Limits(), lambda *message: told.append(message)))

    return run


@pytest.mark.parametrize(
    ("behaviour", "status", "reason"),
    [
        ("raise", "error", "ValueError: the matrix is not what it seemed"),
        ("kill", "crashed", "SIGKILL"),
        ("exit", "crashed", "exit code 3"),
        ("no-memory", "out-of-memory", "80 GB asked for"),
        ("not-finite", "diverged", "finite"),
    ],
)
def test_a_failure_is_a_row_and_the_others_go_on(
    outcomes, behaviour: str, status: str, reason: str, capfd: pytest.CaptureFixture[str]
) -> None:
    first, middle, last = (each.record for each in outcomes(["finish", behaviour, "finish"], more="repeats: 1\n"))
    assert first["status"] == "done"
    assert middle["status"] == status
    assert reason in middle["reason"]
    assert last["status"] == "done"


def test_a_run_over_its_seconds_is_ended(outcomes) -> None:
    first, second = (each.record for each in outcomes(["sleep", "finish"], Limits(seconds=0.5)))
    assert (first["status"], first["reason"]) == ("timeout", "still training after 0.5 seconds")
    assert second["status"] == "done"


def test_a_run_over_its_memory_is_ended(outcomes) -> None:
    first, second = (each.record for each in outcomes(["eat-memory", "finish"], Limits(memory=900_000_000)))
    assert first["status"] == "out-of-memory"
    assert "858.3MiB" in first["reason"]
    assert second["status"] == "done"


def test_a_run_that_was_over_its_memory_between_two_looks_is_told(outcomes) -> None:
    (only,) = (each.record for each in outcomes(["finish"], Limits(memory=10_000_000)))
    assert only["status"] == "out-of-memory"


def test_a_rule_of_the_config_stops_a_solver_that_would_run_on(outcomes) -> None:
    (only,) = (each.record for each in outcomes(["run-on"], more="stop: {seconds: 0.1}\n"))
    assert (only["status"], only["reason"]) == ("stopped", "seconds 0.1")


def test_evaluating_a_model_costs_no_seconds_of_a_rule(outcomes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "_GRACE_SECONDS", 0.9)
    more = "stop: {seconds: 0.1}\ncheckpoints: {first: 0.01, per_decade: 20}\n"
    (only,) = outcomes(["run-on, look: 0.1"], more=more)
    assert (only.record["status"], only.record["reason"]) == ("stopped", "seconds 0.1")
    assert 0.1 * len(only.checkpoints) > 1.5 * 0.1 + 0.9


def test_a_worker_is_kept_warm(outcomes, pool: Pool) -> None:
    outcomes(["finish"])
    process = pool._workers[0].process.pid
    outcomes(["finish", "raise", "finish"])
    assert pool._workers[0].process.pid == process
    outcomes(["kill"])
    assert pool._workers[0].process.pid != process


def test_a_worker_that_died_while_idle_is_replaced(outcomes, pool: Pool) -> None:
    pool._workers[0].process.kill()
    pool._workers[0].process.join()
    assert [each.record["status"] for each in outcomes(["finish"])] == ["done"]


def test_jobs_run_at_once_and_each_run_once(tmp_path: Path, shared_home: Home) -> None:
    path = tmp_path / "tried.yaml"
    path.write_text(
        f"name: tried\ndataset: {{checkerboard: {{rows: 300, test_rows: 50}}}}\nplugins: [{PLUGIN}]\nrepeats: 6\n"
        "solvers: [misbehaving]\n",
        encoding="utf-8",
    )
    runs = plan.plan(read_config(path))
    with Pool(jobs=2) as pool:
        done = list(pool.run([Task(run, shared_home) for run in runs], Limits(), lambda *_: None))
    assert sorted(each.task.run.seed for each in done) == [0, 1, 2, 3, 4, 5]
