"""Sums of the first elements, integers in place of numbers, which compare alike, and records."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from mpu_bench.core.numeric import axpy, dot, new_record, number, order

NUMBERS = st.floats(allow_nan=False)
PROGRESS = np.dtype([("position", "i8"), ("gap", "f8")])


@pytest.mark.parametrize("m", [0, 1, 7, 100])
def test_only_the_first_elements_take_part(m):
    random = np.random.default_rng(m)
    x, y = random.normal(size=(2, 100))
    assert dot(x, y, m) == pytest.approx(x[:m] @ y[:m])
    expected = y + np.where(np.arange(100) < m, 2.5 * x, 0.0)
    axpy(2.5, x, y, m)
    np.testing.assert_allclose(y, expected)


@given(NUMBERS, NUMBERS)
def test_they_compare_as_the_numbers_do(x, y):
    if x < y:
        assert order(x) < order(y)
    elif x == y and math.copysign(1.0, x) == math.copysign(1.0, y):
        assert order(x) == order(y)


@given(NUMBERS)
def test_the_way_back_is_exact(x):
    assert number(order(x)) == x


@njit
def advance(progress):
    p = progress[0]
    p.position += 1
    p.gap = 0.5


@pytest.mark.parametrize("function", [advance, advance.py_func], ids=["compiled", "plain"])
def test_fields_begin_at_zero_or_as_given_and_change_in_place(function):
    progress = new_record(PROGRESS, position=3)
    assert progress.gap[0] == 0.0
    function(progress)
    assert (progress.position[0], progress.gap[0]) == (4, 0.5)


def test_a_field_that_is_not_there_is_an_error():
    with pytest.raises(ValueError, match="position_"):
        new_record(PROGRESS, position_=1)
