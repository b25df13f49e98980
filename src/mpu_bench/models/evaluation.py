"""How good predictions are: the metrics that a classifier is chosen by, and errors class by class."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
OF_LABELS = ("accuracy", "balanced-accuracy", "f1")  #: those of labels alone, which a threshold changes
DRAWS = 100  #: of the bootstrap
MIN_OF_CLASS = 10  #: rows, below which a bootstrap knows nothing of a class
_WEIGHTS_AT_ONCE = 2_000_000
_TINY = 1e-12


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
    return float(weighted_scores(metric, labels, predicted, scores, np.ones((1, len(labels))))[0])


def value_of(metric: str, counts: NDArray[Any]) -> NDArray[np.float64]:
    """Return a metric of labels by counts, shape (..., 3, c): rows of a class, those that are right, predicted as it.

    NaN where there is no row.
    """
    of_class, right, predicted_as = np.moveaxis(counts, -2, 0)
    there = of_class > 0
    match metric:
        case _ if not there.any():
            return np.full(there.shape[:-1], math.nan)
        case "accuracy":
            return np.asarray(right.sum(axis=-1) / of_class.sum(axis=-1))
        case "balanced-accuracy":
            return np.asarray(np.mean(right / np.maximum(of_class, _TINY), axis=-1, where=there))
        case "f1":
            f1 = 2 * right / np.maximum(of_class + predicted_as, _TINY)
            return np.asarray(f1[..., 1] if there.shape[-1] == 2 else np.mean(f1, axis=-1, where=there))
    raise ValueError(f"no metric of labels is called {metric!r}")


def weighted_scores(
    metric: str, labels: Labels, predicted: Labels, scores: Scores, weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return a metric for each row of weights, shape (k, n), such as how often a resample has each example; (k,)."""
    if not np.isfinite(scores).all():
        raise ValueError("a score is not finite")
    if scores.shape[1] == 2:  # one for each of two classes
        scores = np.diff(scores)
    if metric in OF_LABELS:
        parts, classes = (labels, np.where(labels == predicted, labels, -1), predicted), range(max(scores.shape[1], 2))
        by_class = [[weights[:, part == c].sum(axis=1) for c in classes] for part in parts]
        return value_of(metric, np.moveaxis(np.array(by_class), -1, 0))
    match metric:
        case "auc":
            return _mean([_auc(*binary, weights) for binary in _one_against_rest(labels, scores) if np.ptp(labels)])
        case "average-precision":
            return _mean([_average_precision(*binary, weights) for binary in _one_against_rest(labels, scores)])
    raise ValueError(f"no metric is called {metric!r}")


def _mean(of_classes: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    return np.asarray(np.mean(of_classes, axis=0)) if of_classes else np.full(1, math.nan)


def _counts_above(
    is_of: NDArray[np.bool_], marks: NDArray[Any], weights: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the weights of a class, and of the rest, down to each mark that there is, the highest first."""
    order = np.argsort(-marks, kind="stable")
    last = np.append(np.flatnonzero(np.diff(marks[order])), len(marks) - 1)
    weights, is_of = weights[:, order], is_of[order]
    of_class = np.cumsum(weights * is_of, axis=1)[:, last]
    return of_class, np.cumsum(weights * ~is_of, axis=1)[:, last]


def _auc(is_of: NDArray[np.bool_], marks: NDArray[Any], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    true, false = (np.pad(counts, ((0, 0), (1, 0))) for counts in _counts_above(is_of, marks, weights))
    area = (np.diff(false) * (true[:, 1:] + true[:, :-1]) / 2).sum(axis=1)
    return np.asarray(area / (true[:, -1] * false[:, -1]))


def _average_precision(
    is_of: NDArray[np.bool_], marks: NDArray[Any], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    true, false = _counts_above(is_of, marks, weights)
    steps = np.diff(true, prepend=0.0)
    return np.asarray((steps * true / np.maximum(true + false, _TINY)).sum(axis=1) / true[:, -1])


def _one_against_rest(labels: Labels, marks: NDArray[Any]) -> list[tuple[NDArray[np.bool_], NDArray[Any]]]:
    """Return whether rows are of a class, and their marks, for the positive class or for each that has rows."""
    if marks.shape[1] == 1:
        return [(labels == 1, marks[:, 0])] if (labels == 1).any() else []
    return [(labels == c, marks[:, c]) for c in np.unique(labels)]


def best_threshold(metric: str, labels: Labels, scores: Scores) -> float:
    """Return the threshold of the score of two classes, shape (n, 1), with which a metric of labels is the best.

    It is the middle between two scores, and of equals the one next to 0; 0 where all scores are alike.
    """
    if metric not in OF_LABELS:
        raise ValueError(f"no threshold makes {metric!r} better")
    marks, positive = scores[:, 0], labels == 1
    true, false = (counts[0, :-1] for counts in _counts_above(positive, marks, np.ones((1, len(labels)))))
    values, positives = np.unique(marks)[::-1], int(positive.sum())
    negatives = len(labels) - positives
    below = np.nextafter(values[:-1], -np.inf)  # a middle may be rounded to the upper score
    middles = np.minimum(values[1:] / 2 + values[:-1] / 2, below)
    of_class = np.broadcast_to([negatives, positives], (len(true), 2))
    right, predicted_as = [negatives - false, true], [len(labels) - true - false, true + false]
    by_threshold = value_of(metric, np.stack([of_class, np.transpose(right), np.transpose(predicted_as)], axis=-2))
    best = middles[by_threshold >= by_threshold.max(initial=0.0) - _TINY]
    return float(best[np.abs(best).argmin()]) if len(best) else 0.0


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


def chance_of(metric: str, labels: Labels, predicted: Labels, scores: Scores, *, error: float | None = None) -> float:
    """Return the one-sided p that predictions are no better than a constant's.

    Accuracy: the sign test of the rows on which one alone is right. Metrics of labels: Fisher's exact test that
    predictions do not depend on the class; those of a ranking: that of Mann and Whitney. Of several classes each is
    tested against the rest, and the least p is multiplied by how many there are. 1 where no class can be tested.

    F1 is not above that of a constant wherever predictions depend on the class: p is at least that of its difference,
    in standard errors, of which one is ``error`` where `standard_error_of` has been asked before.
    """
    from scipy.stats import binomtest, fisher_exact, mannwhitneyu, norm

    p_values: list[float] = []
    match metric:
        case "accuracy":
            right, its = predicted == labels, labels == np.bincount(labels).argmax()
            won, lost = int((right & ~its).sum()), int((its & ~right).sum())
            return float(binomtest(won, won + lost, alternative="greater").pvalue) if won + lost else 1.0
        case "balanced-accuracy" | "f1":
            answers = predicted[:, np.newaxis] == (np.arange(scores.shape[1]) if scores.shape[1] > 1 else [1])
            for is_of, answer in _one_against_rest(labels, answers):
                table = np.array([[np.sum(kind & column) for column in (answer, ~answer)] for kind in (is_of, ~is_of)])
                p_values.append(float(fisher_exact(table, alternative="greater")[1]))
        case "auc" | "average-precision":
            for is_of, marks in _one_against_rest(labels, scores):
                if not is_of.all():
                    p_values.append(float(mannwhitneyu(marks[is_of], marks[~is_of], alternative="greater")[1]))
        case _:
            raise ValueError(f"no metric is called {metric!r}")
    if not p_values:
        return 1.0
    least, answers_of = min(1.0, len(p_values) * min(p_values)), (metric, labels, predicted, scores)
    if metric != "f1":
        return least
    above = score_of(*answers_of) - constant_score(metric, labels, max(scores.shape[1], 2))
    error = standard_error_of(*answers_of) if error is None else error
    return max(least, float(norm.sf(above / max(error, _TINY))))


def standard_error_of(metric: str, labels: Labels, predicted: Labels, scores: Scores) -> float:
    """Return the standard error of a metric over test rows: of accuracy exact, else by a bootstrap within classes."""
    if metric == "accuracy":
        accuracy = score_of(metric, labels, predicted, scores)
        return math.sqrt(accuracy * (1 - accuracy) / len(labels))
    return float(np.std(resampled_scores(metric, labels, predicted, scores), ddof=1))


def resampled_scores(
    metric: str, labels: Labels, predicted: Labels, scores: Scores, draws: int = DRAWS
) -> NDArray[np.float64]:
    """Return a metric of so many resamples within classes, the same for every classifier of the same rows; (draws,)."""
    return np.concatenate([weighted_scores(metric, labels, predicted, scores, w) for w in _resampled(labels, draws)])


def _resampled(labels: Labels, draws: int) -> Iterator[NDArray[np.float64]]:
    """Yield so many resamples within classes, some at a time: how often each has an example, shape (k, n)."""
    random, n = np.random.default_rng(0), len(labels)
    of_class = [np.flatnonzero(labels == c) for c in np.unique(labels)]
    at_once = max(1, _WEIGHTS_AT_ONCE // n)
    for first in range(0, draws, at_once):
        k = min(at_once, draws - first)
        weights = np.empty((k, n))
        for rows in of_class:
            m = len(rows)
            drawn = random.integers(m, size=(k, m)) + m * np.arange(k)[:, np.newaxis]
            weights[:, rows] = np.bincount(drawn.ravel(), minlength=k * m).reshape(k, m)
        yield weights


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
    confusion = Confusion.of(classes)
    confusion.add(labels, predicted)
    return confusion.by_class()


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

    @property
    def rows(self) -> int:
        """How many rows have been counted."""
        return int(self.counts.sum())

    @property
    def error(self) -> float:
        """The share of rows with a wrong label."""
        return (self.rows - int(np.trace(self.counts))) / max(self.rows, 1)  # to the bit what a run has

    def by_class(self) -> dict[str, float | None]:
        """Return what `errors_by_class` does."""
        examples = self.counts.sum(axis=1)
        recalls = np.diag(self.counts) / np.maximum(examples, 1)
        return {
            "constant_error": float(1 - examples.max() / self.rows),
            "balanced_error": float(np.mean(1 - recalls[examples > 0])),
            "positives_found": float(recalls[1]) if len(examples) == 2 and examples[1] else None,
        }
