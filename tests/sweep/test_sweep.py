"""Every classifier on random small problems, against an optimum in 80 bits; `scripts/sweep.py` tries more of them."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import mpu_bench
from classifiers import ALL
from mpu_bench.kernels import Gaussian
from oracles import exact_svm, meb, quadratic_programs
from sweep import checks
from sweep.checks import outcome
from sweep.problems import made

_SEEDS, _MAX_ROWS = 12, 24


@pytest.mark.parametrize("name", ALL)
def test_no_number_is_false_and_no_fit_is_endless(name: str) -> None:
    """Of a sample that compiles little: dense rows in double, and one kernel beside that of the linear solvers."""
    found = [outcome(name, made(seed, ("float64",), ("rbf",), _MAX_ROWS), False) for seed in range(_SEEDS)]
    wrong = [f"{each.problem}, {each.parameters}: {text}" for each in found for text in each.wrong]
    assert not wrong, "\n".join(wrong)
    assert sum(bool(each.refused) for each in found) <= _SEEDS / 3, [each.refused for each in found]


@pytest.mark.parametrize(
    ("name", "seed"), [("MPUClassifier", 202), ("SVMPerfClassifier", 130), ("FrankWolfeClassifier", 173)]
)
def test_a_false_number_that_the_whole_sweep_found_stays_away(name: str, seed: int) -> None:
    """Rows of 1e9 under a Gaussian; an end by rounding, above tol; one against one with an indefinite kernel."""
    assert not outcome(name, made(seed)).wrong


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_reference_agrees_with_other_methods(C: float) -> None:
    problem, kernel = made(0, ("float64",), ("rbf",), _MAX_ROWS), Gaussian(0.5)
    X = problem.dense / problem.dense.std()
    signs = np.where(problem.y > 0, 1.0, -1.0)
    products = exact_svm.gram(kernel, X, X)
    lower, upper = exact_svm.l1(products, signs, np.full(len(X), C), bias=False)
    known = quadratic_programs.soft_margin(np.outer(signs, signs) * products.astype(float), C)[1]
    assert lower <= upper <= lower * (1 + 1e-9)
    assert known == pytest.approx(lower, rel=1e-9)
    lower, upper = exact_svm.l2(products, signs, np.full(len(X), C))
    assert lower <= upper <= lower * (1 + 1e-9)
    assert 1 / meb.least_square(meb.products(kernel, X, signs, C))[1] == pytest.approx(lower, rel=1e-9)
    with_bias = exact_svm.l1(products, signs, np.full(len(X), C), bias=True)
    assert with_bias.upper <= with_bias.lower * (1 + 1e-9)
    assert with_bias.upper <= upper


def test_false_numbers_are_seen() -> None:
    problem = made(1, ("float64",), ("rbf",), _MAX_ROWS)
    model = mpu_bench.DCDClassifier(C=problem.parameters["C"], max_iter=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(problem.X, problem.y)
    found = checks.Outcome("", "", {}, warned="max_iter")
    assert not list(checks._gap(model, problem, found))
    model.dual_gap_ = found.true - 1e-6
    assert any("the true gap" in text for text in checks._gap(model, problem, found))
    model.n_iter_ = 2
    assert list(checks._iterations(model))


def test_an_indefinite_kernel_certifies_nothing() -> None:
    problem = made(0, ("float64",), ("rbf",), _MAX_ROWS)
    X, indefinite = problem.X / np.linalg.norm(problem.X, axis=1).max(), {"kernel": "poly", "gamma": 9.0, "coef0": -1.0}
    for name in ("MPUClassifier", "SDCAClassifier", "SMOClassifier", "FrankWolfeClassifier"):
        model = getattr(mpu_bench, name)(degree=2, random_state=0, max_iter=50, **indefinite)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            assert not hasattr(model.fit(X, problem.y), "dual_gap_"), name
            assert not hasattr(model.fit(X, np.arange(len(X)) % 3), "dual_gap_"), name
