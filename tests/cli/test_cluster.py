"""``--cluster``: a command whose runs are made by workers that have nothing of the client's, and no way out."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import psutil
import pytest

import mpu_bench as package
from command_line import COMMAND, Called, environment
from machines import Machines

PLUGIN = Path(__file__).parents[1] / "plugins" / "slow.py"
COMPARED = ("solver", "seed", "status", "objective", "test_error", "kernel_evaluations", "updates", "passes")
WORKERS = ("one", "two")


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    with Machines(tmp_path_factory.mktemp("machines")) as made:
        made.start_scheduler()
        for name in WORKERS:
            made.start_worker(name, MPU_BENCH_OFFLINE="1", MPU_BENCH_MIRROR="")
        yield made


@pytest.fixture
def own(place: Path) -> Path:
    """Write a config of a solver, a file and a card that only this folder has."""
    random = np.random.default_rng(0)
    values = random.normal(size=(200, 3))
    lines = [f"{'yes' if row.sum() > 0 else 'no'},{','.join(f'{each:.3f}' for each in row)}" for row in values]
    (place / "mine.csv").write_text("\n".join(["answer,a,b,c", *lines]) + "\n", encoding="utf-8")
    svmlight = [f"{np.sign(a + b + c):.0f} 1:{a:.3f} 2:{b:.3f} 3:{c:.3f}" for a, b, c in values]
    (place / "empty" / "files").mkdir(parents=True)
    (place / "empty" / "files" / "carded.svm").write_text("\n".join(svmlight) + "\n", encoding="utf-8")
    (place / "datasets").mkdir()
    (place / "datasets" / "carded.yaml").write_text(
        "title: Of this folder\nkind: svmlight\nfiles: {carded.svm: {urls: 'http://127.0.0.1:9/carded.svm'}}\n"
        "train: carded.svm\nsplit: {train: 150, seed: 0}\nclasses: ['-1', '1']\nfeatures: 3\n"
        "expect: {total: {rows: 200}}\n",
        encoding="utf-8",
    )
    (place / "own.yaml").write_text(
        f"name: own\nplugins: [{PLUGIN}]\ndataset: {{file: mine.csv, label: answer}}\nrepeats: 2\nstop: {{passes: 5}}\n"
        "solvers:\n  - slow: {passes: 1, nap: 0}\n  - dcd: {C: 1}\n",
        encoding="utf-8",
    )
    (place / "carded.yaml").write_text("name: carded\ndataset: carded\nsolvers:\n  - dcd: {C: 1}\n", encoding="utf-8")
    return place


Rows = Callable[..., list[dict[str, str]]]


def compared(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    return [{name: row[name] for name in COMPARED} for row in rows]


def test_plugins_files_and_models_travel(own: Path, machines: Machines, mpu_bench: Called, rows: Rows) -> None:
    options = ["run", "own.yaml", "--save-models"]
    alone = mpu_bench(*options, MPU_BENCH_DATA="empty")
    assert alone.returncode == 0, alone.stderr
    expected = compared(rows("own"))
    (own / "results").rename(own / "alone")
    done = mpu_bench(*options, "--cluster", str(machines.file), MPU_BENCH_DATA="empty")
    assert done.returncode == 0, done.stderr
    assert "cluster: 2 workers on 2 machines" in done.stderr
    assert compared(rows("own")) == expected
    assert "mine: sent to " in done.stderr
    (model,) = (own / "results" / "own" / "models").glob("mine-dcd-seed0-*.mpu")
    (same,) = (own / "alone" / "own" / "models").glob(model.name)
    raw = [{"a": 0.1, "b": -2.0, "c": 0.3}, {"a": 1.0, "b": 1.0, "c": 1.0}]
    import pandas as pd

    np.testing.assert_array_equal(
        package.load(model).decision_function(pd.DataFrame(raw)),
        package.load(same).decision_function(pd.DataFrame(raw)),
    )
    homes = [machines.folder / name for name in WORKERS]
    assert any((home / "prepared").is_dir() for home in homes)
    assert not any((home / "files").exists() for home in homes)
    again = mpu_bench(*options, "--cluster", str(machines.file), MPU_BENCH_DATA="empty")
    assert "4 runs finished before, 0 runs to do" in again.stderr


def test_machines_without_a_way_out_say_so_or_are_sent_the_data(
    own: Path, machines: Machines, mpu_bench: Called, rows: Rows
) -> None:
    refused = mpu_bench("run", "carded.yaml", "--cluster", machines.address, MPU_BENCH_DATA="empty")
    assert refused.returncode == 1
    (row,) = rows("carded")
    assert row["status"] == "unavailable"
    assert row["reason"].startswith("no machine can make it: ")
    assert row["reason"].count("carded.svm") >= len(WORKERS)
    sent = mpu_bench("run", "carded.yaml", "--cluster", machines.address, "--send-data", MPU_BENCH_DATA="empty")
    assert sent.returncode == 0, sent.stderr
    assert [row["status"] for row in rows("carded")] == ["done"]


def test_a_machine_prepares_a_dataset_once_whatever_its_workers(
    place: Path, machines: Machines, mpu_bench: Called, rows: Rows
) -> None:
    with Machines(place / "pair") as pair:
        pair.start_scheduler()
        for name in ("left", "right"):
            pair.start_worker(name, MPU_BENCH_DATA=str(place / "shared"))
        done = mpu_bench("run", "tried.yaml", "--cluster", pair.address, "--jobs-per-worker", "2")
    assert done.returncode == 0, done.stderr
    assert "cluster: 2 workers on 1 machine, 2 parallel runs each" in done.stderr
    # once by the client, and once by the machine, whose last word may come after its runs
    assert 1 <= done.stderr.count("prepare checkerboard: done") <= 2
    assert [row["status"] for row in rows()] == ["done"] * 6


def test_a_program_uses_a_cluster(place: Path, machines: Machines) -> None:
    results = package.run(
        {"name": "api", "dataset": {"checkerboard": {"rows": 300, "test_rows": 50}}, "solvers": ["dcd"], "repeats": 2},
        cluster=machines.address, results=place / "results", data=place / "data",
    )  # fmt: skip
    assert list(results.runs["status"]) == ["done", "done"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            ["--cluster", "laboratory"],
            "--cluster laboratory: give the address of a Dask scheduler (tcp://host:8786)",
        ),
        (["--jobs-per-worker", "2"], "--jobs-per-worker: applies to a cluster; give --cluster, too"),
        (["--send-data"], "--send-data: applies to a cluster; give --cluster, too"),
        (
            ["--cluster", "local:2", "--jobs", "2"],
            "--jobs 2: applies to this machine; with --cluster use --jobs-per-worker",
        ),
        (["--cluster", "local:2", "--pdb"], "--pdb runs in this process; remove --cluster"),
    ],
)
def test_a_mistake_is_one_message(place: Path, mpu_bench: Called, options: list[str], words: str) -> None:
    done = mpu_bench("run", "tried.yaml", *options)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert not (place / "results").exists()


def test_a_cluster_of_this_machine_is_started_and_ended(place: Path, mpu_bench: Called, rows: Rows) -> None:
    done = mpu_bench("run", "tried.yaml", "--cluster", "local:2")
    assert done.returncode == 0, done.stderr
    assert "cluster: 2 workers on 1 machine" in done.stderr
    assert [row["status"] for row in rows()] == ["done"] * 6


@pytest.mark.skipif(sys.platform == "win32", reason="there are no process groups")
def test_ctrl_c_at_a_terminal_reaches_the_command_alone(place: Path, rows: Rows) -> None:
    """A terminal sends it to every process of the command, Dask's workers among them."""
    (place / "slow.yaml").write_text(
        f"name: slow\nplugins: [{PLUGIN}]\ndataset: {{checkerboard: {{rows: 300, test_rows: 50}}}}\nrepeats: 40\n"
        "solvers:\n  - slow: {passes: 1, nap: 0.03, log: begun}\n",
        encoding="utf-8",
    )
    with subprocess.Popen(
        [*COMMAND, "run", "slow.yaml", "--cluster", "local:2"], cwd=place, env=environment(), text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
    ) as process:  # fmt: skip
        end = time.monotonic() + 120
        begun = place / "begun"
        while not (begun.exists() and len(begun.read_text().split()) > 4) and time.monotonic() < end:
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGINT)
        said, _ = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert "interrupted: finished runs are saved" in said
    assert "Traceback" not in said
    assert "distributed." not in said  # as its log lines begin
    statuses = [row["status"] for row in rows("slow")]
    assert set(statuses) == {"done", "not run"}
    assert statuses.count("done") >= 2
    end = time.monotonic() + 30
    while (left := _alive(process.pid)) and time.monotonic() < end:
        time.sleep(0.05)
    assert not left


def _alive(session: int) -> list[psutil.Process]:
    """Return the processes of a session; zombies that wait for their reaper do not count."""
    processes = psutil.process_iter(["status"])
    return [
        each for each in processes
        if each.info["status"] != psutil.STATUS_ZOMBIE and _session_of(each.pid) == session
    ]  # fmt: skip


def _session_of(process: int) -> int | None:
    try:
        return os.getsid(process)
    except ProcessLookupError:
        return None
