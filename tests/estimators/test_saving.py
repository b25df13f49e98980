"""Classifiers that are saved: what is loaded answers as they do, and takes the rows they take."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

from mpu_bench import DCDClassifier, SMOClassifier, load
from mpu_bench.errors import DataError
from mpu_bench.preprocessing import Vectors

X, y = load_iris(return_X_y=True)


@pytest.mark.parametrize("classifier", [DCDClassifier(random_state=0), SMOClassifier(gamma=0.5, random_state=0)])
@pytest.mark.parametrize("classes", [2, 3])
def test_what_is_loaded_answers_bit_for_bit(classifier, classes: int, tmp_path: Path) -> None:
    rows, labels = X[y < classes], np.array(["a", "b", "c"])[y[y < classes]]
    classifier.fit(rows, labels).save(tmp_path / "m.mpu")
    model = load(str(tmp_path / "m.mpu"))
    assert np.array_equal(model.decision_function(rows), classifier.decision_function(rows))
    assert np.array_equal(model.predict(rows), classifier.predict(rows))
    assert model.score(rows, labels) == classifier.score(rows, labels)
    sparse = scipy.sparse.csr_matrix(rows)
    assert np.array_equal(model.decision_function(sparse), classifier.decision_function(sparse))
    assert model.origin.solver == type(classifier).__name__
    assert model.origin.parameters["C"] == 1.0


def test_names_of_columns_are_kept(tmp_path: Path) -> None:
    frame = pd.DataFrame(X, columns=list("abcd"))
    DCDClassifier(random_state=0).fit(frame, y).save(tmp_path / "m.mpu")
    model = load(tmp_path / "m.mpu")
    assert np.array_equal(model.decision_function(frame[list("dcba")]), model.decision_function(frame))
    with pytest.raises(DataError, match="'d'"):
        model.predict(frame[list("abc")])


def test_what_cannot_be_saved(tmp_path: Path) -> None:
    with pytest.raises(NotFittedError):
        DCDClassifier().save(tmp_path / "m.mpu")
    fitted = DCDClassifier(random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="the preprocessing makes 3 features; the model takes 4"):
        fitted.save(tmp_path / "m.mpu", Vectors(features_in=3))
