import numpy as np
import pytest

from mpu_bench import solvers
from mpu_bench.core.problem import Problem
from mpu_bench.core.rows import Dense, Sparse
from mpu_bench.core.solver import Status, Until
from mpu_bench.core.vectors import new_vectors
from mpu_bench.errors import DataError
from mpu_bench.kernels import Gaussian, Linear, Polynomial
from mpu_bench.solvers.online.online import Hypothesis, functions_for, with_doubled_capacity
from oracles import toys


@pytest.mark.parametrize(
    ("name", "parameters", "scale"),
    [
        ("perceptron", {}, 1e4),
        ("perceptron-oldest", {"vectors": 5}, 1e4),
        ("bpegasos", {"vectors": 5, "maintenance": "smallest"}, 1e4),
        ("pegasos-multiclass", {}, 1e4),
    ],
)
def test_kernel_values_that_overflow_are_refused(name, parameters, scale):
    matrix, labels = toys.real()
    problem, solver = toys.problem(matrix * scale, labels, "dense"), solvers.load(name)(**parameters)
    state = solver.start(problem, Polynomial(1.0, 1.0, 9), 0)
    with pytest.raises(DataError, match="a score is not finite: values of the kernel Polynomial"):
        solver.advance(state, Until())
    state = solver.start(problem, Polynomial(1.0, 1.0, 9, True), 0)
    assert solver.advance(state, Until()) == Status.DONE


@pytest.mark.parametrize(
    ("maintenance", "kernel"),
    [("projection", Linear()), ("smallest", Polynomial(1.0, 0.0, 2)), ("random", Polynomial(1.0, 0.0, 2))],
    ids=str,
)
def test_rows_of_zeros_have_no_kernel_value_above_zero_and_do_no_harm(maintenance, kernel):
    matrix, labels = toys.real()
    matrix[::4] = 0.0
    problem = toys.problem(matrix, labels, "dense")
    solver = solvers.load("bpegasos")(vectors=5, maintenance=maintenance, passes=10)  # the factor is renewed
    state = solver.start(problem, kernel, 0)
    assert solver.advance(state, Until()) == Status.DONE
    assert np.isfinite(solver.model(state).coefficients).all()


def test_more_slots_keep_what_is_there():
    random = np.random.default_rng(0)
    f = Hypothesis(new_vectors(3, 4), random.normal(size=(2, 4)), np.ones(4, np.float32), np.ones(2))
    f.vectors.columns[:] = random.normal(size=(3, 4))
    larger = with_doubled_capacity(f)
    assert larger.vectors.columns.shape == (3, 8)
    assert larger.kernel_row.shape == larger.vectors.squared_norms.shape == (8,)
    np.testing.assert_array_equal(larger.vectors.columns[:, :4], f.vectors.columns)
    np.testing.assert_array_equal(larger.coefficients, np.hstack([f.coefficients, np.zeros((2, 4))]))


def test_two_classes_need_one_function():
    assert [functions_for(classes) for classes in (2, 3, 10)] == [1, 3, 10]


def wide(features, n=400, nonzeros=50):
    """Give words of which one of the first hundred tells the class, most of the time."""
    random = np.random.default_rng(0)
    labels = random.integers(0, 3, n).astype(np.int32)
    indices = random.integers(100, features, (n, nonzeros))
    indices[:, :2] = labels[:, None] + 3 * random.integers(0, 5, (n, 2))
    indices = [np.unique(row).astype(np.uint32) for row in indices]
    starts = np.concatenate([[0], np.cumsum([len(row) for row in indices])]).astype(np.uint32)
    values = random.random(starts[-1]).astype(np.float32) + 0.5
    rows = Sparse(values, np.concatenate(indices), starts)
    return Problem("words", rows, labels, rows, labels, features, ("a", "b", "c"), "words")


WIDE = [
    ("perceptron", {"passes": 2}),
    ("perceptron-oldest", {"vectors": 30, "passes": 2}),
    ("perceptron-random", {"vectors": 30}),
    ("cks", {"vectors": 30}),
    ("forgetron", {"vectors": 30, "passes": 2}),
    ("projectron++", {"eta": 0.5}),
    ("pegasos-multiclass", {"regularization": 1e-3}),
    *(("bpegasos", {"vectors": 30, "maintenance": each}) for each in ("merging", "projection", "smallest", "random")),
]


def learner(name, parameters):
    return solvers.load(name)(**parameters | ({} if name == "projectron++" else {"precision": "double"}))


@pytest.mark.parametrize(("name", "parameters"), [WIDE[0], WIDE[4], WIDE[7]])
def test_rows_of_a_million_features_take_little_memory(name, parameters):
    """By columns 100 vectors would take 400 MB; kept sparse all is a few numbers for each feature."""
    problem, solver = wide(1_000_000), learner(name, parameters)
    state = solver.start(problem, Gaussian(0.02), 0)
    while solver.advance(state, toys.more(state, presented=100)) != Status.DONE:
        pass
    assert sum(array.nbytes for array in toys.arrays_of(state).values()) < 50_000_000
    assert solver.model(state).support_vectors > 20


@pytest.mark.parametrize(("name", "parameters"), WIDE)
def test_vectors_kept_sparse_learn_the_same(name, parameters, monkeypatch):
    problem, solver, models = wide(20_000), learner(name, parameters), []
    for few in (0.01, 0.0):
        monkeypatch.setattr("mpu_bench.core.vectors._FEW", few)
        state = solver.start(problem, Gaussian(0.02), 0)
        assert solver.advance(state, Until()) == Status.DONE
        models.append((solver.model(state), solver.measures(state), state.counters.tolist()))
    assert isinstance(models[0][0].vectors, Sparse)
    assert isinstance(models[1][0].vectors, Dense)
    assert models[0][1:] == models[1][1:]
    scores = [model.scores(problem.test) for model, *_ in models]
    np.testing.assert_allclose(*scores, rtol=1e-6, atol=1e-6)
