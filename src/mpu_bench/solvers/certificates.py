"""The linear L1-SVM, shared by its solvers: primal, dual and margin.

    primal   J(w) = 1/2 ||w||^2 + C sum_i max(0, 1 - y_i w.x_i)
    dual     D(alpha) = sum_i alpha_i - 1/2 ||sum_i alpha_i y_i x_i||^2,   0 <= alpha_i <= C

Every J(w) is at least the optimum and every D(alpha) at most, so J / D - 1 bounds the relative error of both.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from mpu_bench.core.problem import Problem
from mpu_bench.core.rows import Rows, add, count, dot, squared_norms
from mpu_bench.core.solver import Measures
from mpu_bench.errors import DataError


def finite_squared_norms(problem: Problem) -> NDArray[np.float64]:
    """Compute ``||x_i||^2`` of the training rows, shape (n,).

    Raises
    ------
    DataError
        If one is not finite.
    """
    norms: NDArray[np.float64] = squared_norms(problem.train)
    if not np.isfinite(norms).all():
        worst = int(np.argmin(np.isfinite(norms)))
        raise DataError(f"{problem.name}: ||x||^2 of training row {worst} is not finite; scale the features down")
    return norms


@njit(cache=True, nogil=True)
def hinge_sum(rows, signs, weights, threshold):
    """Sum ``max(0, threshold - y_i w.x_i)`` over all examples; n inner products."""
    total = 0.0
    for i in range(np.uint32(count(rows))):
        total += max(0.0, threshold - signs[i] * dot(rows, np.uint32(i), weights))
    return total


@njit(cache=True, nogil=True)
def _smallest_response(rows, signs, weights):
    smallest = np.inf
    for i in range(np.uint32(count(rows))):
        smallest = min(smallest, signs[i] * dot(rows, np.uint32(i), weights))
    return smallest


@njit(cache=True, nogil=True)
def combine(rows, signs, alphas, weights):
    """Add ``sum_i alpha_i y_i x_i`` to the weights."""
    for i in range(np.uint32(count(rows))):
        if alphas[i] != 0.0:
            add(rows, np.uint32(i), signs[i] * alphas[i], weights)


def primal(rows: Rows, signs: NDArray[np.float64], weights: NDArray[np.float64], C: float) -> float:
    """Evaluate J(w).

    Parameters
    ----------
    rows : Rows
        n examples.
    signs : array of float64, shape (n,)
        The labels, -1 or +1.
    weights : array of float64, shape (d,)
    C : float
        The weight of the losses, above 0.
    """
    return float(weights @ weights / 2 + C * hinge_sum(rows, signs, weights, 1.0))


def dual(rows: Rows, signs: NDArray[np.float64], alphas: NDArray[np.float64], features: int) -> float:
    """Evaluate D(alpha) from the dual variables alone, shape (n,): no rounding of a solver enters."""
    weights = np.zeros(features)
    combine(rows, signs, alphas, weights)
    return float(alphas.sum() - weights @ weights / 2)


def certify(
    rows: Rows, signs: NDArray[np.float64], weights: NDArray[np.float64], alphas: NDArray[np.float64], C: float
) -> Measures:
    """Bound the error of a model by its own dual variables.

    Parameters
    ----------
    rows : Rows
        n examples.
    signs : array of float64, shape (n,)
        The labels, -1 or +1.
    weights : array of float64, shape (d,)
        The model whose objective is bounded.
    alphas : array of float64, shape (n,)
        Dual variables, in [0, C].
    C : float
        The weight of the losses, above 0.

    Returns
    -------
    Measures
        Without a gap while the dual objective is not above zero, as at the start.
    """
    objective, bound = primal(rows, signs, weights, C), dual(rows, signs, alphas, len(weights))
    gap = objective / bound - 1 if bound > 0 else None
    return Measures(objective, bound, gap, margin(rows, signs, weights))


def margin(rows: Rows, signs: NDArray[np.float64], weights: NDArray[np.float64]) -> float | None:
    """Evaluate ``min_i y_i w.x_i / ||w||``; None while the weights are zero."""
    length: Any = np.linalg.norm(weights)
    return float(_smallest_response(rows, signs, weights) / length) if length > 0 else None
