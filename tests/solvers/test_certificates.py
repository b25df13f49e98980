"""What solvers certify of themselves on the way is true, and what ends them holds."""

from fractions import Fraction
from operator import mul

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mpu_bench import solvers
from mpu_bench.core.solver import Measures, Status, Until
from mpu_bench.errors import DataError
from mpu_bench.solvers import certificates
from oracles import linear_svm, toys
from oracles.toys import train

few = settings(max_examples=30, deadline=None)
costs = st.sampled_from([0.01, 0.3, 1.0, 8.0])
seeds = st.integers(0, 5)


@few
@given(stop=st.sampled_from([0.3, 1e-2, 1e-4]), C=costs, data_seed=seeds, seed=seeds)
@pytest.mark.parametrize("name", ["mpu", "dcd"])
def test_a_run_that_stops_by_its_certificate_has_the_gap(name, stop, C, data_seed, seed):
    solver = solvers.load(name)(C=C, stop=stop, **({"tolerance": 1e-9} if name == "dcd" else {}))
    state, status = train(solver, toys.problem(*toys.binary(seed=data_seed), "ones"), seed=seed)
    measures = solver.measures(state)
    assert status == Status.DONE
    assert measures.gap <= stop * (1 + 1e-9)
    _, _, optimum = linear_svm.of_toys(toys.binary, C, data_seed)
    assert measures.dual_objective <= optimum * (1 + 1e-8)
    assert optimum * (1 - 1e-8) <= measures.objective <= optimum * (1 + stop)


@few
@given(presented=st.integers(0, 3000), C=costs, data_seed=seeds, seed=seeds)
@pytest.mark.parametrize("name", ["mpu", "dcd"])
def test_a_certificate_is_never_better_than_the_truth(name, presented, C, data_seed, seed):
    problem = toys.problem(*toys.binary(seed=data_seed), "ones")
    solver = solvers.load(name)(C=C)
    state, _ = train(solver, problem, seed=seed, until=Until(presented=presented))
    measures, (_, _, optimum) = solver.measures(state), linear_svm.of_toys(toys.binary, C, data_seed)
    assert measures.objective >= optimum * (1 - 1e-8)
    assert measures.dual_objective <= optimum * (1 + 1e-8)
    assert measures.gap is None or measures.gap >= measures.objective / optimum - 1 - 1e-8


@few
@given(C=costs, data_seed=seeds)
def test_a_kernel_expansion_and_the_linear_model_it_is_have_the_same_certificate(C, data_seed):
    matrix, labels = toys.real(seed=data_seed)
    rows, signs = toys.problem(matrix, labels, "dense64").train, 2.0 * labels - 1
    alphas = C * np.random.default_rng(data_seed).random(len(signs))
    weights = (alphas * signs) @ matrix
    linear = certificates.certify(rows, signs, (matrix**2).sum(axis=1), weights, alphas, np.array([C]))
    losses = np.maximum(0, 1 - signs * (matrix @ weights))
    for coefficients in (alphas, alphas * signs):
        kernel = certificates.certify_kernel(coefficients, float(weights @ weights), losses, np.array([C]))
        assert kernel.objective == pytest.approx(linear.objective)
        assert kernel.dual_objective == pytest.approx(linear.dual_objective)
        assert (kernel.gap is None) == (linear.gap is None) == (linear.dual_objective <= 0)
        assert kernel.nu == pytest.approx(losses.mean() / np.linalg.norm(weights))


def test_a_model_of_zero_has_neither_a_gap_nor_a_margin_nor_nu():
    matrix, labels = toys.real()
    rows, signs, zero = toys.problem(matrix, labels, "dense64").train, 2.0 * labels - 1, np.zeros(len(labels))
    linear = certificates.certify(rows, signs, (matrix**2).sum(axis=1), np.zeros(matrix.shape[1]), zero, np.ones(1))
    kernel = certificates.certify_kernel(zero, 0.0, np.ones(len(labels)), np.ones(1))
    assert linear.objective == kernel.objective == len(labels)
    assert linear.gap is linear.margin is kernel.gap is kernel.nu is None


@pytest.mark.parametrize(
    ("objective", "dual", "rounding", "gap"),
    [
        (2.0, 1.0, 0.0, 1.0),
        (1.0, 1.0, 0.0, 0.0),
        (1.0, 1.0 + 1e-15, 0.0, 0.0),  # by the rounding of the last addition
        (1.0, 1.0, 0.5, 2.0),  # 1.5 / 0.5 - 1
        (1.0, 1.1, 0.1, 0.1),
        (1.0, 1.1, 0.0, None),  # no bound
        (1.0, 0.5, 0.5, None),
        (1.0, -1.0, 0.0, None),
        (np.inf, 1.0, 0.0, None),
        (1.0, 0.5, np.inf, None),
        (np.nan, 0.5, 0.0, None),
    ],
)
def test_a_gap_is_rounded_up_and_is_that_of_the_two_objectives(objective, dual, rounding, gap):
    measures = Measures.certified(objective, dual, rounding)
    if gap is None:
        assert measures.gap is None
        assert (measures.objective is None) == (rounding > 0.01 * objective)  # 1 % is said of an objective
    else:
        assert measures.gap == pytest.approx(gap, abs=1e-14)
        assert measures.gap >= max(gap, 0.0)
        assert measures.dual_objective <= dual
        assert measures.gap == measures.objective / measures.dual_objective - 1


def exactly(matrix, signs, weights, alphas, C):
    """Return the primal and the dual objective as fractions of integers, which nothing rounds."""
    rows = [[Fraction(value) * int(sign) for value in row] for row, sign in zip(matrix.tolist(), signs, strict=True)]
    w, duals = [Fraction(value) for value in weights.tolist()], [Fraction(value) for value in alphas.tolist()]
    losses = (max(Fraction(0), 1 - sum(map(mul, row, w))) for row in rows)
    combined = [sum(map(mul, duals, column)) for column in zip(*rows, strict=True)]
    return (
        sum(value * value for value in w) / 2 + Fraction(C) * sum(losses),
        sum(duals) - sum(value * value for value in combined) / 2,
    )


@settings(max_examples=60, deadline=None)
@given(
    scale=st.sampled_from([1e-8, 1e-3, 1.0, 1e3, 1e8]),
    far=st.sampled_from([0.0, 1.0, 1e4]),
    C=st.sampled_from([1e-6, 1.0, 1e6]),
    presented=st.sampled_from([30, 3000]),
    seed=seeds,
)
@pytest.mark.parametrize("name", ["mpu", "dcd"])
def test_no_gap_is_below_that_of_exact_arithmetic(name, scale, far, C, presented, seed):
    matrix, labels = toys.real(seed=seed)
    problem = toys.problem((matrix[:12] + far) * scale, labels[:12], "dense64")
    assume(name == "dcd" or C * scale**2 * (1 + far) ** 2 < 1e9)  # beyond, MPU refuses
    solver = solvers.load(name)(C=C)
    state, _ = train(solver, problem, seed=seed, until=Until(presented=presented))
    alphas = state.alphas if name == "dcd" else state.multiplicities / state.thresholds.b
    measures = solver.measures(state)
    weights = solver.model(state).weights[0]
    primal, dual = exactly(problem.train.values, problem.signs(), weights, np.minimum(alphas, C), C)
    assert Fraction(measures.dual_objective) <= dual
    assert measures.gap is None or 1 + Fraction(measures.gap) >= primal / dual
    if C * scale**2 <= 1.0 and not far and 0 < primal < 2 * dual:  # the bound on rounding is next to nothing
        assert measures.gap <= float(primal / dual - 1) + 1e-9


def test_rows_whose_squares_vanish_are_refused():
    matrix, labels = toys.real()
    for scale in (1e-160, 1e-200):
        with pytest.raises(DataError, match="too small for floating point; scale the features up"):
            certificates.finite_squared_norms(toys.problem(matrix * scale, labels, "dense64"))
    assert not certificates.finite_squared_norms(toys.problem(0 * matrix, labels, "dense64")).any()
