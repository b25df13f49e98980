import numpy as np
import pytest
from scipy.optimize import minimize

from mpu_bench import solvers
from mpu_bench.core.counters import KERNEL_EVALUATIONS, PRESENTED, STEPS, UPDATES
from mpu_bench.core.rng import rng
from mpu_bench.core.solver import Status, Until
from mpu_bench.data.cards import catalog
from mpu_bench.data.prepare.load import load_problem
from mpu_bench.errors import UserError
from mpu_bench.kernels import Gaussian, Linear, Polynomial
from oracles import quadratic_programs, responses_kept, toys
from oracles.toys import more

SBP = solvers.load("sbp")
CUBIC = Polynomial(1.0, 1.0, 3)  # integers on binary data: no rounding
WIDE = Gaussian(0.1)


@pytest.mark.parametrize(("nu", "passes"), [(0.5, 5), (1e-3, 5), (0.0, 5), (0.3, 300)])
def test_is_algorithm_1(nu, passes):
    """In 300 passes the scale falls below its smallest several times."""
    matrix, labels = toys.binary()
    solver, gram = SBP(nu=nu, passes=passes), (matrix @ matrix.T + 1) ** 3
    state, status = trained(solver, toys.problem(matrix, labels, "ones"), CUBIC)
    alphas, level = responses_kept.sbp(gram, 2.0 * labels - 1, nu, passes * 60, rng(4, "sbp"))
    assert status == Status.DONE
    assert solver.measures(state).objective == pytest.approx(level, rel=1e-9)
    expected = gram @ (alphas * (2.0 * labels - 1)) / (level if level > 0 else 1)
    np.testing.assert_allclose(solver.model(state).scores(state.problem.train)[:, 0], expected, rtol=1e-8)
    assert (state.counters[[PRESENTED, STEPS, UPDATES]] == passes * 60).all()
    assert state.counters[KERNEL_EVALUATIONS] == passes * 60 * 60


def trained(solver, problem, kernel=WIDE, seed=4):
    state = solver.start(problem, kernel, seed)
    return state, solver.advance(state, Until())


def exact(matrix, labels, regularization, bias):
    """Solve the regularised problem; return w* by its length and the responses, and nu of Lemma 2.1."""
    signs, C = 2.0 * labels - 1, 1 / (regularization * len(labels))
    gram = np.exp(-WIDE.gamma * ((matrix[:, None] - matrix) ** 2).sum(axis=2))
    patterns = signs[:, None] * gram * signs
    if not bias:
        alphas, _ = quadratic_programs.soft_margin(patterns, C)
        offset = 0.0
    else:
        balance = {"type": "eq", "fun": lambda a: signs @ a, "jac": lambda a: signs}
        alphas = minimize(
            lambda a: a @ patterns @ a / 2 - a.sum(),
            np.zeros(len(signs)),
            jac=lambda a: patterns @ a - 1,
            bounds=[(0, C)] * len(signs),
            constraints=balance,
            method="SLSQP",
            options={"maxiter": 1000, "ftol": 1e-13},
        ).x
        offset = min(signs - signs * (patterns @ alphas), key=lambda b: loss(patterns @ alphas, signs * b))
    responses = patterns @ alphas
    length, primal = np.sqrt(alphas @ responses), alphas @ responses / 2 + C * loss(responses, signs * offset)
    assert primal - (alphas.sum() - alphas @ responses / 2) < 1e-6 * primal
    return length, loss(responses, signs * offset) / len(signs) / length


def loss(responses, offsets):
    return np.maximum(0, 1 - responses - offsets).sum()


@pytest.mark.parametrize("bias", [False, True])
def test_f_rises_to_the_optimum_of_the_matching_problem(bias):
    """The optimum is 1 / ||w*||; the theory of the steps promises 3 / sqrt(T) below it on average."""
    matrix, labels = toys.real(n=50)
    length, nu = exact(matrix, labels, 0.02, bias)
    solver = SBP(nu=nu, bias=bias, passes=2000)
    state, _ = trained(solver, toys.problem(matrix, labels, "dense"))
    found = solver.measures(state).objective
    assert 1 / length - 3 / np.sqrt(2000 * 50) < found <= 1 / length * (1 + 1e-6)
    assert found > 0.97 / length
    responses = (2.0 * labels - 1) * solver.model(state).scores(state.problem.train)[:, 0]
    assert np.maximum(0, 1 - responses).mean() == pytest.approx(nu / found, rel=1e-5)  # gamma is 1 once divided by it


@pytest.mark.parametrize("bias", [False, True])
def test_nu_is_derived_from_the_regularised_problem(bias):
    """Lemma 2.1: at the nu of the reference the optimum of f is 1 / ||w*||, of the same w."""
    matrix, labels = toys.real(n=50, seed=1)
    problem = toys.problem(matrix, labels, "dense")
    reference = solvers.load("kernel-optimum")(regularization=0.02, bias=bias)
    state, _ = trained(reference, problem)
    optimum = reference.measures(state)
    length, nu = exact(matrix, labels, 0.02, bias)
    assert optimum.nu == pytest.approx(nu, rel=1e-3)
    solver = SBP(nu=optimum.nu, bias=bias, passes=2000)
    found, _ = trained(solver, problem)
    assert solver.measures(found).nu == optimum.nu
    assert 0.97 / length < solver.measures(found).objective <= 1 / length * (1 + 1e-3)
    scores, best = (each.scores(problem.train)[:, 0] for each in (solver.model(found), reference.model(state)))
    np.testing.assert_allclose(scores, best, atol=0.1)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"nu": -0.1}, "nu is -0.1"),
        ({"nu": float("nan")}, "nu is nan"),
        ({"nu": float("inf")}, "nu is inf"),
    ],
)
def test_bad_parameters_are_refused(parameters, message):
    with pytest.raises(UserError, match=message):
        SBP(**parameters)


def test_slack_for_everything_is_refused():
    with pytest.raises(UserError, match="choose a smaller nu"):
        SBP(nu=2.0).start(toys.problem(*toys.binary(), "ones"), WIDE, 0)


def test_rows_of_zeros_are_refused():
    matrix, labels = toys.binary()
    with pytest.raises(UserError, match="nothing can be learned"):
        SBP(nu=0.1).start(toys.problem(0 * matrix, labels, "dense"), Linear(), 0)


@pytest.mark.real_data
def test_the_error_on_adult_falls_as_in_figure_2(shared_home):
    problem = load_problem(catalog.card("adult"), shared_home)
    solver = SBP(nu=0.011)
    state = solver.start(problem, Gaussian(0.05), 0)
    for epochs, percent in ((0.1, 15.4), (1, 14.9)):
        solver.advance(state, more(state, presented=int(epochs * problem.n) - int(state.counters[PRESENTED])))
        error = 100 * (solver.model(state).labels(problem.test) != problem.test_labels).mean()
        assert error == pytest.approx(percent, abs=0.3)
