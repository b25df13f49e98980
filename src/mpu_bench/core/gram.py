"""Rows of the kernel matrix: computed when asked for, and kept as far as the memory allowance goes.

A `Gram` has room for some rows. Where all n fit it becomes the whole matrix, row by row; else the row that was asked
for the longest ago makes room for a new one. Values are float32 (``precision="single"``), which is what rows of tens
of thousands of values cost in memory and time; sums over them are the caller's, in float64. ``precision="double"`` is
for tests.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
import psutil
from numba import njit
from numpy.typing import NDArray

from mpu_bench.core.counters import KERNEL_COMPUTED, KERNEL_EVALUATIONS
from mpu_bench.core.kernels import Gaussian, Kernel, Linear, value, values
from mpu_bench.core.rows import Rows, add, count, dot, prepare, squared_norms
from mpu_bench.errors import DataError

_AHEAD = 6  # rows ahead that are fetched
_FEWEST = 2  # rows there is always room for: a pair is asked for one after the other, and used together

_chosen: list[int] = []  # the allowance set, if one was


class Gram(NamedTuple):
    """The kernel matrix of n examples of d features, with room for r rows."""

    examples: Rows
    kernel: Kernel
    squared_norms: NDArray[np.float64]  #: ||x_i||^2 (n,)
    diagonal: NDArray[np.float64]  #: K(x_i, x_i) (n,)
    kept: NDArray[np.floating[Any]]  #: (r, n) float32 or float64
    places: NDArray[np.int32]  #: (n,) where a row is kept, or -1
    owners: NDArray[np.int32]  #: (r,) whose row is kept, or -1
    older: NDArray[np.int32]  #: (r + 1,) a ring of places from the newest to the oldest; r is where it closes
    newer: NDArray[np.int32]  #: (r + 1,) the same ring the other way round
    example: NDArray[np.float64]  #: (d,) room for an example; zero between calls


def allowance() -> int:
    """Give the bytes a Gram may take: what `set_allowance` said, else half of the free memory."""
    return _chosen[0] if _chosen else int(psutil.virtual_memory().available) // 2


def set_allowance(memory: int | None) -> None:
    """Let each Gram built from now on take this many bytes; None: half of what is free when it is built."""
    _chosen[:] = [] if memory is None else [memory]


def build(
    rows: Rows,
    features: int,
    kernel: Kernel,
    memory: int | None = None,
    precision: Literal["single", "double"] = "single",
) -> Gram:
    """Make room for rows of the kernel matrix; none is computed yet.

    Parameters
    ----------
    rows : Rows
        n examples.
    features : int
        The number of columns, d.
    kernel : Kernel
    memory : int, optional
        Bytes for rows, `allowance` by default. There is always room for two rows. Memory is not taken before a row
        is computed.
    precision : {"single", "double"}
        Of the values kept.

    Raises
    ------
    DataError
        If a squared norm is not finite, or a kernel value may be too large for the precision.
    """
    dtype = np.dtype(np.float32 if precision == "single" else np.float64)
    norms = squared_norms(rows)
    _refuse_overflow(norms, kernel, dtype)
    n = len(norms)
    room = (allowance() if memory is None else memory) // max(n * dtype.itemsize, 1)
    r = min(n, max(room, _FEWEST))
    places = np.arange(r + 1, dtype=np.int32)
    return Gram(
        rows,
        kernel,
        norms,
        kernel_diagonal(kernel, norms),
        np.zeros((r, n), dtype),
        np.full(n, -1, np.int32),
        np.full(r, -1, np.int32),
        np.roll(places, -1),
        np.roll(places, 1),
        np.zeros(features),
    )


def _refuse_overflow(norms: NDArray[np.float64], kernel: Kernel, dtype: np.dtype[Any]) -> None:
    """Refuse examples so long that a kernel value may not be finite."""
    longest = float(np.sqrt(norms.max(initial=0.0)))
    most = np.finfo(dtype).max / 4  # room for sums on the way
    with np.errstate(over="ignore"):
        if isinstance(kernel, Gaussian | Linear):
            bound = np.float64(longest) ** 2
        else:
            bound = (abs(kernel.scale) * np.float64(longest) ** 2 + abs(kernel.offset)) ** kernel.degree
    if not bound < most:
        raise DataError(
            f"the largest ||x|| is {longest:.3g}, with which values of the kernel {kernel} may reach {bound:.1g};"
            " scale the features down (a card's step for that is `scale`) or take a smaller degree or scale"
        )


@njit(cache=True, nogil=True)
def row(gram, i, counters):
    """Give row i of the kernel matrix; n kernel evaluations.

    Parameters
    ----------
    gram : Gram
    i : integer
    counters : array of int64
        Asked for are n values; computed are n, or none where the row is kept.

    Returns
    -------
    array, shape (n,)
        A view, float32 or float64; valid until the call after the next, so that two rows can be used together.
    """
    n = len(gram.places)
    counters[KERNEL_EVALUATIONS] += n
    place = gram.places[i]
    if place < 0:
        place = _make_room(gram, i)
        _compute(gram, np.uint32(i), gram.kept[place])
        counters[KERNEL_COMPUTED] += n
    _renew(gram, place)
    return gram.kept[place]


@njit(cache=True, nogil=True)
def _make_room(gram, i):
    """Give row i the place of the row that was asked for the longest ago."""
    place = gram.newer[len(gram.owners)]
    if gram.owners[place] >= 0:
        gram.places[gram.owners[place]] = -1
    gram.owners[place] = i
    gram.places[i] = place
    return place


@njit(cache=True, nogil=True)
def _renew(gram, place):
    """Make a place the newest of the ring."""
    older, newer, head = gram.older, gram.newer, len(gram.owners)
    older[newer[place]], newer[older[place]] = older[place], newer[place]
    newest = older[head]
    older[place], newer[place] = newest, head
    newer[newest] = older[head] = place


@njit(cache=True, nogil=True)
def _compute(gram, i, row):
    """Compute row i."""
    add(gram.examples, i, 1.0, gram.example)
    last = np.uint32(len(row) - 1)
    for j in range(np.uint32(len(row))):
        prepare(gram.examples, min(np.uint32(j + _AHEAD), last))
        row[j] = dot(gram.examples, np.uint32(j), gram.example)
    add(gram.examples, i, -1.0, gram.example)  # exactly zero, at the cost of the row alone
    values(gram.kernel, row, gram.squared_norms, gram.squared_norms[i])
    row[i] = gram.diagonal[i]


def prefetch(gram: Gram, indices: NDArray[np.integer[Any]], counters: NDArray[np.int64]) -> None:
    """Compute those of the rows that are not kept, together; counted as computed, not as asked for.

    At most as many as there is room for are computed, the first ones.
    """
    for i in indices[: len(gram.owners)]:
        if gram.places[i] < 0:
            before = counters[KERNEL_EVALUATIONS]
            row(gram, i, counters)
            counters[KERNEL_EVALUATIONS] = before


def fill(gram: Gram, counters: NDArray[np.int64]) -> None:
    """Compute all rows, or as many as there is room for."""
    prefetch(gram, np.arange(len(gram.owners)), counters)


@njit(cache=True, nogil=True)
def kernel_row(kernel, rows, squared_norms, i, example, row):
    """Compute K(x_i, x_j) for all j; n kernel evaluations.

    Parameters
    ----------
    kernel : Kernel
    rows : Rows
        n examples of d features.
    squared_norms : array of float64, shape (n,)
        ``||x_j||^2``.
    i : uint32
    example : array of float64, shape (d,)
        Zero; holds x_i meanwhile, and is zero again afterwards.
    row : array of float64, shape (n,)
        Gets the values.
    """
    add(rows, i, 1.0, example)
    last = count(rows) - 1
    for j in range(count(rows)):
        prepare(rows, np.uint32(min(j + _AHEAD, last)))
        product = dot(rows, np.uint32(j), example)
        row[j] = value(kernel, product, squared_norms[j], squared_norms[i])
    add(rows, i, -1.0, example)  # exactly zero, at the cost of the row alone


@njit(cache=True, nogil=True)
def kernel_diagonal(kernel, squared_norms):
    """Compute K(x_i, x_i) for all i from ``||x_i||^2``; both of shape (n,)."""
    diagonal = np.empty(len(squared_norms))
    for i in range(len(squared_norms)):
        diagonal[i] = value(kernel, squared_norms[i], squared_norms[i], squared_norms[i])
    return diagonal
