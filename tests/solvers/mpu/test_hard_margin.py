"""What is known of the maximum margin on the way and at the end, and data that have none, with either solver."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mpu_bench import solvers
from mpu_bench.core.counters import PRESENTED, UPDATES
from mpu_bench.core.solver import Status, Until
from mpu_bench.errors import ConfigError
from mpu_bench.kernels import Gaussian, Linear, Polynomial
from mpu_bench.solvers.mpu import hard_margin
from mpu_bench.solvers.mpu.mpu import ALL
from oracles import margin_perceptron, quadratic_programs, toys
from oracles.margin_perceptron import maximum, patterns_of
from oracles.toys import more, train

MPU, MarginPerceptron = solvers.load("mpu"), solvers.load("margin-perceptron")
WIDTH = 0.3
ROUNDING = 1e-9

few = settings(max_examples=30, deadline=None)
seeds = st.integers(0, 5)
margins = st.sampled_from([1e-3, 0.1, 0.5])


def separable(data_seed, margin):
    return toys.problem(*toys.separable(seed=data_seed, margin=margin), "dense64")


@few
@given(presented=st.integers(0, 2000), name=st.sampled_from(["mpu", "margin-perceptron"]), margin=margins, seed=seeds)
def test_what_is_certified_on_the_way_is_true(presented, name, margin, seed):
    problem, (best, _) = separable(seed, margin), maximum(seed, margin)
    solver = solvers.load(name)(**({"margin": "hard"} if name == "mpu" else {}))
    state, _ = train(solver, problem, seed=seed, until=Until(presented=presented))
    counts, patterns = state.multiplicities, patterns_of(problem.train.values, problem.labels)
    assert (counts == np.floor(counts)).all()
    assert (counts >= 0).all()
    weights = counts @ patterns  # (6)
    np.testing.assert_allclose(state.responses.a, weights, rtol=1e-9, atol=1e-9 * np.abs(weights).max())
    if presented:
        assert best <= np.linalg.norm(weights) / counts.sum() * (1 + ROUNDING)
    measures = solver.measures(state)
    if measures.margin_fraction is not None:
        assert 0 < measures.margin_fraction <= measures.margin / best * (1 + ROUNDING)
        assert state.counters[UPDATES] <= measures.update_bound


@pytest.mark.parametrize("solver", [MPU(margin="hard", accuracy=0.1), MarginPerceptron()], ids=lambda each: each.name)
def test_a_multiple_update_is_so_many_single_ones(solver):
    matrix, labels = toys.binary()
    some = matrix.any(axis=1)
    problem = toys.problem(matrix[some], labels[some], "ones")
    state = solver.start(problem, Linear(), 0)
    order, thresholds = state.sets[ALL].copy(), state.thresholds
    solver.advance(state, more(state, presented=problem.n))
    patterns = patterns_of(matrix[some], labels[some])
    weights, counts, updates = margin_perceptron.present(patterns, order, np.inf, thresholds.b, thresholds.delta_b)
    np.testing.assert_array_equal(state.multiplicities, counts)
    np.testing.assert_array_equal(state.responses.a, weights)
    assert state.counters[UPDATES] == updates


@few
@given(data_seed=seeds, seed=seeds, smallest=st.sampled_from([1e-2, 1e-4]))
@pytest.mark.parametrize("name", ["mpu", "margin-perceptron"])
def test_data_without_a_margin_are_called_so(name, data_seed, seed, smallest):
    matrix, labels = toys.real(seed=data_seed)
    problem = toys.problem(matrix, labels, "dense64")
    solver = solvers.load(name)(**({"margin": "hard"} if name == "mpu" else {}), smallest_margin=smallest)
    state, status = train(solver, problem, seed=seed)
    assert status == Status.DONE
    assert quadratic_programs.maximum_margin(patterns_of(matrix, labels)) == 0.0
    assert "the data are not separable with a margin above" in solver.note(state)
    measures = solver.measures(state)
    assert measures.margin <= 0.0
    assert measures.margin_fraction is None
    assert measures.update_bound is None


def test_a_margin_below_the_smallest_one_asked_for_is_called_so():
    best, largest = maximum(0, 0.1)
    matrix, labels = toys.separable(seed=0, margin=0.1)
    signs, allowed = 2.0 * labels - 1, 1.05 * best / np.sqrt(largest)
    solver = MPU(margin="hard", stop=0.0, smallest_margin=allowed)
    state, status = train(solver, separable(0, 0.1))
    assert status == Status.DONE
    assert "the data are not separable with a margin above" in solver.note(state)
    combined = np.linalg.norm((state.multiplicities * signs) @ matrix) / state.multiplicities.sum()
    assert best <= combined <= allowed * np.sqrt(largest)
    assert f"above {combined:.2g}" in solver.note(state)


@pytest.mark.parametrize("kernel", [Linear(), Gaussian(WIDTH)], ids=str)
@pytest.mark.parametrize("solver", [MPU(margin="hard"), MarginPerceptron()], ids=lambda each: each.name)
def test_equal_rows_of_opposite_classes_have_no_margin(solver, kernel):
    matrix, labels = toys.separable()
    same = np.vstack([matrix, matrix[3:4], matrix[5:6]])  # of the same class, then not
    problem = toys.problem(same, np.append(labels, [labels[3], 1 - labels[5]]), "dense64")
    state, status = train(solver, problem, kernel=kernel)
    assert status == Status.DONE
    assert state.counters[PRESENTED] == 0
    assert solver.note(state) == "the data are not separable: training rows 6 and 42 are equal and of opposite classes"
    assert not solver.model(state).scores(problem.test).any()
    assert solver.measures(state).margin is None


@pytest.mark.parametrize("kind", ["sparse", "ones"])
def test_rows_that_only_look_alike_are_kept(kind):
    matrix = np.array([[1.0, 0, 0, 1], [0, 1, 1, 0], [1, 0, 0, 1], [0, 1, 0, 1]])
    problem = toys.problem(matrix, np.array([1, 0, 1, 0], np.int32), kind)
    assert hard_margin.opposite_rows(problem.train, problem.signs(), problem.features) is None
    assert hard_margin.opposite_rows(problem.train, np.array([1.0, -1, -1, -1]), problem.features) == (0, 2)


@pytest.mark.parametrize("solver", [MPU(margin="hard"), MarginPerceptron()], ids=lambda each: each.name)
def test_zero_rows_have_no_margin(solver):
    matrix, labels = toys.separable()
    problem = toys.problem(np.vstack([matrix, 0 * matrix[:2]]), np.append(labels, [0, 1]), "dense64")
    state, status = train(solver, problem)
    assert status == Status.DONE
    assert state.counters[PRESENTED] == 0
    assert solver.note(state) == "the data are not separable: 2 training rows are zero"
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


def test_an_accuracy_beyond_what_doubles_count_is_refused():
    matrix, labels = toys.separable()
    matrix[3] *= 1e-6
    problem = toys.problem(matrix, labels, "dense64")
    for solver in (MPU(margin="hard", accuracy=1e-7), MarginPerceptron(accuracy=1e-7)):
        with pytest.raises(ConfigError, match=r"times as long as the shortest, .*; scale the features so that"):
            solver.start(problem, Linear(), 0)


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(1.0, 0.0, 2)], ids=str)
@pytest.mark.parametrize("solver", [MPU(margin="hard"), MarginPerceptron()], ids=["mpu", "margin-perceptron"])
def test_rows_of_zeros_have_no_margin_and_a_model_of_zero(solver, kernel):
    problem = toys.problem(np.zeros((4, 2)), np.array([0, 1, 0, 1]), "dense64")
    state = solver.start(problem, kernel, 0)
    assert solver.advance(state, Until()) == Status.DONE
    assert solver.note(state) == "the data are not separable: 4 training rows are zero"
    np.testing.assert_array_equal(solver.model(state).scores(problem.train), 0.0)


@pytest.mark.parametrize("solver", [MPU(margin="hard", accuracy=0.5), MarginPerceptron()], ids=lambda each: each.name)
def test_a_kernel_that_is_not_positive_semidefinite_certifies_no_margin(solver):
    random = np.random.default_rng(0)
    problem = toys.problem(random.normal(scale=2.0, size=(30, 2)), np.arange(30, dtype=np.int32) % 2, "dense64")
    kernel = Polynomial(1.0, -3.0, 3)
    signs, values = problem.signs(), problem.train.values
    matrix = (values @ values.T - 3.0) ** 3 * np.outer(signs, signs)
    kept = np.diag(matrix) > 0
    assert kept.sum() > 5
    problem = toys.problem(values[kept], problem.labels[kept], "dense64")
    state = solver.start(problem, kernel, 0)
    for _ in range(20):
        solver.advance(state, more(state, presented=problem.n))
        measures = solver.measures(state)
        assert measures.margin_fraction is measures.margin_fraction_wanted is measures.update_bound is None
        assert "certified" not in solver.note(state)
