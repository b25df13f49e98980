"""How good predictions are, class by class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpu_bench.core.models import labels_of

Labels = np.ndarray[Any, Any]  #: class indices, int32


def errors_by_class(predicted: Labels | None, labels: Labels, classes: int) -> dict[str, float | None]:
    """Return what an error says nothing of where most examples are of one class, by column.

    Parameters
    ----------
    predicted : array of int32, shape (n_test,), or None
        The class predicted for every test row; None where there are no rows.
    labels : array of int32, shape (n_test,)
        The class it is of.
    classes : int
        How many there are; of two, 1 is the positive one.

    Returns
    -------
    dict
        ``constant_error``, ``balanced_error`` and ``positives_found``, each None where it does not exist.
    """
    if predicted is None:
        return dict.fromkeys(("constant_error", "balanced_error", "positives_found"))
    examples = np.bincount(labels, minlength=classes)
    right = np.bincount(labels[predicted == labels], minlength=classes)
    found = right / np.maximum(examples, 1)
    return {
        "constant_error": float(1 - examples.max() / len(labels)),
        "balanced_error": float(np.mean(1 - found[examples > 0])),
        "positives_found": float(found[1]) if classes == 2 and examples[1] else None,
    }


@dataclass
class Confusion:
    """Counts of rows by the class they are of and the class that is predicted.

    Attributes
    ----------
    counts : array of int64, shape (c, c)
        Row: the class it is of; column: the class predicted.
    """

    counts: NDArray[np.int64]

    @classmethod
    def of(cls, classes: int) -> Confusion:
        """Return counts that are all zero."""
        return cls(np.zeros((classes, classes), np.int64))

    def add(self, labels: Labels, predicted: Labels) -> None:
        """Count further rows."""
        np.add.at(self.counts, (labels, predicted), 1)

    def add_scores(self, labels: Labels, scores: NDArray[np.float64]) -> None:
        """Count further rows by their scores, shape (n, c)."""
        self.add(labels, labels_of(scores))

    @property
    def rows(self) -> int:
        """How many rows have been counted."""
        return int(self.counts.sum())

    @property
    def error(self) -> float:
        """The share of rows with a wrong label."""
        return 1.0 - float(np.trace(self.counts)) / max(self.rows, 1)

    def by_class(self) -> dict[str, float | None]:
        """Return what `errors_by_class` does."""
        labels = np.repeat(np.arange(len(self.counts), dtype=np.int32), self.counts.sum(axis=1))
        predicted = np.concatenate([np.repeat(np.arange(len(row), dtype=np.int32), row) for row in self.counts])
        return errors_by_class(predicted, labels, len(self.counts))
