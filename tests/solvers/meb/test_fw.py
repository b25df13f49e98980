import pytest

from mpu_bench.solvers.meb.fw import FW, _multiply_out
from oracles import toys
from oracles.meb import KERNELS, frank_wolfe, products_of, trained, weights
from oracles.toys import more


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_steps_are_those_of_the_algorithm_as_printed(kernel):
    """From the same first ball; both search all points. Ties make the runs part sooner or later."""
    problem = toys.problem(*toys.real(n=80, seed=5), "dense")
    solver = FW(C=2.0, sampling="all")
    state = solver.start(problem, kernel, 2)
    _, radii = frank_wolfe(products_of(problem, kernel, 2.0), weights(state), 1e-6, False, 40)
    for radius in radii:
        assert state.ball.r2[0] == pytest.approx(radius, rel=1e-6)
        solver.advance(state, more(state, presented=1))


def test_a_scale_that_overflows_is_multiplied_out():
    problem, solver = toys.problem(*toys.real(n=80), "dense"), FW(C=2.0, sampling=20)
    state, _ = trained(solver, problem, presented=300)
    before = weights(state), state.core.responses * state.ball.scale, state.ball.bias[0] * state.ball.scale[0]
    _multiply_out(state.core, state.history, state.ball[0])
    after = weights(state), state.core.responses, state.ball.bias[0]
    assert state.ball.scale[0] == 1.0
    for left, right in zip(before, after, strict=True):
        assert left == pytest.approx(right, rel=1e-12)
