import numpy as np
import pytest

from mpu_bench import solvers
from mpu_bench.core.counters import PRESENTED
from mpu_bench.core.solver import Status
from mpu_bench.kernels import Gaussian
from mpu_bench.solvers.meb.mfw import MFW
from oracles import toys
from oracles.meb import KERNELS, frank_wolfe, products_of, trained, weights
from oracles.toys import more

GAUSSIAN = Gaussian(0.25)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_steps_are_those_of_the_algorithm_as_printed(kernel):
    """From the same first ball; both search all points. Ties make the runs part sooner or later."""
    problem = toys.problem(*toys.real(n=80, seed=5), "dense")
    solver = MFW(C=2.0, sampling="all")
    state = solver.start(problem, kernel, 2)
    _, radii = frank_wolfe(products_of(problem, kernel, 2.0), weights(state), 1e-6, True, 40)
    for radius in radii:
        assert state.ball.r2[0] == pytest.approx(radius, rel=1e-6)
        solver.advance(state, more(state, presented=1))


def test_mfw_drops_vectors_and_fw_does_not():
    """The same points are searched; Algorithm 3 ends with fewer of them, after fewer steps."""
    problem = toys.problem(*toys.real(n=150), "dense")
    states = {}
    for name in ("fw", "mfw"):
        solver = solvers.load(name)(C=100.0, eps=1e-3, sampling="all")
        states[name], dropped, state = trained(solver, problem)[0], 0, solver.start(problem, GAUSSIAN, 0)
        before = set(np.flatnonzero(weights(state)))
        while solver.advance(state, more(state, presented=1)) == Status.RUNNING:
            now = set(np.flatnonzero(weights(state)))
            dropped += len(before - now)
            before = now
        assert (dropped > 0) == (name == "mfw")
    assert states["mfw"].core.active[0] <= states["fw"].core.active[0]
    assert states["mfw"].counters[PRESENTED] < states["fw"].counters[PRESENTED]
