"""The hard margin of MPU and the margin perceptron against the exact maximum margin and their theorems."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mpu_bench import solvers
from mpu_bench.core.counters import INNER_PRODUCTS, KERNEL_EVALUATIONS, PRESENTED, STEPS, UPDATES
from mpu_bench.core.kernels import Gaussian, Linear
from mpu_bench.core.solver import Status, Until
from mpu_bench.errors import ConfigError
from mpu_bench.solvers.mpu import hard_margin
from oracles import margin_perceptron, quadratic_programs, toys
from oracles.toys import more

MPU, MarginPerceptron = solvers.load("mpu"), solvers.load("margin-perceptron")
WIDTH = 0.3
ROUNDING = 1e-9

few = settings(max_examples=30, deadline=None)
seeds = st.integers(0, 5)
margins = st.sampled_from([1e-3, 0.1, 0.5])
accuracies = st.sampled_from([0.9, 0.3, 1e-2, 1e-4])


def patterns_of(matrix, labels):
    return (2.0 * labels - 1)[:, None] * matrix


@cache
def exact(data_seed, margin):
    """Give the maximum margin of separable data and R^2."""
    patterns = patterns_of(*toys.separable(seed=data_seed, margin=margin))
    return quadratic_programs.maximum_margin(patterns), (patterns**2).sum(axis=1).max()


def separable(data_seed, margin):
    return toys.problem(*toys.separable(seed=data_seed, margin=margin), "dense64")


def train(solver, problem, seed=0, allowance=None, kernel=None):
    state = solver.start(problem, Linear() if kernel is None else kernel, seed)
    return state, solver.advance(state, allowance or Until())


@few
@given(accuracy=accuracies, margin=margins, data_seed=seeds, seed=seeds)
def test_mpu_reaches_the_fraction_wanted_within_the_updates_of_theorem_1(accuracy, margin, data_seed, seed):
    problem, (best, largest) = separable(data_seed, margin), exact(data_seed, margin)
    solver = MPU(margin="hard", accuracy=accuracy, stop=0.0)
    state, status = train(solver, problem, seed)
    assert status == Status.DONE
    assert solver.remark(state) == ""
    b, gap, reach = 3 * largest / accuracy, 3 * largest, largest + 6 * largest / accuracy
    patterns, counts = patterns_of(problem.train.values, problem.labels), state.multiplicities
    assert margin_perceptron.converged(patterns, np.inf, b, gap, state.held.weights, counts)
    bound = reach / best**2 * (1 + reach / (4 * (gap - largest)))  # (10)
    measures = solver.measures(state)
    assert state.counters[UPDATES] <= bound <= measures.update_bound * (1 + ROUNDING)
    assert measures.margin == pytest.approx((patterns @ state.held.weights).min() / np.linalg.norm(state.held.weights))
    assert measures.margin_fraction_wanted == pytest.approx(1 / (1 + accuracy))
    truth = measures.margin / best
    assert measures.margin_fraction_wanted < measures.margin_fraction <= truth * (1 + ROUNDING)  # (11), (12)
    assert truth <= 1 + ROUNDING
    assert measures.objective is None
    assert state.counters[INNER_PRODUCTS] == state.counters[PRESENTED]


@few
@given(accuracy=accuracies, margin=margins, data_seed=seeds, seed=seeds)
def test_the_margin_perceptron_reaches_its_fraction_within_its_updates(accuracy, margin, data_seed, seed):
    problem, (best, largest) = separable(data_seed, margin), exact(data_seed, margin)
    solver = MarginPerceptron(accuracy=accuracy)
    state, status = train(solver, problem, seed)
    assert status == Status.DONE
    b = largest / accuracy
    patterns = patterns_of(problem.train.values, problem.labels)
    assert (patterns @ state.held.weights > b * (1 - 1e-12)).all()
    assert state.counters[UPDATES] == state.multiplicities.sum() <= (largest + 2 * b) / best**2
    measures = solver.measures(state)
    assert measures.update_bound >= (largest + 2 * b) / best**2 * (1 - ROUNDING)
    assert measures.margin_fraction_wanted == pytest.approx(1 / (2 + accuracy))
    assert measures.margin_fraction_wanted < measures.margin_fraction <= measures.margin / best * (1 + ROUNDING)


@few
@given(presented=st.integers(0, 2000), name=st.sampled_from(["mpu", "margin-perceptron"]), margin=margins, seed=seeds)
def test_what_is_certified_on_the_way_is_true(presented, name, margin, seed):
    problem, (best, _) = separable(seed, margin), exact(seed, margin)
    solver = solvers.load(name)(**({"margin": "hard"} if name == "mpu" else {}))
    state, _ = train(solver, problem, seed, Until(presented=presented))
    counts, patterns = state.multiplicities, patterns_of(problem.train.values, problem.labels)
    assert (counts == np.floor(counts)).all()
    assert (counts >= 0).all()
    weights = counts @ patterns  # (6)
    np.testing.assert_allclose(state.held.weights, weights, rtol=1e-9, atol=1e-9 * np.abs(weights).max())
    if presented:
        assert best <= np.linalg.norm(weights) / counts.sum() * (1 + ROUNDING)
    measures = solver.measures(state)
    if measures.margin_fraction is not None:
        assert 0 < measures.margin_fraction <= measures.margin / best * (1 + ROUNDING)
        assert state.counters[UPDATES] <= measures.update_bound


@few
@given(stop=st.sampled_from([0.5, 0.05, 1e-4]), accuracy=st.sampled_from([0.1, 1e-5]), margin=margins, seed=seeds)
def test_a_run_that_stops_early_has_the_fraction(stop, accuracy, margin, seed):
    problem, (best, _) = separable(seed, margin), exact(seed, margin)
    solver = MPU(margin="hard", accuracy=accuracy, stop=stop)
    state, status = train(solver, problem, seed)
    assert status == Status.DONE
    measures = solver.measures(state)
    assert measures.margin_fraction_wanted == pytest.approx(1 / (1 + max(stop, accuracy)))
    assert measures.margin_fraction >= measures.margin_fraction_wanted * (1 - 1e-12)
    assert measures.margin_fraction <= measures.margin / best * (1 + ROUNDING)
    surveys, rest = divmod(state.counters[INNER_PRODUCTS] - state.counters[PRESENTED], problem.n)
    assert rest == 0
    assert surveys <= state.counters[PRESENTED] // problem.n


@pytest.mark.parametrize("solver", [MPU(margin="hard", accuracy=0.1), MarginPerceptron()], ids=lambda each: each.name)
def test_a_multiple_update_is_so_many_single_ones(solver):
    matrix, labels = toys.binary()
    some = matrix.any(axis=1)
    problem = toys.problem(matrix[some], labels[some], "ones")
    state = solver.start(problem, Linear(), 0)
    order, rule = state.orders[0].copy(), solver.rule(state.squared_norms.max())
    solver.advance(state, more(state, presented=problem.n))
    gap = rule.unlearning - rule.threshold
    patterns = patterns_of(matrix[some], labels[some])
    weights, counts, updates = margin_perceptron.present(patterns, order, np.inf, rule.threshold, gap)
    np.testing.assert_array_equal(state.multiplicities, counts)
    np.testing.assert_array_equal(state.held.weights, weights)
    assert state.counters[UPDATES] == updates


@few
@given(data_seed=seeds, seed=seeds, smallest=st.sampled_from([1e-2, 1e-4]))
@pytest.mark.parametrize("name", ["mpu", "margin-perceptron"])
def test_data_without_a_margin_are_called_so(name, data_seed, seed, smallest):
    matrix, labels = toys.real(seed=data_seed)
    problem = toys.problem(matrix, labels, "dense64")
    solver = solvers.load(name)(**({"margin": "hard"} if name == "mpu" else {}), smallest_margin=smallest)
    state, status = train(solver, problem, seed)
    assert status == Status.DONE
    assert quadratic_programs.maximum_margin(patterns_of(matrix, labels)) == 0.0
    assert "the data are not separable with a margin above" in solver.remark(state)
    measures = solver.measures(state)
    assert measures.margin <= 0.0
    assert measures.margin_fraction is None
    assert measures.update_bound is None


def test_a_margin_below_the_smallest_one_asked_for_is_called_so():
    best, largest = exact(0, 0.1)
    matrix, labels = toys.separable(seed=0, margin=0.1)
    signs, allowed = 2.0 * labels - 1, 1.05 * best / np.sqrt(largest)
    solver = MPU(margin="hard", stop=0.0, smallest_margin=allowed)
    state, status = train(solver, separable(0, 0.1))
    assert status == Status.DONE
    assert "the data are not separable with a margin above" in solver.remark(state)
    combined = np.linalg.norm((state.multiplicities * signs) @ matrix) / state.multiplicities.sum()
    assert best <= combined <= allowed * np.sqrt(largest)
    assert f"above {combined:.2g}" in solver.remark(state)


@pytest.mark.parametrize("kernel", [Linear(), Gaussian(WIDTH)], ids=str)
@pytest.mark.parametrize("solver", [MPU(margin="hard"), MarginPerceptron()], ids=lambda each: each.name)
def test_equal_rows_of_opposite_classes_have_no_margin(solver, kernel):
    matrix, labels = toys.separable()
    same = np.vstack([matrix, matrix[3:4], matrix[5:6]])  # of the same class, then not
    problem = toys.problem(same, np.append(labels, [labels[3], 1 - labels[5]]), "dense64")
    state, status = train(solver, problem, kernel=kernel)
    assert status == Status.DONE
    assert state.counters[PRESENTED] == 0
    assert (
        solver.remark(state) == "the data are not separable: training rows 5 and 41 are equal and of opposite classes"
    )
    assert not solver.model(state).scores(problem.test).any()
    assert solver.measures(state).margin is None


@pytest.mark.parametrize("kind", ["sparse", "ones"])
def test_rows_that_only_look_alike_are_kept(kind):
    matrix = np.array([[1.0, 0, 0, 1], [0, 1, 1, 0], [1, 0, 0, 1], [0, 1, 0, 1]])
    held = MPU(margin="hard").start(toys.problem(matrix, np.array([1, 0, 1, 0], np.int32), kind), Linear(), 0).held
    assert hard_margin.opposite_rows(held) is None
    held.signs[2] = -1.0
    assert hard_margin.opposite_rows(held) == (0, 2)


@pytest.mark.parametrize("solver", [MPU(margin="hard"), MarginPerceptron()], ids=lambda each: each.name)
def test_zero_rows_have_no_margin(solver):
    matrix, labels = toys.separable()
    problem = toys.problem(np.vstack([matrix, 0 * matrix[:2]]), np.append(labels, [0, 1]), "dense64")
    state, status = train(solver, problem)
    assert status == Status.DONE
    assert state.counters[PRESENTED] == 0
    assert solver.remark(state) == "the data are not separable: 2 training rows are zero"
    assert not solver.model(state).weights.any()


@pytest.mark.parametrize("make", [toys.separable, toys.real])
@pytest.mark.parametrize("solver", [MPU(margin="hard"), MarginPerceptron()], ids=lambda each: each.name)
def test_slices_equal_one_long_advance_to_either_end(solver, make):
    problem = toys.problem(*make(), "sparse")
    whole, _ = train(solver, problem)
    sliced, sizes = solver.start(problem, Linear(), 0), np.random.default_rng(0)
    while (
        solver.advance(sliced, more(sliced, presented=int(sizes.choice([1, 7, 39, 40, 5000, 20_000]))))
        == Status.RUNNING
    ):
        pass
    left, right = toys.arrays_of(whole), toys.arrays_of(sliced)
    for name in left:
        np.testing.assert_array_equal(left[name], right[name], err_msg=name, strict=True)


@few
@given(accuracy=accuracies, data_seed=seeds, seed=seeds)
def test_a_kernel_keeps_the_guarantees(accuracy, data_seed, seed):
    matrix, labels = toys.real(seed=data_seed)
    signs = 2.0 * labels - 1
    gram = np.exp(-WIDTH * ((matrix[:, None] - matrix) ** 2).sum(axis=2))
    best = quadratic_programs.maximum_margin(quadratic_programs.factor(gram * np.outer(signs, signs)))
    solver = MPU(margin="hard", accuracy=accuracy, stop=0.0)
    state, status = train(solver, toys.problem(matrix, labels, "dense64"), seed, kernel=Gaussian(WIDTH))
    measures = solver.measures(state)
    assert status == Status.DONE
    assert measures.margin_fraction_wanted < measures.margin_fraction <= measures.margin / best * (1 + 1e-8)
    assert state.counters[UPDATES] <= measures.update_bound
    assert state.counters[KERNEL_EVALUATIONS] == len(labels) * state.counters[STEPS]
    scores = solver.model(state).scores(toys.problem(matrix, labels, "dense64").train)[:, 0]
    assert (signs * scores > 1 - 1e-9).all()  # w = a / b


def test_an_accuracy_beyond_what_doubles_count_is_refused():
    matrix, labels = toys.separable()
    matrix[3] *= 1e-6
    problem = toys.problem(matrix, labels, "dense64")
    for solver in (MPU(margin="hard", accuracy=1e-7), MarginPerceptron(accuracy=1e-7)):
        with pytest.raises(ConfigError, match=r"for the shortest training row, beyond 2\^53; take a larger accuracy"):
            solver.start(problem, Linear(), 0)
