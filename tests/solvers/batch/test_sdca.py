import numpy as np
import pytest

from mpu_bench import solvers
from mpu_bench.core.counters import KERNEL_EVALUATIONS, PRESENTED, STEPS, UPDATES
from mpu_bench.core.solver import Status, Until
from mpu_bench.errors import UserError
from mpu_bench.kernels import Linear, Polynomial
from oracles import quadratic_programs, toys
from oracles.toys import more

SDCA = solvers.load("sdca")
CUBIC = Polynomial(1.0, 1.0, 3)  # integers on binary data: no rounding


@pytest.mark.parametrize("regularization", [1e-3, 1.0])
def test_the_gap_closes_on_the_exact_optimum(regularization):
    matrix, labels = toys.binary()
    signs, C = 2.0 * labels - 1, 1 / (60 * regularization)
    solver = SDCA(regularization, passes=3000)
    state = solver.start(toys.problem(matrix, labels, "ones"), CUBIC, 1)
    assert solver.advance(state, Until()) == Status.DONE
    gram = (matrix @ matrix.T + 1) ** 3
    alphas, optimum = quadratic_programs.soft_margin(signs[:, None] * gram * signs, C)
    found = solver.measures(state)
    assert 0 <= found.gap < 1e-6
    assert found.dual_objective <= optimum * (1 + 1e-9)
    assert found.objective == pytest.approx(optimum, rel=1e-6)
    scores = solver.model(state).scores(state.problem.train)[:, 0]
    np.testing.assert_allclose(scores, gram @ (signs * alphas), rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(signs * scores, state.work.responses, rtol=1e-9)  # what is kept is what is
    assert state.work.alphas.min() >= 0
    assert state.work.alphas.max() <= C
    assert state.counters[PRESENTED] == 3000 * 60
    assert state.counters[STEPS] == state.counters[UPDATES] < state.counters[PRESENTED]
    assert state.counters[KERNEL_EVALUATIONS] == 60 * state.counters[STEPS]


def test_every_step_raises_the_dual():
    solver = SDCA(0.01)
    state = solver.start(toys.problem(*toys.binary(), "ones"), CUBIC, 1)
    before = 0.0
    for _ in range(300):
        solver.advance(state, more(state, presented=1))
        dual = solver.measures(state).dual_objective
        assert dual >= before * (1 - 1e-9)  # but for what it may be wrong
        before = dual


def test_a_zero_row_goes_to_its_bound_at_once():
    matrix, labels = toys.binary()
    solver = SDCA(0.01)
    state = solver.start(toys.problem(matrix, labels, "ones"), Linear(), 1)
    solver.advance(state, Until())
    assert state.work.alphas[30] == pytest.approx(1 / (60 * 0.01))


def test_bad_parameters_are_refused():
    with pytest.raises(UserError, match="regularization is 0"):
        SDCA(0.0)
