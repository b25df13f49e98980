"""What must hold of a classifier that was fitted to any of the small problems; every check returns what is wrong."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any
from unittest import mock

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

import mpu_bench
from mpu_bench.core.counters import INNER_PRODUCTS, KERNEL_COMPUTED, KERNEL_EVALUATIONS, PRESENTED
from mpu_bench.estimators import base
from oracles.quadratic_programs import factor, maximum_margin
from sweep import truth
from sweep.problems import SmallProblem

_SLACK = 1e-9  # relative, of what the reference and a told gap may differ by
_UNITS_A_SECOND = 1e5  # of the clock that goes with the work: a slice is 10,000 of them
_MAX_GROWTH = 8  # of a slice to the next: what comes may cost so many times what was
#: further parameters of a class, where it has them
CHOICES: dict[str, tuple[Any, ...]] = {
    "fit_intercept": (True, False),
    "margin": ("soft", "soft", "hard"),
    "modified": (True, False),
    "removal": ("cks", "oldest", "random"),
    "maintenance": ("merging", "projection", "smallest", "random"),
    "multi_class": ("ovr", "ovo"),
    "budget": (8,),
    "tol": (None, None, 1e-2, 1e-6),
    "gap": (0.0, 1e-5),
    "shuffle": (False, True),
    "pairs": (32,),
    "batch": (5,),
    "regularization": (1e-4, 1e-1),
    "sampling": (59, "all"),
}
#: of which compiling anew hangs, or the default is what is compiled in the suite anyway
_COMPILED_APART = {"modified", "removal", "maintenance", "margin", "fit_intercept"}
MAX_ITERATIONS = {"passes": 3000, "iterations": 30_000}
_MAX_PLANES = 100  # of cutting planes, each of which takes longer than the one before


@dataclass
class Outcome:
    """Of one classifier on one problem."""

    name: str
    problem: str
    parameters: dict[str, Any]
    refused: str = ""
    warned: str = ""
    told: float | None = None
    true: float | None = None
    width: float | None = None  #: of the reference's interval, relative
    wrong: list[str] = field(default_factory=list)


def classifier(name: str, problem: SmallProblem, everything: bool) -> Any:
    """Return a classifier with parameters by the problem's seed, of all choices or of those that compile no more."""
    random = np.random.default_rng([problem.seed, *name.encode()])
    kind = getattr(mpu_bench, name)
    defaults, given = kind().get_params(), {"random_state": 0}
    for word, values in CHOICES.items():
        chosen = values[random.integers(len(values))]
        if word in defaults and chosen is not None and (everything or word not in _COMPILED_APART):
            given[word] = chosen
    given |= {word: value for word, value in problem.parameters.items() if word in defaults}
    if name == "CoreVectorClassifier" and random.random() < 0.9:  # others are refused, mostly
        given["kernel"] = "rbf"
        given["gamma"] = given["gamma"] if problem.parameters["kernel"] == "rbf" else "scale"
    if given.get("maintenance", "merging") == "merging" and "maintenance" in defaults:
        given["kernel"], given["gamma"] = "rbf", "scale"
    if kind.bounds is not None:
        given["max_iter"] = _MAX_PLANES if name == "SVMPerfClassifier" else MAX_ITERATIONS[kind.bounds]
    return kind(**given)


def outcome(name: str, problem: SmallProblem, everything: bool = True) -> Outcome:
    """Fit a classifier to a problem, in several ways, and return what came of it."""
    model = classifier(name, problem, everything)
    said = {key: value for key, value in model.get_params().items() if value != type(model)().get_params()[key]}
    found = Outcome(name, str(problem), said)
    try:
        with _recorded() as told:
            _fit(model, problem)
    except ValueError as refusal:
        found.refused = str(refusal)
        return found
    found.warned = "; ".join(told)
    found.wrong += [*_finite(model, problem), *_iterations(model), *_gap(model, problem, found)]
    for most in (1, 3):
        found.wrong += _when_cut_short(model, problem, most)
    found.wrong += _looks(model, problem)
    return found


def _fit(model: Any, problem: SmallProblem) -> Any:
    weighted = problem.weights is not None and "class_weight" in model.get_params()
    return model.fit(problem.X, problem.y, **({"sample_weight": problem.weights} if weighted else {}))


@contextmanager
def _recorded() -> Iterator[list[str]]:
    """Collect the texts of ConvergenceWarnings; any other warning is an error."""
    told: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("error")
        warnings.simplefilter("always", ConvergenceWarning)
        yield told
        told += [str(each.message) for each in caught]


def _finite(model: Any, problem: SmallProblem) -> Iterator[str]:
    if not np.isfinite(model.decision_function(problem.X)).all():
        yield "scores of training rows are not finite"
    for name in ("coef_", "intercept_", "dual_coef_", "dual_gap_"):
        numbers = getattr(model, name, 0.0)
        if not np.isfinite(numbers.data if scipy.sparse.issparse(numbers) else numbers).all():
            yield f"{name} is not finite"
    if not set(model.predict(problem.X)) <= set(problem.y):
        yield "a label is predicted that there is not"


def _iterations(model: Any) -> Iterator[str]:
    most = model.max_iter
    if most is not None and model.n_iter_ > most:
        yield f"n_iter_ is {model.n_iter_}, max_iter {most}"


def _gap(model: Any, problem: SmallProblem, found: Outcome) -> Iterator[str]:
    """Compare what is told with the optimum."""
    told = found.told = getattr(model, "dual_gap_", None)
    if getattr(model, "margin", "") == "hard" or type(model).__name__ == "MarginPerceptronClassifier":
        yield from _margins(model, problem, found)
        return
    worth = truth.of(model, problem)
    if worth is None:
        if told is not None:
            yield f"dual_gap_ is {told:.3g} where nothing can be certified"
        return
    found.true, found.width = worth.gap, worth.optimum.width
    if told is not None:
        if told < 0:
            yield f"dual_gap_ is {told:.3g}"
        if told < worth.gap - _SLACK:
            yield f"dual_gap_ is {told:.6g}, the true gap {worth.gap:.6g}"
    if found.warned:
        return
    if told is not None and told > base.LARGE_GAP:
        yield f"dual_gap_ is {told:.3g} without a warning"
    if told is not None and worth.gap > base.LARGE_GAP:
        yield f"the true gap is {worth.gap:.3g} without a warning"
    promised = _promised(model, worth)
    if promised is not None and worth.gap > promised * (1 + 1e-6) + _SLACK:
        yield f"without a warning the gap is {worth.gap:.6g}, where tol promises {promised:.6g}"


def _promised(model: Any, worth: truth.Worth) -> float | None:
    """Return what the gap is at most where no warning was given; None of a class that ends after so many passes."""
    parameters, of_losses = model.get_params(), worth.losses / worth.optimum.upper
    tol = parameters.get("tol")
    match type(model).__name__:
        case "MPUClassifier":
            return float(max(tol, model.accuracy))
        case "DCDClassifier" if model.gap > 0:
            return float(model.gap)
        case "SVMPerfClassifier":  # in per cent, of the mean loss
            return float(tol * of_losses / 100)
        case "CoreVectorClassifier" | "FrankWolfeClassifier":
            return float(tol)
    # the conditions hold to tol, in units of y f: each example adds C_i tol at most to primal - dual
    return None if tol is None else float(2 * tol * of_losses)


def _margins(model: Any, problem: SmallProblem, found: Outcome) -> Iterator[str]:
    if found.told is not None:
        yield f"dual_gap_ is {found.told:.3g} of a hard margin"
    if found.warned:
        return
    unlearns = hasattr(model, "tol")
    wanted = 1 / (1 + max(model.accuracy, model.tol) if unlearns else 2 + model.accuracy)
    for margin, products, signs in truth.margins(model, problem):
        patterns = factor(np.asarray(np.outer(signs, signs) * products, float))
        try:
            most = maximum_margin(patterns)
        except (AssertionError, RuntimeError):  # the reference has no answer
            continue
        if margin < most * wanted * (1 - 1e-6) - 1e-7 * np.abs(patterns).max():
            yield f"the margin is {margin:.6g}, the maximum {most:.6g}"


def _when_cut_short(model: Any, problem: SmallProblem, most: int) -> Iterator[str]:
    """Fit with so small a max_iter, and look at the same things."""
    short = type(model)(**model.get_params() | {"max_iter": most})
    found = Outcome(type(model).__name__, "", {})
    try:
        with _recorded() as told:
            _fit(short, problem)
    except ValueError as refusal:
        yield f"max_iter={most}: {refusal}"
        return
    found.warned = "; ".join(told)
    wrong = [*_finite(short, problem), *_iterations(short), *_gap(short, problem, found)]
    yield from (f"max_iter={most}: {text}" for text in wrong)


def _looks(model: Any, problem: SmallProblem) -> Iterator[str]:
    """Count the work between two looks at the clock, and let a clock say that time is up."""
    n = len(problem.y)
    between = _with_clock(model, problem, lambda work, _looks: work / _UNITS_A_SECOND, None)
    at_once = n * n + n  # of a step that cannot be divided: a kernel row, a plane, a certificate
    if (largest := max(between, default=0)) > _MAX_GROWTH * 0.1 * _UNITS_A_SECOND + at_once:
        yield f"{largest:,.0f} units of work between two looks at the clock"
    between = _with_clock(model, problem, lambda _work, looks: float(looks), 0.5)
    if len(between) > 1:
        yield f"{len(between)} slices of training after max_seconds"


def _with_clock(
    model: Any, problem: SmallProblem, clock: Callable[[float, int], float], max_seconds: float | None
) -> list[float]:
    """Fit by a clock that is a function of work and looks; return the work of every slice, of all machines."""
    marks: list[tuple[int, float]] = []  # how many machines have begun, and their work
    states: list[Any] = []
    train = base.SolverClassifier._train

    def seen(self: Any, solver: Any, state: Any, *further: Any, **named: Any) -> Any:
        states.append(state)
        return train(self, solver, state, *further, **named)

    def now() -> float:
        marks.append((len(states), sum(_work(state.counters) for state in states)))
        return clock(marks[-1][1], len(marks))

    timed = type(model)(**model.get_params() | {"max_seconds": max_seconds})
    with (
        mock.patch.object(base.SolverClassifier, "_train", seen),
        mock.patch.object(base, "time", mock.Mock(perf_counter=now)),
        _recorded(),
    ):
        _fit(timed, problem)
    # where another machine begins, what was done was to start it
    return [w - v for (before, v), (after, w) in pairwise(marks) if before == after and w > v]


def _work(counters: NDArray[np.int64]) -> float:
    """Return how much has been done, in kernel values or inner products."""
    values = max(int(counters[KERNEL_EVALUATIONS]), int(counters[KERNEL_COMPUTED]))
    return float(values + int(counters[INNER_PRODUCTS]) + int(counters[PRESENTED]))
