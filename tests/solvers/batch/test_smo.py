from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mpu_bench import solvers
from mpu_bench.core.counters import KERNEL_COMPUTED, KERNEL_EVALUATIONS, PRESENTED, new_counters
from mpu_bench.core.models import KernelModel
from mpu_bench.core.solver import Status, Until
from mpu_bench.data.cards import catalog
from mpu_bench.data.prepare.load import load_problem
from mpu_bench.errors import ConfigError, DataError
from mpu_bench.kernels import Gaussian, Linear, Polynomial
from mpu_bench.kernels import matrix as kernel_matrix
from mpu_bench.solvers.batch import smo
from mpu_bench.solvers.batch.shrinking import Variables, coefficients, reconstruct_gradient, update_bounds
from mpu_bench.solvers.batch.smo import SMO
from oracles import exact_svm, kernel_svm, toys
from oracles.toys import more

KERNELS = [Linear(), Gaussian(0.25), Polynomial(0.5, 1.0, 3)]


def train(solver, problem, kernel=KERNELS[1]):
    state = solver.start(problem, kernel, 0)
    assert solver.advance(state, Until()) == Status.DONE
    return state


def solution(state):
    """Return beta and -y grad by example."""
    variables = Variables(*map(np.copy, state.work.variables))
    if variables.active_size[0] < len(variables.beta):
        reconstruct_gradient(kernel_matrix.copy_without_rows(state.gram), variables, new_counters())
    return coefficients(state.work.variables, state.gram.unit), variables.minus_y_grad


def violation(solver, state):
    """Return the largest violation of the optimality conditions over all examples; the tolerance is of this."""
    beta, minus_y_grad = solution(state)
    weight = solver.weight(len(beta))
    up_max = minus_y_grad[beta < np.maximum(0.0, state.signs * weight)].max(initial=-np.inf)
    low_min = minus_y_grad[beta > np.minimum(0.0, state.signs * weight)].min(initial=np.inf)
    return max(0.0, float(up_max - low_min if solver.bias else max(up_max, -low_min)))


def certify(solver, state, matrix, kernel=KERNELS[1]):
    """Return primal and dual in double, from the model's own numbers alone."""
    beta = coefficients(state.work.variables, state.gram.unit)
    if solver.bias:
        assert abs(beta.sum()) < 1e-9 * (1 + np.abs(beta).sum())
    weight = solver.weight(len(beta))
    return kernel_svm.certificate(kernel_svm.gram(kernel, matrix), state.signs, beta, solver.offset(state), weight)


@pytest.mark.parametrize("conjugate", [False, True])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(
    ("kernel", "C"), [*((KERNELS[1], C) for C in (1e-3, 1.0, 1e4)), (KERNELS[0], 1e4), (KERNELS[2], 1.0)], ids=str
)
def test_the_optimum_is_certified_in_double(kernel, bias, C, conjugate):
    matrix, labels = toys.real(n=90)
    solver = SMO(C=C, bias=bias, tolerance=1e-5, conjugate=conjugate)
    state = train(solver, toys.problem(matrix, labels, "dense"), kernel)
    primal, dual = certify(solver, state, matrix, kernel)
    most = 90 * C * 1e-5  # each loss may be a tolerance off
    assert -1e-6 * primal < primal - dual < 1.1 * most + 1e-6 * primal
    measures = solver.measures(state)
    assert measures.objective == pytest.approx(primal, rel=1e-6, abs=most)
    assert measures.dual_objective == pytest.approx(dual, rel=1e-6)
    assert 0 <= violation(solver, state) <= 1e-5 * 1.001
    extra = state.counters[KERNEL_EVALUATIONS] - (1 + bias) * 90 * state.counters[PRESENTED]
    assert extra % 90 == 0
    assert extra >= 0 if bias or conjugate else extra == 0  # what shrinking leaves out is brought back by rows
    assert state.counters[KERNEL_COMPUTED] <= 90 * 90


@given(st.integers(2, 20), st.integers(0, 1000), st.booleans(), st.booleans(), st.sampled_from([0.01, 1.0, 100.0]))
@settings(max_examples=100)
def test_small_problems_with_ties_and_duplicates(n, seed, bias, conjugate, C):
    random = np.random.default_rng(seed)
    matrix, labels = random.integers(0, 2, size=(n, 3)).astype(float), random.integers(0, 2, n).astype(np.int32)
    labels[:2] = 0, 1
    solver = SMO(C=C, bias=bias, tolerance=1e-6, conjugate=conjugate)
    state = train(solver, toys.problem(matrix, labels, "ones"))
    primal, dual = certify(solver, state, matrix)
    assert dual <= primal * (1 + 1e-6) <= dual * (1 + 1e-4)


@given(
    st.integers(2, 24),
    st.integers(0, 1000),
    st.booleans(),
    st.sampled_from([1e-2, 1.0, 1e2, 1e4]),
    st.sampled_from([KERNELS[0], KERNELS[1]]),
    st.booleans(),
)
@settings(max_examples=60)
def test_conjugate_steps_end_at_the_exact_optimum(n, seed, bias, C, kernel, weighted):
    """Duplicates, some with the other label, weights from 0.1 to 10, and a matrix of low rank."""
    random = np.random.default_rng(seed)
    matrix, labels = random.normal(size=(n, 3)).astype(np.float32), random.integers(0, 2, n).astype(np.int32)
    matrix[n // 2 :] = matrix[: n - n // 2]
    labels[:2] = 0, 1
    weights = 10.0 ** random.uniform(-1, 1, n) if weighted else np.ones(n)
    problem = replace(toys.problem(matrix, labels, "dense"), weights=weights if weighted else None)
    solver = SMO(C=C, bias=bias, tolerance=1e-4, conjugate=True)
    state = train(solver, problem, kernel)
    beta, signs, found = solution(state)[0], state.signs, solver.measures(state)
    assert (signs * beta >= 0).all()
    assert (signs * beta <= C * weights).all()
    optimum = exact_svm.l1(exact_svm.gram(kernel, matrix, matrix), signs, C * weights, bias)
    slack = 1e-4 * C * weights.sum() + 1e-6 * optimum.upper
    assert optimum.lower - 1e-6 * optimum.upper <= found.objective <= optimum.upper + slack
    assert optimum.lower - slack <= found.dual_objective <= optimum.upper * (1 + 1e-9)


@pytest.mark.parametrize("conjugate", [False, True])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("power", [-20, -45, 20])
def test_the_unit_of_the_features_changes_nothing(power, bias, conjugate):
    """With C in its inverse square. Of short rows a least curvature of 1e-12 would leave steps that never arrive."""
    (matrix, labels), states = toys.real(), []
    for factor in (1.0, 2.0**power):
        solver = SMO(C=10.0 / factor**2, bias=bias, conjugate=conjugate)
        problem = toys.problem(matrix * factor, labels, "dense64")
        state = solver.start(problem, Linear(), 0)
        assert solver.advance(state, Until(presented=20_000)) == Status.DONE
        states.append(state)
    assert states[0].counters.tolist() == states[1].counters.tolist()
    assert np.array_equal(states[0].work.variables.minus_y_grad, states[1].work.variables.minus_y_grad)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("C", [1.0, 100.0, 1000.0])
def test_conjugate_steps_are_fewer(bias, C):
    matrix, labels = toys.real(n=400)
    problem = toys.problem(matrix, labels ^ (np.random.default_rng(5).random(400) < 0.15), "dense")
    steps = [train(SMO(C=C, bias=bias, conjugate=each), problem).counters[PRESENTED] for each in (False, True)]
    assert steps[1] <= (0.9 if C > 1 else 1.0) * steps[0]


def test_two_examples():
    """By hand: K = [[1, k], [k, 1]], alpha = 1 / (1 - k) where C allows it, b = 0."""
    problem = toys.problem(np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([0, 1], np.int32), "ones")
    state = train(SMO(C=10.0, bias=True), problem)
    alpha = 1 / (1 - np.exp(-0.5))
    np.testing.assert_allclose(solution(state)[0], [-alpha, alpha], rtol=1e-6)
    assert SMO(C=10.0, bias=True).offset(state) == pytest.approx(0.0, abs=1e-6)
    state = train(SMO(C=0.1, bias=True), problem)
    assert list(solution(state)[0]) == [-0.1, 0.1]


@pytest.mark.parametrize("memory", [0, 20 * 400 * 4, None])
@pytest.mark.parametrize("C", [1.0, 100.0])
@pytest.mark.parametrize(("bias", "conjugate"), [(True, False), (True, True), (False, True)])
def test_shrinking_changes_nothing_but_the_way(memory, C, bias, conjugate, monkeypatch):
    """On noisy data many coefficients end at C; measures of a shrunk state are those of the whole problem."""
    matrix, labels = toys.real(n=400)
    labels = labels ^ (np.random.default_rng(5).random(400) < 0.15)
    problem = toys.problem(matrix, labels, "dense")
    solver = SMO(C=C, bias=bias, tolerance=1e-4, conjugate=conjugate)
    with monkeypatch.context() as patched:
        patched.setattr(kernel_matrix.PROVISION, "memory", memory)
        state, whole = solver.start(problem, KERNELS[1], 0), train(solver, problem)
    active, checked = [], 0
    while solver.advance(state, more(state, presented=100)) != Status.DONE:
        active.append(int(state.work.variables.active_size[0]))
        if active[-1] < 400 and checked < 3:
            checked += 1
            before = toys.arrays_of(state)
            beta, minus_y_grad = solution(state)
            exact = state.signs - kernel_svm.gram(KERNELS[1], matrix) @ beta
            np.testing.assert_allclose(minus_y_grad, exact, atol=1e-4 * C)
            measures, after = solver.measures(state), toys.arrays_of(state)
            assert measures.objective >= measures.dual_objective
            assert all(np.array_equal(before[name], after[name]) for name in before)
    assert min(active) <= 300
    primal, dual = certify(solver, state, matrix)
    assert primal - dual < 400 * C * 1.1e-4
    assert state.work.variables.active_size[0] == 400
    assert violation(solver, state) <= 1e-4 * 1.001
    for left, right in zip(toys.arrays_of(whole).items(), toys.arrays_of(state).items(), strict=True):
        np.testing.assert_array_equal(left[1], right[1], err_msg=left[0])


def test_a_coefficient_almost_at_its_bound_is_not_waited_for():
    """Its step gains less than any other, yet without it the conditions are violated."""
    problem, solver = toys.problem(*toys.real(n=90), "dense"), SMO(C=0.1, tolerance=1e-3)
    state = train(solver, problem)
    iterations = state.counters[PRESENTED]
    variables = state.work.variables
    gradient = state.signs * variables.minus_y_grad
    largest = int(np.argmax(gradient))
    assert gradient[largest] > 0.1
    variables.beta[largest] *= 1 - 1e-15
    update_bounds(variables, largest)
    smo._select_working_set(state.work, solver._way)
    assert state.work.progress[0].up_max == pytest.approx(gradient[largest])
    assert solver.advance(state, Until()) == Status.DONE
    assert state.counters[PRESENTED] == iterations + 1
    assert violation(solver, state) <= 1e-3


def test_lambda_instead_of_the_weight():
    problem = toys.problem(*toys.real(), "dense")
    left, right = train(SMO(C=2.0), problem), train(SMO(regularization=1 / (2.0 * 60)), problem)
    np.testing.assert_allclose(solution(left)[0], solution(right)[0])
    with pytest.raises(ConfigError, match="either C or regularization"):
        SMO(C=1.0, regularization=1.0)
    nan, infinite = float("nan"), float("inf")
    for wrong in ({"C": 0.0}, {"regularization": -1.0}, {"tolerance": 0.0}, {"C": nan}, {"tolerance": infinite}):
        with pytest.raises(ConfigError, match="must be"):
            SMO(**wrong)


def test_values_that_overflow_are_refused():
    matrix, labels = toys.real()
    with pytest.raises(DataError, match="scale the features down"):
        SMO().start(toys.problem(matrix * 1e5, labels, "dense"), Polynomial(1.0, 1.0, 5), 0)


@pytest.mark.parametrize(
    ("kernel", "C", "conjugate", "dtype"),
    [
        (KERNELS[1], 1.0, True, np.float32),
        (KERNELS[1], 1e3, True, np.int32),
        (KERNELS[1], 1e3, False, np.float64),  # the way of the papers, whose digits are known
        (KERNELS[1], 1e6, True, np.float64),
        (Linear(), 1e3, True, np.float64),  # has larger values
    ],
    ids=str,
)
def test_a_large_weight_takes_rows_in_fixed_point_where_these_are_exact_enough(kernel, C, conjugate, dtype):
    matrix, labels = toys.real(n=400)
    labels = labels ^ (np.random.default_rng(5).random(400) < 0.15)
    solver = SMO(C=C, bias=True, tolerance=1e-3, conjugate=conjugate)
    state = train(solver, toys.problem(matrix, labels, "dense"), kernel)
    assert state.gram.kept.dtype == dtype
    beta, minus_y_grad = solution(state)
    exact = state.signs - kernel_svm.gram(kernel, matrix) @ beta
    np.testing.assert_allclose(minus_y_grad, exact, atol=1e-3)  # no more than the tolerance
    primal, dual = certify(solver, state, matrix, kernel)
    assert 0 <= primal - dual <= 400 * C * 1.1e-3


@pytest.mark.parametrize("conjugate", [True, False])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("scale", [1e-2, 1.0, 1e3])
def test_it_ends_where_rounding_leaves_no_progress(scale, bias, conjugate):
    matrix, labels = toys.real()
    problem = toys.problem(scale * matrix, labels, "dense")
    solver = SMO(C=1 / scale, bias=bias, tolerance=1e-300, conjugate=conjugate)
    state = solver.start(problem, Linear(), 0)
    assert solver.advance(state, Until(presented=10**7)) == Status.DONE
    assert state.counters[PRESENTED] <= 2 * smo._ITERATIONS_BETWEEN_LOOKS or scale > 1
    assert solver.measures(state).gap < 1e-6
    assert violation(solver, state) == 0 or "rounding leaves no progress" in solver.note(state)
    assert solver.advance(state, Until()) == Status.DONE


def compare(problem, kernel, C, tolerance):
    """Give how far LIBSVM's objective, the dual, is from ours, and the larger duality gap; relative, in double."""
    own, peer = SMO(C=C, bias=True, tolerance=tolerance), solvers.load("libsvm")(C=C, tolerance=tolerance)
    mine, theirs = train(own, problem, kernel), train(peer, problem, kernel)
    assert own.offset(mine) == pytest.approx(float(theirs.bias), abs=1e-2)
    found = (solution(mine)[0], own.offset(mine)), (theirs.coefficients, float(theirs.bias))
    (primal, dual), (other_primal, other_dual) = (certificate_of_rows(problem, kernel, *each, C) for each in found)
    return abs(other_dual / dual - 1), max(primal, other_primal) / dual - 1


def certificate_of_rows(problem, kernel, coefficients, offset, C):
    """Give primal and dual, without the whole kernel matrix."""
    model = KernelModel.of_support(problem.train, coefficients, kernel, problem.features)
    responses = model.double_scores(problem.train)[:, 0]
    squared = coefficients @ responses
    losses = np.maximum(0.0, 1.0 - problem.signs() * (responses + offset)).sum()
    return squared / 2 + C * losses, np.abs(coefficients).sum() - squared / 2


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_libsvm_finds_the_same_optimum(kernel):
    pytest.importorskip("sklearn")
    for kind in ("dense", "sparse"):
        difference, gap = compare(toys.problem(*toys.real(), kind), kernel, 1.0, 1e-6)
        assert difference < 1e-6
        assert gap < 1e-4


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("name", "gamma", "options"),
    [
        ("a1a", 0.05, {}),
        ("a2a", 0.5, {}),
        ("a4a", 0.05, {}),
        ("w1a", 0.05, {}),
        ("w4a", 0.5, {}),
        ("usps", 0.01, {"positive": ["8"]}),
    ],
)
def test_libsvm_finds_the_same_optimum_of_real_data(shared_home, name, gamma, options):
    pytest.importorskip("sklearn")
    difference, gap = compare(load_problem(catalog.card(name, options), shared_home), Gaussian(gamma), 1.0, 1e-6)
    assert difference < 1e-6
    assert gap < 1e-4


@pytest.mark.parametrize("name", ["digits", "breast_cancer", "iris", "wine"])
@pytest.mark.parametrize("C", [1.0, 100.0])
def test_libsvm_finds_the_same_optimum_of_data_at_hand(name, C):
    """The second class against the others, all features of variance one."""
    datasets = pytest.importorskip("sklearn.datasets")
    matrix, labels = getattr(datasets, f"load_{name}")(return_X_y=True)
    matrix = (matrix - matrix.mean(axis=0)) / np.maximum(matrix.std(axis=0), 1e-9)
    problem = toys.problem(matrix, (labels == 1).astype(np.int32), "dense")
    difference, gap = compare(problem, Gaussian(1 / matrix.shape[1]), C, 1e-6)
    assert difference < 1e-6
    assert gap < 1e-4


def test_libsvm_refuses_what_it_cannot_do():
    pytest.importorskip("sklearn")
    with pytest.raises(ConfigError, match="scale and a degree above 0"):
        solvers.load("libsvm")().start(toys.problem(*toys.real(), "dense"), Polynomial(-1.0, 1.0, 2), 0)
