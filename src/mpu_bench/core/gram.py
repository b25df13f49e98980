"""Rows of the kernel matrix.

A beginning that computes one row at a time, with one thread and keeping nothing: every value asked for is computed.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from mpu_bench.core.kernels import value
from mpu_bench.core.rows import add, count, dot, prepare

_AHEAD = 6  # rows ahead that are fetched


@njit(cache=True, nogil=True)
def kernel_row(kernel, rows, squared_norms, i, example, row):
    """Compute K(x_i, x_j) for all j; n kernel evaluations.

    Parameters
    ----------
    kernel : Kernel
    rows : Rows
        n examples of d features.
    squared_norms : array of float64, shape (n,)
        ``||x_j||^2``.
    i : uint32
    example : array of float64, shape (d,)
        Zero; holds x_i meanwhile, and is zero again afterwards.
    row : array of float64, shape (n,)
        Gets the values.
    """
    add(rows, i, 1.0, example)
    last = count(rows) - 1
    for j in range(count(rows)):
        prepare(rows, np.uint32(min(j + _AHEAD, last)))
        product = dot(rows, np.uint32(j), example)
        row[j] = value(kernel, product, squared_norms[j], squared_norms[i])
    add(rows, i, -1.0, example)  # exactly zero, at the cost of the row alone


@njit(cache=True, nogil=True)
def kernel_diagonal(kernel, squared_norms):
    """Compute K(x_i, x_i) for all i from ``||x_i||^2``; both of shape (n,)."""
    diagonal = np.empty(len(squared_norms))
    for i in range(len(squared_norms)):
        diagonal[i] = value(kernel, squared_norms[i], squared_norms[i], squared_norms[i])
    return diagonal
