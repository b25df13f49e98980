"""Examples stored by column, in whichever layout the inner products of one with all others are computed fastest.

A row of the kernel matrix needs n inner products with the same example. Taken by columns, only those where that
example is not zero are read, and the sums of neighbouring examples are formed together, in vector registers. There are
four layouts; `choose_layout` takes the one that should cost least. One tuple holds any of them, so that whatever works
on a kernel matrix is compiled once and not once per layout.

    bits       ones and zeros, 64 columns to a word: the bits two words have in common are counted
    quantised  up to 255 times a quantum, such as pixels: a byte a value, the quantum put in at the end
    columns    any values
    csc        compressed columns: the examples that are not zero in a column, for rows with few values
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import lower_builtin, type_callable
from numpy.typing import NDArray

from mpu_bench.core.jit import jit
from mpu_bench.core.numeric import multiply
from mpu_bench.core.rows import Dense, Ones, Rows, Sparse

BITS, QUANTISED, COLUMNS, CSC = range(4)

#: Nanoseconds to read a word, a value or an entry of a column, measured; only their ratios matter.
_READ_NANOSECONDS = {BITS: 0.14, COLUMNS: 0.14, CSC: 1.0}

SUMS_AT_ONCE = 4096  # they stay in the nearest cache
COLUMNS_AT_ONCE = 4
_LARGEST_BYTE = 255
_ROUNDING = 3e-7  # of single precision
_SPREAD_OUT_BYTES = 2 << 30  # that a layout by whole columns may take when the rows are sparse
_QUANTISED_PARTS = 16  # in which columns are quantised, to be small in memory


class VectorStore(NamedTuple):
    """n examples of d features; the arrays of the layouts not taken are empty.

    Values are float32, or float64 in double precision.
    """

    layout: int  #: BITS, QUANTISED, COLUMNS or CSC
    bits: NDArray[np.uint64]  #: (words, n)
    quantised: NDArray[np.uint8]  #: (d, n)
    quantum: float  #: what a quantised one stands for
    columns: NDArray[np.floating[Any]]  #: (d, n)
    values: NDArray[np.floating[Any]]  #: (pairs,) by column
    examples: NDArray[np.uint32]  #: (pairs,) whose they are
    starts: NDArray[np.uint32]  #: (d + 1,) where the columns begin
    row_values: NDArray[np.floating[Any]]  #: (pairs,) the same by example
    row_columns: NDArray[np.uint32]  #: (pairs,)
    row_starts: NDArray[np.uint32]  #: (n + 1,)
    listed: NDArray[np.uint32]  #: (d + 4,) scratch: the columns where an example is not zero
    scales: NDArray[np.floating[Any]]  #: (d + 4,) scratch: its values there, then zeros


def choose_layout(rows: Rows, features: int, dtype: np.dtype[Any]) -> VectorStore:
    """Return the examples in the layout that should be read fastest.

    Parameters
    ----------
    rows : Rows
        n examples.
    features : int
        The number of columns, d.
    dtype : dtype
        float32 or float64, of the inner products.
    """
    empty = VectorStore(
        COLUMNS,
        np.zeros((0, 0), np.uint64),
        np.zeros((0, 0), np.uint8),
        1.0,
        np.zeros((0, 0), dtype),
        *(np.zeros(0, dtype), np.zeros(0, np.uint32), np.zeros(0, np.uint32)),
        *(np.zeros(0, dtype), np.zeros(0, np.uint32), np.zeros(0, np.uint32)),
        *_scratch(features, dtype),
    )
    if isinstance(rows, Dense):
        return _dense(empty, rows.values.T, dtype)
    n, d = len(rows.starts) - 1, features
    layout = _cheapest(rows, n, d, dtype)
    if layout == BITS:
        return empty._replace(layout=BITS, bits=_bits(rows, n, d))
    if layout == COLUMNS:
        by_column = np.zeros((d, n), dtype)
        by_column[rows.indices, _examples(rows)] = _values(rows, dtype)
        return _dense(empty, by_column, dtype)
    return _csc(empty, rows, d, dtype)


def with_own_scratch(store: VectorStore) -> VectorStore:
    """Return the same examples for another thread to work on."""
    listed, scales = _scratch(len(store.listed) - COLUMNS_AT_ONCE, store.scales.dtype)
    return store._replace(listed=listed, scales=scales)


def _scratch(d: int, dtype: np.dtype[Any]) -> tuple[NDArray[np.uint32], NDArray[Any]]:
    return np.zeros(d + COLUMNS_AT_ONCE, np.uint32), np.zeros(d + COLUMNS_AT_ONCE, dtype)


def _cheapest(rows: Sparse | Ones, n: int, d: int, dtype: np.dtype[Any]) -> int:
    """Return the layout of sparse rows in which an inner product costs least."""
    counts = np.bincount(rows.indices, minlength=d) / max(n, 1)
    costs = {CSC: _READ_NANOSECONDS[CSC] * float(counts @ counts)}  # the columns two examples have in common
    if d * n * dtype.itemsize <= _SPREAD_OUT_BYTES:
        costs[COLUMNS] = _READ_NANOSECONDS[COLUMNS] * float(counts.sum())
    if isinstance(rows, Ones) or (rows.values == 1).all():
        costs[BITS] = _READ_NANOSECONDS[BITS] * _words(d)
    return min(costs, key=lambda layout: costs[layout])


def _values(rows: Sparse | Ones, dtype: np.dtype[Any]) -> NDArray[Any]:
    return np.ones(len(rows.indices), dtype) if isinstance(rows, Ones) else rows.values.astype(dtype)


def _examples(rows: Sparse | Ones) -> NDArray[np.uint32]:
    """Return the example of every pair."""
    starts = rows.starts.astype(np.int64)
    lengths = starts[1:] - starts[:-1]
    return np.repeat(np.arange(len(lengths), dtype=np.uint32), lengths)


def _words(d: int) -> int:
    return max(-(-d // 64), 1)


def _bits(rows: Sparse | Ones, n: int, d: int) -> NDArray[np.uint64]:
    bits = np.zeros((_words(d), n), np.uint64)
    masks = np.uint64(1) << (rows.indices % np.uint32(64)).astype(np.uint64)
    np.bitwise_or.at(bits, (rows.indices // np.uint32(64), _examples(rows)), masks)
    return bits


def _dense(empty: VectorStore, by_column: NDArray[Any], dtype: np.dtype[Any]) -> VectorStore:
    """Quantise where every value allows it; else the values themselves are stored."""
    if dtype == np.float32 and (quantum := float(common_quantum(by_column.ravel("K")))) > 0:
        quantised = np.empty(by_column.shape, np.uint8)
        for part in np.array_split(np.arange(by_column.shape[0]), _QUANTISED_PARTS):
            quantised[part] = np.rint(by_column[part] / quantum)
        return empty._replace(layout=QUANTISED, quantised=quantised, quantum=quantum)
    return empty._replace(layout=COLUMNS, columns=np.ascontiguousarray(by_column, dtype))


@jit
def common_quantum(values):
    """Return a number of which all values are multiples up to 255 times; 0 where there is none.

    It is guessed from the largest value, whose rounding is the least, and the smallest that is not zero.
    """
    smallest, largest, worst = np.inf, 0.0, 0.0
    for value in values:
        if value < 0:
            return 0.0
        if value > 0:
            smallest, largest = min(smallest, value), max(largest, value)
    if not 0.0 < largest < (_LARGEST_BYTE + 0.5) * smallest:
        return 0.0
    quantum = largest / np.rint(largest / smallest)
    for value in values:
        multiple = value / quantum
        worst = max(worst, abs(multiple - np.rint(multiple)) - _ROUNDING * multiple)
    return quantum if worst <= 0.0 else 0.0


def _csc(empty: VectorStore, rows: Sparse | Ones, d: int, dtype: np.dtype[Any]) -> VectorStore:
    values, order = _values(rows, dtype), np.argsort(rows.indices, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows.indices, minlength=d))]).astype(np.uint32)
    return empty._replace(
        layout=CSC,
        values=values[order],
        examples=_examples(rows)[order],
        starts=starts,
        row_values=values,
        row_columns=np.asarray(rows.indices),
        row_starts=np.asarray(rows.starts),
    )


@jit(inline="always")
def part_length(store, n):
    """Return how many of n inner products are computed together: their sums stay in the nearest cache."""
    return max(n, 1) if store.layout == CSC else SUMS_AT_ONCE


@jit
def list_columns(store, i):
    """List in the scratch where example i is not zero, if its layout needs that; return how many columns there are."""
    if store.layout == QUANTISED:
        return _list_columns(store.quantised, i, store.listed, store.scales)
    if store.layout == COLUMNS:
        return _list_columns(store.columns, i, store.listed, store.scales)
    return 0


@jit(forceinline=True)
def _list_columns(columns, i, listed, scales):
    m = 0
    for c in range(columns.shape[0]):
        if columns[c, i] != 0:
            listed[m], scales[m] = c, columns[c, i]
            m += 1
    for k in range(m, min(m + COLUMNS_AT_ONCE, len(listed))):
        listed[k], scales[k] = 0, 0
    return m


@jit(forceinline=True)
def part_of_inner_products(store, i, listed, first, sums):
    """Compute the inner products of example i with those from ``first`` on; ``sums`` gets them.

    Parameters
    ----------
    store : VectorStore
    i : uint32
    listed : integer
        What `list_columns` has returned for example i.
    first : integer
    sums : array, shape (m,)
        At most `part_length`; where examples are in compressed columns all n.
    """
    for j in range(len(sums)):  # compiled ten times as fast as sums[:] = 0
        sums[j] = 0
    if store.layout == BITS:
        _add_common_bits(store.bits, i, first, sums)
    elif store.layout == QUANTISED:
        _sum_columns(store.quantised, store.listed, store.scales, listed, first, sums)
        multiply(sums, store.quantum * store.quantum)
    elif store.layout == COLUMNS:
        _sum_columns(store.columns, store.listed, store.scales, listed, first, sums)
    else:
        _walk_columns(store, i, sums)


@jit
def _add_common_bits(bits, i, first, sums):
    for k in range(bits.shape[0]):
        mask, words = bits[k, i], bits[k, first:]
        if mask != 0:
            for j in range(len(sums)):
                sums[j] += np.float32(np.int32(_count_bits(words[j] & mask)))


@jit
def _sum_columns(columns, listed, scales, m, first, sums):
    """Add up the m columns listed, each times its scale; beyond m the scales are zero."""
    for k in range(0, m, COLUMNS_AT_ONCE):
        add_columns(columns, listed, scales, k, first, sums)


@jit(fastmath={"contract"}, forceinline=True)
def add_columns(columns, indices, values, k, first, sums):
    """Add four columns, each times a value: ``sums_j += sum_l values_l columns[indices_l, first + j]``, l = k .. k + 3.

    Parameters
    ----------
    columns : array, shape (d, n)
    indices : array of uint32
        Of columns, at least k + 4.
    values : array like ``sums``
        At least k + 4.
    k, first : integer
    sums : array, shape (m,)
        Changed in place; m is at most n - first.
    """
    s0, s1, s2, s3 = values[k], values[k + 1], values[k + 2], values[k + 3]
    last = first + len(sums)
    c0, c1 = columns[indices[k], first:last], columns[indices[k + 1], first:last]
    c2, c3 = columns[indices[k + 2], first:last], columns[indices[k + 3], first:last]
    for j in range(len(sums)):
        sums[j] += s0 * c0[j] + s1 * c1[j] + s2 * c2[j] + s3 * c3[j]


@jit
def _walk_columns(store, i, out):
    for k in range(store.row_starts[i], store.row_starts[np.uint32(i) + np.uint32(1)]):
        value, c = store.row_values[k], store.row_columns[k]
        for p in range(store.starts[c], store.starts[c + np.uint32(1)]):
            out[store.examples[p]] += value * store.values[p]


def _count_bits(word: Any) -> Any:
    """Return the number of bits of a uint64 that are set."""
    return int(word).bit_count()


@type_callable(_count_bits)
def _(_context):
    return lambda word: types.uint64 if word == types.uint64 else None


@lower_builtin(_count_bits, types.uint64)
def _(_context, builder, _signature, arguments):
    return builder.ctpop(arguments[0])
