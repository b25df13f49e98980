from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.utils.class_weight import compute_class_weight

from mpu_bench.core.problem import Problem
from mpu_bench.core.rows import Dense
from mpu_bench.errors import DataError


@pytest.fixture
def problem() -> Problem:
    """Return seven examples of three classes."""
    rows, labels = Dense(np.ones((7, 2), np.float32)), np.array([0, 1, 1, 2, 2, 2, 2], np.int32)
    return Problem("toy", rows, labels, rows, labels, 2, ("a", "b", "c"), "toy")


def test_balanced_weights_are_those_of_scikit_learn(problem: Problem) -> None:
    weights = problem.weighted("balanced").weights
    expected = compute_class_weight("balanced", classes=np.arange(3), y=problem.labels)
    np.testing.assert_array_equal(weights, expected[problem.labels])


def test_a_class_that_is_not_named_has_weight_one(problem: Problem) -> None:
    np.testing.assert_array_equal(problem.weighted({"b": 3.0}).weights, [1, 3, 3, 1, 1, 1, 1])


def test_a_class_without_examples_does_no_harm(problem: Problem) -> None:
    weights = replace(problem, classes=("a", "b", "c", "d")).weighted("balanced").weights
    assert weights is not None
    assert np.isfinite(weights).all()


def test_an_unknown_class_is_named(problem: Problem) -> None:
    with pytest.raises(DataError, match="toy: there is no class 'x'; there are a, b, c"):
        problem.weighted({"x": 1.0})
