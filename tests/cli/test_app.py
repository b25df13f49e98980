"""The command line as its users meet it: real processes, real exit codes."""

from __future__ import annotations

import csv
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace

import pytest

from mpu_bench.cli import app
from mpu_bench.experiment.pool import local
from mpu_bench.results.store import FILE, Store

PLUGIN = Path(__file__).parent / "plugins" / "misbehaving.py"
COMMAND = [sys.executable, "-m", "mpu_bench"]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "tried.yaml").write_text(
        "name: tried\ndataset: {checkerboard: {rows: 300, test_rows: 50}}\nsolvers:\n"
        "  - dcd: {C: 1}\n  - mpu: {C: 1, accuracy: 1e-3}\nrepeats: 3\nstop: {passes: 100}\n",
        encoding="utf-8",
    )
    (tmp_path / "slow.yaml").write_text(
        f"name: slow\ndataset: {{checkerboard: {{rows: 300, test_rows: 50}}}}\nplugins: [{PLUGIN}]\nrepeats: 8\n"
        "solvers: [{misbehaving: {how: run-on}}]\nstop: {seconds: 0.4}\n",
        encoding="utf-8",
    )
    return tmp_path


def mpu_bench(place: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    settings = {"capture_output": True, "text": True, "timeout": 200, "env": _environment(environment)}
    return subprocess.run([*COMMAND, *arguments], cwd=place, check=False, **settings)


@pytest.fixture
def called(place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """Call the command line within this process; anything but an orderly exit is an exception here."""

    def call(*arguments: str) -> tuple[object, str]:
        monkeypatch.chdir(place)
        monkeypatch.setenv("MPU_BENCH_DATA", str(place / "empty"))
        monkeypatch.setattr(sys, "argv", ["mpu-bench", *arguments])
        monkeypatch.setattr(signal, "signal", lambda *_: None)
        monkeypatch.setattr(local.Pool, "_start", _no_worker)
        with pytest.raises(SystemExit) as left:
            app.main()
        written = capsys.readouterr()
        return left.value.code, written.out + written.err

    return call


def _no_worker(_pool: local.Pool) -> local._Worker:
    """Stand in for a worker process where none gets a task."""
    idle = SimpleNamespace(kill=lambda: None, join=lambda: None, exitcode=0)
    return local._Worker(idle, SimpleNamespace(close=lambda: None))


def _environment(more: Mapping[str, str]) -> dict[str, str]:
    return {**os.environ, "PYTHONWARNINGS": "default", **more}


def rows(place: Path, name: str = "tried") -> list[dict[str, str]]:
    with (place / "results" / name / "runs.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_a_run_from_nothing_to_the_table_and_again(place: Path) -> None:
    first = mpu_bench(place, "run", "tried.yaml")
    assert first.returncode == 0, first.stderr
    assert "dcd" in first.stdout
    assert "6/6" in first.stderr
    before = rows(place)
    assert {row["status"] for row in before} <= {"done", "stopped"}
    assert len({row["run_id"] for row in before}) == 6
    assert {path.name for path in (place / "results" / "tried").iterdir()} >= {
        "runs.csv", "table.csv", "curves.csv", "environment.json", FILE,
    }  # fmt: skip
    again = mpu_bench(place, "run", "tried.yaml")
    assert again.returncode == 0
    assert "6 runs kept from earlier; 0 runs to do" in again.stderr
    assert rows(place) == before
    assert again.stdout == first.stdout
    shown = mpu_bench(place, "show", "results/tried")
    assert shown.stdout == first.stdout


def test_only_what_is_missing_is_run_whatever_the_order(place: Path) -> None:
    assert mpu_bench(place, "run", "tried.yaml", "--only", "solver=mpu").returncode == 0
    assert [row["status"] == "not run" for row in rows(place)] == [True] * 3 + [False] * 3
    kept = {row["run_id"]: row["train_seconds"] for row in rows(place) if row["solver"] == "mpu"}
    second = mpu_bench(place, "run", "tried.yaml", "--repeats", "4")
    assert "3 runs kept from earlier; 5 runs to do" in second.stderr
    assert kept.items() <= {row["run_id"]: row["train_seconds"] for row in rows(place)}.items()


def test_force_does_everything_again(place: Path) -> None:
    mpu_bench(place, "run", "tried.yaml", "--repeats", "1")
    forced = mpu_bench(place, "run", "tried.yaml", "--repeats", "1", "--force")
    assert "kept" not in forced.stderr
    assert len(rows(place)) == 2


def test_a_dry_run_does_nothing(place: Path) -> None:
    dry = mpu_bench(place, "run", "tried.yaml", "--dry-run")
    assert dry.returncode == 0
    assert "6 runs, 0 with a result" in dry.stdout
    assert not (place / "results").exists()


def test_a_failed_run_is_a_row_and_exit_code_1(place: Path) -> None:
    text = (place / "slow.yaml").read_text(encoding="utf-8").replace("how: run-on", "how: [kill, finish]")
    (place / "slow.yaml").write_text(text, encoding="utf-8")
    failed = mpu_bench(place, "run", "slow.yaml", "--repeats", "1")
    assert failed.returncode == 1
    assert "CRASHED" in failed.stderr
    assert [row["status"] for row in rows(place, "slow")] == ["crashed", "done"]
    again = mpu_bench(place, "run", "slow.yaml", "--repeats", "1")
    assert "1 run kept from earlier; 1 run to do" in again.stderr


def _start(place: Path, *arguments: str) -> subprocess.Popen[str]:
    settings = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "env": _environment({})}
    return subprocess.Popen([*COMMAND, "run", "slow.yaml", *arguments], cwd=place, start_new_session=True, **settings)


def _wait_for_results(place: Path, count: int) -> set[str]:
    """Wait until so many runs are finished, and name them."""
    folder = place / "results" / "slow"
    for _ in range(1200):
        if (folder / FILE).is_file():
            with Store(folder) as store:
                finished = store.finished()
            if len(finished) >= count:
                return finished
        time.sleep(0.05)
    raise AssertionError("no run finished in a minute")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_a_run_that_is_ended_at_any_moment_is_taken_up_again(place: Path, number: signal.Signals) -> None:
    process = _start(place)
    finished = _wait_for_results(place, 2)
    process.send_signal(number)
    process.communicate(timeout=60)
    codes = {signal.SIGKILL: -9, signal.SIGINT: 130, signal.SIGTERM: 143}
    assert process.returncode == codes[number]
    assert _no_worker_is_left(process.pid)
    if number is signal.SIGINT:
        assert len(rows(place, "slow")) == 8  # the tables are there, with what is not run yet
    again = mpu_bench(place, "run", "slow.yaml")
    assert again.returncode == 0, again.stderr
    assert "kept from earlier" in again.stderr
    ids = [row["run_id"] for row in rows(place, "slow")]
    assert len(ids) == len(set(ids)) == 8
    assert finished <= set(ids)
    assert {row["status"] for row in rows(place, "slow")} == {"stopped"}


def _no_worker_is_left(group: int) -> bool:
    """Wait until no process of the session is alive; zombies that wait for their reaper do not count."""
    import psutil

    for _ in range(200):
        alive = [
            each
            for each in psutil.process_iter(["pid", "status"])
            if each.info["status"] != psutil.STATUS_ZOMBIE and _session_of(each.info["pid"]) == group
        ]
        if not alive:
            return True
        time.sleep(0.05)
    return False


def _session_of(process: int) -> int | None:
    try:
        return os.getsid(process)
    except ProcessLookupError:
        return None


def test_two_processes_do_not_run_into_one_folder(place: Path) -> None:
    first = _start(place, "--repeats", "100")
    try:
        _wait_for_results(place, 1)
        second = mpu_bench(place, "run", "slow.yaml")
        assert second.returncode == 2
        assert "another mpu-bench is running into this folder" in second.stderr
    finally:
        first.kill()
        first.communicate(timeout=60)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "absent.yaml"], "absent.yaml: no such config file"),
        (["run", "tried.yaml", "--set", "solvers.dcd.C=-1"], "solvers.dcd.C: must be greater than 0"),
        (["run", "tried.yaml", "--profile", "ci"], "no profile 'ci'"),
        (["run", "tried.yaml", "--only", "solver=svm"], "no run has solver 'svm'"),
        (["list", "solver"], "did you mean 'solvers'?"),
        (["show", "results/absent"], "holds no results"),
        (["clean", "."], "holds no results"),
        (["data", "info", "adlut"], "did you mean 'adult'?"),
        (["data", "verify", "adult"], "a9a"),
        (["frobnicate"], "No such command"),
        (["run"], "Missing argument"),
        (["run", "tried.yaml", "--repeats", "0"], "--repeats"),
        (["reproduce", "--paper", "mpu-2011"], "did you mean 'mpu-2010'?"),
        (["reproduce", "--profile", "cii"], "--profile cii: no config has it: did you mean 'ci'?"),
    ],
)
def test_a_mistake_is_one_message_and_exit_code_2(called, place: Path, arguments: list[str], message: str) -> None:
    code, told = called(*arguments)
    assert code == 2
    assert message in told
    assert not (place / "results").exists()


@pytest.mark.parametrize("text", ["name: x\n\tdataset: adult\n", "name: [", "\x00", "version: 7\nname: x\n"])
def test_a_broken_config_has_no_traceback(called, place: Path, text: str) -> None:
    (place / "tried.yaml").write_text(text, encoding="utf-8")
    code, told = called("run", "tried.yaml")
    assert code == 2
    assert "tried.yaml" in told


def test_data_that_cannot_be_had_is_a_row_and_the_others_go_on(place: Path) -> None:
    (place / "tried.yaml").write_text(
        "name: tried\ndatasets: [physics, {checkerboard: {rows: 300, test_rows: 50}}]\nsolvers: [dcd]\n",
        encoding="utf-8",
    )
    told = mpu_bench(place, "run", "tried.yaml", "--offline", "--data", "home", MPU_BENCH_MIRROR="")
    assert told.returncode == 1
    first, second = rows(place)
    assert first["status"] == "unavailable"
    assert "phy_train.dat" in first["reason"]
    assert second["status"] == "done"


def test_help_is_instant_and_imports_nothing_heavy() -> None:
    code = (
        "import sys\nfrom typer.testing import CliRunner\nfrom mpu_bench.cli.app import app\n"
        "assert CliRunner().invoke(app, ['--help']).exit_code == 0\n"
        "heavy = {'numba', 'numpy', 'pandas', 'scipy', 'sklearn', 'pydantic'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("kind", ["solvers", "datasets", "kernels", "configs"])
def test_list(place: Path, kind: str) -> None:
    listed = mpu_bench(place, "list", kind)
    assert listed.returncode == 0
    assert len(listed.stdout.splitlines()) > 1


def test_names_are_completed(place: Path) -> None:
    asked = {"_MPU_BENCH_COMPLETE": "complete_bash", "COMP_WORDS": "mpu-bench data info ad", "COMP_CWORD": "3"}
    script = Path(sys.executable).with_name("mpu-bench")
    completed = subprocess.run([script], cwd=place, capture_output=True, text=True, env=_environment(asked), check=True)
    assert "adult" in completed.stdout.split()


def test_clean_deletes_only_a_results_folder(place: Path) -> None:
    mpu_bench(place, "run", "tried.yaml", "--repeats", "1")
    assert mpu_bench(place, "clean", "results/tried", "--yes").returncode == 0
    assert not (place / "results" / "tried").exists()
    assert (place / "tried.yaml").exists()


def test_version_and_info(place: Path) -> None:
    from mpu_bench import __version__

    assert mpu_bench(place, "--version").stdout.strip() == __version__
    assert "processor" in mpu_bench(place, "info").stdout
