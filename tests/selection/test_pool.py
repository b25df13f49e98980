"""Candidates that take too long are ended, and say so; the next one has a process of its own."""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from command_line import environment
from forking import Forking, Slow
from mpu_bench.data.download.cache import DataDirectory
from mpu_bench.guard.process import AwakeClock
from mpu_bench.selection.pool import Pool
from mpu_bench.selection.rows import Source
from mpu_bench.selection.schedule import Fit, Fitted
from mpu_bench.selection.worker import Evaluated, Evaluation

SVC = Slow("SVC", "reference", "SVC", {}, {"C": (1.0,), "gamma": (1.0,)}, 2)


@pytest.fixture
def source(tmp_path: Path) -> Source:
    options = {"rows": 20_000, "test_rows": 200}
    source = Source("checkerboard", options, DataDirectory.from_options(tmp_path / "home"))
    source.load()
    return source


def pool_of(source: Source, folder: Path, jobs: int) -> Pool:
    pool = Pool(jobs)
    pool.give(source, folder)
    return pool


def answer(pool: Pool, asked: Fit | Evaluation) -> Fitted | Evaluated:
    pool.ask(asked)
    (found,) = pool.answers(120.0)
    return found


def test_what_takes_too_long_is_ended_and_what_is_kept_is_evaluated(source: Source, tmp_path: Path) -> None:
    with pool_of(source, tmp_path, 1) as pool:
        quick = answer(pool, Fit(SVC, {"C": 1.0, "gamma": 2.0}, 1000, 60.0, 1))
        assert isinstance(quick, Fitted)
        assert not quick.reason
        assert quick.error < 0.3
        slow = answer(pool, Fit(SVC, {"C": 1e9, "gamma": 1e-3}, 16_000, 0.5, 2))
        assert isinstance(slow, Fitted)
        assert slow.reason == "did not end within 0.5 s on 16,000 rows"
        evaluated = answer(pool, Evaluation("SVC", 1, 60.0))
        assert isinstance(evaluated, Evaluated)
        assert not evaluated.reason
        assert evaluated.tested == 200
        assert evaluated.vectors > 0
        assert evaluated.size > 12 * evaluated.vectors
        wrong = answer(pool, Fit(SVC, {"C": -1.0, "gamma": 1.0}, 1000, 60.0, 3))
        assert isinstance(wrong, Fitted)
        assert wrong.reason.startswith("InvalidParameterError")


def test_seconds_for_which_this_process_is_stopped_do_not_count(
    source: Source, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As by SIGSTOP, or Ctrl-Z."""
    monotonic = time.monotonic
    with pool_of(source, tmp_path, 1) as pool:
        pool.ask(Fit(SVC, {"C": 1.0, "gamma": 2.0}, 500, 60.0, 1))
        monkeypatch.setattr(time, "monotonic", lambda: monotonic() + 3600)
        (found,) = pool.answers(120.0)
    assert not found.reason


def test_the_clock_stands_still_where_nobody_looks_at_it(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    clock = AwakeClock()
    for _ in range(20):
        now += 0.05
        clock()
    assert clock() == pytest.approx(1.0)
    now += 3600.0
    assert clock() < 1.5


def test_a_process_that_has_died_with_nothing_to_do_is_replaced(source: Source, tmp_path: Path) -> None:
    quick = Fit(SVC, {"C": 1.0, "gamma": 2.0}, 500, 60.0, 1)
    with pool_of(source, tmp_path, 1) as pool:
        assert not answer(pool, quick).reason
        idle = pool._workers[0].process
        idle.kill()
        idle.wait()
        assert not answer(pool, quick).reason


def test_data_that_have_changed_are_the_reason(
    source: Source, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with pool_of(replace(source, fingerprint="other"), tmp_path, 1) as pool:
        found = answer(pool, Fit(SVC, {"C": 1.0, "gamma": 2.0}, 1000, 60.0, 1))
    assert "its data have changed since it was begun; run again" in found.reason
    assert "Traceback" not in capfd.readouterr().err


def test_seconds_of_getting_ready_are_the_mean_of_all_processes(source: Source, tmp_path: Path) -> None:
    """While one gets ready another trains, and these seconds are spent."""
    with pool_of(source, tmp_path, 2) as pool:
        pool.ask(Fit(SVC, {"C": 1.0, "gamma": 2.0}, 500, 60.0, 1))
        began = time.monotonic()
        while not pool.answers(1.0):
            pass
        assert 0 < pool.preparing <= (time.monotonic() - began) / 2


def test_a_process_that_gets_ready_is_waited_for_whatever_the_seconds(source: Source, tmp_path: Path) -> None:
    with pool_of(source, tmp_path, 1) as pool:
        pool.ask(Fit(SVC, {"C": 1.0, "gamma": 2.0}, 500, 60.0, 1))
        assert pool.is_getting_ready
        found = pool.answers(0.0) or pool.answers(60.0)
        assert not pool.is_getting_ready
        assert [each.reason for each in found] == [""]


@pytest.mark.parametrize(
    ("floats", "seconds", "reason"),
    [
        (0, 1.0, "did not end within 1 s on 500 rows"),
        (60_000_000, 600.0, "used more than the limit of 512.0MiB; ended by mpu-bench"),
    ],
)
def test_what_a_classifier_forks_counts_and_ends_with_it(
    source: Source, tmp_path: Path, floats: int, seconds: float, reason: str
) -> None:
    forking = Forking("forking", "reference", "X", {}, {}, 1, note=str(tmp_path / "note"), floats=floats)
    with pool_of(source, tmp_path, 1) as pool:
        pool._max_memory = 0.5 * 2**30
        assert answer(pool, Fit(forking, {}, 500, seconds)).reason == reason
    assert not psutil.pid_exists(int((tmp_path / "note").read_text(encoding="utf-8")))


def test_processes_can_be_started_before_anything_large_is_imported() -> None:
    code = "import sys, mpu_bench.cli.trying, mpu_bench.selection.pool; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True, text=True, check=True)
    assert not {"sklearn", "scipy", "pandas", "matplotlib", "numba", "numpy"} & set(done.stdout.split())
