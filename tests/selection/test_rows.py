from __future__ import annotations

import numpy as np
import pytest

from mpu_bench.core.problem import Problem
from mpu_bench.core.rows import Dense
from mpu_bench.selection.rows import Data, errors
from oracles import toys


def data(n: int, classes: int, seed: int = 0, share: float = 0.5) -> Data:
    random = np.random.default_rng(seed)
    y = (random.random(n) < share).astype(np.int32) if classes == 2 else random.integers(0, classes, n, dtype=np.int32)
    y[: 2 * classes] = np.arange(2 * classes) % classes
    values = np.arange(n, dtype=np.float32)[:, np.newaxis].repeat(2, axis=1)
    rows, few = Dense(values), Dense(values[:5])
    return Data(Problem("x", rows, y, few, y[:5], 2, tuple(map(str, range(classes))), ""), seed)


@pytest.mark.parametrize(("n", "classes"), [(20, 2), (333, 3), (5000, 10)])
def test_rows_that_choose_are_not_learned_from(n: int, classes: int) -> None:
    parts = data(n, classes)
    learned, held_out = parts.training(parts.learned_from)[0][:, 0], parts.validation[0][:, 0]
    assert set(learned) | set(held_out) == set(range(n))
    assert not set(learned) & set(held_out)
    for rows in (2 * classes, n // 2, parts.learned_from):
        assert set(parts.training(rows)[1]) == set(range(classes))
    assert len(parts.training(n)[0]) == n
    assert set(parts.training(n // 2)[0][:, 0]) <= set(parts.training(parts.learned_from)[0][:, 0])


def test_a_rare_class_makes_the_balanced_error_choose() -> None:
    assert data(1000, 2, share=0.05).is_rare
    assert not data(1000, 2, share=0.3).is_rare
    y, always = np.array([0] * 90 + [1] * 10, np.int32), np.zeros(100, np.int32)
    assert errors(y, always, 2) == (0.1, 0.5)


def test_the_width_is_that_of_the_distances() -> None:
    problem = toys.problem(*toys.binary(agree=True), "dense")
    values = np.asarray(problem.train.values, np.float64)
    squared = np.square(values[:, np.newaxis] - values).sum(axis=2).mean()
    assert Data(problem).width == pytest.approx(2 / squared, rel=0.1)
