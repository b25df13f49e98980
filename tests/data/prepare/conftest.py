"""A folder with a user's datasets, for the tests of preparation."""

from __future__ import annotations

import numpy as np
import pytest
from tests.datasets_of_user import POINTS, World


@pytest.fixture
def world(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    world = World(tmp_path)
    world.offer(POINTS)
    return world


@pytest.fixture
def numbers(world):
    """Offer a table of 40 rows with three numbers, and return them and their labels."""
    random = np.random.default_rng(3)
    values = random.normal(size=(40, 3)).round(3) * [1, 10, 0] + [0, 100, 0]
    labels = random.integers(0, 3, 40)
    rows = [",".join([*map(str, row), "abc"[label]]) for row, label in zip(values, labels, strict=True)]
    world.offer("\n".join(rows), "table")
    return values, labels
