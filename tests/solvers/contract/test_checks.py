"""What is asked of every solver, put to perceptrons in plain Python that break a promise or look as if they did."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Annotated, Any

import numpy as np
import pytest
from annotated_types import Interval

from mpu_bench.core.counters import INNER_PRODUCTS, PRESENTED, new_counters
from mpu_bench.core.models import LinearModel, ScoredModel
from mpu_bench.core.rows import add, count, dot
from mpu_bench.core.solver import Measures, Solver, Status, Until
from mpu_bench.solvers.certificates import L1_SVM, margin, primal
from mpu_bench.solvers.contract import checks
from mpu_bench.solvers.contract.checks import CHECKS, BrokenContractError

CHANGED = r"model\(\), measures\(\) or note\(\) change the state"
SLICES = "slices differ from one long advance"
SEED = "two runs with one seed differ"


@dataclass(frozen=True)
class Perceptron(Solver):
    """It keeps all promises; it counts no steps, so that only its weights show what goes wrong."""

    name = "perceptron"
    paper = "mine"

    def start(self, problem, kernel, seed):
        self.check(problem, kernel)
        return SimpleNamespace(
            rows=problem.train, signs=problem.signs(), weights=np.zeros(problem.features), counters=new_counters()
        )

    def advance(self, state, until):
        while state.counters[PRESENTED] < until.presented:
            i = np.uint32(state.counters[PRESENTED] % len(state.signs))
            state.counters[[PRESENTED, INNER_PRODUCTS]] += 1
            if state.signs[i] * dot(state.rows, i, state.weights) <= 0:
                add(state.rows, i, state.signs[i], state.weights)
        return Status.RUNNING

    def model(self, state):
        return LinearModel(state.weights[np.newaxis].copy())


def ask(solver: type[Solver], check: Callable[..., Any]) -> str:
    return CHECKS[check.__name__].of(solver)


def broken(solver: type[Solver], check: Callable[..., Any], words: str) -> None:
    with pytest.raises(BrokenContractError, match=words):
        ask(solver, check)


@pytest.mark.parametrize("check", [checks.is_a_function_of_the_seed, checks.slices_equal_one_long_advance])
def test_a_right_solver_holds(check):
    assert ask(Perceptron, check) == ""


class LearnsFromTestRows(Perceptron):
    def start(self, problem, kernel, seed):
        state = super().start(problem, kernel, seed)
        for i, label in enumerate(problem.test_labels):
            add(problem.test, np.uint32(i), 2.0 * label - 1.0, state.weights)
        return state


class StopsByTestRows(Perceptron):
    def start(self, problem, kernel, seed):
        state = super().start(problem, kernel, seed)
        state.wanted = problem.test, problem.test_labels
        return state

    def advance(self, state, until):
        rows, labels = state.wanted
        while state.counters[PRESENTED] < until.presented:
            if len(labels) and (self.model(state).labels(rows) == labels).mean() > 0.7:
                return Status.DONE
            super().advance(state, Until(presented=int(state.counters[PRESENTED]) + 1))
        return Status.RUNNING


class NeedsTestRows(Perceptron):
    def start(self, problem, kernel, seed):
        problem.test_labels[0]
        return super().start(problem, kernel, seed)


@pytest.mark.parametrize("solver", [LearnsFromTestRows, StopsByTestRows])
def test_a_solver_that_looks_at_test_rows_breaks_its_promise(solver):
    broken(solver, checks.test_rows_change_nothing, "other test rows differ: .*; learn from problem")


def test_no_test_rows_are_there_to_be_looked_at():
    assert ask(Perceptron, checks.test_rows_change_nothing) == ""
    with pytest.raises(IndexError):
        ask(NeedsTestRows, checks.test_rows_change_nothing)


# ------------------------------------------------------------------ wherever a state keeps its numbers


class Slotted:
    __slots__ = ("counters", "rows", "signs", "weights")

    def __init__(self, state):
        for name in self.__slots__:
            setattr(self, name, getattr(state, name))


class InSlots(Perceptron):
    def start(self, problem, kernel, seed):
        return Slotted(super().start(problem, kernel, seed))


class ShrinksEachSlice(InSlots):
    def advance(self, state, until):
        state.weights *= 0.5
        return super().advance(state, until)


class ShrinksWithEachModel(InSlots):
    def model(self, state):
        state.weights *= 0.999
        return super().model(state)


class Hidden(Perceptron):
    """Its weights are where no one finds them: in a closure."""

    def start(self, problem, kernel, seed):
        state, weights = super().start(problem, kernel, seed), np.zeros(problem.features)
        del state.weights
        state.ask = lambda: weights
        return state

    def within(self, state):
        return SimpleNamespace(**vars(state), weights=state.ask())

    def advance(self, state, until):
        return super().advance(self.within(state), until)

    def model(self, state):
        return super().model(self.within(state))


class HiddenShrinksEachSlice(Hidden):
    def advance(self, state, until):
        state.ask()[:] *= 0.5
        return super().advance(state, until)


class HiddenShrinksWithEachModel(Hidden):
    def model(self, state):
        state.ask()[:] *= 0.999
        return super().model(state)


class HiddenIsRandom(Hidden):
    def model(self, state):
        return LinearModel(np.random.default_rng().normal(size=(1, 12)))


class CountsItsModels(Hidden):
    """Its models are right, but training hangs on how many were asked for."""

    asked = 0

    def start(self, problem, kernel, seed):
        state, asked = super().start(problem, kernel, seed), [0]
        state.count = lambda: asked
        return state

    def advance(self, state, until):
        if state.count()[0]:
            state.ask()[:] *= 0.5
        return super().advance(state, until)

    def model(self, state):
        state.count()[0] += 1
        return super().model(state)


@pytest.mark.parametrize("solver", [ShrinksEachSlice, HiddenShrinksEachSlice])
def test_slices_that_go_wrong_are_found_wherever_the_numbers_are(solver):
    broken(solver, checks.slices_equal_one_long_advance, SLICES)


@pytest.mark.parametrize("solver", [ShrinksWithEachModel, HiddenShrinksWithEachModel, CountsItsModels])
def test_a_model_that_changes_the_state_is_found_wherever_the_numbers_are(solver):
    broken(solver, checks.model_and_measures_change_nothing, CHANGED)


def test_chance_is_found_wherever_the_numbers_are():
    broken(HiddenIsRandom, checks.is_a_function_of_the_seed, f"{SEED}: their models give other scores")


class MeasuresTime(Perceptron):
    def start(self, problem, kernel, seed):
        state = super().start(problem, kernel, seed)
        state.seconds = time.perf_counter()
        return state


@pytest.mark.parametrize("check", [checks.is_a_function_of_the_seed, checks.slices_equal_one_long_advance])
def test_a_time_in_the_state_breaks_nothing(check):
    assert ask(MeasuresTime, check) == ""


# ------------------------------------------------------------------ seeds


class SharesItsWeights(Perceptron):
    shared: dict[Any, Any] = {}  # noqa: RUF012 - the fault itself

    def start(self, problem, kernel, seed):
        state = super().start(problem, kernel, seed)
        state.weights = self.shared.setdefault(problem.fingerprint, state.weights)
        return state


class StartsByChance(Perceptron):
    def start(self, problem, kernel, seed):
        state = super().start(problem, kernel, seed)
        state.weights[:] = np.random.default_rng(seed).normal(size=len(state.weights))
        return state


class SaysItIsDeterministic(StartsByChance):
    deterministic = True


def test_runs_that_share_an_array_are_found():
    broken(SharesItsWeights, checks.is_a_function_of_the_seed, SEED)


def test_one_that_says_it_is_deterministic_gives_the_same_with_every_seed():
    assert ask(StartsByChance, checks.is_a_function_of_the_seed) == ""
    broken(SaysItIsDeterministic, checks.is_a_function_of_the_seed, "it says deterministic = True, and runs with two")


# ------------------------------------------------------------------ measures


@pytest.mark.parametrize(
    ("measures", "words"),
    [
        (Measures(objective=np.nan), "objective is nan, which is not finite"),
        (Measures(objective=1.0, gap=np.inf), "gap is inf, which is not finite"),
        (Measures(objective=1.0, gap=-0.5), "gap is -0.5; it must not be below zero"),
    ],
)
def test_measures_are_finite_and_no_gap_is_below_zero(measures, words):
    class Measuring(Perceptron):
        def measures(self, state):
            return measures

    broken(Measuring, checks.model_and_measures_change_nothing, words)


@dataclass(frozen=True)
class OfTheSVM(Perceptron):
    """It says that it minimises the L1-SVM, and gives its objective and margin."""

    objective = L1_SVM

    C: Annotated[float, Interval(gt=0)] = 2.0

    def measures(self, state):
        of_weights = state.rows, state.signs, state.weights
        return Measures(
            objective=self.scale(state) * primal(*of_weights, np.array([self.C])), margin=margin(*of_weights)
        )

    def scale(self, state):
        return 1.0


class OfTheMeanLoss(OfTheSVM):
    def scale(self, state):
        return 1 / (self.C * len(state.signs))


class OfOtherMargins(OfTheSVM):
    def measures(self, state):
        return Measures(margin=0.25)


class Flipped(Perceptron):
    def model(self, state):
        return LinearModel(-state.weights[np.newaxis])


def test_the_objective_and_the_margin_are_those_of_the_model():
    check = checks.model_and_measures_change_nothing
    assert ask(OfTheSVM, check) == ""
    broken(OfTheMeanLoss, check, r"objective is 1\.0; of the weights of its model it is 120\.0")
    broken(OfOtherMargins, check, r"margin is 0\.25; of the weights of its model it is (None|-)")


def test_scores_are_for_the_class_that_they_say():
    broken(Flipped, checks.model_and_measures_change_nothing, "the scores of its model are for the wrong classes")


class OfMeans(Perceptron):
    """It separates classes by the means of their rows, in an order of its own."""

    classes = "any"

    def start(self, problem, kernel, seed):
        state = super().start(problem, kernel, seed)
        state.weights = np.zeros((len(problem.classes), problem.features))
        for i, label in enumerate(problem.labels):
            add(problem.train, np.uint32(i), 1.0 / (problem.labels == label).sum(), state.weights[self.place(label)])
        return state

    def place(self, label):
        return label

    def advance(self, state, until):
        state.counters[[PRESENTED, INNER_PRODUCTS]] = until.presented
        return Status.RUNNING

    def model(self, state):
        return LinearModel(state.weights - state.weights.mean(axis=0))


class OfMeansElsewhere(OfMeans):
    def place(self, label):
        return (label + 1) % 3


def test_the_columns_of_scores_are_in_the_order_of_the_classes():
    assert not ask(OfMeans, checks.separates_three_classes)
    broken(OfMeansElsewhere, checks.separates_three_classes, "the scores of its model are for the wrong classes")


def test_a_gap_may_be_below_zero_by_rounding():
    class Measuring(Perceptron):
        def measures(self, state):
            return Measures(gap=-1e-12)

    assert ask(Measuring, checks.model_and_measures_change_nothing) == ""


# ------------------------------------------------------------------ models of its own


@dataclass(frozen=True, eq=False)
class Affine(ScoredModel):
    weights: Any
    bias: float
    linear = True
    support_vectors = 0
    finite = True

    def scores(self, rows):
        return np.array([[dot(rows, np.uint32(i), self.weights) + self.bias] for i in range(count(rows))])


class ModelOfItsOwn(Perceptron):
    def model(self, state):
        return Affine(state.weights.copy(), 0.5)


class Unvectored(Affine):
    linear = False


class ConstantModel(Perceptron):
    """It keeps no vectors, so that it has no kernel values to ask for."""

    kernels = "any"

    def start(self, problem, kernel, seed):
        self.check(problem, kernel)
        return SimpleNamespace(weights=np.zeros(problem.features), counters=new_counters())

    def advance(self, state, until):
        state.counters[PRESENTED] = max(until.presented, state.counters[PRESENTED])
        return Status.RUNNING

    def model(self, state):
        return Unvectored(state.weights, 0.5)


@pytest.mark.parametrize("solver", [ModelOfItsOwn, ConstantModel])
def test_counters_are_asked_for_by_what_a_model_says_of_itself(solver):
    assert ask(solver, checks.counters_are_sane) == ""


# ------------------------------------------------------------------ its end


class Slow(Perceptron):
    def advance(self, state, until):
        time.sleep(1e-5 * max(0, min(until.presented - state.counters[PRESENTED], 10**6)))
        return super().advance(state, until)


class SlowAndSaysItEnds(Slow):
    ends = True


def test_a_slow_one_without_an_end_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(checks, "SECONDS", 0.2)
    started = time.perf_counter()
    assert ask(Slow, checks.nothing_changes_once_done).startswith("it has no end of its own")
    assert time.perf_counter() - started < 8  # a million examples take more than 10


def test_one_that_says_it_ends_and_does_not_is_told_how_long_it_had(monkeypatch):
    monkeypatch.setattr(checks, "SECONDS_OF_ENDING", 0.2)
    words = r"ends = True, and after [\d,]+ examples seen in \d seconds it is RUNNING, not DONE"
    broken(SlowAndSaysItEnds, checks.nothing_changes_once_done, words)


# ------------------------------------------------------------------ its parameters


def test_both_bounds_of_an_interval_are_tried():
    @dataclass(frozen=True)
    class TakesAll(Perceptron):
        factor: Annotated[float, Interval(gt=0, le=1)] = 1.0

        def __post_init__(self):
            pass

    broken(
        TakesAll, checks.refuses_parameters_out_of_range, "factor=0 is accepted, although its annotation excludes it"
    )
