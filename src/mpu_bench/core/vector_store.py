"""Inner products of one example with all others: the examples by column, in whichever form is read fastest.

A row of the kernel matrix needs n inner products with the same example. Taken by columns, only those where that
example is not zero are read, and the sums of neighbouring examples are formed together, in vector registers. There are
four forms; `arrange` takes the one that should cost least. One tuple holds any of them, so that whatever works on a
kernel matrix is compiled once and not once per form.

    bits      ones and zeros, 64 columns to a word: the bits two words have in common are counted
    digits    up to 255 times a step, such as pixels: a byte a value, the step put in at the end
    columns   any values
    lists     the examples that are not zero in a column, for rows with few values
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit, types
from numba.extending import intrinsic, overload
from numpy.typing import NDArray

from mpu_bench.core.rows import Dense, Ones, Rows, Sparse

BITS, DIGITS, COLUMNS, LISTS = range(4)

#: Nanoseconds to read a word, a value or an entry of a list, measured; only their ratios matter.
_COSTS = {BITS: 0.14, COLUMNS: 0.14, LISTS: 1.0}

_BLOCK = 4096  # sums that are formed together; they stay in the nearest cache
_TOGETHER = 4  # columns that are added at a time
_MOST = 2 << 30  # bytes a form by whole columns may take when the rows are sparse


class Products(NamedTuple):
    """n examples of d features; the arrays of the forms not taken are empty.

    Values are float32, or float64 in double precision.
    """

    form: int
    bits: NDArray[np.uint64]  #: (words, n)
    digits: NDArray[np.uint8]  #: (d, n)
    step: float  #: what a digit of one stands for
    columns: NDArray[np.floating[Any]]  #: (d, n)
    values: NDArray[np.floating[Any]]  #: (pairs,) by column
    examples: NDArray[np.uint32]  #: (pairs,) whose they are
    starts: NDArray[np.uint32]  #: (d + 1,) where the columns begin
    row_values: NDArray[np.floating[Any]]  #: (pairs,) the same by example
    row_columns: NDArray[np.uint32]  #: (pairs,)
    row_starts: NDArray[np.uint32]  #: (n + 1,)


def arrange(rows: Rows, features: int, dtype: np.dtype[Any]) -> Products:
    """Put the examples into the form that should be read fastest.

    Parameters
    ----------
    rows : Rows
        n examples.
    features : int
        The number of columns, d.
    dtype : dtype
        float32 or float64, of the products.
    """
    empty = Products(
        COLUMNS,
        np.zeros((0, 0), np.uint64),
        np.zeros((0, 0), np.uint8),
        1.0,
        np.zeros((0, 0), dtype),
        *(np.zeros(0, dtype), np.zeros(0, np.uint32), np.zeros(0, np.uint32)),
        *(np.zeros(0, dtype), np.zeros(0, np.uint32), np.zeros(0, np.uint32)),
    )
    if isinstance(rows, Dense):
        return _dense(empty, rows.values.T, dtype)
    n, d = len(rows.starts) - 1, features
    form = _cheapest(rows, n, d, dtype)
    if form == BITS:
        return empty._replace(form=BITS, bits=_bits(rows, n, d))
    if form == COLUMNS:
        by_column = np.zeros((d, n), dtype)
        by_column[rows.columns, _owners(rows)] = _values(rows, dtype)
        return _dense(empty, by_column, dtype)
    return _lists(empty, rows, d, dtype)


def _cheapest(rows: Sparse | Ones, n: int, d: int, dtype: np.dtype[Any]) -> int:
    """Choose the form of sparse rows by what an inner product costs."""
    counts = np.bincount(rows.columns, minlength=d) / max(n, 1)
    costs = {LISTS: _COSTS[LISTS] * float(counts @ counts)}  # the columns two examples have in common
    if d * n * dtype.itemsize <= _MOST:
        costs[COLUMNS] = _COSTS[COLUMNS] * float(counts.sum())
    if isinstance(rows, Ones) or (rows.values == 1).all():
        costs[BITS] = _COSTS[BITS] * _words(d)
    return min(costs, key=lambda form: costs[form])


def _values(rows: Sparse | Ones, dtype: np.dtype[Any]) -> NDArray[Any]:
    return np.ones(len(rows.columns), dtype) if isinstance(rows, Ones) else rows.values.astype(dtype)


def _owners(rows: Sparse | Ones) -> NDArray[np.uint32]:
    """Give the example of every pair."""
    starts = rows.starts.astype(np.int64)
    lengths = starts[1:] - starts[:-1]
    return np.repeat(np.arange(len(lengths), dtype=np.uint32), lengths)


def _words(d: int) -> int:
    return max(-(-d // 64), 1)


def _bits(rows: Sparse | Ones, n: int, d: int) -> NDArray[np.uint64]:
    bits = np.zeros((_words(d), n), np.uint64)
    masks = np.uint64(1) << (rows.columns % np.uint32(64)).astype(np.uint64)
    np.bitwise_or.at(bits, (rows.columns // np.uint32(64), _owners(rows)), masks)
    return bits


def _dense(empty: Products, by_column: NDArray[Any], dtype: np.dtype[Any]) -> Products:
    """Take digits where every value is one, else columns."""
    step = _step(by_column)
    if step > 0 and dtype == np.float32:
        digits = np.empty(by_column.shape, np.uint8)
        for some in np.array_split(np.arange(by_column.shape[0]), 16):  # in parts, to be small in memory
            exact = by_column[some] / step
            digits[some] = np.clip(np.rint(exact), 0, 255)
            if not np.allclose(exact, digits[some], rtol=3e-7, atol=0):
                break
        else:
            return empty._replace(form=DIGITS, digits=digits, step=step)
    return empty._replace(form=COLUMNS, columns=np.ascontiguousarray(by_column, dtype))


def _step(by_column: NDArray[Any]) -> float:
    """Give the step if all values may be digits, else 0: the largest value has the least rounding."""
    most = float(by_column.max(initial=0.0))
    if most == 0.0 or by_column.min() < 0.0:
        return 0.0
    least = float(by_column.min(where=by_column > 0, initial=most))
    return most / round(most / least) if most / least < 255.5 else 0.0


def _lists(empty: Products, rows: Sparse | Ones, d: int, dtype: np.dtype[Any]) -> Products:
    values, order = _values(rows, dtype), np.argsort(rows.columns, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows.columns, minlength=d))]).astype(np.uint32)
    return empty._replace(
        form=LISTS,
        values=values[order],
        examples=_owners(rows)[order],
        starts=starts,
        row_values=values,
        row_columns=np.asarray(rows.columns),
        row_starts=np.asarray(rows.starts),
    )


@njit(cache=True, nogil=True)
def products_with(held, i, out):
    """Compute the inner products of example i with all; ``out`` (n,) gets them."""
    if held.form == BITS:
        _common_bits(held.bits, i, out)
    elif held.form == DIGITS:
        _sum_columns(held.digits, i, out)
        square = held.step * held.step
        for j in range(len(out)):
            out[j] *= square
    elif held.form == COLUMNS:
        _sum_columns(held.columns, i, out)
    else:
        _walk_lists(held, i, out)


@njit(cache=True, nogil=True)
def _common_bits(bits, i, out):
    for start in range(0, len(out), _BLOCK):
        sums = out[start : start + _BLOCK]
        sums[:] = 0
        for k in range(bits.shape[0]):
            mask, words = bits[k, i], bits[k, start:]
            if mask != 0:
                for j in range(len(sums)):
                    sums[j] += np.float32(np.int32(_count_bits(words[j] & mask)))


@njit(cache=True, nogil=True, fastmath={"contract"})
def _sum_columns(columns, i, out):
    chosen, scales = (
        np.zeros(columns.shape[0] + _TOGETHER, np.uint32),
        np.zeros(columns.shape[0] + _TOGETHER, out.dtype),
    )
    m = 0
    for c in range(columns.shape[0]):
        if columns[c, i] != 0:
            chosen[m], scales[m] = c, columns[c, i]
            m += 1
    for start in range(0, len(out), _BLOCK):
        sums, end = out[start : start + _BLOCK], start + _BLOCK
        sums[:] = 0
        for k in range(0, m, _TOGETHER):  # beyond m the scales are zero
            s0, s1, s2, s3 = scales[k], scales[k + 1], scales[k + 2], scales[k + 3]
            c0 = columns[chosen[k], start:end]
            c1 = columns[chosen[k + 1], start:end]
            c2 = columns[chosen[k + 2], start:end]
            c3 = columns[chosen[k + 3], start:end]
            for j in range(len(sums)):
                sums[j] += s0 * c0[j] + s1 * c1[j] + s2 * c2[j] + s3 * c3[j]


@njit(cache=True, nogil=True)
def _walk_lists(held, i, out):
    out[:] = 0
    for k in range(held.row_starts[i], held.row_starts[np.uint32(i) + np.uint32(1)]):
        scale, c = held.row_values[k], held.row_columns[k]
        for p in range(held.starts[c], held.starts[c + np.uint32(1)]):
            out[held.examples[p]] += scale * held.values[p]


def _count_bits(word: Any) -> Any:
    """Count the bits of a uint64 that are set."""
    return int(word).bit_count()


@intrinsic
def _population(_typing_context, word):
    def generate(_context, builder, _signature, arguments):
        return builder.ctpop(arguments[0])

    return types.uint64(word), generate


@overload(_count_bits)
def _compiled(word):
    def implementation(word):
        return _population(word)  # type: ignore[call-arg]

    return implementation if word == types.uint64 else None
