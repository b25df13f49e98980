from __future__ import annotations

import numpy as np
import pytest

from mpu_bench.core.problem import Problem
from mpu_bench.core.rows import Dense
from mpu_bench.selection.rows import Data
from oracles import toys


def data(n: int, classes: int, seed: int = 0, share: float = 0.5) -> Data:
    random = np.random.default_rng(seed)
    y = (random.random(n) < share).astype(np.int32) if classes == 2 else random.integers(0, classes, n, dtype=np.int32)
    y[: 2 * classes] = np.arange(2 * classes) % classes
    values = np.arange(n, dtype=np.float32)[:, np.newaxis].repeat(2, axis=1)
    rows, few = Dense(values), Dense(values[:5])
    return Data(Problem("x", rows, y, few, y[:5], 2, tuple(map(str, range(classes))), ""), seed)


@pytest.mark.parametrize(("n", "classes"), [(2000, 2), (2501, 3), (5000, 10)])
def test_the_validation_set_is_not_learned_from(n: int, classes: int) -> None:
    parts = data(n, classes)
    for rows in (n // 2, parts.learned_from):
        ((trained, validated),) = parts.splits(rows)
        assert not set(trained) & set(validated)
        assert len(validated) == parts.validation_rows == n - parts.learned_from
    assert set(trained) | set(validated) == set(range(n))
    for rows in (2 * classes, n // 2, parts.learned_from):
        assert set(parts.training(rows)[1]) == set(range(classes))
    assert parts.splits(n) == []
    assert len(parts.training(n)[0]) == n
    assert set(parts.training(n // 2)[0][:, 0]) <= set(parts.training(parts.learned_from)[0][:, 0])


@pytest.mark.parametrize(("n", "classes", "times"), [(20, 2, 3), (100, 30, 3), (399, 3, 3), (400, 2, 1), (1999, 5, 1)])
def test_few_rows_are_cross_validated(n: int, classes: int, times: int) -> None:
    parts = data(n, classes)
    splits = parts.splits(parts.learned_from)
    assert parts.learned_from == n
    assert len(splits) == times * parts.folds
    for first in range(0, len(splits), parts.folds):  # each row is validated once a time
        validated = np.concatenate([rows for _, rows in splits[first : first + parts.folds]])
        assert sorted(validated) == list(range(n))
    for trained, validated in splits:
        assert not set(trained) & set(validated)


@pytest.mark.parametrize(
    ("share", "signal", "metric"),
    [
        (0.05, 1.0, "balanced-accuracy"),
        (0.15, 1.0, "balanced-accuracy"),
        (0.3, 1.0, "accuracy"),
        (0.3, 0.0, "balanced-accuracy"),  # nothing beats a constant on accuracy
        (0.5, 1.0, "accuracy"),
    ],
)
def test_balanced_accuracy_chooses_where_a_constant_is_hard_to_beat(share: float, signal: float, metric: str) -> None:
    random = np.random.default_rng(0)
    y = (random.random(1000) < share).astype(np.int32)
    rows = Dense(random.normal(size=(1000, 2)).astype(np.float32) + np.float32(2 * signal) * y[:, np.newaxis])
    assert Data(Problem("x", rows, y, rows, y, 2, ("no", "yes"), "")).fitting_metric()[0] == metric


def test_the_width_is_that_of_the_distances() -> None:
    problem = toys.problem(*toys.binary(agree=True), "dense")
    values = np.asarray(problem.train.values, np.float64)
    squared = np.square(values[:, np.newaxis] - values).sum(axis=2).mean()
    assert Data(problem).width == pytest.approx(2 / squared, rel=0.1)


@pytest.mark.parametrize("seed", range(5))
def test_the_validation_set_has_rows_of_a_rare_class(seed: int) -> None:
    parts = data(4000, 2, seed, share=0.0)  # four rows of 4,000 are positive
    parts.problem.labels[:] = np.arange(4000) < 4
    ((trained, validated),) = parts.splits(1000)
    assert parts.y[trained].sum() == 2
    assert parts.y[validated].sum() > 0
    assert not set(trained) & set(validated)
    assert sorted(parts.order) == list(range(4000))


@pytest.mark.parametrize(("rare", "learned"), [(2, 1), (3, 2)])
def test_two_rows_of_a_class_are_learned_from_and_validated_on(rare: int, learned: int) -> None:
    for seed in range(5):
        parts = data(4000, 2, seed, share=0.0)
        parts.problem.labels[:] = np.arange(4000) < rare
        ((trained, validated),) = parts.splits(1000)
        assert (parts.y[trained].sum(), parts.y[validated].sum()) == (learned, rare - learned)


def test_the_validation_set_has_rows_of_each_of_many_classes() -> None:
    parts = data(2000, 40)
    parts.problem.labels[160:] = 0  # four rows of each of the others
    parts.problem.labels[:160] = np.arange(160) % 40
    ((trained, validated),) = parts.splits(1000)
    assert set(parts.y[trained]) == set(parts.y[validated]) == set(range(40))
