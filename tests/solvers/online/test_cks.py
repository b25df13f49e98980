import numpy as np
import pytest

from mpu_bench import solvers
from mpu_bench.core.counters import UPDATES
from mpu_bench.core.solver import Until
from mpu_bench.kernels import Gaussian, Linear
from oracles import toys
from oracles.toys import more

CKS = solvers.load("cks")


@pytest.mark.parametrize("budget", [1, 2, 6])
def test_the_vector_that_leaves_is_best_explained_by_the_others(budget):
    """Of those stored and the new one, the margin without itself, y_j (f(x_j) - y_j K(x_j, x_j)), is the largest."""
    matrix, labels = toys.real(150)
    labels = np.where(np.random.default_rng(1).random(150) < 0.3, 1 - labels, labels).astype(np.int32)
    labels[:2] = 0, 1
    problem, removals = toys.problem(matrix, labels, "dense64"), 0
    solver = CKS(vectors=budget, precision="double")
    state = solver.start(problem, Gaussian(0.3), 1)
    for i in state.stream.at(0)[0].order:
        before, errors = solver.model(state), state.counters[UPDATES]
        solver.advance(state, more(state, presented=1))
        if state.counters[UPDATES] == errors or len(before.coefficients) < budget:
            continue
        vectors = np.vstack([before.vectors.values, matrix[i]])
        weights = np.append(before.coefficients[:, 0], 2.0 * labels[i] - 1)
        gram = np.exp(-0.3 * ((vectors[:, None] - vectors) ** 2).sum(axis=2))
        margins = weights * (gram @ weights - weights * np.diag(gram))
        after = {tuple(row) for row in solver.model(state).vectors.values}
        gone = [j for j, row in enumerate(vectors) if tuple(row) not in after]
        assert margins[gone].max() == pytest.approx(margins.max(), abs=1e-9)
        removals += 1
    assert removals > 20


@pytest.mark.parametrize("victim", [None, "before-insertion"])
def test_the_unit_of_the_features_changes_nothing(victim):
    """Margins are equal by their own size: those of short rows all differ by less than 1e-9."""
    (matrix, labels), states = toys.real(), []
    for factor in (1.0, 2.0**-20):
        solver = CKS(vectors=5, passes=2, victim=victim)
        state = solver.start(toys.problem(matrix * factor, labels, "dense64"), Linear(), 1)
        solver.advance(state, Until())
        states.append(state)
    assert states[0].counters.tolist() == states[1].counters.tolist()
    assert np.array_equal(solver.model(states[0]).vectors.values * factor, solver.model(states[1]).vectors.values)
