"""Dual coordinate descent: its box, its tolerance, its counts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mpu_bench import solvers
from mpu_bench.core.counters import INNER_PRODUCTS, PRESENTED, STEPS, UPDATES
from mpu_bench.core.solver import Status, Until
from mpu_bench.errors import DataError
from mpu_bench.kernels import Linear
from oracles import toys
from oracles.toys import train

DCD = solvers.load("dcd")

few = settings(max_examples=30, deadline=None)
costs = st.sampled_from([0.01, 0.3, 1.0, 8.0])
seeds = st.integers(0, 5)


@few
@given(presented=st.integers(0, 700), C=costs, seed=seeds)
def test_alphas_stay_in_their_box_and_w_is_their_sum(presented, C, seed):
    matrix, labels = toys.binary()
    problem = toys.problem(matrix, labels, "ones")
    state, _ = train(DCD(C=C), problem, seed=seed, until=Until(presented=presented))
    assert (state.alphas >= 0).all()
    assert (state.alphas <= C).all()
    np.testing.assert_allclose(state.weights, (state.alphas * problem.signs()) @ matrix, atol=1e-9)
    assert sorted(state.order) == list(range(problem.n))


def test_counts_every_product_and_meets_its_tolerance():
    matrix, labels = toys.binary()
    problem = toys.problem(matrix, labels, "ones")
    state, _ = train(DCD(C=1.0, tolerance=1e-6), problem)
    assert state.counters[INNER_PRODUCTS] == state.counters[PRESENTED]
    assert state.counters[UPDATES] == state.counters[STEPS] <= state.counters[PRESENTED]
    projected = problem.signs() * (matrix @ state.weights) - 1
    projected = np.where(state.alphas == 0, np.minimum(projected, 0), projected)
    projected = np.where(state.alphas == 1, np.maximum(projected, 0), projected)
    assert projected.max() - projected.min() <= 1e-5


def test_a_row_that_is_too_long_is_refused():
    matrix, labels = toys.real()
    with pytest.raises(DataError, match="training row 1 is not finite"):
        DCD().start(toys.problem(matrix * 1e200, labels, "dense64"), Linear(), 0)


@few
@given(alike=st.integers(1, 3), C=costs, stop=st.sampled_from([0.0, 1e-4]), seed=seeds)
def test_twins_of_two_classes_end_at_the_optimum_though_their_gradients_are_alike(alike, C, stop, seed):
    """Where every example is one of two twins, all projected gradients of the first passes may be the same number."""
    labels = np.array([1] * alike + [0])
    problem = toys.problem(np.ones((alike + 1, 4)), labels, "dense64")
    state, status = train(DCD(C=C, tolerance=1e-6, stop=stop), problem, seed=seed)
    assert status is Status.DONE
    assert DCD(C=C).measures(state).gap <= 1e-4


@pytest.mark.parametrize("parameters", [{"stop": 1e-300}, {"tolerance": 1e-300}], ids=str)
def test_it_ends_where_no_alpha_moves_whatever_is_wanted(parameters):
    matrix, labels = toys.real(n=30, seed=3)
    matrix[0] *= 1e6
    matrix[1] *= 1e-6
    problem = toys.problem(matrix, labels, "dense64")
    assert toys.train(DCD(**parameters), problem, until=Until(presented=30 * 3000))[1] == Status.DONE
