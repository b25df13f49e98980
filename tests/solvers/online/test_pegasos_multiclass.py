import numpy as np
import pytest

from mpu_bench import solvers
from mpu_bench.core.counters import KERNEL_COMPUTED, KERNEL_EVALUATIONS, PRESENTED, STEPS
from mpu_bench.core.solver import Status, Until
from mpu_bench.core.stream import Stream
from mpu_bench.kernels import Gaussian
from oracles import bpegasos, toys

PegasosMulticlass = solvers.load("pegasos-multiclass")
GAMMA, LAMBDA = 0.3, 0.01


def gaussian(a, b):
    return np.exp(-GAMMA * ((a[:, None] - b[None]) ** 2).sum(axis=2))


def toy(classes):
    matrix, labels = toys.real(150)
    if classes > 2:
        labels = np.abs(matrix[:, :classes] + 0.1 * np.arange(classes)).argmax(axis=1).astype(np.int32)
        labels[:classes] = np.arange(classes)
    return matrix, labels, toys.problem(matrix, labels, "dense")


def as_scores(scores):
    """Return f_1 - f_0 where there are two classes: that is the one score the project keeps."""
    return scores[:, 1:] - scores[:, :1] if scores.shape[1] == 2 else scores


@pytest.mark.parametrize("classes", [2, 4])
def test_without_a_budget_is_the_plain_algorithm(classes):
    matrix, labels, problem = toy(classes)
    order = list(Stream(problem, 1).at(0)[0].order)
    w, steps, asked, total = bpegasos.train((matrix, labels), order, gaussian, len(labels), LAMBDA, None)
    for average in (False, True):
        solver = PegasosMulticlass(regularization=LAMBDA, precision="double", average=average)
        state = solver.start(problem, Gaussian(GAMMA), 1)
        assert solver.advance(state, Until()) == Status.DONE
        expected = total / len(labels) if average else w.scores(matrix)
        np.testing.assert_allclose(solver.model(state).scores(problem.test), as_scores(expected), rtol=1e-9, atol=1e-9)
        assert state.counters[STEPS] == steps > 64  # more than there are slots at first
        assert state.counters[KERNEL_EVALUATIONS] == state.counters[KERNEL_COMPUTED] == asked


def test_ends_once_there_are_as_many_vectors_as_there_may_be():
    _, labels, problem = toy(2)
    solver = PegasosMulticlass(regularization=LAMBDA, precision="double", vectors_at_most=20)
    state = solver.start(problem, Gaussian(GAMMA), 1)
    assert solver.advance(state, Until()) == Status.DONE
    assert solver.model(state).support_vectors == 20
    presented = state.counters[PRESENTED]
    assert presented < len(labels)
    assert solver.advance(state, Until()) == Status.DONE
    assert state.counters[PRESENTED] == presented
