"""From a plan to a store: what others need comes first, what is known is kept, what fails is a row."""

from __future__ import annotations

import json
import math
import re
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from mpu_bench import solvers
from mpu_bench.data.cards import catalog
from mpu_bench.data.download.progress import Lines
from mpu_bench.data.prepare.load import load_problem
from mpu_bench.experiment import machine_code, plan, runner
from mpu_bench.experiment.messages import Task
from mpu_bench.experiment.optima import OptimaCache
from mpu_bench.experiment.options import RunOptions
from mpu_bench.experiment.outlook import Outlook
from mpu_bench.experiment.pool import Outcome, Pool
from mpu_bench.quantities import CHECKPOINT_COLUMNS, Record, RunStatus
from mpu_bench.report import csv_files
from mpu_bench.results.folder import open_results
from mpu_bench.results.rows import record_of
from mpu_bench.results.store import FILE, Store

OPTIMUM = "optimum: true\n"
SMALL = "name: tried\ndataset: {digits: {positive: ['8'], split: {train: 300, seed: 0}}}\n"
SAME_FOR_ANY_THREADS = (
    *("status", "reason", "objective", "dual_objective", "test_error", "train_error", "support_vectors", "updates"),
    *("passes", "kernel_evaluations", "kernel_computed"),
)
GAUSSIAN = SMALL + "kernel: {gaussian: {sigma2: 500}}\n"
DERIVED = "{sbp: {nu: {from-regularization: {over-examples: 0.5}}, passes: 1}}"


class MadeUpPool(Pool):
    """Ends tasks in an order that a test chooses, with made-up results."""

    def __init__(self, jobs: int, ends: dict[str, int] | None = None) -> None:
        self.jobs, self.ends = jobs, ends or {}
        self.unprepared: dict[str, str] = {}  #: why a dataset cannot be had, by its name
        self.failing: dict[str, str] = {}  #: the status of a solver's runs, "done" by default
        self.failing_parameters: dict[str, float] = {}  #: with which runs diverge
        self.value: object = 1.0  #: of everything that is measured
        self.under_way: list[Task] = []
        self.log: list[str] = []
        self.fastest_probes: list[float] = []
        self.probe_seconds: float | None = None
        self.closed = False
        self.prompted = 0  #: how often it was told to get ready

    def get_ready(self) -> None:
        self.prompted += 1

    def compile_ahead(self, tasks: Sequence[Task], say: Callable[[str], object]) -> None:
        assert all(task.only_compiles for task in tasks)
        self.log += [f"compiles {task.run.solver.name}" for task in tasks]

    @property
    def has_room(self) -> bool:
        return len(self.under_way) < self.jobs

    def submit(self, task: Task) -> None:
        assert self.has_room
        self.log.append(f"begins {task.run.solver.name}")
        self.fastest_probes.append(task.fastest_probe)
        self.under_way.append(task)

    def next_outcome(self, on_news) -> Outcome:
        assert self.under_way
        task = min(self.under_way, key=lambda each: self.ends.get(each.run.solver.name, 0))
        self.under_way.remove(task)
        self.log.append(f"ends {task.run.solver.name}")
        values = dict.fromkeys(CHECKPOINT_COLUMNS, self.value) | {"gap": 0.0}
        point = record_of(values)
        status = self.failing.get(task.run.solver.name)
        if any(task.run.solver.parameters.get(name) == value for name, value in self.failing_parameters.items()):
            status = "diverged"
        if status is not None:
            return Outcome(task, Record(status=RunStatus(status), reason="on purpose"), [])
        return Outcome(task, replace(point, status=RunStatus.DONE, probe_seconds=self.probe_seconds), [point])

    def prepare(self, name, options, home, limits, progress) -> str:
        self.log.append(f"prepares {name}")
        if name in self.unprepared:
            return self.unprepared[name]
        load_problem(catalog.card(name, options), home)
        return ""

    def use_threads(self, threads: int) -> None:
        pass

    def close(self) -> None:
        self.closed = True


def test_every_linear_objective_is_set_against_the_optimum_of_its_own_problem(execute) -> None:
    C = "[0.1, {over-examples: 100}]"
    records, _ = execute(OPTIMUM + f"solvers: [{{dcd: {{C: {C}, tolerance: 0.1}}}}, {{mpu: {{C: 0.1}}}}, perceptron]")
    assert {record.status for record in records} <= {"done", "stopped"}
    assert [record.solver for record in records] == ["optimum", "optimum", "dcd", "dcd", "mpu", "perceptron"]
    for record in records[:2]:
        assert 0 <= record.gap <= 1e-8
    for record in records[2:5]:
        assert record.suboptimality >= 0
        assert record.suboptimality <= record.gap + 1e-8
    assert records[5].suboptimality is None


def test_suboptimality_ends_a_run(execute) -> None:
    (_, record), _ = execute(OPTIMUM + "solvers: [{dcd: {tolerance: 1.0e-9}}]\nstop: {suboptimality: 0.01}\n")
    assert (record.status, record.reason) == ("stopped", "suboptimality 0.01")
    assert 0 <= record.suboptimality <= 0.01


def test_the_optimum_of_a_chosen_run_is_found_too_and_no_other(execute) -> None:
    records, _ = execute(OPTIMUM + "solvers: [{dcd: {C: [0.1, 1]}}, {mpu: {C: 1}}]", ["solver=mpu"])
    states = [(record.solver, record.status) for record in records]
    assert states.count(("optimum", "done")) == 1
    assert states.count(("optimum", "not run")) == 1
    assert ("mpu", "done") in states
    assert ("dcd", "done") not in states


def test_an_optimum_of_another_experiment_is_not_computed_again(execute, monkeypatch: pytest.MonkeyPatch) -> None:
    first, _ = execute(OPTIMUM + "solvers: [dcd]")
    monkeypatch.setattr("mpu_bench.experiment.pool.local.LocalPool.submit", lambda *_: pytest.fail("computed again"))
    second, _ = execute(OPTIMUM + "solvers: [dcd]", folder="others", filters=["solver=optimum"])
    assert second[0].objective == first[0].objective
    assert second[0].train_seconds == first[0].train_seconds


def test_a_damaged_kept_optimum_is_computed_again(execute, tmp_path: Path) -> None:
    right, _ = execute(OPTIMUM + "solvers: [dcd]")
    (kept,) = (tmp_path / "home" / "optima").iterdir()
    whole = json.loads(kept.read_text(encoding="utf-8"))
    whole["record"]["dual_objective"] *= 1.01
    for number, damaged in enumerate(("{", json.dumps(whole))):
        kept.write_text(damaged, encoding="utf-8")
        records, _ = execute(OPTIMUM + "solvers: [dcd]", folder=f"others {number}")
        assert records[0].status == "done"
        assert records[1].suboptimality == right[1].suboptimality
    assert json.loads(kept.read_text(encoding="utf-8"))["record"]["status"] == "done"


def test_the_same_data_under_two_labels_are_run_once(execute) -> None:
    head = "name: twice\ndatasets: [{digits: {positive: ['8']}}, {digits: {positive: ['8'], as: again}}]\n"
    records, done = execute(head + "solvers: [dcd]\n")
    assert len(done) == 1
    assert [record.dataset for record in records] == ["digits", "again"]
    assert records[0].objective == records[1].objective


def test_only_the_data_of_the_chosen_runs_are_fetched(execute) -> None:
    head = "name: tried\ndatasets: [adult, {digits: {positive: ['8']}}]\n" + OPTIMUM
    records, _ = execute(head + "solvers: [dcd]\n", ["dataset=digits"])
    states = [(record.dataset, record.status) for record in records]
    assert states == [("adult", "not run")] * 2 + [("digits", "done")] * 2


def test_kernel_svms_are_set_against_the_optimum_of_their_own_problem(execute) -> None:
    one = "{regularization: {over-examples: 0.5}"
    records, _ = execute(
        f"{GAUSSIAN}{OPTIMUM}solvers: [{{sdca: {one}}}}}, {{pegasos-kernel: {one}}}}}, {{smo: {{C: 2}}}}, "
        f"{{smo: {one}, bias: true}}}}, {{libsvm: {{C: 2}}}}, {{rff: {one}, pairs: 4}}}}]\n"
    )
    solvers = ["kernel-optimum", "kernel-optimum", "sdca", "pegasos-kernel", "smo", "smo", "libsvm", "rff"]
    assert [record.solver for record in records] == solvers
    unbiased, biased, sdca, pegasos, smo, with_bias, libsvm, rff = records
    assert unbiased.objective > 1.001 * biased.objective
    for record in (sdca, smo, with_bias, libsvm):
        assert -1e-9 <= record.suboptimality <= record.gap + 1e-4
    assert pegasos.suboptimality > 0
    assert rff.suboptimality is None
    for record, optimum in ((smo, unbiased), (with_bias, biased), (libsvm, biased)):
        assert record.nu == pytest.approx(optimum.nu, rel=1e-2)


def test_nu_is_that_of_the_optimum_which_has_a_row_of_its_own(execute, monkeypatch: pytest.MonkeyPatch) -> None:
    text = f"{GAUSSIAN}solvers: [{DERIVED}]"
    (optimum, sbp), _ = execute(text)
    assert optimum.solver == "kernel-optimum"
    assert sbp.nu == optimum.nu > 0
    assert sbp.reason == f"nu {sbp.nu:.6g} derived in {optimum.train_seconds:.3g} s, not counted"
    monkeypatch.setattr("mpu_bench.experiment.pool.local.LocalPool.submit", lambda *_: pytest.fail("derived again"))
    execute(text, folder="others", filters=["solver=kernel-optimum"])
    (_, again), _ = execute(text)
    assert again.run_id == sbp.run_id


def test_a_run_gets_a_part_of_the_seconds_of_a_peer(execute) -> None:
    stop = "stop: {seconds_of: {solver: libsvm, factor: 0.25}}\n"
    text = f"{GAUSSIAN}{stop}solvers: [libsvm, {{sbp: {{nu: 0.1, passes: 1000000}}}}]\n"
    (libsvm, sbp), _ = execute(text, ["solver=sbp"])
    part = 0.25 * libsvm.train_seconds
    assert libsvm.status == "done"
    assert sbp.status == "stopped"
    assert sbp.reason == f"seconds {part:g}; 0.25 of the {libsvm.train_seconds:.4g} s of libsvm"
    assert sbp.train_seconds >= part


def test_a_run_that_lacks_what_it_needs_is_a_row_that_says_so(execute, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "optimum_of", lambda _run: None)
    kernel = "{polynomial: {degree: 100, scale: 1.0e+9}}"
    stop = "stop: {seconds_of: {solver: libsvm, factor: 0.25}}\n"
    text = f"{GAUSSIAN}{stop}solvers: [{{libsvm: {{kernel: {kernel}}}}}, {{sbp: {{nu: 0.1, kernel: {kernel}}}}}]\n"
    records, _ = execute(text)
    assert [record.status for record in records] == ["error", "error"]
    assert records[1].reason == "needs train_seconds of libsvm, which failed"


def run_made_up(
    tmp_path: Path, read, pool: Pool, text: str, filters: Sequence[str] = (), *, force=False, notes=None
) -> bool:
    """Execute a config by a made-up pool and return whether all chosen runs have a result."""
    experiment = read(text)
    runs = plan.plan(experiment)
    options = RunOptions(results=tmp_path / "results", data=tmp_path / "home", offline=True, force=force)
    listener = runner.Listener(Lines(lambda _line: None) if notes is None else Lines(notes.append))
    chosen = plan.only(runs, filters) if filters else runs
    return runner.execute(runner.ChosenRuns(experiment, runs, chosen, options), pool, listener)


def test_what_has_ended_is_stored_whatever_interrupts_the_next_run(tmp_path: Path, read) -> None:
    class Interrupted(MadeUpPool):
        def submit(self, task: Task) -> None:
            if any(word.startswith("ends") for word in self.log):
                raise KeyboardInterrupt
            super().submit(task)

    with pytest.raises(KeyboardInterrupt):
        run_made_up(tmp_path, read, Interrupted(1), SMALL + "solvers: [dcd, perceptron]\n")
    with Store(folder_of(tmp_path)) as store:
        assert [run.status for run in store.records()] == ["done", "not run"]


def test_a_solver_that_is_not_installed_needs_neither_data_nor_other_runs(
    tmp_path: Path, read, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "datasets").mkdir()
    (tmp_path / "datasets" / "carded.yaml").write_text(
        "title: Mine\nkind: svmlight\nfiles: {carded.svm: {urls: 'http://127.0.0.1:9/carded.svm'}}\n"
        "train: carded.svm\nsplit: {train: 150, seed: 0}\nclasses: ['-1', '1']\nfeatures: 3\n"
        "expect: {total: {rows: 200}}\n",
        encoding="utf-8",
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(solvers, "not_installed", lambda name: "it is not installed" if name == "mpu" else "")
    text, pool = "name: tried\ndataset: carded\noptimum: true\nsolvers: [mpu, dcd]\n", MadeUpPool(1)
    assert not run_made_up(tmp_path, read, pool, text, ["solver=mpu"])
    assert pool.log == []
    with Store(folder_of(tmp_path)) as store:
        assert {run.solver: run.status for run in store.records()}["mpu"] == "unavailable"
    experiment = read(text)
    runs = plan.plan(experiment)
    options = RunOptions(results=tmp_path / "others", data=tmp_path / "home", offline=True)
    chosen = runner.ChosenRuns(experiment, runs, plan.only(runs, ["solver=mpu"]), options)
    assert [run.run.solver.name for run in Outlook.of(chosen).runs] == ["mpu"]


def folder_of(tmp_path: Path) -> Path:
    """Return the results folder of the one experiment."""
    (folder,) = (tmp_path / "results").iterdir()
    return folder


@pytest.mark.parametrize("jobs", [1, 2, 3])
def test_a_run_starts_as_soon_as_what_it_needs_is_there(tmp_path: Path, read, jobs: int) -> None:
    pool = MadeUpPool(jobs, ends={"mpu": 9})  # mpu takes longest
    stop = "stop: {seconds_of: {solver: liblinear, factor: 0.5}}\n"
    run_made_up(tmp_path, read, pool, f"{SMALL}{stop}solvers: [{{mpu: {{C: 1}}}}, liblinear, dcd]\n")
    begun = {word: place for place, word in enumerate(pool.log)}
    assert begun["ends liblinear"] < begun["begins dcd"]
    assert begun["ends liblinear"] < begun["begins mpu"]
    assert len([word for word in pool.log if not word.startswith("prepares")]) == 6
    if jobs > 1:
        assert begun["begins dcd"] < begun["ends mpu"]


def test_workers_start_while_runs_are_planned_and_not_where_there_is_nothing_to_do(tmp_path: Path, read) -> None:
    text = SMALL + "solvers: [dcd]\n"
    for pool, is_prompted in (MadeUpPool(1), True), (MadeUpPool(1), False):
        run_made_up(tmp_path, read, pool, text)
        assert bool(pool.prompted) == is_prompted


def test_code_of_several_kinds_is_compiled_ahead(tmp_path: Path, read, monkeypatch: pytest.MonkeyPatch) -> None:
    known: set[str] = set()
    monkeypatch.setattr(machine_code, "is_compiled", known.__contains__)
    text, notes = SMALL + f"solvers: [{{dcd: {{C: [1, 2.5]}}}}, mpu, liblinear, {DERIVED}]\n", list[str]()

    def compiled() -> list[str]:
        pool = MadeUpPool(1)
        run_made_up(tmp_path, read, pool, text, force=True, notes=notes)
        return [word for word in pool.log if word.startswith("compiles")]

    assert compiled() == ["compiles kernel-optimum", "compiles dcd", "compiles mpu"]  # nu is not known yet
    assert notes == []  # what compiles says so: a cluster does not
    known |= {machine_code.code_of(run, "dense") for run in plan.plan(read(text)) if run.solver.name != "mpu"}
    assert compiled() == []  # its run compiles what is of one kind


@pytest.mark.parametrize(
    ("change", "known"),
    [({}, 0.016), ({"id": "x", "commit": "another"}, 0.016), ({"id": "x", "memory_gb": 0.5}, math.inf)],
)
def test_a_run_learns_of_the_fastest_probe_of_this_machine(tmp_path: Path, read, change, known: float) -> None:
    pool, text = MadeUpPool(1), SMALL + "solvers: [dcd]\n"
    run_made_up(tmp_path, read, pool, text)
    with Store(folder_of(tmp_path)) as store:
        (record,), (machine,) = store.records(), store.environments()
        store.save(replace(record, probe_seconds=0.016, machine=None), [], machine | change)
    pool.probe_seconds = 0.008
    run_made_up(tmp_path, read, pool, text.replace("[dcd]", "[dcd, liblinear, mpu]"))
    assert pool.fastest_probes == [math.inf, known, 0.008]


def test_a_run_carries_what_tells_whether_it_was_disturbed(execute) -> None:
    (record,), _ = execute(SMALL + "solvers: [dcd]\n")
    assert record.threads == 1
    assert 1e-3 < record.probe_seconds < 1
    counted = [record.value(name) for name in ("waiting_seconds", "steal_seconds", "involuntary_switches", "load")]
    assert all(number is None or number >= 0 for number in counted)
    assert record.disturbed is None or re.search("seconds|slower|longer", record.disturbed)
    assert 0 < record.constant_error <= 0.5
    assert 0 <= record.balanced_error <= 0.5
    assert 0 <= record.positives_found <= 1


@pytest.mark.parametrize("threads", [2, 3])
def test_several_threads_come_to_the_results_of_one(execute, by_rows: str, threads: int) -> None:
    alone, _ = execute(by_rows, folder="one")
    together, _ = execute(f"threads: {threads}\n{by_rows}", folder="several")
    assert [[record.value(name) for name in SAME_FOR_ANY_THREADS] for record in together] == [
        [each.value(name) for name in SAME_FOR_ANY_THREADS] for each in alone
    ]
    assert {record.threads for record in together} == {threads}
    assert {record.threads for record in alone} == {1}
    assert all(record.kernel_computed > 0 and "threads" not in (record.reason or "") for record in together)


def test_an_exception_ends_what_is_under_way(tmp_path: Path, read, monkeypatch: pytest.MonkeyPatch) -> None:
    pool = MadeUpPool(2)
    monkeypatch.setattr(Store, "save", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        run_made_up(tmp_path, read, pool, SMALL + "solvers: [dcd, perceptron, liblinear]\n")
    assert pool.closed


TUNED = (
    "name: tuned\ndataset: {digits: {positive: ['8'], split: {train: 300, seed: 0}}}\noptimum: true\nsolvers:\n"
    "  - mpu: {C: 1}\n  - dcd: {tune: {C: [0.1, 1], holdout: 0.3}}\n"
)


def statuses(tmp_path: Path) -> dict[str, list[str]]:
    """List what became of the planned runs, by solver; trials apart."""
    found: dict[str, list[str]] = {}
    with Store(folder_of(tmp_path)) as store:
        for record in store.records():
            found.setdefault("trial" if record.trial else record.solver, []).append(record.status)
    return found


def begun(pool: MadeUpPool) -> list[str]:
    words = [word.removeprefix("begins ") for word in pool.log if word.startswith("begins")]
    pool.log.clear()
    return words


def test_a_run_without_its_optimum_is_provisional_until_there_is_one(tmp_path: Path, read) -> None:
    pool, text = MadeUpPool(1), f"{SMALL}{OPTIMUM}solvers: [{{mpu: {{C: 1}}}}, perceptron]\n"
    pool.failing = {"optimum": "crashed"}
    assert not run_made_up(tmp_path, read, pool, text)
    assert statuses(tmp_path) == {"optimum": ["crashed"], "mpu": ["provisional"], "perceptron": ["done"]}
    with Store(folder_of(tmp_path)) as store:
        row = store.records()[1]
        assert row.reason == "made without the optimum of optimum, crashed: on purpose"
        assert row.objective == 1.0
        assert len(store.finished()) == 1
    with open_results(folder_of(tmp_path)) as results:
        assert {row.solver for row in results.finished()} == {"perceptron"}
        assert {point.solver for point in results.curves} == {"perceptron"}
    assert begun(pool) == ["optimum", "mpu", "perceptron"]
    assert not run_made_up(tmp_path, read, pool, text)
    assert begun(pool) == ["optimum", "mpu"]
    pool.failing = {}
    assert run_made_up(tmp_path, read, pool, text)
    assert begun(pool) == ["optimum", "mpu"]
    assert statuses(tmp_path) == {"optimum": ["done"], "mpu": ["done"], "perceptron": ["done"]}
    assert run_made_up(tmp_path, read, pool, text)
    assert begun(pool) == []


def test_a_choice_from_fewer_values_than_asked_for_is_never_final(tmp_path: Path, read) -> None:
    pool = MadeUpPool(1)
    pool.failing_parameters = {"C": 0.1}
    for _ in range(2):
        assert not run_made_up(tmp_path, read, pool, TUNED)
        assert statuses(tmp_path)["dcd"] == ["provisional"]
        assert sorted(statuses(tmp_path)["trial"]) == ["diverged", "done"]
        with Store(folder_of(tmp_path)) as store:
            (row,) = (each for each in store.records() if each.tuned)
        assert row.reason == "1 of 2 values tried failed: diverged: on purpose"
        assert row.test_error == 1.0
    assert begun(pool)[-2:] == ["dcd", "dcd"]
    pool.failing_parameters = {}
    assert run_made_up(tmp_path, read, pool, TUNED)
    assert begun(pool) == ["dcd", "dcd"]
    assert statuses(tmp_path)["dcd"] == ["done"]


def test_what_is_made_again_makes_its_dependents_missing_again(tmp_path: Path, read) -> None:
    pool = MadeUpPool(1)
    stop = "stop: {seconds_of: {solver: liblinear, factor: 0.5}}\n"
    text = f"{SMALL}{stop}solvers: [liblinear, {{mpu: {{C: 1}}}}, dcd]\n"
    assert run_made_up(tmp_path, read, pool, text)
    pool.value = 2.0
    assert run_made_up(tmp_path, read, pool, text, ["solver=liblinear"], force=True)
    assert begun(pool)[3:] == ["liblinear"]
    assert statuses(tmp_path) == {"liblinear": ["done"], "mpu": ["provisional"], "dcd": ["provisional"]}
    with Store(folder_of(tmp_path)) as store:
        assert "made again since" in store.records()[1].reason
    assert run_made_up(tmp_path, read, pool, text)
    assert sorted(begun(pool)) == ["dcd", "mpu"]
    assert statuses(tmp_path) == {"liblinear": ["done"], "mpu": ["done"], "dcd": ["done"]}


def test_an_optimum_that_is_asked_for_later_is_set_beside_what_is_there(tmp_path: Path, read) -> None:
    pool, text = MadeUpPool(1), f"{SMALL}solvers: [{{mpu: {{C: 1}}}}, perceptron]\n"
    assert run_made_up(tmp_path, read, pool, text)
    assert begun(pool) == ["mpu", "perceptron"]
    assert run_made_up(tmp_path, read, pool, text + OPTIMUM)
    assert begun(pool) == ["optimum", "mpu"]
    assert run_made_up(tmp_path, read, pool, text)
    assert begun(pool) == []


def test_an_optimum_read_again_from_the_cache_changes_nothing(tmp_path: Path, read) -> None:
    pool, text = MadeUpPool(1), f"{SMALL}{OPTIMUM}solvers: [{{mpu: {{C: 1}}}}]\n"
    assert run_made_up(tmp_path, read, pool, text)
    assert run_made_up(tmp_path, read, pool, text, ["solver=optimum"], force=True)
    assert begun(pool) == ["optimum", "mpu"]
    assert run_made_up(tmp_path, read, pool, text)
    assert begun(pool) == []


def test_an_optimum_read_from_the_cache_was_made_on_the_machine_that_made_it(tmp_path: Path, read) -> None:
    text, another = f"{SMALL}{OPTIMUM}solvers: [{{mpu: {{C: 1}}}}]\n", {"id": "x", "processor": "another"}
    run_made_up(tmp_path, read, MadeUpPool(1), text)
    with Store(folder_of(tmp_path)) as store:
        (optimum,) = (record for record in store.records() if record.solver == "optimum")
        (_, points, _) = OptimaCache(tmp_path / "home", str).load(optimum.run_id)
    OptimaCache(tmp_path / "home", str).save(optimum.run_id, (optimum, points, another))
    folder_of(tmp_path).rename(tmp_path / "before")
    run_made_up(tmp_path, read, MadeUpPool(1), text)
    with Store(folder_of(tmp_path)) as store:
        made_on = {each["id"]: each["processor"] for each in store.environments()}
        assert made_on.pop("x") == "another"
        assert len(made_on) == 1


def test_rows_of_an_earlier_version_are_believed_where_their_sources_are_finished(tmp_path: Path, read) -> None:
    pool, text = MadeUpPool(1), f"{SMALL}{OPTIMUM}solvers: [{{mpu: {{C: 1}}}}]\n"
    assert run_made_up(tmp_path, read, pool, text)
    with closing(sqlite3.connect(folder_of(tmp_path) / FILE)) as database, database:
        database.execute("UPDATE runs SET record = json_remove(record, '$.made_from', '$.checksum')")
    begun(pool)
    assert run_made_up(tmp_path, read, pool, text)
    assert begun(pool) == []
    with closing(sqlite3.connect(folder_of(tmp_path) / FILE)) as database, database:
        crashed = "json_set(record, '$.status', 'crashed')"
        database.execute(f"UPDATE runs SET record = {crashed} WHERE record LIKE '%\"optimum\"%'")
    for kept in (tmp_path / "home" / "optima").iterdir():
        kept.unlink()
    assert run_made_up(tmp_path, read, pool, text)
    assert begun(pool) == ["optimum", "mpu"]


def test_one_dataset_that_cannot_be_had_is_its_rows_and_no_more(
    tmp_path: Path, read, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pool = MadeUpPool(1)
    pool.unprepared = {"checkerboard": "its process was ended by SIGSEGV"}
    described = plan.describe

    def describe(card, home):
        if card.name == "separable":
            raise OverflowError("date value out of range")
        return described(card, home)

    monkeypatch.setattr(plan, "describe", describe)
    datasets = "[checkerboard, separable, {digits: {positive: ['8']}}]"
    assert not run_made_up(tmp_path, read, pool, f"name: tried\ndatasets: {datasets}\nsolvers: [perceptron]\n")
    with Store(folder_of(tmp_path)) as store:
        reasons = [(row.status, row.reason) for row in store.records()]
    assert reasons == [
        ("unavailable", "its process was ended by SIGSEGV"),
        ("unavailable", "dataset separable: OverflowError: date value out of range"),
        ("done", ""),
    ]
    assert "OverflowError" in capsys.readouterr().err


def test_runs_of_a_solver_that_is_not_installed_are_unavailable_until_it_is(
    tmp_path: Path, read, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = f"{SMALL}solvers: [{{snapml-svm: {{C: [1, 2]}}}}, dcd]\n"
    reason = "snapml is not installed: pip install '.[peers]' in mpu-bench's source folder"
    missing = {"snapml-svm": reason}
    monkeypatch.setattr("mpu_bench.solvers.not_installed", lambda name: missing.get(name, ""))
    pool = MadeUpPool(1)
    assert not run_made_up(tmp_path, read, pool, text, ["solver=snapml-svm"])
    assert pool.log == []  # nor are data prepared for nothing
    assert not run_made_up(tmp_path, read, pool, text)
    assert [entry for entry in pool.log if entry.startswith("begins")] == ["begins dcd"]
    with Store(folder_of(tmp_path)) as store:
        told = {(row.solver, row.status, row.reason) for row in store.records()}
    assert told == {("snapml-svm", "unavailable", reason), ("dcd", "done", "")}
    missing.clear()
    assert run_made_up(tmp_path, read, pool, text)
    assert statuses(tmp_path) == {"snapml-svm": ["done", "done"], "dcd": ["done"]}


def test_a_cache_of_optima_that_cannot_be_used_is_a_remark(tmp_path: Path, read) -> None:
    pool, text, notes = MadeUpPool(1), f"{SMALL}{OPTIMUM}solvers: [{{mpu: {{C: 1}}}}]\n", []
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "optima").write_text("no folder", encoding="utf-8")
    assert run_made_up(tmp_path, read, pool, text, notes=notes)
    assert len([note for note in notes if "cannot be written" in note]) == 1
    assert statuses(tmp_path) == {"optimum": ["done"], "mpu": ["done"]}


def test_no_secret_and_no_home_folder_is_kept(tmp_path: Path, read, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    pool = MadeUpPool(1)
    secret = f"http://alice:hunter2@127.0.0.1: failed; {tmp_path}/a9a is no file\x1b[31m" + "x" * 20_000
    pool.unprepared = {"checkerboard": secret}
    run_made_up(tmp_path, read, pool, "name: tried\ndataset: checkerboard\nsolvers: [perceptron]\n")
    (folder := folder_of(tmp_path)).joinpath("unrelated").touch()
    with open_results(folder) as results:
        csv_files.write(results)
    for path in folder.iterdir():
        content = path.read_bytes()
        assert b"hunter2" not in content, path
        assert str(tmp_path).encode() not in content, path
        assert b"\x1b[" not in content, path
        assert len(content) < 100_000, path


def test_a_trial_whose_process_died_once_leaves_no_trace(execute, tmp_path: Path) -> None:
    plugin, gate = Path(__file__).parents[1] / "plugins" / "misbehaving.py", tmp_path / "gate"
    text = (
        f"name: tried\ndataset: {{checkerboard: {{rows: 300, test_rows: 50}}}}\nplugins: [{plugin}]\nrepeats: 2\n"
        f"solvers: [{{misbehaving: {{how: crash-once, gate: {gate}, tune: {{passes: [2, 3], holdout: 0.3}}}}}}]\n"
    )
    records, _ = execute(text)
    told = [(bool(row.trial), row.status) for row in records]
    assert told == [(True, "crashed"), (True, "done"), (False, "provisional"), (False, "provisional")]
    assert "1 of 2 values tried failed: crashed" in records[2].reason
    records, done = execute(text)
    assert len(done) == 3
    undisturbed, done = execute(text, folder="others")
    assert len(done) == 4
    assert list(map(without_seconds, records)) == list(map(without_seconds, undisturbed))


def without_seconds(row: Record) -> dict[str, object]:
    """Return a row without what differs from one undisturbed run to the next."""
    measured = ("seconds", "load", "disturbed", "involuntary_switches", "peak_memory_mb", "machine")
    return {name: value for name, value in row.known().items() if not name.endswith(measured)}
