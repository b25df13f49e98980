import numpy as np
import pytest

from mpu_bench import solvers
from mpu_bench.core.counters import UPDATES
from mpu_bench.core.solver import Status
from mpu_bench.errors import ConfigError
from mpu_bench.kernels import Gaussian, Linear, Polynomial
from oracles import meb, toys
from oracles.meb import products_of, trained


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(1.0, 1.0, 2)], ids=str)
def test_cvm_refuses_what_is_no_ball(kernel):
    problem = toys.problem(*toys.real(), "dense")
    with pytest.raises(ConfigError, match=r"K\(x, x\) must be the same .* fw and mfw can"):
        solvers.load("cvm")().start(problem, kernel, 0)


def test_cvm_takes_rows_of_one_length():
    matrix, labels = toys.real(n=80)
    matrix[:, 0] += 3.0
    matrix = (matrix / np.linalg.norm(matrix, axis=1, keepdims=True)).astype(np.float32)
    solver = solvers.load("cvm")(C=2.0, confirm="all")
    problem = toys.problem(matrix, labels, "dense")
    state, status = trained(solver, problem, Linear())
    assert status == Status.DONE
    square = meb.least_square(products_of(problem, Linear(), 2.0))[1]
    assert state.ball.delta2[0] - state.ball.r2[0] == pytest.approx(square, rel=1e-4)


@pytest.mark.parametrize("inner_tolerance", [0.1, 0.001])
def test_a_tighter_inner_tolerance_gives_the_same_ball_with_more_moves(inner_tolerance):
    problem = toys.problem(*toys.real(n=80), "dense")
    ended = [
        trained(solvers.load("cvm")(C=2.0, confirm="all", inner_tolerance=each), problem)
        for each in (None, inner_tolerance)
    ]
    assert [status for _, status in ended] == [Status.DONE, Status.DONE]
    loose, tight = (state for state, _ in ended)
    square = meb.least_square(products_of(problem, Gaussian(0.25), 2.0))[1]
    for state in (loose, tight):
        assert state.ball.delta2[0] - state.ball.r2[0] == pytest.approx(square, rel=1e-4)
    assert tight.counters[UPDATES] > loose.counters[UPDATES]
