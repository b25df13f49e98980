"""The examples of a problem, one per row: dense, sparse, or sparse with every value one.

The three tuples pass into jitted code as they are, and the functions below are written once per tuple and
chosen at compile time, so that a solver is written once for all of them. Index arrays are unsigned: numba
wraps negative indices, and with signed ones each access would pay a compare and a select.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from numba import njit
from numpy.typing import NDArray

from mpu_bench.core.jit import dispatch
from mpu_bench.core.prefetch import prefetch


class Dense(NamedTuple):
    """Rows whose every value is stored: ``values`` of shape (n, d), float32 or float64, C order."""

    values: NDArray[np.floating[Any]]


class Sparse(NamedTuple):
    """Rows of (column, value) pairs; row i is the slice ``starts[i]:starts[i + 1]``.

    ``values`` (pairs,) float32 or float64; ``columns`` (pairs,) uint32, rising within a row; ``starts`` (n + 1,)
    uint32, so there can be 4,294,967,295 pairs at most.
    """

    values: NDArray[np.floating[Any]]
    columns: NDArray[np.uint32]
    starts: NDArray[np.uint32]


class Ones(NamedTuple):
    """Sparse rows whose every stored value is one (Adult and Web are such): no values to keep or to read."""

    columns: NDArray[np.uint32]
    starts: NDArray[np.uint32]


Rows = Dense | Sparse | Ones

_LINE = 64  # bytes of a cache line
_FETCHED_LINES = np.uint64(64)  # of a dense row at most: a page, after which the processor goes on by itself


def _dot_dense(rows, i, w):
    total = 0.0
    for j in range(rows.values.shape[1]):
        total += rows.values[i, j] * w[j]
    return total


def _dot_sparse(rows, i, w):
    total = 0.0
    for k in range(rows.starts[i], rows.starts[i + np.uint32(1)]):
        total += rows.values[k] * w[rows.columns[k]]
    return total


def _dot_ones(rows, i, w):
    total = 0.0
    for k in range(rows.starts[i], rows.starts[i + np.uint32(1)]):
        total += w[rows.columns[k]]
    return total


def _add_dense(rows, i, scale, w):
    for j in range(rows.values.shape[1]):
        w[j] += scale * np.float64(rows.values[i, j])


def _add_sparse(rows, i, scale, w):
    for k in range(rows.starts[i], rows.starts[i + np.uint32(1)]):
        w[rows.columns[k]] += scale * np.float64(rows.values[k])


def _add_ones(rows, i, scale, w):
    for k in range(rows.starts[i], rows.starts[i + np.uint32(1)]):
        w[rows.columns[k]] += scale


def _prepare_dense(rows, i):
    width = np.uint64(rows.values.shape[1])
    first, line = width * np.uint64(i), np.uint64(_LINE // rows.values.itemsize)
    for j in range(np.uint64(0), min(width, _FETCHED_LINES * line), line):
        prefetch(rows.values, first + j)


def _prepare_sparse(rows, i):
    prefetch(rows.values, rows.starts[i])
    prefetch(rows.columns, rows.starts[i])


def _prepare_ones(rows, i):
    prefetch(rows.columns, rows.starts[i])


def _squared_norm_dense(rows, i):
    total = 0.0
    for j in range(rows.values.shape[1]):
        total += np.float64(rows.values[i, j]) * rows.values[i, j]
    return total


def _squared_norm_sparse(rows, i):
    total = 0.0
    for k in range(rows.starts[i], rows.starts[i + np.uint32(1)]):
        total += np.float64(rows.values[k]) * rows.values[k]
    return total


def _squared_norm_ones(rows, i):
    return np.float64(rows.starts[i + np.uint32(1)] - rows.starts[i])


def _pairs_dense(rows, i, columns, values):
    m = 0
    for j in range(rows.values.shape[1]):  # without a branch, which nobody could foresee
        columns[m], values[m] = j, rows.values[i, j]
        m += rows.values[i, j] != 0
    return m


def _pairs_sparse(rows, i, columns, values):
    first = rows.starts[i]
    m = np.int64(rows.starts[i + np.uint32(1)] - first)
    for k in range(m):
        columns[k], values[k] = rows.columns[first + np.uint32(k)], rows.values[first + np.uint32(k)]
    return m


def _pairs_ones(rows, i, columns, values):
    first = rows.starts[i]
    m = np.int64(rows.starts[i + np.uint32(1)] - first)
    for k in range(m):
        columns[k], values[k] = rows.columns[first + np.uint32(k)], 1
    return m


def _count_dense(rows):
    return rows.values.shape[0]


def _count_by_starts(rows):
    return rows.starts.shape[0] - 1


#: ``dot(rows, i, w)``: the inner product of row ``i`` (uint32) with ``w`` (d,) float64; a float64.
dot = dispatch("dot", {Dense: _dot_dense, Sparse: _dot_sparse, Ones: _dot_ones}, fastmath={"reassoc", "contract"})

#: ``add(rows, i, scale, w)``: ``w += scale * row i`` in place.
add = dispatch("add", {Dense: _add_dense, Sparse: _add_sparse, Ones: _add_ones})

#: ``squared_norm(rows, i)``: the squared Euclidean norm of row ``i``; a float64.
squared_norm = dispatch(
    "squared_norm", {Dense: _squared_norm_dense, Sparse: _squared_norm_sparse, Ones: _squared_norm_ones}
)

#: ``pairs(rows, i, columns, values)``: copies the columns and values of row ``i`` that are not zero to the beginning of
#: two arrays of shape (d,), and says how many they are. What is behind them may change, too.
pairs = dispatch("pairs", {Dense: _pairs_dense, Sparse: _pairs_sparse, Ones: _pairs_ones})

#: ``prepare(rows, i)``: a hint that row ``i`` is needed soon.
prepare = dispatch("prepare", {Dense: _prepare_dense, Sparse: _prepare_sparse, Ones: _prepare_ones})

#: ``count(rows)``: the number of rows.
count = dispatch("count", {Dense: _count_dense, Sparse: _count_by_starts, Ones: _count_by_starts})


def new_weights(features: int) -> NDArray[np.float64]:
    """Make a vector of zeros, shape (features,), that begins with a cache line.

    Where every vector of eight doubles straddles two lines, `dot` and `add` of dense rows take up to 1.7 times as long.
    """
    spare = _LINE // 8
    room = np.zeros(features + spare)
    first = -room.ctypes.data % _LINE // 8
    return room[first : first + features]


@njit(cache=True, nogil=True)
def squared_norms(rows):
    """Compute the squared Euclidean norm of every row; float64, shape (n,)."""
    norms = np.empty(count(rows))
    for i in range(np.uint32(count(rows))):
        norms[i] = squared_norm(rows, np.uint32(i))
    return norms


def take(rows: Rows, chosen: NDArray[np.integer[Any]]) -> Rows:
    """Copy the chosen rows, in the order given.

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
    pairs = first + np.arange(starts[-1])
    if isinstance(rows, Ones):
        return Ones(rows.columns[pairs], starts.astype(np.uint32))
    return Sparse(rows.values[pairs], rows.columns[pairs], starts.astype(np.uint32))


def to_scipy(rows: Rows, features: int) -> scipy.sparse.csr_matrix | NDArray[np.float64]:
    """Give the rows as the peers want them: a float64 CSR matrix, or a float64 array for dense rows.

    Parameters
    ----------
    rows : Rows
    features : int
        The number of columns, d.
    """
    if isinstance(rows, Dense):
        return rows.values.astype(np.float64)
    values = np.ones(len(rows.columns)) if isinstance(rows, Ones) else rows.values.astype(np.float64)
    index = (values, rows.columns.astype(np.int32), rows.starts.astype(np.int32))
    return scipy.sparse.csr_matrix(index, shape=(len(rows.starts) - 1, features))
