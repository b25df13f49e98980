"""The vectors an online kernel machine keeps, by columns, so that one example meets them all in vector registers.

An example is scored against all m vectors at once: for each of its columns that is not zero, one multiply-add per
vector, neighbouring vectors together, and then one kernel function per vector. Sparse examples touch only their own
columns, so the cost of a kernel value is the example's non-zero values and, for a Gaussian, one exponential.

Where all values are up to 255 times a step, such as pixels, vectors can be kept in a byte a value: that takes a third
of the time once the nearest cache does not hold them.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from mpu_bench.core.jit import jit
from mpu_bench.core.kernels import values
from mpu_bench.core.rows import Dense, Ones, Rows, nonzeros, squared_norm

_BLOCK = 4096  # vectors whose sums are formed together; they stay in the nearest cache
_TOGETHER = 4  # columns that are added at a time
_DIGITS = 255
_ROUNDING = 3e-7  # of single precision

_GROUP = 64  # loops run over whole groups of vectors, which need no code for what is left over

Precision = Literal["single", "double"]


class Vectors(NamedTuple):
    """Room for vectors of d features; the first m are there. Values are float32, or float64 in double precision.

    Where the rows have a step, the columns are uint8 and count it.

    What is computed for all vectors is computed for places up to the end of the last group as well, where there is
    room (`padded`): these hold no vector, but finite numbers.
    """

    columns: NDArray[Any]  #: (d, room)
    squared_norms: NDArray[np.floating[Any]]  #: (room,)
    size: NDArray[np.int64]  #: m (1,)
    indices: NDArray[np.uint32]  #: (d,) the columns of the example at hand that are not zero
    values: NDArray[np.floating[Any]]  #: (d,) its values there
    step: float = 1.0  #: by which the columns are multiplied


def step_of(rows: Rows) -> float:
    """Give the step of which all values are multiples up to 255 times; 0 where there is none."""
    if isinstance(rows, Ones):
        return 1.0
    values = rows.values.ravel()
    step = float(_step(values)) if values.dtype == np.float32 else 0.0
    return step if step > 0 and _are_digits(values, step) else 0.0


@jit
def _step(values):
    """Guess the step from the largest value, whose rounding is the least, and the smallest that is not zero."""
    least, most = np.inf, 0.0
    for value in values:
        if value < 0:
            return 0.0
        if value > 0:
            least, most = min(least, value), max(most, value)
    return most / np.rint(most / least) if 0.0 < most < (_DIGITS + 0.5) * least else 0.0


@jit
def _are_digits(values, step):
    worst = 0.0
    for value in values:
        steps = value / step
        worst = max(worst, abs(steps - np.rint(steps)) - _ROUNDING * steps)
    return worst <= 0.0


def new_vectors(features: int, room: int, precision: Precision = "single", step: float = 0.0) -> Vectors:
    """Make room for vectors; none is there yet.

    Parameters
    ----------
    features : int
        d.
    room : int
        How many vectors there is room for; whole groups (`padded`) are fastest.
    precision : {"single", "double"}
        Of their values and of the kernel values.
    step : float
        That of all rows that will be put there (`step_of`), if they have one; for single precision.
    """
    dtype = np.float32 if precision == "single" else np.float64
    in_digits = step > 0 and precision == "single"
    return Vectors(
        np.zeros((features, room), np.uint8 if in_digits else dtype),
        np.zeros(room, dtype),
        np.zeros(1, np.int64),
        np.zeros(features, np.uint32),
        np.zeros(features, dtype),
        step if in_digits else 1.0,
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
    rows = np.ascontiguousarray(vectors.columns[:, : vectors.size[0]].T, vectors.squared_norms.dtype)
    return Dense((rows * np.float64(vectors.step)).astype(rows.dtype))


@njit(cache=True, nogil=True, inline="always")
def padded(size):
    """Round up to whole groups."""
    return (size + (_GROUP - 1)) // _GROUP * _GROUP


@jit(forceinline=True)
def put(vectors, place, rows, i):
    """Copy row i to a place, over what is there; the place may be the one after the last."""
    vectors.columns[:, place] = 0
    _put_into_zeros(vectors, place, rows, i)


@jit
def append(vectors, rows, first, last):
    """Copy the rows from first to last, last not among them, to places that nothing has been in."""
    for i in range(first, last):
        _put_into_zeros(vectors, vectors.size[0], rows, np.uint32(i))


@jit(forceinline=True)
def _put_into_zeros(vectors, place, rows, i):
    m = nonzeros(rows, i, vectors.indices, vectors.values)
    for k in range(m):
        value = vectors.values[k]
        if vectors.columns.itemsize == 1:
            value = np.float32(value / vectors.step + 0.5)
        vectors.columns[vectors.indices[k], place] = value
    vectors.squared_norms[place] = squared_norm(rows, i)
    vectors.size[0] = max(vectors.size[0], place + 1)


@jit
def put_between(vectors, place, first, second, share):
    """Put ``share x_first + (1 - share) x_second`` at a place where there is a vector."""
    total = 0.0
    for k in range(len(vectors.columns)):
        column = vectors.columns[k]
        between = share * np.float64(column[first]) + (1.0 - share) * np.float64(column[second])
        column[place] = between
        total += np.float64(column[place]) ** 2
    vectors.squared_norms[place] = total


@jit(forceinline=True)
def drop(vectors, place):
    """Forget the vector at a place; the last one moves there."""
    last = vectors.size[0] - 1
    if place != last:
        for k in range(len(vectors.columns)):
            vectors.columns[k, place] = vectors.columns[k, last]
        vectors.squared_norms[place] = vectors.squared_norms[last]
    vectors.size[0] = last


@jit(forceinline=True)
def kernel_values(vectors, kernel, rows, i, out):
    """Compute the kernel values of row i with all vectors.

    Parameters
    ----------
    vectors : Vectors
        m vectors.
    kernel : Kernel
    rows : Rows
    i : uint32
    out : array like ``vectors.squared_norms``
        The first m get the values; those up to ``padded(m)`` may be changed, too.
    """
    norm = squared_norm(rows, i)
    _kernel_values(vectors, kernel, nonzeros(rows, i, vectors.indices, vectors.values), norm, out)


@jit(forceinline=True)
def stored_kernel_values(vectors, kernel, place, out):
    """Compute the kernel values of the vector at a place with all vectors, as `kernel_values` does."""
    m = 0
    for k in range(len(vectors.columns)):
        if vectors.columns[k, place] != 0:
            vectors.indices[m], vectors.values[m] = k, vectors.columns[k, place] * vectors.step
            m += 1
    _kernel_values(vectors, kernel, m, np.float64(vectors.squared_norms[place]), out)


@jit(fastmath={"contract"})
def squared_distances(vectors, place, out):
    """Compute ``||x_j - x_place||^2`` from the differences, so that close vectors have precise distances."""
    m = np.uint64(min(padded(vectors.size[0]), len(out)))
    columns, d = vectors.columns, np.uint64(vectors.columns.shape[0])
    here = columns[0, place]
    for j in range(np.uint64(0), m):
        out[j] = (columns[0, j] - here) ** 2
    for k in range(np.uint64(1), d - np.uint64(1), np.uint64(2)):
        here, there = columns[k, place], columns[k + np.uint64(1), place]
        for j in range(np.uint64(0), m):
            out[j] += (columns[k, j] - here) ** 2 + (columns[k + np.uint64(1), j] - there) ** 2
    if d % np.uint64(2) == 0:
        here = columns[d - np.uint64(1), place]
        for j in range(np.uint64(0), m):
            out[j] += (columns[d - np.uint64(1), j] - here) ** 2


@jit(forceinline=True)
def _kernel_values(vectors, kernel, nonzero_count, norm, out):
    m = min(padded(vectors.size[0]), len(out))
    if vectors.columns.itemsize == 1:
        for k in range(nonzero_count):
            vectors.values[k] *= vectors.step
    if m <= _BLOCK:
        _sum_columns(vectors.columns, vectors.indices, vectors.values, nonzero_count, 0, m, out)
    else:
        for start in range(0, m, _BLOCK):
            stop = min(start + _BLOCK, m)
            _sum_columns(vectors.columns, vectors.indices, vectors.values, nonzero_count, start, stop, out)
    values(kernel, out[:m], vectors.squared_norms[:m], norm)


@jit(fastmath={"contract"}, forceinline=True)
def _sum_columns(columns, indices, values, nonzero_count, start, stop, out):
    """Add up the columns of the indices, each times its value: the first few write, the others, four at a time, add."""
    start, stop = np.uint64(start), np.uint64(stop)
    few = nonzero_count % _TOGETHER
    if few == 0:
        for j in range(start, stop):
            out[j] = 0
    elif few == 1:
        s0, c0 = values[0], indices[0]
        for j in range(start, stop):
            out[j] = s0 * columns[c0, j]
    elif few == 2:
        s0, s1, c0, c1 = values[0], values[1], indices[0], indices[1]
        for j in range(start, stop):
            out[j] = s0 * columns[c0, j] + s1 * columns[c1, j]
    else:
        s0, s1, s2, c0, c1, c2 = values[0], values[1], values[2], indices[0], indices[1], indices[2]
        for j in range(start, stop):
            out[j] = s0 * columns[c0, j] + s1 * columns[c1, j] + s2 * columns[c2, j]
    for k in range(few, nonzero_count, _TOGETHER):
        s0, s1, s2, s3 = values[k], values[k + 1], values[k + 2], values[k + 3]
        c0, c1, c2, c3 = indices[k], indices[k + 1], indices[k + 2], indices[k + 3]
        for j in range(start, stop):
            out[j] += s0 * columns[c0, j] + s1 * columns[c1, j] + s2 * columns[c2, j] + s3 * columns[c3, j]


@jit
def score(coefficients, kernel_row, scores):
    """Compute ``f_c = sum_j coefficients[c, j] kernel_row[j]``, j over the kernel row, for every score c."""
    for c in range(len(scores)):
        scores[c] = weighted_sum(coefficients, c, kernel_row, len(kernel_row))


@jit(fastmath={"reassoc", "contract"}, forceinline=True)
def weighted_sum(coefficients, c, kernel_row, m):
    """Compute ``sum_j coefficients[c, j] kernel_row[j]`` over the first m."""
    total = 0.0
    for j in range(np.uint64(0), np.uint64(m)):
        total += coefficients[c, j] * np.float64(kernel_row[j])
    return total
