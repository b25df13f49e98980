import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mpu_bench.solvers.online import cholesky
from oracles import projectron


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**16), m=st.integers(0, 12), twice=st.booleans())
def test_projects_with_the_least_squares(seed, m, twice):
    random = np.random.default_rng(seed)
    rows = random.normal(size=(m + 1, 3))
    if twice and m > 1:
        rows[m] = rows[1] = rows[0]
    gram = np.exp(-0.2 * ((rows[:, None] - rows) ** 2).sum(axis=2))
    sets, z, d = cholesky.new_cholesky(1, m + 1), np.zeros(m + 1), np.zeros(m + 1)
    for j in range(m):
        cholesky.append(sets, 0, j, z, cholesky.project(sets, 0, gram[j], z), 1.0)
    projected = cholesky.project(sets, 0, gram[m], z)
    cholesky.coordinates(sets, 0, z, d)
    distance = 1.0 - projected
    assert distance >= 0
    assert distance == pytest.approx(projectron.projection(gram, list(range(m)), m)[1], abs=1e-8)
    for j in range(m):  # nothing in the span is nearer: what is left is orthogonal to it, but for the jitter
        left = gram[m, j] - gram[j, :m] @ d[:m]
        assert abs(left) <= 2e-9 * max(1.0, np.abs(d[:m]).max())


def test_more_space_keeps_the_sets():
    gram = np.array([[1.0, 0.5], [0.5, 1.0]])
    sets, z = cholesky.new_cholesky(2, 1), np.zeros(3)
    cholesky.append(sets, 1, 0, z, cholesky.project(sets, 1, gram[0], z), 1.0)
    sets = cholesky.enlarged(sets, 3)
    cholesky.append(sets, 1, 1, z, cholesky.project(sets, 1, gram[1], z), 1.0)
    assert sets.sizes.tolist() == [0, 2]
    np.testing.assert_allclose(sets.factors[1, :2, :2], np.linalg.cholesky(gram), atol=1e-8)
