import numpy as np
import pytest

from mpu_bench import solvers
from mpu_bench.core.kernels import Gaussian, Polynomial
from mpu_bench.core.solver import Until
from oracles import toys
from oracles.toys import more

BPegasos = solvers.load("bpegasos")


def inverse_of(state):
    """Give the kept inverse and the one computed from the vectors' Gram matrix."""
    m = int(state.w.vectors.size[0])
    gram = state.maintenance.gram[:m, :m]
    lower = np.tril(state.maintenance.inverse[:m, :m])
    return lower + np.tril(lower, -1).T, np.linalg.inv(gram + 1e-9 * np.diag(np.diag(gram))), gram


@pytest.mark.parametrize("kernel", [Gaussian(0.5), Polynomial(0.3, 1.0, 3)], ids=["gaussian", "polynomial"])
def test_the_inverse_is_kept_through_exchanges(kernel):
    matrix, labels = toys.real(400)
    problem = toys.problem(matrix, labels, "dense")
    solver = BPegasos(vectors=12, maintenance="projection", regularization=0.01)
    state = solver.start(problem, kernel, 0)
    for presented in (5, 20, 100, 275):
        solver.advance(state, more(state, presented=presented))
        kept, fresh, gram = inverse_of(state)
        vectors = solver.model(state).vectors.values
        if isinstance(kernel, Gaussian):
            expected = np.exp(-0.5 * ((vectors[:, None] - vectors[None]) ** 2).sum(axis=2))
        else:
            expected = (0.3 * vectors @ vectors.T + 1.0) ** 3
        np.testing.assert_allclose(gram, expected, rtol=1e-9)
        np.testing.assert_allclose(kept, fresh, rtol=1e-6, atol=1e-6 * np.abs(fresh).max())


def test_duplicates_do_no_harm():
    matrix, labels = toys.real(60)
    matrix, labels = np.tile(matrix, (6, 1)), np.tile(labels, 6)
    problem = toys.problem(matrix, labels, "dense")
    solver = BPegasos(vectors=20, maintenance="projection", regularization=0.01)
    state = solver.start(problem, Gaussian(0.05), 0)
    solver.advance(state, Until())
    scores = solver.model(state).scores(problem.test)[:, 0]
    assert np.mean((scores > 0) == (labels == 1)) > 0.8


def test_a_drifting_inverse_is_computed_anew():
    matrix, labels = toys.real(400)
    problem = toys.problem(matrix, labels, "dense")
    solver = BPegasos(vectors=12, maintenance="projection", regularization=0.01)
    state = solver.start(problem, Gaussian(0.5), 0)
    solver.advance(state, more(state, presented=200))
    renewed = int(state.maintenance.scalars[0].renewals)
    state.maintenance.inverse[:] += 1e-3
    solver.advance(state, more(state, presented=100))
    assert state.maintenance.scalars[0].renewals > renewed
    kept, fresh, _ = inverse_of(state)
    np.testing.assert_allclose(kept, fresh, rtol=1e-6, atol=1e-6 * np.abs(fresh).max())
