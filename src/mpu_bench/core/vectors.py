"""The vectors an online kernel machine keeps, by columns, so that one example meets them all in vector registers.

An example is scored against all m vectors at once: for each of its columns that is not zero, one multiply-add per
vector, neighbouring vectors together, and then one kernel function per vector. Sparse examples touch only their own
columns, so the cost of a kernel value is the example's non-zero values and, for a Gaussian, one exponential.

Where all values are up to 255 times a quantum, such as pixels, vectors can be kept in a byte a value: that takes a
third of the time once the nearest cache does not hold them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mpu_bench.core.jit import jit, jit_dispatch
from mpu_bench.core.kernels import values
from mpu_bench.core.precision import Precision
from mpu_bench.core.rows import Dense, Ones, Rows, nonzeros, squared_norm

_VECTORS_AT_ONCE = 4096  # their sums stay in the nearest cache
_COLUMNS_AT_ONCE = 4
_LARGEST_BYTE = 255
_ROUNDING = 3e-7  # of single precision

GROUP = 64  #: vectors; loops run over whole groups, which need no code for what is left over


class Vectors(NamedTuple):
    """Slots for vectors of d features; the first m are taken. Values are float32, or float64 in double precision.

    Where the rows have a quantum, the columns are uint8 and count it.

    What is computed for all vectors is computed for slots up to the end of the last group as well, as far as there are
    any (`padded`): these hold no vector, but finite numbers.
    """

    columns: NDArray[Any]  #: (d, capacity)
    squared_norms: NDArray[np.floating[Any]]  #: (capacity,)
    size: NDArray[np.int64]  #: m (1,)
    indices: NDArray[np.uint32]  #: (d,) scratch: the columns of the example at hand that are not zero
    values: NDArray[np.floating[Any]]  #: (d,) scratch: its values there
    quantum: float = 1.0  #: by which the columns are multiplied


def quantum_of(rows: Rows) -> float:
    """Return the number of which all values are multiples up to 255 times; 0 where there is none."""
    if isinstance(rows, Ones):
        return 1.0
    values = rows.values.ravel()
    quantum = float(_quantum(values)) if values.dtype == np.float32 else 0.0
    return quantum if quantum > 0 and _are_quantised(values, quantum) else 0.0


@jit
def _quantum(values):
    """Guess the quantum from the largest value, whose rounding is the least, and the smallest that is not zero."""
    smallest, largest = np.inf, 0.0
    for value in values:
        if value < 0:
            return 0.0
        if value > 0:
            smallest, largest = min(smallest, value), max(largest, value)
    bounded = 0.0 < largest < (_LARGEST_BYTE + 0.5) * smallest
    return largest / np.rint(largest / smallest) if bounded else 0.0


@jit
def _are_quantised(values, quantum):
    worst = 0.0
    for value in values:
        multiple = value / quantum
        worst = max(worst, abs(multiple - np.rint(multiple)) - _ROUNDING * multiple)
    return worst <= 0.0


def new_vectors(features: int, capacity: int, precision: Precision = "single", quantum: float = 0.0) -> Vectors:
    """Return free slots for vectors.

    Parameters
    ----------
    features : int
        d.
    capacity : int
        How many slots; whole groups (`padded`) are fastest.
    precision : {"single", "double"}
        Of their values and of the kernel values.
    quantum : float
        That of all rows that will be put there (`quantum_of`), if they have one; for single precision.
    """
    dtype = np.float32 if precision == "single" else np.float64
    quantised = quantum > 0 and precision == "single"
    return Vectors(
        np.zeros((features, capacity), np.uint8 if quantised else dtype),
        np.zeros(capacity, dtype),
        np.zeros(1, np.int64),
        np.zeros(features, np.uint32),
        np.zeros(features, dtype),
        quantum if quantised else 1.0,
    )


def enlarged(vectors: Vectors, capacity: int) -> Vectors:
    """Return the vectors in more slots."""
    features = len(vectors.columns)
    return vectors._replace(
        columns=grown(vectors.columns, features, capacity), squared_norms=grown(vectors.squared_norms, capacity)
    )


def grown(array: NDArray[Any], *shape: int) -> NDArray[Any]:
    """Return a larger array that begins with this one along every axis; the rest is zero."""
    larger = np.zeros(shape, array.dtype)
    larger[tuple(slice(length) for length in array.shape)] = array
    return larger


def rows_of(vectors: Vectors) -> Dense:
    """Return a copy of the vectors, one a row; shape (m, d)."""
    rows = np.ascontiguousarray(vectors.columns[:, : vectors.size[0]].T, vectors.squared_norms.dtype)
    return Dense((rows * np.float64(vectors.quantum)).astype(rows.dtype))


@jit(inline="always")
def padded(size):
    """Return the size rounded up to whole groups."""
    return (size + (GROUP - 1)) // GROUP * GROUP


@jit(inline="always")
def put(vectors, slot, rows, i):
    """Copy row i to a slot, over what is there; it may be the first that is free."""
    vectors.columns[:, slot] = 0
    _put_into_zeros(vectors, slot, rows, i)


@jit
def append(vectors, rows, first, last):
    """Copy the rows from first to last, last not among them, to slots that nothing has been in."""
    for i in range(first, last):
        _put_into_zeros(vectors, vectors.size[0], rows, np.uint32(i))


@jit(inline="always")
def _put_into_zeros(vectors, slot, rows, i):
    columns, indices, values = vectors.columns, vectors.indices, vectors.values
    nonzero_count = nonzeros(rows, i, indices, values)
    write(columns, slot, indices, values, nonzero_count, vectors.quantum)
    vectors.squared_norms[slot] = squared_norm(rows, i)
    vectors.size[0] = max(vectors.size[0], slot + 1)


@jit_dispatch
def write(columns, slot, indices, values, nonzero_count, quantum):
    """Write the first so many values to the columns that they belong to, in units of the quantum."""


@write.register(np.float32)
@write.register(np.float64)
def _(columns, slot, indices, values, nonzero_count, _quantum):
    for k in range(nonzero_count):
        columns[indices[k], slot] = values[k]


@write.register(np.uint8)
def _(columns, slot, indices, values, nonzero_count, quantum):
    for k in range(nonzero_count):
        columns[indices[k], slot] = np.float32(values[k] / quantum + 0.5)


@jit
def put_between(vectors, slot, first, second, share):
    """Put ``share x_first + (1 - share) x_second`` into a slot that is taken."""
    columns, total = vectors.columns, 0.0
    for k in range(len(columns)):
        column = columns[k]
        between = share * np.float64(column[first]) + (1.0 - share) * np.float64(column[second])
        column[slot] = between
        total += np.float64(column[slot]) ** 2
    vectors.squared_norms[slot] = total


@jit(forceinline=True)
def drop(vectors, slot):
    """Take the vector out of a slot; the last one moves there."""
    columns, last = vectors.columns, vectors.size[0] - 1
    if slot != last:
        for k in range(len(columns)):
            columns[k, slot] = columns[k, last]
        vectors.squared_norms[slot] = vectors.squared_norms[last]
    vectors.size[0] = last


@jit(inline="always")
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
    nonzero_count = nonzeros(rows, i, vectors.indices, vectors.values)
    _kernel_values(vectors, kernel, nonzero_count, squared_norm(rows, i), out)


@jit(forceinline=True)
def stored_kernel_values(vectors, kernel, slot, out):
    """Compute the kernel values of the vector in a slot with all vectors, as `kernel_values` does."""
    columns, indices, values, nonzero_count = vectors.columns, vectors.indices, vectors.values, 0
    for k in range(len(columns)):
        if columns[k, slot] != 0:
            indices[nonzero_count], values[nonzero_count] = k, columns[k, slot] * vectors.quantum
            nonzero_count += 1
    _kernel_values(vectors, kernel, nonzero_count, np.float64(vectors.squared_norms[slot]), out)


@jit(fastmath={"contract"}, inline="always")
def squared_distances(columns, m, slot, out):
    """Compute ``||x_j - x_slot||^2`` of the first m slots from the differences: close vectors get precise distances."""
    m, d = np.uint64(m), np.uint64(columns.shape[0])
    here = columns[0, slot]
    for j in range(np.uint64(0), m):
        out[j] = (columns[0, j] - here) ** 2
    for k in range(np.uint64(1), d - np.uint64(1), np.uint64(2)):
        after = np.uint64(k) + np.uint64(1)
        here, there = columns[k, slot], columns[after, slot]
        for j in range(np.uint64(0), m):
            out[j] += (columns[k, j] - here) ** 2 + (columns[after, j] - there) ** 2
    if d % np.uint64(2) == 0:
        here = columns[d - np.uint64(1), slot]
        for j in range(np.uint64(0), m):
            out[j] += (columns[d - np.uint64(1), j] - here) ** 2


@jit(fastmath={"contract"}, forceinline=True)
def _kernel_values(vectors, kernel, nonzero_count, norm, out):
    columns, indices, scales = vectors.columns, vectors.indices, vectors.values
    m = min(padded(vectors.size[0]), len(out))
    if columns.itemsize == 1:
        for k in range(nonzero_count):
            scales[k] *= vectors.quantum
    start = 0
    while start < m:  # twice as fast as a range for 100 vectors of two features
        stop = min(start + _VECTORS_AT_ONCE, m)
        _sum_columns(columns, indices, scales, nonzero_count, start, stop, out)
        start = stop
    values(kernel, out[:m], vectors.squared_norms[:m], norm)


@jit(fastmath={"contract"}, inline="always")
def _sum_columns(columns, indices, scales, nonzero_count, start, stop, out):
    """Add up the columns of the indices, each by its scale: the first few write, the others, four at a time, add."""
    start, stop = np.uint64(start), np.uint64(stop)
    few = nonzero_count % _COLUMNS_AT_ONCE
    if few == 0:
        for j in range(start, stop):
            out[j] = 0
    elif few == 1:
        s0, c0 = scales[0], indices[0]
        for j in range(start, stop):
            out[j] = s0 * columns[c0, j]
    elif few == 2:
        s0, s1, c0, c1 = scales[0], scales[1], indices[0], indices[1]
        for j in range(start, stop):
            out[j] = s0 * columns[c0, j] + s1 * columns[c1, j]
    else:
        s0, s1, s2, c0, c1, c2 = scales[0], scales[1], scales[2], indices[0], indices[1], indices[2]
        for j in range(start, stop):
            out[j] = s0 * columns[c0, j] + s1 * columns[c1, j] + s2 * columns[c2, j]
    for k in range(few, nonzero_count, _COLUMNS_AT_ONCE):
        s0, s1, s2, s3 = scales[k], scales[k + 1], scales[k + 2], scales[k + 3]
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
    """Return ``sum_j coefficients[c, j] kernel_row[j]`` over the first m."""
    total = 0.0
    for j in range(np.uint64(0), np.uint64(m)):
        total += coefficients[c, j] * np.float64(kernel_row[j])
    return total
