"""Scores as probabilities: Platt's sigmoids, fitted to scores of rows that did not train the model.

Platt, "Probabilistic outputs for support vector machines", 1999, with the Newton steps of Lin, Lin and Weng, Machine
Learning 68, 2007. The targets are (N+ + 1) / (N+ + 2) and 1 / (N- + 2), so that few rows give no certainty.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from mpu_bench.preprocessing import Finite

_BINS = 10  # of probabilities
_KEPT, _MAX_BETWEEN = 500, 50  # examples of a stream
_MAX_STEPS, _MAX_HALVINGS = 100, 30
_TOLERANCE = 1e-6  # of the gradient of a mean
_RIDGE = 1e-12


@dataclass(frozen=True)
class Sigmoids:
    """A sigmoid for each score: ``1 / (1 + exp(-(slope score + intercept)))``.

    Of two classes it is the probability of the second. Of more, the sigmoids of all classes are divided by their sum;
    where all are too small for a number, exponentials are, whose quotients are the same there.

    Attributes
    ----------
    slopes, intercepts : tuple of float
        One for two classes, else one a class.
    """

    slopes: tuple[Finite, ...]
    intercepts: tuple[Finite, ...]

    @classmethod
    def of(
        cls, scores: NDArray[np.float64], labels: NDArray[Any], weights: NDArray[np.float64] | None = None
    ) -> Sigmoids:
        """Return the sigmoids that fit scores best; 0.5 for every score where there is no row.

        Parameters
        ----------
        scores : array, shape (n, 1) or (n, c)
        labels : array of int, shape (n,)
        weights : array, shape (n,), optional
            Of the rows, as if they were there so many times.
        """
        weights = np.broadcast_to(np.asarray(1.0 if weights is None else weights, np.float64), len(scores))
        positive = [1] if scores.shape[1] == 1 else range(scores.shape[1])
        lines = [_fitted(scores[:, index], labels == c, weights) for index, c in enumerate(positive)]
        return cls(tuple(slope for slope, _ in lines), tuple(intercept for _, intercept in lines))

    def probabilities(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the probability of every class, shape (n, c), of scores of shape (n, 1) or (n, c)."""
        values = scores * self.slopes + self.intercepts
        probabilities: NDArray[np.float64] = expit(values)
        if probabilities.shape[1] == 1:
            return np.hstack([1.0 - probabilities, probabilities])
        sums = probabilities.sum(axis=1, keepdims=True)
        np.divide(probabilities, sums, out=probabilities, where=sums > 0)
        if (far := sums[:, 0] == 0).any():
            probabilities[far] = softmax(values[far], axis=1)
        return probabilities


@dataclass
class RecentScores:
    """The last scores of a stream, each of an example that was not learned yet, and the sigmoids that fit them.

    They change when a tenth more examples have come, and after fifty at the latest; they are fitted when somebody asks.

    Attributes
    ----------
    functions : int
        Scores an example.
    """

    functions: int
    _scores: NDArray[np.float64] = field(init=False)  # a ring, as labels are
    _labels: NDArray[np.int32] = field(init=False)
    _seen: int = field(default=0, init=False)
    _last: int = field(default=0, init=False)  # example that the sigmoids know ...
    _due: int = field(default=1, init=False)  # ... and the next last one
    _fitted: tuple[int, Sigmoids] | None = field(default=None, init=False)  # with its last example

    def __post_init__(self) -> None:
        """Start with no example."""
        self._scores = np.zeros((_KEPT + _MAX_BETWEEN, self.functions))
        self._labels = np.zeros(len(self._scores), np.int32)

    def add(self, scores: NDArray[np.float64], label: int) -> None:
        """Take the scores of the next example, and its label."""
        index = self._seen % len(self._scores)
        self._scores[index], self._labels[index] = scores, label
        self._seen += 1
        if self._seen == self._due:
            self._last, self._due = self._due, self._due + max(1, min(self._seen // 10, _MAX_BETWEEN))

    @property
    def sigmoids(self) -> Sigmoids:
        """The same whenever they are asked for, and however often."""
        if self._fitted is None or self._fitted[0] != self._last:
            known = np.arange(max(0, self._last - _KEPT), self._last) % len(self._scores)
            self._fitted = self._last, Sigmoids.of(self._scores[known], self._labels[known])
        return self._fitted[1]


def _fitted(scores: NDArray[np.float64], is_of: NDArray[np.bool_], weights: NDArray[np.float64]) -> tuple[float, float]:
    """Return slope and intercept of the sigmoid of least cross-entropy."""
    if not (total := float(weights.sum())):
        return 0.0, 0.0
    positive = float(weights[is_of].sum())
    negative = total - positive
    targets = np.where(is_of, (positive + 1) / (positive + 2), 1 / (negative + 2))
    scale = float(np.abs(scores).max()) or 1.0
    columns, shares = np.column_stack([scores / scale, np.ones(len(scores))]), weights / total

    def loss(line: NDArray[np.float64]) -> float:
        values = columns @ line
        return float(shares @ (np.logaddexp(0.0, values) - targets * values))

    line = np.array([0.0, np.log((positive + 1) / (negative + 1))])
    for _ in range(_MAX_STEPS):
        p = expit(columns @ line)
        gradient = columns.T @ (shares * (p - targets))
        if np.abs(gradient).max() < _TOLERANCE:
            break
        hessian = (columns.T * (shares * p * (1 - p))) @ columns + _RIDGE * np.eye(2)
        step = np.linalg.solve(hessian, gradient)
        now, decrease = loss(line), 1e-4 * float(gradient @ step)
        lengths = 0.5 ** np.arange(_MAX_HALVINGS)
        taken = next((length for length in lengths if loss(line - length * step) <= now - length * decrease), None)
        if taken is None:  # rounding alone is left
            break
        line = line - taken * step
    return float(line[0] / scale), float(line[1])


def brier_score(labels: NDArray[Any], probabilities: NDArray[np.float64]) -> float:
    """Return the mean squared difference of probabilities from what is so; of several classes half the sum over them.

    Parameters
    ----------
    labels : array of int, shape (n,)
    probabilities : array, shape (n, c)
    """
    is_so = labels[:, np.newaxis] == np.arange(probabilities.shape[1])
    return float(np.square(probabilities - is_so).sum(axis=1).mean() / 2)


def calibration_error(labels: NDArray[Any], probabilities: NDArray[np.float64]) -> float:
    """Return how far probabilities are from frequencies: the mean over rows, in ten bins of equal width.

    Of two classes it is of the second, of several of the likeliest one (expected calibration error).
    """
    two = probabilities.shape[1] == 2
    likeliest = np.ones(len(labels), np.int64) if two else probabilities.argmax(axis=1)
    claimed, is_so = probabilities[np.arange(len(labels)), likeliest], labels == likeliest
    bins = np.minimum((_BINS * claimed).astype(np.int64), _BINS - 1)
    apart = np.bincount(bins, is_so, _BINS) - np.bincount(bins, claimed, _BINS)
    return float(np.abs(apart).sum() / len(labels))
