import numpy as np
import pytest

from mpu_bench.core.kernels import Polynomial
from mpu_bench.core.solver import Status, Until
from mpu_bench.core.vectors import new_vectors
from mpu_bench.errors import DataError
from mpu_bench.solvers.online.online import functions_for, with_doubled_capacity
from mpu_bench.solvers.online.perceptron import Hypothesis
from oracles import toys


@pytest.mark.parametrize("name", ["perceptron", "perceptron-oldest"])
def test_kernel_values_that_overflow_are_refused(name):
    matrix, labels = toys.real()
    problem, solver = toys.problem(matrix * 1e4, labels, "dense"), toys.solver_named(name)
    state = solver.start(problem, Polynomial(1.0, 1.0, 9), 0)
    with pytest.raises(DataError, match="a score is not finite: values of the kernel Polynomial"):
        solver.advance(state, Until())
    state = solver.start(problem, Polynomial(1.0, 1.0, 9, True), 0)
    assert solver.advance(state, Until()) == Status.DONE


def test_more_slots_keep_what_is_there():
    random = np.random.default_rng(0)
    f = Hypothesis(new_vectors(3, 4), random.normal(size=(2, 4)), np.ones(4, np.float32), np.ones(2), np.ones(2, int))
    f.vectors.columns[:] = random.normal(size=(3, 4))
    larger = with_doubled_capacity(f, "coefficients", "kernel_row")
    assert larger.vectors.columns.shape == (3, 8)
    assert larger.kernel_row.shape == larger.vectors.squared_norms.shape == (8,)
    np.testing.assert_array_equal(larger.vectors.columns[:, :4], f.vectors.columns)
    np.testing.assert_array_equal(larger.coefficients, np.hstack([f.coefficients, np.zeros((2, 4))]))


def test_two_classes_need_one_function():
    assert [functions_for(classes) for classes in (2, 3, 10)] == [1, 3, 10]
