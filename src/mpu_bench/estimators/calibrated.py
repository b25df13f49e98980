"""Classifiers with ``predict_proba``: sigmoids of the scores, fitted to scores of rows that did not train."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.utils import check_array, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from mpu_bench.models.probabilities import Sigmoids

_FOLDS = 5


def _has_probability(classifier: Any) -> bool:
    if not classifier.probability:
        raise AttributeError("predict_proba needs probability=True")
    return True


@dataclass(eq=False, repr=False, kw_only=True)
class Calibrated(BaseEstimator):  # type: ignore[misc]
    """A classifier that has probabilities where they are asked for.

    Parameters
    ----------
    probability : bool
        Whether there is `predict_proba`: `fit` then trains once more for each of five folds, each time for
        ``max_seconds`` at most, to fit Platt's sigmoids to scores of rows that did not train. `partial_fit` of those
        that learn row by row fits them to the last 500 scores, each of a row before it was learned.
    """

    probability: bool = False

    @available_if(_has_probability)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of every class, shape (n, c), of a classifier with ``probability=True``.

        They are Platt's sigmoids of the scores, of several classes divided by their sum. The likeliest class is not
        always that of `predict`, which goes by the scores.
        """
        check_is_fitted(self, "calibration_")
        probabilities: NDArray[np.float64] = self.calibration_.probabilities(self._scores(X))
        return probabilities

    def _calibrate(self, X: Any, labels: NDArray[np.int32], sample_weight: Any = None) -> None:
        """Fit the sigmoids of `predict_proba` to the scores that each row has without training on its fold."""
        if not self.probability:
            return
        other, y = clone(self).set_params(probability=False), self.classes_[labels]
        weights = None if sample_weight is None else np.broadcast_to(np.asarray(sample_weight, float), len(labels))
        if weights is not None and not weights.all():
            weighted = np.flatnonzero(weights)  # the others are in no fold
            X = check_array(X, accept_sparse="csr")[weighted]
            if get_tags(other).input_tags.pairwise:
                X = X[:, weighted]
            y, labels, weights = y[weighted], labels[weighted], weights[weighted]
        folds = min(_FOLDS, int(np.bincount(labels).min()))
        if folds < 2:
            raise ValueError("probability=True is fitted by cross-validation, which needs two rows of each class")
        with warnings.catch_warnings(), config_context(enable_metadata_routing=False):
            warnings.simplefilter("ignore", ConvergenceWarning)  # the fit to all rows has warned
            scores = cross_val_predict(
                other, X, y, cv=StratifiedKFold(folds), method="decision_function",
                params=None if weights is None else {"sample_weight": weights},
            )  # fmt: skip
        self._fit_sigmoids(scores.reshape(len(labels), -1), labels, weights)

    def _fit_sigmoids(self, scores: NDArray[np.float64], labels: NDArray[Any], weights: Any) -> None:
        self.calibration_ = Sigmoids.of(scores, labels, weights)
