import numpy as np
import pytest

from mpu_bench import solvers
from mpu_bench.core.counters import KERNEL_EVALUATIONS, PRESENTED, STEPS, UPDATES
from mpu_bench.core.rng import rng
from mpu_bench.core.solver import Status, Until
from mpu_bench.errors import UserError
from mpu_bench.kernels import Polynomial
from oracles import quadratic_programs, responses_kept, toys

Pegasos = solvers.load("pegasos-kernel")
QUADRATIC = Polynomial(1.0, 1.0, 2)  # integers on binary data: no rounding


@pytest.mark.parametrize("regularization", [0.01, 1.0])
def test_is_the_plain_algorithm_and_keeps_its_bound(regularization):
    """The regret bound: (1/T) sum f(w_t; i_t) exceeds that of any u by at most (2R)^2 (1 + ln T) / (2 lambda T)."""
    matrix, labels = toys.binary()
    signs, gram = 2.0 * labels - 1, (matrix @ matrix.T + 1) ** 2
    solver = Pegasos(regularization, passes=50)
    state = solver.start(toys.problem(matrix, labels, "ones"), QUADRATIC, 2)
    assert solver.advance(state, Until()) == Status.DONE
    T = 50 * 60
    alphas, drawn, losses = responses_kept.pegasos(gram, signs, regularization, T, rng(2, "pegasos-kernel"))
    np.testing.assert_allclose(state.work.alphas / (regularization * T), alphas, rtol=1e-9)
    scores = solver.model(state).scores(state.problem.train)[:, 0]
    np.testing.assert_allclose(scores, gram @ (signs * alphas), rtol=1e-9)

    C, patterns = 1 / (60 * regularization), signs[:, None] * gram * signs
    optimum, value = quadratic_programs.soft_margin(patterns, C)
    best = regularization / 2 * optimum @ patterns @ optimum + np.maximum(0, 1 - patterns @ optimum)[drawn].mean()
    assert losses.mean() <= best + 4 * gram.max() * (1 + np.log(T)) / (2 * regularization * T)
    objective = alphas @ patterns @ alphas / 2 + C * np.maximum(0, 1 - patterns @ alphas).sum()
    assert solver.measures(state).objective == pytest.approx(objective)
    assert objective >= value

    assert state.counters[PRESENTED] == T
    assert state.counters[STEPS] == state.counters[UPDATES] == state.work.alphas.sum() < T
    assert state.counters[KERNEL_EVALUATIONS] == 60 * state.counters[STEPS]


def test_bad_parameters_are_refused():
    with pytest.raises(UserError, match="regularization is 0"):
        Pegasos(0.0)
    with pytest.raises(UserError, match="passes is 0"):
        Pegasos(1.0, passes=0)
