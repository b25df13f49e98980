"""Which problem scikit-learn's stochastic gradient descent approaches, and what the seed does."""

import numpy as np
import pytest

from mpu_bench import solvers
from mpu_bench.core.counters import INNER_PRODUCTS, PRESENTED
from mpu_bench.core.solver import Status
from mpu_bench.errors import ConfigError
from oracles import linear_svm, toys
from oracles.toys import train


@pytest.mark.parametrize("C", [0.1, 1.0])
def test_many_epochs_come_near_the_optimum(C):
    matrix, labels = toys.real()
    *_, optimum = linear_svm.of_toys(toys.real, C)
    found = []
    for epochs in (1, 3000):
        peer = solvers.load("sgd")(C=C, epochs=epochs)
        state, status = train(peer, toys.problem(matrix, labels, "dense"))
        assert status == Status.DONE
        assert state.counters[PRESENTED] == state.counters[INNER_PRODUCTS] == 60 * epochs
        found.append(peer.measures(state).objective)
    assert optimum <= found[1] < found[0]
    assert found[1] == pytest.approx(optimum, rel=0.01)


@pytest.mark.parametrize("parameters", [("sgd", {"epochs": 2**32}), ("liblinear", {"most_passes": 2**31})])
def test_counts_that_it_cannot_hold_are_refused(parameters):
    with pytest.raises(ConfigError, match="must be at most"):
        solvers.load(parameters[0])(**parameters[1])


def test_the_seed_orders_the_examples():
    problem, peer = toys.problem(*toys.real(), "sparse"), solvers.load("sgd")(epochs=1)
    first, again, other = (train(peer, problem, seed=seed)[0].weights for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
