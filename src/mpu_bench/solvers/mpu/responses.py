"""The responses p_i = a.z_i of the examples z_i = y_i x_i to a = sum_j I_j z_j, from the vector a or by a kernel.

`LinearResponses` keeps a: a response is an inner product, and a change of I_i adds a row to a. `KernelResponses` keeps
every p_i = sum_j I_j y_i y_j K(x_i, x_j), where a is known by its I_i only: a response is looked up, and a change of
I_i asks for row i of the kernel matrix. Algorithms are written once, on the functions below.

The responses a kernel keeps are never computed anew. Each change of an I_i rounds them once, so that after s changes
they are wrong by about s 1e-16 of the largest response there was: the accuracy is far below the certificates'.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from mpu_bench.core.gram import kernel_diagonal, kernel_row
from mpu_bench.core.jit import dispatch
from mpu_bench.core.kernels import Kernel, Linear
from mpu_bench.core.models import KernelModel, LinearModel, Model
from mpu_bench.core.prefetch import prefetch
from mpu_bench.core.problem import Problem
from mpu_bench.core.rows import Rows, add, dot, new_weights, prepare, take
from mpu_bench.errors import DataError
from mpu_bench.solvers.certificates import combine, finite_squared_norms


class LinearResponses(NamedTuple):
    """n examples of d features and the vector a."""

    rows: Rows
    signs: NDArray[np.float64]  #: y (n,)
    weights: NDArray[np.float64]  #: a (d,)


class KernelResponses(NamedTuple):
    """n examples of d features and their responses."""

    rows: Rows
    signs: NDArray[np.float64]  #: y (n,)
    squared_norms: NDArray[np.float64]  #: ||x_i||^2 (n,)
    kernel: Kernel
    responses: NDArray[np.float64]  #: p (n,)
    kernel_row: NDArray[np.float64]  #: (n,) room for a row of the kernel matrix
    example: NDArray[np.float64]  #: (d,) room for an example; zero between changes


Responses = LinearResponses | KernelResponses


def responses_to_zero(problem: Problem, kernel: Kernel) -> tuple[Responses, NDArray[np.float64]]:
    """Start at a = 0; gives the responses and ``||z_i||^2 = K(x_i, x_i)``, shape (n,).

    Raises
    ------
    DataError
        If a squared norm is not finite, or is negative, which no kernel's is.
    """
    norms = finite_squared_norms(problem)
    if isinstance(kernel, Linear):
        return LinearResponses(problem.train, problem.signs(), new_weights(problem.features)), norms
    diagonal = kernel_diagonal(kernel, norms)
    wrong = ~np.isfinite(diagonal) | (diagonal < 0.0)
    if wrong.any():
        worst = int(np.argmax(wrong))
        raise DataError(
            f"{problem.name}: K(x, x) of training row {worst} is {diagonal[worst]:.3g}; scale the features down"
            f" or take another kernel than {kernel}"
        )
    n, room = problem.n, np.zeros(problem.features)
    return KernelResponses(problem.train, problem.signs(), norms, kernel, np.zeros(n), np.zeros(n), room), diagonal


def _linear_response(held, i):
    return held.signs[i] * dot(held.rows, i, held.weights)


def _kernel_response(held, i):
    return held.responses[i]


def _linear_change(held, i, multiplicity):
    add(held.rows, i, held.signs[i] * multiplicity, held.weights)  # (2)
    return 0


def _kernel_change(held, i, multiplicity):
    kernel_row(held.kernel, held.rows, held.squared_norms, i, held.example, held.kernel_row)
    scale = held.signs[i] * multiplicity
    for j in range(len(held.responses)):
        held.responses[j] += scale * held.signs[j] * held.kernel_row[j]
    return len(held.responses)


def _linear_fetch(held, i):
    prepare(held.rows, i)
    prefetch(held.signs, i)


def _kernel_fetch(held, i):
    prefetch(held.responses, i)


def _linear_products(_held):
    return 1


def _kernel_products(_held):
    return 0


def _linear_squared_length(held, _multiplicities):
    return (held.weights * held.weights).sum()


def _kernel_squared_length(held, multiplicities):
    return max((held.responses * multiplicities).sum(), 0.0)


#: ``response(held, i)``: p_i; a float64.
response = dispatch("response", {LinearResponses: _linear_response, KernelResponses: _kernel_response})

#: ``change(held, i, multiplicity)``: a += multiplicity z_i; gives the number of kernel values asked for.
change = dispatch("change", {LinearResponses: _linear_change, KernelResponses: _kernel_change})

#: ``fetch(held, i)``: a hint that ``response(held, i)`` is needed soon.
fetch = dispatch("fetch", {LinearResponses: _linear_fetch, KernelResponses: _kernel_fetch})

#: ``products(held)``: how many inner products a response costs, 0 or 1.
products = dispatch("products", {LinearResponses: _linear_products, KernelResponses: _kernel_products})

#: ``squared_length(held, I)``: ||a||^2, with a kernel as sum_i I_i p_i, (18).
squared_length = dispatch(
    "squared_length", {LinearResponses: _linear_squared_length, KernelResponses: _kernel_squared_length}, owns=True
)


@njit(cache=True, nogil=True)
def survey(held, threshold):
    """Look at every response: gives ``sum_i max(0, threshold - p_i)`` and ``min_i p_i``; n responses."""
    loss, smallest = 0.0, np.inf
    for i in range(np.uint32(len(held.signs))):
        p = response(held, np.uint32(i))
        loss += max(0.0, threshold - p)
        smallest = min(smallest, p)
    return loss, smallest


def recombined_squared_length(held: Responses, multiplicities: NDArray[np.float64]) -> float:
    """Compute ``||sum_i I_i z_i||^2`` from the I_i alone where that is cheap: no rounding of a solver enters."""
    if isinstance(held, LinearResponses):
        weights = np.zeros_like(held.weights)
        combine(held.rows, held.signs, multiplicities, weights)
        held = held._replace(weights=weights)
    return float(squared_length(held, multiplicities))


def model_of(held: Responses, multiplicities: NDArray[np.float64], threshold: float) -> Model:
    """Give w = a / threshold; with a kernel as the expansion over the examples with I_i > 0."""
    if isinstance(held, LinearResponses):
        return LinearModel(held.weights[np.newaxis] / threshold)
    support = np.flatnonzero(multiplicities)
    coefficients = (held.signs * multiplicities)[support, np.newaxis] / threshold
    return KernelModel(take(held.rows, support), coefficients, held.kernel, len(held.example))
