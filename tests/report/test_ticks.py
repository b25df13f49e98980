from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from mpu_bench.report.ticks import linear_ticks, log_ticks, written


@given(st.floats(-12, 12), st.floats(1e-3, 20), st.integers(2, 8))
def test_a_logarithmic_axis_has_ticks_within_it_and_no_more_than_fit(start: float, decades: float, most: int) -> None:
    low, high = 10**start, 10 ** (start + decades)
    ticks = log_ticks(low, high, most)
    assert 1 <= len(ticks) <= most
    assert len(ticks) >= 2 or most == 2
    assert low * (1 - 1e-6) <= min(ticks)
    assert max(ticks) <= high * (1 + 1e-6)
    assert ticks == sorted(set(ticks))
    assert len(set(written(ticks))) == len(ticks)


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6), st.integers(2, 8))
def test_a_linear_axis_has_no_more_ticks_than_fit(low: float, span: float, most: int) -> None:
    assume(low + span > low)
    ticks = linear_ticks(low, low + span, most)
    assert 1 <= len(ticks) <= most


@pytest.mark.parametrize(
    ("low", "high", "most", "expected"),
    [
        (1e3, 1e10, 4, ["10⁴", "10⁶", "10⁸", "10¹⁰"]),
        (0.02, 3.0, 5, ["0.03", "0.1", "0.3", "1", "3"]),
        (0.02, 3.0, 8, ["0.02", "0.05", "0.1", "0.2", "0.5", "1", "2"]),
        (2000, 6000, 4, ["2000", "4000", "6000"]),
        (2e5, 6e5, 4, ["2×10⁵", "4×10⁵", "6×10⁵"]),
        (1e-7, 1.0, 4, ["10⁻⁶", "10⁻⁴", "10⁻²", "10⁰"]),
    ],
)
def test_labels_are_powers_of_ten_where_numbers_are_long(
    low: float, high: float, most: int, expected: list[str]
) -> None:
    assert written(log_ticks(low, high, most)) == expected
