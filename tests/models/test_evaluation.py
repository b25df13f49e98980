"""Errors by class, and counts of what is predicted for what."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sklearn.metrics
from hypothesis import given
from hypothesis import strategies as st

from mpu_bench.core.models import labels_of
from mpu_bench.models import evaluation
from mpu_bench.models.evaluation import (
    METRICS,
    Confusion,
    best_threshold,
    chance_of,
    constant_score,
    score_of,
    standard_error_of,
    weighted_scores,
)


def test_errors_by_class() -> None:
    labels = np.array([0] * 8 + [1] * 2, np.int32)
    always_no, half = np.zeros(10, np.int32), np.array([1] + [0] * 8 + [1], np.int32)
    assert evaluation.errors_by_class(always_no, labels, 2) == pytest.approx(
        {"constant_error": 0.2, "balanced_error": 0.5, "positives_found": 0.0}
    )
    assert evaluation.errors_by_class(half, labels, 2) == pytest.approx(
        {"constant_error": 0.2, "balanced_error": (1 / 8 + 1 / 2) / 2, "positives_found": 0.5}
    )


def test_errors_by_class_where_classes_are_several_or_missing() -> None:
    labels = np.array([0, 0, 3, 3], np.int32)  # of five classes
    several = evaluation.errors_by_class(np.array([0, 1, 3, 3], np.int32), labels, 5)
    assert several == {"constant_error": 0.5, "balanced_error": 0.25, "positives_found": None}
    no_positive = evaluation.errors_by_class(np.array([0, 1], np.int32), np.array([0, 0], np.int32), 2)
    assert no_positive == {"constant_error": 0.0, "balanced_error": 0.5, "positives_found": None}
    assert set(evaluation.errors_by_class(None, labels[:0], 2).values()) == {None}


def test_a_confusion_is_counted_piece_by_piece() -> None:
    confusion = Confusion.of(2)
    confusion.add(np.array([0, 1], np.int32), np.array([0, 0], np.int32))
    confusion.add(np.array([1, 1], np.int32), np.array([1, 0], np.int32))
    assert confusion.counts.tolist() == [[1, 0], [2, 1]]
    assert confusion.error == pytest.approx(0.5)
    assert confusion.by_class() == pytest.approx(
        {"constant_error": 0.25, "balanced_error": 1 / 3, "positives_found": 1 / 3}
    )


def test_the_error_of_a_confusion_is_rounded_as_that_of_a_run() -> None:
    labels, predicted = np.zeros(160, np.int32), (np.arange(160) < 7).astype(np.int32)
    confusion = Confusion.of(2)
    confusion.add(labels, predicted)
    assert confusion.error == float(np.mean(predicted != labels))
    assert f"{100 * confusion.error:.2f}" == "4.38"


def labelled(n: int, classes: int, shares: list[float], signal: float, seed: int) -> tuple[Any, Any, Any]:
    """Return labels, predictions and scores that know so much of them."""
    random = np.random.default_rng(seed)
    labels = random.choice(classes, n, p=shares).astype(np.int32)
    labels[:classes] = np.arange(classes)
    scores = random.normal(size=(n, classes)) + signal * (labels[:, np.newaxis] == np.arange(classes))
    if classes == 2:
        scores = scores[:, 1:] - scores[:, :1]
    return labels, labels_of(scores), scores


@pytest.mark.parametrize("metric", METRICS)
@given(classes=st.integers(2, 4), seed=st.integers(0, 1000), constant=st.integers(0, 3), shares=st.floats(0.02, 0.9))
def test_no_constant_is_better_than_the_best_one(
    metric: str, classes: int, seed: int, constant: int, shares: float
) -> None:
    of_class = [1 - shares] + [shares / (classes - 1)] * (classes - 1)
    labels, _, scores = labelled(60, classes, of_class, 0.0, seed)
    answer = np.full(60, constant % classes, np.int32)
    ties = np.zeros_like(scores)
    best = constant_score(metric, labels, classes)
    assert score_of(metric, labels, answer, ties) <= best + 1e-12
    assert chance_of(metric, labels, answer, ties) > 0.05


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("metric", METRICS)
def test_chance_is_seldom_taken_for_more_and_a_signal_is_seen(metric: str, classes: int) -> None:
    shares = [0.5, 0.5] if classes == 2 else [0.4, 0.3, 0.3]
    found = [chance_of(metric, *labelled(100, classes, shares, 0.0, seed)) < 0.05 for seed in range(200)]
    assert np.mean(found) < 0.09
    assert chance_of(metric, *labelled(100, classes, shares, 3.0, 0)) < 1e-6


@pytest.mark.parametrize("metric", [name for name in METRICS if name != "accuracy"])
def test_rows_of_one_class_prove_nothing(metric: str) -> None:
    labels, scores = np.zeros(30, np.int32), np.linspace(-1, 1, 30)[:, np.newaxis]
    assert chance_of(metric, labels, labels_of(scores), scores) == 1.0


def test_a_standard_error_that_is_known_is_not_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = "f1", *labelled(100, 2, [0.5, 0.5], 1.0, 0)
    error, chance = standard_error_of(*answers), chance_of(*answers)
    monkeypatch.setattr(evaluation, "resampled_scores", None)
    assert chance_of(*answers, error=error) == chance


def test_predictions_that_depend_on_the_class_may_have_no_more_f1_than_always_yes() -> None:
    """Of half positives always yes has F1 of 2 / 3, which a weak classifier does not surpass."""
    for seed in range(20):
        labels, predicted, scores = labelled(2000, 2, [0.5, 0.5], 0.5, seed)
        assert chance_of("balanced-accuracy", labels, predicted, scores) < 0.01
        assert score_of("f1", labels, predicted, scores) < constant_score("f1", labels, 2)
        assert chance_of("f1", labels, predicted, scores) > 0.5


@pytest.mark.parametrize("metric", METRICS)
def test_the_standard_error_is_the_spread_over_test_sets(metric: str) -> None:
    drawn = [labelled(300, 2, [0.7, 0.3], 1.0, seed) for seed in range(60)]
    spread = np.std([score_of(metric, *each) for each in drawn])
    assert standard_error_of(metric, *drawn[0]) == pytest.approx(spread, rel=0.6)


def test_metrics_are_those_of_two_and_of_several_classes() -> None:
    labels = np.array([0, 0, 0, 1, 1], np.int32)
    scores = np.array([[-2.0], [-1.0], [0.5], [0.2], [1.0]])
    found = {name: score_of(name, labels, labels_of(scores), scores) for name in METRICS}
    assert found == pytest.approx(
        {"accuracy": 0.8, "balanced-accuracy": (2 / 3 + 1) / 2, "f1": 0.8, "auc": 5 / 6,
         "average-precision": (1 + 2 / 3) / 2}
    )  # fmt: skip
    both = np.hstack([-scores, scores])  # a score for each, as a user solver may have
    assert {name: score_of(name, labels, labels_of(both), both) for name in METRICS} == found
    assert np.isnan(score_of("auc", np.ones(5, np.int32), labels_of(scores), scores))
    with pytest.raises(ValueError, match="no metric is called 'recall'"):
        score_of("recall", labels, labels_of(scores), scores)


def _of_sklearn(metric: str, labels: Any, predicted: Any, scores: Any, weights: Any) -> float:
    """Return a metric by scikit-learn's own functions."""
    several = scores.shape[1] > 1
    names = {"accuracy": "accuracy_score", "balanced-accuracy": "recall_score", "f1": "f1_score",
             "auc": "roc_auc_score", "average-precision": "average_precision_score"}  # fmt: skip
    function = getattr(sklearn.metrics, names[metric])
    if metric in ("auc", "average-precision"):
        columns = np.unique(labels) if several else [1]
        each = [function(labels == c, scores[:, c if several else 0], sample_weight=weights) for c in columns]
        return float(np.mean(each))
    macro = {"average": "macro"} if metric == "balanced-accuracy" or (metric == "f1" and several) else {}
    return float(function(labels, predicted, sample_weight=weights, **macro))


@pytest.mark.parametrize("metric", METRICS)
@given(classes=st.integers(2, 4), seed=st.integers(0, 1000))
def test_metrics_of_weighted_rows_are_those_of_scikit_learn(metric: str, classes: int, seed: int) -> None:
    labels, _, scores = labelled(60, classes, [1 / classes] * classes, 0.5, seed)
    scores = scores.round(1)  # some are alike
    weights = np.random.default_rng(seed).integers(0, 3, 60).astype(float)
    weights[:classes] = 1.0
    predicted = labels_of(scores)
    (found,) = weighted_scores(metric, labels, predicted, scores, weights[np.newaxis])
    assert found == pytest.approx(_of_sklearn(metric, labels, predicted, scores, weights))


@pytest.mark.parametrize("metric", ["accuracy", "balanced-accuracy", "f1"])
@given(seed=st.integers(0, 1000), share=st.floats(0.02, 0.9))
def test_no_threshold_is_better_than_the_best_one(metric: str, seed: int, share: float) -> None:
    labels, _, scores = labelled(60, 2, [1 - share, share], 1.0, seed)
    scores = scores.round(1)

    def score(threshold: float) -> float:
        return score_of(metric, labels, labels_of(scores - threshold), scores - threshold)

    values = np.unique(scores)
    best = max(score(each) for each in (values[1:] + values[:-1]) / 2)
    assert score(best_threshold(metric, labels, scores)) == pytest.approx(best)


def test_a_threshold_lies_below_the_upper_of_two_scores_next_to_each_other() -> None:
    scores = np.array([[0.3], [np.nextafter(0.3, 1.0)]])
    threshold = best_threshold("accuracy", np.array([0, 1], np.int32), scores)
    assert labels_of(scores - threshold).tolist() == [0, 1]


def test_scores_that_are_alike_have_no_threshold() -> None:
    assert best_threshold("f1", np.array([0, 1, 1], np.int32), np.full((3, 1), 0.5)) == 0.0
    with pytest.raises(ValueError, match="no threshold makes 'auc' better"):
        best_threshold("auc", np.array([0, 1], np.int32), np.array([[0.0], [1.0]]))
