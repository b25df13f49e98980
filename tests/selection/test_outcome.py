from __future__ import annotations

import csv
import io
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from mpu_bench.selection.candidates import Candidate
from mpu_bench.selection.outcome import Outcome, Row, as_csv, balanced_test, choose, mcnemar, row_of
from mpu_bench.selection.schedule import Course, Fit, Fitted


def row(name: str, error: float | None = 0.1, size: int | None = 100, own: bool = True, **others: Any) -> Row:
    metrics = {} if error is None else {"accuracy": 1 - error, "balanced-accuracy": 1 - error, "auc": 1 - error}
    values = {"choosing_error": error, "metrics": metrics, "size": size, "tested": 1000}
    return Row(name, "batch" if own else "scikit-learn", own, **(values | others))


def test_the_best_on_the_validation_set_is_chosen_and_the_smaller_of_equals() -> None:
    rows = [
        row("small", 0.10, 50),
        row("large", 0.10, 500),
        row("lucky", 0.01, choosing_error=0.2),
        row("peer", 0.05, own=False),
        row("unknown", None),
        row("untested", 0.01, None),
    ]
    chosen = choose(rows)
    assert chosen is not None
    assert chosen.name == "small"
    assert choose(rows[2:]) == rows[2]
    assert choose([replace(each, fits=False) for each in rows]) is None


@given(st.lists(st.tuples(st.integers(1, 50), st.integers(0, 20)), min_size=1, max_size=12))
def test_nothing_is_smaller_and_better_than_what_is_on_the_front(found: list[tuple[int, int]]) -> None:
    rows = [row(str(i), error / 20, size) for i, (size, error) in enumerate(found)]
    front = Outcome(rows, None, 100).front
    for each in rows:
        is_beaten = any(
            (other.size, other.error) != (each.size, each.error)
            and other.size <= each.size  # type: ignore[operator]
            and other.error <= each.error  # type: ignore[operator]
            for other in rows
        )
        on_front = any((other.size, other.error) == (each.size, each.error) for other in front)
        assert on_front != is_beaten


@given(st.lists(st.booleans(), min_size=1, max_size=60), st.randoms())
def test_mcnemar_is_the_exact_test_of_rows_on_which_two_disagree(first: list[bool], random: Any) -> None:
    second = [random.random() < 0.6 for _ in first]
    a, b = (row("x", right=np.packbits(np.array(each)).tobytes(), tested=len(each)) for each in (first, second))
    only_first = sum(x and not y for x, y in zip(first, second, strict=True))
    n = sum(x != y for x, y in zip(first, second, strict=True))
    tail = binom.cdf(min(only_first, n - only_first), n, 0.5)
    assert mcnemar(a, b) == pytest.approx(min(1.0, 2 * tail))
    assert mcnemar(a, b) == mcnemar(b, a)


def test_balanced_errors_are_compared_class_by_class() -> None:
    random = np.random.default_rng(0)
    truth = (np.arange(20_000) < 500).astype(np.uint16)
    common = {"truth": truth.tobytes(), "tested": len(truth)}

    def candidate(errors: tuple[float, float]) -> Row:
        wrong = random.random(len(truth)) < np.array(errors)[truth]
        return row("x", right=np.packbits(~wrong).tobytes(), **common)

    alike = [balanced_test(candidate((0.1, 0.3)), candidate((0.1, 0.3))) for _ in range(200)]
    assert 0.01 <= np.mean(np.array(alike) < 0.05) <= 0.12
    assert balanced_test(candidate((0.1, 0.1)), candidate((0.05, 0.5))) == pytest.approx(1e-5)  # the least


@pytest.mark.parametrize("positives", [1, 2, 4, 10])
def test_few_rows_of_a_rare_class_tell_little(positives: int) -> None:
    random, found = np.random.default_rng(positives), []
    truth = (np.arange(200) < positives).astype(np.uint16)
    common = {"truth": truth.tobytes(), "tested": len(truth)}
    for _ in range(100):
        one, other = (row("x", right=np.packbits(random.random(200) < 0.8).tobytes(), **common) for _ in range(2))
        found.append(balanced_test(one, other))
    assert np.mean(np.array(found) < 0.05) <= 0.09

    only_one = np.ones(200, bool)
    only_one[:positives] = False  # all positives are found by one alone
    one, other = (row("x", right=np.packbits(right).tobytes(), **common) for right in (only_one, np.ones(200, bool)))
    assert balanced_test(one, other) == pytest.approx(2 * 0.5**positives, rel=0.3)
    assert balanced_test(one, one) == 1.0


def test_what_is_significantly_better_is_named() -> None:
    right = np.ones(1000, bool)
    wrong = right.copy()
    wrong[:30] = False
    chosen = row("chosen", 0.03, right=np.packbits(wrong).tobytes())
    better = row("better", 0.0, right=np.packbits(right).tobytes())
    found = Outcome([chosen, better], chosen, 100).significantly_better()
    assert [(each.name, p < 1e-6) for each, p in found] == [("better", True)]


def test_the_table_holds_every_candidate() -> None:
    rows = [row("a", setting={"C": 10.0}), row("b", None, None, reason="did not end, within 3 s")]
    read = list(csv.DictReader(io.StringIO(as_csv(Outcome(rows, rows[0], 100)))))
    assert [each["name"] for each in read] == ["a", "b"]
    assert read[0]["chosen"] == "True"
    assert read[0]["settings"] == "C=10"
    assert read[0]["bytes"] == "100"
    assert float(read[0]["standard_error"]) == pytest.approx((0.1 * 0.9 / 1000) ** 0.5)
    assert read[1]["reason"] == "did not end, within 3 s"


def test_what_was_cut_says_so() -> None:
    candidate = Candidate("a", "linear", "X", {}, {"C": (1.0,)}, 1)
    fit = Fit(candidate, {"C": 1.0}, 100, 2.0)
    for is_cut, reason in ((True, "training was ended after 2 s"), (False, "")):
        course = Course(candidate, [100], best=Fitted(fit, 0.1, 2.0, 2.1, is_cut=is_cut))
        assert row_of(course, None).reason == reason
        assert row_of(course, None, Fitted(fit, 0.1, 1.0, 1.1)).reason == ""


@pytest.mark.parametrize(
    ("error", "chance", "validation_chance", "is_better"),
    [
        (0.2, 0.001, 1.0, True),
        (0.2, 0.2, 1e-6, True),  # a small test set, and a validation set that leaves no doubt
        (0.2, 0.2, 0.01, False),  # the best of 100 looks is often as good as that by chance
        (0.3, 0.001, 1e-6, False),  # no better than a constant on the test set
    ],
)
def test_a_choice_is_set_against_a_constant(
    error: float, chance: float, validation_chance: float, is_better: bool
) -> None:
    found = row("a", error, constant=0.7, chance=chance, validation_chance=validation_chance)
    assert Outcome([found], found, 100).is_better_than_constant(found, looks=100) == is_better


def test_nothing_is_tested_by_metrics_of_a_ranking() -> None:
    chosen, better = row("chosen", 0.3), row("better", 0.0)
    assert Outcome([chosen, better], chosen, 100, "auc").significantly_better() == []
