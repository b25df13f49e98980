"""How good predictions are: the metrics that a classifier is chosen by, and errors class by class."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpu_bench.core.models import labels_of

Labels = np.ndarray[Any, Any]  #: class indices, int32
Scores = NDArray[np.float64]  #: (n, 1), above zero for the second of two classes, or (n, c)

#: what a classifier can be chosen by -> its name in a sentence; of all the larger is the better
METRICS = {
    "accuracy": "accuracy",
    "balanced-accuracy": "balanced accuracy",
    "f1": "F1",
    "auc": "AUC",
    "average-precision": "average precision",
}
_DRAWS = 25  # of the bootstrap


def score_of(metric: str, labels: Labels, predicted: Labels, scores: Scores) -> float:
    """Return a metric of predictions; NaN where it does not exist, as AUC where all rows are of one class.

    Of several classes F1, AUC and average precision are means over those that have rows, one against the rest (macro).

    Parameters
    ----------
    metric : str
        One of `METRICS`.
    labels : array of int32, shape (n,)
        The class that each row is of; of two, 1 is the positive one.
    predicted : array of int32, shape (n,)
    scores : array of float64, shape (n, 1) or (n, c)

    Raises
    ------
    ValueError
        If the metric is unknown, or a score is not finite.
    """
    from sklearn.metrics import average_precision_score, f1_score, recall_score, roc_auc_score

    found = np.unique(labels)
    average: dict[str, Any] = {"labels": found, "average": "macro", "zero_division": 0.0}
    match metric:
        case "accuracy":
            return float(np.mean(labels == predicted))
        case "balanced-accuracy":
            return float(recall_score(labels, predicted, **average))
        case "f1" if scores.shape[1] == 1:
            return float(f1_score(labels, predicted, zero_division=0.0))
        case "f1":
            return float(f1_score(labels, predicted, **average))
        case "auc":
            ranked = _one_against_rest(labels, scores) if len(found) > 1 else []
            return float(np.mean([roc_auc_score(*each) for each in ranked])) if ranked else math.nan
        case "average-precision":
            ranked = _one_against_rest(labels, scores)
            return float(np.mean([average_precision_score(*each) for each in ranked])) if ranked else math.nan
    raise ValueError(f"no metric is called {metric!r}")


def _one_against_rest(labels: Labels, marks: NDArray[Any]) -> list[tuple[NDArray[np.bool_], NDArray[Any]]]:
    """Return whether rows are of a class, and their marks, for the positive class or for each that has rows."""
    if marks.shape[1] == 1:
        return [(labels == 1, marks[:, 0])] if (labels == 1).any() else []
    return [(labels == c, marks[:, c]) for c in np.unique(labels)]


def constant_score(metric: str, labels: Labels, classes: int) -> float:
    """Return the metric of the best classifier that always gives the same answer."""
    shares = np.bincount(labels, minlength=classes) / len(labels)
    best, average = float(shares.max()), 1 / np.count_nonzero(shares)
    match metric:
        case "accuracy":
            return best
        case "balanced-accuracy":
            return float(average)
        case "f1":
            answer, weight = (float(shares[1]), 1.0) if classes == 2 else (best, average)
            return float(weight * 2 * answer / (1 + answer))
        case "auc":
            return 0.5
        case "average-precision":
            return float(shares[1]) if classes == 2 else float(average)
    raise ValueError(f"no metric is called {metric!r}")


def chance_of(metric: str, labels: Labels, predicted: Labels, scores: Scores) -> float:
    """Return the one-sided p that predictions are no better than a constant's.

    Accuracy: the sign test of the rows on which one alone is right. Metrics of labels: Fisher's exact test that
    predictions do not depend on the class; those of a ranking: that of Mann and Whitney. Of several classes each is
    tested against the rest, and the least p is multiplied by how many there are.
    """
    from scipy.stats import binomtest, fisher_exact, mannwhitneyu

    found: list[float] = []
    match metric:
        case "accuracy":
            right, its = predicted == labels, labels == np.bincount(labels).argmax()
            won, lost = int((right & ~its).sum()), int((its & ~right).sum())
            return float(binomtest(won, won + lost, alternative="greater").pvalue) if won + lost else 1.0
        case "balanced-accuracy" | "f1":
            answers = predicted[:, np.newaxis] == (np.arange(scores.shape[1]) if scores.shape[1] > 1 else [1])
            for is_of, answer in _one_against_rest(labels, answers):
                table = np.array([[np.sum(kind & each) for each in (answer, ~answer)] for kind in (is_of, ~is_of)])
                found.append(float(fisher_exact(table, alternative="greater")[1]))
        case "auc" | "average-precision":
            for is_of, marks in _one_against_rest(labels, scores):
                if not is_of.all():
                    found.append(float(mannwhitneyu(marks[is_of], marks[~is_of], alternative="greater")[1]))
        case _:
            raise ValueError(f"no metric is called {metric!r}")
    return min(1.0, len(found) * min(found, default=1.0))


def standard_error_of(metric: str, labels: Labels, predicted: Labels, scores: Scores) -> float:
    """Return the standard error of a metric over test rows: of accuracy exact, else by a bootstrap within classes."""
    if metric == "accuracy":
        accuracy = score_of(metric, labels, predicted, scores)
        return math.sqrt(accuracy * (1 - accuracy) / len(labels))
    random, drawn = np.random.default_rng(0), []
    of_class = [np.flatnonzero(labels == c) for c in np.unique(labels)]
    for _ in range(_DRAWS):
        rows = np.concatenate([random.choice(each, len(each)) for each in of_class])
        drawn.append(score_of(metric, labels[rows], predicted[rows], scores[rows]))
    return float(np.std(drawn, ddof=1))


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
