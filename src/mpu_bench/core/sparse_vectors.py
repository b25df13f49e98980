"""Vectors with few values in very many columns, such as words: their non-zeros, listed by column and by slot.

An example's inner products with all vectors are read from the lists of its own columns: they cost the non-zeros that
it shares with each vector, however many columns there are. The list of a slot says what is there when the vector
changes or leaves; of a few vectors inner products are read from these.

A list is a chain of short blocks, the newest first. A block that is no longer used goes to the next list that grows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from mpu_bench.core.buffers import grown
from mpu_bench.core.jit import jit

BLOCK = 8  #: pairs of a block: a cache line of both their arrays
_FEW = 8  # as one vector in so many, inner products are read from the lists of the slots
HEAD, LENGTH = range(2)  #: of `Entries.lists`
UNUSED, FREED, COUNT, LONGEST = range(4)  #: of `Entries.blocks`


class Entries(NamedTuple):
    """Lists of pairs: of slots in every column, d lists, and of columns in every slot, as many as the capacity.

    Vectors that are kept by columns have none, and no scratch.
    """

    numbers: NDArray[np.uint32]  #: (b, BLOCK) slots or columns; block 0 stands for none
    values: NDArray[np.floating[Any]]  #: (b, BLOCK)
    after: NDArray[np.uint32]  #: (b,) the next block of a list, or of those that are free again
    lists: NDArray[np.uint32]  #: (d + capacity, 2) the first block of a list, all others are full, and how many pairs
    blocks: NDArray[np.int64]  #: (4,) the first one never used; of those free again first and count; the longest vector
    squared_norms: NDArray[np.float64]  #: (capacity,) of which distances are computed
    spread: NDArray[np.float64]  #: (d,), or as the capacity, scratch: zeros, between calls


def new_entries(features: int, capacity: int, dtype: DTypeLike, sparse: bool) -> Entries:
    """Return empty lists, or no lists."""
    lists, capacity = (features + capacity, capacity) if sparse else (0, 0)
    return Entries(
        np.zeros((1, BLOCK), np.uint32),
        np.zeros((1, BLOCK), dtype),
        np.zeros(1, np.uint32),
        np.zeros((lists, 2), np.uint32),
        np.array([1, 0, 0, 0]),
        np.zeros(capacity),
        np.zeros(max(lists - capacity, capacity)),
    )


def enlarged(entries: Entries, capacity: int) -> Entries:
    """Return the lists with those of more slots."""
    if not len(entries.spread):
        return entries
    lists = columns_of(entries) + capacity
    return entries._replace(
        lists=grown(entries.lists, lists, 2),
        squared_norms=grown(entries.squared_norms, capacity),
        spread=np.zeros(max(lists - capacity, capacity)),
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
    return len(entries.lists) - len(entries.squared_norms)


@jit
def free_blocks(entries):
    """Return how many blocks are free."""
    return len(entries.after) - entries.blocks[UNUSED] + entries.blocks[COUNT]


@jit
def blocks_for(entries, length, times):
    """Return how many blocks may be needed to write so many vectors of a length, and one between two."""
    return 2 * ((times * length) + max(entries.blocks[LONGEST], length))


@jit
def read_rows(entries, row_of_slot, ends, indices, values):
    """Write the vectors of some slots as rows; ``ends`` is where each row begins, and then where it ends."""
    for c in range(columns_of(entries)):
        block, filled = entries.lists[c, HEAD], _filled(entries, c)
        while block != 0:
            for at in range(filled):
                row = row_of_slot[entries.numbers[block, at]]
                if row >= 0:
                    indices[ends[row]], values[ends[row]] = c, entries.values[block, at]
                    ends[row] += 1
            block, filled = entries.after[block], BLOCK


@jit(forceinline=True)
def _filled(entries, key):
    """Return how many pairs there are in the first block of a list."""
    return ((np.int64(entries.lists[key, LENGTH]) - 1) & (BLOCK - 1)) + 1


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
    key, total = columns_of(entries) + slot, 0.0
    for k in range(nonzero_count):
        column = np.int64(indices[k])
        _push(entries, column, np.int64(slot), values[k])
        _push(entries, key, column, values[k])
        total += np.float64(values[k]) ** 2
    entries.squared_norms[slot] = total
    entries.blocks[LONGEST] = max(entries.blocks[LONGEST], nonzero_count)


@jit
def read(entries, slot, indices, values):
    """Copy a vector's columns and values; return how many there are."""
    key, m = columns_of(entries) + slot, 0
    block, filled = entries.lists[key, HEAD], _filled(entries, key)
    while block != 0:
        for at in range(filled):
            indices[m], values[m] = entries.numbers[block, at], entries.values[block, at]
            m += 1
        block, filled = entries.after[block], BLOCK
    return m


@jit
def clear(entries, slot):
    """Take the vector out of a slot."""
    key = columns_of(entries) + slot
    while entries.lists[key, LENGTH] > 0:
        column = np.int64(entries.numbers[entries.lists[key, HEAD], _filled(entries, key) - 1])
        (block, at), last = _found(entries, column, np.int64(slot)), _filled(entries, column) - 1
        entries.numbers[block, at] = entries.numbers[entries.lists[column, HEAD], last]
        entries.values[block, at] = entries.values[entries.lists[column, HEAD], last]
        _pop(entries, column)
        _pop(entries, key)


@jit
def move(entries, source, target, indices, values):
    """Move the vector of a slot to another one that is empty; two arrays of shape (d,) are scratch."""
    d = columns_of(entries)
    for k in range(read(entries, source, indices, values)):
        block, at = _found(entries, np.int64(indices[k]), np.int64(source))
        entries.numbers[block, at] = target
    for field in (HEAD, LENGTH):
        entries.lists[d + target, field], entries.lists[d + source, field] = entries.lists[d + source, field], 0
    entries.squared_norms[target] = entries.squared_norms[source]


@jit(fastmath={"contract"})
def inner_products(entries, size, indices, scales, nonzero_count, first, m, out):
    """Compute the inner products of an example with m of the vectors in so many slots; ``out`` may be longer."""
    for j in range(len(out)):
        out[j] = 0
    if _FEW * m < size:
        _products_by_slot(entries, indices, scales, nonzero_count, first, m, out)
        return
    numbers, values, after = entries.numbers, entries.values, entries.after
    begin, count = np.uint64(first), np.uint64(m)
    for k in range(nonzero_count):
        column, scale = indices[k], scales[k]
        block, left = entries.lists[column, HEAD], np.int64(entries.lists[column, LENGTH])
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
def squared_distances(entries, m, slot, out, indices, values):
    """Compute ``||x_j - x_slot||^2`` of the first m slots, from sums in double; two arrays of (d,) are scratch."""
    sums, norms = entries.spread, entries.squared_norms
    for k in range(read(entries, slot, indices, values)):
        block, filled = entries.lists[indices[k], HEAD], _filled(entries, indices[k])
        while block != 0:
            for at in range(filled):
                sums[entries.numbers[block, at]] += np.float64(values[k]) * np.float64(entries.values[block, at])
            block, filled = entries.after[block], BLOCK
    for j in range(m):
        out[j], sums[j] = max(norms[slot] + norms[j] - 2.0 * sums[j], 0.0), 0.0
    out[slot] = 0


@jit
def put_between(entries, slot, other, share, indices, values):
    """Turn a vector into ``(1 - share) x_slot + share x_other``; return its squared norm. As scratch two of (d,)."""
    spread, key, total = entries.spread, columns_of(entries) + slot, 0.0
    others = read(entries, other, indices, values)
    for k in range(others):
        spread[indices[k]] = share * np.float64(values[k])
    block, filled = entries.lists[key, HEAD], _filled(entries, key)
    while block != 0:
        for at in range(filled):
            column = np.int64(entries.numbers[block, at])
            value = entries.values.dtype.type((1.0 - share) * np.float64(entries.values[block, at]) + spread[column])
            entries.values[block, at] = entries.values[_found(entries, column, np.int64(slot))] = value
            total += np.float64(value) ** 2
            spread[column] = 0
        block, filled = entries.after[block], BLOCK
    for k in range(others):
        column, value = np.int64(indices[k]), entries.values.dtype.type(spread[indices[k]])
        if value != 0:
            _push(entries, column, np.int64(slot), value)
            _push(entries, key, column, value)
            total += np.float64(value) ** 2
        spread[column] = 0
    entries.squared_norms[slot] = total
    entries.blocks[LONGEST] = max(entries.blocks[LONGEST], np.int64(entries.lists[key, LENGTH]))
    return total
