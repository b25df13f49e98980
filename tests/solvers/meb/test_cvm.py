import numpy as np
import pytest

from mpu_bench import solvers
from mpu_bench.core.counters import PRESENTED, UPDATES, new_counters
from mpu_bench.core.problem import Problem
from mpu_bench.core.rows import Sparse
from mpu_bench.core.solver import Status
from mpu_bench.errors import ConfigError
from mpu_bench.kernels import Gaussian, Linear, Polynomial
from mpu_bench.solvers.meb.conjugate import step_of_all
from oracles import meb, toys
from oracles.meb import products_of, trained, weights


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


def ended(problem, **parameters):
    """Return cvm's state at its end, and how far its R and its certificate are from the optimum."""
    solver = solvers.load("cvm")(stop=1e-3, **parameters)
    state, status = trained(solver, problem)
    assert status == Status.DONE
    products, alphas = products_of(problem, Gaussian(0.25), solver.C), weights(state)
    assert (alphas >= 0).all()
    assert alphas.sum() == pytest.approx(1, abs=1e-12)
    distance = alphas @ products @ alphas / meb.least_square(products)[1] - 1
    return state, distance, solver.measures(state).gap


@pytest.mark.parametrize("sampling", [10, "all"])
@pytest.mark.parametrize("C", [0.1, 50.0])
def test_adding_all_that_are_too_far_ends_as_near_the_optimum_in_fewer_iterations(C, sampling):
    problem = toys.problem(*toys.real(n=300, seed=3), "dense")
    one, *_ = ended(problem, C=C, sampling=sampling)
    every, distance, gap = ended(problem, C=C, sampling=sampling, add="all")
    assert distance <= gap <= 1e-3
    assert every.counters[PRESENTED] < one.counters[PRESENTED]
    assert every.core.active[0] == np.count_nonzero(weights(every))


def test_adding_all_where_rows_come_twice_and_with_both_labels():
    matrix, labels = toys.real(n=60)
    problem = toys.problem(np.vstack([matrix, matrix, matrix]), np.concatenate([labels, labels, 1 - labels]), "dense")
    _, distance, gap = ended(problem, C=10.0, sampling=20, add="all")
    assert distance <= gap <= 1e-3


def test_adding_all_in_slices_is_what_one_long_run_does():
    problem = toys.problem(*toys.real(n=300, seed=3), "dense")
    solver = solvers.load("cvm")(C=10.0, sampling=10, stop=1e-3, add="all", cache_mb=0.05)
    whole, _ = trained(solver, problem)
    state = solver.start(problem, Gaussian(0.25), 0)
    while solver.advance(state, toys.more(state, presented=1)) == Status.RUNNING:
        pass
    np.testing.assert_array_equal(weights(state), weights(whole))
    np.testing.assert_array_equal(state.counters, whole.counters)


def test_a_step_of_all_waits_for_no_more_values_than_some_seconds_compute():
    problem = toys.problem(*toys.real(n=30_000), "dense")
    examples, core = meb.core_set_with(problem, Gaussian(0.25), 2.0, np.ones(problem.n))
    weighted, counters = core.coefficients.copy(), new_counters()
    assert step_of_all(core, examples, 0.5, counters) == 0.5
    assert not counters.any()
    np.testing.assert_array_equal(core.coefficients, weighted)


def test_adding_all_to_rows_of_words_gives_what_their_own_columns_give():
    """Those are kept sparse, in entries that must be there for each row that joins."""
    random, n, features = np.random.default_rng(0), 200, 1_000_000
    indices = np.sort(random.integers(0, features, (n, 50)), axis=1)
    indices[:, 0] = random.integers(0, 10, n)
    values, starts = random.random(indices.size, np.float32), np.arange(n + 1, dtype=np.uint32) * 50
    labels, (used, renamed) = (indices[:, 0] % 2).astype(np.int32), np.unique(indices, return_inverse=True)
    objectives = []
    for columns, d in ((indices, features), (renamed, len(used))):
        rows = Sparse(values, columns.ravel().astype(np.uint32), starts)
        problem = Problem("words", rows, labels, rows, labels, d, ("a", "b"), f"words-{d}")
        solver = solvers.load("cvm")(C=2.0, stop=1e-4, add="all", cache_mb=1.0)
        state, status = trained(solver, problem)
        assert status == Status.DONE
        objectives.append(solver.measures(state).objective)
    assert objectives[0] == pytest.approx(objectives[1], rel=2e-4)
