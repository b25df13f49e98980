"""MPU's soft margin with a kernel: the linear algorithm on responses, and the exact quadratic program."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mpu_bench import solvers
from mpu_bench.core.counters import INNER_PRODUCTS, KERNEL_COMPUTED, KERNEL_EVALUATIONS, PRESENTED, STEPS, UPDATES
from mpu_bench.core.models import KernelModel
from mpu_bench.core.solver import Status, Until
from mpu_bench.errors import DataError
from mpu_bench.kernels import Gaussian, Linear, Polynomial
from mpu_bench.solvers.mpu.mpu import _advance
from oracles import quadratic_programs, toys
from oracles.toys import train

MPU = solvers.load("mpu")
LINEAR = Polynomial(1.0, 0.0, 1)  # the linear kernel, as one of the others
CUBIC = Polynomial(0.2, 1.0, 3)

few = settings(max_examples=20, deadline=None)


def gram_of(kernel, matrix):
    if isinstance(kernel, Gaussian):
        return np.exp(-kernel.gamma * ((matrix[:, None] - matrix) ** 2).sum(axis=2))
    return (kernel.scale * matrix @ matrix.T + kernel.offset) ** kernel.degree


@few
@given(
    C=st.sampled_from([0.01, 1.0, 8.0]),
    accuracy=st.sampled_from([0.3, 1e-2, 1e-5]),
    presented=st.integers(0, 3000),
    seed=st.integers(0, 5),
)
def test_the_linear_kernel_gives_the_linear_algorithm(C, accuracy, presented, seed):
    problem = toys.problem(*toys.binary(seed=seed), "ones")  # integers: the responses are exact either way
    solver, until = MPU(C=C, accuracy=accuracy), Until(presented=presented)
    linear, status = train(solver, problem, Linear(), seed, until)
    kernel, kernel_status = train(solver, problem, LINEAR, seed, until)
    assert status == kernel_status
    np.testing.assert_array_equal(kernel.multiplicities, linear.multiplicities)
    np.testing.assert_array_equal(kernel.progress, linear.progress)
    same = [PRESENTED, STEPS, UPDATES]
    np.testing.assert_array_equal(kernel.counters[same], linear.counters[same])
    asked, computed = kernel.counters[[KERNEL_EVALUATIONS, KERNEL_COMPUTED]]
    assert asked == problem.n * kernel.counters[STEPS]
    assert computed <= min(asked, problem.n**2)  # rows are kept
    assert kernel.counters[INNER_PRODUCTS] == 0
    for left, right in zip(solver.measures(kernel), solver.measures(linear), strict=True):
        assert left == (None if right is None else pytest.approx(right, rel=1e-7, abs=1e-9))
    found = solver.model(kernel)
    assert isinstance(found, KernelModel)
    assert found.support_vectors == np.count_nonzero(linear.multiplicities)
    np.testing.assert_allclose(found.scores(problem.test), solver.model(linear).scores(problem.test), atol=1e-9)


@pytest.mark.parametrize("C", [1e-4, 0.1, 10.0, 1e4])
@pytest.mark.parametrize("kernel", [Gaussian(0.3), CUBIC], ids=str)
def test_agrees_with_the_exact_quadratic_program(kernel, C):
    matrix, labels = toys.real()
    matrix[7], matrix[8] = 0.0, matrix[9]
    problem, signs = toys.problem(matrix, labels, "dense64"), 2.0 * labels - 1
    gram = gram_of(kernel, matrix) * np.outer(signs, signs)
    alphas, optimum = quadratic_programs.soft_margin(gram, C)
    solver = MPU(C=C, accuracy=1e-6, stop=1e-7)
    state, status = train(solver, problem, kernel)
    measures = solver.measures(state)
    assert status == Status.DONE
    assert optimum * (1 - 1e-9) <= measures.objective <= optimum * (1 + 2e-6)
    assert optimum * (1 - 2e-6) <= measures.dual_objective <= optimum * (1 + 1e-9)
    assert measures.gap >= measures.objective / optimum - 1 - 1e-9
    scores = solver.model(state).scores(problem.test)[:, 0]
    np.testing.assert_allclose(signs * scores, gram @ alphas, atol=5e-3 * np.abs(gram @ alphas).max())


@few
@given(accuracy=st.sampled_from([0.5, 1e-2, 1e-4]), C=st.sampled_from([0.01, 1.0, 100.0]), seed=st.integers(0, 5))
def test_keeps_the_accuracy_wanted_before_running(accuracy, C, seed):
    matrix, labels = toys.real(seed=seed)
    signs = 2.0 * labels - 1
    _, optimum = quadratic_programs.soft_margin(gram_of(Gaussian(0.3), matrix) * np.outer(signs, signs), C)
    solver = MPU(C=C, accuracy=accuracy, stop=0.0)
    state, status = train(solver, toys.problem(matrix, labels, "dense64"), Gaussian(0.3), seed)
    assert status == Status.DONE
    assert solver.measures(state).objective < optimum * (1 + accuracy)  # (23)
    b, delta_b, R2 = state.thresholds.b, state.thresholds.delta_b, state.squared_norms.max()
    assert state.counters[UPDATES] <= len(labels) * state.thresholds.I_max * (2 * b + delta_b) / (delta_b - R2)  # (22)


def test_with_a_kernel_one_code_is_compiled_for_all_kinds_of_rows():
    def compiled(kind):
        train(MPU(), toys.problem(*toys.binary(), kind), Gaussian(0.3))
        return len(_advance.from_python.overloads)

    assert compiled("dense64") == compiled("sparse") == compiled("ones")


def test_kept_responses_stay_those_of_the_multiplicities():
    matrix, labels = toys.real()
    solver, signs = MPU(C=100.0, accuracy=1e-7, stop=0.0), 2.0 * labels - 1
    state, _ = train(solver, toys.problem(matrix, labels, "dense64"), Gaussian(0.3))
    assert state.counters[STEPS] > 5_000
    expected = (gram_of(Gaussian(0.3), matrix) * np.outer(signs, signs)) @ state.multiplicities
    np.testing.assert_allclose(state.responses.p, expected, rtol=1e-10, atol=1e-10 * np.abs(expected).max())


def test_examples_without_length_cost_their_loss_and_nothing_else():
    matrix, labels = toys.real()
    matrix[[3, 30]] = 0.0
    problem, squares = toys.problem(matrix, labels, "dense64"), Polynomial(0.5, 0.0, 2)  # K(0, x) = 0
    solver, signs = MPU(accuracy=1e-6, stop=1e-7), 2.0 * labels - 1
    state, status = train(solver, problem, squares)
    _, optimum = quadratic_programs.soft_margin(gram_of(squares, matrix) * np.outer(signs, signs), 1.0)
    assert status == Status.DONE
    assert solver.measures(state).objective == pytest.approx(optimum, rel=1e-6)


def test_a_function_that_is_no_kernel_is_refused():
    matrix, labels = toys.real()
    problem = toys.problem(matrix, labels, "dense64")
    with pytest.raises(DataError, match=r"K\(x, x\) of training row \d+ is -"):
        MPU().start(problem, Polynomial(-1.0, 0.0, 1), 0)
    with pytest.raises(DataError, match=r"may reach inf; scale the features down"):
        MPU().start(problem, Polynomial(1e200, 0.0, 3), 0)
