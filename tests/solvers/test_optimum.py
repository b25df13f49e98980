"""Every solver of the linear L1-SVM against the exact quadratic program on 60 points; a new one is covered at once."""

from functools import cache

import numpy as np
import pytest

from mpu_bench import solvers
from mpu_bench.core.solver import Status
from mpu_bench.errors import DataError
from mpu_bench.kernels import Linear
from oracles import linear_svm, quadratic_programs, toys
from oracles.toys import more, train

COSTS = [1e-4, 0.1, 1.0, 100.0, 1e4]

#: Parameters to the most precise answer, and by how much of the optimum J may then exceed it. A solver not named
#: here runs with its defaults, to 1%. Pegasos, scikit-learn's SGD and Snap ML have no answer worth the name at large C:
#: their bounds grow with C.
PRECISE = {
    "mpu": ({"accuracy": 1e-6, "stop": 0.0}, lambda C: 1e-6),
    "dcd": ({"tolerance": 1e-12, "stop": 1e-9}, lambda C: 1e-9),
    "svmperf": ({"tolerance": 1e-6}, lambda C: 1e-6),
    "pegasos": ({"iterations": 20_000}, lambda C: max(1e-3, 1e-3 * C)),
    "liblinear": ({"tolerance": 1e-6, "most_passes": 10_000_000}, lambda C: 1e-5),
    "sgd": ({"epochs": 2000}, lambda C: max(1e-3, 2e-3 * C)),
    "snapml-svm": ({"tolerance": 1e-9}, lambda C: max(1e-5, 1e-3 * C)),
}


def awkward(kind):
    """Return points with empty rows and duplicates, some of the opposite class."""
    matrix, labels = toys.binary() if kind == "ones" else toys.real()
    matrix[[5, 50]] = 0.0
    matrix[11:14], labels[11:14] = matrix[10], [0, 1, 1]
    return matrix, labels


@cache
def exact(kind, C):
    matrix, labels = awkward(kind)
    patterns = (2.0 * labels - 1)[:, None] * matrix
    return quadratic_programs.soft_margin(patterns @ patterns.T, C)[1]


def has_the_optimum(name):
    solver = toys.solver_named(name)
    optimum = solver.optimum_solver(vars(solver), linear=True)
    return optimum is not None and optimum[0] == "optimum"


@pytest.fixture(params=sorted(name for name in solvers.SOLVERS if has_the_optimum(name)))
def name(request):
    return request.param


@pytest.mark.parametrize("C", COSTS)
@pytest.mark.parametrize("kind", ["dense64", "sparse", "ones"])
def test_agrees_with_the_exact_quadratic_program(name, kind, C):
    matrix, labels = awkward(kind)
    parameters, excess = PRECISE.get(name, ({}, lambda C: 0.01))
    solver, optimum = solvers.load(name)(C=C, **parameters), exact(kind, C)
    state = solver.start(toys.problem(matrix, labels, kind), Linear(), 0)
    solver.advance(state, more(state, presented=20_000_000))
    measures = solver.measures(state)
    assert optimum * (1 - 1e-9) <= measures.objective <= optimum * (1 + excess(C))
    assert measures.objective == pytest.approx(
        linear_svm.primal(matrix, 2.0 * labels - 1, solver.model(state).weights[0], C)
    )
    if measures.dual_objective is not None:  # a certificate is never better than the truth
        assert measures.dual_objective <= optimum * (1 + 1e-9)
        assert measures.gap >= measures.objective / optimum - 1 - 1e-9


def test_one_example_is_one_class(name):
    problem = toys.problem(np.ones((1, 3)), np.array([1], np.int32), "ones")
    with pytest.raises(DataError, match="all training examples are of class 'class 1'; two classes are needed"):
        solvers.load(name)().start(problem, Linear(), 0)


@pytest.mark.parametrize("C", [1e-4, 1.0, 1e4])
def test_two_examples(name, C):
    parameters, excess = PRECISE.get(name, ({}, lambda C: 0.01))
    solver = solvers.load(name)(C=C, **parameters)
    state = solver.start(toys.problem(np.eye(2), np.array([1, 0], np.int32), "ones"), Linear(), 0)
    solver.advance(state, more(state, presented=1_000_000))
    weight = min(C, 1.0)  # each example on its own: min w^2 / 2 + C max(0, 1 - w)
    optimum = weight**2 + 2 * C * (1 - weight)
    assert optimum * (1 - 1e-9) <= solver.measures(state).objective <= optimum * (1 + excess(C))


@pytest.mark.parametrize("C", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("kind", ["dense", "sparse", "ones"])
@pytest.mark.parametrize("name", ["mpu", "dcd", "liblinear"])
def test_agrees_with_the_exact_solution(name, kind, C):
    make = toys.binary if kind == "ones" else toys.real
    precise = {
        "mpu": {"accuracy": 1e-7, "stop": 0.0},
        "dcd": {"tolerance": 1e-9},
        "liblinear": {"tolerance": 1e-9},
    }[name]
    solver = solvers.load(name)(C=C, **precise)
    weights, _, optimum = linear_svm.of_toys(make, C)
    state, status = train(solver, toys.problem(*make(), kind))
    assert status == Status.DONE
    assert solver.measures(state).objective == pytest.approx(optimum, rel=2e-7)
    np.testing.assert_allclose(solver.model(state).weights[0], weights, atol=2e-3 * np.abs(weights).max())


@pytest.mark.parametrize("name", ["mpu", "dcd"])
def test_zero_rows_cost_their_loss_and_nothing_else(name):
    matrix, labels = toys.binary(n=20)
    with_zeros = toys.problem(np.vstack([matrix, np.zeros((5, 12))]), np.append(labels, [0, 1, 1, 0, 1]), "ones")
    solver = solvers.load(name)(stop=1e-9, **({"accuracy": 1e-8} if name == "mpu" else {"tolerance": 1e-9}))
    state, status = train(solver, with_zeros)
    _, _, optimum = linear_svm.solve(matrix, 2.0 * labels - 1, 1.0)
    assert status == Status.DONE
    assert solver.measures(state).objective == pytest.approx(optimum + 5, rel=1e-6)


@pytest.mark.parametrize("name", ["mpu", "dcd"])
def test_a_problem_of_zero_rows_only_ends(name):
    problem = toys.problem(np.zeros((4, 3)), np.array([0, 1, 1, 0], np.int32), "ones")
    solver = solvers.load(name)()
    state, status = train(solver, problem)
    assert status == Status.DONE
    assert solver.measures(state).objective == 4.0
