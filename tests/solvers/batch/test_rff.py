import numpy as np
import pytest

from mpu_bench import solvers
from mpu_bench.core.counters import INNER_PRODUCTS, PRESENTED
from mpu_bench.core.models import FourierModel, fourier_features
from mpu_bench.core.solver import Status, Until
from mpu_bench.errors import UserError
from mpu_bench.kernels import Gaussian, Linear
from mpu_bench.solvers.batch import rff
from oracles import quadratic_programs, toys

RFF = solvers.load("rff")
KERNEL = Gaussian(0.1)


@pytest.fixture(scope="module")
def toy():
    matrix, labels = toys.real()
    gram = np.exp(-KERNEL.gamma * ((matrix[:, None] - matrix) ** 2).sum(axis=2))
    return matrix, labels, gram


def test_more_pairs_come_nearer_to_the_kernel_machine(toy):
    matrix, labels, gram = toy
    signs = 2.0 * labels - 1
    alphas, optimum = quadratic_programs.soft_margin(signs[:, None] * gram * signs, 1 / (60 * 0.02))
    exact, distances = gram @ (signs * alphas), []
    for pairs in (8, 128, 8192):
        solver = RFF(regularization=0.02, pairs=pairs, tolerance=1e-4)
        state = solver.start(toys.problem(matrix, labels, "sparse"), KERNEL, 0)
        assert solver.advance(state, Until()) == Status.DONE
        scores = solver.model(state).scores(toys.problem(matrix, labels, "dense").test)
        assert scores.shape == (60, 1)
        distances.append(np.abs(scores[:, 0] - exact).max())
        assert state.counters[INNER_PRODUCTS] == pairs * 60
        assert 0 < state.counters[PRESENTED] == state.linear.counters[PRESENTED]
    assert distances[2] < distances[1] < distances[0]
    assert distances[2] < 0.1
    assert solver.measures(state).objective == pytest.approx(optimum, rel=0.02)
    assert solver.measures(state).gap < 1e-3


@pytest.mark.parametrize("presented", [1, 30, 61, 200, 600])
def test_on_the_way_features_are_not_made_again_and_the_gap_is_not_below_the_true_one(toy, monkeypatch, presented):
    matrix, labels, _ = toy
    problem = toys.problem(matrix, labels, "dense")
    solver = RFF(regularization=1e-4, pairs=16, tolerance=1e-9)
    state = solver.start(problem, KERNEL, 0)
    assert solver.advance(state, Until(presented=presented)) == Status.RUNNING
    model, signs, C = solver.model(state), 2.0 * labels - 1, 1 / (60 * 1e-4)
    (features,) = fourier_features(problem.train, model.frequencies)
    w, alphas = model.weights[0], state.linear.alphas
    primal = w @ w / 2 + C * np.maximum(0, 1 - signs * (features @ w)).sum()
    combined = (alphas * signs) @ features
    dual = alphas.sum() - combined @ combined / 2
    monkeypatch.setattr(rff, "fourier_features", lambda *_: pytest.fail("made again"))
    found = solver.measures(state)
    assert found.objective == pytest.approx(primal, rel=1e-5)
    assert found.dual_objective <= dual
    if found.gap is not None:
        assert primal / dual - 1 <= found.gap <= primal / dual - 1 + 0.02 * primal / dual


def test_inner_products_of_features_are_kernel_values(toy):
    matrix, labels, gram = toy
    solver = RFF(regularization=0.02, pairs=20_000)
    made = solver.start(toys.problem(matrix, labels, "dense"), KERNEL, 0).linear.rows.values
    assert made.dtype == np.float32
    np.testing.assert_allclose(made @ made.T, gram, atol=5 / np.sqrt(20_000))
    np.testing.assert_allclose(np.linalg.norm(made, axis=1), 1, rtol=1e-5)


def test_a_model_scores_new_rows_in_blocks(toy, monkeypatch):
    matrix, labels, _ = toy
    random = np.random.default_rng(0)
    model = FourierModel(random.normal(size=(1, 10)), random.normal(size=(5, 7)))
    rows = toys.problem(matrix, labels, "sparse").test
    angles = matrix @ model.frequencies.T
    expected = np.hstack([np.cos(angles), np.sin(angles)]) @ model.weights.T / np.sqrt(5)
    (whole,) = fourier_features(rows, model.frequencies)
    np.testing.assert_allclose(whole @ model.weights.T, expected)
    monkeypatch.setattr("mpu_bench.core.models._ROWS_AT_ONCE", 7)
    np.testing.assert_allclose(model.scores(rows), expected)
    assert (model.labels(rows) == (expected[:, 0] > 0)).all()
    assert model.support_vectors == 0


def test_other_kernels_and_bad_parameters_are_refused(toy):
    with pytest.raises(UserError, match="needs a Gaussian kernel"):
        RFF(regularization=0.02).start(toys.problem(*toy[:2], "dense"), Linear(), 0)
    with pytest.raises(UserError, match="pairs is 0"):
        RFF(regularization=0.02, pairs=0)
