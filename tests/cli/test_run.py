"""``mpu-bench run``: from a config to a table, once, again, in part, and after whatever ended it."""

from __future__ import annotations

import fcntl
import os
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest
from typer.testing import CliRunner

from command_line import COMMAND, Called, environment
from mpu_bench.cli.app import app
from mpu_bench.results.store import FILE, Store

PLUGIN = Path(__file__).parents[1] / "plugins" / "misbehaving.py"
Rows = Callable[..., list[dict[str, str]]]


def test_a_run_from_nothing_to_the_table_and_again(place: Path, mpu_bench: Called, rows: Rows) -> None:
    first = mpu_bench("run", "tried.yaml")
    assert first.returncode == 0, first.stderr
    assert "dcd" in first.stdout
    assert "6/6" in first.stderr
    before = rows()
    assert {row["status"] for row in before} <= {"done", "stopped"}
    assert len({row["run_id"] for row in before}) == 6
    assert {path.name for path in (place / "results" / "tried").iterdir()} >= {
        "runs.csv", "table.csv", "curves.csv", "environment.json", FILE,
    }  # fmt: skip
    again = mpu_bench("run", "tried.yaml")
    assert again.returncode == 0
    assert "6 runs finished before, 0 runs to do" in again.stderr
    assert rows() == before
    assert again.stdout == first.stdout
    shown = mpu_bench("show", "results/tried")
    assert shown.stdout == first.stdout


def test_only_what_is_missing_is_run_whatever_the_order(mpu_bench: Called, rows: Rows) -> None:
    assert mpu_bench("run", "tried.yaml", "--only", "solver=mpu").returncode == 0
    assert [row["status"] == "not run" for row in rows()] == [True] * 3 + [False] * 3
    kept = {row["run_id"]: row["train_seconds"] for row in rows() if row["solver"] == "mpu"}
    second = mpu_bench("run", "tried.yaml", "--repeats", "4")
    assert "3 runs finished before, 5 runs to do" in second.stderr
    assert kept.items() <= {row["run_id"]: row["train_seconds"] for row in rows()}.items()


def test_force_does_everything_again(mpu_bench: Called, rows: Rows) -> None:
    mpu_bench("run", "tried.yaml", "--repeats", "1")
    forced = mpu_bench("run", "tried.yaml", "--repeats", "1", "--force")
    assert "kept" not in forced.stderr
    assert len(rows()) == 2


@pytest.mark.skipif(sys.platform != "linux" or os.cpu_count() > 8, reason="makes a busy machine, and looks into /proc")
def test_a_busy_machine_is_warned_of_at_the_start(mpu_bench: Called) -> None:
    hog = ["nice", "-n", "19", sys.executable, "-c", "while True: pass"]  # it wants much and gets little
    hogs = [subprocess.Popen(hog) for _ in range(os.cpu_count() + 1)]
    try:
        told = mpu_bench("run", "tried.yaml", "--repeats", "1", "--only", "solver=dcd")
    finally:
        for each in hogs:
            each.kill()
            each.wait()
    assert told.returncode == 0
    assert told.stderr.count("this machine is busy: ") == 1
    assert told.stderr.index("this machine is busy: ") < told.stderr.index("1/1")


def test_a_dry_run_does_nothing(place: Path, mpu_bench: Called) -> None:
    dry = mpu_bench("run", "tried.yaml", "--dry-run")
    assert dry.returncode == 0
    assert "6 runs, 0 finished" in dry.stdout
    assert "to do: 6 runs, training time unknown" in dry.stdout
    assert not (place / "results").exists()


def test_a_dry_run_with_force_lists_what_has_a_result(place: Path, mpu_bench: Called) -> None:
    chosen = ("run", "tried.yaml", "--repeats", "1", "--only", "solver=dcd")
    assert mpu_bench(*chosen).returncode == 0
    assert "to do: nothing" in mpu_bench(*chosen, "--dry-run").stdout
    assert "to do: 1 run, about " in mpu_bench(*chosen, "--dry-run", "--force").stdout


def test_a_dry_run_tells_which_solver_is_not_installed(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reason = "snapml is not installed: pip install '.[peers]' in mpu-bench's source folder"
    monkeypatch.setattr("mpu_bench.solvers.not_installed", lambda name: reason if name == "snapml-svm" else "")
    monkeypatch.setenv("COLUMNS", "300")
    monkeypatch.chdir(place)
    dry = CliRunner().invoke(app, ["run", "tried.yaml", "--dry-run", "--set", "solvers=[snapml-svm, dcd]"])
    assert dry.exit_code == 0, dry.output
    assert dry.output.count(f"unavailable: {reason}") == 3
    assert "6 runs, 0 finished, 3 unavailable" in dry.output
    assert "to do: 3 runs" in dry.output


def test_a_dry_run_tells_how_long_the_rest_takes(mpu_bench: Called) -> None:
    mpu_bench("run", "tried.yaml", "--repeats", "1", "--only", "solver=dcd")
    told = mpu_bench("run", "tried.yaml", "--dry-run").stdout
    first, *_, last = [line for line in told.splitlines() if line.startswith("checkerboard")]
    assert first.split() == ["checkerboard", "dcd", "seed=0", "has", "a", "result"]
    assert last.split() == ["checkerboard", "mpu", "seed=2", "to", "do"]
    assert "to do: 5 runs, about 0.0" in told
    assert "of training; unknown for 3 runs" in told
    assert "overhead (loading, evaluation, storage): about " in told
    assert "memory per run: up to " in told


@pytest.mark.skipif(sys.platform != "linux", reason="needs a pseudo-terminal")
def test_a_terminal_shows_a_table_that_leaves_nothing_behind(place: Path) -> None:
    """Instead of a line for each of many runs; Ctrl-C leaves the terminal as it was, too."""
    code, shown = in_terminal([*COMMAND, "run", "tried.yaml", "--repeats", "11"], place, until="")
    assert code == 0
    assert "test error, %" in shown
    assert "22 runs: 22 done, in " in shown
    assert "22/22  checkerboard" not in shown
    assert shown.rindex(SHOW_CURSOR) > shown.rindex(HIDE_CURSOR)
    code, shown = in_terminal([*COMMAND, "run", "tried.yaml", "--repeats", "11", "--force"], place, until="0/11")
    assert code == 130
    assert shown.rindex(SHOW_CURSOR) > shown.rindex(HIDE_CURSOR)


HIDE_CURSOR, SHOW_CURSOR = "\x1b[?25l", "\x1b[?25h"


def in_terminal(command: list[str], folder: Path, until: str) -> tuple[int, str]:
    """Run a command on a pseudo-terminal, and press Ctrl-C as soon as something is seen; return what is shown."""
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    begin = "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
    made = subprocess.Popen(
        [sys.executable, "-c", begin, *command], cwd=folder, env=environment(TERM="xterm"),
        stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
    )  # fmt: skip
    os.close(theirs)
    shown, is_pressed = b"", not until
    with suppress(OSError):  # it has ended
        while read := os.read(ours, 1 << 16):
            shown += read
            if not is_pressed and until.encode() in shown:
                is_pressed = True
                os.write(ours, b"\x03")
    os.close(ours)
    return made.wait(60), shown.decode(errors="replace")


def test_data_that_cannot_be_had_is_a_row_and_the_others_go_on(place: Path, mpu_bench: Called, rows: Rows) -> None:
    (place / "tried.yaml").write_text(
        "name: tried\ndatasets: [physics, {checkerboard: {rows: 300, test_rows: 50}}]\nsolvers: [dcd]\n",
        encoding="utf-8",
    )
    told = mpu_bench("run", "tried.yaml", "--offline", "--data", "home", MPU_BENCH_MIRROR="")
    assert told.returncode == 1
    first, second = rows()
    assert first["status"] == "unavailable"
    assert "phy_train.dat" in first["reason"]
    assert second["status"] == "done"


def test_a_failed_run_is_a_row_and_exit_code_1(place: Path, mpu_bench: Called, rows: Rows) -> None:
    (place / "tried.yaml").write_text(
        f"name: tried\ndataset: {{checkerboard: {{rows: 300, test_rows: 50}}}}\nplugins: [{PLUGIN}]\n"
        "solvers: [{misbehaving: {how: [kill, finish]}}]\n",
        encoding="utf-8",
    )
    failed = mpu_bench("run", "tried.yaml")
    assert failed.returncode == 1
    assert "CRASHED" in failed.stderr
    assert [row["status"] for row in rows()] == ["crashed", "done"]
    again = mpu_bench("run", "tried.yaml")
    assert "1 run finished before, 1 run to do" in again.stderr


class Held:
    """An experiment of eight seeds under way in another process, of which one run waits, as it has told."""

    def __init__(self, place: Path, from_seed: int) -> None:
        self.place = place
        self._gate = place / "gate"
        os.mkfifo(self._gate)
        (place / "held.yaml").write_text(
            f"name: held\ndataset: {{checkerboard: {{rows: 300, test_rows: 50}}}}\nplugins: [{PLUGIN}]\nrepeats: 8\n"
            f"solvers: [{{misbehaving: {{how: hold, gate: {self._gate}, from_seed: {from_seed}}}}}]\n",
            encoding="utf-8",
        )
        self.process = subprocess.Popen(
            [*COMMAND, "run", "held.yaml"], cwd=place, env=environment(), start_new_session=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        self._wait_until_it_holds()

    def _wait_until_it_holds(self) -> None:
        reader = os.open(self._gate, os.O_RDONLY | os.O_NONBLOCK)
        told, *_ = select.select([reader], [], [], 120)
        os.close(reader)
        assert told, "no run has begun to wait"

    def finished(self) -> set[str]:
        with Store(self.place / "results" / "held") as store:
            return store.finished()

    def end(self, number: signal.Signals) -> int:
        """End the process by a signal; from now on no run waits."""
        self.process.send_signal(number)
        self.process.communicate(timeout=60)
        self._gate.unlink()
        return self.process.returncode


@contextmanager
def held_experiment(place: Path, from_seed: int) -> Iterator[Held]:
    held = Held(place, from_seed)
    try:
        yield held
    finally:
        held.process.kill()
        held.process.communicate(timeout=60)


@pytest.mark.parametrize(
    ("number", "code", "from_seed"),
    [(signal.SIGKILL, -9, 2), (signal.SIGINT, 130, 2), (signal.SIGTERM, 143, 2), (signal.SIGINT, 130, 0)],
)
def test_a_run_that_is_ended_is_taken_up_again(
    place: Path, mpu_bench: Called, rows: Rows, number: signal.Signals, code: int, from_seed: int
) -> None:
    with held_experiment(place, from_seed) as held:
        finished = held.finished()
        assert len(finished) == from_seed
        assert held.end(number) == code
        assert _no_worker_is_left(held.process.pid)
    if number is signal.SIGINT:
        assert [row["status"] for row in rows("held")].count("not run") == 8 - from_seed
    again = mpu_bench("run", "held.yaml")
    assert again.returncode == 0, again.stderr
    assert ("2 runs finished before, 6 runs to do" in again.stderr) == (from_seed == 2)
    ids = [row["run_id"] for row in rows("held")]
    assert len(ids) == len(set(ids)) == 8
    assert finished <= set(ids)
    assert {row["status"] for row in rows("held")} == {"done"}


def _no_worker_is_left(group: int) -> bool:
    """Wait until no process of the session is alive; zombies that wait for their reaper do not count."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
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


def test_two_processes_do_not_run_into_one_folder(place: Path, mpu_bench: Called) -> None:
    with held_experiment(place, from_seed=1):
        second = mpu_bench("run", "held.yaml")
    assert second.returncode == 2
    assert "another mpu-bench is using this folder" in second.stderr


def test_other_parameters_leave_the_earlier_rows_in_the_table(mpu_bench: Called, rows: Rows) -> None:
    mpu_bench("run", "tried.yaml", "--repeats", "1")
    changed = mpu_bench("run", "tried.yaml", "--repeats", "1", "--set", "solvers.mpu.C=10")
    assert "mpu C=10" in changed.stdout
    assert "mpu C=1 (earlier run)" in changed.stdout
    assert "changed from the config: solvers.mpu.C = 10 (for mpu)" in changed.stdout
    assert [(row["solver"], row["as_published"], row["earlier"]) for row in rows()] == [
        ("dcd", "1", ""), ("mpu", "0", ""), ("mpu", "1", "1"),
    ]  # fmt: skip
    mpu_bench("run", "tried.yaml", "--repeats", "1")
    assert [(row["solver"], row["as_published"], row["earlier"]) for row in rows()] == [
        ("dcd", "1", ""), ("mpu", "1", ""), ("mpu", "0", "1"),
    ]  # fmt: skip


def test_what_was_not_asked_for_is_one_line(mpu_bench: Called) -> None:
    told = mpu_bench("run", "tried.yaml", "--only", "solver=mpu", "--repeats", "1")
    assert "mpu" in told.stdout
    assert "dcd" not in told.stdout
    assert "other runs of this experiment: 1; mpu-bench show results/tried prints" in told.stdout
    assert "dcd" in mpu_bench("show", "results/tried").stdout


def test_trials_that_were_asked_for_hide_no_run_that_was_not(place: Path, mpu_bench: Called) -> None:
    (place / "tuned.yaml").write_text(
        "name: tuned\ndataset: {checkerboard: {rows: 200, test_rows: 50}}\nkernel: gaussian\n"
        "tune: {kernel.gamma: [1, 2, 4], holdout: 0.25, with: perceptron}\n"
        "solvers: [perceptron, {cks: {vectors: 10}}]\n",
        encoding="utf-8",
    )
    told = mpu_bench("run", "tuned.yaml", "--only", "solver=perceptron")
    assert "other runs of this experiment: 1;" in told.stdout


def test_another_config_of_the_same_name_is_refused(place: Path, mpu_bench: Called, rows: Rows) -> None:
    mpu_bench("run", "tried.yaml", "--repeats", "1")
    before = rows()
    text = (place / "tried.yaml").read_text(encoding="utf-8")
    (place / "copy.yaml").write_text(text.replace("passes: 100", "passes: 50"), encoding="utf-8")
    refused = mpu_bench("run", "copy.yaml")
    assert refused.returncode == 2
    assert "results/tried: holds results of another config named tried (tried.yaml)" in refused.stderr
    assert rows() == before


MARKING = """
with open({path!r}, "a") as file:
    file.write(f"{{os.getpid()}} {{os.getppid()}}\\n")
"""


@pytest.fixture
def imports(place: Path) -> Callable[[], list[str]]:
    """Give the config a plugin that writes which process imports it; return how often and where it was."""
    text = PLUGIN.read_text(encoding="utf-8") + MARKING.format(path=str(place / "imports"))
    (place / "own.py").write_text(text, encoding="utf-8")
    (place / "tried.yaml").write_text(
        "name: tried\ndataset: {checkerboard: {rows: 300, test_rows: 50}}\nplugins: [own.py]\n"
        "solvers: [misbehaving: {how: [finish, raise]}]\nstop: {passes: 5}\n",
        encoding="utf-8",
    )

    def read() -> list[str]:
        path = place / "imports"
        return path.read_text(encoding="utf-8").splitlines() if path.exists() else []

    return read


def test_what_shows_results_imports_no_plugin(place: Path, mpu_bench: Called, called, imports) -> None:
    done = mpu_bench("run", "tried.yaml")
    assert done.returncode == 1, done.stderr
    warning = "this config names plugins, which are code that runs with your rights: "
    assert done.stderr.startswith(f"{warning}{place / 'own.py'}\n")
    before = imports()
    assert len(before) == 2  # to describe it, and to run it
    for arguments in (
        ["show", "results/tried"],
        ["report", "results/tried", "--out", "page"],
        ["compare", "results/tried", "results/tried"],
        ["export", "results/tried"],
        ["check", "results/tried"],
        ["plot", "results/tried"],
        ["list", "configs"],
        ["list", "solvers"],
        ["run", "tried.yaml", "--set", "seed=-1"],
        ["run", "tried.yaml", "--set", "unknown=1"],
    ):
        called(*arguments)
        assert imports() == before, arguments


def test_the_debugger_is_opened_where_a_run_raises(place: Path, imports) -> None:
    done = subprocess.run(
        [*COMMAND, "run", "tried.yaml", "--pdb"], input="p self.how\nq\n",
        cwd=place, env=environment(), check=False, capture_output=True, text=True, timeout=200,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert done.stderr.startswith("--pdb: runs are ")
    assert "(Pdb) 'raise'" in done.stdout
    assert "ValueError: the matrix is not what it seemed" in done.stderr
    _, (here, _) = [line.split() for line in imports()]
    assert all(line.split()[1] != here for line in imports()[1:])


def test_the_debugger_sees_one_run_at_a_time(called, imports) -> None:
    code, told = called("run", "tried.yaml", "--pdb", "--jobs", "2")
    assert code == 2
    assert "--pdb runs one run at a time, in this process; remove --jobs 2" in told
    assert imports() == []
