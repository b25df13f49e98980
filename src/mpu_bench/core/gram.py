"""Rows of the kernel matrix: computed when asked for, and kept as far as the memory allowance goes.

A `Gram` has room for some rows. Where all n fit it becomes the whole matrix, row by row; else the row that was asked
for the longest ago makes room for a new one. Memory that is touched for the first time may cost several times what a
row does, and most rows are asked for once; so the room begins small, and each row that had to leave and is asked for
again opens a few places more. Values do not depend on any of this. Blocks computed ahead use the threads of BLAS; a row
on its own is computed by one thread: it takes less than threads need to meet, or is bound by memory.

Values are float32 (``precision="single"``), which is what rows of tens
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
from mpu_bench.core.kernels import Kernel, value, values
from mpu_bench.core.rows import Rows, add, count, dot, prepare, squared_norms
from mpu_bench.core.vector_store import COLUMNS, Products, arrange, products_with
from mpu_bench.errors import DataError

_AHEAD = 6  # rows ahead that are fetched
_TOGETHER = 64  # rows that BLAS computes in one block
_LARGE = 1 << 24  # bytes
_FIRST = 1 << 26  # bytes there is room for at once
_MORE = 2  # places that a row computed again opens: the fewer, the less memory; a half as many are computed in vain
_FEWEST = 2  # rows there is always room for: a pair is asked for one after the other, and used together

_NEVER, _LEFT = -1, -2  # instead of a place: never computed, or kept no more

_chosen: list[int] = []  # the allowance set, if one was
_sharing: list[int] = [1]  # processes among which what is free is shared


_Places = NDArray[np.int32]


class Gram(NamedTuple):
    """The kernel matrix of n examples of d features, with room for r rows, of which the first few may be open."""

    products: Products
    kernel: Kernel
    squared_norms: NDArray[np.floating[Any]]  #: ||x_i||^2 (n,), as precise as the rows
    diagonal: NDArray[np.float64]  #: K(x_i, x_i) (n,)
    kept: NDArray[np.floating[Any]]  #: (r, n) float32 or float64
    places: NDArray[np.int32]  #: (n,) where a row is kept, or below 0
    owners: NDArray[np.int32]  #: (r,) whose row is kept, or -1
    older: NDArray[np.int32]  #: (r + 1,) a ring of open places from the newest to the oldest; r is where it closes
    newer: NDArray[np.int32]  #: (r + 1,) the same ring the other way round
    opened: NDArray[np.int64]  #: (1,) the number of open places


def allowance() -> int:
    """Give the bytes a Gram may take: what `set_allowance` said, else half of the free memory."""
    return _chosen[0] if _chosen else int(psutil.virtual_memory().available) // (2 * _sharing[0])


def set_allowance(memory: int | None, processes: int = 1) -> None:
    """Let each Gram built from now on take this many bytes.

    None: half of what is free when it is built, or this process's share of that where several processes share it.
    """
    _chosen[:] = [] if memory is None else [memory]
    _sharing[:] = [processes]


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
    kept = _memory(min(n, max(room, _FEWEST)), n, dtype)
    return Gram(
        held,
        kernel,
        norms.astype(dtype),
        kernel_diagonal(kernel, norms),
        kept,
        *_all_free(kept),
    )


def _memory(r: int, n: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Make room for r rows, or for as many as the system grants; it takes memory only where it is written to.

    numpy asks the system for large pages where it leaves the content open; for zeros it does not always, and taking
    small pages one by one can cost more than computing a row.
    """
    while True:
        try:
            return (np.zeros if r * n * dtype.itemsize < _LARGE else np.empty)((r, n), dtype)
        except MemoryError:
            if r <= min(n, _FEWEST):
                raise
            r = max(r // 2, _FEWEST)


def _all_free(kept: NDArray[Any]) -> tuple[_Places, _Places, _Places, _Places, NDArray[np.int64]]:
    """Give what a Gram knows of the places."""
    r, n = kept.shape
    first = min(r, max(_FEWEST, _FIRST // kept[0].nbytes))
    older, newer = np.full(r + 1, -1, np.int32), np.full(r + 1, -1, np.int32)
    ring = np.append(np.arange(first, dtype=np.int32), np.int32(r))
    older[ring], newer[ring] = np.roll(ring, -1), np.roll(ring, 1)
    nobody, nowhere = np.full(r, -1, np.int32), np.full(n, _NEVER, np.int32)
    return nowhere, nobody, older, newer, np.array([first])


def copy_without_rows(gram: Gram) -> Gram:
    """Give a Gram of the same examples and kernel that keeps two rows, and none yet."""
    kept = _memory(min(_FEWEST, len(gram.places)), len(gram.places), gram.kept.dtype)
    return Gram(gram.products, gram.kernel, gram.squared_norms, gram.diagonal, kept, *_all_free(kept))


def _refuse_overflow(norms: NDArray[np.float64], kernel: Kernel, dtype: np.dtype[Any]) -> None:
    """Refuse examples so long that a kernel value may not be finite."""
    squared_norm = float(norms.max(initial=0.0))
    most = float(np.finfo(dtype).max) / 4  # room for sums on the way
    with np.errstate(over="ignore"):
        bound = kernel.largest(squared_norm)
    if not bound < most:
        raise DataError(
            f"the largest ||x|| is {np.sqrt(squared_norm):.3g}, with which values of the kernel {kernel} may reach"
            f" {bound:.1g}; scale the features down (a card's step for that is `scale`) or take a smaller degree or"
            " scale"
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
        _compute(gram, np.int64(i), gram.kept[place])
        counters[KERNEL_COMPUTED] += n
    renew(gram, place)
    return gram.kept[place]


@njit(cache=True, nogil=True)
def _make_room(gram, i):
    """Give row i a new place, or that of the row that was asked for the longest ago."""
    if gram.places[i] == _LEFT:
        _open(gram, _MORE)
    place = gram.newer[len(gram.owners)]
    if gram.owners[place] >= 0:
        gram.places[gram.owners[place]] = _LEFT
    gram.owners[place] = i
    gram.places[i] = place
    return place


@njit(cache=True, nogil=True)
def _open(gram, most):
    """Open some places more, as far as there are any, as the oldest of the ring."""
    older, newer, head = gram.older, gram.newer, len(gram.owners)
    for place in range(gram.opened[0], min(gram.opened[0] + most, head)):
        oldest = newer[head]
        older[place], newer[place] = head, oldest
        older[oldest] = newer[head] = place
        gram.opened[0] = place + 1


@njit(cache=True, nogil=True)
def renew(kept, place):
    """Make a place the newest of the ring of ``kept``, a tuple with ``older``, ``newer`` and ``owners``."""
    older, newer, head = kept.older, kept.newer, len(kept.owners)
    older[newer[place]], newer[older[place]] = older[place], newer[place]
    newest = older[head]
    older[place], newer[place] = newest, head
    newer[newest] = older[head] = place


@njit(cache=True, nogil=True)
def _compute(gram, i, row):
    """Compute row i."""
    products_with(gram.products, i, row)
    _to_kernel(gram, i, row)


@njit(cache=True, nogil=True)
def _to_kernel(gram, i, row):
    """Turn the inner products of example i into kernel values, in place."""
    values(gram.kernel, row, gram.squared_norms, gram.squared_norms[i])
    row[i] = gram.diagonal[i]


def prefetch(gram: Gram, indices: NDArray[np.integer[Any]], counters: NDArray[np.int64]) -> None:
    """Compute those of the rows that are not kept, together; counted as computed, not as asked for.

    At most as many as there are open places for are computed, the first ones.
    """
    wanted = [i for i in dict.fromkeys(indices[: gram.opened[0]].tolist()) if gram.places[i] < 0]
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
        renew(gram, place)
        counters[KERNEL_COMPUTED] += len(gram.places)


def fill(gram: Gram, counters: NDArray[np.int64]) -> None:
    """Compute all rows, or as many as there is room for."""
    _open(gram, len(gram.owners))
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
