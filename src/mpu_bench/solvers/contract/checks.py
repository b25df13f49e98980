"""What is asked of every solver, one function for each promise.

A function returns nothing where the promise holds, or a text where it does not apply and why; else it raises
`BrokenContractError`. `CHECKS` are those that a solver of a user's own is put to; tests/solvers/test_contract.py puts
the project's own to the same, in more ways.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import annotated_types
import numpy as np
from numpy.typing import NDArray

from mpu_bench.core import answers
from mpu_bench.core.counters import (
    INNER_PRODUCTS,
    KERNEL_COMPUTED,
    KERNEL_EVALUATIONS,
    NAMES,
    PRESENTED,
    STEPS,
    UPDATES,
)
from mpu_bench.core.models import LinearModel, Model
from mpu_bench.core.problem import Problem
from mpu_bench.core.rows import take
from mpu_bench.core.solver import Measures, Solver, Status, Until, bounds_of
from mpu_bench.errors import UserError
from mpu_bench.kernels import Gaussian, Kernel, Polynomial
from mpu_bench.solvers.certificates import L1_SVM, margin, primal
from mpu_bench.solvers.contract import toys
from mpu_bench.solvers.contract.toys import more

ENOUGH = 2_000  #: presentations after which a comparison ends, done or not
LONG, LONGER = 1_000_000, 100_000_000  #: presentations in which a solver has ended, if it ends by itself; if it says so
SECONDS, SECONDS_OF_ENDING = 10.0, 60.0  #: after which it is not waited for longer; if it says that it ends
_KINDS = ("dense", "sparse", "ones")
_SLICES = (1, 2, 7, 60, 61, 131)
_EVALUATIONS = 97  # of a slice
_FIRST = 100  # presentations of the first slice of a long run
_ROUNDING, _PRECISION = 1e-9, 1e-6  # of a gap or a margin; relative, of what is computed twice

Answer = str | None


class BrokenContractError(Exception):
    """A solver breaks a promise that every solver makes; the message says which, and how to mend it."""


def demand(holds: object, message: str) -> None:
    """Refuse what does not hold."""
    if not holds:
        raise BrokenContractError(message)


def run(solver: Solver, kernel: Kernel, problem: Problem, seed: int = 3, presented: int = ENOUGH) -> tuple[Any, Status]:
    """Return the state after one advance, and how it ended."""
    state = solver.start(problem, kernel, seed)
    answers.counts(solver, state)
    return state, answers.advance(solver, state, more(state, presented=presented))


def _scores(solver: Solver, state: Any, problem: Problem) -> NDArray[np.float64]:
    return np.asarray(answers.model(solver, state, problem).scores(problem.test))


def demand_same(left: Mapping[str, NDArray[Any]], right: Mapping[str, NDArray[Any]], message: str) -> None:
    """Refuse arrays that differ in a bit, a type or a shape."""
    demand(left.keys() == right.keys(), f"{message}: one state has arrays that the other has not")
    for name, array in left.items():
        other = right[name]
        same = array.dtype == other.dtype and np.array_equal(array, other, equal_nan=array.dtype.kind in "fc")
        demand(same, f"{message}: they differ in the state's {name}")


class _Reached(NamedTuple):
    """What a run has come to, in copies: the numbers of its state, its counters, the scores of its model."""

    numbers: dict[str, NDArray[Any]]
    counters: NDArray[np.int64]
    scores: NDArray[np.float64]


def _reached(solver: Solver, state: Any, problem: Problem) -> _Reached:
    numbers = toys.arrays_of(state)  # before the model, which may change them
    return _Reached(numbers, np.array(state.counters), _scores(solver, state, problem).copy())


def _demand_same_reached(left: _Reached, right: _Reached, message: str, advice: str = "") -> None:
    """Refuse runs that come to other numbers; a state may keep some where they are not found, so models are asked."""
    demand_same(_without_times(left.numbers), _without_times(right.numbers), message)
    _demand_same_results(left, right, message, advice)


def _without_times(numbers: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return all but single floats: one may be a time that was measured, and those that matter change the model."""
    return {name: array for name, array in numbers.items() if array.ndim or array.dtype.kind != "f"}


def _demand_same_results(left: _Reached, right: _Reached, message: str, advice: str = "") -> None:
    demand(np.array_equal(left.counters, right.counters), f"{message}: they differ in the counters{advice}")
    same = np.array_equal(left.scores, right.scores, equal_nan=True)
    demand(same, f"{message}: their models give other scores{advice}")


# ------------------------------------------------------------------ what is refused


def refuses_meaningless_problems(solver: Solver, kernel: Kernel) -> Answer:
    """Demand that `start` refuses problems of one class, and of no example."""
    matrix, labels = toys.binary(agree=True)
    one_class = toys.problem(matrix, np.ones_like(labels), "ones")
    empty = replace(one_class, train=take(one_class.train, np.arange(0)), labels=labels[:0])
    with _refused("all training examples are of class 'class 1'", "a problem whose examples are all of one class"):
        solver.start(one_class, kernel, 0)
    with _refused("no training examples", "a problem without examples"):
        solver.start(empty, kernel, 0)
    return None


def refuses_other_kernels_and_classes(solver: Solver, kernel: Kernel) -> Answer:
    """Demand that `start` refuses kernels and numbers of classes that the solver's class attributes exclude."""
    matrix, labels = toys.binary(agree=True)
    if solver.kernels == "linear":
        with _refused("linear solver", "a kernel, though kernels is 'linear'"):
            solver.start(toys.problem(matrix, labels, "ones"), Gaussian(1.0), 0)
    words = {"gaussian": "Gaussian kernel", "constant-diagonal": "K(x, x)"}.get(solver.kernels)
    if words:
        with _refused(words, f"a polynomial kernel, though kernels is '{solver.kernels}'"):
            solver.start(toys.problem(matrix, labels, "ones"), Polynomial(1.0, 1.0, 2), 0)
    if solver.classes == "two":
        three = toys.problem(matrix, np.arange(len(labels), dtype=np.int32) % 3, "ones")
        with _refused("3 classes", "three classes, though classes is 'two'"):
            solver.start(three, kernel, 0)
    return None


@contextmanager
def _refused(words: str, what: str) -> Iterator[None]:
    try:
        yield
    except UserError as refusal:
        demand(words in str(refusal), f"start() rejects {what} with another message: {refusal}")
    else:
        raise BrokenContractError(f"start() accepts {what}; call self.check(problem, kernel) first")


_OUTSIDE: dict[type, Callable[[Any], Any]] = {
    annotated_types.Gt: lambda bound: bound.gt,
    annotated_types.Ge: lambda bound: bound.ge - 1,
    annotated_types.Lt: lambda bound: bound.lt,
    annotated_types.Le: lambda bound: bound.le + 1,
}


def refuses_parameters_out_of_range(solver: Solver, _kernel: Kernel | None = None) -> Answer:
    """Demand that a parameter outside of the range of its annotation is refused, by name."""
    parameters = {field.name: getattr(solver, field.name) for field in fields(solver) if field.init}
    bounds = bounds_of(type(solver))
    bounded = [
        (name, _OUTSIDE[type(bound)](bound)) for name in parameters for bound in bounds[name] if type(bound) in _OUTSIDE
    ]
    for name, value in bounded:
        try:
            type(solver)(**(parameters | {name: value}))
        except UserError as refusal:
            demand(
                f"{solver.name}: {name} is" in str(refusal),
                f"{name}={value} is rejected with another message: {refusal}",
            )
        else:
            raise BrokenContractError(
                f"{name}={value} is accepted, although its annotation excludes it; begin your __post_init__ with "
                "super().__post_init__()"
            )
    return None if bounded else "no parameter has a range, such as C: Annotated[float, Gt(0)] = 1.0"


# ------------------------------------------------------------------ how it advances


def is_a_function_of_the_seed(solver: Solver, kernel: Kernel, problem: Problem) -> Answer:
    """Demand that two runs with one seed come to the same, bit for bit; of a deterministic solver with any seed."""
    first, again = (_reached(solver, run(solver, kernel, problem)[0], problem) for _ in range(2))  # copied one by one
    message = "two runs with one seed differ"
    _demand_same_reached(first, again, message, "; draw random numbers from the seed alone")
    if solver.deterministic:
        other = _reached(solver, run(solver, kernel, problem, seed=4)[0], problem)
        message = "it says deterministic = True, and runs with two seeds differ"
        _demand_same_results(first, other, message)
    return None


def slices_equal_one_long_advance(solver: Solver, kernel: Kernel, problem: Problem) -> Answer:
    """Demand that advancing in slices of any size comes to what one long advance does, bit for bit."""
    if not solver.sliceable:
        return "it runs to its end at once"
    long, status = run(solver, kernel, problem)
    whole = _reached(solver, long, problem)
    state = solver.start(problem, kernel, 3)
    sizes, left, sliced = np.random.default_rng(0), ENOUGH, Status.RUNNING
    while left and sliced == Status.RUNNING:
        size = min(left, int(sizes.choice(_SLICES)))
        before = state.counters[PRESENTED]
        sliced = answers.advance(solver, state, more(state, presented=size))
        used = state.counters[PRESENTED] - before
        exact = used == size or (sliced == Status.DONE and used <= size)
        demand(exact, f"an advance by {size} examples presents {used}; it must stop where `until` says: reached()")
        left -= size
    message = "slices differ from one long advance"
    _demand_same_reached(whole, _reached(solver, state, problem), message)
    demand(sliced == status, f"one long advance ends with {status.name}, slices with {sliced.name}")
    return None


def slices_by_evaluations_equal_one_long_advance(solver: Solver, kernel: Kernel, problem: Problem) -> Answer:
    """Demand the same of slices that end after some kernel evaluations."""
    whole = _reached(solver, run(solver, kernel, problem)[0], problem)
    if whole.counters[KERNEL_EVALUATIONS] == 0:
        return "it asks for no kernel values"
    state = solver.start(problem, kernel, 3)
    while state.counters[PRESENTED] < whole.counters[PRESENTED]:
        left = int(whole.counters[PRESENTED] - state.counters[PRESENTED])
        before = state.counters[KERNEL_EVALUATIONS], state.counters[PRESENTED]
        until = more(state, presented=left, kernel_evaluations=_EVALUATIONS)
        status = answers.advance(solver, state, until)
        used = state.counters[KERNEL_EVALUATIONS] - before[0]
        if status == Status.RUNNING and state.counters[PRESENTED] < whole.counters[PRESENTED]:
            demand(used >= _EVALUATIONS, f"an advance by {_EVALUATIONS} kernel evaluations ends after {used}")
        demand(used or state.counters[PRESENTED] > before[1], "an advance by kernel evaluations changes no counter")
    message = "slices by kernel evaluations differ from one long advance"
    _demand_same_reached(whole, _reached(solver, state, problem), message)
    return None


def nothing_changes_once_done(solver: Solver, kernel: Kernel, problem: Problem) -> Answer:
    """Demand that a solver which says that it ends does so, and that nothing changes after Status.DONE."""
    state, status, seconds = _run_to_the_end(solver, kernel, problem)
    if status != Status.DONE:
        after = f"{int(state.counters[PRESENTED]):,} examples seen in {seconds:.0f} seconds"
        demand(not solver.ends, f"it says ends = True, and after {after} it is {status.name}, not DONE")
        return "it has no end of its own; a config must say when to stop"
    before = _reached(solver, state, problem)
    again = answers.advance(solver, state, Until())
    demand(again == Status.DONE, f"after Status.DONE a further advance returns {again.name}")
    message = "after Status.DONE a further advance changes the state"
    _demand_same_reached(before, _reached(solver, state, problem), message)
    if solver.ends or not solver.sliceable:
        return None
    return "it holds; where it ends whatever the data are, ends = True in its class lets configs do without stop:"


def _run_to_the_end(solver: Solver, kernel: Kernel, problem: Problem) -> tuple[Any, Status, float]:
    """Return the state once a solver has ended, or has had its presentations or seconds; how it ended; the seconds."""
    presented, max_seconds = (LONGER, SECONDS_OF_ENDING) if solver.ends else (LONG, SECONDS)
    state, status = run(solver, kernel, problem, presented=_FIRST)
    size, limit = _FIRST, _FIRST
    began, seconds = time.perf_counter(), 0.0  # from here, for the first slice compiles
    while status == Status.RUNNING and limit <= state.counters[PRESENTED] < presented and seconds < max_seconds:
        before, until = seconds, more(state, presented=size)
        status, limit = answers.advance(solver, state, until), until.presented  # with less it may stand still for ever
        seconds = time.perf_counter() - began
        if seconds - before < 1:
            size *= 2
    return state, status, seconds


def counters_are_sane(solver: Solver, kernel: Kernel, problem: Problem) -> Answer:
    """Demand counters that only grow, and that go together as core/counters.py says."""
    state = solver.start(problem, kernel, 3)
    before = answers.counts(solver, state)
    for _ in range(10):
        answers.advance(solver, state, more(state, presented=ENOUGH // 10))
        before = answers.counts(solver, state, before)
    counters = state.counters
    demand(isinstance(counters, np.ndarray) and counters.dtype == np.int64, "counters must be new_counters(), of int64")
    counts = dict(zip(NAMES, map(int, counters), strict=True))
    demand(counts["presented"], "no example was counted as seen (PRESENTED)")
    demand(counters[STEPS] <= counters[UPDATES], f"there are more steps than updates: {counts}")
    computed = counters[KERNEL_COMPUTED] <= counters[KERNEL_EVALUATIONS]
    demand(computed, f"more kernel values are computed than asked for: {counts}")
    vectors = answers.vectors(solver, answers.model(solver, state, problem))
    if vectors is None:
        demand(counters[KERNEL_EVALUATIONS] == 0, f"a linear model asks for no kernel values: {counts}")
        products = counters[INNER_PRODUCTS] >= counters[PRESENTED]
        demand(products, f"there are fewer inner products than examples seen: {counts}")
    else:
        demand(counters[INNER_PRODUCTS] == 0, f"inner products are counted of linear models only: {counts}")
        evaluations = counters[KERNEL_EVALUATIONS] or not vectors
        demand(evaluations, f"no kernel evaluation was counted of a model that keeps vectors: {counts}")
    return None


def leaves_the_problem_alone(solver: Solver, kernel: Kernel, problem: Problem) -> Answer:
    """Demand that training, models and measures change no array of the problem."""
    before = toys.arrays_of(problem)
    state, _ = run(solver, kernel, problem)
    _scores(solver, state, problem)
    solver.measures(state)
    demand_same(
        before, toys.arrays_of(problem), "it changes the problem, which other runs share; let it work on copies"
    )
    return None


def test_rows_change_nothing(solver: Solver, kernel: Kernel, problem: Problem) -> Answer:
    """Demand the same model whatever the test rows are; in a run there are none."""
    alone = _reached(solver, run(solver, kernel, problem.without_test())[0], problem)
    others = take(problem.train, np.arange(problem.n)[::-1]), 1 - problem.labels
    for test, labels in ((problem.train, problem.labels), others):
        shown = replace(problem, test=test, test_labels=labels)
        reached = _reached(solver, run(solver, kernel, shown)[0], problem)
        advice = "; learn from problem.train and problem.labels alone"
        _demand_same_results(alone, reached, "runs with other test rows differ", advice)
    return None


# ------------------------------------------------------------------ its models and measures


def model_and_measures_change_nothing(solver: Solver, kernel: Kernel, problem: Problem) -> Answer:
    """Demand that `model`, `measures` and `note` change no state, and that scores and measures are finite."""
    state, unasked = solver.start(problem, kernel, 3), solver.start(problem, kernel, 3)
    message = "model(), measures() or note() change the state"
    for presented in (0, 50, ENOUGH):
        answers.advance(solver, state, more(state, presented=presented))
        answers.advance(solver, unasked, more(unasked, presented=presented))
        before = _reached(solver, state, problem)
        measures = answers.measures(solver, state)
        answers.note(solver, state)
        demand_same(before.numbers, toys.arrays_of(state), message)
        demand(np.array_equal(before.counters, state.counters), f"{message}: it has other counters")
        again = np.array_equal(before.scores, _scores(solver, state, problem), equal_nan=True)
        demand(again, f"{message}: a second model gives other scores")
        _demand_scores(before.scores, (problem.n_test, 1))
        _demand_measures(measures)
        _demand_measures_of_model(measures, solver, answers.model(solver, state, problem), problem)
    _demand_right_classes(before.scores, problem.test_labels)
    evaluated, alone = _reached(solver, state, problem), _reached(solver, unasked, problem)
    _demand_same_results(evaluated, alone, f"{message}: a run that is asked for them goes on otherwise")
    return None


def _demand_measures(measures: Measures) -> None:
    for name, value in measures.by_name().items():
        known = value is None or math.isfinite(value)
        demand(known, f"{name} is {value}, which is not finite; None says that it is not known")
    if measures.gap is None:
        return
    demand(measures.gap >= -_ROUNDING, f"gap is {measures.gap}; it must not be below zero")
    if measures.objective is not None and measures.dual_objective is not None:
        gap = measures.objective / measures.dual_objective - 1
        demand(math.isclose(measures.gap, gap, rel_tol=_PRECISION, abs_tol=1e-12), f"gap is {measures.gap}, not {gap}")
        above = measures.objective >= measures.dual_objective * (1 - 1e-12)
        demand(above, f"the dual objective is above the objective, and so no lower bound: {measures}")


def _demand_measures_of_model(measures: Measures, solver: Solver, model: Model, problem: Problem) -> None:
    """Demand that the margin, and the objective of the linear L1-SVM with a C, are those of the weights."""
    if type(model) is not LinearModel or model.bias:
        return
    of_weights = problem.train, problem.signs(), model.weights[0]
    true = {"margin": margin(*of_weights)}
    if hasattr(solver, "C") and solver.objective_of(vars(solver)) == L1_SVM:
        true["objective"] = primal(*of_weights, np.array([float(solver.C)]))
    for name, value in true.items():
        said = getattr(measures, name)
        same = said is None or (value is not None and math.isclose(said, value, rel_tol=_PRECISION, abs_tol=_ROUNDING))
        demand(same, f"{name} is {said}; of the weights of its model it is {value}")


def _demand_right_classes(scores: NDArray[np.float64], labels: NDArray[np.int32]) -> None:
    """Demand that the score of a row's class is not, on average, below those of the others."""
    of_classes = np.hstack([-scores, scores]) if scores.shape[1] == 1 else scores
    right = of_classes[np.arange(len(labels)), labels].mean() >= of_classes.mean()
    demand(right, "the scores of its model are for the wrong classes; those of the second of two are above zero")


def _demand_scores(scores: NDArray[np.float64], shape: tuple[int, int]) -> None:
    demand(scores.shape == shape, f"the scores of the model have the shape {scores.shape}; it must be {shape}")
    demand(np.isfinite(scores).all(), "a score of the model is not finite")


def separates_three_classes(solver: Solver, kernel: Kernel) -> Answer:
    """Demand of a solver of any classes that it trains on three, with a score for each."""
    if solver.classes != "any":
        return "it separates two classes; multiclass: one-against-one makes it separate more"
    matrix, labels = toys.binary(agree=True)
    three = toys.problem(matrix, (labels + np.where(matrix[:, 0] > 0, 1, 0)).astype(np.int32), "dense")
    state, _ = run(solver, kernel, three)
    scores = _scores(solver, state, three)
    _demand_scores(scores, (three.n_test, 3))
    _demand_right_classes(scores, three.test_labels)
    return None


def model_is_no_view_of_the_state(solver: Solver, kernel: Kernel) -> Answer:
    """Demand that a model stays as it is while the solver goes on."""
    problem = toys.problem(*toys.binary(agree=True), "dense")
    state = solver.start(problem, kernel, 3)
    answers.advance(solver, state, more(state, presented=20))
    model: Any = answers.model(solver, state, problem)
    before = np.array(model.scores(problem.test))
    answers.advance(solver, state, more(state, presented=ENOUGH))
    same = np.array_equal(model.scores(problem.test), before, equal_nan=True)
    demand(same, "a model changes while the solver goes on; let model() return copies: state.weights.copy()")
    return None


def _scores_on(
    kinds: Sequence[str], examples: tuple[toys.Matrix, toys.Labels], solver: Solver, kernel: Kernel
) -> list[NDArray[np.float64]]:
    """Return the scores of what a solver learns from examples in every kind of rows."""
    problems = [toys.problem(*examples, kind) for kind in kinds]
    return [_scores(solver, run(solver, kernel, problem)[0], problem) for problem in problems]


def all_kinds_of_rows_agree(solver: Solver, kernel: Kernel) -> Answer:
    """Demand nearly the same scores from dense, sparse and all-ones rows."""
    dense, *others = _scores_on(_KINDS, toys.binary(agree=True), solver, kernel)
    for kind, scores in zip(_KINDS[1:], others, strict=True):
        near = np.allclose(scores, dense, rtol=1e-6, atol=1e-6)
        demand(near, f"{kind} rows give other scores than dense ones; compute with dot() and add() of mpu_bench.solver")
    return None


def single_and_double_rows_agree(solver: Solver, kernel: Kernel) -> Answer:
    """Demand nearly the same scores from rows in single and in double precision."""
    single, double = _scores_on(("dense", "dense64"), toys.real(), solver, kernel)
    near = np.allclose(double, single, rtol=1e-4, atol=1e-4)
    demand(near, "rows in single and in double precision give other scores; sum in double precision")
    return None


# ------------------------------------------------------------------ all of them


@dataclass(frozen=True)
class Check:
    """A promise in words, and what holds a solver to it; ``kinds`` of rows are those that it is asked on, if any."""

    words: str
    function: Callable[..., Answer]
    kinds: tuple[str, ...] = ()

    def of(self, solver: type[Solver]) -> str:
        """Hold a solver with its defaults to the promise; return a remark, or nothing.

        Raises
        ------
        BrokenContractError
        """
        small = toys.with_small_parameters(solver)
        kernel = toys.kernel_of(small)
        if not self.kinds:
            return self.function(small, kernel) or ""
        problems = [toys.problem(*toys.binary(agree=True), kind) for kind in self.kinds]
        return next(filter(None, [self.function(small, kernel, problem) for problem in problems]), "")


CHECKS = {
    check.function.__name__: check
    for check in (
        Check("rejects problems of one class, or without examples", refuses_meaningless_problems),
        Check("rejects kernels and classes that it cannot use", refuses_other_kernels_and_classes),
        Check("rejects parameters outside their ranges", refuses_parameters_out_of_range),
        Check("the same seed gives the same result", is_a_function_of_the_seed, _KINDS),
        Check("slices of any size give the same as one long advance", slices_equal_one_long_advance, _KINDS),
        Check("so do slices by kernel evaluations", slices_by_evaluations_equal_one_long_advance, ("dense",)),
        Check("it ends as it says, and nothing changes after that", nothing_changes_once_done, ("dense",)),
        Check("its counters only grow, and are consistent", counters_are_sane, ("dense",)),
        Check("it leaves the problem as it is", leaves_the_problem_alone, _KINDS),
        Check("test rows, which no run passes to it, change nothing", test_rows_change_nothing, ("dense",)),
        Check("model and measures change nothing and are finite", model_and_measures_change_nothing, ("dense",)),
        Check("a model stays as it is while the solver goes on", model_is_no_view_of_the_state),
        Check("it separates as many classes as it says", separates_three_classes),
        Check("dense, sparse and all-ones rows agree", all_kinds_of_rows_agree),
        Check("single and double precision agree", single_and_double_rows_agree),
    )
}
