import numpy as np
import pytest

from mpu_bench import BudgetedPegasosClassifier, solvers
from mpu_bench.core.counters import UPDATES
from mpu_bench.core.rows import take
from mpu_bench.core.solver import Until
from mpu_bench.kernels import Gaussian, Linear, Polynomial
from oracles import toys
from oracles.bpegasos import Expansion, project_smallest
from oracles.toys import more

BPegasos = solvers.load("bpegasos")


def products_of(state):
    """Give the Gram matrix that the kept factor has, and that of the vectors, both by slot, 1e-9 included."""
    m = int(state.hypothesis.vectors.size[0])
    gram, order = state.maintenance.gram[:m, :m], state.maintenance.order[:m]
    upper = np.triu(state.maintenance.factor[:m, :m])
    kept = np.empty((m, m))
    kept[np.ix_(order, order)] = upper.T @ upper
    return kept, gram + 1e-9 * np.diag(np.diag(gram))


@pytest.mark.parametrize("kernel", [Gaussian(0.5), Polynomial(0.3, 1.0, 3)], ids=["gaussian", "polynomial"])
def test_the_factor_is_kept_through_exchanges(kernel):
    matrix, labels = toys.real(400)
    problem = toys.problem(matrix, labels, "dense")
    solver = BPegasos(vectors=12, maintenance="projection", regularization=0.01)
    state = solver.start(problem, kernel, 0)
    for presented in (5, 20, 100, 275):
        solver.advance(state, more(state, presented=presented))
        kept, gram = products_of(state)
        vectors = solver.model(state).vectors.values
        if isinstance(kernel, Gaussian):
            expected = np.exp(-0.5 * ((vectors[:, None] - vectors[None]) ** 2).sum(axis=2))
        else:
            expected = (0.3 * vectors @ vectors.T + 1.0) ** 3
        np.testing.assert_allclose(gram, expected, rtol=2e-9)
        np.testing.assert_allclose(kept, gram, rtol=1e-13, atol=1e-13 * gram.max())


def test_duplicates_do_no_harm():
    matrix, labels = toys.real(60)
    matrix, labels = np.tile(matrix, (6, 1)), np.tile(labels, 6)
    problem = toys.problem(matrix, labels, "dense")
    solver = BPegasos(vectors=20, maintenance="projection", regularization=0.01)
    state = solver.start(problem, Gaussian(0.05), 0)
    solver.advance(state, Until())
    scores = solver.model(state).scores(problem.test)[:, 0]
    assert np.mean((scores > 0) == (labels == 1)) > 0.8


def test_rounding_does_not_add_up():
    """Not over thousands of exchanges of vectors that are nearly in the span of each other."""
    draw = np.random.default_rng(0)
    matrix = draw.random((3000, 2))
    labels = (np.floor(matrix * 4).sum(axis=1) % 2).astype(int)
    solver = BPegasos(vectors=30, maintenance="projection", regularization=1e-3)
    state = solver.start(toys.problem(matrix, labels, "dense"), Gaussian(0.5), 0)
    solver.advance(state, Until())
    assert state.counters[UPDATES] > 2000
    kept, gram = products_of(state)
    np.testing.assert_allclose(kept, gram, atol=1e-12)


def test_vectors_that_kernel_values_do_not_tell_apart_are_rejected():
    draw = np.random.default_rng(0)
    X = 1e6 * draw.choice([-1, 1], 300)[:, None] + draw.normal(size=(300, 3))
    classifier = BudgetedPegasosClassifier(budget=80, maintenance="projection", kernel="rbf", gamma=1e-3)
    with pytest.raises(ValueError, match="shift and scale the features"):
        classifier.fit(X, draw.integers(0, 2, 300))


def gaussian(a, b):
    return np.exp(-0.7 * ((a[:, None] - b[None]) ** 2).sum(axis=2))


def cubic(a, b):
    return (0.3 * a @ b.T + 1.0) ** 3


@pytest.mark.parametrize(
    ("kernel", "values"),
    [(Gaussian(0.7), gaussian), (Polynomial(0.3, 1.0, 3), cubic), (Linear(), lambda a, b: a @ b.T)],
    ids=["gaussian", "polynomial", "linear"],
)
@pytest.mark.parametrize("rows", ["zeros", "repeats", "plain"])
@pytest.mark.parametrize("classes", [2, 3])
def test_each_projection_is_that_of_a_dense_solve(kernel, values, rows, classes):
    """From the solver's own state before each step: vectors that repeat others, or are in their span, too."""
    draw = np.random.default_rng(classes)
    matrix, labels = np.round(draw.normal(size=(200, 3)), 6), draw.integers(0, classes, 200)
    if rows == "zeros":
        matrix[draw.random(200) < 0.1] = 0.0
    elif rows == "repeats":
        matrix = matrix[draw.integers(0, 50, 200)]
    problem = toys.problem(matrix, labels, "dense")
    regularization, budget = 1e-3, 25
    solver = BPegasos(vectors=budget, maintenance="projection", regularization=regularization)
    state = solver.start(problem, kernel, 0)
    solver.advance(state, more(state, presented=60))
    for t in range(61, 181):
        before, steps = solver.model(state), state.counters[UPDATES]
        w = Expansion(3, classes, values)
        w.vectors, w.alpha = before.vectors.values.astype(float), np.array(before.coefficients) * (1 - 1 / t)
        w.ages = state.w.inserted_at[: len(w.alpha)].copy()
        chunk, position = state.stream.at(t - 1)
        i = chunk.order[position]
        scores, label = before.scores(take(problem.train, np.array([i])))[0], problem.labels[i]
        solver.advance(state, more(state, presented=1))
        if state.counters[UPDATES] == steps or len(w.alpha) < budget:
            continue
        change = np.zeros(w.alpha.shape[1])
        if classes == 2:
            change[0] = (4 * label - 2) / (regularization * t)
        else:
            rival = np.argmax(np.where(np.arange(classes) == label, -np.inf, scores))
            change[label], change[rival] = 1 / (regularization * t), -1 / (regularization * t)
        w.append(matrix[i : i + 1], change[None], t + 1000)
        project_smallest(w, t)
        squared_norm = w.squared_norm() * (0.5 if classes == 2 else 1.0)
        w.alpha /= max(1.0, np.sqrt(regularization * squared_norm))
        expected, found = w.scores(matrix), solver.model(state).scores(problem.train)
        assert np.abs(found - expected).max() <= 2e-6 * max(np.abs(expected).max(), 1.0), t
