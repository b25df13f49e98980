"""Weights of examples: the optimum of the weighted problem, its certificates, and a weight of two as two examples."""

from dataclasses import replace

import numpy as np
import pytest

from mpu_bench import solvers
from mpu_bench.core.counters import UPDATES
from mpu_bench.core.rows import take
from mpu_bench.core.solver import Status, Until, bounds_of
from mpu_bench.errors import DataError, UserError
from mpu_bench.kernels import Gaussian, Linear
from mpu_bench.solvers.mpu.mpu import ALL
from oracles import exact_svm, margin_perceptron, toys
from oracles.toys import more, train

GAUSSIAN = Gaussian(0.3)
#: solver, parameters that bring it near the optimum, kernel, and by how much, relative, its objective is above at most
NEAR = [
    ("mpu", {"stop": 1e-4}, Linear(), 1e-4),
    ("mpu", {"stop": 0.0, "accuracy": 1e-3}, Linear(), 1e-3),  # before running, as Remark 4 has it
    ("mpu", {"stop": 1e-4}, GAUSSIAN, 1e-4),
    ("svmperf", {"tolerance": 1e-4}, Linear(), 1e-4),
    ("dcd", {"stop": 1e-6}, Linear(), 1e-6),
    ("mpu", {"stop": 1e-6, "accuracy": 1e-6, "adaptive": True}, GAUSSIAN, 1e-6),
    ("smo", {"tolerance": 1e-6}, GAUSSIAN, 1e-4),
    ("cvm", {"stop": 1e-4}, GAUSSIAN, 1e-4),
    ("mfw", {"stop": 1e-4}, GAUSSIAN, 1e-4),
    ("mfw", {"stop": 1e-4, "sampling": "all"}, Linear(), 1e-4),
    ("fw", {"stop": 1e-2}, GAUSSIAN, 1e-2),
]
BALLS = ("cvm", "fw", "mfw")


def weighted(n=60, seed=0, span=2.0, kind="dense64"):
    """Return a problem whose weights differ by up to 10^(2 span)."""
    problem = toys.problem(*toys.real(n=n, seed=seed), kind)
    return replace(problem, weights=10 ** np.random.default_rng(seed).uniform(-span, span, n))


def optimum(name, problem, kernel, C):
    """Return the interval of the optimum of the weighted problem."""
    rows = problem.train.values
    products, costs = exact_svm.gram(kernel, rows, rows), exact_svm.LONG(C) * problem.weights
    if name in BALLS:
        return exact_svm.l2(products, problem.signs(), costs)
    return exact_svm.l1(products, problem.signs(), costs, bias=False)


@pytest.mark.parametrize("C", [0.03, 1.0, 20.0])
@pytest.mark.parametrize(("name", "parameters", "kernel", "above"), NEAR, ids=str)
def test_the_optimum_is_that_of_the_weighted_problem(name, parameters, kernel, above, C):
    problem = weighted()
    solver = solvers.load(name)(C=C, **parameters)
    state, status = train(solver, problem, kernel)
    assert status == Status.DONE
    lower, upper = optimum(name, problem, kernel, C)
    measures = solver.measures(state)
    assert lower * (1 - 1e-9) <= measures.objective <= upper * (1 + above)
    assert measures.dual_objective <= upper
    assert measures.objective / upper - 1 <= measures.gap <= 3 * above


@pytest.mark.parametrize(("name", "parameters", "kernel", "above"), NEAR, ids=str)
def test_no_gap_is_below_the_true_one_at_any_time(name, parameters, kernel, above):
    for seed in range(4):
        problem, C = weighted(n=30, seed=seed), [0.01, 1.0, 30.0, 1e3][seed]
        lower, upper = optimum(name, problem, kernel, C)
        solver = solvers.load(name)(C=C, **parameters)
        state = solver.start(problem, kernel, seed)
        for _ in range(12):
            solver.advance(state, more(state, presented=25))
            measures = solver.measures(state)
            assert measures.objective >= lower * (1 - 1e-12)
            assert measures.dual_objective <= upper
            assert measures.gap is None or measures.gap >= measures.objective / upper - 1


@pytest.mark.parametrize(("name", "parameters", "kernel", "above"), NEAR, ids=str)
def test_a_weight_of_two_is_two_examples(name, parameters, kernel, above):
    problem = toys.problem(*toys.real(n=50), "dense64")
    times = np.random.default_rng(0).integers(1, 4, problem.n)
    every = np.repeat(np.arange(problem.n), times)
    repeated = replace(problem, train=take(problem.train, every), labels=problem.labels[every])
    solver = solvers.load(name)(C=1.0, **parameters)
    once = solver.measures(train(solver, replace(problem, weights=times.astype(float)), kernel)[0])
    again = solver.measures(train(solver, repeated, kernel)[0])
    assert once.objective == pytest.approx(again.objective, rel=above)
    assert once.dual_objective == pytest.approx(again.dual_objective, rel=above)


@pytest.mark.parametrize("name", BALLS)
def test_a_ball_with_weights_ends_by_its_radius(name):
    """Delta^2 is K_11 + 1 + 1 / max C_i; g is within eps' of the optimum."""
    problem, eps = weighted(span=1.0), 1e-3
    solver = solvers.load(name)(C=2.0, eps=eps, confirm="all")
    state, status = train(solver, problem, GAUSSIAN, until=Until(200_000))
    assert status == Status.DONE
    best = 2.0 + 1 / (2.0 * problem.weights.max()) - 1 / optimum(name, problem, GAUSSIAN, 2.0).upper
    measures = solver.measures(state)
    assert (1 - 2 * eps - eps**2) * best - 1e-6 <= measures.dual_objective <= best + 1e-9
    assert measures.objective >= best - 1e-9
    assert measures.gap <= 2 * eps + eps**2 + 1e-6


@pytest.mark.parametrize("accuracy", [0.5, 1e-2])
@pytest.mark.parametrize("seed", range(5))
def test_updates_with_weights_are_those_of_algorithm_1(accuracy, seed):
    """Bounds that are no integers, and some below one: the last update before a bound is less than one."""
    matrix, labels = toys.binary()
    weights = 10 ** np.random.default_rng(seed).uniform(-3, 1, len(labels))
    problem = replace(toys.problem(matrix, labels, "ones"), weights=weights)
    solver = solvers.load("mpu")(C=0.1, accuracy=accuracy, stop=0.0)
    state = solver.start(problem, Linear(), seed)
    order, (bound, b, *_), delta_b = state.sets[ALL].copy(), state.thresholds, state.thresholds.delta_b
    assert (bound * weights < 1).any()
    solver.advance(state, more(state, presented=problem.n))
    patterns = margin_perceptron.patterns_of(matrix, labels)
    a, counts, updates = margin_perceptron.present(patterns, order, bound * weights, b, delta_b)
    np.testing.assert_allclose(state.multiplicities, counts, rtol=1e-12)
    np.testing.assert_allclose(state.responses.a, a, rtol=1e-9, atol=1e-9 * b)
    assert state.counters[UPDATES] == updates
    sliced, (whole, _) = solver.start(problem, Linear(), seed), train(solver, problem, seed=seed)
    while solver.advance(sliced, more(sliced, presented=7)) == Status.RUNNING:
        pass
    np.testing.assert_array_equal(sliced.counters, whole.counters)
    np.testing.assert_array_equal(sliced.multiplicities, whole.multiplicities)
    assert (whole.multiplicities >= 0).all()
    assert (whole.multiplicities <= bound * weights).all()
    assert whole.counters[UPDATES] <= solver.measures(whole).update_bound
    arguments = bound * weights, b, delta_b, whole.responses.a, whole.multiplicities
    assert margin_perceptron.converged(patterns, *arguments)


def test_a_hard_margin_has_no_losses_to_weigh():
    with pytest.raises(UserError, match="mpu: a hard margin has no losses to weigh; take margin: soft, or no weights"):
        solvers.load("mpu")(margin="hard").start(weighted(), Linear(), 0)


def test_a_bound_that_is_too_large_for_a_double_is_refused():
    problem = toys.problem(*toys.real(), "dense64")
    with pytest.raises(UserError, match="take a smaller C"):
        solvers.load("mpu")().start(replace(problem, weights=np.full(problem.n, 1e12)), Linear(), 0)


@pytest.mark.parametrize("name", BALLS)
def test_an_example_of_hardly_any_weight_is_as_none(name):
    problem = toys.problem(*toys.real(n=40), "dense64")
    weights = np.where(np.arange(40) < 10, 1e-14, 1.0)
    left = replace(problem, train=take(problem.train, np.arange(10, 40)), labels=problem.labels[10:])
    solver = solvers.load(name)(C=5.0, stop=1e-3, sampling="all")
    light, status = train(solver, replace(problem, weights=weights), GAUSSIAN)
    assert status == Status.DONE
    alone = solver.measures(train(solver, left, GAUSSIAN)[0])
    assert solver.measures(light).objective == pytest.approx(alone.objective, rel=2e-3)
    with pytest.raises(UserError, match=f"^{name}: C, times the largest weight, is 5e-18; it must be at least"):
        solver.start(replace(problem, weights=np.full(40, 1e-18)), GAUSSIAN, 0)


@pytest.mark.parametrize(("C", "weight"), [(1e-200, 1e-200), (1e200, 1e200), (1.0, 5e-324)])
@pytest.mark.parametrize("name", ["dcd", "svmperf", "pegasos", "mpu", "smo", "sdca", "pegasos-kernel", "rff", *BALLS])
def test_weights_whose_product_with_the_cost_rounds_to_zero_or_infinity_are_rejected(name, C, weight):
    problem, kind = weighted(n=20), solvers.load(name)
    problem.weights[3] = weight
    solver = kind(C=C) if "C" in bounds_of(kind) else kind(regularization=1.0 / (C * problem.n))
    with pytest.raises(DataError, match=r"^toy: C is 1e?.* and the weight of training row 4 .*; their product is too"):
        solver.start(problem, toys.kernel_of(solver), 0)


def test_a_weight_of_zero_takes_no_step_of_pegasos():
    problem = weighted(n=20)
    problem.weights[:19] = 0.0
    state, status = train(solvers.load("pegasos")(batch=5, iterations=40), problem)
    assert status == Status.DONE
    weights = solvers.load("pegasos")(batch=5, iterations=40).model(state).weights
    assert np.linalg.matrix_rank(np.concatenate([weights, problem.train.values[19:]])) == 1
