"""From a plan to a store: what others need comes first, what is known is kept, what fails is a row."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from mpu_bench.data.cards import catalog
from mpu_bench.data.download.cache import DataHome
from mpu_bench.data.prepare.load import load_problem
from mpu_bench.experiment import plan, runner
from mpu_bench.experiment.messages import Task
from mpu_bench.experiment.pool import Outcome, Pool
from mpu_bench.experiment.runner import PlannedRun
from mpu_bench.quantities import CHECKPOINT_COLUMNS
from mpu_bench.results.store import Store

OPTIMUM = "optimum: true\n"
SMALL = "name: tried\ndataset: {digits: {positive: ['8'], split: {train: 300, seed: 0}}}\n"
GAUSSIAN = SMALL + "kernel: {gaussian: {sigma2: 500}}\n"
DERIVED = "{sbp: {nu: {from-regularization: {over-examples: 0.5}}, passes: 1}}"


class MadeUpPool(Pool):
    """Ends tasks in an order that a test chooses, with made-up results."""

    def __init__(self, jobs: int, ends: dict[str, int] | None = None) -> None:
        self.jobs, self.ends = jobs, ends or {}
        self.unprepared: dict[str, str] = {}  #: why a dataset cannot be had, by its name
        self.failing: dict[str, str] = {}  #: the status of a solver's runs, "done" by default
        self.value = 1.0  #: of everything that is measured
        self.under_way: list[Task] = []
        self.log: list[str] = []
        self.fastest_probes: list[float] = []
        self.closed = False

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
        values = dict.fromkeys(CHECKPOINT_COLUMNS, self.value)
        if (status := self.failing.get(task.run.solver.name)) is not None:
            return Outcome(task, {"status": status, "reason": "on purpose"}, [])
        return Outcome(task, {"status": "done", "reason": "", **values}, [values])

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
    assert {record["status"] for record in records} <= {"done", "stopped"}
    assert [record["solver"] for record in records] == ["optimum", "optimum", "dcd", "dcd", "mpu", "perceptron"]
    for record in records[:2]:
        assert 0 <= record["gap"] <= 1e-8
    for record in records[2:5]:
        assert record["suboptimality"] >= 0
        assert record["suboptimality"] <= record["gap"] + 1e-8
    assert records[5]["suboptimality"] is None


def test_suboptimality_ends_a_run(execute) -> None:
    (_, record), _ = execute(OPTIMUM + "solvers: [{dcd: {tolerance: 1.0e-9}}]\nstop: {suboptimality: 0.01}\n")
    assert (record["status"], record["reason"]) == ("stopped", "suboptimality 0.01")
    assert 0 <= record["suboptimality"] <= 0.01


def test_the_optimum_of_a_chosen_run_is_found_too_and_no_other(execute) -> None:
    records, _ = execute(OPTIMUM + "solvers: [{dcd: {C: [0.1, 1]}}, {mpu: {C: 1}}]", ["solver=mpu"])
    states = [(record["solver"], record["status"]) for record in records]
    assert states.count(("optimum", "done")) == 1
    assert states.count(("optimum", "not run")) == 1
    assert ("mpu", "done") in states
    assert ("dcd", "done") not in states


def test_an_optimum_of_another_experiment_is_not_computed_again(execute, monkeypatch: pytest.MonkeyPatch) -> None:
    first, _ = execute(OPTIMUM + "solvers: [dcd]")
    monkeypatch.setattr("mpu_bench.experiment.pool.local.LocalPool.submit", lambda *_: pytest.fail("computed again"))
    second, _ = execute(OPTIMUM + "solvers: [dcd]", folder="others", filters=["solver=optimum"])
    assert second[0]["objective"] == first[0]["objective"]
    assert second[0]["train_seconds"] == first[0]["train_seconds"]


def test_a_damaged_kept_optimum_is_computed_again(execute, tmp_path: Path) -> None:
    execute(OPTIMUM + "solvers: [dcd]")
    (kept,) = (tmp_path / "home" / "optima").iterdir()
    kept.write_text("{", encoding="utf-8")
    records, _ = execute(OPTIMUM + "solvers: [dcd]", folder="others")
    assert records[0]["status"] == "done"
    assert json.loads(kept.read_text(encoding="utf-8"))["record"]["status"] == "done"


def test_the_same_data_under_two_labels_are_run_once(execute) -> None:
    head = "name: twice\ndatasets: [{digits: {positive: ['8']}}, {digits: {positive: ['8'], as: again}}]\n"
    records, done = execute(head + "solvers: [dcd]\n")
    assert len(done) == 1
    assert [record["dataset"] for record in records] == ["digits", "again"]
    assert records[0]["objective"] == records[1]["objective"]


def test_an_unprepared_dataset_is_inspected_without_being_touched(tmp_path: Path, read) -> None:
    home = DataHome(tmp_path / "home", offline=True)
    (planned,) = runner.inspect(plan.plan(read("name: tried\ndataset: adult\nsolvers: [dcd]\n")), home)
    assert [file.name for file in planned.description.missing] == ["a9a", "a9a.t"]
    assert not home.folder.exists()


def test_only_the_data_of_the_chosen_runs_are_fetched(execute) -> None:
    head = "name: tried\ndatasets: [adult, {digits: {positive: ['8']}}]\n" + OPTIMUM
    records, _ = execute(head + "solvers: [dcd]\n", ["dataset=digits"])
    states = [(record["dataset"], record["status"]) for record in records]
    assert states == [("adult", "not run")] * 2 + [("digits", "done")] * 2


def test_kernel_svms_are_set_against_the_optimum_of_their_own_problem(execute) -> None:
    one = "{regularization: {over-examples: 0.5}"
    records, _ = execute(
        f"{GAUSSIAN}{OPTIMUM}solvers: [{{sdca: {one}}}}}, {{pegasos-kernel: {one}}}}}, {{smo: {{C: 2}}}}, "
        f"{{smo: {one}, bias: true}}}}, {{libsvm: {{C: 2}}}}, {{rff: {one}, pairs: 4}}}}]\n"
    )
    solvers = ["kernel-optimum", "kernel-optimum", "sdca", "pegasos-kernel", "smo", "smo", "libsvm", "rff"]
    assert [record["solver"] for record in records] == solvers
    unbiased, biased, sdca, pegasos, smo, with_bias, libsvm, rff = records
    assert unbiased["objective"] > 1.001 * biased["objective"]
    for record in (sdca, smo, with_bias, libsvm):
        assert -1e-9 <= record["suboptimality"] <= record["gap"] + 1e-4
    assert pegasos["suboptimality"] > 0
    assert rff["suboptimality"] is None
    for record, optimum in ((smo, unbiased), (with_bias, biased), (libsvm, biased)):
        assert record["nu"] == pytest.approx(optimum["nu"], rel=1e-2)


def test_nu_is_that_of_the_optimum_which_has_a_row_of_its_own(execute, monkeypatch: pytest.MonkeyPatch) -> None:
    text = f"{GAUSSIAN}solvers: [{DERIVED}]"
    (optimum, sbp), _ = execute(text)
    assert optimum["solver"] == "kernel-optimum"
    assert sbp["nu"] == optimum["nu"] > 0
    assert sbp["reason"] == f"nu {sbp['nu']:.6g} derived in {optimum['train_seconds']:.3g} s, not counted"
    monkeypatch.setattr("mpu_bench.experiment.pool.local.LocalPool.submit", lambda *_: pytest.fail("derived again"))
    execute(text, folder="others", filters=["solver=kernel-optimum"])
    (_, again), _ = execute(text)
    assert again["run_id"] == sbp["run_id"]


def test_a_run_gets_a_part_of_the_seconds_of_a_peer(execute) -> None:
    stop = "stop: {seconds_of: {solver: libsvm, factor: 0.25}}\n"
    text = f"{GAUSSIAN}{stop}solvers: [libsvm, {{sbp: {{nu: 0.1, passes: 1000000}}}}]\n"
    (libsvm, sbp), _ = execute(text, ["solver=sbp"])
    part = 0.25 * libsvm["train_seconds"]
    assert libsvm["status"] == "done"
    assert sbp["status"] == "stopped"
    assert sbp["reason"] == f"seconds {part:g}; 0.25 of the {libsvm['train_seconds']:.4g} s of libsvm"
    assert sbp["train_seconds"] >= part


def test_a_run_that_lacks_what_it_needs_is_a_row_that_says_so(execute, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "optimum_of", lambda _run: None)
    kernel = "{polynomial: {degree: 300, scale: 1000}}"
    stop = "stop: {seconds_of: {solver: libsvm, factor: 0.25}}\n"
    text = f"{GAUSSIAN}{stop}solvers: [{{libsvm: {{kernel: {kernel}}}}}, {{sbp: {{nu: 0.1, kernel: {kernel}}}}}]\n"
    records, _ = execute(text)
    assert [record["status"] for record in records] == ["error", "error"]
    assert records[1]["reason"] == "needs train_seconds of libsvm, which failed"


def planned_of(*keys: str) -> list[PlannedRun]:
    return [PlannedRun(None, None, key) for key in keys]


NEEDS = {"optimum": {}, "peer": {"optimum": "optimum"}, "timed": {"seconds": "peer"}, "alone": {}}


def test_what_a_chosen_run_needs_is_wanted_too() -> None:
    assert runner.with_needed(["timed"], NEEDS) == {"timed", "peer", "optimum"}
    assert runner.with_needed(["alone"], NEEDS) == {"alone"}


def test_what_is_done_is_left_out_and_so_is_what_would_be_done_twice() -> None:
    planned = planned_of("optimum", "peer", "alone", "peer", "timed")
    missing = runner.filter_already_run(planned, {"peer", "timed", "optimum"}, {"optimum"})
    assert missing == [planned[1], planned[4]]


def test_runs_are_ordered_by_what_they_need() -> None:
    assert list(runner.order(["timed", "peer", "optimum"], NEEDS).static_order()) == ["optimum", "peer", "timed"]
    assert set(runner.order(["timed", "alone"], NEEDS).static_order()) == {"timed", "alone"}  # the others are there


def run_made_up(tmp_path: Path, read, pool: Pool, text: str) -> None:
    experiment = read(text)
    runs = plan.plan(experiment)
    home = DataHome(tmp_path / "home", offline=True)
    runner.execute(experiment, runs, runs, home, tmp_path / "results", pool, runner.Listener())


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


def test_a_run_learns_of_the_fastest_probe_of_this_machine(tmp_path: Path, read) -> None:
    pool, text = MadeUpPool(1), SMALL + "solvers: [dcd]\n"
    run_made_up(tmp_path, read, pool, text)
    with Store(tmp_path / "results") as store:
        (record,), (machine,) = store.records(), store.environments()
        store.save(record | {"probe_seconds": 0.016}, [], machine)
    run_made_up(tmp_path, read, pool, text.replace("[dcd]", "[dcd, liblinear]"))
    assert pool.fastest_probes == [math.inf, 0.016]


def test_a_run_carries_what_tells_whether_it_was_disturbed(execute) -> None:
    (record,), _ = execute(SMALL + "solvers: [dcd]\n")
    assert record["threads"] == 1
    assert 1e-3 < record["probe_seconds"] < 1
    counted = [record[name] for name in ("waiting_seconds", "steal_seconds", "involuntary_switches", "load")]
    assert all(number is None or number >= 0 for number in counted)
    assert record["disturbed"] is None or "seconds" in record["disturbed"] or "slower" in record["disturbed"]
    assert 0 < record["constant_error"] <= 0.5
    assert 0 <= record["balanced_error"] <= 0.5
    assert 0 <= record["positives_found"] <= 1


def test_an_exception_ends_what_is_under_way(tmp_path: Path, read, monkeypatch: pytest.MonkeyPatch) -> None:
    pool = MadeUpPool(2)
    monkeypatch.setattr(Store, "save", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        run_made_up(tmp_path, read, pool, SMALL + "solvers: [dcd, perceptron, liblinear]\n")
    assert pool.closed
