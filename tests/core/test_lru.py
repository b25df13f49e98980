"""Slots by the least recently used: against a list that keeps its order."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mpu_bench.core.lru import claim, clear, new_lru, renew, touch

asked_for = st.lists(st.integers(0, 9), max_size=60)


def ask(lru, row):
    """Return whether the row had to be computed."""
    slot, missing = lru.slot_of_row[row], lru.slot_of_row[row] < 0
    if missing:
        slot = claim(lru, row)
    touch(lru, slot)
    assert lru.row_of_slot[slot] == row
    return missing


@given(st.integers(1, 12), asked_for)
def test_the_least_recently_used_row_leaves(slots, asked):
    lru, kept = new_lru(10, slots), []
    for row in asked:
        assert ask(lru, row) == (row not in kept)
        kept = [*(each for each in kept if each != row), row][-slots:]
        assert set(np.flatnonzero(lru.slot_of_row >= 0)) == set(kept)
        assert set(lru.row_of_slot[lru.row_of_slot >= 0]) == set(kept)


@given(asked_for)
def test_a_row_that_comes_back_opens_two_more_slots(asked):
    lru, kept, seen, slots = new_lru(10, 7, open_slots=2), [], set(), 2
    for row in asked:
        if row not in kept and row in seen:
            slots = min(slots + 2, 7)
        ask(lru, row)
        kept = [*(each for each in kept if each != row), row][-slots:]
        seen.add(row)
        assert set(np.flatnonzero(lru.slot_of_row >= 0)) == set(kept)
        assert (lru.row_of_slot[slots:] == -1).all()  # closed slots are never used


def test_nothing_is_kept_once_cleared():
    lru = new_lru(10, 3)
    for row in range(5):
        ask(lru, row)
    clear(lru)
    assert (lru.slot_of_row < 0).all()
    assert (lru.row_of_slot == -1).all()
    assert [ask(lru, row) for row in (7, 8, 9, 7)] == [True, True, True, False]


@given(st.integers(1, 12), asked_for)
def test_slots_renewed_are_as_new(slots, asked):
    lru = new_lru(10, slots)
    for row in asked:
        ask(lru, row)
    renew(lru)
    for found, new in zip(lru, new_lru(10, slots), strict=True):
        np.testing.assert_array_equal(found, new)


def test_cleared_slots_are_filled_from_the_first_again():
    lru = new_lru(10, 6)
    for row in range(3):
        ask(lru, row)
    used = set(np.flatnonzero(lru.row_of_slot >= 0))
    clear(lru)
    for row in range(5, 8):
        ask(lru, row)
    assert set(np.flatnonzero(lru.row_of_slot >= 0)) == used  # no memory is touched that was not
