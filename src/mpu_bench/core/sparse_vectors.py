"""Vectors with few values in very many columns, such as words: their non-zeros, listed by column and by slot.

An example's inner products with all vectors are read from the lists of its own columns: they cost the non-zeros that
it shares with each vector, however many columns there are. The list of a slot says what is there when the vector
changes or leaves; of a few vectors inner products are read from these.

A list is a chain of short blocks, the newest first. A block that is no longer used goes to the next list that grows.
A column that many rows share has a line in place of a list, a value for every slot: adding a line takes vector
registers, and following a list of an eighth as many pairs waits for memory (76% of what rows of words share).

What a vector is turned into by `put_between` keeps a factor beside its values, so that only those of the other vector
are touched.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from mpu_bench.core.buffers import grown
from mpu_bench.core.jit import jit
from mpu_bench.core.prefetch import prefetch
from mpu_bench.core.rows import Ones, Sparse

BLOCK = 8  #: pairs of a block: a cache line of both their arrays
_FEW = 8  # as one vector in so many, inner products are read from the lists of the slots
_COMMON = 8  # as in one row of so many, a column has a line, if it is in as many rows
_MIN_FACTOR = 1e-3  # below which it is multiplied into the values of a vector
_BLOCKS_AHEAD, _LISTS_AHEAD = 4, 12  # of the columns of a row, what is fetched
_LINE = 2**32 - 1  # the length of a list in place of which there is a line
HEAD, LENGTH = range(2)  #: of `Entries.lists`
UNUSED, FREED, COUNT, LONGEST = range(4)  #: of `Entries.blocks`


class Entries(NamedTuple):
    """Lists of pairs: of slots in every column, d lists, and of columns in every slot, as many as the capacity.

    Vectors that are kept by columns have none, and no scratch.
    """

    numbers: NDArray[np.uint32]  #: (b, BLOCK) slots or columns; block 0 stands for none
    values: NDArray[np.floating[Any]]  #: (b, BLOCK)
    after: NDArray[np.uint32]  #: (b,) the next block of a list, or of those that are free again
    lists: NDArray[np.uint32]  #: (d + capacity, 2) the first block of a list, all others are full, and how many pairs;
    #: or the number of a line, and `_LINE`
    blocks: NDArray[np.int64]  #: (4,) the first one never used; of those free again first and count; the longest vector
    lines: NDArray[np.floating[Any]]  #: (l, capacity) the values of common columns
    factors: NDArray[np.float64]  #: (capacity,) by which the values of a vector, in lists and lines, are multiplied
    spread: NDArray[np.float64]  #: (d,) scratch: zeros, between calls


def new_entries(
    features: int, capacity: int, dtype: DTypeLike, sparse: bool, common: NDArray[np.intp] | None = None
) -> Entries:
    """Return empty lists, and lines for common columns; or no lists."""
    if not sparse:
        features = capacity = 0
    common = np.zeros(0, np.intp) if common is None else common
    lists = np.zeros((features + capacity, 2), np.uint32)
    lists[common, HEAD], lists[common, LENGTH] = np.arange(len(common)), _LINE
    return Entries(
        np.zeros((1, BLOCK), np.uint32),
        np.zeros((1, BLOCK), dtype),
        np.zeros(1, np.uint32),
        lists,
        np.array([1, 0, 0, 0]),
        np.zeros((len(common), capacity), dtype),
        np.zeros(capacity),
        np.zeros(features),
    )


def common_columns(rows: Sparse | Ones, features: int) -> NDArray[np.intp]:
    """Return the columns that many of some rows share."""
    n = len(rows.starts) - 1
    return np.flatnonzero(np.bincount(rows.indices, minlength=features) >= max(n / _COMMON, _COMMON))


def enlarged(entries: Entries, capacity: int) -> Entries:
    """Return the lists with those of more slots."""
    if not len(entries.spread):
        return entries
    return entries._replace(
        lists=grown(entries.lists, columns_of(entries) + capacity, 2),
        lines=grown(entries.lines, len(entries.lines), capacity),
        factors=grown(entries.factors, capacity),
    )


def with_blocks(entries: Entries, wanted: int) -> Entries:
    """Return the lists with at least so many free blocks."""
    if free_blocks(entries) >= wanted:
        return entries
    length = 2 * (len(entries.after) + wanted)  # so that the next time is far
    numbers, values = grown(entries.numbers, length, BLOCK), grown(entries.values, length, BLOCK)
    return entries._replace(numbers=numbers, values=values, after=grown(entries.after, length))


@jit(forceinline=True)
def columns_of(entries):
    """Return how many columns there are: the lists of the slots come after theirs."""
    return len(entries.lists) - len(entries.factors)


@jit
def free_blocks(entries):
    """Return how many blocks are free."""
    return len(entries.after) - entries.blocks[UNUSED] + entries.blocks[COUNT]


@jit
def blocks_for(entries, length, times):
    """Return how many blocks may be needed to write so many vectors of a length, and one between two."""
    return 2 * ((times * length) + max(entries.blocks[LONGEST], length))


@jit
def read_rows(entries, slots, starts, indices, values):
    """Write the vectors of some slots as rows, which begin at ``starts``; their columns are in no order."""
    for row in range(len(slots)):
        first, last = starts[row], starts[row + 1]
        read(entries, slots[row], indices[first:last], values[first:last])


@jit(forceinline=True)
def _filled(entries, key):
    """Return how many pairs there are in the first block of a list."""
    return ((np.int64(entries.lists[key, LENGTH]) - 1) & (BLOCK - 1)) + 1


@jit(forceinline=True)
def _prefetch_list(entries, columns, k, count):
    """Fetch where the list of a column begins that comes a few after the k-th, and its first block of a sooner one."""
    last = count - 1
    soon = np.int64(entries.lists[columns[min(k + _BLOCKS_AHEAD, last)], HEAD])
    prefetch(entries.lists, np.int64(columns[min(k + _LISTS_AHEAD, last)]) * 2)
    prefetch(entries.numbers, soon * BLOCK)
    prefetch(entries.values, soon * BLOCK)
    prefetch(entries.after, soon)


@jit(forceinline=True)  # a call with all these arrays takes longer
def _push(entries, key, number, value):
    """Append a pair to a list."""
    at, blocks, after = np.int64(entries.lists[key, LENGTH]) & (BLOCK - 1), entries.blocks, entries.after
    if at == 0:
        block = blocks[FREED]
        if block == 0:
            block = blocks[UNUSED]
            blocks[UNUSED] += 1
        else:
            blocks[FREED] = after[block]
            blocks[COUNT] -= 1
        after[block], entries.lists[key, HEAD] = entries.lists[key, HEAD], block
    block = entries.lists[key, HEAD]
    entries.numbers[block, at], entries.values[block, at] = number, value
    entries.lists[key, LENGTH] += np.uint32(1)


@jit(forceinline=True)  # a call with all these arrays takes longer
def _pop(entries, key):
    """Take the last pair out of a list."""
    entries.lists[key, LENGTH] -= np.uint32(1)
    if entries.lists[key, LENGTH] & (BLOCK - 1) == 0:
        block, blocks, after = entries.lists[key, HEAD], entries.blocks, entries.after
        entries.lists[key, HEAD] = after[block]
        after[block], blocks[FREED] = blocks[FREED], block
        blocks[COUNT] += 1


@jit(forceinline=True)  # a call with all these arrays takes longer
def _found(entries, column, slot):
    """Return the block of a column's list that a slot is in, and where."""
    block, filled = entries.lists[column, HEAD], _filled(entries, column)
    while True:
        for at in range(filled):
            if entries.numbers[block, at] == slot:
                return block, at
        block, filled = entries.after[block], BLOCK


@jit
def write(entries, slot, indices, values, nonzero_count):
    """Write a vector to a slot that is empty."""
    for k in range(nonzero_count):
        _prefetch_list(entries, indices, k, nonzero_count)
        _add(entries, slot, np.int64(indices[k]), values[k])
    entries.factors[slot] = 1.0
    entries.blocks[LONGEST] = max(entries.blocks[LONGEST], nonzero_count)


@jit(forceinline=True)
def _add(entries, slot, column, value):
    """Add to a vector a column that it has no value in."""
    _push(entries, columns_of(entries) + slot, column, value)
    if entries.lists[column, LENGTH] == _LINE:
        entries.lines[entries.lists[column, HEAD], slot] = value
    else:
        _push(entries, column, np.int64(slot), value)


@jit
def read(entries, slot, indices, values):
    """Copy a vector's columns and values; return how many there are."""
    key, m, factor = columns_of(entries) + slot, 0, values.dtype.type(entries.factors[slot])
    block, filled = entries.lists[key, HEAD], _filled(entries, key)
    while block != 0:
        for at in range(filled):
            indices[m], values[m] = entries.numbers[block, at], entries.values[block, at] * factor
            m += 1
        block, filled = entries.after[block], BLOCK
    return m


@jit
def clear(entries, slot, indices, values):
    """Take the vector out of a slot; two arrays of shape (d,) are scratch."""
    count = read(entries, slot, indices, values)
    for k in range(count):
        _prefetch_list(entries, indices, k, count)
        column = np.int64(indices[k])
        if entries.lists[column, LENGTH] == _LINE:
            entries.lines[entries.lists[column, HEAD], slot] = 0
        else:
            (block, at), last = _found(entries, column, np.int64(slot)), _filled(entries, column) - 1
            entries.numbers[block, at] = entries.numbers[entries.lists[column, HEAD], last]
            entries.values[block, at] = entries.values[entries.lists[column, HEAD], last]
            _pop(entries, column)
        _pop(entries, columns_of(entries) + slot)


@jit
def move(entries, source, target, indices, values):
    """Move the vector of a slot to another one that is empty; two arrays of shape (d,) are scratch."""
    d = columns_of(entries)
    count = read(entries, source, indices, values)
    for k in range(count):
        _prefetch_list(entries, indices, k, count)
        column = np.int64(indices[k])
        if entries.lists[column, LENGTH] == _LINE:
            line = entries.lines[entries.lists[column, HEAD]]
            line[target], line[source] = line[source], 0
        else:
            block, at = _found(entries, column, np.int64(source))
            entries.numbers[block, at] = target
    for field in (HEAD, LENGTH):
        entries.lists[d + target, field], entries.lists[d + source, field] = entries.lists[d + source, field], 0
    entries.factors[target] = entries.factors[source]


@jit(fastmath={"contract"})
def inner_products(entries, size, indices, scales, nonzero_count, first, m, out):
    """Compute the inner products of an example with m of the vectors in so many slots; ``out`` may be longer."""
    factors = entries.factors[first : first + len(out)]
    for j in range(len(out)):
        out[j] = 0
    if _FEW * m < size:
        _products_by_slot(entries, indices, scales, nonzero_count, first, m, out)
    else:
        _products_by_column(entries, indices, scales, nonzero_count, first, m, out)
    for j in range(len(out)):
        out[j] *= factors[j]


@jit(fastmath={"contract"}, forceinline=True)
def _products_by_column(entries, indices, scales, nonzero_count, first, m, out):
    numbers, values, after = entries.numbers, entries.values, entries.after
    begin, count = np.uint64(first), np.uint64(m)
    for k in range(nonzero_count):
        _prefetch_list(entries, indices, k, nonzero_count)
        column, scale = indices[k], out.dtype.type(scales[k])
        block, left = entries.lists[column, HEAD], np.int64(entries.lists[column, LENGTH])
        if left == _LINE:
            line = entries.lines[block, first : first + len(out)]
            for j in range(np.uint64(0), np.uint64(len(out))):
                out[j] += scale * line[j]
            continue
        filled = _filled(entries, column)
        while left > 0:
            for at in range(filled):
                slot = np.uint64(numbers[block, at]) - begin
                if slot < count:
                    out[slot] += scale * values[block, at]
            left -= filled
            if left > 0:
                block, filled = after[block], BLOCK


@jit
def _products_by_slot(entries, indices, scales, nonzero_count, first, m, out):
    spread, d = entries.spread, columns_of(entries)
    for k in range(nonzero_count):
        spread[indices[k]] = scales[k]
    for j in range(m):
        key, total = d + first + j, 0.0
        block, filled = entries.lists[key, HEAD], _filled(entries, key)
        while block != 0:
            for at in range(filled):
                total += np.float64(entries.values[block, at]) * spread[entries.numbers[block, at]]
            block, filled = entries.after[block], BLOCK
        out[j] = total
    for k in range(nonzero_count):
        spread[indices[k]] = 0


@jit
def put_between(entries, slot, other, share, indices, values):
    """Turn a vector into ``(1 - share) x_slot + share x_other``; return its squared norm. As scratch two of (d,)."""
    spread, key, total = entries.spread, columns_of(entries) + slot, 0.0
    others, factor, kept = read(entries, other, indices, values), (1.0 - share) * entries.factors[slot], 1.0
    if abs(factor) < _MIN_FACTOR:
        factor, kept = 1.0, factor
    entries.factors[slot] = factor
    for k in range(others):
        spread[indices[k]] = share / factor * np.float64(values[k])
    block, filled = entries.lists[key, HEAD], _filled(entries, key)
    while block != 0:
        for at in range(filled):
            column, value = np.int64(entries.numbers[block, at]), entries.values[block, at]
            if kept != 1.0 or spread[column] != 0:
                value = entries.values.dtype.type(kept * np.float64(value) + spread[column])
                entries.values[block, at], spread[column] = value, 0
                if entries.lists[column, LENGTH] == _LINE:
                    entries.lines[entries.lists[column, HEAD], slot] = value
                else:
                    entries.values[_found(entries, column, np.int64(slot))] = value
            total += np.float64(value) ** 2
        block, filled = entries.after[block], BLOCK
    for k in range(others):
        column, value = np.int64(indices[k]), entries.values.dtype.type(spread[indices[k]])
        if value != 0:
            _add(entries, slot, column, value)
            total += np.float64(value) ** 2
        spread[column] = 0
    entries.blocks[LONGEST] = max(entries.blocks[LONGEST], np.int64(entries.lists[key, LENGTH]))
    return total * factor**2
