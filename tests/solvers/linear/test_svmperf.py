"""Cutting planes against their definition, by certificate, and against the exact solution."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mpu_bench import solvers
from mpu_bench.core.counters import INNER_PRODUCTS, PRESENTED, STEPS, UPDATES
from mpu_bench.core.solver import Status, Until
from mpu_bench.data.cards import catalog
from mpu_bench.data.prepare.load import load_problem
from mpu_bench.errors import DataError
from mpu_bench.kernels import Linear
from oracles import cutting_planes, linear_svm, toys
from oracles.toys import more

SVMperf = solvers.load("svmperf")

few = settings(max_examples=25, deadline=None)
all_costs = [1e-4, 0.01, 1.0, 30.0, 1e4]
costs = st.sampled_from(all_costs)
seeds = st.integers(0, 5)


@cache
def exact(make, C, data_seed=0):
    """Return a lower bound of the optimum that is 1e-8 from it at most."""
    if C <= 30:
        return linear_svm.of_toys(make, C, data_seed)[2]
    matrix, labels = make(seed=data_seed)
    certified = solvers.load("dcd")(C=C, tolerance=1e-12, stop=1e-8)  # the oracle takes long here
    state = certified.start(toys.problem(matrix, labels, "dense64"), Linear(), 0)
    certified.advance(state, Until())
    assert certified.measures(state).gap <= 1e-8
    return certified.measures(state).dual_objective


def planes_of(state):
    """Return the planes, offsets, multipliers and slacks in use."""
    arrays, m = state.arrays, state.arrays.progress[0].planes
    return arrays.planes[:m], arrays.offsets[:m], arrays.multipliers[:m], arrays.slacks[:m]


@pytest.mark.parametrize("C", all_costs)
@pytest.mark.parametrize("kind", ["dense", "sparse", "ones"])
def test_agrees_with_the_exact_solution(kind, C):
    make = toys.binary if kind == "ones" else toys.real
    optimum = exact(make, C)
    solver = SVMperf(C=C, tolerance=1e-5)
    problem = toys.problem(*make(), kind)
    state = solver.start(problem, Linear(), 0)
    assert solver.advance(state, Until()) == Status.DONE
    measures = solver.measures(state)
    allowed = 1e-5 / 100 * C * problem.n + 1e-8 * optimum
    assert optimum * (1 - 1e-9) <= measures.objective <= optimum + allowed
    assert optimum - allowed <= measures.dual_objective <= optimum * (1 + 1e-8)


@few
@given(C=costs, data_seed=seeds, presented=st.integers(0, 6000))
def test_certificate_and_state_hold_at_any_time(C, data_seed, presented):
    matrix, labels = toys.binary(seed=data_seed)
    problem = toys.problem(matrix, labels, "ones")
    solver = SVMperf(C=C, tolerance=1e-6)
    state = solver.start(problem, Linear(), 0)
    solver.advance(state, more(state, presented=presented))
    measures = solver.measures(state)
    optimum = exact(toys.binary, C, data_seed)
    assert measures.objective >= optimum * (1 - 1e-9)
    assert measures.dual_objective <= optimum * (1 + 1e-8)
    planes, offsets, multipliers, slacks = planes_of(state)
    m = len(planes)
    assert (multipliers >= 0).all()
    assert multipliers.sum() == pytest.approx(C)
    assert not planes[0].any()
    assert (state.arrays.idle[:m] < 50).all()
    weights = multipliers @ planes
    scale = max(1.0, C * np.abs(planes).max() ** 2)
    np.testing.assert_allclose(state.arrays.weights, weights, rtol=1e-9, atol=1e-12 * scale)
    np.testing.assert_array_equal(state.arrays.gram[:m, :m], planes @ planes.T)  # integers
    np.testing.assert_allclose(slacks, offsets - planes @ weights, rtol=1e-9, atol=1e-10 * scale)
    assert (state.counters[[PRESENTED, INNER_PRODUCTS]] <= presented).all()
    assert state.counters[STEPS] == state.counters[UPDATES] <= presented // problem.n


@few
@given(C=costs, data_seed=seeds)
def test_every_round_adds_the_most_violated_constraint(C, data_seed):
    matrix, labels = toys.binary(seed=data_seed)
    problem = toys.problem(matrix, labels, "ones")
    patterns = problem.signs()[:, None] * matrix
    solver = SVMperf(C=C, tolerance=0.01)
    state = solver.start(problem, Linear(), 0)
    constraints, duals = [np.zeros(problem.n)], [0.0]
    while len(constraints) < 40:
        c = cutting_planes.most_violated(patterns, state.arrays.weights)
        if solver.advance(state, more(state, presented=problem.n)) == Status.DONE:
            break
        constraints.append(c)
        np.testing.assert_array_equal(state.arrays.planes[len(constraints) - 1], c @ patterns)
        duals.append(solver.measures(state).dual_objective)
    assert (np.diff(duals) > 0).all()
    alphas = state.arrays.multipliers[: len(constraints)] @ np.array(constraints)  # feasible, with the same value
    assert alphas.min() >= 0
    assert alphas.max() <= C * (1 + 1e-12)
    assert linear_svm.dual(matrix, problem.signs(), alphas) == pytest.approx(duals[-1], abs=1e-9 * C * problem.n)


@few
@given(
    C=st.sampled_from([1e-4, 0.01, 1.0]),
    data_seed=seeds,
    rounds=st.integers(2, 15),
    inner_gap=st.sampled_from([None, 0.001]),
)
def test_solves_the_small_problem_to_a_part_of_the_gap(C, data_seed, rounds, inner_gap):
    problem = toys.problem(*toys.real(seed=data_seed), "dense64")
    solver = SVMperf(C=C, tolerance=1e-9, inner_gap=inner_gap)
    state = solver.start(problem, Linear(), 0)
    solver.advance(state, more(state, presented=(rounds - 1) * problem.n))
    before = solver.measures(state)
    solver.advance(state, more(state, presented=problem.n))
    planes, offsets, multipliers, slacks = planes_of(state)
    gap = C * slacks.max() - multipliers @ slacks
    assert gap <= (inner_gap or 0.2) * (before.objective - before.dual_objective) + 1e-9 * before.objective
    best, found = cutting_planes.best_dual(planes, offsets, C), solver.measures(state).dual_objective
    assert found - 1e-6 * best <= best <= found + gap + 1e-6 * best


def test_slices_agree_while_the_room_for_planes_grows_and_idle_ones_are_dropped():
    problem = toys.problem(*toys.real(n=300, d=40), "sparse")
    solver = SVMperf(C=1.0, tolerance=1e-4)
    whole = solver.start(problem, Linear(), 0)
    assert solver.advance(whole, Until()) == Status.DONE
    sliced, sizes = solver.start(problem, Linear(), 1), np.random.default_rng(0)
    while solver.advance(sliced, more(sliced, presented=int(sizes.choice([1, 77, 128, 300, 1500])))) == Status.RUNNING:
        pass
    left, right = toys.arrays_of(whole), toys.arrays_of(sliced)
    for name in left:
        np.testing.assert_array_equal(left[name], right[name], err_msg=name, strict=True)
    rounds = whole.counters[PRESENTED] // problem.n
    assert len(whole.arrays.planes) > 64
    assert whole.arrays.progress[0].planes < rounds
    assert (whole.counters[[PRESENTED, INNER_PRODUCTS]] == rounds * problem.n).all()
    assert whole.counters[UPDATES] == rounds - 1  # the last one certifies


@pytest.mark.parametrize("C", all_costs)
def test_two_examples_and_empty_rows(C):
    matrix = np.array([[1.0, 0.0], [0.0, 0.0]])
    problem = toys.problem(matrix, np.array([1, 0], np.int32), "ones")
    solver = SVMperf(C=C, tolerance=1e-6)
    state = solver.start(problem, Linear(), 0)
    assert solver.advance(state, more(state, presented=1_000)) == Status.DONE
    np.testing.assert_allclose(state.arrays.weights, [min(C, 1.0), 0.0], atol=1e-6)  # the empty row loses 1 for ever


def test_ends_where_rounding_allows_no_more():
    solver = SVMperf(C=1.0, tolerance=1e-300)
    state = solver.start(toys.problem(*toys.real(), "dense64"), Linear(), 0)
    assert solver.advance(state, more(state, presented=600_000)) == Status.DONE
    assert abs(solver.measures(state).gap) < 1e-11


def test_numbers_that_overflow_are_told():
    matrix, labels = toys.real()
    solver = SVMperf()
    state = solver.start(toys.problem(matrix * 1e153, labels, "dense64"), Linear(), 0)
    assert solver.advance(state, more(state, presented=6000)) == Status.DIVERGED
    with pytest.raises(DataError, match="training row 1 is not finite"):
        solver.start(toys.problem(matrix * 1e200, labels, "dense64"), Linear(), 0)


@pytest.mark.real_data
def test_adult_with_the_printed_tolerance(shared_home):
    problem = load_problem(catalog.card("adult"), shared_home)
    solver = SVMperf(C=1.0, tolerance=0.004)
    state = solver.start(problem, Linear(), 0)
    assert solver.advance(state, Until()) == Status.DONE
    measures = solver.measures(state)
    assert 11434.3 <= measures.objective <= 11434.4 * (1 + 1e-4)
    assert measures.gap <= 0.004 / 100 * problem.n / measures.dual_objective
