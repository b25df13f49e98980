"""Numbers beside numbers: hand-made pairs whose verdict follows from print alone."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats

from mpu_bench.verdict import judge
from mpu_bench.verdict.judge import (
    Sample,
    Seconds,
    Tolerance,
    floor_of,
    half_unit,
    judge_ratio,
    judge_value,
    printed_ratio,
    rules,
)
from mpu_bench.verdict.verdict import Verdict

PERCENT = rules().values["accuracy_percent"]
COUNT = rules().values["support_vectors"]


@pytest.mark.parametrize(
    ("text", "half"),
    [("0.1", 0.05), ("11434.4", 0.05), ("100", 0.5), ("10e3", 500), ("4.2e3", 50), ("3.085e-06", 5e-10), ("-2", 0.5)],
)
def test_half_a_unit_is_that_of_the_last_printed_digit(text: str, half: float) -> None:
    assert half_unit(text) == pytest.approx(half)


@pytest.mark.parametrize(
    ("published", "tolerance", "accuracy", "is_accuracy", "floor"),
    [
        (99.0, PERCENT, None, True, 0.1),  # a tenth of the error
        (80.0, PERCENT, None, True, 0.25),
        (14.9, PERCENT, None, False, 0.25),
        (0.44, PERCENT, None, False, 0.044),
        (1000.0, COUNT, None, False, 10.0),
        (11434.4, rules().values["objective"], 1e-4, False, 1.14344),
        (0.011, rules().values["nu"], None, False, 5.5e-5),
    ],
)
def test_the_floor_is_what_print_leaves(
    published: float, tolerance: Tolerance, accuracy: float | None, is_accuracy: bool, floor: float
) -> None:
    assert floor_of(published, tolerance, 0.0, accuracy, is_accuracy) == pytest.approx(floor)
    assert floor_of(published, tolerance, 0.5, accuracy, is_accuracy) == pytest.approx(floor + 0.5)


def test_a_difference_beyond_chance_differs_and_one_that_few_runs_may_make_is_undecided() -> None:
    published = Sample(92.0, 0.2, 5)
    assert judge_value(published, Sample(92.2, 0.2, 5), 0.3, PERCENT).verdict == Verdict.REPRODUCED
    assert judge_value(published, Sample(90.0, 0.2, 5), 0.3, PERCENT).verdict == Verdict.NOT_REPRODUCED
    assert judge_value(published, Sample(94.0, 0.2, 5), 0.3, PERCENT).verdict == Verdict.NOT_REPRODUCED  # on both sides
    assert judge_value(Sample(92.0, 3.0, 5), Sample(90.5, 3.0, 5), 0.3, PERCENT).verdict == Verdict.INCONCLUSIVE


def test_scatter_widens_what_is_allowed_up_to_the_cap() -> None:
    wide = judge_value(Sample(80.0, 5.0, 5), Sample(80.9, 5.0, 5), 0.3, PERCENT)
    assert (wide.verdict, wide.allowed) == (Verdict.REPRODUCED, PERCENT.cap_points)
    counted = judge_value(Sample(1000.0, 500.0, 5), Sample(1049.0, 500.0, 5), 10.5, COUNT)
    assert (counted.verdict, counted.allowed) == (Verdict.REPRODUCED, 50.0)


def test_welch_is_that_of_scipy() -> None:
    found = judge_value(Sample(92.0, 0.3, 5), Sample(91.0, 0.9, 7), 0.1, PERCENT)
    other = stats.ttest_ind_from_stats(92.0, 0.3, 5, 91.0, 0.9, 7, equal_var=False)
    assert found.p_value == pytest.approx(other.pvalue)


@pytest.mark.parametrize("count", [1, 4])
def test_few_runs_beside_a_number_without_deviation_are_held_to_the_floor_alone(count: int) -> None:
    deviation = None if count == 1 else 0.01
    near = judge_value(Sample(14.9), Sample(15.0, deviation, count), 0.25, PERCENT)
    far = judge_value(Sample(14.9), Sample(18.0, deviation, count), 0.25, PERCENT)
    assert (near.verdict, far.verdict) == (Verdict.REPRODUCED, Verdict.INCONCLUSIVE)
    assert "run" in far.remark


def test_where_nothing_is_random_one_run_decides() -> None:
    far = judge_value(Sample(6.34e-4), Sample(6.81e-4), 3.7e-6, rules().values["nu"], deterministic=True)
    assert far.verdict == Verdict.NOT_REPRODUCED
    near = judge_value(Sample(6.34e-4), Sample(6.341e-4), 3.7e-6, rules().values["nu"], deterministic=True)
    assert near.verdict == Verdict.REPRODUCED


def test_the_measured_deviation_stands_for_one_that_is_not_printed() -> None:
    found = judge_value(Sample(14.0, None, 1), Sample(15.0, 0.3, 5), 0.25, PERCENT)
    error = 0.3 * math.sqrt(1 + 1 / 5)
    assert found.allowed == pytest.approx(2 * error)
    assert found.p_value == pytest.approx(2 * stats.t.sf(1 / error, 4))


@pytest.mark.parametrize(("constant", "measured"), [(97.02, 98.0), (98.5, 98.5)])
def test_what_a_constant_answer_reaches_says_nothing(constant: float, measured: float) -> None:
    found = judge_value(Sample(97.0, 0.1, 5), Sample(measured, 0.1, 5), 0.25, PERCENT, constant=constant)
    assert found.verdict == Verdict.NOT_INFORMATIVE
    other = judge_value(Sample(97.0, 0.1, 5), Sample(measured, 0.1, 5), 0.25, PERCENT, constant=75.0)
    assert other.verdict != Verdict.NOT_INFORMATIVE


@example(50.0, 1e-100, 5, 51.0, 1e-100, 5)  # whose variances, squared, are 0
@given(st.floats(1, 99), st.floats(0, 10), st.integers(2, 20), st.floats(1, 99), st.floats(0, 10), st.integers(5, 20))
def test_verdicts_are_the_same_from_both_sides(
    mean: float, deviation: float, runs: int, other: float, other_deviation: float, count: int
) -> None:
    """Mirrored numbers are judged alike, and agreement is exactly nearness."""
    one = judge_value(Sample(mean, deviation, runs), Sample(other, other_deviation, count), 0.1, PERCENT)
    mirrored = judge_value(Sample(-mean, deviation, runs), Sample(-other, other_deviation, count), 0.1, PERCENT)
    assert replace(one, remark="") == replace(mirrored, remark="")
    assert one.allowed is not None
    assert (one.verdict == Verdict.REPRODUCED) == (abs(mean - other) <= one.allowed * (1 + 1e-9))


def test_a_ratio_is_an_interval_of_the_printed_digits() -> None:
    assert printed_ratio("0.4", "0.3") == pytest.approx((0.35 / 0.35, 0.45 / 0.25))
    assert printed_ratio("0.1", "0.0") == (pytest.approx(0.05 / 0.05), math.inf)


@pytest.mark.parametrize(
    ("measured", "verdict"),
    [(1.5, Verdict.REPRODUCED), (3.6, Verdict.REPRODUCED), (0.5, Verdict.REPRODUCED), (3.7, Verdict.WITHIN_5X),
     (0.21, Verdict.WITHIN_5X), (9.1, Verdict.NOT_REPRODUCED), (0.1, Verdict.NOT_REPRODUCED)],
)  # fmt: skip
def test_a_ratio_of_seconds_is_judged_on_both_sides(measured: float, verdict: str) -> None:
    assert judge_ratio((1.0, 1.8), Seconds(Sample(measured, 0.0, 3), Sample(1.0, 0.0, 5))).verdict == verdict


def test_a_ratio_rests_on_three_runs_of_each_side() -> None:
    two = judge_ratio((1.0, 1.8), Seconds(Sample(1.5, 0.1, 5), Sample(1.0, 0.1, 2)))
    assert (two.verdict, two.remark) == (Verdict.INCONCLUSIVE, "2 of 3 runs whose seconds count")


def test_runs_that_agree_by_chance_have_no_p() -> None:
    found = judge_value(Sample(92.0), Sample(90.0, 0.0, 5), 0.3, PERCENT)
    assert (found.verdict, found.p_value) == (Verdict.NOT_REPRODUCED, None)
    assert found.remark == "all runs came out the same: no test"


@pytest.mark.parametrize("scatter", [(0.0, 0.0), (0.9, 0.0), (0.0, 0.5)])
def test_a_ratio_that_scatters_is_not_refuted_by_chance(scatter: tuple[float, float]) -> None:
    """Whether by our runs or by printed deviations."""
    ours, printed = scatter
    off = judge_ratio((1.0, 1.8), Seconds(Sample(12.0, 12.0 * ours, 5), Sample(1.0, 0.0, 5)), printed)
    assert off.verdict == (Verdict.INCONCLUSIVE if max(scatter) else Verdict.NOT_REPRODUCED)


def test_one_digit_on_both_sides_says_nothing_of_a_ratio() -> None:
    five = Seconds(Sample(2.0, 0.1, 5), Sample(1.0, 0.1, 5))
    assert judge_ratio(printed_ratio("0.1", "0.1"), five).verdict == Verdict.NOT_INFORMATIVE
    assert judge_ratio(printed_ratio("0.4", "0.3"), five).verdict == Verdict.REPRODUCED


def test_what_a_tolerance_leaves_of_zero_says_nothing() -> None:
    nu = Tolerance(relative=0.005, zero=1e-6)
    assert judge_value(Sample(6.42e-11), Sample(1.2e-8), 0.0, nu, deterministic=True).verdict == Verdict.NOT_INFORMATIVE
    assert judge_value(Sample(5.8e-4), Sample(1.4e-3), 0.0, nu, deterministic=True).verdict == Verdict.NOT_REPRODUCED


@pytest.mark.parametrize(
    ("published", "recomputed", "is_p_value", "verdict"),
    [("4.977e-06", 4.9768e-6, True, Verdict.REPRODUCED), ("4.977e-06", 3.7e-5, True, Verdict.NOT_REPRODUCED),
     ("63.5", 63.5, False, Verdict.REPRODUCED), ("63.5", 59.0, False, Verdict.NOT_REPRODUCED)],
)  # fmt: skip
def test_what_is_recomputed_from_print_is_the_printed_number(
    published: str, recomputed: float, is_p_value: bool, verdict: str
) -> None:
    assert judge.judge_exactly(published, recomputed, is_p_value).verdict == verdict
