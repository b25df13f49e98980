"""The rows of a selection: those that candidates learn from, those that choose, and those that no choice has seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpu_bench.core.problem import Problem
from mpu_bench.data.cards import catalog
from mpu_bench.data.download.cache import DataHome
from mpu_bench.data.download.progress import SILENT, Progress
from mpu_bench.data.prepare.load import load_problem
from mpu_bench.estimators.inputs import as_array
from mpu_bench.models.evaluation import errors_by_class

RARE = 0.1  #: a class with a smaller share of the training rows makes the balanced error choose
_HELD_OUT = 0.2  # of the training rows choose, ...
_MOST_HELD_OUT, _MOST_TESTED = 10_000, 20_000  # ... at most; and of the test rows so many are looked at
_FEWEST = 2  # rows of a class in every part of the training rows
_PAIRS_OF_ROWS = 10_000  # whose distance is looked at


@dataclass(frozen=True)
class Source:
    """Where the rows come from: a dataset with its options, where it is kept, and what decides the parts."""

    dataset: str
    options: Mapping[str, Any]
    home: DataHome
    seed: int = 0

    def load(self, progress: Progress = SILENT) -> Data:
        """Return the rows; they are prepared first where need be."""
        return Data(load_problem(catalog.card(self.dataset, self.options), self.home, progress), self.seed)


@dataclass
class Data:
    """The rows of a problem in three parts."""

    problem: Problem
    seed: int = 0

    @cached_property
    def X(self) -> Any:  # noqa: N802
        """The training rows, an array or a CSR matrix of shape (n, d)."""
        return as_array(self.problem.train, self.problem.features)

    @cached_property
    def y(self) -> NDArray[np.int32]:
        """Their labels, (n,)."""
        return np.asarray(self.problem.labels)

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """The training rows in random order, such that any of the first parts has every class; (n,)."""
        order = np.random.default_rng([self.seed, 1]).permutation(self.problem.n)
        labels = self.y[order]
        ahead = np.concatenate([np.flatnonzero(labels == c)[:_FEWEST] for c in range(len(self.problem.classes))])
        return np.concatenate([order[np.sort(ahead)], np.delete(order, ahead)])

    @property
    def held_out(self) -> int:
        """How many rows choose."""
        return min(int(_HELD_OUT * self.problem.n), _MOST_HELD_OUT)

    @property
    def learned_from(self) -> int:
        """How many rows there are to learn from."""
        return self.problem.n - self.held_out

    def training(self, rows: int) -> tuple[Any, NDArray[np.int32]]:
        """Return so many rows to learn from; all training rows if they are more than `learned_from`."""
        chosen = np.sort(self.order[:rows])
        return self.X[chosen], self.y[chosen]

    @cached_property
    def validation(self) -> tuple[Any, NDArray[np.int32]]:
        """The rows that choose."""
        chosen = np.sort(self.order[self.learned_from :])
        return self.X[chosen], self.y[chosen]

    @cached_property
    def test(self) -> tuple[Any, NDArray[np.int32]]:
        """The rows that no choice has seen, at most 20,000 of them."""
        n = self.problem.n_test
        chosen = np.sort(np.random.default_rng([self.seed, 2]).permutation(n)[:_MOST_TESTED])
        X = as_array(self.problem.test, self.problem.features)
        return X[chosen], np.asarray(self.problem.test_labels)[chosen]

    @cached_property
    def is_rare(self) -> bool:
        """Whether a class has less than a tenth of the training rows of two."""
        shares = np.bincount(self.y, minlength=2) / len(self.y)
        return len(shares) == 2 and bool(shares.min() < RARE)

    @property
    def width(self) -> float:
        """2 / (mean squared distance of two training rows)."""
        random = np.random.default_rng([self.seed, 3])
        first, second = random.integers(0, self.problem.n, (2, _PAIRS_OF_ROWS))
        difference = self.X[first] - self.X[second]
        mean = float(np.square(difference).sum() if isinstance(difference, np.ndarray) else difference.power(2).sum())
        return 2 * _PAIRS_OF_ROWS / mean if mean > 0 else 1.0


def errors(y: NDArray[np.int32], predicted: NDArray[Any], classes: int) -> tuple[float, float]:
    """Return the share of wrong labels, and its mean over the classes: the balanced error."""
    balanced = errors_by_class(predicted, y, classes)["balanced_error"]
    assert balanced is not None
    return float((y != predicted).mean()), balanced
