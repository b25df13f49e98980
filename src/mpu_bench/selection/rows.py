"""The rows of a selection: training set, validation set and test set, and the metric that fits them.

Of few training rows a validation set would be too small to choose by: they are cross-validated, and every candidate is
then trained on all of them.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpu_bench.core.problem import Problem
from mpu_bench.data.cards import catalog
from mpu_bench.data.download.cache import DataDirectory
from mpu_bench.data.download.progress import SILENT, Progress
from mpu_bench.data.prepare.load import load_problem, preprocessing_of, training_content
from mpu_bench.errors import DataError
from mpu_bench.estimators.inputs import as_array
from mpu_bench.models.evaluation import chance_of
from mpu_bench.preprocessing import Preprocessing

RARE = 0.2  #: of two classes, one with a smaller share of the training rows makes balanced accuracy choose
CROSS_VALIDATED = 2000  #: training rows, below which folds choose
_FOLDS, _REPEATED, _REPEATS = 5, 400, 3  # below so many rows, folds are drawn so often
_SIGNIFICANT = 0.05
_LOOKED_AT = 2000  # rows, on which a linear classifier is compared with a constant
_VALIDATION = 0.2  # of the training rows choose, ...
_MAX_VALIDATION, _MAX_TESTED = 10_000, 20_000  # ... at most; and of the test rows so many are looked at
MIN_PER_CLASS = 2  #: rows of a class in every part of the training rows, where it has so many for each
_PAIRS_OF_ROWS = 10_000  # whose distance is looked at
_SAMPLED, _MAX_NUMBERS = 2000, 20_000_000  # training rows on which exports are compared, and their numbers


def shares_of(labels: NDArray[Any], classes: int) -> NDArray[np.float64]:
    """Return the share of rows that each class has, shape (c,)."""
    return np.bincount(labels, minlength=classes) / len(labels)


def has_rare_class(shares: NDArray[np.float64]) -> bool:
    """Whether a class has so few of the rows that accuracy says little of it."""
    return bool(shares.min() < 2 * RARE / len(shares))


@dataclass(frozen=True)
class Source:
    """Where the rows come from: a dataset with its options, where it is kept, what decides the parts; and what chooses.

    ``metric`` is one of `METRICS`; with ``threshold`` the rows that choose give the score above which a row is of the
    second of two classes. ``fingerprint``, ``preprocessing`` and ``trained_on`` are of the rows that `begun` has found.
    """

    dataset: str
    options: Mapping[str, Any]
    home: DataDirectory
    seed: int = 0
    metric: str = "accuracy"
    threshold: bool = False
    fingerprint: str = ""
    preprocessing: Preprocessing | None = None
    trained_on: tuple[str, ...] = ()

    def begun(self, progress: Progress = SILENT) -> tuple[Source, Data]:
        """Return the rows, and the source that from now on stands for these alone, whatever becomes of the file."""
        data, card = self.load(progress), catalog.card(self.dataset, self.options)
        fingerprint = data.problem.fingerprint
        prepared = preprocessing_of(card, self.home, fingerprint=fingerprint)
        content = training_content(card, self.home)
        return replace(self, fingerprint=fingerprint, preprocessing=prepared, trained_on=content), data

    def load(self, progress: Progress = SILENT) -> Data:
        """Return the rows; they are prepared first where need be.

        Raises
        ------
        DataError
            If they are not those that were there when it was begun.
        """
        problem = load_problem(catalog.card(self.dataset, self.options), self.home, progress)
        if self.fingerprint not in ("", problem.fingerprint):
            raise DataError(f"{self.dataset}: its data have changed since it was begun; run again")
        return Data(problem, self.seed, self.metric, self.threshold)


@dataclass
class Data:
    """The rows of a problem in three parts."""

    problem: Problem
    seed: int = 0
    metric: str = "accuracy"
    threshold: bool = False

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
        """The training rows in random order, such that any of the first parts has every class; (n,).

        So has the validation set, at its end, of which there are two rows or more.
        """
        order = np.random.default_rng([self.seed, 1]).permutation(self.problem.n)
        labels, classes = self.y[order], range(len(self.problem.classes))
        learned = [min(max(count - 1, 1), MIN_PER_CLASS) for count in np.bincount(labels, minlength=len(classes))]
        ahead = np.concatenate([np.flatnonzero(labels == c)[: learned[c]] for c in classes])
        order = np.concatenate([order[np.sort(ahead)], np.delete(order, ahead)])
        labels = self.y[order]
        if self.is_cross_validated or set(classes) <= set(labels[self.learned_from :].tolist()):
            return order
        behind = np.concatenate([np.flatnonzero(labels == c)[learned[c] :][-MIN_PER_CLASS:] for c in classes])
        return np.concatenate([np.delete(order, behind), order[np.sort(behind)]])

    @property
    def is_cross_validated(self) -> bool:
        """Whether folds choose, and not a validation set."""
        return self.problem.n < CROSS_VALIDATED

    @property
    def validation_rows(self) -> int:
        """How many rows choose: all where they are cross-validated."""
        n = self.problem.n
        return n if self.is_cross_validated else min(int(_VALIDATION * n), _MAX_VALIDATION)

    @property
    def learned_from(self) -> int:
        """How many rows there are to learn from while choosing: all where they are cross-validated."""
        return self.problem.n - (0 if self.is_cross_validated else self.validation_rows)

    def training(self, rows: int) -> tuple[Any, NDArray[np.int32]]:
        """Return so many rows to learn from; all training rows if they are more than `learned_from`."""
        return self.part(np.sort(self.order[:rows]))

    @property
    def sample(self) -> NDArray[np.float32]:
        """Some training rows with all features, on which exports are compared."""
        X = self.training(min(_SAMPLED, max(1, _MAX_NUMBERS // self.problem.features)))[0]
        return np.ascontiguousarray(X if isinstance(X, np.ndarray) else X.toarray(), np.float32)

    def part(self, chosen: NDArray[np.int64]) -> tuple[Any, NDArray[np.int32]]:
        """Return some of the training rows, by their indices."""
        return self.X[chosen], self.y[chosen]

    def splits(self, rows: int) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Return the indices of the rows to train on and of those to validate on, of each split; none is left of all.

        Where rows are cross-validated, `folds` splits come to each of them once, and ``rows`` does not matter.
        """
        if self.is_cross_validated:
            return self._folds
        if rows > self.learned_from:
            return []
        return [(np.sort(self.order[:rows]), np.sort(self.order[self.learned_from :]))]

    @property
    def folds(self) -> int:
        """Into how many parts the training rows are divided where they are cross-validated, else 1."""
        return min(_FOLDS, int(np.bincount(self.y).max())) if self.is_cross_validated else 1

    @property
    def repeats(self) -> int:
        """How often they are divided anew."""
        return _REPEATS if self.problem.n < _REPEATED else 1

    @cached_property
    def _folds(self) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        from sklearn.model_selection import RepeatedStratifiedKFold

        divided = RepeatedStratifiedKFold(n_splits=self.folds, n_repeats=self.repeats, random_state=self.seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of classes with fewer rows than folds
            return list(divided.split(self.y, self.y))

    @cached_property
    def test(self) -> tuple[Any, NDArray[np.int32]]:
        """The rows that no choice has seen, at most 20,000 of them."""
        n = self.problem.n_test
        chosen = np.sort(np.random.default_rng([self.seed, 2]).permutation(n)[:_MAX_TESTED])
        X = as_array(self.problem.test, self.problem.features)
        return X[chosen], np.asarray(self.problem.test_labels)[chosen]

    def fitting_metric(self) -> tuple[str, str]:
        """Return the metric that fits the classes, and why: balanced accuracy where a constant is hard to beat."""
        shares = shares_of(self.y, len(self.problem.classes))
        if has_rare_class(shares):
            name = self.problem.classes[int(shares.argmin())]
            return "balanced-accuracy", f"class '{name}' has {100 * shares.min():.3g} % of the training rows"
        if shares.max() >= 0.5 and self._constant_wins():
            name = self.problem.classes[int(shares.argmax())]
            return "balanced-accuracy", f"a linear classifier is not clearly more accurate than always '{name}'"
        return "accuracy", "no class is rare"

    def _constant_wins(self) -> bool:
        """Whether a linear classifier, cross-validated on some rows, is no more accurate than a constant."""
        from sklearn.model_selection import cross_val_predict
        from sklearn.svm import LinearSVC

        X, y = self.training(min(_LOOKED_AT, self.problem.n))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it need not converge, and a class may have few rows
            predicted = cross_val_predict(LinearSVC(random_state=self.seed), X, y, cv=2)
        return chance_of("accuracy", y, predicted, np.zeros((0, 1))) > _SIGNIFICANT

    @property
    def width(self) -> float:
        """2 / (mean squared distance of two training rows)."""
        random = np.random.default_rng([self.seed, 3])
        first, second = random.integers(0, self.problem.n, (2, _PAIRS_OF_ROWS))
        difference = self.X[first] - self.X[second]
        mean = float(np.square(difference).sum() if isinstance(difference, np.ndarray) else difference.power(2).sum())
        return 2 * _PAIRS_OF_ROWS / mean if mean > 0 else 1.0
