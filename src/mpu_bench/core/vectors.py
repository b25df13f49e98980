"""The vectors an online kernel machine keeps, by columns, so that one example meets them all in vector registers.

An example is scored against all m vectors at once: for each of its columns that is not zero, one multiply-add per
vector, neighbouring vectors together, and then one kernel function per vector. Sparse examples touch only their own
columns, so the cost of a kernel value is the example's non-zero values and, for a Gaussian, one exponential.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from mpu_bench.core.kernels import values
from mpu_bench.core.rows import Dense, pairs, squared_norm

_BLOCK = 4096  # vectors whose sums are formed together; they stay in the nearest cache
_TOGETHER = 4  # columns that are added at a time

Precision = Literal["single", "double"]


class Vectors(NamedTuple):
    """Room for vectors of d features; the first m are there. Values are float32, or float64 in double precision."""

    columns: NDArray[np.floating[Any]]  #: (d, room)
    squared_norms: NDArray[np.floating[Any]]  #: (room,)
    size: NDArray[np.int64]  #: m (1,)
    chosen: NDArray[np.uint32]  #: (d,) the columns of the example at hand that are not zero
    scales: NDArray[np.floating[Any]]  #: (d,) its values there


def new_vectors(features: int, room: int, precision: Precision = "single") -> Vectors:
    """Make room for vectors; none is there yet.

    Parameters
    ----------
    features : int
        d.
    room : int
        How many vectors there is room for.
    precision : {"single", "double"}
        Of their values and of the kernel values.
    """
    dtype = np.float32 if precision == "single" else np.float64
    return Vectors(
        np.zeros((features, room), dtype),
        np.zeros(room, dtype),
        np.zeros(1, np.int64),
        np.zeros(features, np.uint32),
        np.zeros(features, dtype),
    )


def enlarged(vectors: Vectors, room: int) -> Vectors:
    """Copy the vectors into more room."""
    columns = np.zeros((vectors.columns.shape[0], room), vectors.columns.dtype)
    columns[:, : vectors.columns.shape[1]] = vectors.columns
    norms = np.zeros(room, vectors.squared_norms.dtype)
    norms[: len(vectors.squared_norms)] = vectors.squared_norms
    return vectors._replace(columns=columns, squared_norms=norms)


def rows_of(vectors: Vectors) -> Dense:
    """Copy the vectors out, one a row; shape (m, d)."""
    return Dense(np.ascontiguousarray(vectors.columns[:, : vectors.size[0]].T))


@njit(cache=True, nogil=True)
def put(vectors, place, rows, i):
    """Copy row i to a place, over what is there; the place may be the one after the last."""
    vectors.columns[:, place] = 0
    _put_into_zeros(vectors, place, rows, i)


@njit(cache=True, nogil=True)
def append(vectors, rows, first, last):
    """Copy the rows from first to last, last not among them, to places that nothing has been in."""
    for i in range(first, last):
        _put_into_zeros(vectors, vectors.size[0], rows, np.uint32(i))


@njit(cache=True, nogil=True)
def _put_into_zeros(vectors, place, rows, i):
    m = pairs(rows, i, vectors.chosen, vectors.scales)
    for k in range(m):
        vectors.columns[vectors.chosen[k], place] = vectors.scales[k]
    vectors.squared_norms[place] = squared_norm(rows, i)
    vectors.size[0] = max(vectors.size[0], place + 1)


@njit(cache=True, nogil=True)
def kernel_values(vectors, kernel, rows, i, out):
    """Compute the kernel values of row i with all vectors.

    Parameters
    ----------
    vectors : Vectors
        m vectors.
    kernel : Kernel
    rows : Rows
    i : uint32
    out : array, shape (room,), as precise as the vectors
        The first m get the values.
    """
    products = out[: vectors.size[0]]
    _sum_columns(vectors, pairs(rows, i, vectors.chosen, vectors.scales), products)
    values(kernel, products, vectors.squared_norms[: len(products)], squared_norm(rows, i))


@njit(cache=True, nogil=True, fastmath={"contract"})
def _sum_columns(vectors, pairs_there, out):
    columns, chosen, scales = vectors.columns, vectors.chosen, vectors.scales
    whole = pairs_there - pairs_there % _TOGETHER
    for start in range(0, len(out), _BLOCK):
        sums = out[start : start + _BLOCK]
        sums[:] = 0
        stop = start + len(sums)
        for k in range(0, whole, _TOGETHER):
            s0, s1, s2, s3 = scales[k], scales[k + 1], scales[k + 2], scales[k + 3]
            c0, c1 = columns[chosen[k], start:stop], columns[chosen[k + 1], start:stop]
            c2, c3 = columns[chosen[k + 2], start:stop], columns[chosen[k + 3], start:stop]
            for j in range(len(sums)):
                sums[j] += s0 * c0[j] + s1 * c1[j] + s2 * c2[j] + s3 * c3[j]
        for k in range(whole, pairs_there):
            s, c = scales[k], columns[chosen[k], start:stop]
            for j in range(len(sums)):
                sums[j] += s * c[j]


@njit(cache=True, nogil=True)
def score(coefficients, kernel_row, scores):
    """Compute ``f_c = sum_j coefficients[c, j] kernel_row[j]``, j over the vectors there, for every score c."""
    for c in range(len(scores)):
        scores[c] = _sum_of_products(coefficients[c], kernel_row)


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _sum_of_products(coefficients, kernel_row):
    total = 0.0
    for j in range(len(kernel_row)):
        total += coefficients[j] * np.float64(kernel_row[j])
    return total
