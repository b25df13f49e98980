from __future__ import annotations

import math
import re
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mpu_bench import solvers
from mpu_bench.config.schema import Checkpoints, Stop
from mpu_bench.core.counters import PRESENTED, UNLIMITED
from mpu_bench.core.models import LinearModel
from mpu_bench.core.problem import Problem, StreamedProblem
from mpu_bench.core.rows import Dense, to_scipy
from mpu_bench.core.solver import Measures, Status
from mpu_bench.errors import SolverError
from mpu_bench.experiment import bind, trace
from mpu_bench.experiment.worker import far_note
from mpu_bench.kernels import Gaussian, Linear
from mpu_bench.quantities import RECORD_COLUMNS, Ending, Record
from mpu_bench.solvers.batch.rff import RFF
from mpu_bench.solvers.linear.dcd import DCD
from mpu_bench.solvers.multiclass import Multiclass
from mpu_bench.solvers.online.perceptron import Perceptron

PLUGIN = Path(__file__).parents[1] / "plugins" / "misbehaving.py"


@pytest.fixture(scope="module")
def problem() -> Problem:
    random = np.random.Generator(np.random.PCG64(1))
    values = random.normal(size=(300, 5)).astype(np.float32)
    labels = (values @ np.arange(1, 6) + random.normal(size=300) > 0).astype(np.int32)
    return Problem("toy", Dense(values[:200]), labels[:200], Dense(values[200:]), labels[200:], 5, ("-1", "+1"), "toy")


def run(solver, problem, stop=None, checkpoints=None):
    return trace.train(solver, problem, Linear(), 0, stop or Stop(), checkpoints or Checkpoints())


def test_a_run_ends_by_the_solvers_own_rule(problem: Problem) -> None:
    traced = run(DCD(tolerance=1e-6), problem)
    assert (traced.status, traced.reason) == ("done", "")
    last = traced.checkpoints[-1]
    assert last.gap < 1e-5
    assert last.objective >= last.dual_objective
    assert 0 <= last.test_error <= 1


def test_a_model_with_too_few_weights_is_not_evaluated(problem: Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DCD, "model", lambda _solver, _state: LinearModel(np.zeros((1, 3))))
    with pytest.raises(SolverError, match=r"dcd: model\(\).weights is .* shape \(1, 3\); .* for 5 features, 2 classes"):
        run(DCD(), problem)


@pytest.mark.parametrize("solver", [Perceptron(), RFF(regularization=0.01, pairs=4)], ids=["perceptron", "rff"])
@pytest.mark.parametrize(("shift", "is_far"), [(0.0, False), (1e13, True)])
def test_rows_that_double_precision_does_not_tell_apart_are_noted(problem, solver, shift, is_far) -> None:
    rows, kernel = Dense(problem.train.values.astype(np.float64) + shift), Gaussian(0.5)
    shifted = replace(problem, train=rows, test=rows, test_labels=problem.labels)
    traced = trace.train(solver, shifted, kernel, 0, Stop(passes=1), Checkpoints())
    assert ("far from the origin" in far_note(traced, shifted, kernel)) == is_far


def test_a_solver_is_given_no_test_rows(problem: Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    given, start = [], DCD.start

    def watched(solver, problem, *more):
        given.append(problem)
        return start(solver, problem, *more)

    monkeypatch.setattr(DCD, "start", watched)
    assert run(DCD(), problem).checkpoints[-1].test_error is not None
    assert [(each.n_test, len(each.test_labels), each.test.values.base) for each in given] == [(0, 0, None)]


def test_what_an_external_solver_does_not_count_is_no_zero(problem: Problem) -> None:
    last = run(solvers.load("liblinear")(), problem).checkpoints[-1]
    assert (last.steps, last.updates, last.kernel_computed) == (None, None, None)
    assert last.inner_products == last.presented == last.passes * problem.n > 0


def test_handing_over_the_examples_is_off_the_clock(problem: Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(rows, features):
        time.sleep(2)
        return to_scipy(rows, features)

    monkeypatch.setattr("mpu_bench.solvers.external.linear.to_scipy", slow)
    run(solvers.load("liblinear")(), problem)  # compiles, imports
    assert run(solvers.load("liblinear")(), problem).checkpoints[-1].train_seconds < 1


def test_a_peer_that_went_past_a_rule_says_so(problem: Problem) -> None:
    peer = solvers.load("liblinear")(C=1.0)
    past = run(peer, problem, Stop(seconds=1e-9))
    assert past.reason == "trains in one piece, past stop: seconds 1e-09"
    assert past.ended_by == "own rule"
    assert run(peer, problem, Stop(seconds=1e9)).reason == ""


@pytest.mark.parametrize(
    ("stop", "ended_by", "reason"),
    [
        (Stop(passes=2), "passes", "passes 2"),
        (Stop(passes=0.5), "passes", "passes 0.5"),
        (Stop(gap=0.05), "gap", "gap 0.05"),
        (Stop(seconds=1e-9), "seconds", "seconds 1e-09"),
    ],
)
def test_each_rule_of_the_config_ends_a_run(problem: Problem, stop: Stop, ended_by: str, reason: str) -> None:
    traced = run(DCD(tolerance=1e-12), problem, stop)
    assert (traced.status, traced.ended_by, traced.reason) == ("stopped", ended_by, reason)


@pytest.mark.parametrize(("above", "gap"), [(1e-3, 0.0), (1e-3, 5e-4), (0.5, 1e-9)])
def test_an_objective_below_its_optimum_ends_the_run_as_an_error_that_names_both(
    problem: Problem, above: float, gap: float
) -> None:
    best = run(DCD(tolerance=1e-9), problem).checkpoints[-1].objective
    with pytest.raises(SolverError, match=r"dcd: its objective (\S+) is below the optimum (\S+) \(gap") as fault:
        trace.train(
            DCD(tolerance=1e-9),
            problem,
            Linear(),
            0,
            Stop(),
            Checkpoints(),
            optimum=best * (1 + above),
            optimum_gap=gap,
        )
    named = [float(word) for word in re.findall(r"\d\.\d+|\d+\.\d+", str(fault.value))][:2]
    assert named[0] < named[1] == pytest.approx(best * (1 + above), rel=1e-9)


@pytest.mark.parametrize(("above", "gap"), [(1e-3, 2e-3), (1e-8, 0.0), (-1e-3, 0.0), (0.0, 0.0)])
def test_no_suboptimality_is_negative(problem: Problem, above: float, gap: float) -> None:
    best = run(DCD(tolerance=1e-9), problem).checkpoints[-1].objective
    traced = trace.train(
        DCD(tolerance=1e-9), problem, Linear(), 0, Stop(), Checkpoints(), optimum=best * (1 + above), optimum_gap=gap
    )
    assert min(point.suboptimality for point in traced.checkpoints) == pytest.approx(max(0.0, -above), rel=1e-2)


def test_an_objective_that_is_not_a_number_has_no_suboptimality(
    problem: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DCD, "measures", lambda _solver, _state: Measures(objective=math.nan))
    traced = trace.train(DCD(), problem, Linear(), 0, Stop(suboptimality=0.1), Checkpoints(), optimum=1.0)
    assert traced.status == "diverged"
    assert {point.suboptimality for point in traced.checkpoints} == {None}


def test_a_count_beyond_the_last_checkpoint_ends_the_run(problem: Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    def advance(_solver, state, _until):
        state.counters[PRESENTED] = UNLIMITED
        return Status.RUNNING

    monkeypatch.setattr(DCD, "advance", advance)
    assert run(DCD(), problem, Stop(passes=2)).ended_by == "passes"


def test_passes_are_met_to_the_example(problem: Problem) -> None:
    last = run(DCD(tolerance=1e-12), problem, Stop(passes=1.5)).checkpoints[-1]
    assert last.presented == 300
    assert last.passes == 1.5


def test_the_gap_is_certified_where_it_ends_the_run(problem: Problem) -> None:
    gaps = [point.gap for point in run(DCD(tolerance=1e-12), problem, Stop(gap=0.01)).checkpoints]
    assert gaps[-1] <= 0.01
    assert all(gap > 0.01 for gap in gaps[:-1])


def test_checkpoints_grow_geometrically_and_change_nothing(problem: Problem) -> None:
    few = run(DCD(tolerance=1e-3), problem, checkpoints=Checkpoints(first=1, per_decade=1))
    many = run(DCD(tolerance=1e-3), problem, checkpoints=Checkpoints(first=0.01, per_decade=20))
    assert len(many.checkpoints) > 2 * len(few.checkpoints)
    measured = ("objective", "dual_objective", "test_error", "presented", "updates", "inner_products")
    assert [few.checkpoints[-1].value(name) for name in measured] == [
        many.checkpoints[-1].value(name) for name in measured
    ]
    counts = [point.presented for point in many.checkpoints]
    assert counts == sorted(set(counts))
    assert np.array_equal(few.model.weights, many.model.weights)


def test_counts_and_seconds_never_fall(problem: Problem) -> None:
    points = run(DCD(tolerance=1e-6), problem).checkpoints
    for name in ("train_seconds", "cpu_seconds", "inner_products", "updates"):
        values = [point.value(name) for point in points]
        assert values == sorted(values)


def test_evaluation_is_off_the_clock(problem: Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    run(DCD(), problem)
    evaluate = trace.checkpoint

    def slow(*arguments: object) -> object:
        time.sleep(0.05)
        return evaluate(*arguments)

    monkeypatch.setattr(trace, "checkpoint", slow)
    traced = run(DCD(tolerance=1e-3), problem)
    assert len(traced.checkpoints) >= 4
    assert traced.checkpoints[-1].train_seconds < 0.05 * len(traced.checkpoints)


def test_the_processor_is_probed_before_and_after_training_off_the_clock(problem: Problem) -> None:
    for stop in (Stop(), Stop(gap=0.05), Stop(passes=2)):  # each ends at another place
        seconds = iter([1.0, 3.0])

        def probe(seconds=seconds) -> float:
            time.sleep(0.05)
            return next(seconds)

        traced = trace.train(DCD(tolerance=1e-3), problem, Linear(), 0, stop, Checkpoints(), probe=probe)
        assert traced.measured["probe_seconds"] == 3.0
        assert next(seconds, None) is None
        assert traced.checkpoints[-1].train_seconds < 0.05


def test_what_may_disturb_a_run_is_counted(problem: Problem) -> None:
    measured = run(DCD(tolerance=1e-3), problem).measured
    counted = {"system_seconds", "waiting_seconds", "steal_seconds", "involuntary_switches", "load", "probe_seconds"}
    by_class = {"constant_error", "balanced_error", "positives_found"}
    assert set(measured) == counted | by_class <= set(RECORD_COLUMNS)
    assert all(measured[name] >= 0 or np.isnan(measured[name]) for name in counted)


def test_the_test_rows_are_predicted_once_a_checkpoint(problem: Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    predict, asked = LinearModel.scores, []

    def counted(model: LinearModel, rows: object) -> object:
        asked.append(rows is problem.test)
        return predict(model, rows)

    monkeypatch.setattr(LinearModel, "scores", counted)
    traced = run(DCD(tolerance=1e-3), problem)
    assert sum(asked) == len(traced.checkpoints)
    assert traced.measured["balanced_error"] is not None


@pytest.mark.parametrize(("solver", "on_the_way"), [(DCD(C=1.0), True), (RFF(regularization=0.01, pairs=2), False)])
def test_the_training_error_is_there_at_the_end_and_before_where_it_costs_little(
    problem: Problem, solver, on_the_way: bool
) -> None:
    kernel = Linear() if on_the_way else Gaussian(0.1)
    *before, last = trace.train(solver, problem, kernel, 0, Stop(passes=3), Checkpoints()).checkpoints
    assert before
    assert all((each.train_error is not None) == on_the_way for each in before)
    assert 0 <= last.train_error <= 1


def test_a_diverged_run_says_so(problem: Problem) -> None:
    solvers.load_plugin(PLUGIN)
    traced = run(solvers.load("misbehaving")(how="not-finite"), problem)
    assert traced.status == "diverged"
    assert "finite" in traced.reason


class Odd(DCD):
    """Ends as DCD does, with something odd in its model, once it has presented enough."""

    def __init__(self, at: int, model=None, **odd) -> None:
        super().__init__(tolerance=1e-12)
        object.__setattr__(self, "at", at)
        object.__setattr__(self, "odd", odd)
        object.__setattr__(self, "odd_model", model)

    def model(self, state):
        model = super().model(state)
        if state.counters[0] < self.at:
            return model
        if self.odd_model is not None:
            return self.odd_model(model)
        return replace(model, weights=np.full_like(model.weights, self.odd["weight"]))


class Foreign:
    """A model of another class, whose scores are not finite though nothing else tells."""

    linear, support_vectors = True, 0

    def __init__(self, model: LinearModel) -> None:
        self.model = model

    def scores(self, rows):
        return np.full((len(rows.values), 1), np.nan)

    def labels(self, rows):
        return self.model.labels(rows)


@pytest.mark.parametrize("odd", [{"weight": np.nan}, {"weight": np.inf}, {"weight": 1e308}, {"model": Foreign}])
def test_a_run_ends_where_its_model_is_seen_not_to_be_finite(problem: Problem, odd) -> None:
    rows = problem
    if odd.get("weight") == 1e308:  # the weights are finite, the scores are not
        rows = replace(problem, train=Dense(problem.train.values * 100), test=Dense(problem.test.values * 100))
    traced = run(Odd(500, **odd), rows, Stop(passes=1000))
    assert traced.status == "diverged"
    assert "finite" in traced.reason
    last = traced.checkpoints[-1]
    assert 500 <= last.presented < 1000
    assert last.test_error is last.train_error is None
    assert traced.measured["balanced_error"] is None
    assert all(each.test_error is not None for each in traced.checkpoints[:-1])


def test_a_model_that_is_not_finite_at_the_end_is_not_done(problem: Problem) -> None:
    traced = run(Odd(400, weight=np.nan), problem, Stop(passes=2), Checkpoints(first=10))
    assert (traced.status, len(traced.checkpoints)) == ("diverged", 1)


@pytest.mark.parametrize("status", [17, None, 1])
def test_an_advance_returns_a_status(problem: Problem, monkeypatch: pytest.MonkeyPatch, status) -> None:
    monkeypatch.setattr(DCD, "advance", lambda *_: status)
    for solver in (DCD(), Multiclass(DCD(), "one-against-rest")):
        with pytest.raises(SolverError, match="must return a Status"):
            run(solver, problem)


def test_the_schedule_reaches_all_counts_without_repetition() -> None:
    counts = list(trace._due(Checkpoints(first=0.001, per_decade=50), 7))
    assert counts == sorted(set(counts))
    assert UNLIMITED / 1.1 < counts[-1] < UNLIMITED


def test_status_words() -> None:
    rule = trace._at(Ending.PASSES, 3)
    assert trace._ending(Status.DONE, None, Record(objective=1.0)) == ("done", "own rule", "")
    assert trace._ending(Status.RUNNING, rule, Record()) == ("stopped", "passes", "passes 3")
    assert trace._ending(Status.DONE, None, Record(objective=float("nan")))[:2] == ("diverged", "fault")


def test_classes_may_come_later_than_the_first_block():
    """The three classes come one after the other; what is learned is what one shuffled block would teach."""
    random = np.random.default_rng(0)
    labels = np.repeat(np.arange(3, dtype=np.int32), 100)
    values = (4 * np.eye(3)[labels] + random.normal(size=(300, 3))).astype(np.float32)

    def make(number):
        part = slice(100 * number, 100 * number + 100)
        return Dense(values[part]), labels[part]

    rows = Dense(values)
    whole = Problem("late", rows, labels, rows, labels, 3, ("z", "m", "a"), "late")
    problem = StreamedProblem(
        **(vars(whole) | {"train": make(0)[0], "labels": make(0)[1]}),
        length=300, block_rows=100, make=make, counts=(100, 100, 100), mean_squared_distance=1.0,
    )  # fmt: skip
    assert len(set(bind.warm_up_problem(problem).labels)) == 3
    solver = Perceptron(passes=5)
    traced = trace.train(solver, problem, Gaussian(0.1), 0, Stop(), Checkpoints())
    assert traced.checkpoints[-1].test_error < 0.1
    assert traced.checkpoints[-1].train_error is None
    assert traced.measured["balanced_error"] < 0.1
