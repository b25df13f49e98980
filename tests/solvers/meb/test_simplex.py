import numpy as np
import pytest

from mpu_bench.core.counters import UPDATES, new_counters
from mpu_bench.kernels import Linear
from mpu_bench.solvers.meb.simplex import MAX_MOVES, RowsOfCoreSet, minimise
from oracles import toys
from oracles.meb import KERNELS, full_core_set, least_square, one_feature, products_of


def minimised(core, examples, R, tolerance, counters):
    """Return R at the minimum of a core set."""
    s = core.responses[: int(core.vectors.size[0])]
    points, weights = RowsOfCoreSet(core.kept, core, examples), (core.signs, core.coefficients, core.diagonal)
    return minimise(points, s, *weights, R, tolerance, MAX_MOVES, counters)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_the_minimum_is_that_of_an_exact_program(kernel):
    problem = toys.problem(*toys.real(n=50), "dense")
    products, counters = products_of(problem, kernel, 2.0), new_counters()
    examples, core = full_core_set(problem, kernel, 2.0)
    R = minimised(core, examples, float(products.mean()), 1e-9, counters)
    alphas = core.signs[: problem.n] * core.coefficients[: problem.n]
    assert (alphas >= 0).all()
    assert alphas.sum() == pytest.approx(1, abs=1e-12)
    assert pytest.approx(alphas @ products @ alphas, rel=1e-5) == R
    assert pytest.approx(least_square(products)[1], rel=1e-5) == R
    np.testing.assert_allclose(core.responses[: problem.n], products @ alphas, rtol=1e-5, atol=1e-6)
    assert counters[UPDATES] > 0


def test_moves_are_bounded_where_curvature_is_small_beside_the_values():
    """The 1/C of the diagonal is 1e-10 of K(x, x): millions of moves would be needed, or rounding takes them all."""
    problem, counters = one_feature(), new_counters()
    examples, core = full_core_set(problem, Linear(), 1e6)
    R = minimised(core, examples, float(core.responses[: problem.n].mean()), 0.0, counters)
    assert 0 < counters[UPDATES] <= 1 << 16
    assert np.isfinite(R)


def test_numbers_that_are_none_end_it():
    problem, counters = one_feature(), new_counters()
    examples, core = full_core_set(problem, Linear(), 1.0)
    core.responses[:] = np.nan
    minimised(core, examples, 1.0, 1e-9, counters)
    assert counters[UPDATES] == 0
