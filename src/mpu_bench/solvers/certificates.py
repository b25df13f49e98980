"""What a model and dual variables say of the optimum of the L1-SVM, with a kernel or without.

    primal   J(w) = 1/2 ||w||^2 + C sum_i max(0, 1 - y_i f(x_i)),   f(x) = w.Phi(x) + b
    dual     D(alpha) = sum_i alpha_i - 1/2 ||sum_i alpha_i y_i Phi(x_i)||^2,   0 <= alpha_i <= C

Every J(w) is at least the optimum and every D(alpha) at most (with a bias b, where sum_i alpha_i y_i = 0), so J / D - 1
bounds the relative error of both. Linear solvers keep w, and an evaluation costs n inner products; kernel solvers keep
||w||^2 and the losses, and it costs nothing.

What is summed in double precision is rounded; `rounding` bounds by how much, and `Measures.certified` takes that off
the dual objective, so that no gap is below the true one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from annotated_types import Gt
from numpy.typing import NDArray

from mpu_bench.core.jit import jit
from mpu_bench.core.problem import Problem
from mpu_bench.core.rows import Rows, add, count, dot, squared_norms
from mpu_bench.core.solver import Measures, Solver
from mpu_bench.errors import DataError
from mpu_bench.kernels import Kernel

#: what `Solver.objective_of` says of J without a bias
L1_SVM = "w.w/2 + C sum hinge"

#: C of each example (n,), or that of all (1,): of one type, so that what reads it (`of_example`) is compiled once
PerExample = NDArray[np.float64]

_ONE = np.ones(1)


@dataclass(frozen=True)
class LinearL1SVM(Solver):
    """A solver of the linear L1-SVM without a bias, to an end of its own.

    Attributes
    ----------
    C : float
        The weight of the losses.
    """

    weighted: ClassVar = True
    ends: ClassVar = True
    objective: ClassVar = L1_SVM
    optimum: ClassVar = "optimum"

    C: Annotated[float, Gt(0)] = 1.0

    def check(self, problem: Problem, kernel: Kernel) -> None:
        """Refuse what a solver refuses, and weights that C times them does not allow."""
        super().check(problem, kernel)
        per_example(self.C, problem)


def no_progress(what: str, left: float, tolerance: float) -> str:
    """Return that rounding has ended a run before its tolerance; empty where no more is left than that."""
    if left <= tolerance:
        return ""
    return f"rounding leaves no progress from {what} of {left:.1e} on, above tolerance {tolerance:g}"


def finite_squared_norms(problem: Problem) -> NDArray[np.float64]:
    """Compute ``||x_i||^2`` of the training rows, shape (n,).

    Raises
    ------
    DataError
        If one is not finite, or all are too small for floating point.
    """
    norms: NDArray[np.float64] = squared_norms(problem.train)
    if not np.isfinite(norms).all():
        worst = int(np.argmin(np.isfinite(norms)))
        raise DataError(f"{problem.name}: ||x||^2 of training row {worst + 1} is not finite; scale the features down")
    if norms.max() < np.finfo(np.float64).tiny and problem.train[0].any():  # values: `Ones` are none, or longer
        raise DataError(f"{problem.name}: all ||x||^2 are too small for floating point; scale the features up")
    return norms


def rounding(terms: int, magnitude: float) -> float:
    """Bound the rounding error of a sum of products in double precision.

    Parameters
    ----------
    terms : int
        How many are added up.
    magnitude : float
        The sum of their absolute values, or more.

    Returns
    -------
    float
        Certain up to 64 terms. Beyond, the errors are taken as independent: 8 sqrt(terms) units are exceeded with a
        probability below 1e-13 (Higham, Mary: "A new approach to probabilistic rounding error analysis", 2019).
    """
    return min(terms, 8.0 * math.sqrt(terms)) * float(np.finfo(np.float64).eps) * magnitude


@jit
def loss(C, rows, signs, weights):
    """Return ``sum_i C_i max(0, 1 - y_i w.x_i)``, with C of each example (n,) or of all (1,); n inner products."""
    total, of_all = 0.0, C[0] if len(C) == 1 else 1.0
    for i in range(np.uint32(count(rows))):
        of_one = 1.0 if len(C) == 1 else of_example(C, i)
        total += of_one * max(0.0, 1.0 - signs[i] * dot(rows, np.uint32(i), weights))
    return of_all * total


@jit
def of_example(numbers, i):
    """Return the number of example i, where there is one of each (n,) or one of all (1,)."""
    return numbers[min(np.uint32(i), np.uint32(len(numbers) - 1))]


def per_example(C: float, problem: Problem) -> PerExample:
    """Return C times the weights of a problem's examples (n,), or C of all (1,) where they have none.

    Raises
    ------
    DataError
        If a product is too large, or too small, for floating point.
    """
    if problem.weights is None:
        return np.array([float(C)])
    with np.errstate(over="ignore"):
        products: PerExample = C * problem.weights
    misfit = ~np.isfinite(products) | ((products < np.finfo(np.float64).tiny) & (problem.weights > 0.0))
    if misfit.any():
        worst = int(np.argmax(misfit))
        raise DataError(
            f"{problem.name}: C is {C:g} and the weight of training row {worst + 1} {problem.weights[worst]:g}; their"
            " product is too large or too small for floating point: take weights nearer to 1, or another C"
        )
    return products


@jit
def _survey(C, loss_weights, rows, signs, weights, norms, unit):
    """Return weighted losses, by how much C times them may be wrong, a response by ``unit ||x_i||``, and the smallest.

    C and the weights are those of each example (n,) or of all (1,); n inner products.
    """
    losses, wrong, smallest = 0.0, 0.0, np.inf
    for i in range(np.uint32(count(rows))):
        response, off = signs[i] * dot(rows, np.uint32(i), weights), unit * norms[i]
        losses += of_example(loss_weights, i) * max(0.0, 1.0 - response)
        smallest = min(smallest, response)
        if response < 1.0 + off:
            wrong += of_example(C, i) * off
    return losses, wrong, smallest


@jit
def combine(rows, signs, alphas, weights):
    """Add ``sum_i alpha_i y_i x_i`` to the weights."""
    for i in range(np.uint32(count(rows))):
        if alphas[i] != 0.0:
            add(rows, np.uint32(i), signs[i] * alphas[i], weights)


def primal(rows: Rows, signs: NDArray[np.float64], weights: NDArray[np.float64], C: PerExample) -> float:
    """Evaluate J(w) of a linear model without a bias.

    Parameters
    ----------
    rows : Rows
        n examples.
    signs : array of float64, shape (n,)
        The labels, -1 or +1.
    weights : array of float64, shape (d,)
    C : array of float64, shape (n,) or (1,)
        The weight of each loss, or of all, above 0.
    """
    return float(weights @ weights / 2 + loss(C, rows, signs, weights))


def margin(rows: Rows, signs: NDArray[np.float64], weights: NDArray[np.float64]) -> float | None:
    """Evaluate ``min_i y_i w.x_i / ||w||``; None while the weights are zero."""
    return _margin(_survey(_ONE, _ONE, rows, signs, weights, np.zeros(len(signs)), 0.0)[2], weights)


def _margin(smallest: float, weights: NDArray[np.float64]) -> float | None:
    norm = float(np.linalg.norm(weights))
    return float(smallest) / norm if norm > 0 else None


def certify(
    rows: Rows,
    signs: NDArray[np.float64],
    squared_norms: NDArray[np.float64],
    weights: NDArray[np.float64],
    alphas: NDArray[np.float64],
    C: PerExample,
) -> Measures:
    """Bound the error of a linear model without a bias by its own dual variables.

    Parameters
    ----------
    rows : Rows
        n examples.
    signs : array of float64, shape (n,)
        The labels, -1 or +1.
    squared_norms : array of float64, shape (n,)
        ``||x_i||^2``.
    weights : array of float64, shape (d,)
        The model whose objective is bounded.
    alphas : array of float64, shape (n,)
        Dual variables, in [0, C].
    C : array of float64, shape (n,) or (1,)
        The weight of each loss, or of all, above 0.
    """
    exact, norms = np.zeros_like(weights), np.sqrt(squared_norms)
    combine(rows, signs, alphas, exact)  # from the dual variables alone: no rounding of a solver enters
    return certify_sum(rows, signs, weights, C, norms, float(alphas.sum()), exact, float(alphas @ norms))


def certify_sum(
    rows: Rows,
    signs: NDArray[np.float64],
    weights: NDArray[np.float64],
    C: PerExample,
    norms: NDArray[np.float64],
    total: float,
    combined: NDArray[np.float64],
    reach: float,
) -> Measures:
    """Bound the error of a linear model as `certify` does, where only sums of the dual variables are known.

    Parameters
    ----------
    rows, signs, weights, C
        As of `certify`.
    norms : array of float64, shape (n,)
        ``||x_i||``.
    total : float
        sum_i alpha_i.
    combined : array of float64, shape (d,)
        sum_i alpha_i y_i x_i.
    reach : float
        sum_i alpha_i ||x_i||, or more.
    """
    n, d, norm, squared = len(signs), len(weights), float(np.linalg.norm(weights)), float(combined @ combined)
    scale, loss_weights = (1.0, C) if len(C) > 1 else (float(C[0]), _ONE)
    losses, of_losses, smallest = _survey(C, loss_weights, rows, signs, weights, norms, rounding(d, norm))
    objective = float(weights @ weights / 2 + scale * losses)
    of_primal = float(of_losses) + rounding(n, objective) + rounding(d, norm * norm / 2)
    of_combined = rounding(n, reach)
    of_dual = (math.sqrt(squared) + of_combined) * of_combined + rounding(d, squared / 2) + rounding(n, total)
    return Measures.certified(
        objective, total - squared / 2, max(of_primal, of_dual), margin=_margin(smallest, weights)
    )


def kernel_primal(squared_norm: float, losses: NDArray[np.float64], C: PerExample) -> float:
    """Evaluate J from ``||w||^2`` and the hinge loss of every example, shape (n,)."""
    return squared_norm / 2 + (float(C @ losses) if len(C) > 1 else float(C[0]) * float(losses.sum()))


def certify_kernel(
    coefficients: NDArray[np.float64],
    squared_norm: float,
    losses: NDArray[np.float64],
    C: PerExample,
    rounding: float = 0.0,
    *,
    of_norm: float = 0.0,
) -> Measures:
    """Bound the error of a kernel expansion by its own coefficients.

    Parameters
    ----------
    coefficients : array of float64, shape (n,)
        The dual variables, or these with the signs of the labels.
    squared_norm : float
        ``||w||^2`` of the expansion with these coefficients.
    losses : array of float64, shape (n,)
        The hinge loss of every example.
    C : array of float64, shape (n,) or (1,)
        The weight of each loss, or of all, above 0.
    rounding : float
        By how much the primal and the dual objective may each be wrong.
    of_norm : float
        By how much ``||w||^2 / 2`` may be, of that.
    """
    bound = float(np.abs(coefficients).sum()) - squared_norm / 2
    nu = nu_of(losses, squared_norm, of_norm)
    return Measures.certified(kernel_primal(squared_norm, losses, C), bound, rounding, nu=nu)


def nu_of(losses: NDArray[np.float64], squared_norm: float, rounding: float = 0.0) -> float | None:
    """Return nu = (mean hinge loss) / ||w||, for which w / ||w|| solves sbp-2012's Problem 2.3 if w solves its 2.2.

    Parameters
    ----------
    losses : array of float64, shape (n,)
        The hinge loss of every example.
    squared_norm : float
        ``||w||^2``.
    rounding : float
        By how much ||w||^2 / 2 may be wrong; where it may be zero there is no nu (None).
    """
    return float(losses.mean()) / math.sqrt(squared_norm) if squared_norm > 2.0 * rounding else None
