"""The vectors an online kernel machine keeps, by columns, so that one example meets them all in vector registers.

An example is scored against all m vectors at once: for each of its columns that is not zero, one multiply-add per
vector, neighbouring vectors together, and then one kernel function per vector. Sparse examples touch only their own
columns, so the cost of a kernel value is the example's non-zero values and, for a Gaussian, one exponential.

Where all values are up to 255 times a quantum, such as pixels, vectors can be kept in a byte a value: that takes a
third of the time once the nearest cache does not hold them.

Rows with few values in very many columns, such as words, are kept as they are, by their non-zeros: whole columns would
take no end of memory, and writing one vector to them as many cache misses as there are columns (`keeps_sparse`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mpu_bench.core import sparse_vectors
from mpu_bench.core.buffers import grown
from mpu_bench.core.jit import jit
from mpu_bench.core.rows import Dense, Ones, Rows, Sparse, nonzeros, squared_norm
from mpu_bench.core.sparse_vectors import LENGTH, LONGEST, Entries
from mpu_bench.core.vector_store import COLUMNS_AT_ONCE, SUMS_AT_ONCE, common_quantum
from mpu_bench.kernels import values
from mpu_bench.kernels.precision import Precision

_WIDE = 1 << 14  # columns, from where on rows may be kept sparse ...
_FEW = 0.01  # ... if no more than this part of their values is not zero
GROUP = 64  #: vectors; loops run over whole groups, which need no code for what is left over


class Vectors(NamedTuple):
    """Slots for vectors of d features; the first m are taken. Values are float32, or float64 in double precision.

    Where the rows have a quantum, the columns are uint8 and count it.

    What is computed for all vectors is computed for slots up to the end of the last group as well, as far as there are
    any (`padded`): these hold no vector, but finite numbers.
    """

    columns: NDArray[Any]  #: (d, capacity); (0, capacity) where they are kept sparse
    squared_norms: NDArray[np.floating[Any]]  #: (capacity,)
    size: NDArray[np.int64]  #: m (1,)
    indices: NDArray[np.uint32]  #: (d,) scratch: the columns of the example at hand that are not zero
    values: NDArray[np.floating[Any]]  #: (d,) scratch: its values there
    entries: Entries
    quantum: float  #: by which the columns are multiplied


def keeps_sparse(rows: Rows, features: int) -> bool:
    """Return whether vectors like these rows are kept sparse."""
    return (
        isinstance(rows, Sparse | Ones)
        and features >= _WIDE
        and len(rows.indices) <= _FEW * features * (len(rows.starts) - 1)
    )


def quantum_of(rows: Rows) -> float:
    """Return the number of which all values are multiples up to 255 times; 0 where there is none."""
    if isinstance(rows, Ones):
        return 1.0
    return float(common_quantum(rows.values.ravel())) if rows.values.dtype == np.float32 else 0.0


def new_vectors(
    features: int,
    capacity: int,
    precision: Precision = "single",
    quantum: float = 0.0,
    sparse: bool = False,
    common: NDArray[np.intp] | None = None,
) -> Vectors:
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
    sparse : bool
        Whether they are kept sparse (`keeps_sparse`), without a quantum; `with_free_entries` makes the first free.
    common : array of integer, optional
        The columns that many of these rows share (`sparse_vectors.common_columns`).
    """
    dtype = np.float32 if precision == "single" else np.float64
    quantised = quantum > 0 and precision == "single" and not sparse
    return Vectors(
        np.zeros((0 if sparse else features, capacity), np.uint8 if quantised else dtype),
        np.zeros(capacity, dtype),
        np.zeros(1, np.int64),
        np.zeros(features, np.uint32),
        np.zeros(features, dtype),
        sparse_vectors.new_entries(features, capacity, dtype, sparse, common),
        quantum if quantised else 1.0,
    )


def new_vectors_for(
    rows: Rows, features: int, capacity: int, precision: Precision, quantum: float = 0.0, times: int = 1
) -> Vectors:
    """Return free slots for such rows, which are kept sparse where that takes less; so many of these have entries."""
    if capacity == 0 or isinstance(rows, Dense) or not keeps_sparse(rows, features):
        return new_vectors(features, capacity, precision, quantum)
    vectors = new_vectors(features, capacity, precision, quantum, True, sparse_vectors.common_columns(rows, features))
    vectors.entries.blocks[LONGEST] = (rows.starts[1:] - rows.starts[:-1]).max(initial=0)
    return with_free_entries(vectors, int(vectors.entries.blocks[LONGEST]), times)


def enlarged(vectors: Vectors, capacity: int) -> Vectors:
    """Return the vectors in more slots."""
    return vectors._replace(
        columns=grown(vectors.columns, len(vectors.columns), capacity),
        squared_norms=grown(vectors.squared_norms, capacity),
        entries=sparse_vectors.enlarged(vectors.entries, capacity),
    )


def with_free_entries(vectors: Vectors, length: int, times: int = 1) -> Vectors:
    """Return the vectors with free entries to put a row with so many values so many times, if they are kept sparse."""
    if not len(vectors.entries.spread):
        return vectors
    wanted = int(sparse_vectors.blocks_for(vectors.entries, length, times))
    return vectors._replace(entries=sparse_vectors.with_blocks(vectors.entries, wanted))


def rows_of(vectors: Vectors, slots: NDArray[np.int64]) -> Dense | Sparse:
    """Return a copy of the vectors in some slots, one a row."""
    entries, dtype = vectors.entries, vectors.squared_norms.dtype
    if len(entries.spread):
        lengths = entries.lists[len(vectors.indices) + slots, LENGTH]
        starts = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
        indices, values = np.zeros(starts[-1], np.uint32), np.zeros(starts[-1], dtype)
        sparse_vectors.read_rows(entries, slots, starts, indices, values)
        order = np.lexsort((indices, np.repeat(np.arange(len(slots)), lengths)))
        return Sparse(values[order], indices[order], starts.astype(np.uint32))
    values = np.ascontiguousarray(vectors.columns[:, slots].T, dtype)
    return Dense((values * np.float64(vectors.quantum)).astype(dtype))


@jit
def has_free_entries(vectors, length, times):
    """Return whether there are free entries to put a row with so many values so many times, and one between two."""
    entries = vectors.entries
    wanted = sparse_vectors.blocks_for(entries, length, times)
    return len(entries.spread) == 0 or sparse_vectors.free_blocks(entries) >= wanted


@jit(inline="always")
def padded(size):
    """Return the size rounded up to whole groups."""
    return (size + (GROUP - 1)) // GROUP * GROUP


@jit(inline="always")
def put(vectors, slot, rows, i):
    """Copy row i to a slot, over what is there; it may be the first that is free."""
    if len(vectors.entries.spread) > 0:
        sparse_vectors.clear(vectors.entries, slot, vectors.indices, vectors.values)
    vectors.columns[:, slot] = 0
    _put_into_zeros(vectors, slot, rows, i)


@jit
def append(vectors, rows, first, last):
    """Copy the rows from first to last, last not among them, to slots that nothing has been in."""
    for i in range(first, last):
        _put_into_zeros(vectors, vectors.size[0], rows, np.uint32(i))


@jit(inline="always")
def _put_into_zeros(vectors, slot, rows, i):
    indices, values = vectors.indices, vectors.values
    nonzero_count = nonzeros(rows, i, indices, values)
    if len(vectors.entries.spread) == 0:
        for k in range(nonzero_count):
            number = np.float32(values[k] / vectors.quantum + 0.5) if vectors.columns.itemsize == 1 else values[k]
            vectors.columns[indices[k], slot] = number
    else:
        sparse_vectors.write(vectors.entries, slot, indices, values, nonzero_count)
    vectors.squared_norms[slot] = squared_norm(rows, i)
    vectors.size[0] = max(vectors.size[0], slot + 1)


@jit
def put_between(vectors, slot, other, share):
    """Turn the vector of a slot into ``(1 - share) x_slot + share x_other``."""
    columns, total = vectors.columns, 0.0
    if len(vectors.entries.spread) > 0:
        total = sparse_vectors.put_between(vectors.entries, slot, other, share, vectors.indices, vectors.values)
    for k in range(len(columns)):
        column = columns[k]
        between = share * np.float64(column[other]) + (1.0 - share) * np.float64(column[slot])
        column[slot] = between
        total += np.float64(column[slot]) ** 2
    vectors.squared_norms[slot] = total


@jit(forceinline=True)
def drop(vectors, slot):
    """Take the vector out of a slot; the last one moves there."""
    last = vectors.size[0] - 1
    move(vectors, last, slot)
    vectors.size[0] = last


@jit(forceinline=True)
def move(vectors, source, target):
    """Move the vector of a slot to another one, over what is there; where they are the same, it is gone."""
    columns, entries = vectors.columns, vectors.entries
    if len(entries.spread) > 0:
        sparse_vectors.clear(entries, target, vectors.indices, vectors.values)
    if source != target:
        if len(entries.spread) > 0:
            sparse_vectors.move(entries, source, target, vectors.indices, vectors.values)
        for k in range(len(columns)):
            columns[k, target] = columns[k, source]
        vectors.squared_norms[target] = vectors.squared_norms[source]


@jit
def keep(vectors, slots):
    """Keep the vectors in some slots, by rising number, which become the first ones."""
    for target in range(len(slots)):
        if slots[target] != target:
            move(vectors, slots[target], target)
    if len(vectors.entries.spread) > 0:
        for slot in range(len(slots), vectors.size[0]):
            sparse_vectors.clear(vectors.entries, slot, vectors.indices, vectors.values)
    vectors.size[0] = len(slots)


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
    nonzero_count, norm = example_at_hand(vectors, rows, i)
    some_kernel_values(vectors, kernel, nonzero_count, norm, 0, vectors.size[0], out)


@jit(forceinline=True)
def stored_kernel_values(vectors, kernel, slot, out):
    """Compute the kernel values of the vector in a slot with all vectors, as `kernel_values` does."""
    columns, indices, values, nonzero_count = vectors.columns, vectors.indices, vectors.values, 0
    for k in range(len(columns)):
        if columns[k, slot] != 0:
            indices[nonzero_count], values[nonzero_count] = k, columns[k, slot] * vectors.quantum
            nonzero_count += 1
    if len(vectors.entries.spread) > 0:
        nonzero_count = sparse_vectors.read(vectors.entries, slot, indices, values)
    _scale_by_quantum(vectors, nonzero_count)
    some_kernel_values(vectors, kernel, nonzero_count, np.float64(vectors.squared_norms[slot]), 0, vectors.size[0], out)


@jit(inline="always")
def example_at_hand(vectors, rows, i):
    """Take row i to the scratch of vectors, for `some_kernel_values`; return its non-zeros' count and squared norm."""
    nonzero_count = nonzeros(rows, i, vectors.indices, vectors.values)
    _scale_by_quantum(vectors, nonzero_count)
    return nonzero_count, squared_norm(rows, i)


@jit(inline="always")
def _scale_by_quantum(vectors, nonzero_count):
    if vectors.columns.itemsize == 1:
        for k in range(nonzero_count):
            vectors.values[k] *= vectors.quantum


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
def some_kernel_values(vectors, kernel, nonzero_count, norm, first, m, out):
    """Compute the kernel values of the example at hand with m vectors from the first on, as `kernel_values` does."""
    last, start = min(first + padded(m), len(out)), first
    if len(vectors.entries.spread) > 0:
        entry_products(vectors, nonzero_count, first, m, out[first:last])
        start = last
    while start < last:  # twice as fast as a range for 100 vectors of two features
        stop = min(start + SUMS_AT_ONCE, last)
        _sum_columns(vectors.columns, vectors.indices, vectors.values, nonzero_count, start, stop, out)
        start = stop
    values(kernel, out[first:last], vectors.squared_norms[first:last], norm)


@jit(forceinline=True)
def entry_products(vectors, nonzero_count, first, m, out):
    """Compute the inner products of the example at hand with m vectors from the first on, which are kept sparse."""
    size, indices, values = vectors.size[0], vectors.indices, vectors.values
    sparse_vectors.inner_products(vectors.entries, size, indices, values, nonzero_count, first, m, out)


@jit(fastmath={"contract"}, inline="always")
def _sum_columns(columns, indices, scales, nonzero_count, start, stop, out):
    """Add up the columns of the indices, each by its scale: the first few write, the others, four at a time, add."""
    start, stop = np.uint64(start), np.uint64(stop)
    few = nonzero_count % COLUMNS_AT_ONCE
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
    for k in range(few, nonzero_count, COLUMNS_AT_ONCE):
        s0, s1, s2, s3 = scales[k], scales[k + 1], scales[k + 2], scales[k + 3]
        c0, c1, c2, c3 = indices[k], indices[k + 1], indices[k + 2], indices[k + 3]
        for j in range(start, stop):
            out[j] += s0 * columns[c0, j] + s1 * columns[c1, j] + s2 * columns[c2, j] + s3 * columns[c3, j]


@jit
def score(coefficients, kernel_row, scores):
    """Compute ``f_c = sum_j coefficients[c, j] kernel_row[j]``, j over the kernel row, for every score c."""
    for c in range(len(scores)):
        scores[c] = weighted_sum(coefficients[c, : len(kernel_row)], kernel_row)


@jit(fastmath={"reassoc", "contract"}, forceinline=True)
def weighted_sum(coefficients, kernel_row):
    """Return ``sum_j coefficients[j] kernel_row[j]``, j over the coefficients."""
    total = 0.0
    for j in range(np.uint64(0), np.uint64(len(coefficients))):
        total += coefficients[j] * np.float64(kernel_row[j])
    return total
