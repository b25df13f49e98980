import tracemalloc

import numpy as np
import pytest

from mpu_bench import solvers
from mpu_bench.core.counters import KERNEL_EVALUATIONS, PRESENTED, STEPS, UPDATES
from mpu_bench.core.problem import Problem
from mpu_bench.core.rows import Sparse
from mpu_bench.core.solver import Status
from mpu_bench.errors import ConfigError, UserError
from mpu_bench.kernels import Gaussian, Linear, Polynomial
from oracles import meb, toys
from oracles.meb import CASES, one_feature, products_of, trained, weights
from oracles.toys import more

GAUSSIAN = Gaussian(0.25)


@pytest.mark.parametrize("n", [60, 300])
@pytest.mark.parametrize(("name", "kernel"), CASES, ids=str)
def test_the_optimum_of_an_exact_program(name, kernel, n):
    """(1 - eps') g* <= g <= g*, and what the state carries is what its definition gives."""
    problem, eps = toys.problem(*toys.real(n=n), "dense"), 1e-3 if name == "fw" else 1e-5
    solver = solvers.load(name)(C=2.0, eps=eps, confirm="all")
    state, status = trained(solver, problem, kernel)
    assert status == Status.DONE
    products, alphas = products_of(problem, kernel, 2.0), weights(state)
    assert (alphas >= 0).all()
    assert alphas.sum() == pytest.approx(1, abs=1e-12)
    assert state.core.active[0] == (len(state.core.members) and np.count_nonzero(alphas)) or name == "cvm"
    square = alphas @ products @ alphas
    constant, radius = state.ball.delta2[0], state.ball.r2[0]
    assert constant == pytest.approx(products[0, 0], rel=1e-6)
    assert constant - radius == pytest.approx(square, rel=1e-6)
    slots = state.core.slots >= 0
    carried = state.core.responses[state.core.slots[slots]] * state.ball.scale[0]
    np.testing.assert_allclose(carried, (products @ alphas)[slots], rtol=1e-5, atol=1e-6 * square)
    best = constant - meb.least_square(products)[1]
    enough = 2 * eps + eps**2
    assert (1 - enough) * best - 1e-7 <= radius <= best + 1e-7
    measures = solver.measures(state)
    assert measures.dual_objective == pytest.approx(radius, rel=1e-7)
    assert measures.objective >= best - 1e-7
    assert 0 <= measures.gap <= enough + 1e-7


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", ["fw", "mfw"])
def test_a_point_that_is_shorter_than_its_response_is_not_overshot(name, seed):
    """With k~_ii < s_i an exact step would end beyond the point, where its weight is above 1 and all others below 0."""
    random = np.random.default_rng(0)
    matrix = random.uniform(1, 10, (400, 1))
    matrix[:12] = random.uniform(0.02, 0.2, (12, 1))
    matrix[-1] = -5.0
    problem = toys.problem(matrix, (np.arange(400) < 399).astype(np.int32), "dense")
    state, status = trained(solvers.load(name)(C=1000.0, eps=1e-4, sampling="all"), problem, Linear(), seed=seed)
    assert status == Status.DONE
    alphas = weights(state)
    assert (alphas >= 0).all()
    assert alphas.sum() == pytest.approx(1, abs=1e-12)
    best = state.ball.delta2[0] - meb.least_square(products_of(problem, Linear(), 1000.0))[1]
    assert state.ball.r2[0] == pytest.approx(best, rel=1e-3)


@pytest.mark.parametrize(("name", "kernel"), CASES, ids=str)
def test_the_radius_never_falls_and_never_passes_the_optimum(name, kernel):
    problem = toys.problem(*toys.real(n=90, seed=3), "dense")
    products = products_of(problem, kernel, 4.0)
    best = products[0, 0] - meb.least_square(products)[1]
    solver, radii = solvers.load(name)(C=4.0, sampling=20, confirm=2), []
    state = solver.start(problem, kernel, 1)
    for _ in range(300):
        radii.append(state.ball.r2[0])
        solver.advance(state, more(state, presented=1))
    assert (np.diff(radii) >= -1e-12 * abs(radii[-1])).all()
    assert radii[-1] <= best + 1e-6 * abs(best)
    assert radii[-1] > radii[0]


@pytest.mark.parametrize("name", ["cvm", "fw"])
def test_what_is_counted(name):
    """20^2 for the first ball, |active| for each of the points scored and for the new vertex."""
    problem = toys.problem(*toys.real(n=100), "dense")
    solver = solvers.load(name)(sampling=30)
    state = solver.start(problem, GAUSSIAN, 0)
    expected = 400
    assert state.counters[KERNEL_EVALUATIONS] == expected
    for _ in range(30):
        before = int(state.core.active[0])
        solver.advance(state, more(state, presented=1))
        expected += 30 * before + (before if name == "cvm" else int(state.core.active[0]))
        assert state.counters[KERNEL_EVALUATIONS] == expected
    assert state.counters[PRESENTED] == state.counters[STEPS] == 30
    assert state.counters[UPDATES] == 30 if name == "fw" else state.counters[UPDATES] >= 30


@pytest.mark.parametrize("name", ["cvm", "fw", "mfw"])
def test_a_few_examples(name):
    """Fewer than the first ball is made of."""
    problem = toys.problem(np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), np.array([0, 1, 1], np.int32), "dense")
    solver = solvers.load(name)(C=1.0, sampling="all")
    state, status = trained(solver, problem)
    assert status == Status.DONE
    square = meb.least_square(products_of(problem, GAUSSIAN, 1.0))[1]
    assert state.ball.r2[0] == pytest.approx(3 - square, rel=1e-6)
    assert list(solver.model(state).labels(problem.train)) == [0, 1, 1]


@pytest.mark.parametrize("name", ["cvm", "fw", "mfw"])
def test_bad_parameters_are_refused(name):
    solver, problem = solvers.load(name), toys.problem(*toys.real(), "dense")
    for wrong in ({"C": 0.0}, {"C": -1.0}, {"eps": 0.0}, {"sampling": 0}, {"confirm": -1}, {"confirm": "some"}):
        with pytest.raises(ConfigError, match=f"{name}: {next(iter(wrong))} is"):
            solver(**wrong)
    with pytest.raises(UserError, match="scale the features down"):
        solvers.load("fw")().start(
            toys.problem(problem.train.values * 1e5, problem.labels, "dense"), Polynomial(0.5, 1.0, 5), 0
        )


@pytest.mark.parametrize("name", ["cvm", "fw", "mfw"])
@pytest.mark.parametrize("C", [1e-200, 1e-300, 4e-16])
def test_too_small_a_weight_of_the_losses_is_refused(name, C):
    problem = toys.problem(*toys.real(), "dense")
    with pytest.raises(ConfigError, match=f"^{name}: C, times the largest weight, is {C}; it must be at least 5e-16"):
        solvers.load(name)(C=C).start(problem, GAUSSIAN, 0)
    assert trained(solvers.load(name)(C=1e-15), problem)[1] == Status.DONE


#: bytes by example: its place in the order samples are drawn from, its slot, where its row is kept, and its response
#: when it was last computed
PER_EXAMPLE = 4 + 4 + 4 + 8 + 8


def after_some_steps(name, n, kernel):
    """Take steps; give the arrays of the state beside the examples, and the most memory that was taken for them."""
    matrix = np.random.default_rng(0).random((n, 4), np.float32)
    problem = toys.problem(matrix, (matrix[:, 0] > 0.5).astype(np.int32), "dense")
    solver = solvers.load(name)(C=10.0, cache_mb=2.0)
    tracemalloc.start()
    state, _ = trained(solver, problem, kernel, presented=300)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert np.shares_memory(state.examples.rows.dense, problem.train.values)
    arrays = {
        path: array for path, array in toys.arrays_of(state).items() if not path.startswith(("problem", "examples"))
    }
    return arrays, most


@pytest.mark.parametrize(("name", "kernel"), [("cvm", GAUSSIAN), ("mfw", GAUSSIAN), ("fw", Polynomial(0.5, 1.0, 2))])
def test_memory_beside_the_examples_is_five_numbers_for_each(name, kernel):
    """Nothing of n d or n m; five million examples, as KDD99 has, take 28 bytes each while steps are taken."""
    trained(solvers.load(name)(), toys.problem(*toys.real(n=100), "dense"), kernel, presented=50)  # compiles
    few, some = after_some_steps(name, 10_000, kernel)[0], after_some_steps(name, 100_000, kernel)[0]
    assert sum(max(some[path].nbytes - few[path].nbytes, 0) for path in some) == PER_EXAMPLE * 90_000
    _, most = after_some_steps(name, 5_000_000, kernel)
    checking = 0 if isinstance(kernel, type(GAUSSIAN)) else 16  # ||x||^2 and K(x, x), let go before the rest is taken
    assert most < max(PER_EXAMPLE, checking) * 5_000_000 + 20 * 2**20


#: in double precision, as the classifiers' tests have it: less is compiled
ENDLESS = toys.problem(*toys.real(n=40, seed=3), "dense64")


@pytest.mark.parametrize("name", ["cvm", "mfw"])
def test_a_tolerance_below_rounding_ends_all_the_same(name):
    """Kernel values are in double precision then, and the run ends where rounding leaves nothing to gain."""
    solver = solvers.load(name)(C=10.0, eps=1e-300, sampling="all")
    state, status = trained(solver, ENDLESS, presented=20_000)
    assert status == Status.DONE
    assert state.core.kept.dtype == np.float64
    best = state.ball.delta2[0] - meb.least_square(products_of(ENDLESS, GAUSSIAN, 10.0))[1]
    assert state.ball.r2[0] == pytest.approx(best, rel=1e-12)
    assert 0 <= solver.measures(state).gap < 1e-11


@pytest.mark.parametrize("name", ["cvm", "mfw"])
def test_an_iteration_makes_a_bounded_number_of_moves_and_another_goes_on(name):
    """So that a clock is looked at; slices come to what one long advance does."""
    problem = one_feature(kind="dense64")
    kernel = Gaussian(1e-6) if name == "cvm" else Linear()
    solver = solvers.load(name)(C=1e6, sampling="all", eps=1e-12)
    state = solver.start(problem, kernel, 0)
    for _ in range(3):
        before = int(state.counters[UPDATES])
        solver.advance(state, more(state, presented=1))
        assert state.counters[UPDATES] - before <= 1 << 16
    whole, _ = trained(solver, problem, kernel, presented=3)
    np.testing.assert_array_equal(weights(state), weights(whole))


@pytest.mark.parametrize("name", ["cvm", "mfw"])
@pytest.mark.parametrize("broken", ["responses", "r2"])
def test_numbers_that_are_none_are_told(name, broken):
    solver = solvers.load(name)(sampling="all")
    state = solver.start(ENDLESS, GAUSSIAN, 0)
    (state.core.responses if broken == "responses" else state.ball.r2)[:] = np.nan
    assert solver.advance(state, more(state, presented=5)) == Status.DIVERGED
    assert solver.advance(state, more(state, presented=5)) == Status.DIVERGED
    with pytest.raises(UserError, match="not finite"):
        solver.start(ENDLESS, Gaussian(np.inf), 0)


@pytest.mark.parametrize("sampling", [10, "all"])
@pytest.mark.parametrize("name", ["cvm", "mfw", "fw"])
def test_with_stop_it_ends_by_the_gap_of_the_svm(name, sampling):
    problem, most = toys.problem(*toys.real(n=90, seed=3), "dense"), 1e-2
    solver = solvers.load(name)(C=50.0, sampling=sampling, stop=most)
    state, status = trained(solver, problem)
    assert status == Status.DONE
    products, alphas = products_of(problem, GAUSSIAN, 50.0), weights(state)
    square, best = alphas @ products @ alphas, meb.least_square(products)[1]
    measures = solver.measures(state)
    assert measures.dual_objective == pytest.approx(1 / square, rel=1e-6)
    assert square / best - 1 <= measures.gap <= most
    assert measures.objective >= 1 / best


def test_all_points_are_asked_before_it_ends():
    problem = toys.problem(*toys.real(n=200, seed=3), "dense")
    solver = solvers.load("mfw")(C=2.0, sampling=5, confirm="all", eps=1e-3)
    state, status = trained(solver, problem)
    assert status == Status.DONE
    assert state.search.agreed[0] == 200
    assert solver.measures(state).gap <= 2e-3 + 1e-6


@pytest.mark.parametrize("name", ["cvm", "fw", "mfw"])
def test_rows_of_words_train_as_with_their_own_columns_alone(name):
    """By columns, the first 256 vectors of a million features would take a gigabyte."""
    random, n, features = np.random.default_rng(0), 200, 1_000_000
    indices = np.sort(random.integers(0, features, (n, 50)), axis=1)
    indices[:, 0] = random.integers(0, 10, n)
    values, starts = random.random(indices.size, np.float32), np.arange(n + 1, dtype=np.uint32) * 50
    labels = (indices[:, 0] % 2).astype(np.int32)
    used, renamed = np.unique(indices, return_inverse=True)
    objectives = []
    for columns, d in ((indices, features), (renamed, len(used))):
        rows = Sparse(values, columns.ravel().astype(np.uint32), starts)
        problem = Problem("words", rows, labels, rows, labels, d, ("a", "b"), f"words-{d}")
        solver = solvers.load(name)(C=2.0, eps=1e-4, confirm="all", cache_mb=1.0)
        tracemalloc.start()
        state, status = trained(solver, problem, GAUSSIAN)
        assert tracemalloc.get_traced_memory()[1] < 3e8
        tracemalloc.stop()
        assert status == Status.DONE
        objectives.append(solver.measures(state).objective)
    assert objectives[0] == pytest.approx(objectives[1], rel=1e-3)
