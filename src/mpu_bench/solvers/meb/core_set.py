"""The core set: the examples whose weight is or was above zero, their responses, and rows of kernel values with them.

The point of example i is z_i = (y_i Phi(x_i), y_i, e_i / sqrt(C)); k~_ij = z_i.z_j = y_i y_j (K_ij + 1) + delta_ij / C.
An example of the core set has a *slot*. Weights and responses s_i = sum_j alpha_j k~_ij are kept divided by a scale,
so that a step towards or away from one point changes one weight, and the responses by one row of kernel values.

A row holds K(x_i, x_j) for the slots j in single precision. The row of an example that was asked for lately is kept
and only extended by the slots that came since; the one that was asked for the longest ago makes room.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from mpu_bench.core.counters import KERNEL_COMPUTED
from mpu_bench.core.gram import renew
from mpu_bench.core.jit import jit
from mpu_bench.core.kernels import Kernel, value, values
from mpu_bench.core.rows import Dense, Rows, Sparse
from mpu_bench.core.vectors import Vectors, enlarged, new_vectors

_BLOCK = 2048  # kernel values that are formed together; they stay in the nearest cache
_TOGETHER = 4  # columns that are added at a time
_FEWEST = 2  # rows there is always room for: SMO works with two


class Examples(NamedTuple):
    """The n training examples; the arrays of the forms not taken are empty.

    One tuple holds any kind of rows, so that the algorithms are compiled once and not once per kind.
    """

    dense: NDArray[np.floating[Any]]  #: (n, d) of `Dense` rows
    values: NDArray[np.floating[Any]]  #: (pairs,) of `Sparse` rows
    columns: NDArray[np.uint32]  #: (pairs,) of `Sparse` and `Ones` rows
    starts: NDArray[np.uint32]  #: (n + 1,) of `Sparse` and `Ones` rows
    labels: NDArray[np.int32]  #: (n,) 0 or 1
    kernel: Kernel
    C: float


class CoreSet(NamedTuple):
    """Examples in slots; the first m of the room are taken. Dropped examples keep theirs until `compact`."""

    vectors: Vectors  #: x of every slot
    members: NDArray[np.uint32]  #: (room,) the example of every slot
    signs: NDArray[np.float64]  #: y (room,)
    diagonal: NDArray[np.float64]  #: k~_jj (room,)
    coefficients: NDArray[np.float64]  #: y_j alpha_j / scale (room,)
    responses: NDArray[np.float64]  #: s_j / scale (room,)
    slots: NDArray[np.int32]  #: (n,) the slot of an example, or -1
    active: NDArray[np.int64]  #: (1,) how many weights are above zero
    kept: NDArray[np.float32]  #: (r, room) rows
    lengths: NDArray[np.int64]  #: (r,) how many values of a row are there
    places: NDArray[np.int32]  #: (n,) where an example's row is kept, or -1
    owners: NDArray[np.int32]  #: (r,) whose row is kept, or -1
    older: NDArray[np.int32]  #: (r + 1,) a ring of places from the newest to the oldest; r is where it closes
    newer: NDArray[np.int32]  #: (r + 1,) the same ring the other way round
    buffer: NDArray[np.float32]  #: (room,) a row that is not kept


def examples_of(rows: Rows, labels: NDArray[np.int32], kernel: Kernel, C: float) -> Examples:
    """Name the arrays of the examples; nothing is copied."""
    values, indices = np.zeros(0, np.float32), np.zeros(0, np.uint32)
    if isinstance(rows, Dense):
        return Examples(rows.values, values, indices, indices, labels, kernel, float(C))
    if isinstance(rows, Sparse):
        values = np.asarray(rows.values)
    return Examples(np.zeros((0, 0), np.float32), values, rows.columns, rows.starts, labels, kernel, float(C))


def new_core_set(n: int, features: int, room: int, cache_mb: float) -> CoreSet:
    """Make room for a core set of n examples of d features; it is empty."""
    return CoreSet(
        new_vectors(features, room),
        np.zeros(room, np.uint32),
        *(np.zeros(room), np.zeros(room), np.zeros(room), np.zeros(room)),
        np.full(n, -1, np.int32),
        np.zeros(1, np.int64),
        *_no_rows(np.zeros(n, np.int32), room, cache_mb),
    )


def with_more_room(core: CoreSet, cache_mb: float) -> CoreSet:
    """Copy the core set into twice the room; no rows are kept."""
    room = len(core.members)
    return CoreSet(
        enlarged(core.vectors, 2 * room),
        np.resize(core.members, 2 * room),
        *(_doubled(core.signs), _doubled(core.diagonal), _doubled(core.coefficients), _doubled(core.responses)),
        core.slots,
        core.active,
        *_no_rows(core.places, 2 * room, cache_mb),
    )


def _doubled(numbers: Any) -> Any:
    return np.concatenate([numbers, np.zeros_like(numbers)])


def _no_rows(places: NDArray[np.int32], room: int, cache_mb: float) -> tuple[Any, ...]:
    """Make room for rows of `cache_mb` megabytes together, and one more; no example has a place."""
    places[:] = -1
    r = min(len(places), max(_FEWEST, int(cache_mb * 2**20) // (4 * room)))
    ring, nobody = np.arange(r + 1, dtype=np.int32), np.full(r, -1, np.int32)
    kept, lengths, buffer = np.zeros((r, room), np.float32), np.zeros(r, np.int64), np.zeros(room, np.float32)
    return kept, lengths, places, nobody, np.roll(ring, -1), np.roll(ring, 1), buffer


@jit
def read(examples, i, vectors):
    """Copy the columns and values of example i that are not zero aside; gives how many, and ||x_i||^2."""
    chosen, scales, there, squared_norm = vectors.indices, vectors.values, 0, 0.0
    if len(examples.starts) == 0:
        for c in range(examples.dense.shape[1]):
            if examples.dense[i, c] != 0:
                chosen[there], scales[there] = c, examples.dense[i, c]
                there += 1
    else:
        for k in range(examples.starts[i], examples.starts[i + np.uint32(1)]):
            chosen[there] = examples.columns[k]
            scales[there] = examples.values[k] if len(examples.values) > 0 else np.float32(1.0)
            there += 1
    for k in range(there):
        squared_norm += np.float64(scales[k]) * np.float64(scales[k])
    return there, squared_norm


@jit
def put(examples, i, vectors, place):
    """Copy example i to a place."""
    there, squared_norm = read(examples, i, vectors)
    for c in range(vectors.columns.shape[0]):
        vectors.columns[c, place] = 0.0
    for k in range(there):
        vectors.columns[vectors.indices[k], place] = vectors.values[k]
    vectors.squared_norms[place] = squared_norm
    vectors.size[0] = max(vectors.size[0], place + 1)


@jit(fastmath={"contract"})
def values_from(examples, i, vectors, first, out):
    """Compute K(x_i, x_j) for the vectors j from the first on; ``out`` gets them."""
    there, squared_norm = read(examples, i, vectors)
    columns, chosen, scales = vectors.columns, vectors.indices, vectors.values
    whole = there - there % _TOGETHER
    for start in range(0, len(out), _BLOCK):
        sums = out[start : start + _BLOCK]
        for j in range(len(sums)):
            sums[j] = 0.0
        begin, end = first + start, first + start + len(sums)
        for k in range(0, whole, _TOGETHER):
            s0, s1, s2, s3 = scales[k], scales[k + 1], scales[k + 2], scales[k + 3]
            c0, c1 = columns[chosen[k], begin:end], columns[chosen[k + 1], begin:end]
            c2, c3 = columns[chosen[k + 2], begin:end], columns[chosen[k + 3], begin:end]
            for j in range(len(sums)):
                sums[j] += s0 * c0[j] + s1 * c1[j] + s2 * c2[j] + s3 * c3[j]
        for k in range(whole, there):
            s, c = scales[k], columns[chosen[k], begin:end]
            for j in range(len(sums)):
                sums[j] += s * c[j]
    values(examples.kernel, out, vectors.squared_norms[first : first + len(out)], squared_norm)


@njit(cache=True, inline="always")  # what gives an array cannot be `borrowing`
def row(core, examples, i, counters):
    """Give K(x_i, x_j) for all slots j, shape (m,); valid until the call after the next.

    Only what is not kept is computed.
    """
    m, place = core.vectors.size[0], core.places[i]
    if place < 0:
        place = _make_room(core, i)
    renew(core, place)
    known = core.lengths[place]
    if known < m:
        missing, slot = core.kept[place, known:m], core.slots[i]
        values_from(examples, i, core.vectors, known, missing)
        if slot >= known:  # for a Gaussian 1, whatever the rounding of inner products
            missing[slot - known] = _own_value(examples, core.vectors.squared_norms[slot])
        core.lengths[place] = m
        counters[KERNEL_COMPUTED] += len(missing)
    return core.kept[place, :m]


@jit
def _own_value(examples, squared_norm):
    """Compute K(x, x)."""
    norm = np.float64(squared_norm)
    return np.float32(value(examples.kernel, norm, norm, norm))


@jit
def own_product(examples, i, vectors):
    """Compute k~_ii = K(x_i, x_i) + 1 + 1/C."""
    _, squared_norm = read(examples, i, vectors)
    return np.float64(_own_value(examples, np.float32(squared_norm))) + 1.0 + 1.0 / examples.C


@jit
def _make_room(core, i):
    """Give row i the place of the row that was asked for the longest ago."""
    place = core.newer[len(core.owners)]
    if core.owners[place] >= 0:
        core.places[core.owners[place]] = -1
    core.owners[place], core.places[i], core.lengths[place] = i, place, 0
    return place


@jit
def add_slot(core, examples, i, response):
    """Give example i, whose response is given, the next slot, with weight zero; there must be room."""
    slot = core.vectors.size[0]
    put(examples, i, core.vectors, slot)
    core.members[slot], core.slots[i] = i, slot
    core.signs[slot] = 2.0 * examples.labels[i] - 1.0
    core.diagonal[slot] = own_product(examples, i, core.vectors)
    core.coefficients[slot], core.responses[slot] = 0.0, response
    return slot


@jit(allocates=True)
def compact(core):
    """Take the slots of examples without weight away; no rows are kept."""
    m, left, columns = core.vectors.size[0], 0, core.vectors.columns
    staying = np.zeros(m, np.int64)
    for slot in range(m):
        core.slots[core.members[slot]] = -1
        if core.coefficients[slot] != 0.0:
            staying[left] = slot
            left += 1
    for k in range(left):
        slot = staying[k]
        core.slots[core.members[slot]] = k
        core.members[k], core.signs[k] = core.members[slot], core.signs[slot]
        core.diagonal[k], core.responses[k] = core.diagonal[slot], core.responses[slot]
        core.coefficients[k] = core.coefficients[slot]
        core.vectors.squared_norms[k] = core.vectors.squared_norms[slot]
    for c in range(columns.shape[0]):
        for k in range(left):
            columns[c, k] = columns[c, staying[k]]
    core.vectors.size[0] = core.active[0] = left
    for k in range(left, m):
        core.coefficients[k] = 0.0
    for place in range(len(core.owners)):
        if core.owners[place] >= 0:
            core.places[core.owners[place]], core.owners[place] = -1, -1


@jit
def sum_of_products(coefficients, kernel_row):
    """Compute ``sum_j coefficients_j kernel_row_j`` in double, over as many as there are in the row.

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
    """Add up; (m,) float64."""
    total = 0.0
    for number in numbers:
        total += number
    return total
