"""Kernel values that the caller gives, as a matrix or by a function: as those of a kernel by name, or refused."""

from __future__ import annotations

import pickle
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF
from sklearn.metrics.pairwise import linear_kernel, rbf_kernel, sigmoid_kernel
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.svm import SVC
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_estimator

import mpu_bench
from classifiers import ALL, blobs, made
from mpu_bench.core.models import KernelModel
from mpu_bench.estimators.mixins import KernelClassifier
from mpu_bench.estimators.of_solver import classifier
from mpu_bench.solvers.batch.sdca import SDCA

GAMMA = 0.2
WITHOUT_ONES = {"fit_intercept": False}
FORMS: list[tuple[str, dict[str, Any]]] = [
    ("SMOClassifier", {}),
    ("SDCAClassifier", {}),
    ("SBPClassifier", {}),
    ("SBPClassifier", {"fit_intercept": True}),
    ("MPUClassifier", WITHOUT_ONES),
    ("MarginPerceptronClassifier", WITHOUT_ONES),
    ("PegasosClassifier", WITHOUT_ONES),
    ("CoreVectorClassifier", {}),
    ("FrankWolfeClassifier", {}),
    ("PerceptronClassifier", {}),
    ("ForgetronClassifier", {}),
    ("BudgetPerceptronClassifier", {}),
    ("ProjectronClassifier", {"eta": 0.3}),
    ("ProjectronClassifier", {"budget": 9}),
    ("BudgetedPegasosClassifier", {"maintenance": "projection"}),
    ("BudgetedPegasosClassifier", {"budget": None}),
    ("BPASClassifier", {}),
]


def rbf(A: Any, B: Any) -> np.ndarray:
    return rbf_kernel(A, B, gamma=GAMMA)


def scores_of_training(model: Any, X: Any) -> Any:
    return model.decision_function(rbf(X, X) if model.kernel == "precomputed" else X)


def quietly(model: Any, *arguments: Any, **named: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(*arguments, **named)


def test_every_classifier_with_a_kernel_is_tried() -> None:
    with_kernels = {name for name in ALL if issubclass(getattr(mpu_bench, name), KernelClassifier)}
    assert with_kernels == {name for name, _ in FORMS} | {"FOGDClassifier"}  # which has features of a Gaussian kernel


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(("name", "parameters"), FORMS, ids=str)
def test_it_is_the_fit_of_the_kernel_by_name(name: str, parameters: dict[str, Any], classes: int) -> None:
    X, y = blobs(classes)
    others = blobs(classes, n=80, seed=0)[0]
    named = quietly(made(name, kernel="rbf", **parameters).set_params(gamma=GAMMA), X, y)
    given = quietly(made(name, kernel="precomputed", **parameters), rbf(X, X), y)
    called = quietly(made(name, kernel=rbf, **parameters), X, y)
    scores = named.decision_function(others)
    for model, rows in ((given, rbf(others, X)), (called, others)):
        assert model.kernel_evaluations_ == named.kernel_evaluations_
        assert model.n_iter_ == named.n_iter_
        np.testing.assert_allclose(model.decision_function(rows), scores, rtol=1e-4, atol=1e-4)
        np.testing.assert_array_equal(model.predict(rows), named.predict(others))
        np.testing.assert_allclose(model.dual_coef_, named.dual_coef_, rtol=1e-3, atol=1e-4)
        assert hasattr(model, "dual_gap_") == hasattr(named, "dual_gap_")
        assert getattr(model, "dual_gap_", 0) == pytest.approx(getattr(named, "dual_gap_", 0), rel=0.01, abs=1e-6)
        values = (model.dual_coef_ @ rbf(X, X)[model.support_]).T
        if classes == 2 or "ovo" not in model.get_params().values():
            np.testing.assert_allclose(values.squeeze() + model.intercept_, scores_of_training(model, X))
        if hasattr(named, "support_"):
            np.testing.assert_array_equal(model.support_, named.support_)
            np.testing.assert_array_equal(model.n_support_, named.n_support_)
    np.testing.assert_allclose(called.support_vectors_, named.support_vectors_, rtol=1e-6)
    np.testing.assert_array_equal(called.support_vectors_, X[given.support_])
    assert given.n_support_.sum() == len(given.support_)
    assert given.support_vectors_.shape == (0, 0)


def test_it_is_that_of_scikit_learn() -> None:
    X, y = blobs(2)
    others = blobs(2, n=80, seed=1)[0]
    ours = mpu_bench.SMOClassifier(kernel="precomputed", tol=1e-6).fit(rbf(X, X), y)
    theirs = SVC(kernel="precomputed", tol=1e-6).fit(rbf(X, X), y)
    K = rbf(others, X)
    np.testing.assert_allclose(ours.decision_function(K), theirs.decision_function(K), rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(np.sort(ours.support_), np.sort(theirs.support_))
    np.testing.assert_array_equal(ours.n_support_, theirs.n_support_)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-4)
    np.testing.assert_allclose(ours.dual_coef_ @ K[:, ours.support_].T + ours.intercept_, [ours.decision_function(K)])
    with pytest.raises(AttributeError, match="coef_ with kernel='linear' only"):
        _ = ours.coef_


@pytest.mark.parametrize("classes", [2, 3])
def test_an_intercept_is_a_feature_that_is_one(classes: int) -> None:
    X, y = blobs(classes)
    named = made("MPUClassifier", kernel="poly", degree=1, gamma=1.0).fit(X, y)
    for model, rows in (
        (made("MPUClassifier", kernel="precomputed").fit(linear_kernel(X, X), y), linear_kernel(X, X)),
        (made("MPUClassifier", kernel=linear_kernel).fit(X, y), X),
    ):
        np.testing.assert_allclose(model.decision_function(rows), named.decision_function(X), rtol=1e-6, atol=1e-6)
        values = model.dual_coef_ @ linear_kernel(X, X)[model.support_] + model.intercept_[:, np.newaxis]
        np.testing.assert_allclose(values.T.reshape(len(X), -1).squeeze(), model.decision_function(rows))


def test_single_precision_is_taken_as_it_is() -> None:
    X, y = blobs(2)
    K = rbf(X, X)
    single = made("SMOClassifier", kernel="precomputed").fit(K.astype(np.float32), y)
    double = made("SMOClassifier", kernel="precomputed").fit(K, y)
    np.testing.assert_allclose(single.decision_function(K.astype(np.float32)), double.decision_function(K), atol=1e-4)
    assert single.dual_gap_ == pytest.approx(double.dual_gap_, rel=0.01)


def test_rows_of_a_function_may_be_sparse_and_values_whole_numbers() -> None:
    X, y = blobs(2)
    dense = made("SMOClassifier", kernel=rbf).fit(X, y)
    sparse = made("SMOClassifier", kernel=rbf).fit(scipy.sparse.csr_matrix(X), y)
    np.testing.assert_allclose(sparse.decision_function(scipy.sparse.csr_matrix(X)), dense.decision_function(X))
    assert abs(sparse.support_vectors_ - dense.support_vectors_).max() == 0
    signs = np.sign(X).astype(int) @ np.sign(X).astype(int).T
    by_function = made("SMOClassifier", kernel=lambda A, B: np.sign(A).astype(int) @ np.sign(B).astype(int).T)
    by_matrix = made("SMOClassifier", kernel="precomputed").fit(signs, y)
    np.testing.assert_array_equal(by_function.fit(X, y).decision_function(X), by_matrix.decision_function(signs))


def test_an_indefinite_kernel_is_trained_with_and_not_certified() -> None:
    X, y = blobs(2)
    K = rbf(X, X)
    assert hasattr(made("SMOClassifier", kernel="precomputed").fit(K, y), "dual_gap_")
    assert hasattr(made("SMOClassifier", kernel="precomputed").fit(np.ones_like(K), y), "dual_gap_")
    assert hasattr(made("SMOClassifier", kernel="precomputed").fit(np.zeros_like(K), y), "dual_gap_")
    for indefinite in (sigmoid_kernel(X, X), K - 1e-6 * np.eye(len(K)) - 0.01 * np.diag(np.arange(len(K)) == 3)):
        for name in ("SMOClassifier", "SDCAClassifier", "FrankWolfeClassifier"):
            model = quietly(made(name, kernel="precomputed"), indefinite, y)
            assert np.isfinite(model.decision_function(indefinite)).all()
            lowest = np.linalg.eigvalsh(indefinite)[0]
            assert hasattr(model, "dual_gap_") == (lowest > -1e-9)


@pytest.mark.parametrize("name", ["SMOClassifier", "MPUClassifier"])
def test_an_indefinite_kernel_is_warned_of(name: str) -> None:
    X, y = blobs(2)
    indefinite = (X @ X.T / 10 - 1) ** 2
    by_name = {"kernel": "poly", "degree": 2, "gamma": 0.1, "coef0": -1.0}
    with pytest.warns(ConvergenceWarning, match=r"kernel='poly' with coef0=-1.0 is not positive semidefinite; no dual"):
        made(name, **by_name).fit(X, y)
    for kernel, rows in (("precomputed", indefinite), (lambda A, B: (A @ B.T / 10 - 1) ** 2, X)):
        with pytest.warns(ConvergenceWarning, match="the kernel matrix is not positive semidefinite; no dual_gap_"):
            made(name, kernel=kernel).fit(rows, y)


def test_rows_without_weight_stay_in_the_matrix() -> None:
    X, y = blobs(3)
    weights = np.arange(len(X)) % 3
    named = made("SMOClassifier", gamma=GAMMA).fit(X, y, sample_weight=weights)
    given = made("SMOClassifier", kernel="precomputed").fit(rbf(X, X), y, sample_weight=weights)
    np.testing.assert_array_equal(given.support_, named.support_)
    np.testing.assert_allclose(given.decision_function(rbf(X, X)), named.decision_function(X), atol=1e-4)


class WithoutSupport(SDCA):
    """A solver whose model does not say which rows its vectors are."""

    name = "without-support"

    def model(self, state: Any) -> KernelModel:
        """Return the last w."""
        return replace(super().model(state), support=None)


def test_support_is_of_all_rows_though_the_model_does_not_say_which() -> None:
    X, y = blobs(2)
    weights = (np.arange(len(X)) % 3).astype(float)
    fitted = [
        classifier(solver)(kernel="precomputed", regularization=0.01, passes=200, random_state=0).fit(
            rbf(X, X), y, sample_weight=weights
        )
        for solver in (SDCA, WithoutSupport)
    ]
    np.testing.assert_array_equal(fitted[1].support_, fitted[0].support_)
    np.testing.assert_array_equal(fitted[1].n_support_, fitted[0].n_support_)
    np.testing.assert_array_equal(fitted[1].predict(rbf(X, X)), fitted[0].predict(rbf(X, X)))


def test_folds_take_rows_and_columns() -> None:
    X, y = blobs(3)
    assert get_tags(made("SMOClassifier", kernel="precomputed")).input_tags.pairwise
    assert not get_tags(made("SMOClassifier", kernel=rbf)).input_tags.pairwise
    for name in ("SMOClassifier", "PerceptronClassifier"):
        given = cross_val_score(made(name, kernel="precomputed"), rbf(X, X), y, cv=3)
        named = cross_val_score(made(name, kernel="rbf", gamma=GAMMA), X, y, cv=3)
        np.testing.assert_array_equal(given, named)
    search = GridSearchCV(made("SMOClassifier", kernel="precomputed"), {"C": [0.01, 1.0]}, cv=3).fit(rbf(X, X), y)
    by_name = GridSearchCV(made("SMOClassifier", gamma=GAMMA), {"C": [0.01, 1.0]}, cv=3).fit(X, y)
    np.testing.assert_array_equal(search.cv_results_["mean_test_score"], by_name.cv_results_["mean_test_score"])
    np.testing.assert_array_equal(search.predict(rbf(X, X)), by_name.predict(X))


@pytest.mark.parametrize("kernel", ["precomputed", rbf])
@pytest.mark.parametrize("name", ["SMOClassifier", "PerceptronClassifier"])
def test_it_is_cloned_and_pickled_without_the_matrix(name: str, kernel: Any) -> None:
    X, y = blobs(2)
    rows = rbf(X, X) if kernel == "precomputed" else X
    model = clone(made(name, kernel=kernel)).fit(rows, y)
    assert model.kernel == kernel
    kept = pickle.dumps(model)
    assert len(kept) < rbf(X, X).nbytes / 2
    np.testing.assert_array_equal(pickle.loads(kept).decision_function(rows), model.decision_function(rows))


def test_the_next_fit_may_be_of_another_kernel() -> None:
    X, y = blobs(2)
    model = made("PerceptronClassifier", kernel="precomputed").fit(rbf(X, X), y)
    model.set_params(kernel="rbf", gamma=GAMMA).fit(X, y)
    fresh = made("PerceptronClassifier", kernel="rbf", gamma=GAMMA).fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X), fresh.decision_function(X))
    np.testing.assert_array_equal(model.partial_fit(X, y).predict(X), fresh.partial_fit(X, y).predict(X))


def test_parameters_of_a_kernel_that_are_set_after_a_fit_hold_from_the_next_one() -> None:
    X, y = blobs(2)
    fitted = made("SMOClassifier", kernel=RBF(1.0)).fit(X, y)
    scores = fitted.decision_function(X)
    fitted.set_params(kernel__length_scale=5.0)
    assert np.array_equal(fitted.decision_function(X), scores)
    assert np.abs(fitted.fit(X, y).decision_function(X) - scores).max() > 0.1


def test_scikit_learn_accepts_it() -> None:
    expected = {"check_classifiers_one_label_sample_weights": "its matrix is not symmetric"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what its own checks warn of
        check_estimator(mpu_bench.SMOClassifier(kernel="precomputed"), expected_failed_checks=expected)


def spoiled(change: Any) -> Any:
    """Return a change of a copy of a matrix."""

    def changed(K: np.ndarray) -> Any:
        K = K.copy()
        return K if (instead := change(K)) is None else instead

    return changed


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda K: K[:, :-1], "the kernel matrix has the shape (40, 39); of training rows with each other it must"),
        (lambda K: K.__setitem__((3, 5), 0.25), "the kernel matrix is not symmetric: K[3, 5] is 0.25 and K[5, 3] is "),
        (lambda K: K.__setitem__((3, 5), np.nan), "contains NaN"),
        (lambda K: K * 1e31, "the largest value of the kernel matrix is 1e+31 and must be from 1e-30 to 1e+30; scale"),
        (lambda K: K * 1e-31, "the largest value of the kernel matrix is 1e-31 and must be from"),
        (scipy.sparse.csr_matrix, "with kernel='precomputed' X is a kernel matrix; it must be an array, not sparse"),
    ],
)
@pytest.mark.parametrize("name", ["SMOClassifier", "PerceptronClassifier"])
def test_a_matrix_that_is_none_is_refused(name: str, change: Any, words: str) -> None:
    X, y = blobs(2, n=40)
    with pytest.raises(ValueError) as refused:  # noqa: PT011
        made(name, kernel="precomputed").fit(spoiled(change)(rbf(X, X)), y)
    assert words in str(refused.value)


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (
            lambda A, B: rbf(A, B)[:-1],
            "kernel(X, Y) returns an array of float64, shape (39, 40); it must return numbers",
        ),
        (lambda A, B: rbf(A, B).astype(str), "it must return numbers, shape (40, 40)"),
        (lambda A, B: scipy.sparse.csr_matrix(rbf(A, B)), "it must return numbers, shape (40, 40)"),
        (lambda A, B: rbf(A, B) * np.nan, "the kernel matrix has a value that is not finite"),
        (lambda A, B: A[:, :1] + 0 * rbf(A, B), "the kernel matrix is not symmetric"),
    ],
)
def test_a_function_that_is_no_kernel_is_refused(function: Any, words: str) -> None:
    X, y = blobs(2, n=40)
    with pytest.raises(ValueError) as refused:  # noqa: PT011
        made("SMOClassifier", kernel=function).fit(X, y)
    assert words in str(refused.value)


def test_what_given_values_cannot_do_is_refused(tmp_path: Path) -> None:
    X, y = blobs(2, n=40)
    K = rbf(X, X)
    model = made("SMOClassifier", kernel="precomputed").fit(K, y)
    with pytest.raises(ValueError, match="by a matrix or a function, cannot be saved or exported; pickle it"):
        model.save(tmp_path / "m.mpu")
    with pytest.raises(ValueError, match="39 features, but SMOClassifier is expecting 40"):
        model.predict(K[:, :-1])
    with pytest.raises(ValueError, match="maintenance: merging needs a Gaussian kernel, not precomputed"):
        made("BudgetedPegasosClassifier", kernel="precomputed").fit(K, y)
    with pytest.raises(ValueError, match="fogd needs a Gaussian kernel; it cannot train with a precomputed kernel"):
        made("FOGDClassifier", kernel="precomputed").fit(K, y)
    with pytest.raises(ValueError, match="it must be a word or a function"):
        made("SMOClassifier", kernel=3).fit(X, y)
    for kernel, rows in (("precomputed", K), (rbf, X)):
        online = made("PerceptronClassifier", kernel=kernel)
        for fitted in (online, clone(online).fit(rows, y)):
            with pytest.raises(ValueError, match="whose values with rows to come are not known; use fit"):
                fitted.partial_fit(rows, y, classes=[0, 1])
        assert not hasattr(made("PegasosClassifier", kernel=kernel), "partial_fit")


def test_river_refuses_them() -> None:
    pytest.importorskip("river")
    from mpu_bench import river

    with pytest.raises(ValueError, match="whose values with rows to come are not known"):
        river.Perceptron(classes=[0, 1], kernel="precomputed").learn_one({"a": 1.0}, 1)


def test_a_row_far_from_all_others_has_its_score_alone_and_among_others() -> None:
    X, y = blobs(2)
    model = made("SMOClassifier", kernel=lambda a, b: rbf_kernel(a, b, gamma=1.0)).fit(X, y)
    far = X[:1] + 15.0 * np.eye(1, X.shape[1])
    values = rbf_kernel(far, X, gamma=1.0)
    assert 0 < values.max() < 1e-30
    among = model.decision_function(np.vstack([X, far]))[-1]
    assert model.decision_function(far) == pytest.approx(among) == pytest.approx(model.intercept_[0])
    with pytest.raises(ValueError, match="the largest value of the kernel matrix is"):
        made("SMOClassifier", kernel="precomputed").fit(1e-40 * np.eye(len(y)), y)
