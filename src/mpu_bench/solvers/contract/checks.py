"""What is asked of every solver, one function for each promise.

A function returns nothing where the promise holds, or a text where it does not apply and why; else it raises
`BrokenContractError`. `CHECKS` are those that a solver of a user's own is put to; tests/solvers/test_contract.py puts
the project's own to the same, in more ways.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from typing import Any, get_args, get_type_hints

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
from mpu_bench.core.kernels import Gaussian, Kernel, Polynomial
from mpu_bench.core.models import LinearModel
from mpu_bench.core.problem import Problem
from mpu_bench.core.rows import take
from mpu_bench.core.solver import Solver, Status, Until
from mpu_bench.errors import UserError
from mpu_bench.solvers.contract import toys
from mpu_bench.solvers.contract.toys import more

ENOUGH = 2_000  #: presentations after which a comparison ends, done or not
LONG, LONGER = 1_000_000, 100_000_000  #: presentations in which a solver has ended, if it ends by itself; if it says so
_KINDS = ("dense", "sparse", "ones")
_SLICES = (1, 2, 7, 60, 61, 131)
_EVALUATIONS = 97  # of a slice

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
    return np.asarray(answers.model(solver, state).scores(problem.test))


def demand_same(left: Mapping[str, NDArray[Any]], right: Mapping[str, NDArray[Any]], message: str) -> None:
    """Refuse arrays that differ in a bit, a type or a shape."""
    demand(left.keys() == right.keys(), f"{message}: one state has arrays that the other has not")
    for name, array in left.items():
        other = right[name]
        same = array.dtype == other.dtype and array.shape == other.shape
        demand(same and np.array_equal(array, other, _has_nan(array)), f"{message}: they differ in the state's {name}")


def _has_nan(array: NDArray[Any]) -> bool:
    return bool(array.dtype.kind in "fc")


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
        demand(words in str(refusal), f"start() refuses {what} with other words: {refusal}")
    else:
        raise BrokenContractError(f"start() takes {what}; let it begin with self.check(problem, kernel)")


_OUTSIDE: dict[type, Callable[[Any], Any]] = {
    annotated_types.Gt: lambda bound: bound.gt,
    annotated_types.Ge: lambda bound: bound.ge - 1,
    annotated_types.Lt: lambda bound: bound.lt,
    annotated_types.Le: lambda bound: bound.le + 1,
}


def refuses_parameters_out_of_range(solver: Solver, _kernel: Kernel | None = None) -> Answer:
    """Demand that a parameter outside of the range of its annotation is refused, by name."""
    hints = get_type_hints(type(solver), include_extras=True)
    given = {field.name: getattr(solver, field.name) for field in fields(solver) if field.init}
    bounded = [
        (name, _OUTSIDE[type(bound)](bound))
        for name in given
        for bound in _bounds(hints[name])
        if type(bound) in _OUTSIDE
    ]
    for name, value in bounded:
        try:
            type(solver)(**(given | {name: value}))
        except UserError as refusal:
            demand(
                f"{solver.name}: {name} is" in str(refusal), f"{name}={value} is refused with other words: {refusal}"
            )
        else:
            raise BrokenContractError(
                f"{name}={value} is taken, which its annotation excludes; a __post_init__ of its own must begin with "
                "super().__post_init__()"
            )
    return None if bounded else "no parameter has a range, such as C: Annotated[float, Gt(0)] = 1.0"


def _bounds(hint: Any) -> list[Any]:
    """Return the bounds of a type, and of the parts of a union."""
    return [*getattr(hint, "__metadata__", ()), *(bound for part in get_args(hint) for bound in _bounds(part))]


# ------------------------------------------------------------------ how it advances


def is_a_function_of_the_seed(solver: Solver, kernel: Kernel, problem: Problem) -> Answer:
    """Demand that two runs with one seed come to the same, bit for bit."""
    (first, _), (again, _) = run(solver, kernel, problem), run(solver, kernel, problem)
    demand_same(toys.arrays_of(first), toys.arrays_of(again), "two runs with one seed do not come to the same")
    same = np.array_equal(_scores(solver, first, problem), _scores(solver, again, problem), equal_nan=True)
    demand(same, "two runs with one seed give models with other scores; draw random numbers from the seed alone")
    return None


def slices_equal_one_long_advance(solver: Solver, kernel: Kernel, problem: Problem) -> Answer:
    """Demand that advancing in slices of any size comes to what one long advance does, bit for bit."""
    if not solver.sliceable:
        return "it runs to its end at once"
    whole, status = run(solver, kernel, problem)
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
    demand_same(toys.arrays_of(whole), toys.arrays_of(state), "slices do not come to what one long advance does")
    demand(sliced == status, f"one long advance ends with {status.name}, slices with {sliced.name}")
    return None


def slices_by_evaluations_equal_one_long_advance(solver: Solver, kernel: Kernel, problem: Problem) -> Answer:
    """Demand the same of slices that end after some kernel evaluations."""
    whole, _ = run(solver, kernel, problem)
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
    message = "slices by kernel evaluations do not come to what one long advance does"
    demand_same(toys.arrays_of(whole), toys.arrays_of(state), message)
    return None


def nothing_changes_once_done(solver: Solver, kernel: Kernel, problem: Problem) -> Answer:
    """Demand that a solver which says that it ends does so, and that nothing changes after Status.DONE."""
    state, status = run(solver, kernel, problem, presented=LONGER if solver.ends else LONG)
    if status != Status.DONE:
        presented = f"{int(state.counters[PRESENTED]):,} examples presented"
        demand(not solver.ends, f"it says ends = True, and after {presented} it is {status.name}, not DONE")
        return "it has no end of its own; a config must say when to stop"
    before = toys.arrays_of(state)
    again = answers.advance(solver, state, Until())
    demand(again == Status.DONE, f"after Status.DONE a further advance returns {again.name}")
    demand_same(before, toys.arrays_of(state), "after Status.DONE a further advance changes the state")
    if solver.ends or not solver.sliceable:
        return None
    return "it holds; where it ends whatever the data are, ends = True in its class lets configs do without stop:"


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
    demand(counts["presented"], "no example was counted as presented")
    demand(counters[STEPS] <= counters[UPDATES], f"there are more steps than updates: {counts}")
    computed = counters[KERNEL_COMPUTED] <= counters[KERNEL_EVALUATIONS]
    demand(computed, f"more kernel values are computed than asked for: {counts}")
    if isinstance(answers.model(solver, state), LinearModel):
        demand(counters[KERNEL_EVALUATIONS] == 0, f"a linear model asks for no kernel values: {counts}")
        products = counters[INNER_PRODUCTS] >= counters[PRESENTED]
        demand(products, f"there are fewer inner products than examples presented: {counts}")
    else:
        demand(counters[INNER_PRODUCTS] == 0, f"inner products are counted of linear models only: {counts}")
        demand(counters[KERNEL_EVALUATIONS], f"no kernel evaluation was counted: {counts}")
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


# ------------------------------------------------------------------ its models and measures


def model_and_measures_change_nothing(solver: Solver, kernel: Kernel, problem: Problem) -> Answer:
    """Demand that `model`, `measures` and `note` change no state, and scores that are finite, one row an example."""
    state = solver.start(problem, kernel, 3)
    for presented in (0, 50, ENOUGH):
        answers.advance(solver, state, more(state, presented=presented))
        before = toys.arrays_of(state)
        scores, measures = _scores(solver, state, problem), answers.measures(solver, state)
        answers.note(solver, state)
        demand_same(before, toys.arrays_of(state), "model(), measures() or note() change the state")
        _demand_scores(scores, (problem.n_test, 1))
        if measures.gap is not None and measures.objective is not None and measures.dual_objective is not None:
            gap = measures.objective / measures.dual_objective - 1
            demand(math.isclose(measures.gap, gap, rel_tol=1e-6, abs_tol=1e-12), f"gap is {measures.gap}, not {gap}")
            above = measures.objective >= measures.dual_objective * (1 - 1e-12)
            demand(above, f"the dual objective is above the objective, and so no lower bound: {measures}")
    return None


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
    _demand_scores(_scores(solver, state, three), (three.n_test, 3))
    return None


def model_is_no_view_of_the_state(solver: Solver, kernel: Kernel) -> Answer:
    """Demand that a model stays as it is while the solver goes on."""
    problem = toys.problem(*toys.binary(agree=True), "dense")
    state = solver.start(problem, kernel, 3)
    answers.advance(solver, state, more(state, presented=20))
    model: Any = answers.model(solver, state)
    before = np.array(model.scores(problem.test))
    answers.advance(solver, state, more(state, presented=ENOUGH))
    same = np.array_equal(model.scores(problem.test), before, equal_nan=True)
    demand(same, "a model changes while the solver goes on; let model() return copies: state.weights.copy()")
    return None


def all_kinds_of_rows_agree(solver: Solver, kernel: Kernel) -> Answer:
    """Demand nearly the same scores from dense, sparse and all-ones rows."""
    scores = {}
    for kind in _KINDS:
        problem = toys.problem(*toys.binary(agree=True), kind)
        state, _ = run(solver, kernel, problem)
        scores[kind] = _scores(solver, state, problem)
    for kind in _KINDS[1:]:
        near = np.allclose(scores[kind], scores["dense"], rtol=1e-6, atol=1e-6)
        demand(near, f"{kind} rows give other scores than dense ones; work by the functions of core.rows")
    return None


def single_and_double_rows_agree(solver: Solver, kernel: Kernel) -> Answer:
    """Demand nearly the same scores from rows in single and in double precision."""
    scores = []
    for kind in ("dense", "dense64"):
        problem = toys.problem(*toys.real(), kind)
        state, _ = run(solver, kernel, problem)
        scores.append(_scores(solver, state, problem))
    near = np.allclose(scores[1], scores[0], rtol=1e-4, atol=1e-4)
    demand(near, "rows in single and in double precision give other scores; add up in double")
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
        made = toys.with_small_parameters(solver)
        kernel = toys.kernel_of(made)
        if not self.kinds:
            return self.function(made, kernel) or ""
        problems = [toys.problem(*toys.binary(agree=True), kind) for kind in self.kinds]
        return next(filter(None, [self.function(made, kernel, problem) for problem in problems]), "")


CHECKS = {
    check.function.__name__: check
    for check in (
        Check("refuses problems of one class, or without examples", refuses_meaningless_problems),
        Check("refuses kernels and classes that it cannot use", refuses_other_kernels_and_classes),
        Check("refuses parameters outside of their ranges", refuses_parameters_out_of_range),
        Check("the same seed gives the same result", is_a_function_of_the_seed, _KINDS),
        Check("slices of any size come to what one long advance does", slices_equal_one_long_advance, _KINDS),
        Check("so do slices by kernel evaluations", slices_by_evaluations_equal_one_long_advance, ("dense",)),
        Check("it ends as it says, and nothing changes after that", nothing_changes_once_done, ("dense",)),
        Check("its counters only grow, and go together", counters_are_sane, ("dense",)),
        Check("it leaves the problem as it is", leaves_the_problem_alone, _KINDS),
        Check("model and measures change nothing; scores are finite", model_and_measures_change_nothing, ("dense",)),
        Check("a model stays as it is while the solver goes on", model_is_no_view_of_the_state),
        Check("it separates as many classes as it says", separates_three_classes),
        Check("dense, sparse and all-ones rows agree", all_kinds_of_rows_agree),
        Check("single and double precision agree", single_and_double_rows_agree),
    )
}
