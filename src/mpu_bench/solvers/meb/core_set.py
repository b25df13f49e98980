"""The core set: the examples whose weight is or was above zero, their responses, and rows of kernel values with them.

The point of example i is z_i = (y_i Phi(x_i), y_i, e_i / sqrt(C_i)), where C_i is C times its weight;
k~_ij = z_i.z_j = y_i y_j (K_ij + 1) + delta_ij / C_i.
An example of the core set has a *slot*. Weights and responses s_i = sum_j alpha_j k~_ij are kept divided by a scale,
so that a step towards or away from one point changes one weight, and the responses by one row of kernel values.

A row holds K(x_i, x_j) for the slots j in the precision of the vectors. The row of an example that was asked for lately
is kept and only extended by the slots that came since; the one that was asked for the longest ago makes room.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mpu_bench.core import buffers
from mpu_bench.core.buffers import grown
from mpu_bench.core.counters import KERNEL_COMPUTED
from mpu_bench.core.jit import jit
from mpu_bench.core.lru import LRU, claim, clear, new_lru, touch
from mpu_bench.core.rows import AnyRows, nonzeros, squared_norm
from mpu_bench.core.sparse_vectors import LONGEST
from mpu_bench.core.vector_store import COLUMNS_AT_ONCE, add_columns
from mpu_bench.core.vectors import Vectors, enlarged, entry_products, has_free_entries, keep, put
from mpu_bench.kernels import Kernel, value, values
from mpu_bench.kernels.matrix import kernel_diagonal
from mpu_bench.kernels.precision import Precision
from mpu_bench.solvers.certificates import PerExample, of_example

_VALUES_AT_ONCE = 2048  # kernel values that are formed together; they stay in the nearest cache
_MIN_ROWS = 2  # there is always room for two: SMO works with a pair


class Examples(NamedTuple):
    """The n training examples, and what makes points of them."""

    rows: AnyRows
    labels: NDArray[np.int32]  #: (n,) 0 or 1
    kernel: Kernel
    C: PerExample  #: the cost of a loss


class CoreSet(NamedTuple):
    """Examples in slots; the first m are taken. Dropped examples keep theirs until `compact`."""

    vectors: Vectors  #: x of every slot
    members: NDArray[np.uint32]  #: (capacity,) the example of every slot
    signs: NDArray[np.float64]  #: y (capacity,)
    diagonal: NDArray[np.float64]  #: k~_jj (capacity,)
    coefficients: NDArray[np.float64]  #: y_j alpha_j / scale (capacity,)
    responses: NDArray[np.float64]  #: s_j / scale (capacity,)
    slots: NDArray[np.int32]  #: (n,) the slot of an example, or -1
    active: NDArray[np.int64]  #: (1,) how many weights are above zero
    kept: NDArray[np.floating[Any]]  #: (r, capacity) rows
    lengths: NDArray[np.int64]  #: (r,) how many values of a row are there
    lru: LRU  #: where in ``kept`` an example's row is
    buffer: NDArray[np.floating[Any]]  #: (capacity,) a row that is not kept


def new_core_set(n: int, vectors: Vectors, cache_mb: float) -> CoreSet:
    """Return an empty core set of n examples in free slots."""
    capacity = len(vectors.squared_norms)
    return CoreSet(
        vectors,
        np.zeros(capacity, np.uint32),
        *(np.zeros(capacity), np.zeros(capacity), np.zeros(capacity), np.zeros(capacity)),
        np.full(n, -1, np.int32),
        np.zeros(1, np.int64),
        *_no_rows(np.zeros(n, np.int32), vectors, cache_mb),
    )


def enlarged_core_set(core: CoreSet, cache_mb: float) -> CoreSet:
    """Return a copy of twice the capacity; no rows are kept."""
    capacity = len(core.members)
    vectors = enlarged(core.vectors, 2 * capacity)
    return CoreSet(
        vectors,
        grown(core.members, 2 * capacity),
        grown(core.signs, 2 * capacity),
        grown(core.diagonal, 2 * capacity),
        grown(core.coefficients, 2 * capacity),
        grown(core.responses, 2 * capacity),
        core.slots,
        core.active,
        *_no_rows(core.lru.slot_of_row, vectors, cache_mb),
    )


def _no_rows(slot_of_row: NDArray[np.int32], vectors: Vectors, cache_mb: float) -> tuple[Any, ...]:
    """Return the room for rows of `cache_mb` megabytes together, and one more; none is kept.

    The array of all examples is used again: for five million there is no memory for two.
    """
    slot_of_row[:] = -1
    buffer = np.zeros_like(vectors.squared_norms)
    r = min(len(slot_of_row), max(_MIN_ROWS, int(cache_mb * 2**20) // buffer.nbytes))
    rows, lengths = buffers.empty((r, len(buffer)), buffer.dtype), np.zeros(r, np.int64)
    return rows, lengths, new_lru(0, r)._replace(slot_of_row=slot_of_row), buffer


@jit(fastmath={"contract"})
def values_from(examples, i, vectors, first, out):
    """Compute K(x_i, x_j) for the vectors j from the first on into ``out``."""
    columns, indices, numbers = vectors.columns, vectors.indices, vectors.values
    there = nonzeros(examples.rows, i, indices, numbers)
    whole, begin = there - there % COLUMNS_AT_ONCE, 0
    if len(vectors.entries.spread) > 0:
        entry_products(vectors, there, first, len(out), out)
        begin = len(out)
    for start in range(begin, len(out), _VALUES_AT_ONCE):
        sums = out[start : start + _VALUES_AT_ONCE]
        for j in range(len(sums)):
            sums[j] = 0.0
        for k in range(0, whole, COLUMNS_AT_ONCE):
            add_columns(columns, indices, numbers, k, first + start, sums)
        for k in range(whole, there):
            scale, column = numbers[k], columns[indices[k], first + start : first + start + len(sums)]
            for j in range(len(sums)):
                sums[j] += scale * column[j]
    norms = vectors.squared_norms[first : first + len(out)]
    values(examples.kernel, out, norms, squared_norm(examples.rows, i))


@jit(allocates=True, inline="always")  # a function that returns an array may not be a plain `jit`
def row(core, examples, i, counters):
    """Return K(x_i, x_j) for all slots j, shape (m,); valid until the call after the next.

    Only what is not kept is computed.
    """
    return core.kept[kept_row(core, examples, i, counters), : core.vectors.size[0]]


@jit(inline="always")  # a call with all these arrays takes longer than to look where the row is
def kept_row(core, examples, i, counters):
    """Return the slot of row i in the cache, after computing its missing values."""
    row_slot = core.lru.slot_of_row[i]
    if row_slot < 0 or core.lengths[row_slot] < core.vectors.size[0]:
        row_slot = extend_row(core, examples, i, core.vectors.size[0], counters)
    if len(core.kept) < len(core.slots):  # else no row ever has to leave
        touch(core.lru, row_slot)
    return row_slot


@jit
def extend_row(core, examples, i, end, counters):
    """Compute what is missing of the first K(x_i, x_j), up to a slot; return the slot of row i in the cache."""
    row_slot = core.lru.slot_of_row[i]
    if row_slot < 0:
        row_slot = claim(core.lru, i)
        touch(core.lru, row_slot)
        core.lengths[row_slot] = 0
    known = core.lengths[row_slot]
    missing, slot = core.kept[row_slot, known:end], np.int64(core.slots[i])
    values_from(examples, i, core.vectors, known, missing)
    if known <= slot < end:  # for a Gaussian 1, whatever the rounding of inner products
        missing[slot - known] = value_with_itself(examples, core.vectors, slot)
    core.lengths[row_slot] = end
    counters[KERNEL_COMPUTED] += len(missing)
    return row_slot


@jit
def value_with_itself(examples, vectors, slot):
    """Return K(x, x) of a slot, in the precision of rows."""
    norm = np.float64(vectors.squared_norms[slot])
    return vectors.squared_norms.dtype.type(value(examples.kernel, norm, norm, norm))


def squared_point_norm(kernel: Kernel, squared_norm: NDArray[np.float64], C: float, precision: Precision) -> float:
    """Return k~_ii = K(x_i, x_i) + 1 + 1/C from ``||x_i||^2``, shape (1,), as a slot has it."""
    number = np.float32 if precision == "single" else np.float64
    return float(number(kernel_diagonal(kernel, squared_norm.astype(number).astype(np.float64))[0])) + 1.0 + 1.0 / C


@jit(inline="always")
def has_room(core, times):
    """Return whether there are slots for so many more examples."""
    has_entries = has_free_entries(core.vectors, core.vectors.entries.blocks[LONGEST], times - 1)
    return core.vectors.size[0] + times <= len(core.members) and has_entries


@jit
def add_slot(core, examples, i, response):
    """Put example i, whose response is given, into the next slot, with weight zero; return the slot."""
    slot = core.vectors.size[0]
    put(core.vectors, slot, examples.rows, i)
    core.members[slot], core.slots[i] = i, slot
    core.signs[slot] = 2.0 * examples.labels[i] - 1.0
    with_itself = np.float64(value_with_itself(examples, core.vectors, slot))
    core.diagonal[slot] = with_itself + 1.0 + 1.0 / of_example(examples.C, i)
    core.coefficients[slot], core.responses[slot] = 0.0, response
    return slot


@jit
def with_weight(core):
    """Return how many examples have a weight above zero."""
    count = 0
    for slot in range(core.vectors.size[0]):
        count += core.coefficients[slot] != 0.0
    return count


@jit
def gap_of_core_set(core, examples, R):
    """Return the SVM's gap (`certificate.py`) of beta = alpha / R, if there were no other examples than these."""
    gap = 0.0
    for slot in range(core.vectors.size[0]):
        C, s = of_example(examples.C, core.members[slot]), core.responses[slot]
        slack = core.signs[slot] * core.coefficients[slot] / (C * R)
        loss = max(0.0, 1.0 - s / R + slack)
        gap += R * C * (loss * loss - slack * slack)
    return gap


def compact(core: CoreSet) -> None:
    """Remove the examples without weight from their slots; no rows are kept."""
    m, vectors = int(core.vectors.size[0]), core.vectors
    staying = np.flatnonzero(core.coefficients[:m])
    left = len(staying)
    core.slots[core.members[:m]] = -1
    core.slots[core.members[staying]] = np.arange(left)
    for numbers in (core.members, core.signs, core.diagonal, core.responses, core.coefficients):
        numbers[:left] = numbers[staying]
    core.coefficients[left:m] = 0.0
    keep(vectors, staying)
    core.active[0] = left
    clear(core.lru)


@jit
def sum_of_products(coefficients, kernel_row):
    """Return ``sum_j coefficients_j kernel_row_j`` in double, over as many as there are in the row.

    Eight sums side by side make vector code, and the order of additions, by which ties fall, the same on any machine.
    """
    s0, s1, s2, s3, s4, s5, s6, s7 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    m = len(kernel_row)
    whole = m - m % 8
    for j in range(0, whole, 8):
        s0 += coefficients[j] * np.float64(kernel_row[j])
        s1 += coefficients[j + 1] * np.float64(kernel_row[j + 1])
        s2 += coefficients[j + 2] * np.float64(kernel_row[j + 2])
        s3 += coefficients[j + 3] * np.float64(kernel_row[j + 3])
        s4 += coefficients[j + 4] * np.float64(kernel_row[j + 4])
        s5 += coefficients[j + 5] * np.float64(kernel_row[j + 5])
        s6 += coefficients[j + 6] * np.float64(kernel_row[j + 6])
        s7 += coefficients[j + 7] * np.float64(kernel_row[j + 7])
    for j in range(whole, m):
        s0 += coefficients[j] * np.float64(kernel_row[j])
    return ((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7))


@jit
def total(numbers):
    """Return the sum of numbers (m,) float64, one after the other."""
    total = 0.0
    for number in numbers:
        total += number
    return total
