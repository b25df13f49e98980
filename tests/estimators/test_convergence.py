"""How fits end: by themselves or by a bound, with a warning that says how far they came, and never with NaN."""

from __future__ import annotations

import inspect
import re
import warnings
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

import mpu_bench
from classifiers import ALL, blobs, made
from mpu_bench import estimators
from mpu_bench.core.counters import PRESENTED
from mpu_bench.solvers.linear.dcd import DCD

#: those whose `max_iter` bounds a solver that ends by a rule of its own, with a kernel with which scale matters
BOUNDED: dict[str, dict[str, Any]] = {
    name: {"kernel": "linear"} if name in ("SMOClassifier", "FrankWolfeClassifier") else {}
    for name in ALL
    if getattr(mpu_bench, name).bounds
}
WITH_COST = [name for name in ALL if "C" in inspect.signature(getattr(mpu_bench, name)).parameters]
CERTIFIED = sorted(BOUNDED.keys() - {"MarginPerceptronClassifier", "CoreVectorClassifier"})


def test_as_many_classifiers_as_before_are_tried() -> None:
    assert len(BOUNDED) >= 8
    assert len(WITH_COST) >= 10


@pytest.fixture(scope="module")
def raw() -> tuple[np.ndarray, np.ndarray]:
    """Return rows whose columns differ in scale."""
    X, y = load_breast_cancer(return_X_y=True)
    return X[::5], y[::5]


def fitted(model: Any, X: Any, y: Any) -> tuple[Any, list[str]]:
    """Return the model, fitted, and of what it warned."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    assert all(each.category is ConvergenceWarning and each.filename == __file__ for each in caught)
    return model, [str(each.message) for each in caught]


def test_by_default_a_fit_ends_and_tells_a_large_gap(name: str, raw: Any) -> None:
    model, told = fitted(made(name), *raw)
    assert 1 <= model.n_iter_ <= model.max_iter
    assert np.isfinite(model.decision_function(raw[0])).all()
    gap = getattr(model, "dual_gap_", 0.0)
    assert np.isfinite(gap)
    assert gap >= 0
    assert gap <= 0.1 or f"its gap is {gap:.2g} (dual_gap_)" in told[0]


@pytest.mark.parametrize("name", CERTIFIED)
def test_a_fit_that_is_stopped_tells_the_gap_and_the_cure(name: str, raw: Any) -> None:
    model, (told,) = fitted(made(name, max_iter=2, **BOUNDED[name]), *raw)
    assert model.n_iter_ == 2
    assert told.startswith(f"{name} was stopped by max_iter = 2, before its own end; ")
    assert "dual_gap_" in told or "nothing bounds how far its objective is from the optimum" in told
    assert "; scale the features, as with StandardScaler (their largest values are 0.022 to 3.4e+03" in told
    assert told.endswith("), or take a smaller C")
    _, (told,) = fitted(made(name, max_iter=2, **BOUNDED[name]), StandardScaler().fit_transform(raw[0]), raw[1])
    assert told.endswith("; take a larger max_iter or tol, or take a smaller C")
    _, (told,) = fitted(made(name, max_iter=2, **BOUNDED[name]), scipy.sparse.csr_array(raw[0]), raw[1])
    assert "as with MaxAbsScaler" in told


def test_a_hard_margin_has_no_losses_for_a_smaller_weight(raw: Any) -> None:
    scaled = StandardScaler().fit_transform(raw[0])
    _, (told,) = fitted(made("MPUClassifier", margin="hard", max_iter=1), scaled, raw[1])
    assert told.endswith("; take a larger max_iter or tol")


@pytest.mark.parametrize("name", sorted(BOUNDED))
def test_no_bound_is_for_those_who_ask_for_it(name: str) -> None:
    X, y = blobs(2, n=30)
    if name == "MarginPerceptronClassifier":
        X[y == 1] += 20.0  # separable, or there would be no end
    assert fitted(made(name, max_iter=None), X, y)[1] == []
    with pytest.raises(ValueError, match="max_iter is 0; it must be at least 1"):
        made(name, max_iter=0).fit(X, y)


def test_no_pass_is_refused_where_steps_are_counted() -> None:
    for passes in (0, -3):
        with pytest.raises(ValueError, match=f"max_iter is {passes}; it must be at least 1"):
            made("PegasosClassifier", max_iter=passes).fit(*blobs(2, n=30))


def test_passes_that_do_not_do_are_told(raw: Any) -> None:
    model, (told,) = fitted(made("SDCAClassifier", kernel="linear"), *raw)
    assert model.dual_gap_ > 0.1
    assert told.startswith(f"SDCAClassifier may be far from the optimum; its gap is {model.dual_gap_:.2g} (dual_gap_)")
    _, (told,) = fitted(made("PegasosClassifier"), *raw)
    assert told.startswith("PegasosClassifier may be far from the optimum; its objective is ")
    assert f", where w = 0 has {len(raw[0])}; scale the features" in told
    assert fitted(made("PegasosClassifier"), StandardScaler().fit_transform(raw[0]), raw[1])[1] == []


def test_code_of_no_module_is_warned(raw: Any) -> None:
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        exec("model.fit(*raw)", {"model": made("DCDClassifier", max_iter=1), "raw": raw})


def test_data_without_a_margin_are_told() -> None:
    X, y = np.zeros((4, 2)), [0, 1, 0, 1]
    for name, parameters in (("MPUClassifier", {"margin": "hard"}), ("MarginPerceptronClassifier", {})):
        model, (told,) = fitted(made(name, fit_intercept=False, **parameters), X, y)
        assert told == f"{name}: the data are not separable: 4 training rows are zero"
        np.testing.assert_array_equal(model.coef_, 0.0)


@pytest.mark.parametrize("scale", [0.0, 1e-160, 1e8, 1e30, 1e150])
def test_rows_of_any_length_give_finite_scores_or_one_message(name: str, scale: float) -> None:
    X, y = np.random.default_rng(0).normal(size=(30, 3)) * scale, np.arange(30) % 2
    model = made(name)
    if name in BOUNDED:
        model.set_params(max_iter=20)
    refused = ""
    try:
        fitted(model, X, y)
    except ValueError as fault:
        refused = str(fault)
    assert "scale the features" in refused if refused else np.isfinite(model.decision_function(X)).all()
    assert np.isfinite(getattr(model, "dual_gap_", 0.0))
    assert not refused or scale


@pytest.mark.parametrize("name", WITH_COST)
def test_an_infinite_cost_is_refused_by_all(name: str) -> None:
    with pytest.raises(ValueError, match=r"^C is inf; it must be (above 0 and )?finite$"):
        made(name, C=np.inf).fit(*blobs(2, n=20))


@pytest.mark.parametrize("C", [1e-320, 1e308])
@pytest.mark.parametrize("name", [name for name in WITH_COST if name != "PegasosClassifier"])
def test_a_cost_without_a_reciprocal_is_a_model_or_one_message(name: str, C: float) -> None:
    model, refused = made(name, C=C, max_iter=20), ""
    try:
        fitted(model, *blobs(2, n=20))
    except ValueError as fault:
        refused = str(fault)
    assert re.search(r"C is |C, times|scale the features", refused) if refused else model.model_ is not None


def test_a_power_of_the_scale_may_be_beyond_any_number() -> None:
    X, y = blobs(2, n=20)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        model = made("SMOClassifier", kernel="poly").fit(X * 1e-110, y)
    np.testing.assert_allclose(model.decision_function(X * 1e-110), model.fit(X, y).decision_function(X), atol=1e-2)


@pytest.mark.parametrize(("C", "n"), [(1e-310, 20), (1.7e308, 20)])
@pytest.mark.parametrize("name", ["SDCAClassifier", "RandomFourierClassifier", "PegasosClassifier"])
def test_a_cost_whose_lambda_no_double_holds_is_refused(name: str, C: float, n: int) -> None:
    model = made(name, C=C) if name != "PegasosClassifier" else made(name, C=C, kernel="rbf", fit_intercept=False)
    with pytest.raises(ValueError, match=r"^C is .*; 1 / \(C n\), which is (inf|0), must be above 0 and finite$"):
        model.fit(*blobs(2, n=n))


def test_a_cost_so_small_that_mpu_cannot_add_it_up_is_refused() -> None:
    with pytest.raises(
        ValueError, match=r"^C is 1e-310, for which no double holds sums of b = I / C = inf; take a larger"
    ):
        made("MPUClassifier", C=1e-310).fit(*blobs(2, n=20))


def test_a_variance_without_a_reciprocal_is_refused() -> None:
    X, y = blobs(2, n=20)
    for scale, rows in product((1e-160, 1e-310), (X, scipy.sparse.csr_array(X))):
        with pytest.raises(ValueError, match=r"variance of X, .* is too small for .*; scale the features up"):
            estimators.SBPClassifier().fit(rows * scale, y)


def test_the_first_look_at_the_clock_is_after_one_example(monkeypatch: pytest.MonkeyPatch) -> None:
    advance, sizes = DCD.advance, []

    def counted(self: Any, state: Any, until: Any) -> Any:
        sizes.append(until.presented - int(state.counters[PRESENTED]))
        return advance(self, state, until)

    monkeypatch.setattr(DCD, "advance", counted)
    fitted(made("DCDClassifier"), *blobs(2))
    assert sizes[0] == 1
    assert all(size <= 8 * before for before, size in pairwise(sizes))


#: parameters with which rounding alone ends a fit
UNREACHABLE: dict[str, dict[str, Any]] = {
    **{name: {"tol": 1e-300} for name in BOUNDED},
    "MPUClassifier": {"tol": 1e-300, "accuracy": 1e-3},
    "MarginPerceptronClassifier": {"accuracy": 1e-9},
    "RandomFourierClassifier": {"tol": 1e-300, "pairs": 20},
}


def rows_without_end(kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Return rows on which a tolerance that no double reaches has no other end than rounding."""
    random = np.random.default_rng(5)
    X = random.normal(size=(12, 2))
    y = random.integers(0, 2, 12)
    y[:2] = 0, 1
    return {
        "near duplicates": (X[np.arange(12) % 3] + 1e-9 * random.normal(size=X.shape), y),
        "equal": (np.ones_like(X), y),
        "contradicted": (X[np.arange(12) % 6], np.arange(12) // 6),
        "tiny": (1e-8 * X, y),
        "huge": (1e8 * X, (X[:, 0] > 0).astype(int)),
    }[kind]


@pytest.mark.parametrize("name", sorted(BOUNDED))
def test_a_tolerance_that_no_double_reaches_has_an_end(name: str) -> None:
    is_linear = vars(made(name)).get("kernel", "linear") == "linear"
    for kind, C in product(("near duplicates", "equal", "contradicted", "tiny", "huge"), (1.0, 100.0)):
        scale = 1e-16 if kind == "huge" and is_linear else 1.0
        cost = {"C": scale * C} if name in WITH_COST else {}
        model = made(name, max_iter=None, max_seconds=3.0, **UNREACHABLE[name], **cost)
        told = fitted(model, *rows_without_end(kind))[1]
        assert not any("max_seconds" in each for each in told), (kind, C, told)
        assert all("a smaller tol" not in each for each in told), (kind, C, told)


def test_rounding_that_ends_many_subproblems_is_one_short_warning() -> None:
    X, y = blobs(6, n=90, d=3)
    _, (told,) = fitted(made("DCDClassifier", tol=1e-300, max_iter=None), X, y)
    assert told.count("rounding leaves no progress") == 2
    assert "; 4 other notes on subproblems; its gap is " in told
    assert told.endswith("; take a larger tol, or take a smaller C")
