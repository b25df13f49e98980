"""The responses p_i = a.z_i of the examples z_i = y_i x_i to a = sum_j I_j z_j, from the vector a or by a kernel.

`LinearResponses` keeps a: a response is an inner product, and a change of I_i adds a row to a. `KernelResponses` keeps
every p_i = sum_j I_j y_i y_j K(x_i, x_j), where a is known by its I_i only: a response is looked up, and a change of
I_i asks for row i of the kernel matrix, which is kept (kernels/matrix.py). Algorithms are written once, on the
functions below.

The responses a kernel keeps are computed anew for certificates only. Each change of an I_i rounds them once, so that
after s changes they are wrong by about s 1e-16 of the largest response there was.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mpu_bench.core.counters import new_counters
from mpu_bench.core.jit import jit, jit_dispatch
from mpu_bench.core.models import KernelModel, LinearModel, Model
from mpu_bench.core.prefetch import prefetch
from mpu_bench.core.problem import Problem
from mpu_bench.core.rows import Rows, add, dot, new_weights, prefetch_row
from mpu_bench.errors import DataError
from mpu_bench.kernels import Kernel, Linear
from mpu_bench.kernels import matrix as kernel_matrix
from mpu_bench.kernels.matrix import Gram, row_slot
from mpu_bench.solvers.certificates import combine, finite_squared_norms, of_example


class LinearResponses(NamedTuple):
    """n examples of d features and the vector a."""

    rows: Rows
    signs: NDArray[np.float64]  #: y (n,)
    a: NDArray[np.float64]  #: (d,)
    features: int
    products: int = 1  #: that a response takes


class KernelResponses(NamedTuple):
    """n examples of d features and their responses."""

    rows: Any  #: Rows; None in jitted code (`without_rows`)
    signs: NDArray[np.float64]  #: y (n,)
    gram: Gram  #: in double precision
    p: NDArray[np.float64]  #: (n,)
    features: int
    products: int = 0


Responses = LinearResponses | KernelResponses


def responses_to_zero(problem: Problem, kernel: Kernel) -> tuple[Responses, NDArray[np.float64]]:
    """Return the responses to a = 0, and ``||z_i||^2 = K(x_i, x_i)``, shape (n,).

    Raises
    ------
    DataError
        If a squared norm is not finite or too small, or is negative, which no kernel's is.
    """
    if isinstance(kernel, Linear):
        norms = finite_squared_norms(problem)
        return LinearResponses(problem.train, problem.signs(), new_weights(problem.features), problem.features), norms
    gram = kernel_matrix.build(problem.train, problem.features, kernel, precision="double")
    if gram.diagonal[worst := int(np.argmin(gram.diagonal))] < 0.0:
        raise DataError(
            f"{problem.name}: K(x, x) of training row {worst + 1} is {gram.diagonal[worst]:.3g}; "
            f"take another kernel than {kernel}"
        )
    return KernelResponses(problem.train, problem.signs(), gram, np.zeros(problem.n), problem.features), gram.diagonal


def without_rows(responses: Responses) -> Responses:
    """Return responses as jitted code takes them: with a kernel it reads no rows, and is the same for all types."""
    return responses._replace(rows=None) if isinstance(responses, KernelResponses) else responses


def is_certified(responses: Responses) -> bool:
    """Return whether ||a|| is a length, so that what is concluded from it holds."""
    return isinstance(responses, LinearResponses) or responses.gram.kernel.positive_semidefinite


@jit_dispatch
def response(responses, i):
    """Return p_i; a float64."""


@response.register(LinearResponses)
def _(responses, i):
    return responses.signs[i] * dot(responses.rows, i, responses.a)


@response.register(KernelResponses)
def _(responses, i):
    return responses.p[i]


@jit_dispatch
def update(responses, i, multiplicity, counters):
    """Add ``multiplicity z_i`` to a, (2); the kernel values asked for are counted."""


@update.register(LinearResponses)
def _(responses, i, multiplicity, counters):  # noqa: ARG001
    add(responses.rows, i, responses.signs[i] * multiplicity, responses.a)


@update.register(KernelResponses)
def _(responses, i, multiplicity, counters):
    row = responses.gram.kept[row_slot(responses.gram, i, counters)]
    scale = responses.signs[i] * multiplicity
    for j in range(len(row)):
        responses.p[j] += scale * responses.signs[j] * row[j]


@jit_dispatch
def prefetch_response(responses, i):
    """Hint that ``response(responses, i)`` is needed soon."""


@prefetch_response.register(LinearResponses)
def _(responses, i):
    prefetch_row(responses.rows, i)
    prefetch(responses.signs, i)


@prefetch_response.register(KernelResponses)
def _(responses, i):
    prefetch(responses.p, i)


@jit_dispatch(allocates=True)
def squared_norm_of_a(responses, multiplicities):
    """Compute ``||a||^2``, with a kernel as ``sum_i I_i p_i``, (18); below 0 it may be of an indefinite kernel."""


@squared_norm_of_a.register(LinearResponses)
def _(responses, _multiplicities):
    return (responses.a * responses.a).sum()


@squared_norm_of_a.register(KernelResponses)
def _(responses, multiplicities):
    return (responses.p * multiplicities).sum()


@jit
def hinge_sum_and_min(responses, threshold, weights):
    """Return ``sum_i s_i max(0, threshold - p_i)`` and ``min_i p_i``; n responses, s_i of each (n,) or of all (1,)."""
    loss, smallest = 0.0, np.inf
    for i in range(np.uint32(len(responses.signs))):
        p = response(responses, np.uint32(i))
        loss += of_example(weights, np.uint32(i)) * max(0.0, threshold - p)
        smallest = min(smallest, p)
    return loss, smallest


def anew(responses: Responses, multiplicities: NDArray[np.float64]) -> Any:
    """Return the responses computed from the I_i alone: no rounding of a solver enters."""
    if isinstance(responses, LinearResponses):
        a = np.zeros_like(responses.a)
        combine(responses.rows, responses.signs, multiplicities, a)
        return responses._replace(a=a)
    gram, p, left = responses.gram, np.zeros_like(responses.p), responses.signs * multiplicities
    for j in np.flatnonzero(left):
        if (slot := gram.lru.slot_of_row[j]) >= 0:
            p += left[j] * gram.kept[slot]
            left[j] = 0.0
    kernel_matrix.add_rows(kernel_matrix.copy_without_rows(gram), left, p, new_counters())
    return without_rows(responses._replace(p=responses.signs * p))


def model_of(responses: Responses, multiplicities: NDArray[np.float64], b: float) -> Model:
    """Return w = a / b; with a kernel as the expansion over the examples with I_i > 0."""
    if isinstance(responses, LinearResponses):
        return LinearModel(responses.a[np.newaxis] / b)
    coefficients = responses.signs * multiplicities / b
    return KernelModel.of_support(responses.rows, coefficients, responses.gram.kernel, responses.features)
