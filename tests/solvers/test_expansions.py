"""The gap that is reported of a kernel expansion is never below the true one, whatever the size of kernel values."""

from dataclasses import replace

import numpy as np
import pytest

from mpu_bench import solvers
from mpu_bench.core.rows import to_scipy
from mpu_bench.core.solver import Status, Until
from mpu_bench.errors import UserError
from mpu_bench.kernels import Gaussian, Linear, Polynomial
from mpu_bench.solvers import expansions
from mpu_bench.solvers.batch.smo import SMO
from oracles import kernel_svm, toys

SOLVERS = ("sdca", "smo", "smo, bias", "pegasos-kernel", "libsvm")


def of_seed(seed):
    """Make a problem of any scale and form, with a kernel and C."""
    random = np.random.default_rng(seed)
    n, d, scale = int(random.integers(6, 60)), int(random.integers(1, 9)), 10.0 ** random.uniform(-4, 4)
    matrix = scale * (random.normal(size=(n, d)) + random.choice([0.0, 0.0, 10.0]))
    matrix *= random.random((n, d)) < random.choice([1.0, 0.4])
    labels = (matrix @ random.normal(size=d) + random.choice([0.3, 30]) * scale * random.normal(size=n) > 0).astype(
        "i4"
    )
    labels[:2] = 0, 1
    gamma = 10.0 ** random.uniform(-2, 1) / max(np.square(matrix).sum(axis=1).mean(), 1e-9)
    polynomial = Polynomial(
        float(random.choice([gamma, 1.0])), float(random.choice([0.0, 1.0, 10.0])), int(random.integers(1, 6))
    )
    kernel = random.choice([0, 1, 1, 2, 2])
    kind = ("dense", "dense64", "sparse")[seed % 3]
    return (
        toys.problem(matrix, labels, kind),
        [Linear(), polynomial, Gaussian(gamma)][kernel],
        10 ** random.uniform(-3, 6),
    )


def solver_named(name, n, C):
    word, *bias = name.split(", ")
    if word in ("sdca", "pegasos-kernel"):
        return solvers.load(word)(regularization=1 / (n * C), passes=100)
    return solvers.load(word)(C=C, **({"bias": bool(bias)} if word == "smo" else {}))


def in_80_bits(problem, kernel, model, C):
    """Return the primal objective of a model and the dual one of its coefficients."""
    rows, vectors = (to_scipy(each, problem.features) for each in (problem.train, model.vectors))
    rows, vectors = (
        np.asarray(each if isinstance(each, np.ndarray) else each.toarray(), "g") for each in (rows, vectors)
    )
    coefficients = model.coefficients[:, 0].astype("g")
    squared = coefficients @ kernel_svm.values(kernel, vectors, vectors) @ coefficients
    scores = kernel_svm.values(kernel, rows, vectors) @ coefficients + np.longdouble(model.bias)
    losses = np.maximum(0, 1 - problem.signs() * scores).sum()
    return squared / 2 + np.longdouble(C) * losses, np.abs(coefficients).sum() - squared / 2


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("seed", range(25))
def test_no_gap_is_below_the_true_one(name, seed):
    problem, kernel, C = of_seed(seed)
    solver = solver_named(name, problem.n, C)
    try:
        state = solver.start(problem, kernel, 0)
    except UserError:  # values that are too large
        return
    status = solver.advance(state, Until(presented=20_000))
    assert status in (Status.DONE, Status.RUNNING)
    check(solver, state, problem, kernel)


def check(solver, state, problem, kernel):
    measures = solver.measures(state)
    weight = solver.weight(problem.n) if hasattr(solver, "weight") else solver.C
    primal, dual = in_80_bits(problem, kernel, solver.model(state), weight)
    if measures.objective is not None:
        assert measures.objective == pytest.approx(float(primal), rel=1e-6)
    if measures.dual_objective is not None:
        assert measures.dual_objective <= dual
    if measures.gap is not None:
        assert measures.gap >= max(primal / dual - 1, 0)
    return measures, float(primal / dual - 1)


@pytest.mark.parametrize(
    ("shape", "kernel", "C"),
    [
        ((32, 8), Polynomial(567.0, 1.0, 2), 1.5),
        ((8, 5), Polynomial(2000.0, 1.0, 2), 0.039),
        ((51, 8), Gaussian(0.125), 4.7e5),
        ((60, 3), Polynomial(1.0, 1.0, 5), 5.2e3),
        ((51, 1), Polynomial(3.0, 10.0, 5), 0.0057),
    ],
    ids=str,
)
@pytest.mark.parametrize("name", ["sdca", "smo", "libsvm"])
def test_large_values_are_certified_as_they_are(shape, kernel, C, name):
    """Single precision would find the optimum of another matrix, and report that."""
    random = np.random.default_rng(0)
    matrix, labels = random.normal(size=shape), (random.random(shape[0]) < 0.5).astype(np.int32)
    problem = toys.problem(matrix, labels, "dense64")
    solver = solver_named(name, shape[0], C)
    state = solver.start(problem, kernel, 0)
    solver.advance(state, Until(presented=50_000))
    measures, true = check(solver, state, problem, kernel)
    if measures.gap is not None and true < 1:
        assert measures.gap == pytest.approx(true, abs=1e-5)


@pytest.mark.parametrize("seed", range(3))
def test_what_is_kept_is_measured_with_its_rounding(seed, monkeypatch):
    """Where computing all responses anew takes too long; at the end, only if the rounding at most doubles the gap."""
    problem, kernel, C = toys.problem(*toys.real(seed=seed), "dense"), Gaussian(0.25), 10.0
    solver = solver_named("sdca", problem.n, C)
    state = solver.start(problem, kernel, seed)
    solver.advance(state, Until(presented=3000))
    anew = check(solver, state, problem, kernel)[0]
    monkeypatch.setattr(expansions, "_MAX_PRODUCTS", 0)
    kept = check(solver, state, problem, kernel)[0]
    assert anew.gap < kept.gap < 1.5 * anew.gap
    solver.advance(state, Until())
    measures, true = check(solver, state, problem, kernel)
    assert measures.gap <= 2 * true + 1e-9
    monkeypatch.setattr(expansions, "_MAX_OF_ROUNDING", 1.0)  # which no rounding is
    assert check(solver, state, problem, kernel)[0].gap == pytest.approx(true, abs=1e-9)


@pytest.mark.parametrize("kernel", [Polynomial(1.0, -1.0, 2), Polynomial(1.0, -0.5, 3)], ids=str)
@pytest.mark.parametrize("name", ["sdca", "smo, bias", "libsvm"])
def test_an_indefinite_kernel_certifies_nothing(name, kernel):
    problem = toys.problem(*toys.real(), "dense")
    solver = solver_named(name, problem.n, 0.1)
    state = solver.start(problem, kernel, 0)
    assert solver.advance(state, Until(presented=20_000)) in (Status.DONE, Status.RUNNING)
    measures = solver.measures(state)
    assert np.isfinite(measures.objective)
    assert measures.gap is measures.dual_objective is None


@pytest.mark.parametrize(
    ("conjugate", "labels", "weights", "lighter"),
    [
        (False, [0, 1, 1, 1, 0, 0], [100, 100, 0.1, 1, 100, 1], 101.1),
        (True, [0, 1, 0, 1, 0, 1], [3, 1, 0.1, 0.1, 0.1, 0.1], 1.2),
    ],
)
def test_a_model_that_is_zero_but_for_rounding_has_no_nu(conjugate, labels, weights, lighter):
    """On equal rows a bias does all: ||w|| is what rounding leaves, by which no loss is to be divided."""
    problem = toys.problem(np.full((6, 1), 5.0), np.array(labels, np.int32), "dense64")
    solver = SMO(bias=True, conjugate=conjugate)
    state = solver.start(replace(problem, weights=np.array(weights, float)), Polynomial(1.0, 0.0, 3), 0)
    assert solver.advance(state, Until()) == Status.DONE
    measures = solver.measures(state)
    assert measures.objective == pytest.approx(2 * lighter)  # the losses of the class that weighs less
    assert measures.nu is None


@pytest.mark.parametrize("name", ["pegasos-kernel", "sbp"])
@pytest.mark.parametrize(("shift", "is_known"), [(1e3, True), (3e7, False)])
def test_an_objective_that_rounding_changes_by_a_hundredth_is_left_empty(name, shift, is_known):
    """Where the rows are that far from the origin, the distances of a Gaussian are rounding."""
    matrix, labels = toys.real()
    problem = toys.problem(matrix + shift, labels, "dense64")
    solver = toys.solver_named(name)
    state = solver.start(problem, Gaussian(0.25), 0)
    solver.advance(state, Until(presented=100))
    assert (solver.measures(state).objective is not None) == is_known
