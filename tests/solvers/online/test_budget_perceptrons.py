import numpy as np
import pytest

from mpu_bench import solvers
from mpu_bench.core.counters import KERNEL_COMPUTED, KERNEL_EVALUATIONS, STEPS, UPDATES
from mpu_bench.core.solver import Status, Until
from mpu_bench.core.stream import Stream
from mpu_bench.kernels import Polynomial
from oracles import budget_perceptrons as plain
from oracles import toys
from oracles.toys import more

NAMES = ["perceptron-oldest", "perceptron-random", "cks", "forgetron"]
RULES = {"perceptron-oldest": plain.oldest, "cks": plain.largest_margin, "forgetron": plain.forget}
COSINE = Polynomial(1.0, 1.0, 5, True)


def examples(classes, n=250):
    """Give ones and zeros whose labels are hard to explain, so that every machine errs often."""
    matrix, labels = toys.binary(n, d=40)
    if classes > 2:
        labels = matrix[:, :classes].cumsum(axis=1).argmax(axis=1).astype(np.int32)
    labels = np.where(np.random.default_rng(5).random(n) < 0.2, np.roll(labels, 1), labels).astype(np.int32)
    labels[:classes] = np.arange(classes)
    return matrix, labels


def trained(name, problem, kernel=COSINE, seed=1, **parameters):
    solver = solvers.load(name)(**({"precision": "double"} | parameters))
    state = solver.start(problem, kernel, seed)
    assert solver.advance(state, Until()) == Status.DONE
    return solver, state


def order_of(problem, passes=1, seed=1):
    stream = Stream(problem, seed)
    return [i for p in range(passes) for i in stream.at(p * problem.n)[0].order]


def cosine_gram(matrix):
    gram = (matrix @ matrix.T + 1) ** 5
    return gram / np.sqrt(np.outer(np.diag(gram), np.diag(gram)))


@pytest.mark.parametrize(("classes", "budget"), [(2, 1), (2, 5), (2, 17), (2, 1000), (4, 11)])
@pytest.mark.parametrize("name", RULES)
def test_is_the_plain_algorithm(name, classes, budget):
    matrix, labels = examples(classes)
    problem, gram = toys.problem(matrix, labels, "sparse"), cosine_gram(matrix)
    solver, state = trained(name, problem, vectors=budget, passes=2)
    machines, wrong, evaluations = plain.train(gram, labels, classes, order_of(problem, 2), budget, RULES[name])
    mistakes = [machine.mistakes for machine in machines]
    np.testing.assert_array_equal(state.mistakes, mistakes)
    assert state.counters[UPDATES] == sum(mistakes)
    assert max(mistakes) <= state.counters[STEPS] <= sum(mistakes)
    assert state.counters[KERNEL_EVALUATIONS] == evaluations
    removals = sum(max(0, each - budget) for each in mistakes)
    asked_only = (budget if name == "forgetron" else budget + 1) if name in ("forgetron", "cks") else 0
    assert state.counters[KERNEL_COMPUTED] == evaluations - removals * asked_only
    assert solver.measures(state).online_error == wrong / (2 * problem.n)
    model = solver.model(state)
    assert model.support_vectors == sum(len(machine.stored) for machine in machines)
    assert budget == 1000 or removals > 30
    expected = gram @ plain.coefficients(machines, problem.n)
    np.testing.assert_allclose(model.scores(problem.test), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("classes", "budget"), [(2, 1), (2, 17), (4, 11)])
def test_cks_may_choose_before_the_insertion(classes, budget):
    matrix, labels = examples(classes)
    problem, gram = toys.problem(matrix, labels, "sparse"), cosine_gram(matrix)
    solver, state = trained("cks", problem, vectors=budget, passes=2, victim="before-insertion")
    order = order_of(problem, 2)
    machines, _, evaluations = plain.train(gram, labels, classes, order, budget, plain.largest_margin_before)
    np.testing.assert_array_equal(state.mistakes, [machine.mistakes for machine in machines])
    assert state.counters[KERNEL_EVALUATIONS] == evaluations
    expected = gram @ plain.coefficients(machines, problem.n)
    np.testing.assert_allclose(solver.model(state).scores(problem.test), expected, rtol=1e-9, atol=1e-9)
    after = trained("cks", problem, vectors=budget, passes=2)[1]
    assert budget == 1 or not np.array_equal(after.mistakes, state.mistakes)


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("name", NAMES)
def test_with_room_for_all_is_the_perceptron(name, classes):
    problem = toys.problem(*examples(classes), "sparse")
    perceptron, expected = trained("perceptron", problem)
    solver, state = trained(name, problem, vectors=problem.n)
    assert solver.measures(state) == perceptron.measures(expected)
    same = [KERNEL_EVALUATIONS, STEPS, UPDATES]
    np.testing.assert_array_equal(state.counters[same], expected.counters[same])
    scores = [each.scores(problem.test) for each in (solver.model(state), perceptron.model(expected))]
    np.testing.assert_allclose(*scores, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_evaluations_are_those_of_the_analysis(name):
    """|S| per example, which grows to B; B + 1 more per removal where the leaving vector's row is needed."""
    matrix, labels = examples(2)
    problem, budget = toys.problem(matrix, labels, "sparse"), 10
    solver = solvers.load(name)(vectors=budget, precision="double")
    state, scored, mistakes = solver.start(problem, COSINE, 1), 0, 0
    for _ in range(problem.n):
        scored += min(mistakes, budget)
        solver.advance(state, more(state, presented=1))
        mistakes = int(state.counters[UPDATES])
    rows = (mistakes - budget) * (budget + 1) if name in ("cks", "forgetron") else 0
    assert state.counters[KERNEL_EVALUATIONS] == scored + rows


def test_a_random_vector_leaves_but_never_the_new_one():
    """Orthogonal examples are errors all, so who is there tells who left."""
    n, budget, left = 400, 4, []
    problem = toys.problem(np.eye(n), np.arange(n, dtype=np.int32) % 2, "sparse")
    solver = solvers.load("perceptron-random")(vectors=budget, precision="double")
    state = solver.start(problem, COSINE._replace(offset=0.0), 1)
    before = []
    for i in order_of(problem):
        solver.advance(state, more(state, presented=1))
        there = np.argmax(solver.model(state).vectors.values, axis=1).tolist()
        assert i in there
        left += [place for place, each in enumerate(before) if each not in there]
        before = there
    assert len(left) == n - budget
    assert min(np.bincount(left, minlength=budget)) > (n - budget) / budget * 0.7


def test_random_removal_depends_on_the_seed_alone():
    problem = toys.problem(*examples(2), "sparse")
    runs = [trained("perceptron-random", problem, vectors=7, seed=seed) for seed in (1, 1, 2)]
    models = [solver.model(state) for solver, state in runs]
    assert (models[0].coefficients == models[1].coefficients).all()
    assert (models[0].vectors.values == models[1].vectors.values).all()
    assert (models[0].vectors.values != models[2].vectors.values).any()


@pytest.mark.parametrize("name", ["perceptron-oldest", "forgetron", "cks"])
def test_who_stays_of_examples_that_are_all_alike_to_the_rule(name):
    """Orthogonal examples: every margin but the own is 0, and the oldest leaves."""
    n, budget = 30, 7
    problem = toys.problem(np.eye(n), np.arange(n, dtype=np.int32) % 2, "sparse")
    solver, state = trained(name, problem, vectors=budget, kernel=COSINE._replace(offset=0.0))
    there = np.argmax(solver.model(state).vectors.values, axis=1)
    assert sorted(there) == sorted(order_of(problem)[-budget:])


@pytest.mark.parametrize("name", NAMES)
def test_the_counterexample_of_section_2(name):
    """Of B + 1 orthogonal examples one is always missing; presented, it is an error, and always will be."""
    budget = 6
    matrix = np.eye(budget + 1)
    problem = toys.problem(matrix, np.ones(budget + 1, np.int32), "sparse")
    problem.labels[0] = 0  # a solver wants two classes; the chunks below have one
    solver = solvers.load(name)(vectors=budget, precision="double")
    state, kernel = solver.start(problem, Polynomial(1.0, 0.0, 1), 0), Polynomial(1.0, 0.0, 1)
    chunk = state.stream.at(0)[0]._replace(labels=np.ones(budget + 1, np.int32))
    for t in range(200):
        scores = solver.model(state).scores(problem.train)[:, 0] if t else np.zeros(budget + 1)
        missing = np.flatnonzero(scores == 0)
        assert len(missing) == max(1, budget + 1 - t)
        solver.present(state, chunk._replace(order=missing[:1].astype(np.uint32)), 0, Until())
        assert state.errors[0] == t + 1
    everything = trained("perceptron", problem, kernel)[0]
    assert everything.measures(trained("perceptron", problem, kernel)[1]).online_error == 1.0


@pytest.mark.parametrize("name", NAMES)
def test_single_precision_learns_the_same(name):
    problem = toys.problem(*examples(4), "sparse")
    single, double = (trained(name, problem, vectors=25, precision=each) for each in ("single", "double"))
    assert [solver.model(state).vectors.values.dtype for solver, state in (single, double)] == [np.float32, np.float64]
    errors = [solver.measures(state).online_error for solver, state in (single, double)]
    assert errors[0] == pytest.approx(errors[1], abs=0.03)
