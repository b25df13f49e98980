import numpy as np
import pytest

from mpu_bench import solvers
from mpu_bench.core.counters import KERNEL_COMPUTED, KERNEL_EVALUATIONS, PRESENTED, STEPS, UPDATES
from mpu_bench.core.kernels import Polynomial
from mpu_bench.core.solver import Allowance, Status
from references import perceptron, toys

Perceptron = solvers.load("perceptron")
CUBIC = Polynomial(1.0, 1.0, 3)  # integers on binary data: no rounding


@pytest.mark.parametrize("classes", [2, 4])
def test_is_the_plain_perceptron(classes):
    matrix, labels = toys.binary()
    if classes > 2:
        labels = (matrix[:, :classes].cumsum(axis=1).argmax(axis=1)).astype(np.int32)
        labels[:classes] = np.arange(classes)
    problem = toys.problem(matrix, labels, "ones")
    solver = Perceptron(passes=3)
    state = solver.start(problem, CUBIC, 1)
    order = []
    for _ in range(3):  # a pass at a time, to see its permutation
        status = solver.advance(state, Allowance(presented=problem.n))
        order += list(state.order)
    assert status == Status.DONE
    expected, errors, evaluations = perceptron.train((matrix @ matrix.T + 1) ** 3, labels, classes, order)
    found = np.zeros_like(expected)
    m = state.size[0]
    found[state.stored[:m]] = state.coefficients[:m]
    np.testing.assert_array_equal(found, expected)
    assert (state.counters[[STEPS, UPDATES]] == errors).all()
    assert (state.counters[[KERNEL_EVALUATIONS, KERNEL_COMPUTED]] == evaluations).all()
    assert state.counters[PRESENTED] == 3 * problem.n
    assert solver.measures(state).online_error == errors / (3 * problem.n)
    scores = solver.model(state).scores(problem.test)
    np.testing.assert_allclose(scores, (matrix @ matrix.T + 1) ** 3 @ expected)


def test_every_pass_is_a_new_permutation():
    problem = toys.problem(*toys.binary(), "ones")
    solver = Perceptron(passes=2)
    state = solver.start(problem, CUBIC, 1)
    solver.advance(state, Allowance(presented=problem.n))
    first = state.order.copy()
    solver.advance(state, Allowance(presented=1))
    assert sorted(state.order) == sorted(first) == list(range(problem.n))
    assert (state.order != first).any()
