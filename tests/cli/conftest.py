"""The command line as its users meet it: real processes, real exit codes; or within this process, where none works."""

from __future__ import annotations

import csv
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from unittest.mock import Mock

import pytest

from command_line import Called, environment
from copies import Copies
from mpu_bench.cli import app, interruption
from mpu_bench.experiment.pool.local import LocalPool, WorkerHandle


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Make a working folder with a config of two solvers and three seeds."""
    (tmp_path / "tried.yaml").write_text(
        "name: tried\ndataset: {checkerboard: {rows: 300, test_rows: 50}}\nsolvers:\n"
        "  - dcd: {C: 1}\n  - mpu: {C: 1, accuracy: 1e-3}\nrepeats: 3\nstop: {passes: 100}\n",
        encoding="utf-8",
    )
    return tmp_path


@pytest.fixture
def mpu_bench(place: Path, copies: Copies) -> Called:
    """Call the command line in a process of its own, in the working folder: a copy of one, where that does."""

    def call(*arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        return copies.call(arguments, place, environment(**more))

    return call


@pytest.fixture
def rows(place: Path) -> Callable[..., list[dict[str, str]]]:
    """Read runs.csv of an experiment."""

    def read(name: str = "tried") -> list[dict[str, str]]:
        with (place / "results" / name / "runs.csv").open(newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    return read


@pytest.fixture
def called(place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """Call the command line within this process; anything but an orderly exit is an exception here."""

    def call(*arguments: str) -> tuple[object, str]:
        monkeypatch.chdir(place)
        monkeypatch.setenv("MPU_BENCH_DATA", str(place / "empty"))
        monkeypatch.setattr(sys, "argv", ["mpu-bench", *arguments])
        monkeypatch.setattr(signal, "signal", lambda *_: None)
        monkeypatch.setattr(LocalPool, "_start", _no_worker)
        with pytest.raises(SystemExit) as left:
            interruption.leave_with(app.call)
        written = capsys.readouterr()
        return left.value.code, written.out + written.err

    return call


def _no_worker(_pool: LocalPool) -> WorkerHandle:
    """Stand in for a worker process where none gets a task."""
    return Mock(WorkerHandle)
