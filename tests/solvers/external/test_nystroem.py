"""Nyström features and their model, against a direct computation."""

import numpy as np
import pytest

from mpu_bench import solvers
from mpu_bench.core.counters import KERNEL_EVALUATIONS
from mpu_bench.core.solver import Status
from mpu_bench.errors import ConfigError
from mpu_bench.kernels import Gaussian, Linear
from mpu_bench.solvers.multiclass import Multiclass
from oracles import kernel_svm, linear_svm, quadratic_programs, toys
from oracles.toys import train

KERNEL, LANDMARKS = Gaussian(0.1), 12
NYSTROEM = solvers.load("nystroem")


def features_of(matrix, landmarks):
    """Return M^(-1/2) (K(z_1, x), ..., K(z_m, x)) of every row, by eigenvalues."""
    gram = kernel_svm.gram(KERNEL, matrix)
    values, vectors = np.linalg.eigh(gram[np.ix_(landmarks, landmarks)])
    return gram[:, landmarks] @ (vectors / np.sqrt(values)) @ vectors.T


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_it_is_the_linear_machine_on_the_features(kind):
    matrix, labels = toys.real()
    problem, signs = toys.problem(matrix, labels, kind), 2.0 * labels - 1
    peer = NYSTROEM(C=2.0, landmarks=LANDMARKS, tolerance=1e-9)
    state, status = train(peer, problem, KERNEL)
    assert status == Status.DONE
    assert len(set(state.landmarks)) == LANDMARKS
    features = features_of(matrix, state.landmarks)
    weights, _, optimum = linear_svm.solve(features, signs, 2.0)
    model = peer.model(state)
    np.testing.assert_allclose(model.scores(problem.test)[:, 0], features @ weights, atol=1e-3)
    assert peer.measures(state).objective == pytest.approx(optimum, rel=1e-6)
    assert model.support_vectors == LANDMARKS
    assert state.counters[KERNEL_EVALUATIONS] == 60 * LANDMARKS + LANDMARKS**2


def test_the_model_scores_the_training_rows_as_training_did():
    """Also where the matrix of landmarks is singular: there are duplicates among them."""
    for kind in ("dense", "sparse", "ones"):
        problem = toys.problem(*toys.binary(agree=True), kind)
        peer = NYSTROEM(C=10.0, landmarks=1000)
        state, _ = train(peer, problem, Gaussian(1e-3))
        np.testing.assert_allclose(peer.model(state).scores(problem.train)[:, 0], state.responses, atol=1e-6)
        assert len(state.landmarks) == problem.n


def test_all_examples_as_landmarks_make_the_kernel_machine():
    matrix, labels = toys.real()
    signs, gram = 2.0 * labels - 1, kernel_svm.gram(KERNEL, toys.real()[0])
    _, optimum = quadratic_programs.soft_margin(signs[:, None] * gram * signs, 1.0)
    peer = NYSTROEM(landmarks=60, tolerance=1e-8)
    state, _ = train(peer, toys.problem(matrix, labels, "dense"), KERNEL)
    assert peer.measures(state).objective == pytest.approx(optimum, rel=1e-4)


def test_the_seed_draws_the_landmarks():
    problem, peer = toys.problem(*toys.real(), "sparse"), NYSTROEM(landmarks=LANDMARKS)
    first, again, other = (train(peer, problem, KERNEL, seed=seed)[0] for seed in (0, 0, 1))
    np.testing.assert_array_equal(first.coefficients, again.coefficients)
    assert set(first.landmarks) != set(other.landmarks)


def test_several_classes_are_voted_on():
    problem = toys.three_classes("ones")
    solver = Multiclass(NYSTROEM(C=100.0, landmarks=60), "one-against-one")
    state, _ = train(solver, problem, KERNEL)
    assert np.mean(solver.model(state).labels(problem.test) != problem.test_labels) < 0.2


def test_other_kernels_are_refused():
    with pytest.raises(ConfigError, match="needs a Gaussian kernel"):
        train(NYSTROEM(), toys.problem(*toys.real(), "dense"), Linear())
