"""Several classes by machines for two: the same as machines trained apart, and as LIBSVM's own one against one."""

from contextlib import nullcontext
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from sklearn.svm import SVC

from mpu_bench.core.counters import KERNEL_EVALUATIONS, NAMES, PRESENTED
from mpu_bench.core.models import KernelModel
from mpu_bench.core.problem import Problem
from mpu_bench.core.rows import take
from mpu_bench.core.solver import Status, Until
from mpu_bench.core.voting import REST
from mpu_bench.errors import DataError
from mpu_bench.kernels import Gaussian, Linear
from mpu_bench.solvers import multiclass
from mpu_bench.solvers.batch.rff import RFF
from mpu_bench.solvers.batch.smo import SMO
from mpu_bench.solvers.external.libsvm import Libsvm
from mpu_bench.solvers.linear.dcd import DCD
from mpu_bench.solvers.multiclass import Multiclass
from oracles import toys
from oracles.toys import more
from oracles.voting import votes

KERNEL = Gaussian(0.25)


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
    problem = toys.three_classes(kind)
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
    problem, wrapped = toys.three_classes(), Multiclass(solver, reduction)
    whole, _ = trained(wrapped, problem, kernel)
    state, sizes, status = wrapped.start(problem, kernel, 3), np.random.default_rng(0), Status.RUNNING
    machines = set()
    while status == Status.RUNNING:
        size, before = int(sizes.choice([1, 7, 60])), state.counters[PRESENTED]
        status = wrapped.advance(state, more(state, presented=size))
        used = state.counters[PRESENTED] - before
        assert used == size or (status == Status.DONE and used <= size)
        machines.add(len(state.presented))
        scores = wrapped.model(state).scores(problem.test)
        assert scores.shape == (problem.n_test, 3)
        assert np.isfinite(scores).all()
        assert (wrapped.measures(state).objective is None) == (len(state.presented) < 2)
    assert len(machines) > 2
    before, after = toys.arrays_of(whole), toys.arrays_of(state)
    assert before.keys() == after.keys()
    for name in before:
        np.testing.assert_array_equal(before[name], after[name], err_msg=name)
    assert wrapped.advance(state, Until()) == Status.DONE
    np.testing.assert_array_equal(state.counters, whole.counters)


def test_slices_by_kernel_evaluations_go_on_with_the_next_machine():
    problem, wrapped = toys.three_classes(), Multiclass(SMO(), "one-against-one")
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


@pytest.mark.parametrize("reduction", ["one-against-one", "one-against-rest"])
def test_one_example_of_a_class_is_enough_and_none_is_told(reduction):
    problem = toys.three_classes()
    problem.labels[problem.labels == 2] = 1
    problem.labels[7] = 2
    wrapped = Multiclass(SMO(C=1000.0), reduction)
    state, _ = trained(wrapped, problem, KERNEL)
    assert wrapped.model(state).labels(problem.train)[7] == 2
    problem.labels[7] = 1
    with pytest.raises(DataError, match=f"class 'class 2' has no training example; {reduction} needs one"):
        wrapped.start(problem, KERNEL, 0)


def test_one_against_one_is_that_of_libsvm():
    """Labels differ at most where scikit-learn's votes are tied."""
    problem = toys.three_classes(n=200)
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


def test_of_many_small_machines_several_are_evaluated_at_once(monkeypatch):
    n, classes = 60, 20
    labels = np.arange(n, dtype=np.int32) % classes
    problem = toys.problem(np.random.default_rng(0).normal(size=(n, 3)), labels, "dense64")
    problem = replace(problem, classes=tuple(map(str, range(classes))))
    pauses = []
    monkeypatch.setattr(multiclass, "untimed", lambda: pauses.append(1) or nullcontext())
    wrapped = Multiclass(DCD(), "one-against-one")
    state, _ = trained(wrapped, problem, Linear())
    assert len(wrapped.presented(state)) == len(state.trained) == classes * (classes - 1) // 2
    assert all(size == 2 * n // classes for _, size in wrapped.presented(state))
    assert len(pauses) == len(state.pairs) * 2 // classes  # which have as many examples as there are
