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
from mpu_bench.core.products import COLUMNS, Products, arrange, products_with
from mpu_bench.core.rows import Rows, add, count, dot, prepare, squared_norms
from mpu_bench.errors import DataError

_AHEAD = 6  # rows ahead that are fetched
_TOGETHER = 64  # rows that BLAS computes in one block
_LARGE = 1 << 24  # bytes
_FEWEST = 2  # rows there is always room for: a pair is asked for one after the other, and used together

_chosen: list[int] = []  # the allowance set, if one was


class Gram(NamedTuple):
    """The kernel matrix of n examples of d features, with room for r rows."""

    products: Products
    kernel: Kernel
    squared_norms: NDArray[np.floating[Any]]  #: ||x_i||^2 (n,), as precise as the rows
    diagonal: NDArray[np.float64]  #: K(x_i, x_i) (n,)
    kept: NDArray[np.floating[Any]]  #: (r, n) float32 or float64
    places: NDArray[np.int32]  #: (n,) where a row is kept, or -1
    owners: NDArray[np.int32]  #: (r,) whose row is kept, or -1
    older: NDArray[np.int32]  #: (r + 1,) a ring of places from the newest to the oldest; r is where it closes
    newer: NDArray[np.int32]  #: (r + 1,) the same ring the other way round


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
    held = arrange(rows, features, dtype)
    return Gram(held, kernel, norms.astype(dtype), kernel_diagonal(kernel, norms), *_room(room, n, dtype))


def _room(r: int, n: int, dtype: np.dtype[Any]) -> tuple[NDArray[Any], ...]:
    """Make room for r rows, at least two and at most n; the arrays of a Gram that know of rows."""
    r = min(n, max(r, _FEWEST))
    ring = np.arange(r + 1, dtype=np.int32)
    nobody = np.full(r, -1, np.int32)
    return _memory(r, n, dtype), np.full(n, -1, np.int32), nobody, np.roll(ring, -1), np.roll(ring, 1)


def _memory(r: int, n: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Give an array that takes memory only where it is written to.

    numpy asks the system for large pages where it leaves the content open; for zeros it does not, and taking small
    pages one by one can cost more than computing a row.
    """
    return (np.zeros if r * n * dtype.itemsize < _LARGE else np.empty)((r, n), dtype)


def copy_without_rows(gram: Gram) -> Gram:
    """Give a Gram of the same examples and kernel that keeps two rows, and none yet."""
    return Gram(*gram[:4], *_room(_FEWEST, len(gram.places), gram.kept.dtype))


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
        products_with(gram.products, np.int64(i), gram.kept[place])
        _to_kernel(gram, np.int64(i), gram.kept[place])
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
def _to_kernel(gram, i, row):
    """Turn the inner products of example i into kernel values, in place."""
    values(gram.kernel, row, gram.squared_norms, gram.squared_norms[i])
    row[i] = gram.diagonal[i]


def prefetch(gram: Gram, indices: NDArray[np.integer[Any]], counters: NDArray[np.int64]) -> None:
    """Compute those of the rows that are not kept, together; counted as computed, not as asked for.

    At most as many as there is room for are computed, the first ones.
    """
    wanted = [i for i in dict.fromkeys(indices[: len(gram.owners)].tolist()) if gram.places[i] < 0]
    if gram.products.form != COLUMNS:  # the other forms are read faster than BLAS multiplies
        _compute_rows(gram, np.array(wanted, np.int64), counters)
        return
    for start in range(0, len(wanted), _TOGETHER):
        block = np.array(wanted[start : start + _TOGETHER])
        products = np.ascontiguousarray(gram.products.columns[:, block].T) @ gram.products.columns
        _keep_block(gram, block, products, counters)


@njit(cache=True, nogil=True)
def _compute_rows(gram, indices, counters):
    for i in indices:
        row(gram, i, counters)
        counters[KERNEL_EVALUATIONS] -= len(gram.places)


@njit(cache=True, nogil=True)
def _keep_block(gram, indices, products, counters):
    for k in range(len(indices)):
        i = indices[k]
        place = _make_room(gram, i)
        gram.kept[place] = products[k]
        _to_kernel(gram, i, gram.kept[place])
        _renew(gram, place)
        counters[KERNEL_COMPUTED] += len(gram.places)


def fill(gram: Gram, counters: NDArray[np.int64]) -> None:
    """Compute all rows, or as many as there is room for."""
    prefetch(gram, np.arange(len(gram.owners)), counters)


def expand(gram: Gram, coefficients: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute ``sum_j coefficients_j K(x_j, x_i)`` for all i; shape (n,), counted nowhere, no row is kept."""
    responses = np.zeros(len(coefficients))
    _expand(copy_without_rows(gram), coefficients, responses, np.zeros(KERNEL_COMPUTED + 1, np.int64))
    return responses


@njit(cache=True, nogil=True)
def _expand(gram, coefficients, responses, counters):
    for j in range(len(coefficients)):
        if coefficients[j] != 0.0:
            values = row(gram, np.int64(j), counters)
            for i in range(len(responses)):
                responses[i] += coefficients[j] * np.float64(values[i])


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
