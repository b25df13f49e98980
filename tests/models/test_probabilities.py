from __future__ import annotations

import numpy as np
import pytest
import sklearn.metrics
from scipy.optimize import minimize
from scipy.special import expit

from mpu_bench.models.probabilities import RecentScores, Sigmoids, brier_score, calibration_error


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e12])
def test_a_sigmoid_has_the_least_cross_entropy(scale: float) -> None:
    random = np.random.default_rng(0)
    scores = random.normal(size=(400, 1))
    labels = (random.uniform(size=400) < expit(3 * scores[:, 0] - 1)).astype(int)
    positive = labels.sum()
    targets = np.where(labels == 1, (positive + 1) / (positive + 2), 1 / (400 - positive + 2))

    def loss(line: np.ndarray) -> float:
        values = scores[:, 0] * line[0] + line[1]
        return float(np.mean(np.logaddexp(0, values) - targets * values))

    best = minimize(loss, [1.0, 0.0]).x
    found = Sigmoids.of(scale * scores, labels)
    assert [found.slopes[0] * scale, found.intercepts[0]] == pytest.approx(best, rel=1e-3)


def test_weights_are_as_rows_that_are_repeated() -> None:
    random = np.random.default_rng(1)
    scores, labels, weights = random.normal(size=(50, 3)), random.integers(0, 3, 50), random.integers(0, 4, 50)
    once, repeated = Sigmoids.of(scores, labels, weights), np.repeat(np.arange(50), weights)
    again = Sigmoids.of(scores[repeated], labels[repeated])
    np.testing.assert_allclose(once.probabilities(scores), again.probabilities(scores), atol=1e-5)


def test_few_rows_give_no_certainty() -> None:
    assert Sigmoids.of(np.zeros((0, 1)), np.zeros(0)).probabilities(np.array([[9.0]])).tolist() == [[0.5, 0.5]]
    assert Sigmoids.of(np.zeros((0, 3)), np.zeros(0)).probabilities(np.eye(3)) == pytest.approx(np.full((3, 3), 1 / 3))
    one = Sigmoids.of(np.array([[2.0]]), np.array([1])).probabilities(np.array([[2.0], [-2.0]]))
    assert one[:, 1] == pytest.approx([2 / 3, 2 / 3])
    apart = Sigmoids.of(np.array([[-1.0], [1.0]]), np.array([0, 1])).probabilities(np.array([[-1.0], [1.0]]))
    assert apart[:, 1] == pytest.approx([1 / 3, 2 / 3], abs=1e-4)


@pytest.mark.parametrize("far", [-100.0, -700.0, -1e5])
def test_probabilities_that_are_all_next_to_nothing_keep_their_ratios(far: float) -> None:
    sigmoids = Sigmoids((1.0, 1.0, 1.0), (0.0, 0.0, 0.0))
    np.testing.assert_allclose(sigmoids.probabilities(np.full((1, 3), far)), [[1 / 3] * 3])
    found = sigmoids.probabilities(far + np.log([[1.0, 2.0, 5.0]]))
    np.testing.assert_allclose(found, [[0.125, 0.25, 0.625]], rtol=1e-9)


def test_recent_scores_forget_those_of_long_ago() -> None:
    recent, random = RecentScores(1), np.random.default_rng(0)
    for i in range(2000):
        label = int(random.integers(2))
        sign = (1 if label else -1) * (1 if i < 1000 else -1)
        recent.add(np.array([random.normal() + sign]), label)
    assert recent.sigmoids.slopes[0] == pytest.approx(-2, abs=0.4)


def test_recent_scores_know_the_same_however_often_they_are_asked() -> None:
    seldom, often, random = RecentScores(1), RecentScores(1), np.random.default_rng(0)
    for i in range(1234):
        score, label = random.normal(size=1), int(random.integers(2))
        for each in (seldom, often):
            each.add(score, label)
        assert often.sigmoids == often.sigmoids
        if i % 411 == 0:
            assert seldom.sigmoids == often.sigmoids
    assert seldom.sigmoids == often.sigmoids


def test_the_brier_score_is_scikit_learns() -> None:
    random = np.random.default_rng(0)
    for classes in (2, 3):
        probabilities, labels = random.dirichlet(np.ones(classes), 40), random.integers(0, classes, 40)
        expected = sklearn.metrics.brier_score_loss(labels, probabilities, scale_by_half=True)
        assert brier_score(labels, probabilities) == pytest.approx(expected)


def test_the_calibration_error_is_the_distance_from_frequencies() -> None:
    labels = np.array([0, 1, 1, 1, 0, 1])
    claimed = np.array([0.25, 0.25, 0.25, 0.25, 1.0, 1.0])
    probabilities = np.column_stack([1 - claimed, claimed])
    assert calibration_error(labels, probabilities) == pytest.approx((4 * 0.5 + 2 * 0.5) / 6)
    three = np.array([[0.8, 0.1, 0.1], [0.1, 0.85, 0.05]])
    assert calibration_error(np.array([0, 2]), three) == pytest.approx((1.65 - 1) / 2)
