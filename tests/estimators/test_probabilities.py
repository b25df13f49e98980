from __future__ import annotations

import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn import set_config
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import NotFittedError
from sklearn.metrics import brier_score_loss
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.estimator_checks import check_estimator

import mpu_bench
from classifiers import ONLINE, blobs, made
from mpu_bench.errors import DataError


@pytest.fixture(autouse=True)
def _without_warnings() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.parametrize("classes", [2, 3])
def test_they_are_those_of_scikit_learns_calibration(name: str, classes: int) -> None:
    X, y = blobs(classes)
    words = np.array(["zero", "one", "two"])[y]
    model = made(name, probability=True).fit(X, words)
    cv = StratifiedKFold(5)
    other = CalibratedClassifierCV(made(name), method="sigmoid", cv=cv, ensemble=False).fit(X, words)
    found = model.predict_proba(X)
    np.testing.assert_allclose(found, other.predict_proba(X), atol=0.03)  # whose own accuracy that is
    np.testing.assert_allclose(found.sum(axis=1), 1)
    np.testing.assert_array_equal(model.decision_function(X), made(name).fit(X, words).decision_function(X))
    assert np.mean(model.classes_[found.argmax(axis=1)] == words) > 0.8


def test_without_probability_there_is_no_predict_proba(name: str) -> None:
    X, y = blobs(2)
    model = made(name).fit(X, y)
    assert not hasattr(model, "predict_proba")
    with pytest.raises(AttributeError, match="predict_proba"):
        model.predict_proba(X)
    with pytest.raises(NotFittedError):
        model.set_params(probability=True).predict_proba(X)


@pytest.mark.parametrize("name", ["DCDClassifier", "SMOClassifier", "ForgetronClassifier"])
def test_scikit_learn_accepts_it(name: str) -> None:
    expected = {
        f"check_sample_weight_equivalence_on_{rows}_data": "folds of rows are others than those of repeated rows"
        for rows in ("dense", "sparse")
    } | {"check_classifiers_train": "labels go by the scores, as those of SVC do, and not by the probabilities"}
    check_estimator(getattr(mpu_bench, name)(probability=True), expected_failed_checks=expected)


def test_weights_of_rows_count() -> None:
    X, y = blobs(2)
    weights = np.where(y == 1, 3.0, 1.0)
    plain = made("DCDClassifier", probability=True).fit(X, y)
    for routed in (False, True):
        set_config(enable_metadata_routing=routed)
        try:
            weighed = made("DCDClassifier", probability=True).fit(X, y, sample_weight=weights)
        finally:
            set_config(enable_metadata_routing=False)
        assert weighed.predict_proba(X)[:, 1].mean() > plain.predict_proba(X)[:, 1].mean()


@pytest.mark.parametrize("kernel", ["linear", "precomputed"])
def test_rows_without_weight_are_in_no_fold(kernel: str) -> None:
    X, y = blobs(2)
    weights = np.zeros(len(y))
    weighted = np.sort(np.concatenate([np.flatnonzero(y == label)[:4] for label in (0, 1)]))  # of the first fold
    weights[weighted] = 2.0
    model, alone = (made("SMOClassifier", kernel=kernel, probability=True) for _ in range(2))
    rows, alone_rows = (X, X[weighted]) if kernel == "linear" else (X @ X.T, X[weighted] @ X[weighted].T)
    model.fit(rows, y, sample_weight=weights)
    alone.fit(alone_rows, y[weighted], sample_weight=weights[weighted])
    assert model.calibration_ == alone.calibration_


def test_given_kernel_values_are_split_by_rows_and_columns() -> None:
    X, y = blobs(2)
    given = made("SMOClassifier", kernel="precomputed", probability=True).fit(X @ X.T, y)
    named = made("SMOClassifier", kernel="linear", probability=True).fit(X, y)
    np.testing.assert_allclose(given.predict_proba(X @ X.T), named.predict_proba(X), atol=0.02)


def test_a_class_needs_two_rows() -> None:
    X, y = blobs(2)
    y[:] = 0
    y[0] = 1
    with pytest.raises(ValueError, match="needs two rows of each class"):
        made("DCDClassifier", probability=True).fit(X, y)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("name", ONLINE)
def test_pieces_of_any_size_give_the_same(name: str, classes: int) -> None:
    X, y = blobs(classes)
    whole = made(name, probability=True).partial_fit(X, y, classes=range(classes))
    pieces = made(name, probability=True)
    for first in range(0, len(X), 17):
        pieces = pickle.loads(pickle.dumps(pieces))
        pieces.partial_fit(X[first : first + 17], y[first : first + 17], classes=range(classes))
    np.testing.assert_array_equal(whole.predict_proba(X), pieces.predict_proba(X))
    plain = made(name).partial_fit(X, y, classes=range(classes))
    np.testing.assert_array_equal(whole.decision_function(X), plain.decision_function(X))


def test_a_fit_goes_on_by_partial_fit() -> None:
    X, y = blobs(2, n=600)
    model = made("ForgetronClassifier", probability=True).fit(X[:300], y[:300])
    model.partial_fit(X[300:310], y[300:310])
    assert brier_score_loss(y[310:], model.predict_proba(X[310:])[:, 1]) < 0.2


def test_an_averages_scores_are_its_own() -> None:
    X, y = blobs(2, n=600)
    model = made("BudgetedPegasosClassifier", probability=True, average=True)
    model.partial_fit(X[:400], y[:400], classes=[0, 1])
    assert brier_score_loss(y[400:], model.predict_proba(X[400:])[:, 1]) < 0.15


def test_pegasos_has_no_probabilities_of_pieces() -> None:
    X, y = blobs(2)
    with pytest.raises(ValueError, match="probability=True needs all rows"):
        mpu_bench.PegasosClassifier(probability=True).partial_fit(X, y, classes=[0, 1])


def test_pieces_after_a_fit_have_none_of_its_sigmoids(tmp_path: Path) -> None:
    X, y = blobs(2)
    model = made("PegasosClassifier", probability=True).fit(X, y)
    model.set_params(probability=False).partial_fit(-X, y)
    model.save(tmp_path / "model.mpu")
    with pytest.raises(DataError, match="the model has no probabilities"):
        mpu_bench.load(tmp_path / "model.mpu").predict_proba(X)
