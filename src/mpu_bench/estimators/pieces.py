"""Classifiers that are given rows in pieces, by ``partial_fit``, and what they keep between two calls."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from mpu_bench.core.problem import Problem
from mpu_bench.estimators.base import ROWS, SolverClassifier

#: what may be another at each call of `partial_fit`: it decides nothing there, or nothing more
_MAY_CHANGE = {"max_iter", "shuffle", "n_jobs", "cache_size", "max_seconds", "random_state", "verbose"}


class Pieces(Problem):
    """Rows of which others may follow, so that nothing is taken from them that would hold for all."""

    @property
    def blocks(self) -> int:
        """More than one."""
        return 2

    def only_class(self) -> None:
        """Return None: others may come."""


@dataclass(eq=False, repr=False, kw_only=True)
class IncrementalClassifier(SolverClassifier):
    """A classifier with ``partial_fit``."""

    def _checked_piece(self, X: Any, y: Any, classes: Any, begins: bool) -> tuple[Any, NDArray[np.int32]]:
        """Return a piece of X and its labels as indices of `classes_`, which the first piece sets."""
        if not begins:
            self._refuse_changes()
            is_another = classes is not None and not np.array_equal(classes, self.classes_)  # but for their order
            if is_another and not np.array_equal(_labels(classes), self.classes_):
                raise ValueError(f"classes is not as at the first call of partial_fit: {self.classes_}")
            if (labels := self._known_labels(X, y)) is not None:
                return X, labels
        X, y = self._validated(X, y, begins)
        if begins:
            if classes is None:
                raise ValueError("classes must be given at the first call of partial_fit: all labels of the stream")
            self.classes_ = _labels(classes)
        unknown = ~np.isin(y, self.classes_)
        if unknown.any():
            raise ValueError(f"y has the label {y[unknown].tolist()[0]!r}, which is not in classes: {self.classes_}")
        return X, np.searchsorted(self.classes_, y).astype(np.int32)

    def _known_labels(self, X: Any, y: Any) -> NDArray[np.int32] | None:
        """Return labels as indices of `classes_` where rows and labels are plain arrays without a fault, else None.

        Finding that takes a tenth of the time of scikit-learn's checks, which say what is wrong with all others.
        """
        if not (
            type(X) is type(y) is np.ndarray
            and X.dtype in ROWS["dtype"]
            and y.dtype == self.classes_.dtype != object  # of which some may have no order
            and X.ndim == 2
            and X.shape[1] == self.n_features_in_
            and y.shape == (len(X),)
            and len(X)
            and "feature_names_in_" not in vars(self)
            and X.flags.c_contiguous
            and np.isfinite(X).all()
        ):
            return None
        labels = np.minimum(np.searchsorted(self.classes_, y), len(self.classes_) - 1)
        return labels.astype(np.int32) if (self.classes_[labels] == y).all() else None

    def _refuse_changes(self) -> None:
        for name, before in self._trained_with.items():
            if name not in _MAY_CHANGE and (now := getattr(self, name)) is not before and now != before:
                raise ValueError(
                    f"{name} was {before!r} when learning began, and is {now!r}; set it back, or start over with fit"
                )

    def __getstate__(self) -> dict[str, Any]:
        """Return what is saved; record arrays are saved as arrays with fields, which every format knows."""
        saved: dict[str, Any] = super().__getstate__()
        return {name: with_arrays(value, np.asarray) for name, value in saved.items()}

    def __setstate__(self, saved: dict[str, Any]) -> None:
        """Take over copies of what was saved, or is held by another: learning goes on in arrays of its own."""
        super().__setstate__({name: with_arrays(value, _copied) for name, value in saved.items()})


def _labels(classes: Any) -> NDArray[Any]:
    """Return the labels that are named, sorted and each once."""
    try:
        with np.errstate(invalid="ignore"):
            check_classification_targets(classes)  # of NaN, and of labels that have no order, none
        labels: NDArray[Any] = np.unique(column_or_1d(classes))
    except (TypeError, ValueError):
        labels = np.zeros(0)
    if len(labels) < 2:
        raise ValueError(f"classes is {classes!r}; it must be a list of at least two labels, whole numbers or words")
    return labels


def with_arrays(value: Any, convert: Callable[[NDArray[Any]], NDArray[Any]]) -> Any:
    """Return the same with all arrays converted, in a solver's state (a dataclass), in named tuples and in lists."""
    if isinstance(value, np.ndarray):
        return convert(value)
    if isinstance(value, list):
        return [with_arrays(part, convert) for part in value]
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(with_arrays(part, convert) for part in value))
    if is_dataclass(value) and not isinstance(value, type | BaseEstimator):
        taken = copy(value)
        for field in fields(value):
            object.__setattr__(taken, field.name, with_arrays(getattr(value, field.name), convert))
        return taken
    return value


def _copied(array: NDArray[Any]) -> NDArray[Any]:
    """Return a copy of an array, a record array where it has fields."""
    return array.copy().view(np.recarray) if array.dtype.names else array.copy()
