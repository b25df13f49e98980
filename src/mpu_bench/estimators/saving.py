"""A fitted classifier as a model that is saved."""

from __future__ import annotations

from typing import Any

import numpy as np

from mpu_bench.errors import DataError
from mpu_bench.models.classes import Classes
from mpu_bench.models.saved import Origin, SavedModel, made_now
from mpu_bench.preprocessing import Preprocessing
from mpu_bench.texts import counted


def saved_model(classifier: Any, preprocessing: Preprocessing | None = None) -> SavedModel:
    """Return what is saved of a fitted classifier.

    Parameters
    ----------
    classifier : SolverClassifier
    preprocessing : Table or Vectors, optional
        What was done to raw rows before they came to the classifier.

    Raises
    ------
    DataError
        If the preprocessing has other features, or the labels cannot be saved.
    """
    features = int(classifier.n_features_in_)
    if preprocessing is not None and preprocessing.features != features:
        raise DataError(
            f"the preprocessing makes {counted(preprocessing.features, 'feature')}; the model takes {features:,}"
        )
    has_intercept = classifier._as_trained()._columns > features
    names = getattr(classifier, "feature_names_in_", None)
    parameters = {name: _plain(value) for name, value in sorted(classifier._trained_with.items())}
    return SavedModel(
        classifier.model_,
        Classes.of(classifier.classes_),
        features + has_intercept,
        preprocessing,
        None if names is None or preprocessing is not None else tuple(map(str, names)),
        1.0 if has_intercept else None,
        getattr(classifier, "calibration_", None),
        made_now(Origin(solver=type(classifier).__name__, parameters=parameters)),
    )


def _plain(value: Any) -> Any:
    """Return a parameter as JSON can hold it."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if np.isfinite(value) else str(value)
    return value if value is None or isinstance(value, str | bool | int) else repr(value)
