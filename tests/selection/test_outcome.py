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

from mpu_bench.models.evaluation import weighted_scores
from mpu_bench.models.export.device import named
from mpu_bench.models.export.footprint import Footprint
from mpu_bench.report.choice import page, sentences
from mpu_bench.selection.candidates import Candidate
from mpu_bench.selection.outcome import Outcome, Row, as_csv, choose, row_of
from mpu_bench.selection.schedule import Course, Fit, Fitted
from mpu_bench.selection.target import Target


def row(name: str, error: float | None = 0.1, size: int | None = 100, kind: str = "batch", **others: Any) -> Row:
    metrics = {} if error is None else {"accuracy": 1 - error, "balanced-accuracy": 1 - error, "auc": 1 - error}
    values = {"choosing_error": error, "metrics": metrics, "size": size, "tested": 1000}
    return Row(name, kind, **(values | others))


def answering(name: str, truth: Any, predicted: Any, scores: Any = None, **others: Any) -> Row:
    """Return a candidate that answers so on the test rows."""
    scores = np.asarray(predicted, np.float32) - 0.5 if scores is None else np.asarray(scores, np.float32)
    return row(
        name,
        tested=len(truth),
        truth=np.asarray(truth, np.int32).tobytes(),
        predicted=np.asarray(predicted, np.int32).tobytes(),
        scores=scores.tobytes(),
        **others,
    )


def test_the_smallest_within_a_standard_error_of_the_best_on_the_validation_set_is_chosen() -> None:
    rows = [
        row("small", 0.10, 50),
        row("large", 0.10, 500),
        row("lucky", 0.01, choosing_error=0.2),
        row("reference", 0.05, kind="reference"),
        row("constant", 0.01, 1, kind="reference"),
        row("unknown", None),
        row("untested", 0.01, None),
    ]
    chosen = choose(rows)
    assert chosen is not None
    assert chosen.name == "small"
    assert choose(rows[2:]) == rows[2]
    assert choose([replace(each, fits=False) for each in rows]) is None
    assert choose(rows, with_references=True) == rows[3]
    best = row("best", 0.08, 9000, drawn=(0.92, 0.92, 0.95))  # of the others 0.90 are right
    assert choose([*rows, best]) == best
    assert choose([replace(rows[0], drawn=(0.90, 0.90, 0.93)), best]) == best, "on all resamples it is better"
    alike = replace(rows[0], drawn=(0.90, 0.94, 0.90))
    assert choose([alike, best]) == alike


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
    a, b = (answering("x", np.ones(len(first)), each) for each in (first, second))
    only_first = sum(x and not y for x, y in zip(first, second, strict=True))
    n = sum(x != y for x, y in zip(first, second, strict=True))
    tail = binom.cdf(min(only_first, n - only_first), n, 0.5)
    outcome = Outcome([a, b], a, 100)
    found = outcome.difference(a, b)
    assert found.p == pytest.approx(min(1.0, 2 * tail))
    assert found.p == outcome.difference(b, a).p
    assert found.low <= found.by <= found.high


@pytest.mark.parametrize("metric", ["balanced-accuracy", "f1", "auc", "average-precision"])
def test_other_metrics_are_compared_on_the_same_resamples(metric: str) -> None:
    random, found = np.random.default_rng(0), list[float]()
    truth = np.arange(400) < 100

    def candidate(signal: float, of: np.random.Generator) -> Row:
        scores = of.normal(size=400) + signal * truth - 0.5 * signal
        made = answering("x", truth, scores > 0, scores)
        known = Outcome([made], made, 100, metric)
        value = weighted_scores(metric, made.labels, *made.answers, np.ones((1, 400)))[0]
        made.metrics = {known.metric: value}
        return made

    for _ in range(30):
        one, other = candidate(1.5, random), candidate(1.5, random)
        found.append(Outcome([one, other], one, 100, metric).difference(one, other).p)
    assert 0 <= np.mean(np.array(found) < 0.05) <= 0.15
    strong, weak = candidate(3.0, random), candidate(0.5, random)
    difference = Outcome([strong, weak], strong, 100, metric).difference(strong, weak)
    assert difference.p < 0.01
    assert 0 < difference.low < difference.by < difference.high
    assert Outcome([strong], strong, 100, metric).difference(strong, strong).p == 1.0


def test_few_rows_of_a_rare_class_tell_nothing() -> None:
    truth = np.arange(200) < 5
    one, other = answering("one", truth, truth), answering("other", truth, ~truth, error=0.9)
    assert np.isnan(Outcome([one, other], one, 100, "balanced-accuracy").difference(one, other).p)


def test_what_is_significantly_better_is_named_if_it_is_of_this_project() -> None:
    truth = np.ones(1000)
    chosen = answering("chosen", truth, np.arange(1000) >= 30, error=0.03)
    better, reference = (
        answering(name, truth, truth, error=0.0, kind=kind) for name, kind in (("b", "batch"), ("r", "reference"))
    )
    found = Outcome([chosen, better, reference], chosen, 100).significantly_better()
    assert [(each.name, difference.p < 1e-6) for each, difference in found] == [("b", True)]


def test_of_many_candidates_none_is_significantly_better_by_luck() -> None:
    random, lucky = np.random.default_rng(0), 0
    for _ in range(100):
        truth = random.random(1000) < 0.5
        wrong = random.random((14, 1000)) < 0.2
        rows = [answering(str(i), truth, truth ^ each, error=each.mean()) for i, each in enumerate(wrong)]
        lucky += bool(Outcome(rows, rows[0], 1000).significantly_better())
    assert lucky <= 5  # 17 without a correction


def test_the_table_holds_every_candidate() -> None:
    rows = [row("a", setting={"C": 10.0}), row("b", None, None, reason="did not end, within 3 s")]
    read = list(csv.DictReader(io.StringIO(as_csv(Outcome(rows, rows[0], 100)))))
    assert [each["name"] for each in read] == ["a", "b"]
    assert read[0]["chosen"] == "True"
    assert read[0]["settings"] == "C=10"
    assert read[0]["bytes"] == "100"
    assert float(read[0]["standard_error"]) == pytest.approx((0.1 * 0.9 / 1000) ** 0.5)
    assert read[1]["reason"] == "did not end, within 3 s"


@pytest.mark.parametrize("any_may_be", [True, False])
def test_a_page_says_that_references_are_not_chosen_where_that_is_so(any_may_be: bool) -> None:
    shown = page(Outcome([row("dcd")], None, 100, with_references=any_may_be), "mine", [], b"", [])
    assert ("References are not chosen" in shown) != any_may_be


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


def test_equally_good_is_not_called_better() -> None:
    labels = [0, 1] * 20
    found = [
        answering(name, labels, labels, kind=kind, seconds=1.0, seconds_per_prediction=1.0)
        for name, kind in (("a", "linear"), ("b", "reference"))
    ]
    how_sure = sentences(Outcome(found, found[0], 100), "x")[1]
    assert "and as good as b, the best reference (95% from 0.00 to 0.00, McNemar, p = 1" in how_sure


def test_what_fits_the_device_is_too_large_for_the_memory_alone() -> None:
    device = named("cortex-m4")
    taken = Footprint(flash=1000, ram=100, instructions=10)
    found = row("a", fits=False, footprint=taken)
    for flash, words in ((2000, "give a larger --memory"), (500, "or a larger device")):
        outcome = Outcome([found], None, 100, target=Target(device, flash, 1000))
        assert words in sentences(outcome, "x")[0]
