"""Runs in child processes: whatever one of them does, it becomes a row, and the others go on."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pytest

from mpu_bench.config.read import read_config
from mpu_bench.config.schema import Limits
from mpu_bench.core import cache
from mpu_bench.data.cards import catalog
from mpu_bench.data.download.cache import DataDirectory
from mpu_bench.data.download.progress import SILENT, Lines
from mpu_bench.data.prepare.load import describe, load_problem
from mpu_bench.errors import UserError
from mpu_bench.experiment import plan
from mpu_bench.experiment.messages import Compiled, News, Phase, Progress, Task, Work
from mpu_bench.experiment.pool import Outcome, Pool
from mpu_bench.experiment.pool import local as handles
from mpu_bench.experiment.pool.local import LocalPool, Transfers
from mpu_bench.experiment.worker import _Sent
from mpu_bench.guard import process, supervisor, system

PLUGIN = Path(__file__).parents[2] / "plugins" / "misbehaving.py"


def do(pool: Pool, tasks: list[Task], news: list[News] | None = None) -> list[Outcome]:
    """Let a pool do tasks, as many at once as it has room for."""
    waiting, done = list(tasks), []
    while len(done) < len(tasks):
        while waiting and pool.has_room:
            pool.submit(waiting.pop(0))
        done.append(pool.next_outcome(lambda _task, each: news.append(each) if news is not None else None))
    return done


@pytest.fixture
def outcomes(tmp_path: Path, shared_home: DataDirectory, pool: LocalPool):
    def run(
        behaviours: list[str], limits: Limits | None = None, more: str = "", news: list[News] | None = None
    ) -> list[Outcome]:
        path = tmp_path / "tried.yaml"
        written = behaviours[0] if len(behaviours) == 1 else f"[{', '.join(behaviours)}]"
        path.write_text(
            f"name: tried\ndataset: {{checkerboard: {{rows: 300, test_rows: 50}}}}\nplugins: [{PLUGIN}]\n"
            f"solvers:\n  - misbehaving: {{how: {written}}}\n{more}",
            encoding="utf-8",
        )
        planned = plan.plan(read_config(path))  # which has each but once
        by_how = [(each.solver.parameters.get("how", "finish"), each) for each in planned]
        runs = [each for wanted in behaviours for how, each in by_how if wanted.partition(",")[0] == how]
        tasks = [Task(str(each), each, shared_home, limits or Limits()) for each in runs]
        return do(pool, tasks, news)

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
    assert first.status == "done"
    assert middle.status == status
    assert reason in middle.reason
    assert last.status == "done"


def test_an_exception_tells_where_in_the_users_file_it_was_raised(outcomes) -> None:
    (only,) = (each.record for each in outcomes(["raise"]))
    lines = PLUGIN.read_text(encoding="utf-8").splitlines()
    line = 1 + next(number for number, text in enumerate(lines) if "the matrix is not what it seemed" in text)
    assert only.reason == f"ValueError: the matrix is not what it seemed (misbehaving.py, line {line}, in _raise)"
    traced = only.traceback.splitlines()
    assert traced[0] == "Traceback (most recent call last):"
    assert [text.split(", ")[2] for text in traced if text.startswith('  File "misbehaving.py"')] == [
        "in advance",
        "in _raise",
    ]
    assert traced[-1] == "ValueError: the matrix is not what it seemed"
    assert "worker.py" not in only.traceback


def test_a_run_over_its_seconds_is_ended(outcomes) -> None:
    first, second = (each.record for each in outcomes(["sleep", "finish"], Limits(seconds=2)))
    assert (first.status, first.reason) == ("timeout", "still training after 2 seconds; ended by mpu-bench")
    assert second.status == "done"


def test_a_run_over_its_memory_is_ended(outcomes) -> None:
    first, second = (each.record for each in outcomes(["eat-memory", "finish"], Limits(memory=900_000_000)))
    assert first.status == "out-of-memory"
    assert "858.3MiB" in first.reason
    assert second.status == "done"


def test_a_run_that_was_over_its_memory_between_two_looks_is_told(outcomes) -> None:
    (only,) = (each.record for each in outcomes(["finish"], Limits(memory=10_000_000)))
    assert only.status == "out-of-memory"


def test_a_peak_between_two_looks_is_that_of_the_row(outcomes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process.Child, "look_at_memory", lambda _child: 0)
    (only,) = (each.record for each in outcomes(["finish"], Limits(memory=10_000_000)))
    assert only.status == "out-of-memory"
    assert only.peak_memory_mb > 20


def test_a_rule_of_the_config_stops_a_solver_that_would_run_on(outcomes) -> None:
    (only,) = (each.record for each in outcomes(["run-on"], more="stop: {seconds: 0.1}\n"))
    assert (only.status, only.reason) == ("stopped", "seconds 0.1")


def test_evaluating_a_model_costs_no_seconds_of_a_rule(outcomes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handles, "STOP_GRACE_SECONDS", 0.9)
    more = "stop: {seconds: 0.1}\ncheckpoints: {first: 0.01, per_decade: 20}\n"
    (only,) = outcomes(["run-on, look: 0.1"], more=more)
    assert (only.record.status, only.record.reason) == ("stopped", "seconds 0.1")
    assert 0.1 * len(only.checkpoints) > 1.5 * 0.1 + 0.9


def test_what_a_run_tells(outcomes) -> None:
    news: list[News] = []
    outcomes(["finish, passes: 7"], news=news)
    phases = [each.name for each in news if isinstance(each, Phase)]
    assert [phase for phase in phases if phase != "compiling"] == [
        "starting",
        "importing",
        "loading",
        "loading",
        "training",
    ]
    assert all(each.seconds >= 0 for each in news if isinstance(each, Compiled))
    far = [each for each in news if isinstance(each, Progress)]
    assert [each.passes for each in far] == sorted(each.passes for each in far)
    assert {each.objective for each in far} <= {None, 0.0}  # none before the first checkpoint


def workers(pool: LocalPool) -> set[int]:
    return {each.process.pid for each in pool._workers}


def test_a_worker_is_kept_warm(outcomes, pool: LocalPool) -> None:
    outcomes(["finish"])
    before = workers(pool)
    outcomes(["finish", "raise", "finish"])
    assert workers(pool) == before
    outcomes(["kill"])
    outcomes(["finish"])
    assert not workers(pool) & before


def test_a_worker_that_died_while_idle_is_replaced(outcomes, pool: LocalPool) -> None:
    outcomes(["finish"])
    (idle,) = pool._workers
    idle.process.kill()
    idle.process.wait()
    assert [each.record.status for each in outcomes(["finish"])] == ["done"]


def test_jobs_run_at_once_and_each_run_once(tmp_path: Path, shared_home: DataDirectory) -> None:
    path = tmp_path / "tried.yaml"
    path.write_text(
        f"name: tried\ndataset: {{checkerboard: {{rows: 300, test_rows: 50}}}}\nplugins: [{PLUGIN}]\nrepeats: 6\n"
        "solvers: [misbehaving]\n",
        encoding="utf-8",
    )
    tasks = [Task(str(run), run, shared_home) for run in plan.plan(read_config(path))]
    with LocalPool(jobs=2) as pool:
        done = do(pool, tasks)
        assert len(workers(pool)) == 2
    assert sorted(each.task.run.seed for each in done) == [0, 1, 2, 3, 4, 5]


def test_a_closed_pool_has_new_workers_with_other_threads(outcomes, pool: LocalPool) -> None:
    before = workers(pool)
    pool.use_threads(2)
    try:
        assert not workers(pool)
        assert [each.record.status for each in outcomes(["finish"])] == ["done"]
        assert not workers(pool) & before
    finally:
        pool.use_threads(1)


def test_nothing_under_way_has_no_outcome() -> None:
    with pytest.raises(LookupError):
        LocalPool(0).next_outcome(lambda *_: None)


def test_a_worker_removes_what_earlier_versions_have_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    stale = [cache.cache_folder() / f"stale-{number}" for number in range(6)]
    for folder in stale:
        folder.mkdir(parents=True)
        os.utime(folder, (0, 0))
    with LocalPool() as pool:
        pool._start()
        until = time.monotonic() + 60
        while sum(folder.exists() for folder in stale) > 4 and time.monotonic() < until:
            time.sleep(0.05)
    assert sum(folder.exists() for folder in stale) == 4


def test_a_system_without_room_for_a_process_is_one_message(pool: LocalPool, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(process.subprocess, "Popen", refuse)
    with LocalPool() as full, pytest.raises(UserError, match=r"cannot be started: Too many open files; make fewer"):
        full.get_ready()


class Noted(Lines):
    """Keeps the lines that a preparation shows."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        super().__init__(self.lines.append, every=0.0)


def test_a_dataset_is_prepared_in_a_worker(tmp_path: Path, pool: LocalPool) -> None:
    home, shown = DataDirectory(tmp_path, offline=True), Noted()
    assert pool.prepare("checkerboard", {"rows": 300, "test_rows": 50}, home, Limits(), shown) == ""
    assert describe(catalog.card("checkerboard", {"rows": 300, "test_rows": 50}), home).state == "prepared"
    assert shown.lines[-1].startswith("prepare checkerboard: done")


def test_a_transfer_that_has_failed_is_not_shown_as_done() -> None:
    noted = Noted()
    with Transfers(noted) as shown:
        sent = _Sent(shown.show)
        with suppress(OSError), sent.transfer("fetch a9a from a mirror", 10) as advance:
            advance(3)
            raise OSError("cut")
        with sent.transfer("fetch a9a", 10) as advance:
            advance(10)
        shown.show(Work("begin", 9, text="prepare a9a", total=20))  # then its process is killed
    assert [line for line in noted.lines if "done" in line] == ["fetch a9a: done, 10 bytes"]


def test_why_a_dataset_cannot_be_had_is_a_text(tmp_path: Path, pool: LocalPool) -> None:
    reason = pool.prepare("a9a", {}, DataDirectory(tmp_path, offline=True), Limits(), SILENT)
    assert "offline" in reason
    assert "no dataset" in pool.prepare("a9", {}, DataDirectory(tmp_path, offline=True), Limits(), SILENT)


def test_a_preparation_over_its_memory_is_ended(tmp_path: Path, pool: LocalPool) -> None:
    limits = Limits(memory=10_000_000)
    reason = pool.prepare("separable", {"rows": 200_000}, DataDirectory(tmp_path, offline=True), limits, SILENT)
    assert "more than the limit of 9.5MiB" in reason
    assert not [path.name for path in (tmp_path / "prepared").glob("[!.]*")]


RAISED = {
    "end-process": "SystemExit: 3 (the solver ended its process)",
    "interrupt": "KeyboardInterrupt:  (the solver interrupted itself)",
    "generator-exit": "GeneratorExit",
    "wordless": "WordlessError: (its text is unavailable: its __str__ raises ValueError)",
    "surrogate": "ValueError: half of \\ud800 a pair, and \\x1b[31m red",
    "long": "(20,000,000 characters)",
    "seventeen": "misbehaving: advance() returns 17; it must return a Status",
    "misspell": "ImportError: cannot import name 'no_such_name' from 'mpu_bench.core.rows'",
    "misplace": "ModuleNotFoundError: No module named 'numpy.no_such_module' (misbehaving.py, line ",
}


def test_whatever_is_raised_is_a_row_with_its_cause_and_the_worker_lives(
    outcomes, pool: LocalPool, capfd: pytest.CaptureFixture[str]
) -> None:
    for record, (how, reason) in zip((each.record for each in outcomes(list(RAISED))), RAISED.items(), strict=True):
        assert record.status == "error", how
        assert reason in record.reason
        assert len(record.reason.encode()) <= 10_100
    (worker,) = pool._workers
    assert not worker.is_dead


def test_only_a_package_that_is_not_installed_skips_a_run(outcomes) -> None:
    (only,) = (each.record for each in outcomes(["lack"]))
    assert only.status == "skipped"
    assert only.reason.startswith("misbehaving needs a package that is not installed: No module named 'nothing_of")


def test_a_warm_up_that_fails_is_not_the_run(outcomes) -> None:
    """A warm-up has a few rows only; a run that fails, too, says why itself."""
    first, second = (each.record for each in outcomes(["need-many", "need-many"]))
    assert first.status == second.status == "done"
    assert first.reason == "not fully compiled before training: its warm-up on 24 rows raised ValueError"
    assert first.reason == second.reason


def test_a_solver_that_changes_its_inputs_changes_nothing_for_others(
    tmp_path: Path, shared_home: DataDirectory, capfd: pytest.CaptureFixture[str]
) -> None:
    """Between its warm-up and its run, between its runs, and before runs of others: the problem is loaded anew."""
    path = tmp_path / "tried.yaml"
    path.write_text(
        f"name: tried\ndataset: {{checkerboard: {{rows: 300, test_rows: 50}}}}\nplugins: [{PLUGIN}]\nrepeats: 2\n"
        "solvers:\n  - dcd: {C: 1}\n  - misbehaving: {how: falsify}\n  - dcd: {C: 1}\nstop: {passes: 50}\n",
        encoding="utf-8",
    )
    runs = plan.plan(read_config(path))
    own = [each for each in runs if each.solver.name == "dcd"]
    theirs = [each for each in runs if each.solver.name != "dcd"]
    with LocalPool() as pool:
        done = [do(pool, [Task(str(each), each, shared_home)])[0] for each in [own[0], *theirs, own[0]]]
    before, first, second, after = [
        {name: each.record.value(name) for name in ("status", "objective", "test_error", "train_error")}
        for each in done
    ]
    assert before == after
    assert first == second
    problem = load_problem(catalog.card("checkerboard", {"rows": 300, "test_rows": 50}), shared_home).without_test()
    arrays = [*problem.train, problem.labels, *problem.test, problem.test_labels]
    assert first["objective"] == sum(float(array.sum(dtype=float)) for array in arrays)
    written, noted = capfd.readouterr()
    assert (written, "printed by a solver" in noted) == ("", True)  # not among the tables


def test_a_warm_up_is_bounded(outcomes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handles, "WARM_UP_GRACE_SECONDS", 0.5)
    first, second = (each.record for each in outcomes(["sleep-always", "sleep-always"], Limits(seconds=0.1)))
    assert first.status == second.status == "timeout"
    assert first.reason.startswith("still warming up on a few rows, before training, after 0.6 seconds")


def test_a_stopped_worker_is_ended(outcomes) -> None:
    (only,) = (each.record for each in outcomes(["stop"], Limits(seconds=0.5)))
    assert only.status == "timeout"


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@pytest.mark.skipif(not system.LINUX, reason="elsewhere a process can leave its group unseen")
@pytest.mark.parametrize(
    ("how", "status", "reason"),
    [
        ("leave-behind", "done", "left running, ended by mpu-bench: 1 processes"),
        ("leave-and-die", "crashed", "its process ended with exit code 5"),
        ("kill-supervisor", "crashed", "its process was ended by SIGKILL from outside"),
    ],
)
def test_no_process_escapes(outcomes, tmp_path: Path, how: str, status: str, reason: str) -> None:
    (only,) = (each.record for each in outcomes([f"{how}, gate: {tmp_path / 'pid'}"]))
    assert (only.status, only.reason[: len(reason)]) == (status, reason)
    pid, until = int((tmp_path / "pid").read_text(encoding="utf-8")), time.monotonic() + 60
    while is_alive(pid) and time.monotonic() < until:  # what is killed takes a moment to be gone
        time.sleep(0.05)
    assert not is_alive(pid)


@pytest.mark.skipif(not system.LINUX, reason="elsewhere what processes share is not known")
def test_the_limit_of_memory_holds_for_all_that_a_solver_starts(outcomes) -> None:
    (only,) = (each.record for each in outcomes(["eat-memory-elsewhere"], Limits(memory=900_000_000)))
    assert only.status == "out-of-memory"


def test_odd_ends_have_their_cause(outcomes) -> None:
    hows = ["thread", "rubbish", "forge", "segfault", "close"]
    thread, rubbish, forged, fault, closed = (each.record for each in outcomes(hows))
    assert (thread.status, thread.reason) == ("done", "left running, ended by mpu-bench: 1 threads")
    assert (rubbish.status, rubbish.reason[:39]) == ("error", "its process sent what no worker sends: ")
    assert (forged.status, forged.reason) == (
        "error",
        "its process sent what no worker sends: a record of no run",
    )
    assert (fault.status, fault.reason) == ("crashed", "its process was ended by SIGSEGV")
    assert (closed.status, closed.reason[:40]) == ("crashed", "it closed its connection to mpu-bench; a")


def test_what_a_solver_prints_is_seen_without_its_last_line_end_and_where_it_crashes(
    outcomes, capfd: pytest.CaptureFixture[str]
) -> None:
    outcomes(["print"])
    assert "printed without an end" in capfd.readouterr().err
    outcomes(["print-and-crash"])
    assert "printed before a crash" in capfd.readouterr().err


def test_what_a_run_prints_is_shown_up_to_a_bound(outcomes, capfd: pytest.CaptureFixture[str]) -> None:
    first, _ = (each.record.status for each in outcomes(["print-much", "print"]))
    shown = capfd.readouterr().err
    assert first == "done"
    assert process.MAX_OUTPUT_BYTES < len(shown) < process.MAX_OUTPUT_BYTES + 10_000
    assert shown.count("prints more than 1 MB; the rest is not shown") == 1
    assert "printed without an end" in shown  # of the run after it


def test_a_run_over_its_seconds_tells_what_it_has_used(outcomes) -> None:
    turned, stood = (each.record for each in outcomes(["turn", "sleep"], Limits(seconds=2)))
    assert turned.status == stood.status == "timeout"
    for record in (turned, stood):
        assert 0.5 < record.train_seconds < 60
        assert 30 < record.peak_memory_mb < 3000
    assert turned.cpu_seconds > 0.1 > stood.cpu_seconds


def test_evaluating_a_model_is_bounded_by_no_seconds_of_training(outcomes) -> None:
    more = "checkpoints: {first: 0.01, per_decade: 20}\n"
    (only,) = outcomes(["finish, look: 0.1"], Limits(seconds=1.5), more)
    assert only.record.status == "done"
    assert 0.1 * len(only.checkpoints) > 1.5


@pytest.mark.skipif(not system.LINUX, reason="elsewhere there is no supervisor")
def test_a_run_goes_on_after_all_its_processes_were_stopped(
    tmp_path: Path, shared_home: DataDirectory, pool: LocalPool
) -> None:
    """As a batch system suspends a job: the supervisor's wait ends early then, and seconds have gone by."""
    path = tmp_path / "tried.yaml"
    path.write_text(
        f"name: tried\ndataset: {{checkerboard: {{rows: 300, test_rows: 50}}}}\nplugins: [{PLUGIN}]\n"
        f"solvers: [misbehaving: {{how: wait, gate: {tmp_path / 'gate'}}}]\n",
        encoding="utf-8",
    )
    (run,) = plan.plan(read_config(path))
    pool.submit(Task(str(run), run, shared_home, Limits(seconds=3)))
    (busy,) = [each for each in pool._workers if each.task is not None]
    is_training: list[bool] = []
    while not is_training:
        assert pool.look(lambda _, news: is_training.append(True) if news == Phase("training") else None) is None
    all_of_it = [busy.process.pid, *system.descendants(busy.process.pid)]
    for signal_number in (signal.SIGSTOP, signal.SIGCONT):
        for pid in all_of_it:
            os.kill(pid, signal_number)
        if signal_number == signal.SIGSTOP:
            time.sleep(4)  # the wait of a supervisor, and the limit, are shorter
    (tmp_path / "gate").touch()
    outcome = pool.next_outcome(lambda *_: None)
    assert (outcome.record.status, outcome.record.reason) == ("done", "")


def test_a_worker_imports_nothing_from_the_current_folder(tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('this is not what was meant')", encoding="utf-8")
    command = supervisor.command(0, 0, "json:loads", [])
    python = command[: command.index("-c")]
    assert subprocess.run([*python, "-c", "import json"], cwd=tmp_path, check=False).returncode == 0
