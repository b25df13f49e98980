"""Several classes by machines for two: the same as machines trained apart, and as LIBSVM's own one against one."""

from itertools import combinations

import numpy as np
import pytest
from sklearn.svm import SVC

from mpu_bench.core.counters import KERNEL_EVALUATIONS, NAMES, PRESENTED
from mpu_bench.core.kernels import Gaussian, Linear
from mpu_bench.core.models import KernelModel, LinearModel, load
from mpu_bench.core.problem import Problem
from mpu_bench.core.rows import take
from mpu_bench.core.solver import Status, Until
from mpu_bench.core.voting import REST, MulticlassModel, combined
from mpu_bench.errors import DataError
from mpu_bench.solvers.batch.rff import RFF
from mpu_bench.solvers.batch.smo import SMO
from mpu_bench.solvers.linear.dcd import DCD
from mpu_bench.solvers.multiclass import Multiclass
from mpu_bench.solvers.peers.libsvm import Libsvm
from oracles import toys
from oracles.toys import more

KERNEL = Gaussian(0.25)


def three_classes(kind="dense", n=90, d=7):
    random = np.random.default_rng(0)
    matrix = (random.random((n, d)) < 0.5).astype(float)
    if kind != "ones":
        matrix *= random.normal(size=(n, d)).astype(np.float32)
    matrix[5] = matrix[4]
    centred = matrix - matrix.mean(axis=0)
    labels = np.argmax(centred @ random.normal(size=(d, 3)) + 0.3 * random.normal(size=(n, 3)), axis=1)
    return toys.problem(matrix, labels.astype(np.int32), kind)


def trained(solver, problem, kernel):
    state = solver.start(problem, kernel, 3)
    return state, solver.advance(state, Until())


def apart(solver, problem, kernel, pair):
    """Train one machine by itself: the state, and the scores of all rows."""
    first, second = pair
    chosen = np.flatnonzero(np.isin(problem.labels, pair)) if first != REST else np.arange(problem.n)
    labels = (problem.labels[chosen] == second).astype(np.int32)
    rows = take(problem.train, chosen)
    part = Problem("part", rows, labels, rows, labels, problem.features, ("-", "+"), "part")
    state, _ = trained(solver, part, kernel)
    return state, solver.measures(state), solver.model(state).scores(problem.test)[:, 0]


def votes(scores, pairs, classes):
    """Count the votes row by row."""
    chosen = []
    for row in scores:
        counts, sums = [0] * classes, [0.0] * classes
        for score, (first, second) in zip(row, pairs, strict=True):
            counts[second if score > 0 else first] += 1
            sums[second] += score
            sums[first] -= score
        chosen.append(max(range(classes), key=lambda c: (counts[c], sums[c], -c)))
    return chosen


@pytest.mark.parametrize(
    ("kind", "solver", "kernel"),
    [
        ("sparse", DCD(), Linear()),
        ("dense", SMO(bias=True), KERNEL),
        ("dense", RFF(regularization=0.01, pairs=8), KERNEL),
        ("ones", Libsvm(), KERNEL),
    ],
    ids=["dcd", "smo", "rff", "libsvm"],
)
@pytest.mark.parametrize("reduction", ["one-against-one", "one-against-rest"])
def test_it_is_the_machines_trained_apart(kind, solver, kernel, reduction):
    problem = three_classes(kind)
    rest = reduction == "one-against-rest"
    pairs = [(REST, c) for c in range(3)] if rest else list(combinations(range(3), 2))
    alone = [apart(solver, problem, kernel, pair) for pair in pairs]
    scores = np.array([each[2] for each in alone]).T
    wrapped = Multiclass(solver, reduction)
    state, status = trained(wrapped, problem, kernel)
    model = wrapped.model(state)
    assert status == Status.DONE
    np.testing.assert_allclose(model.machines.scores(problem.test), scores, rtol=1e-5, atol=1e-5)
    expected = np.argmax(scores, axis=1) if rest else votes(scores, pairs, 3)
    np.testing.assert_array_equal(model.labels(problem.test), expected)
    np.testing.assert_array_equal(state.counters, sum(each[0].counters for each in alone))
    measures = wrapped.measures(state)
    assert measures.objective == pytest.approx(sum(each[1].objective for each in alone))
    assert measures.gap == pytest.approx(measures.objective / measures.dual_objective - 1)


@pytest.mark.parametrize("reduction", ["one-against-one", "one-against-rest"])
@pytest.mark.parametrize(("solver", "kernel"), [(DCD(), Linear()), (SMO(), KERNEL)], ids=["dcd", "smo"])
def test_slices_over_several_machines_equal_one_long_advance(solver, kernel, reduction):
    problem, wrapped = three_classes(), Multiclass(solver, reduction)
    whole, _ = trained(wrapped, problem, kernel)
    state, sizes, status = wrapped.start(problem, kernel, 3), np.random.default_rng(0), Status.RUNNING
    machines = set()
    while status == Status.RUNNING:
        size, before = int(sizes.choice([1, 7, 60])), state.counters[PRESENTED]
        status = wrapped.advance(state, more(state, presented=size))
        used = state.counters[PRESENTED] - before
        assert used == size or (status == Status.DONE and used <= size)
        machines.add(len(state.trained))
        scores = wrapped.model(state).scores(problem.test)
        assert scores.shape == (problem.n_test, 3)
        assert np.isfinite(scores).all()
        assert (wrapped.measures(state).objective is None) == (len(state.trained) < 2)
    assert len(machines) > 2
    before, after = toys.arrays_of(whole), toys.arrays_of(state)
    assert before.keys() == after.keys()
    for name in before:
        np.testing.assert_array_equal(before[name], after[name], err_msg=name)
    assert wrapped.advance(state, Until()) == Status.DONE
    np.testing.assert_array_equal(state.counters, whole.counters)


def test_slices_by_kernel_evaluations_go_on_with_the_next_machine():
    problem, wrapped = three_classes(), Multiclass(SMO(), "one-against-one")
    whole, _ = trained(wrapped, problem, KERNEL)
    state = wrapped.start(problem, KERNEL, 3)
    while True:
        before = state.counters[KERNEL_EVALUATIONS]
        if wrapped.advance(state, more(state, kernel_evaluations=97)) == Status.DONE:
            break
        assert state.counters[KERNEL_EVALUATIONS] - before >= 97
    np.testing.assert_array_equal(state.counters, whole.counters)


def test_two_classes_are_one_machine():
    problem = toys.problem(*toys.binary(agree=True), "sparse")
    plain, _ = trained(SMO(), problem, KERNEL)
    for reduction in ("one-against-one", "one-against-rest"):
        wrapped = Multiclass(SMO(), reduction)
        state, _ = trained(wrapped, problem, KERNEL)
        assert isinstance(wrapped.model(state), KernelModel)
        assert dict(zip(NAMES, state.counters, strict=True)) == dict(zip(NAMES, plain.counters, strict=True))
        assert wrapped.measures(state) == SMO().measures(plain)


def test_a_class_of_too_few_examples_is_told():
    problem = three_classes()
    problem.labels[problem.labels == 2] = 1
    problem.labels[7] = 2
    with pytest.raises(DataError, match="class 'class 2' has 1 training example; one-against-one needs at least 2"):
        Multiclass(SMO(), "one-against-one").start(problem, KERNEL, 0)
    Multiclass(SMO(), "one-against-rest").start(problem, KERNEL, 0)
    problem.labels[7] = 1
    with pytest.raises(DataError, match="class 'class 2' has 0 training examples; one-against-rest needs"):
        Multiclass(SMO(), "one-against-rest").start(problem, KERNEL, 0)


def test_votes_ties_and_zero_scores():
    pairs = np.array([[0, 1], [0, 2], [1, 2]], np.int32)
    for said, label in [
        ([0.5, -0.1, 0.2], 2),  # one vote each: sums -0.4, 0.3, 0.1 -> class 1
        ([0.0, 0.0, 0.0], 0),
        ([0.1, 0.1, 0.1], 2),
        ([0.1, 0.1, 0.0], 1),
    ]:
        model = MulticlassModel(LinearModel(np.array([said]).T), pairs, 3)
        rows = toys.KINDS["dense64"](np.ones((1, 1)))
        expected = 1 if said[0] == 0.5 else label
        assert model.labels(rows)[0] == expected
        assert votes([said], pairs, 3) == [expected]


@pytest.mark.parametrize("kind", ["dense", "sparse", "ones"])
def test_equal_vectors_become_one_and_batches_and_saving_change_nothing(monkeypatch, tmp_path, kind):
    problem = three_classes(kind)
    random = np.random.default_rng(1)
    choices = [random.choice(problem.n, 30, replace=False) for _ in range(3)]
    models = [
        KernelModel(take(problem.train, chosen), random.normal(size=(30, 1)), KERNEL, problem.features, float(k))
        for k, chosen in enumerate(choices)
    ]
    model = combined(models, np.array(list(combinations(range(3), 2)), np.int32), 3)
    apart = np.hstack([each.scores(problem.test) for each in models])
    np.testing.assert_allclose(model.machines.scores(problem.test), apart, atol=1e-5)
    content = {(row.tobytes()) for row in np.asarray(_dense(problem))[np.concatenate(choices)]}
    assert model.support_vectors == len(content)
    scores = model.scores(problem.test)
    monkeypatch.setattr("mpu_bench.core.voting._HELD_SCORES", 20)
    np.testing.assert_array_equal(model.scores(problem.test), scores)
    model.save(tmp_path / "model.npz")
    np.testing.assert_array_equal(load(tmp_path / "model.npz").scores(problem.test), scores)


def test_a_linear_vote_survives_saving(tmp_path):
    problem = three_classes()
    for solver, kernel in ((DCD(), Linear()), (RFF(regularization=0.01, pairs=8), KERNEL)):
        wrapped = Multiclass(solver, "one-against-one")
        model = wrapped.model(trained(wrapped, problem, kernel)[0])
        assert model.linear
        model.save(tmp_path / "model.npz")
        np.testing.assert_array_equal(load(tmp_path / "model.npz").scores(problem.test), model.scores(problem.test))


def _dense(problem):
    if hasattr(problem.train, "values") and problem.train.values.ndim == 2:
        return problem.train.values
    dense = np.zeros((problem.n, problem.features))
    for i in range(problem.n):
        place = slice(problem.train.starts[i], problem.train.starts[i + 1])
        dense[i, problem.train.columns[place]] = getattr(problem.train, "values", np.ones(10**4))[place]
    return dense


def test_one_against_one_is_that_of_libsvm():
    """Labels differ at most where scikit-learn's votes are tied."""
    problem = three_classes(n=200)
    wrapped = Multiclass(SMO(C=4.0, bias=True, tolerance=1e-6), "one-against-one")
    state, _ = trained(wrapped, problem, KERNEL)
    peer = SVC(C=4.0, gamma=KERNEL.gamma, tol=1e-6, decision_function_shape="ovo")
    peer.fit(problem.train.values, problem.labels)
    said = peer.decision_function(problem.train.values)
    np.testing.assert_allclose(wrapped.model(state).machines.scores(problem.test), -said, atol=1e-4)
    tied = np.array([max(_counts(row)) == 1 for row in said])
    labels = wrapped.model(state).labels(problem.test)
    np.testing.assert_array_equal(labels[~tied], peer.predict(problem.train.values)[~tied])


def _counts(row):
    counts = [0, 0, 0]
    for score, (first, second) in zip(row, combinations(range(3), 2), strict=True):
        counts[first if score > 0 else second] += 1
    return counts
