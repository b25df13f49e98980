"""The examples of a problem, one per row: dense, sparse, or sparse with every value one.

The three tuples pass into jitted code as they are, and the functions below are written once per tuple and
chosen at compile time, so that a solver is written once for all of them. Index arrays are unsigned: numba
wraps negative indices, and with signed ones each access would pay a compare and a select.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mpu_bench.core.jit import jit, jit_dispatch
from mpu_bench.core.prefetch import prefetch
from mpu_bench.errors import DataError

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


class Dense(NamedTuple):
    """Rows whose every value is stored: ``values`` of shape (n, d), float32 or float64, C order."""

    values: NDArray[np.floating[Any]]


class Sparse(NamedTuple):
    """Rows by their non-zeros; row i is the slice ``starts[i]:starts[i + 1]``.

    ``values`` (nonzeros,) float32 or float64; ``indices`` (nonzeros,) uint32, their columns, rising within a row;
    ``starts`` (n + 1,) uint32, so there can be 4,294,967,295 non-zeros at most.
    """

    values: NDArray[np.floating[Any]]
    indices: NDArray[np.uint32]
    starts: NDArray[np.uint32]


class Ones(NamedTuple):
    """Sparse rows whose every stored value is one (Adult and Web are such): no values to keep or to read."""

    indices: NDArray[np.uint32]
    starts: NDArray[np.uint32]


Rows = Dense | Sparse | Ones


class AnyRows(NamedTuple):
    """Rows of any kind and precision in one type, so that code that looks at a row once is compiled once for all.

    The arrays of what they are not are empty. Of the operations below it has `squared_norm`, `nonzeros` and
    `prefetch_row`.
    """

    dense: NDArray[np.float32]
    precise_dense: NDArray[np.float64]
    values: NDArray[np.float32]
    precise_values: NDArray[np.float64]
    indices: NDArray[np.uint32]
    starts: NDArray[np.uint32]


_NO_ROWS = AnyRows(
    np.zeros((0, 0), np.float32),
    np.zeros((0, 0)),
    np.zeros(0, np.float32),
    np.zeros(0),
    np.zeros(0, np.uint32),
    np.zeros(0, np.uint32),
)


def any_rows(rows: Rows) -> AnyRows:
    """Return the rows as `AnyRows`; nothing is copied."""
    parts = rows._asdict()
    if not isinstance(rows, Ones):
        kind = "dense" if isinstance(rows, Dense) else "values"
        parts[f"precise_{kind}" if rows.values.dtype == np.float64 else kind] = np.asarray(parts.pop("values"))
    return _NO_ROWS._replace(**parts)


_MAX_VALUES = int(np.iinfo(np.uint32).max)  # of sparse rows
_LINE = 64  # bytes of a cache line
_FETCHED_LINES = np.uint64(64)  # cache lines of a dense row: a page, after which the processor goes on by itself


@jit_dispatch(fastmath={"reassoc", "contract"})
def dot(rows, i, w):
    """Return the inner product of row ``i`` (uint32) with ``w``, shape (d,) float64; a float64."""


@dot.register(Dense)
def _(rows, i, w):
    total = 0.0
    for j in range(rows.values.shape[1]):
        total += rows.values[i, j] * w[j]
    return total


@dot.register(Sparse)
def _(rows, i, w):
    total = 0.0
    for k in range(rows.starts[i], rows.starts[i + np.uint32(1)]):
        total += rows.values[k] * w[rows.indices[k]]
    return total


@dot.register(Ones)
def _(rows, i, w):
    total = 0.0
    for k in range(rows.starts[i], rows.starts[i + np.uint32(1)]):
        total += w[rows.indices[k]]
    return total


@jit_dispatch
def add(rows, i, scale, w):
    """Add ``scale`` times row ``i`` to ``w`` in place."""


@add.register(Dense)
def _(rows, i, scale, w):
    for j in range(rows.values.shape[1]):
        w[j] += scale * np.float64(rows.values[i, j])


@add.register(Sparse)
def _(rows, i, scale, w):
    for k in range(rows.starts[i], rows.starts[i + np.uint32(1)]):
        w[rows.indices[k]] += scale * np.float64(rows.values[k])


@add.register(Ones)
def _(rows, i, scale, w):
    for k in range(rows.starts[i], rows.starts[i + np.uint32(1)]):
        w[rows.indices[k]] += scale


@jit_dispatch(forceinline=True)
def prefetch_row(rows, i):
    """Hint to the processor that row ``i`` is needed soon."""


@prefetch_row.register(Dense)
def _(rows, i):
    _prefetch_dense(rows.values, i)


@prefetch_row.register(Sparse)
def _(rows, i):
    prefetch(rows.values, rows.starts[i])
    prefetch(rows.indices, rows.starts[i])


@prefetch_row.register(Ones)
def _(rows, i):
    prefetch(rows.indices, rows.starts[i])


@prefetch_row.register(AnyRows)
def _(rows, i):
    if len(rows.precise_dense) > 0:
        _prefetch_dense(rows.precise_dense, i)
    elif len(rows.dense) > 0:
        _prefetch_dense(rows.dense, i)
    else:
        prefetch(rows.indices, rows.starts[i])
        if len(rows.precise_values) > 0:
            prefetch(rows.precise_values, rows.starts[i])
        elif len(rows.values) > 0:
            prefetch(rows.values, rows.starts[i])


@jit(forceinline=True)
def _prefetch_dense(values, i):
    width = np.uint64(values.shape[1])
    first, line = width * np.uint64(i), np.uint64(_LINE // values.itemsize)
    for j in range(np.uint64(0), min(width, _FETCHED_LINES * line), line):
        prefetch(values, first + j)


@jit_dispatch
def squared_norm(rows, i):
    """Return the squared Euclidean norm of row ``i``; a float64."""


@squared_norm.register(Dense)
def _(rows, i):
    return _sum_of_squares(rows.values[i])


@squared_norm.register(Sparse)
def _(rows, i):
    return _sum_of_squares(rows.values[rows.starts[i] : rows.starts[i + np.uint32(1)]])


@squared_norm.register(Ones)
def _(rows, i):
    return np.float64(rows.starts[i + np.uint32(1)] - rows.starts[i])


@squared_norm.register(AnyRows, forceinline=True)  # a call with all these arrays takes longer than the choice
def _(rows, i):
    if len(rows.precise_dense) > 0:
        return _sum_of_squares(rows.precise_dense[i])
    if len(rows.dense) > 0:
        return _sum_of_squares(rows.dense[i])
    first, last = rows.starts[i], rows.starts[i + np.uint32(1)]
    if len(rows.precise_values) > 0:
        return _sum_of_squares(rows.precise_values[first:last])
    if len(rows.values) > 0:
        return _sum_of_squares(rows.values[first:last])
    return np.float64(last - first)


@jit
def _sum_of_squares(numbers):
    total = 0.0
    for number in numbers:
        total += np.float64(number) * number
    return total


@jit(forceinline=True)
def nonzeros(rows, i, indices, values):
    """Copy the non-zeros of row ``i`` of `AnyRows` to the beginning of two arrays of shape (d,); return their number.

    What lies behind them may change, too.
    """
    if len(rows.precise_dense) > 0:
        return _nonzeros_of_dense(rows.precise_dense[i], indices, values)
    if len(rows.dense) > 0:
        return _nonzeros_of_dense(rows.dense[i], indices, values)
    first, last = rows.starts[i], rows.starts[i + np.uint32(1)]
    m = np.int64(last - first)
    _copy(rows.indices[first:last], indices)
    if len(rows.precise_values) > 0:
        _copy(rows.precise_values[first:last], values)
    elif len(rows.values) > 0:
        _copy(rows.values[first:last], values)
    else:
        for k in range(m):
            values[k] = 1
    return m


@jit
def _copy(numbers, target):
    for k in range(len(numbers)):
        target[k] = numbers[k]


@jit
def _nonzeros_of_dense(row, indices, values):
    d, all_of_them = len(row), True
    for j in range(d):
        indices[j], values[j] = j, row[j]
        all_of_them &= row[j] != 0
    if all_of_them:
        return d
    m = 0
    for j in range(d):  # without a branch, which nobody could foresee
        indices[m], values[m] = j, row[j]
        m += row[j] != 0
    return m


@jit
def row_length(rows, i):
    """Return how many values are stored of row ``i`` of `AnyRows`."""
    if len(rows.starts) > 0:
        return np.int64(rows.starts[i + np.uint32(1)] - rows.starts[i])
    return np.int64(rows.dense.shape[1] + rows.precise_dense.shape[1])


@jit_dispatch
def count(rows):
    """Return the number of rows."""


@count.register(Dense)
def _(rows):
    return rows.values.shape[0]


@count.register(Sparse)
@count.register(Ones)
def _(rows):
    return rows.starts.shape[0] - 1


def new_weights(features: int) -> NDArray[np.float64]:
    """Return a vector of zeros, shape (features,), that begins with a cache line.

    Where every vector of eight doubles straddles two lines, `dot` and `add` of dense rows take up to 1.7 times as long.
    """
    padded = np.zeros(features + _LINE // 8)
    first = -padded.ctypes.data % _LINE // 8
    return padded[first : first + features]


@jit(allocates=True)
def squared_norms(rows):
    """Return the squared Euclidean norm of every row; float64, shape (n,)."""
    norms = np.empty(count(rows))
    for i in range(np.uint32(count(rows))):
        norms[i] = squared_norm(rows, np.uint32(i))
    return norms


def take(rows: Rows, chosen: NDArray[np.integer[Any]]) -> Rows:
    """Return a copy of the chosen rows, in the order given.

    Parameters
    ----------
    rows : Rows
    chosen : array of int, shape (m,)

    Returns
    -------
    Rows
        Of the same tuple type, with m rows.
    """
    if isinstance(rows, Dense):
        return Dense(np.ascontiguousarray(rows.values[chosen]))
    lengths = (rows.starts[1:] - rows.starts[:-1])[chosen].astype(np.int64)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    first = np.repeat(rows.starts[:-1][chosen].astype(np.int64) - starts[:-1], lengths)
    positions = first + np.arange(starts[-1])
    if isinstance(rows, Ones):
        return Ones(rows.indices[positions], starts.astype(np.uint32))
    return Sparse(rows.values[positions], rows.indices[positions], starts.astype(np.uint32))


def to_scipy(rows: Rows, features: int) -> csr_matrix | NDArray[np.float64]:
    """Return the rows as external solvers want them: a float64 CSR matrix, or a float64 array for dense rows.

    Parameters
    ----------
    rows : Rows
    features : int
        The number of columns, d.
    """
    if isinstance(rows, Dense):
        return rows.values.astype(np.float64)
    from scipy.sparse import csr_matrix

    values = np.ones(len(rows.indices)) if isinstance(rows, Ones) else rows.values.astype(np.float64)
    is_small = max(features, len(rows.indices)) <= np.iinfo(np.int32).max
    index = np.int32 if is_small else np.int64
    csr: Any = (values, rows.indices.astype(index), rows.starts.astype(index))
    return csr_matrix(csr, shape=(len(rows.starts) - 1, features))


def with_constant(rows: Rows, features: int, constant: float) -> Rows:
    """Return a copy of rows with a constant in a further column, column ``features`` counted from 0.

    `Ones` become `Sparse` unless the constant is 1; the other types stay what they are.

    Raises
    ------
    DataError
        If the rows come to more values than can be stored.
    """
    n = int(count(rows))
    if isinstance(rows, Dense):
        values = np.empty((n, features + 1), rows.values.dtype)
        values[:, :features] = rows.values
        values[:, features] = constant
        return Dense(values)
    if len(rows.indices) + n > _MAX_VALUES:
        raise DataError(
            f"a constant column (augment, or an intercept) takes the rows beyond the limit of {_MAX_VALUES:,} values; "
            "take fewer rows"
        )
    starts = np.add(rows.starts, np.arange(n + 1), dtype=np.uint32, casting="unsafe")
    old = np.ones(starts[-1], bool)
    old[starts[1:] - np.uint32(1)] = False
    indices: NDArray[np.uint32] = _merged(rows.indices, old, features)
    if isinstance(rows, Sparse):
        return Sparse(_merged(rows.values, old, constant), indices, starts)
    if np.float32(constant) == 1:
        return Ones(indices, starts)
    return Sparse(np.where(old, np.float32(1), np.float32(constant)), indices, starts)


def _merged(array: NDArray[Any], old: NDArray[np.bool_], constant: float) -> NDArray[Any]:
    """Lay the entries of ``array`` out in order where ``old`` is true, and ``constant`` elsewhere."""
    merged = np.full(len(old), constant, array.dtype)
    merged[old] = array
    return merged
