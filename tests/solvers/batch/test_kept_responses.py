"""Numbers that are not finite end a run, whatever they come from, and nothing is read beyond an array."""

from dataclasses import replace

import numpy as np
import pytest

from mpu_bench.core.lru import full_lru
from mpu_bench.core.solver import Status, Until
from mpu_bench.kernels import Gaussian
from oracles import toys


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("number", [np.nan, np.inf])
@pytest.mark.parametrize("name", ["smo", "sdca", "pegasos-kernel", "sbp"])
def test_a_kernel_value_that_is_not_finite_makes_a_run_diverge(name, number, bias):
    solver = toys.solver_named(name)
    if bias and not hasattr(solver, "bias"):
        return
    solver = replace(solver, bias=bias) if bias else solver
    state = solver.start(toys.problem(*toys.real(), "dense"), Gaussian(0.25), 0)
    state.gram.kept[:] = number
    state = state._replace(gram=state.gram._replace(lru=full_lru(60)))  # all rows are there
    assert solver.advance(state, Until(presented=10_000)) == Status.DIVERGED
    solver.measures(state)
    solver.model(state)
