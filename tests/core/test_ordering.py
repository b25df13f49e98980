"""Integers in place of numbers: they compare alike, and the way back is exact."""

import math

from hypothesis import given
from hypothesis import strategies as st

from mpu_bench.core.numeric import number, order

NUMBERS = st.floats(allow_nan=False)


@given(NUMBERS, NUMBERS)
def test_they_compare_as_the_numbers_do(x, y):
    if x < y:
        assert order(x) < order(y)
    elif x == y and math.copysign(1.0, x) == math.copysign(1.0, y):
        assert order(x) == order(y)


@given(NUMBERS)
def test_the_way_back_is_exact(x):
    assert number(order(x)) == x
