"""MPU: the accuracy and the bounds of its theorems, in soft and in hard margin, and every update of Algorithm 1."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mpu_bench import solvers
from mpu_bench.core.counters import INNER_PRODUCTS, KERNEL_EVALUATIONS, PRESENTED, STEPS, UPDATES
from mpu_bench.core.solver import Status, Until
from mpu_bench.errors import ConfigError, DataError
from mpu_bench.kernels import Gaussian, Linear, Polynomial
from mpu_bench.solvers.mpu.mpu import ALL
from oracles import kernel_svm, linear_svm, margin_perceptron, quadratic_programs, toys
from oracles.margin_perceptron import maximum, patterns_of
from oracles.toys import KINDS, more, train

MPU = solvers.load("mpu")
WIDTH = 0.3
ROUNDING = 1e-9

few = settings(max_examples=30, deadline=None)
costs = st.sampled_from([0.01, 0.3, 1.0, 8.0])
seeds = st.integers(0, 5)
margins = st.sampled_from([1e-3, 0.1, 0.5])
accuracies = st.sampled_from([0.9, 0.3, 1e-2, 1e-4])


@few
@given(accuracy=st.sampled_from([0.5, 0.1, 1e-3, 1e-6]), C=costs, data_seed=seeds, seed=seeds)
def test_keeps_the_accuracy_wanted_before_running(accuracy, C, data_seed, seed):
    matrix, labels = toys.binary(seed=data_seed)
    problem = toys.problem(matrix, labels, "ones")
    solver = MPU(C=C, accuracy=accuracy, stop=0.0)
    state, status = train(solver, problem, seed=seed)
    assert status == Status.DONE
    thresholds = state.thresholds
    patterns = problem.signs()[:, None] * matrix
    assert thresholds.delta_b == pytest.approx(3 * (matrix**2).sum(axis=1).max())
    assert margin_perceptron.converged(
        patterns, *thresholds[:2], thresholds.delta_b, state.responses.a, state.multiplicities
    )
    _, _, optimum = linear_svm.of_toys(toys.binary, C, data_seed)
    assert solver.measures(state).objective < optimum * (1 + accuracy)  # (23) with b of Remark 4
    b, delta_b, R2 = thresholds.b, thresholds.delta_b, state.squared_norms.max()
    bound = problem.n * thresholds.I_max * (2 * b + delta_b) / (delta_b - R2)  # (22), Theorem 2
    assert state.counters[UPDATES] <= bound == pytest.approx(solver.measures(state).update_bound)


@few
@given(
    stop=st.sampled_from([0.0, 1e-6, 1e-3, 0.1]),
    C=costs,
    data_seed=seeds,
    seed=seeds,
    form=st.sampled_from(sorted(KINDS)),
)
def test_adaptive_rounds_end_as_near_the_exact_optimum_as_wanted(stop, C, data_seed, seed, form):
    matrix, labels = toys.binary(seed=data_seed)
    problem, solver = toys.problem(matrix, labels, form), MPU(C=C, stop=stop, adaptive=True)
    state, status = train(solver, problem, seed=seed)
    assert status == Status.DONE
    measures, (_, _, optimum) = solver.measures(state), linear_svm.of_toys(toys.binary, C, data_seed)
    assert optimum * (1 - ROUNDING) <= measures.objective <= optimum * (1 + max(stop, 1e-5))
    assert measures.dual_objective <= optimum * (1 + ROUNDING)
    assert measures.gap <= max(stop, 1e-5) + ROUNDING


def test_adaptive_rounds_present_fewer_examples():
    """Where what is learned of one example changes what others need: few features, and noise."""
    random = np.random.default_rng(0)
    matrix = random.standard_normal((400, 100)) / 10
    labels = (matrix[:, 0] + random.standard_normal(400) / 20 > 0).astype(int)
    problem = toys.problem(matrix, labels, "dense64")
    fixed, adaptive = (train(MPU(stop=1e-3, adaptive=each), problem)[0].counters[PRESENTED] for each in (False, True))
    assert adaptive < 0.6 * fixed


@few
@given(presented=st.integers(0, 700), C=costs, seed=seeds)
def test_a_is_the_sum_of_the_multiplicities_within_their_bounds(presented, C, seed):
    matrix, labels = toys.binary()
    problem = toys.problem(matrix, labels, "ones")
    solver = MPU(C=C)
    state, _ = train(solver, problem, seed=seed, until=Until(presented=presented))
    I_max = state.thresholds.I_max
    counts = state.multiplicities
    assert (counts == np.floor(counts)).all()
    assert (counts >= 0).all()
    assert (counts <= I_max).all()
    # (6); the entries are integers, so exactly
    np.testing.assert_array_equal(state.responses.a, (counts * problem.signs()) @ matrix)
    learned = counts[matrix.any(axis=1)].sum()
    assert learned <= state.counters[UPDATES]
    assert (state.counters[UPDATES] - learned) % 2 == 0  # each unlearning takes one learning back


@few
@given(seed=st.integers(0, 1000), accuracy=st.sampled_from([0.5, 1e-2]))
def test_a_multiple_update_is_so_many_single_ones(seed, accuracy):
    matrix, labels = toys.binary()
    problem = toys.problem(matrix, labels, "ones")
    solver = MPU(accuracy=accuracy)
    state = solver.start(problem, Linear(), seed)
    order = state.sets[ALL].copy()
    thresholds = state.thresholds
    solver.advance(state, more(state, presented=problem.n))
    patterns = problem.signs()[:, None] * matrix
    weights, counts, updates = margin_perceptron.present(
        patterns, order, thresholds.I_max, thresholds.b, thresholds.delta_b
    )
    np.testing.assert_array_equal(state.multiplicities, counts)
    np.testing.assert_array_equal(state.responses.a, weights)
    assert state.counters[UPDATES] == updates
    assert state.counters[PRESENTED] == problem.n


@pytest.mark.parametrize("scale", [0.0, 1e-10])  # beside b the rows' lengths have no digit then
def test_examples_that_are_next_to_zero_have_no_bound_on_the_updates(scale):
    matrix, labels = toys.binary()
    solver = MPU(C=1e-3)
    state = solver.start(toys.problem(scale * matrix, labels, "dense64"), Linear(), 0)
    assert solver.measures(state).update_bound is None


def test_counts_every_product():
    problem = toys.problem(*toys.binary(), "ones")
    state, _ = train(MPU(stop=0.0), problem)
    assert state.counters[INNER_PRODUCTS] == state.counters[PRESENTED]
    state, _ = train(MPU(), problem)
    certificates, rest = divmod(state.counters[INNER_PRODUCTS] - state.counters[PRESENTED], problem.n)
    assert rest == 0
    assert certificates >= 1


def test_slices_count_as_one_advance_does_beyond_what_doubles_count():
    problem = toys.problem(*toys.real(n=40, seed=3), "dense64")
    solver = MPU(C=0.1, accuracy=1e-14, stop=0.0)
    whole, sliced = train(solver, problem)[0], solver.start(problem, Linear(), 0)
    while solver.advance(sliced, more(sliced, presented=7)) == Status.RUNNING:
        pass
    assert sliced.counters[UPDATES] > 2**53
    np.testing.assert_array_equal(sliced.counters, whole.counters)


def test_updates_beyond_2_to_the_61_are_counted_as_so_many():
    matrix, labels = toys.binary(n=1200)
    matrix[5:] *= 1e-12  # each is learned 2^52 times at once
    solver = MPU(C=4e9, accuracy=2e-5, stop=0.0)
    state, _ = train(solver, toys.problem(matrix, labels, "dense64"), until=Until(presented=1200))
    assert state.multiplicities.max() > 2.0**52
    assert state.multiplicities.sum() > 2.0**63
    assert state.counters[UPDATES] == 2**61


def test_converged_presents_all_examples_once_more_without_an_update():
    problem = toys.problem(*toys.binary(), "ones")
    solver = MPU(stop=0.0)
    state, _ = train(solver, problem)
    whole = toys.arrays_of(state)
    state = solver.start(problem, Linear(), 0)
    solver.advance(state, more(state, presented=int(whole["counters"][PRESENTED]) - problem.n))
    np.testing.assert_array_equal(state.responses.a, whole["responses.a"])
    assert state.counters[STEPS] == whole["counters"][STEPS]


@few
@given(accuracy=accuracies, margin=margins, data_seed=seeds, seed=seeds)
def test_a_hard_margin_reaches_the_fraction_wanted_within_the_updates_of_theorem_1(accuracy, margin, data_seed, seed):
    problem = toys.problem(*toys.separable(seed=data_seed, margin=margin), "dense64")
    best, largest = maximum(data_seed, margin)
    solver = MPU(margin="hard", accuracy=accuracy, stop=0.0)
    state, status = train(solver, problem, seed=seed)
    assert status == Status.DONE
    assert solver.note(state) == ""
    b, gap, reach = 3 * largest / accuracy, 3 * largest, largest + 6 * largest / accuracy
    patterns, counts = patterns_of(problem.train.values, problem.labels), state.multiplicities
    assert margin_perceptron.converged(patterns, np.inf, b, gap, state.responses.a, counts)
    bound = reach / best**2 * (1 + reach / (4 * (gap - largest)))  # (10)
    measures = solver.measures(state)
    assert state.counters[UPDATES] <= bound <= measures.update_bound * (1 + ROUNDING)
    assert measures.margin == pytest.approx((patterns @ state.responses.a).min() / np.linalg.norm(state.responses.a))
    assert measures.margin_fraction_wanted == pytest.approx(1 / (1 + accuracy))
    truth = measures.margin / best
    assert measures.margin_fraction_wanted < measures.margin_fraction <= truth * (1 + ROUNDING)  # (11), (12)
    assert truth <= 1 + ROUNDING
    assert measures.objective is None
    assert state.counters[INNER_PRODUCTS] == state.counters[PRESENTED]


@few
@given(stop=st.sampled_from([0.5, 0.05, 1e-4]), accuracy=st.sampled_from([0.1, 1e-5]), margin=margins, seed=seeds)
def test_a_run_that_stops_early_has_the_fraction(stop, accuracy, margin, seed):
    problem, (best, _) = toys.problem(*toys.separable(seed=seed, margin=margin), "dense64"), maximum(seed, margin)
    solver = MPU(margin="hard", accuracy=accuracy, stop=stop)
    state, status = train(solver, problem, seed=seed)
    assert status == Status.DONE
    measures = solver.measures(state)
    assert measures.margin_fraction_wanted == pytest.approx(1 / (1 + max(stop, accuracy)))
    assert measures.margin_fraction >= measures.margin_fraction_wanted * (1 - 1e-12)
    assert measures.margin_fraction <= measures.margin / best * (1 + ROUNDING)
    surveys, rest = divmod(state.counters[INNER_PRODUCTS] - state.counters[PRESENTED], problem.n)
    assert rest == 0
    assert surveys <= state.counters[PRESENTED] // problem.n


@few
@given(accuracy=accuracies, data_seed=seeds, seed=seeds)
def test_a_hard_margin_with_a_kernel_keeps_the_guarantees(accuracy, data_seed, seed):
    matrix, labels = toys.real(seed=data_seed)
    signs = 2.0 * labels - 1
    gram = np.exp(-WIDTH * ((matrix[:, None] - matrix) ** 2).sum(axis=2))
    best = quadratic_programs.maximum_margin(quadratic_programs.factor(gram * np.outer(signs, signs)))
    solver = MPU(margin="hard", accuracy=accuracy, stop=0.0)
    state, status = train(solver, toys.problem(matrix, labels, "dense64"), kernel=Gaussian(WIDTH), seed=seed)
    measures = solver.measures(state)
    assert status == Status.DONE
    assert measures.margin_fraction_wanted < measures.margin_fraction <= measures.margin / best * (1 + 1e-8)
    assert state.counters[UPDATES] <= measures.update_bound
    assert state.counters[KERNEL_EVALUATIONS] == len(labels) * state.counters[STEPS]
    scores = solver.model(state).scores(toys.problem(matrix, labels, "dense64").train)[:, 0]
    assert (signs * scores > 1 - 1e-9).all()  # w = a / b


def test_an_objective_of_a_kernel_that_is_not_positive_semidefinite_has_a_squared_norm_below_zero():
    matrix, labels = toys.real()
    problem, kernel, C = toys.problem(matrix, labels, "dense64"), Polynomial(1.0, -2.0, 2), 0.1
    solver = MPU(C=C, accuracy=0.1)
    state = solver.start(problem, kernel, 0)
    solver.advance(state, Until(presented=20_000))
    products = kernel_svm.gram(kernel, matrix)
    coefficients = np.zeros(problem.n)
    model = solver.model(state)
    coefficients[model.support] = model.coefficients[:, 0]
    scores = products @ coefficients
    assert coefficients @ scores < 0
    measures = solver.measures(state)
    losses = np.maximum(0.0, 1.0 - problem.signs() * scores)
    assert measures.objective == pytest.approx(coefficients @ scores / 2 + C * losses.sum())
    assert measures.gap is measures.dual_objective is measures.update_bound is None


def test_numbers_that_overflow_are_refused():
    matrix, labels = toys.real()
    with pytest.raises(ConfigError, match="scale the features down, or take a smaller C"):
        MPU().start(toys.problem(matrix * 1e7, labels, "dense64"), Linear(), 0)
    with pytest.raises(DataError, match="training row 1 is not finite"):
        MPU().start(toys.problem(matrix * 1e200, labels, "dense64"), Linear(), 0)


def test_weights_that_are_too_large_are_named():
    with pytest.raises(ConfigError, match=r"C is 1e-30, the largest weight 1e\+30 and .* or smaller weights"):
        MPU(C=1e-30).thresholds(2.0, 1e30)
