import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mpu_bench import kernels, solvers
from mpu_bench.core.clock import UNTIMED
from mpu_bench.core.counters import KERNEL_COMPUTED, KERNEL_EVALUATIONS, PRESENTED, STEPS, UPDATES
from mpu_bench.core.solver import Status, Until
from mpu_bench.core.stream import Stream
from mpu_bench.errors import DataError, UserError
from mpu_bench.kernels import Gaussian, Polynomial
from oracles import projectron, toys
from oracles.toys import more

Projectron = solvers.load("projectron++")
GAMMA = 0.2


def a_problem(classes, kind="dense", n=300, seed=0):
    """Give rows of which some are equal, and labels that no hypothesis explains all of."""
    random = np.random.default_rng(seed)
    matrix = random.normal(size=(n, 5)).astype(np.float32).astype(float)
    matrix[random.random(matrix.shape) < 0.2] = 0.0
    matrix[n // 2 : n // 2 + 20] = matrix[:20]
    labels = (np.floor(matrix[:, 0] + matrix[:, 1] ** 2).astype(int) % classes).astype(np.int32)
    labels[:classes] = np.arange(classes)
    labels[::11] = 0
    return toys.problem(matrix, labels, kind), matrix


def test_kernel_values_too_large_for_double_precision_are_refused():
    problem = toys.problem(1e18 * a_problem(2)[1], np.arange(300) % 2, "dense")
    with pytest.raises(DataError, match=r"values of the kernel Polynomial.* may reach inf"):
        Projectron(eta=0.1).start(problem, Polynomial(1.0, 1.0, 9), 0)


@pytest.mark.parametrize("parameters", [{"eta": 0.1}, {"vectors": 398}], ids=str)
def test_a_gaussian_so_narrow_that_a_projection_underflows(parameters):
    random = np.random.default_rng(0)
    problem = toys.problem(random.normal(size=(400, 16)), random.integers(0, 4, 400), "dense")
    state = (solver := Projectron(**parameters)).start(problem, Gaussian(16.0), 0)
    assert solver.advance(state, Until()) == Status.DONE
    assert np.isfinite(solver.model(state).coefficients).all()


def gram_of(matrix):
    return np.exp(-GAMMA * ((matrix[:, None] - matrix) ** 2).sum(axis=2))


def run(solver, problem, seed=1):
    state = solver.start(problem, Gaussian(GAMMA), seed)
    assert solver.advance(state, Until()) == Status.DONE
    return state


def order_of(problem, passes=1, seed=1):
    stream = Stream(problem, seed)
    return [i for p in range(passes) for i in stream.at(p * problem.n)[0].order]


def plain(gram, problem, eta, passes=1):
    """Run the plain version on the order of `run`; gives its scores of all rows and the rest of its results."""
    order = order_of(problem, passes)
    classes = len(problem.classes)
    alpha, *rest = projectron.train(gram[np.ix_(order, order)], problem.labels[order], classes, eta)
    scores = gram[:, order] @ alpha
    if classes == 2:
        np.testing.assert_allclose(scores[:, 0], -scores[:, 1], atol=1e-9)
    return scores[:, 1:] if classes == 2 else scores, *rest


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("eta", [0.05, 0.4, 0.9])
@pytest.mark.parametrize("classes", [2, 4])
def test_is_the_plain_projectron(classes, eta, kind):
    problem, matrix = a_problem(classes, kind)
    state = run(Projectron(eta=eta, passes=2), problem)
    scores, members, errors, changes, evaluations, closest = plain(gram_of(matrix), problem, eta, passes=2)
    assert closest > 1e-9  # no decision hangs on rounding
    assert state.errors[0] == errors
    assert (state.counters[[STEPS, UPDATES]] == changes).all()
    assert (state.counters[[KERNEL_EVALUATIONS, KERNEL_COMPUTED]] == evaluations).all()
    assert state.counters[PRESENTED] == 2 * problem.n
    sizes = [len(each) for each in members]
    assert list(state.spans.factors.sizes) == (sizes[:1] if classes == 2 else sizes)
    np.testing.assert_allclose(Projectron().model(state).scores(problem.test), scores, atol=1e-9)


def test_makes_room_for_as_many_vectors_as_a_small_eta_stores():
    problem, matrix = a_problem(3, n=700)
    state = run(Projectron(eta=1e-3), problem)
    scores, members, *_ = plain(gram_of(matrix), problem, 1e-3)
    assert state.hypothesis.vectors.size[0] == len({i for each in members for i in each}) > 128
    np.testing.assert_allclose(Projectron().model(state).scores(problem.test), scores, atol=1e-9)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**16), eta=st.floats(1e-3, 1.2), classes=st.integers(2, 4))
def test_stores_ever_more_vectors_each_not_in_the_span_of_those_before(seed, eta, classes):
    problem, _ = a_problem(classes, n=80, seed=seed)
    solver = Projectron(eta=eta)
    state, before = solver.start(problem, Gaussian(GAMMA), seed), 0
    while solver.advance(state, more(state, presented=7)) == Status.RUNNING:
        size = int(state.hypothesis.vectors.size[0])
        assert size >= before
        before = size
    f, sets = state.hypothesis, state.spans.factors
    vectors = Projectron().model(state).vectors.values
    for i, m in enumerate(sets.sizes):
        factor, held = sets.factors[i, :m, :m], vectors[sets.members[i, :m]]
        np.testing.assert_allclose(factor @ factor.T, gram_of(held) + 1e-9 * np.eye(m), atol=1e-13)
        outside = f.coefficients[i].copy()
        outside[sets.members[i, :m]] = 0
        assert not outside.any()
    if eta > 1:
        assert f.vectors.size[0] == 0  # the projection on nothing is near enough


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("vectors", [5, 20, 40])
def test_the_eta_searched_ends_at_the_vectors_wanted(classes, vectors):
    problem, _ = a_problem(classes)
    solver = Projectron(vectors=vectors)
    state = run(solver, problem)
    model = solver.model(state)
    assert vectors - 2 <= model.support_vectors <= vectors
    assert state.counters[PRESENTED] == problem.n  # the search is not counted
    given_eta = run(Projectron(eta=state.sparseness.eta), problem)
    np.testing.assert_allclose(Projectron().model(given_eta).scores(problem.test), model.scores(problem.test))
    found = re.fullmatch(
        r"eta (\S+)( - (\S+))? for (\d+) vectors found by (\d+) tries, (\S+) passes, (\S+) s, not counted",
        solver.note(state),
    )
    assert float(found[1]) - float(found[3] or 0) == pytest.approx(state.sparseness.eta, rel=1e-5)
    assert int(found[4]) == vectors
    assert 0 < float(found[6]) <= int(found[5])
    assert Projectron().note(given_eta) == ""


def test_the_search_is_untimed():
    problem, _ = a_problem(2)
    before = UNTIMED.seconds
    state = Projectron(vectors=10).start(problem, Gaussian(GAMMA), 1)
    spent = UNTIMED.seconds - before
    assert spent == pytest.approx(state.search.seconds, abs=0.05)


def test_resolves_an_eta_that_differs_from_one_by_less_than_rounding():
    rows = np.arange(12.0)[:, None] * 9.0  # kernel values exp(-81) = 7e-36 at most: all squared distances round to 1
    problem = toys.problem(np.repeat(rows, 3, axis=0), np.repeat(np.arange(12, dtype=np.int32) % 3, 3), "dense")
    solver = Projectron(vectors=6)
    state = solver.start(problem, Gaussian(1.0), 0)
    solver.advance(state, Until())
    assert state.sparseness.eta == 1.0
    assert 0 < state.sparseness.complement < 1e-60
    assert 3 <= solver.model(state).support_vectors <= 6
    assert solver.note(state).startswith("eta 1 - ")


def test_more_vectors_than_there_are_examples_stores_what_there_is():
    problem, _ = a_problem(3, n=60)
    solver = Projectron(vectors=1000)
    assert 0 < solver.model(run(solver, problem)).support_vectors <= 60


def test_refuses_what_makes_no_sense():
    problem, _ = a_problem(4)
    for parameters, message in (
        ({"eta": 0.0}, "eta is 0.0; it must be above 0"),
        ({"eta": float("nan")}, "eta is nan"),
        ({"vectors": 0}, "vectors is 0; it must be at least 1"),
        ({"eta": 0.5, "vectors": 100}, "give either eta or vectors, not both"),
    ):
        with pytest.raises(UserError, match=re.escape(message)):
            Projectron(**parameters)
    with pytest.raises(
        UserError, match="more than 1 vectors are stored on toy even with the largest eta; raise the budget"
    ):
        Projectron(vectors=1).start(problem, Gaussian(GAMMA), 0)


def test_takes_kernels_whose_values_with_themselves_differ():
    problem, matrix = a_problem(3)
    state = Projectron(eta=3.0).start(problem, kernels.Polynomial(1.0, 1.0, 2), 1)
    Projectron(eta=3.0).advance(state, Until())
    scores, members, errors, *_ = plain((matrix @ matrix.T + 1) ** 2, problem, 3.0)
    assert state.errors[0] == errors
    assert list(state.spans.factors.sizes) == [len(each) for each in members]
    np.testing.assert_allclose(Projectron().model(state).scores(problem.test), scores, rtol=1e-9, atol=1e-9)
