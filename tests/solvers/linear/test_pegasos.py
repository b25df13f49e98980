"""Pegasos against its own text, its bound, and the exact solution."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mpu_bench import solvers
from mpu_bench.core.counters import INNER_PRODUCTS, PRESENTED, STEPS, UPDATES
from mpu_bench.core.rng import randint, rng
from mpu_bench.core.solver import Status, Until
from mpu_bench.data.cards import catalog
from mpu_bench.data.prepare.load import load_problem
from mpu_bench.errors import DataError
from mpu_bench.kernels import Linear
from oracles import linear_svm, pegasos, toys
from oracles.toys import more

Pegasos = solvers.load("pegasos")

few = settings(max_examples=25, deadline=None)
costs = st.sampled_from([1e-4, 0.01, 1.0, 8.0, 1e4])
seeds = st.integers(0, 5)


def steps_of(solver, problem, steps, seed=0):
    """Return w after every step, and the state."""
    state = solver.start(problem, Linear(), seed)
    found = []
    for _ in range(steps):
        solver.advance(state, more(state, presented=solver.batch))
        found.append(solver.model(state).weights[0])
    return np.array(found), state


def drawn(n, size, steps, seed):
    stream = rng(seed, "pegasos")
    return [[randint(stream, np.uint32(n)) for _ in range(size)] for _ in range(steps)]


@few
@given(C=costs, batch=st.sampled_from([1, 4, 30, 100]), data_seed=seeds, seed=seeds)
def test_takes_the_steps_of_the_paper(C, batch, data_seed, seed):
    matrix, labels = toys.real(seed=data_seed)
    matrix[:5] = 0.0
    problem = toys.problem(matrix, labels, "dense64")
    found, _ = steps_of(Pegasos(C=C, batch=batch), problem, 60, seed)
    expected = pegasos.train(problem.signs()[:, None] * matrix, C, drawn(problem.n, batch, 60, seed))
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-9 * np.abs(expected).max())


@few
@given(C=costs, batch=st.sampled_from([1, 30]), data_seed=seeds, seed=seeds)
def test_stays_in_the_ball_and_knows_a_bound_of_its_norm(C, batch, data_seed, seed):
    problem = toys.problem(*toys.binary(seed=data_seed), "ones")
    solver = Pegasos(C=C, batch=batch)
    state = solver.start(problem, Linear(), seed)
    projected = 0
    for _ in range(100):
        solver.advance(state, more(state, presented=batch))
        length = np.linalg.norm(solver.model(state).weights)
        bound = np.sqrt(state.progress[0].norm_bound) / max(state.progress[0].t - 1, 1)
        assert length <= np.sqrt(C * problem.n) * (1 + 1e-12)
        assert length <= bound * (1 + 1e-9)
        projected += length >= np.sqrt(C * problem.n) * (1 - 1e-12)
    assert projected or C < 1


@pytest.mark.parametrize("batch", [1, 30])
@pytest.mark.parametrize("C", [0.01, 1.0, 30.0])
def test_keeps_its_bound_in_expectation(C, batch):
    """The mean of f(w_t) is at most f* + c (1 + ln T) / (2 lambda T), c = (sqrt(lambda) + R)^2 (Theorem 1, Lemma 1)."""
    matrix, labels = toys.binary()
    problem = toys.problem(matrix, labels, "ones")
    signs, steps, regularization = problem.signs(), 400, 1 / (C * problem.n)
    _, _, optimum = linear_svm.solve(matrix, signs, C)
    largest = np.sqrt((matrix**2).sum(axis=1).max())
    bound = (np.sqrt(regularization) + largest) ** 2 * (1 + np.log(steps)) / (2 * regularization * steps)
    excess = []
    for seed in range(10):
        found, _ = steps_of(Pegasos(C=C, batch=batch), problem, steps, seed)
        before = [np.zeros_like(found[0]), *found[:-1]]  # w_1 = 0, the w that a step meets
        objectives = [linear_svm.primal(matrix, signs, weights, C) for weights in before]
        excess.append((np.mean(objectives) - optimum) / (C * problem.n))
    assert 0 <= np.mean(excess) <= bound


@pytest.mark.parametrize("kind", ["dense", "sparse", "ones"])
@pytest.mark.parametrize("C", [1e-4, 0.01, 1.0])
def test_comes_near_the_optimum_and_ends_after_its_iterations(C, kind):
    matrix, labels = toys.binary()
    problem = toys.problem(matrix, labels, kind)
    _, _, optimum = linear_svm.solve(matrix, problem.signs(), C)
    solver = Pegasos(C=C, iterations=20_000)
    state = solver.start(problem, Linear(), 0)
    assert solver.advance(state, Until()) == Status.DONE
    measures = solver.measures(state)
    assert optimum * (1 - 1e-9) <= measures.objective <= optimum * 1.01
    assert measures.dual_objective is None
    assert measures.gap is None
    assert (state.counters[[PRESENTED, INNER_PRODUCTS]] == 30 * 20_000).all()
    assert (state.counters[[STEPS, UPDATES]] == 20_000).all()


def test_a_model_within_a_step_is_that_before_it():
    solver = Pegasos()
    state = solver.start(toys.problem(*toys.real(), "sparse"), Linear(), 0)
    solver.advance(state, more(state, presented=300))
    before = solver.model(state).weights
    solver.advance(state, more(state, presented=29))
    np.testing.assert_array_equal(solver.model(state).weights, before)
    assert state.counters[STEPS] == 10
    solver.advance(state, more(state, presented=1))
    assert state.counters[STEPS] == 11
    assert (solver.model(state).weights != before).any()


def test_numbers_that_overflow_are_told():
    matrix, labels = toys.real()
    solver = Pegasos(C=1e4)
    state = solver.start(toys.problem(matrix * 1e150, labels, "dense64"), Linear(), 0)
    assert solver.advance(state, more(state, presented=3000)) == Status.DIVERGED
    with pytest.raises(DataError, match="training row 1 is not finite"):
        solver.start(toys.problem(matrix * 1e200, labels, "dense64"), Linear(), 0)


@pytest.mark.real_data
def test_adult_within_one_per_cent(shared_home):
    problem = load_problem(catalog.card("adult"), shared_home)
    solver = Pegasos(C=1.0, iterations=300_000)
    state = solver.start(problem, Linear(), 0)
    assert solver.advance(state, Until()) == Status.DONE
    assert 11434.3 <= solver.measures(state).objective <= 11434.4 * 1.01


def test_more_steps_than_any_run_takes_are_one_number_to_it():
    problem = toys.problem(*toys.binary(), "ones")
    states = [toys.train(Pegasos(iterations=steps), problem, until=Until(presented=99))[0] for steps in (10**6, 10**30)]
    np.testing.assert_array_equal(states[0].accumulated, states[1].accumulated)
