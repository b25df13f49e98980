import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.svm import LinearSVC

from mpu_bench import solvers
from mpu_bench.core.counters import UPDATES
from mpu_bench.core.solver import Status, Until
from mpu_bench.kernels import Gaussian, Polynomial
from mpu_bench.solvers.online.leaving import shrink
from oracles import budget_perceptrons as plain
from oracles import toys
from oracles.toys import more

Forgetron = solvers.load("forgetron")
COSINE = Polynomial(1.0, 1.0, 5, True)


@settings(max_examples=300)
@given(
    st.floats(1e-9, 1.0),
    st.floats(-100.0, 100.0) | st.floats(-1.0, 1.0) | st.just(0.5),
    st.integers(1, 10**6),
    st.floats(0.0, 1.0),
)
def test_phi_is_the_largest_that_the_condition_allows(sigma, mu, mistakes, used):
    damage = used * 15 / 32 * (mistakes - 1)
    phi, after = shrink(sigma, mu, damage, mistakes)
    searched = plain.largest_phi(sigma, mu, damage, mistakes)
    assert 0 < phi <= 1
    assert phi == pytest.approx(searched, rel=1e-6, abs=1e-12)
    assert after <= 15 / 32 * mistakes
    assert after == pytest.approx(damage + plain.psi(sigma, phi, mu), rel=1e-9, abs=1e-9)


def test_phi_by_hand():
    assert shrink(1.0, 1.0, 0.0, 1) == pytest.approx((1 - np.sqrt(17 / 32), 15 / 32))  # -phi^2 + 2 phi = 15/32


def stream(seed, budget):
    """Give noisy examples of two Gaussian clouds in alternation, so hard that weights must shrink."""
    random = np.random.default_rng(seed)
    labels = (random.random(800) < 0.5).astype(np.int32)
    labels[:2] = 0, 1
    matrix = random.normal(size=(800, 5)) + 0.3 * (2 * labels[:, None] - 1)
    return toys.problem(matrix, labels, "dense64"), Forgetron(vectors=budget, precision="double")


@pytest.mark.parametrize("kernel", [COSINE, Gaussian(0.5)], ids=str)
@pytest.mark.parametrize("budget", [1, 3, 20, 90])
def test_q_stays_within_its_share_at_every_step(budget, kernel):
    problem, solver = stream(2, budget)
    state, shrunk = solver.start(problem, kernel, 0), 0
    for _ in range(problem.n):
        before = np.abs(solver.model(state).coefficients).max(initial=0.0)
        solver.advance(state, more(state, presented=1))
        assert state.leaving.damage[0] <= 15 / 32 * state.mistakes[0]
        weights = np.abs(solver.model(state).coefficients)
        assert (weights <= 1).all()
        shrunk += before == 1 and weights.max() < 1
    assert state.counters[UPDATES] > budget
    assert shrunk > 0 or budget > 20


@pytest.mark.parametrize("seed", range(3))
def test_mistakes_are_within_the_bounds_of_theorems_1_and_2(seed):
    """The competitor: g = sum_k b_k K(z_k, .) with few centres, of the length Theorem 2 allows."""
    budget = 100
    longest = np.sqrt((budget + 1) / np.log(budget + 1)) / 4
    random = np.random.default_rng(seed)
    centres, weights = random.normal(size=(2, 4)), np.array([1.0, -1.0])
    gram = lambda a, b: np.exp(-0.05 * ((a[:, None] - b[None]) ** 2).sum(axis=2))  # noqa: E731
    weights *= longest / np.sqrt(weights @ gram(centres, centres) @ weights)
    matrix = random.normal(size=(3000, 4)) * 2
    g = gram(matrix, centres) @ weights
    labels = np.where(random.random(3000) < 0.02, g < 0, g > 0).astype(np.int32)
    loss = np.maximum(0.0, 1 - (2 * labels - 1) * g).sum()
    problem = toys.problem(matrix, labels, "dense64")
    mistakes = {}
    for name, parameters in (("perceptron", {}), ("forgetron", {"vectors": budget})):
        solver = solvers.load(name)(precision="double", **parameters)
        state = solver.start(problem, Gaussian(0.05), seed)
        assert solver.advance(state, Until()) == Status.DONE
        mistakes[name] = int(state.counters[UPDATES])
    assert mistakes["perceptron"] <= longest**2 + 2 * loss  # Theorem 1
    assert budget < mistakes["forgetron"] <= 2 * longest**2 + 4 * loss  # Theorem 2


def test_theorem_1_where_nothing_is_lost():
    """The competitor: the separating direction, long enough to have no loss; at most ||g||^2 mistakes, ever."""
    matrix, labels = toys.separable(3000, 8, margin=0.2)
    matrix = matrix / np.linalg.norm(matrix, axis=1, keepdims=True)
    signs = 2 * labels - 1
    direction = LinearSVC(C=1e4, fit_intercept=False).fit(matrix, signs).coef_[0]
    bound = 1 / ((signs * (matrix @ direction)).min() / np.linalg.norm(direction)) ** 2
    solver = solvers.load("perceptron")(precision="double", passes=10)
    state = solver.start(toys.problem(matrix, labels, "dense64"), Polynomial(1.0, 0.0, 1), 0)
    solver.advance(state, Until())
    assert 5 < state.counters[UPDATES] <= bound < 3000


def test_large_kernel_values_make_it_perceptron_oldest_and_it_says_so():
    matrix, labels = toys.binary(400, d=100)  # so that K(x, x) is more than all else in f'(x)
    labels = np.where(np.random.default_rng(1).random(400) < 0.3, 1 - labels, labels).astype(np.int32)
    problem, models = toys.problem(matrix, labels, "ones"), []
    for name in ("perceptron-oldest", "forgetron"):
        solver = solvers.load(name)(vectors=20)
        state = solver.start(problem, COSINE._replace(normalize=False), 1)
        solver.advance(state, Until())
        models.append(solver.model(state))
    np.testing.assert_array_equal(models[0].coefficients, models[1].coefficients)
    note = Forgetron(vectors=20).note(state)
    assert note.startswith("K(x, x) is up to")
    assert "Theorem 2 asks for at most 1" in note
    state = Forgetron(vectors=20).start(problem, COSINE, 1)
    Forgetron(vectors=20).advance(state, Until())
    assert Forgetron(vectors=20).note(state) == ""


def test_a_budget_below_one_is_refused():
    with pytest.raises(Exception, match="forgetron: vectors is 0; it must be at least"):
        Forgetron(vectors=0)
