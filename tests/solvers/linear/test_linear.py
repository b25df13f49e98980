"""The linear solvers against the exact solution, by certificate."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mpu_bench import solvers
from mpu_bench.core.counters import INNER_PRODUCTS, PRESENTED, STEPS, UPDATES
from mpu_bench.core.kernels import Linear
from mpu_bench.core.solver import Status, Until
from mpu_bench.errors import ConfigError, DataError
from oracles import linear_svm, margin_perceptron, toys
from oracles.toys import more

MPU, DCD = solvers.load("mpu"), solvers.load("dcd")

few = settings(max_examples=30, deadline=None)
costs = st.sampled_from([0.01, 0.3, 1.0, 8.0])
seeds = st.integers(0, 5)


@cache
def exact(make, C, data_seed=0):
    matrix, labels = make(seed=data_seed)
    return linear_svm.solve(matrix, 2.0 * labels - 1, C)


def train(solver, problem, seed=0, allowance=None):
    state = solver.start(problem, Linear(), seed)
    status = solver.advance(state, allowance or Until())
    return state, status


@pytest.mark.parametrize("C", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("kind", ["dense", "sparse", "ones"])
@pytest.mark.parametrize("name", ["mpu", "dcd", "liblinear"])
def test_agrees_with_the_exact_solution(name, kind, C):
    make = toys.binary if kind == "ones" else toys.real
    precise = {
        "mpu": {"accuracy": 1e-7, "stop": 0.0},
        "dcd": {"tolerance": 1e-9},
        "liblinear": {"tolerance": 1e-9},
    }[name]
    solver = solvers.load(name)(C=C, **precise)
    weights, _, optimum = exact(make, C)
    state, status = train(solver, toys.problem(*make(), kind))
    assert status == Status.DONE
    assert solver.measures(state).objective == pytest.approx(optimum, rel=2e-7)
    np.testing.assert_allclose(solver.model(state).weights[0], weights, atol=2e-3 * np.abs(weights).max())


@few
@given(accuracy=st.sampled_from([0.5, 0.1, 1e-3, 1e-6]), C=costs, data_seed=seeds, seed=seeds)
def test_mpu_keeps_the_accuracy_wanted_before_running(accuracy, C, data_seed, seed):
    matrix, labels = toys.binary(seed=data_seed)
    problem = toys.problem(matrix, labels, "ones")
    solver = MPU(C=C, accuracy=accuracy, stop=0.0)
    state, status = train(solver, problem, seed)
    assert status == Status.DONE
    rule = solver.rule(state.squared_norms.max())
    patterns = problem.signs()[:, None] * matrix
    gap = rule.unlearning - rule.threshold
    assert gap == pytest.approx(3 * (matrix**2).sum(axis=1).max())
    assert margin_perceptron.converged(patterns, *rule[:2], gap, state.held.weights, state.multiplicities)
    _, _, optimum = exact(toys.binary, C, data_seed)
    assert solver.measures(state).objective < optimum * (1 + accuracy)  # (23) with b of Remark 4
    most_updates = problem.n * rule.most * (2 * rule.threshold + gap) / (gap - state.squared_norms.max())
    assert state.counters[UPDATES] <= most_updates  # (22), Theorem 2


@few
@given(stop=st.sampled_from([0.3, 1e-2, 1e-4]), C=costs, data_seed=seeds, seed=seeds)
@pytest.mark.parametrize("name", ["mpu", "dcd"])
def test_a_run_that_stops_by_its_certificate_has_the_gap(name, stop, C, data_seed, seed):
    solver = solvers.load(name)(C=C, stop=stop, **({"tolerance": 1e-9} if name == "dcd" else {}))
    state, status = train(solver, toys.problem(*toys.binary(seed=data_seed), "ones"), seed)
    measures = solver.measures(state)
    assert status == Status.DONE
    assert measures.gap <= stop * (1 + 1e-9)
    _, _, optimum = exact(toys.binary, C, data_seed)
    assert measures.dual_objective <= optimum * (1 + 1e-8)
    assert optimum * (1 - 1e-8) <= measures.objective <= optimum * (1 + stop)


@few
@given(presented=st.integers(0, 3000), C=costs, data_seed=seeds, seed=seeds)
@pytest.mark.parametrize("name", ["mpu", "dcd"])
def test_a_certificate_is_never_better_than_the_truth(name, presented, C, data_seed, seed):
    problem = toys.problem(*toys.binary(seed=data_seed), "ones")
    solver = solvers.load(name)(C=C)
    state, _ = train(solver, problem, seed, Until(presented=presented))
    measures, (_, _, optimum) = solver.measures(state), exact(toys.binary, C, data_seed)
    assert measures.objective >= optimum * (1 - 1e-8)
    assert measures.dual_objective <= optimum * (1 + 1e-8)
    assert measures.gap is None or measures.gap >= measures.objective / optimum - 1 - 1e-8


@few
@given(presented=st.integers(0, 700), C=costs, seed=seeds)
def test_mpu_invariants(presented, C, seed):
    matrix, labels = toys.binary()
    problem = toys.problem(matrix, labels, "ones")
    solver = MPU(C=C)
    state, _ = train(solver, problem, seed, Until(presented=presented))
    most = solver.rule(state.squared_norms.max()).most
    counts = state.multiplicities
    assert (counts == np.floor(counts)).all()
    assert (counts >= 0).all()
    assert (counts <= most).all()
    # (6); the entries are integers, so exactly
    np.testing.assert_array_equal(state.held.weights, (counts * problem.signs()) @ matrix)
    learned = counts[matrix.any(axis=1)].sum()
    assert learned <= state.counters[UPDATES]
    assert (state.counters[UPDATES] - learned) % 2 == 0  # each unlearning takes one learning back


@few
@given(presented=st.integers(0, 700), C=costs, seed=seeds)
def test_dcd_invariants(presented, C, seed):
    matrix, labels = toys.binary()
    problem = toys.problem(matrix, labels, "ones")
    state, _ = train(DCD(C=C), problem, seed, Until(presented=presented))
    assert (state.alphas >= 0).all()
    assert (state.alphas <= C).all()
    np.testing.assert_allclose(state.weights, (state.alphas * problem.signs()) @ matrix, atol=1e-9)
    assert sorted(state.order) == list(range(problem.n))


@few
@given(seed=st.integers(0, 1000), accuracy=st.sampled_from([0.5, 1e-2]))
def test_a_multiple_update_is_so_many_single_ones(seed, accuracy):
    matrix, labels = toys.binary()
    problem = toys.problem(matrix, labels, "ones")
    solver = MPU(accuracy=accuracy)
    state = solver.start(problem, Linear(), seed)
    order = state.orders[0].copy()
    rule = solver.rule(state.squared_norms.max())
    solver.advance(state, more(state, presented=problem.n))
    patterns = problem.signs()[:, None] * matrix
    gap = rule.unlearning - rule.threshold
    weights, counts, updates = margin_perceptron.present(patterns, order, rule.most, rule.threshold, gap)
    np.testing.assert_array_equal(state.multiplicities, counts)
    np.testing.assert_array_equal(state.held.weights, weights)
    assert state.counters[UPDATES] == updates
    assert state.counters[PRESENTED] == problem.n


def test_mpu_counts_every_product():
    problem = toys.problem(*toys.binary(), "ones")
    state, _ = train(MPU(stop=0.0), problem)
    assert state.counters[INNER_PRODUCTS] == state.counters[PRESENTED]
    state, _ = train(MPU(), problem)
    certificates, rest = divmod(state.counters[INNER_PRODUCTS] - state.counters[PRESENTED], problem.n)
    assert rest == 0
    assert certificates >= 1


def test_mpu_converged_presents_all_examples_once_more_without_an_update():
    problem = toys.problem(*toys.binary(), "ones")
    solver = MPU(stop=0.0)
    state, _ = train(solver, problem)
    whole = toys.arrays_of(state)
    state = solver.start(problem, Linear(), 0)
    solver.advance(state, more(state, presented=int(whole["counters"][PRESENTED]) - problem.n))
    np.testing.assert_array_equal(state.held.weights, whole["held.weights"])
    assert state.counters[STEPS] == whole["counters"][STEPS]


def test_dcd_counts_every_product_and_meets_its_tolerance():
    matrix, labels = toys.binary()
    problem = toys.problem(matrix, labels, "ones")
    state, _ = train(DCD(C=1.0, tolerance=1e-6), problem)
    assert state.counters[INNER_PRODUCTS] == state.counters[PRESENTED]
    assert state.counters[UPDATES] == state.counters[STEPS] <= state.counters[PRESENTED]
    projected = problem.signs() * (matrix @ state.weights) - 1
    projected = np.where(state.alphas == 0, np.minimum(projected, 0), projected)
    projected = np.where(state.alphas == 1, np.maximum(projected, 0), projected)
    assert projected.max() - projected.min() <= 1e-5


@pytest.mark.parametrize("name", ["mpu", "dcd"])
def test_zero_rows_cost_their_loss_and_nothing_else(name):
    matrix, labels = toys.binary(n=20)
    with_zeros = toys.problem(np.vstack([matrix, np.zeros((5, 12))]), np.append(labels, [0, 1, 1, 0, 1]), "ones")
    solver = solvers.load(name)(stop=1e-9, **({"accuracy": 1e-8} if name == "mpu" else {"tolerance": 1e-9}))
    state, status = train(solver, with_zeros.__class__(**vars(with_zeros)))
    _, _, optimum = linear_svm.solve(matrix, 2.0 * labels - 1, 1.0)
    assert status == Status.DONE
    assert solver.measures(state).objective == pytest.approx(optimum + 5, rel=1e-6)


@pytest.mark.parametrize("name", ["mpu", "dcd"])
def test_a_problem_of_zero_rows_only_ends(name):
    problem = toys.problem(np.zeros((4, 3)), np.array([0, 1, 1, 0], np.int32), "ones")
    solver = solvers.load(name)()
    state, status = train(solver, problem)
    assert status == Status.DONE
    assert solver.measures(state).objective == 4.0


def test_a_number_that_overflows_is_told():
    matrix, labels = toys.real()
    with pytest.raises(ConfigError, match="take a larger accuracy"):
        MPU().start(toys.problem(matrix * 1e7, labels, "dense64"), Linear(), 0)
    for solver in (MPU(), DCD()):
        with pytest.raises(DataError, match="training row 0 is not finite"):
            solver.start(toys.problem(matrix * 1e200, labels, "dense64"), Linear(), 0)


def test_liblinear_tells_when_its_cap_stopped_it():
    problem = toys.problem(*toys.binary(), "ones")
    peer = solvers.load("liblinear")(tolerance=1e-9, most_passes=3)
    _, status = train(peer, problem)
    assert status == Status.RUNNING
