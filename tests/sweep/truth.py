"""What a fitted classifier's model is worth on its training rows, from its public arrays and in 80 bits."""

from __future__ import annotations

from dataclasses import asdict
from functools import lru_cache
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from mpu_bench.kernels import Kernel, Linear, Polynomial
from oracles import exact_svm
from oracles.exact_svm import EPS, LONG, Interval
from sweep.problems import SmallProblem

_ROUNDING = 64 * EPS  # of a sum of kernel values or products, by the sum of their sizes
#: what a solver says it optimises -> the loss, whether b is free, and the features
PROBLEMS = {
    "w.w/2 + C sum hinge": ("l1", False, "rows"),
    "w.w/2 + C sum hinge, with bias": ("l1", True, "rows"),
    "w.w/2 + C sum hinge, random features": ("l1", False, "fourier"),
    "w.w + b b + C sum hinge^2": ("l2", False, "rows"),
}
#: solvers without an optimum to compare with
NONE = {"", "largest f(w)", "largest f(w), with bias"}


class Worth(NamedTuple):
    """Of all binary subproblems together."""

    objective: float  #: of the model, less what its computation may be wrong by
    optimum: Interval
    losses: float  #: sum C_i over the examples of all subproblems

    @property
    def gap(self) -> float:
        """What the gap is at least."""
        return self.objective / self.optimum.upper - 1


def objective_named(classifier: Any, n: int) -> str:
    """Return what the solver of a classifier says it optimises."""
    solver = classifier._solver(n)
    return str(solver.objective_of(asdict(solver)))


def of(classifier: Any, problem: SmallProblem) -> Worth | None:
    """Return what the model is worth; None where nothing is optimised, or the kernel has no positive square root."""
    name = objective_named(classifier, len(problem.y))
    if name in NONE:
        return None
    loss, bias, features = PROBLEMS[name]
    X, kernel = _rows(classifier, problem), classifier._kernel(problem.X)
    if features == "fourier":
        X, kernel = _fourier(X, _machines(classifier).frequencies), Linear()
    elif isinstance(kernel, Polynomial) and kernel.offset < 0:
        return None
    scores, squares, biases = _expansions(classifier, X, kernel)
    parts = []
    pairs = _pairs(classifier)
    for k, (chosen, signs) in enumerate(_subproblems(problem.y, pairs)):
        C = np.full(len(problem.y), LONG(classifier.C))
        if problem.weights is not None and hasattr(classifier, "class_weight"):
            C = C * problem.weights
        f, wrong = scores[0][chosen, k], scores[1][chosen, k]
        (square, off), b = squares[k], biases[k]
        square, kept, favoured = max(square - off, LONG(0)), C[chosen], signs * (f + b) + wrong
        if loss == "l1":
            objective = square / 2 + exact_svm.hinge(1, favoured, kept)
        else:
            objective = exact_svm.least_over_multiples(square + b * b, favoured, kept)[0]
        key = (problem.seed, len(problem.y), X.shape[1], features, kernel, loss, bias, k, len(pairs), pairs[0])
        optimum = _optimum(_Key(key, X[chosen], kernel, signs, kept))
        parts.append((float(objective), optimum, float(kept.sum())))
    total = Interval(sum(part[1].lower for part in parts), sum(part[1].upper for part in parts))
    return Worth(sum(part[0] for part in parts), total, sum(part[2] for part in parts))


class _Key:
    """A problem of the reference, told apart by its name and weights."""

    def __init__(self, name: Any, X: Any, kernel: Kernel, signs: Any, C: Any) -> None:
        self.name, self.X, self.kernel, self.signs, self.C = (*name, tuple(map(float, C))), X, kernel, signs, C

    def __hash__(self) -> int:
        return hash(self.name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and self.name == other.name and np.array_equal(self.X, other.X)


@lru_cache(maxsize=512)
def _optimum(key: _Key) -> Interval:
    loss, bias = key.name[5], key.name[6]
    products = exact_svm.gram(key.kernel, key.X, key.X)
    if loss == "l1":
        return exact_svm.l1(products, key.signs, key.C, bias)
    return exact_svm.l2(products, key.signs, key.C)


def _rows(classifier: Any, problem: SmallProblem) -> NDArray[np.longdouble]:
    X = problem.dense.astype(LONG)
    return np.hstack([X, np.ones((len(X), 1), LONG)]) if classifier._columns > X.shape[1] else X


def _fourier(X: Any, frequencies: Any) -> NDArray[np.longdouble]:
    angles = X @ frequencies.T.astype(LONG)
    return np.hstack([np.cos(angles), np.sin(angles)]) / np.sqrt(LONG(len(frequencies)))


def _machines(classifier: Any) -> Any:
    return getattr(classifier.model_, "machines", classifier.model_)


def _expansions(classifier: Any, X: Any, kernel: Kernel) -> tuple[Any, Any, Any]:
    """Return scores without b (n, p) and ||w||^2, both with what they may be wrong by, and b, by machine."""
    machines = _machines(classifier)
    if hasattr(machines, "weights"):
        weights = machines.weights.astype(LONG)
        squares = [(w @ w, _ROUNDING * (np.abs(w) @ np.abs(w))) for w in weights]
        wrong = _ROUNDING * (np.abs(X) @ np.abs(weights).T)
        return (X @ weights.T, wrong), squares, np.zeros(len(weights), LONG)
    vectors = classifier.support_vectors_
    vectors = np.asarray(vectors.toarray() if scipy.sparse.issparse(vectors) else vectors, LONG)
    coefficients = classifier.dual_coef_
    coefficients = np.asarray(coefficients.toarray() if scipy.sparse.issparse(coefficients) else coefficients, LONG)
    values = exact_svm.gram(kernel, vectors, vectors)
    squares = [(c @ values @ c, _ROUNDING * (np.abs(c) @ np.abs(values) @ np.abs(c))) for c in coefficients]
    met = exact_svm.gram(kernel, X, vectors)
    scores = met @ coefficients.T, _ROUNDING * (np.abs(met) @ np.abs(coefficients).T)
    return scores, squares, np.asarray(classifier.intercept_, LONG)


def _pairs(classifier: Any) -> list[tuple[int, int]]:
    """Return the classes of every machine, -1 for the rest."""
    classes = len(classifier.classes_)
    if classes == 2:
        return [(0, 1)]
    if classifier.multi_class == "ovo":
        return list(combinations(range(classes), 2))
    return [(-1, c) for c in range(classes)]


def _subproblems(y: Any, pairs: list[tuple[int, int]]) -> list[tuple[Any, Any]]:
    found = []
    for first, second in pairs:
        chosen = np.arange(len(y)) if first < 0 else np.flatnonzero((y == first) | (y == second))
        found.append((chosen, np.where(y[chosen] == second, LONG(1), LONG(-1))))
    return found


def margins(classifier: Any, problem: SmallProblem) -> list[tuple[float, Any, Any]]:
    """Return of every machine its margin min_i y_i f_i / ||w||, the Gram matrix of its rows and the signs."""
    X, kernel = _rows(classifier, problem), classifier._kernel(problem.X)
    (scores, _), squares, _ = _expansions(classifier, X, kernel)
    found = []
    for k, (chosen, signs) in enumerate(_subproblems(problem.y, _pairs(classifier))):
        norm = np.sqrt(max(squares[k][0], LONG(0)))
        margin = float((signs * scores[chosen, k]).min() / norm) if norm > 0 else 0.0
        found.append((margin, exact_svm.gram(kernel, X[chosen], X[chosen]), signs))
    return found
