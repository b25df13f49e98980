"""Rows of the kernel matrix: computed when asked for, and kept as far as the memory allowance goes.

A `Gram` has slots for some rows. Where all n fit it becomes the whole matrix, row by row; else the least recently used
row makes room for a new one. Memory that is touched for the first time may cost several times what a row does, and most
rows are asked for once; so few slots are open at first, and each row that had to leave and is asked for again opens a
few more (core/lru.py). Values do not depend on any of this, nor on how many threads compute a row together
(`threads`, core/team.py); that of few values in compressed columns is computed by one.

Values are float32 (``precision="single"``), which is what rows of tens of thousands of values cost in memory and time;
sums over them are the caller's, in float64. ``precision="double"`` is for problems whose certificates single precision
would spoil, and for rows that it does not tell apart (kernels/precision.py); it takes twice the memory. Between them,
for values up to about 1, is ``precision="fixed"``: values are computed in double precision and kept as int32.

Where all rows were computed before (`compute_all`), a Gram of the same examples and kernel takes them as they are
(`Provision.shared`): the same values, and none is computed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import psutil
from numba import config
from numpy.typing import NDArray

from mpu_bench.core import buffers
from mpu_bench.core.counters import KERNEL_COMPUTED, KERNEL_EVALUATIONS
from mpu_bench.core.jit import jit, jit_dispatch
from mpu_bench.core.lru import LRU, claim, full_lru, new_lru, touch
from mpu_bench.core.problem import Problem
from mpu_bench.core.rows import Rows, squared_norms
from mpu_bench.core.team import Helpers, Team, new_team, parts_are_done, take_part, wait, want, wanted
from mpu_bench.core.vector_store import (
    CSC,
    VectorStore,
    choose_layout,
    list_columns,
    part_length,
    part_of_inner_products,
    with_own_scratch,
)
from mpu_bench.errors import DataError
from mpu_bench.kernels import Kernel, value, values
from mpu_bench.kernels.precision import DTYPES, FIXED_UNIT, RowPrecision, is_single_enough

DEFAULT_CACHE_MB = 1000.0  #: for the rows of a Gram, where nobody says how much
_OPEN_BYTES = 1 << 26  # of slots that are open at first
_SMALLEST = float(np.finfo(np.float64).tiny / np.finfo(np.float64).eps)  # kernel value that keeps its digits
_MIN_SLOTS = 2  # a pair of rows is asked for one after the other, and used together
_ROWS_AT_ONCE = 64  # computed by a thread before it asks for more
#: of a row that threads compute together: enough of them to end at about the same time, of lengths at which vector
#: registers leave no rest, as a rest is rounded otherwise
_PARTS, _LENGTHS = 8, 512
_LOOKS = 50_000  # of a helper at the board, before it sleeps: some 50 microseconds

_limit: ContextVar[int | None] = ContextVar("limit", default=None)  # of `limited`


class Gram(NamedTuple):
    """The kernel matrix of n examples of d features, with slots for r rows."""

    store: VectorStore
    kernel: Kernel
    squared_norms: NDArray[np.floating[Any]]  #: ||x_i||^2 (n,), as precise as the rows
    diagonal: NDArray[np.float64]  #: K(x_i, x_i) / unit (n,)
    kept: NDArray[Any]  #: K(x_i, x_j) / unit (r, n) float32, int32 or float64, by slot
    computed: NDArray[
        np.floating[Any]
    ]  #: the same array; for int32 one row (1, n), which is computed before it is kept
    lru: LRU
    team: Team

    @property
    def unit(self) -> float:
        """Of what is kept: 1, but for fixed-point numbers."""
        return FIXED_UNIT if self.kept.dtype == np.int32 else 1.0


class SharedRows(NamedTuple):
    """All rows of the kernel matrix of n examples."""

    examples: Rows
    kernel: Kernel
    values: NDArray[np.float32]  #: (n, n); may be of a file that other processes read, too


@dataclass
class Provision:
    """What a process gives each Gram that it builds from now on."""

    memory: int | None = int(DEFAULT_CACHE_MB * 2**20)  #: bytes; None: this process's share of half of what is free
    processes: int = 1  #: among which what is free is shared
    shared: SharedRows | None = None  #: rows for every Gram of these very examples and kernel, in single precision
    helpers: Helpers | None = None  #: threads that help the Gram built last; those of `threads`

    def allowance(self) -> int:
        """Return the bytes a Gram may take: what `limited` says first."""
        if (limit := _limit.get()) is not None:
            return limit
        return int(psutil.virtual_memory().available) // (2 * self.processes) if self.memory is None else self.memory

    def rows_of(self, examples: Rows, kernel: Kernel) -> NDArray[np.float32] | None:
        """Return the shared rows of the kernel matrix of these examples, if they are these."""
        known = self.shared
        return known.values if known and known.examples is examples and known.kernel == kernel else None


@contextmanager
def limited(memory: int) -> Iterator[None]:
    """Let each Gram that this thread builds inside take this many bytes."""
    before = _limit.set(memory)
    try:
        yield
    finally:
        _limit.reset(before)


PROVISION = Provision()


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Let so many threads compute each row together: of the Gram built last, as long as this context is open.

    Those that wait for the next row keep their processors for some 50 microseconds. In plain Python, where no operation
    is atomic, there is one.
    """
    helpers = Helpers(0 if config.DISABLE_JIT else count - 1)  # type: ignore[attr-defined]
    before, PROVISION.helpers = PROVISION.helpers, helpers
    try:
        yield
    finally:
        PROVISION.helpers = before
        helpers.end()


def build(
    rows: Rows,
    features: int,
    kernel: Kernel,
    memory: int | None = None,
    precision: RowPrecision | None = None,
) -> Gram:
    """Return the kernel matrix of some examples; none of its rows is computed yet, or all where they are shared.

    Parameters
    ----------
    rows : Rows
        n examples.
    features : int
        The number of columns, d.
    kernel : Kernel
    memory : int, optional
        Bytes for rows, as of `PROVISION` by default. There is always room for two rows. Memory is not taken before
        a row is computed.
    precision : {"single", "fixed", "double"}, optional
        Of the values kept; single by default, where that is enough (kernels/precision.py).

    Raises
    ------
    DataError
        If a squared norm is not finite, or a kernel value may be too large for the precision.
    """
    if precision is None:
        precision = "single" if is_single_enough(rows, kernel) else "double"
    dtype, computed = DTYPES[precision], DTYPES["single" if precision == "single" else "double"]
    norms = checked_norms(rows, kernel, computed)
    n, diagonal = len(norms), kernel_diagonal(kernel, norms)
    store, norms = choose_layout(rows, features, computed), norms.astype(computed)
    if precision == "single" and (known := PROVISION.rows_of(rows, kernel)) is not None:
        return Gram(store, kernel, norms, diagonal, known, known, full_lru(n), new_team())
    fitting = (PROVISION.allowance() if memory is None else memory) // max(n * dtype.itemsize, 1)
    rows_by_slot = _memory(min(n, max(fitting, _MIN_SLOTS)), n, dtype)
    gram = Gram(store, kernel, norms, diagonal, *_slots(rows_by_slot), new_team())
    gram = gram._replace(diagonal=diagonal / gram.unit)
    if PROVISION.helpers and PROVISION.helpers.count:
        _compute_parts(gram, 0)  # compiles; none is wanted yet
        PROVISION.helpers.help(gram.team, lambda: partial(_compute_parts, _for_another_thread(gram), _LOOKS))
    return gram


def _for_another_thread(gram: Gram) -> Gram:
    return gram._replace(store=with_own_scratch(gram.store))


def _memory(r: int, n: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return memory for r rows, or for as many as the system grants; it is taken only where it is written to."""
    while True:
        try:
            return buffers.empty((r, n), dtype)
        except MemoryError:
            if r <= min(n, _MIN_SLOTS):
                raise
            r = max(r // 2, _MIN_SLOTS)


def _slots(rows_by_slot: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.floating[Any]], LRU]:
    """Return `kept`, `computed` and `lru` of a Gram that keeps no row yet."""
    slots, n = rows_by_slot.shape
    computed = np.zeros((1, n)) if rows_by_slot.dtype == np.int32 else rows_by_slot
    return rows_by_slot, computed, new_lru(n, slots, open_slots=max(_MIN_SLOTS, _OPEN_BYTES // rows_by_slot[0].nbytes))


def copy_without_rows(gram: Gram) -> Gram:
    """Return a Gram of the same examples and kernel that keeps two rows, and none yet."""
    n = len(gram.diagonal)
    kept, computed, lru = _slots(_memory(min(_MIN_SLOTS, n), n, gram.kept.dtype))
    return _for_another_thread(gram)._replace(kept=kept, computed=computed, lru=lru, team=new_team())


def checked_norms(rows: Rows, kernel: Kernel, dtype: np.dtype[Any]) -> NDArray[np.float64]:
    """Return ||x_i||^2, shape (n,), of examples of which all kernel values are finite, and some not too small.

    Parameters
    ----------
    rows : Rows
    kernel : Kernel
    dtype : dtype
        Of the values.

    Raises
    ------
    DataError
        If a value may not be finite, or all are too small for floating point: how long the rows are, and what to do.
    """
    norms: NDArray[np.float64] = squared_norms(rows)
    if not all(map(math.isfinite, kernel.parameters.values())):
        raise DataError(f"the kernel {kernel} has a parameter that is not finite; give another, or scale the features")
    squared_norm = float(norms.max(initial=0.0))
    limit = float(np.finfo(dtype).max) / 4  # what is left is for sums on the way
    with np.errstate(over="ignore"):
        bound = kernel.largest(squared_norm)
    if not bound < limit:
        raise DataError(
            f"the largest ||x|| is {np.sqrt(squared_norm):.3g}, with which inner products or values of the kernel"
            f" {kernel} may reach {bound:.1g}; {' or '.join(filter(None, ['scale the features down', kernel.smaller]))}"
        )
    if (bound := float(kernel.bound(squared_norm))) < _SMALLEST and rows[0].any():  # values: `Ones` are none, or longer
        raise DataError(
            f"the largest ||x||^2 is {squared_norm:.1g}, with which values of the kernel {kernel} are at most"
            f" {bound:.1g}, too small for floating point; scale the features up, or take a larger scale of the kernel"
        )
    return norms


@jit(inline="always")  # a call with all these arrays takes longer than to look where the row is
def row_slot(gram, i, counters):
    """Return the slot of ``gram.kept`` that holds row i of the kernel matrix; n kernel evaluations.

    Parameters
    ----------
    gram : Gram
    i : integer
        uint32 in solvers, so that they share what is compiled.
    counters : array of int64
        Asked for are n values; computed are n, or none where the row is kept.

    Returns
    -------
    integer
        Valid until the call after the next, so that two rows can be used together.
    """
    n = len(gram.diagonal)
    counters[KERNEL_EVALUATIONS] += n
    slot = gram.lru.slot_of_row[i]
    if slot < 0:
        slot = claim(gram.lru, i)
        _compute(gram, i, slot)
        counters[KERNEL_COMPUTED] += n
    touch(gram.lru, slot)
    return slot


@jit
def _compute(gram, i, slot):
    """Compute row i into a slot, together with whoever helps."""
    row = gram.kept[slot]
    n, length = len(row), part_length(gram.store, len(row))
    if gram.team.helpers[0] > 0 and gram.store.layout != CSC:
        length = min(length, -(-n // (_PARTS * _LENGTHS)) * _LENGTHS)
    want(gram.team, i, slot, -(-n // length), length)
    _compute_parts(gram, 0)
    wait(gram.team)
    row[i] = gram.diagonal[i]


@jit(inline="always")  # `_compute` alone calls it, but for helpers, who do so from Python
def _compute_parts(gram, looks):
    """Compute parts of what is wanted until none is left at so many looks; return whether there were any."""
    left, seen, listed, done = looks, np.int64(-1), 0, 0
    while left >= 0:
        first = take_part(gram.team)
        if first < 0:
            if done > 0:
                parts_are_done(gram.team, done)
            left, done = left - 1, 0
            continue
        i, slot, length, times = wanted(gram.team)
        if times != seen:
            seen, left, listed = times, looks, list_columns(gram.store, np.uint32(i))
        row, norms = gram.computed[min(slot, len(gram.computed) - 1)], gram.squared_norms[first : first + length]
        part = row[first : first + length]
        part_of_inner_products(gram.store, np.uint32(i), listed, first, part)
        values(gram.kernel, part, norms, gram.squared_norms[i])
        _keep(gram.kept[slot], row, first, first + len(part))
        done += 1
    return seen >= 0


@jit_dispatch
def _keep(kept, computed, first, end):
    """Keep values ``first`` to ``end`` of a computed row; floats are computed where they are kept."""


@_keep.register(np.float32)
@_keep.register(np.float64)
def _(kept, computed, first, end):
    pass


@_keep.register(np.int32)
def _(kept, computed, first, end):
    for j in range(first, end):
        kept[j] = np.int32(np.rint(computed[j] / FIXED_UNIT))


@jit
def _compute_several(gram, first):
    """Compute the rows from this one on into all slots."""
    for slot in range(len(gram.kept)):
        _compute(gram, np.uint32(first + slot), slot)


def compute_all(gram: Gram, rows: NDArray[np.float32], threads: int, tell: Callable[[], object]) -> None:
    """Compute all rows of a kernel matrix, several at a time: bit for bit the rows that `row_slot` gives.

    Parameters
    ----------
    gram : Gram
        Of single precision; its own slots stay as they are.
    rows : array of float32, shape (n, n)
        Gets the rows.
    threads : int
    tell : function
        Called as it goes on, by the thread that has called this function.
    """

    def compute(first: int) -> None:
        block = rows[first : first + _ROWS_AT_ONCE]
        _compute_several(_for_another_thread(gram)._replace(kept=block, computed=block, team=new_team()), first)

    with ThreadPoolExecutor(threads) as executor:
        for _ in executor.map(compute, range(0, len(rows), _ROWS_AT_ONCE)):
            tell()


@jit
def add_rows(gram, coefficients, responses, counters):
    """Add ``sum_j coefficients_j K(x_j, x_i)`` to response i, all of shape (n,): no row where a coefficient is 0."""
    for j in range(len(coefficients)):
        if coefficients[j] != 0.0:
            row = gram.kept[row_slot(gram, np.uint32(j), counters)]
            for i in range(len(responses)):
                responses[i] += coefficients[j] * np.float64(row[i])


def blocks_of_diagonal(problem: Problem, kernel: Kernel) -> Iterable[Rows]:
    """Return the training rows whose K(x, x) to look at, by block: all, or the first where K(x, x) is constant."""
    return [problem.train] if kernel.shift_invariant else problem.rows_by_block()


@jit(allocates=True)
def kernel_diagonal(kernel, squared_norms):
    """Return K(x_i, x_i) for all i from ``||x_i||^2``; both of shape (n,)."""
    diagonal = np.empty(len(squared_norms))
    for i in range(len(squared_norms)):
        diagonal[i] = value(kernel, squared_norms[i], squared_norms[i], squared_norms[i])
    return diagonal
