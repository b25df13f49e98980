import numpy as np
import pytest

from mpu_bench import solvers
from mpu_bench.core.counters import KERNEL_COMPUTED, KERNEL_EVALUATIONS, PRESENTED, STEPS, UPDATES
from mpu_bench.core.solver import Status, Until
from mpu_bench.core.stream import Stream
from mpu_bench.kernels import Polynomial
from oracles import perceptron, toys

Perceptron = solvers.load("perceptron")
CUBIC = Polynomial(1.0, 1.0, 3)  # integers on binary data: no rounding


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("kind", ["ones", "dense"])
def test_is_the_plain_perceptron(classes, kind):
    matrix, labels = toys.binary(600)
    if classes > 2:
        labels = (matrix[:, :classes].cumsum(axis=1).argmax(axis=1)).astype(np.int32)
        labels[:classes] = np.arange(classes)
    labels[::7] = labels[0]  # some that no hypothesis explains, so that more is stored than there is room for at first
    problem = toys.problem(matrix, labels, kind)
    solver = Perceptron(passes=3)
    state = solver.start(problem, CUBIC, 1)
    assert solver.advance(state, Until()) == Status.DONE
    order = [i for p in range(3) for i in Stream(problem, 1).at(p * problem.n)[0].order]
    coefficients, errors, wrong, evaluations = perceptron.train((matrix @ matrix.T + 1) ** 3, labels, classes, order)
    stored = int(coefficients.any(axis=1).sum())
    assert state.counters[UPDATES] == errors.sum()
    assert errors.max() <= state.counters[STEPS] <= errors.sum()
    assert state.counters[KERNEL_EVALUATIONS] == evaluations
    assert state.counters[KERNEL_COMPUTED] <= evaluations
    assert (state.counters[KERNEL_COMPUTED] == evaluations) == (classes == 2)
    assert state.counters[PRESENTED] == 3 * problem.n
    assert solver.measures(state).online_error == wrong / (3 * problem.n)
    model = solver.model(state)
    assert model.support_vectors == stored > 64
    np.testing.assert_allclose(model.scores(problem.test), (matrix @ matrix.T + 1) ** 3 @ coefficients)
