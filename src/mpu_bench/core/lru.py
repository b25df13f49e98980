"""Which of n rows are kept in r slots: the least recently used row leaves for a new one.

Slots may be closed at first. Each row that had to leave and is asked for again opens a few more, so that memory is
taken only where rows come back; slots that are closed are never written to.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mpu_bench.core.jit import jit

_NEVER_KEPT, _EVICTED = -1, -2  # instead of a slot
_NO_ROW = -1
_SLOTS_OPENED_PER_MISS = 2  # of an evicted row: the fewer, the less memory; half as many rows are computed in vain


class LRU(NamedTuple):
    """The slots of n rows, r in all; changed in place."""

    slot_of_row: NDArray[np.int32]  #: (n,) below 0 where the row is not kept
    row_of_slot: NDArray[np.int32]  #: (r,) or -1
    next: NDArray[np.int32]  #: (r + 1,) a ring of open slots from the last used to the least recently used; r closes it
    prev: NDArray[np.int32]  #: (r + 1,) the same ring the other way round
    open_slots: NDArray[np.int64]  #: (1,) how many of the slots are open, the first ones


def new_lru(rows: int, slots: int, open_slots: int | None = None) -> LRU:
    """Return slots that keep no row yet.

    Parameters
    ----------
    rows, slots : int
        n and r.
    open_slots : int, optional
        How many slots are open, at least one; all by default.
    """
    first = slots if open_slots is None else min(open_slots, slots)
    after, before = np.full(slots + 1, _NO_ROW, np.int32), np.full(slots + 1, _NO_ROW, np.int32)
    ring = np.append(np.arange(first, dtype=np.int32), np.int32(slots))
    after[ring], before[ring] = np.roll(ring, -1), np.roll(ring, 1)
    nowhere, free = np.full(rows, _NEVER_KEPT, np.int32), np.full(slots, _NO_ROW, np.int32)
    return LRU(nowhere, free, after, before, np.array([first]))


def full_lru(rows: int) -> LRU:
    """Return as many slots as there are rows, with row i in slot i."""
    lru = new_lru(rows, rows)
    lru.slot_of_row[:] = lru.row_of_slot[:] = np.arange(rows, dtype=np.int32)
    return lru


@jit
def claim(lru, row):
    """Return the slot that a row which is not kept gets; whatever is kept there leaves. It is not touched yet."""
    if lru.slot_of_row[row] == _EVICTED:
        _open_slots(lru, _SLOTS_OPENED_PER_MISS)
    slot = lru.prev[len(lru.row_of_slot)]
    if lru.row_of_slot[slot] != _NO_ROW:
        lru.slot_of_row[lru.row_of_slot[slot]] = _EVICTED
    lru.row_of_slot[slot], lru.slot_of_row[row] = row, slot
    return slot


@jit
def _open_slots(lru, count):
    """Open some more slots, as far as there are any, as the least recently used."""
    end = len(lru.row_of_slot)
    for slot in range(lru.open_slots[0], min(lru.open_slots[0] + count, end)):
        oldest = lru.prev[end]
        lru.next[slot], lru.prev[slot] = end, oldest
        lru.next[oldest] = lru.prev[end] = slot
        lru.open_slots[0] = slot + 1


@jit
def touch(lru, slot):
    """Make a slot the last used."""
    after, before, end = lru.next, lru.prev, len(lru.row_of_slot)
    after[before[slot]], before[after[slot]] = after[slot], before[slot]
    newest = after[end]
    after[slot], before[slot] = newest, end
    before[newest] = after[end] = slot


def clear(lru: LRU) -> None:
    """Keep no row, and fill the slots in their order again, all of them open: memory of others stays untouched."""
    lru.slot_of_row[lru.row_of_slot[lru.row_of_slot != _NO_ROW]] = _NEVER_KEPT
    first = new_lru(0, len(lru.row_of_slot))
    lru.row_of_slot[:], lru.next[:], lru.prev[:] = first.row_of_slot, first.next, first.prev
    lru.open_slots[:] = first.open_slots


def renew(lru: LRU) -> None:
    """Clear, and forget which rows had to leave."""
    clear(lru)
    lru.slot_of_row[:] = _NEVER_KEPT
