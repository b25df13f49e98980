"""The online solvers as classifiers of river, which learn from one mapping of features after the other.

They need the package river: ``pip install '.[river]'``. A feature's name becomes a column: the first one that comes is
the first, as long as there is room for ``n_features`` of them (later ones are ignored, with one warning), and names
that come together are sorted; or, with ``hashing``, the one that its hash names. Names are compared as texts, so that 1
and "1" are one feature. A number is the value of its column; a word makes a feature of its own, ``name=word``, which is
1.

Probabilities are Platt's sigmoids of the scores, fitted to those of the last 500 examples as they were before each was
learned: they follow a drift, and are rough at first. `predict_one` goes by the scores.

Nothing is scaled here; put river's ``StandardScaler`` before. Memory does not grow with the number of examples, but for
`Perceptron`, `Projectron`, and `BudgetedPegasos` without a budget, which keep examples as they need them.
"""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, make_dataclass
from functools import cache
from inspect import cleandoc
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mpu_bench import estimators
from mpu_bench.core.counters import PRESENTED, UPDATES
from mpu_bench.core.models import Model, finite_scores, labels_of
from mpu_bench.core.rows import Dense
from mpu_bench.estimators import online
from mpu_bench.estimators.parameters import KnowsOldNames, as_value_error, check_types
from mpu_bench.installed import extra

try:
    from river import base
except ImportError:
    raise ImportError(f"mpu_bench.river needs the package river: {extra('river')}") from None


@dataclass(eq=False, repr=False, kw_only=True)
class OnlineClassifier(KnowsOldNames, base.MiniBatchClassifier):
    """What the classifiers below have in common.

    Parameters
    ----------
    classes : sequence
        All labels that will come.
    n_features : int
        How many columns there are.
    hashing : bool
        Whether a name's column is found by its hash, with a sign: names then have no number that is too large, but
        may share a column.
    kernel : {"rbf", "poly", "linear"}
    gamma : float
    degree : int
    coef0 : float
        As in scikit-learn's SVC.
    seed : int, optional
    """

    learner: ClassVar[type[online.OnlineClassifier]]

    classes: Any = (False, True)
    n_features: int = 128
    hashing: bool = False
    kernel: str = "rbf"
    gamma: float = 0.1
    degree: int = 3
    coef0: float = 0.0
    seed: int | None = None

    def __post_init__(self) -> None:
        """Reject wrong parameters, and know no feature yet."""
        if isinstance(self.classes, str) or not isinstance(self.classes, Sequence | np.ndarray):
            raise ValueError(f"classes is {self.classes!r}; it must be a list of labels")
        try:
            self._indices = {label: index for index, label in enumerate(self.classes) if label == label}  # noqa: PLR0124 - NaN
        except (TypeError, ValueError):
            raise ValueError(f"classes is {self.classes!r}; a label must be a word, a number or a tuple") from None
        if not 2 <= len(self._indices) == len(self.classes):
            raise ValueError(f"classes is {self.classes!r}; it must name at least two labels, each once")
        numbers: Any = {"n_features": (self.n_features, 1), "seed": (self.seed or 0, 0)}
        for name, (number, least) in numbers.items():
            if isinstance(number, bool) or not isinstance(number, Integral) or number < least:
                raise ValueError(f"{name} is {number!r}; it must be a whole number from {least} on")
        self._columns: dict[str, int] = {}
        self._is_full = False  # and it was said
        self._learner: online.OnlineClassifier | None = None
        self._solver: Any = None
        self._model: tuple[int, Model] | None = None

    @property
    def _multiclass(self) -> bool:
        return len(self.classes) > 2

    def learn_one(self, x: Mapping[Any, Any], y: Any) -> None:
        """Learn from one example.

        Parameters
        ----------
        x : mapping of names to numbers or words
        y : label, one of ``classes``

        Raises
        ------
        ValueError
            If a parameter is outside its range, if the label is none of ``classes``, or if a number is not finite.
        """
        self._learn([x], [y])

    def _learn(self, examples: Sequence[Mapping[Any, Any]], labels: Sequence[Any]) -> None:
        """Learn from examples in their order, or, where one is refused, from none."""
        known = len(self._columns)
        try:
            numbers = np.array([*map(self._label, labels)], np.int32)
            rows = np.concatenate([self._row(x, new_names=True) for x in examples])
            learner = self._learner or self._begun(rows[:1])
            with as_value_error():
                learner.learn(self._solver, Dense(rows), numbers)
        except ValueError:  # of what is not learned no name gets a column
            while len(self._columns) > known:
                self._columns.popitem()
            raise
        self._learner = learner

    def predict_one(self, x: Mapping[Any, Any], **_: Any) -> Any:
        """Return the label of one example; None before anything is learned. A name never seen counts as absent."""
        if self._learner is None:
            return None
        return self.classes[int(labels_of(self._scores(self._row(x, new_names=False)))[0])]

    def predict_proba_one(self, x: Mapping[Any, Any], **_: Any) -> dict[Any, float]:
        """Return the probability of every label for one example; all alike before anything is learned."""
        return dict(zip(self.classes, self._probabilities(self._row(x, new_names=False))[0].tolist(), strict=True))

    def learn_many(self, X: pd.DataFrame, y: pd.Series[Any]) -> None:
        """Learn from one example after the other; raise ValueError as `learn_one`, and then none is learned."""
        if len(X) != len(y):
            raise ValueError(f"X has {len(X)} rows and y {len(y)} labels; each row needs one")
        if len(X):
            self._learn(_records(X), list(y))

    def predict_many(self, X: pd.DataFrame) -> pd.Series[Any]:
        """Return the label of every example; None before anything is learned."""
        if self._learner is None:
            return pd.Series([None] * len(X), X.index, object)
        labels = labels_of(self._scores(self._rows(X)))
        return pd.Series([self.classes[index] for index in labels], X.index)

    def predict_proba_many(self, X: pd.DataFrame) -> pd.DataFrame:
        """Return the probability of every label, a column each, for every example."""
        return pd.DataFrame(self._probabilities(self._rows(X)), X.index, pd.Index(list(self.classes)))

    def _probabilities(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        if self._learner is None:
            return np.full((len(rows), len(self.classes)), 1 / len(self.classes))
        return self._learner._recent.sigmoids.probabilities(self._scores(rows))

    def _scores(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the scores of rows; raise ValueError where one is not finite."""
        with as_value_error():
            return finite_scores(self._present_model().scores(Dense(rows)))

    def _rows(self, X: pd.DataFrame) -> NDArray[np.float64]:
        return np.concatenate([np.zeros((0, self.n_features)), *(self._row(x, False) for x in _records(X))])

    def _present_model(self) -> Model:
        """Return the model, made anew only where it may have changed."""
        assert self._learner is not None
        state = self._learner._state
        changes = int(state.counters[UPDATES if self._solver.changes_by_updates else PRESENTED])
        if self._model is None or self._model[0] != changes:
            self._model = changes, self._solver.model(state)
        return self._model[1]

    def _begun(self, row: NDArray[np.float64]) -> online.OnlineClassifier:
        of_river = {"classes", "n_features", "hashing", "seed"}
        parameters = {field.name: getattr(self, field.name) for field in fields(self) if field.name not in of_river}
        learner = self.learner(**parameters, random_state=self.seed, probability=True)
        check_types(learner)
        learner.classes_, learner.n_features_in_ = np.arange(len(self.classes)), self.n_features
        with as_value_error():
            self._solver = learner._solver(0)
            learner.begin(self._solver, row)
        return learner

    def _label(self, y: Any) -> int:
        try:
            return self._indices[y]
        except (KeyError, TypeError):
            raise ValueError(f"the label {y!r} is not in classes: {list(self.classes)}; give all labels") from None

    def _row(self, x: Mapping[Any, Any], new_names: bool) -> NDArray[np.float64]:
        row, entries = np.zeros((1, self.n_features)), {}
        for name, value in x.items():
            is_word = isinstance(value, str)
            key = f"{name}={value}" if is_word else str(name)
            if key in entries:
                raise ValueError(f"two features of an example are called '{key}'; give one of them another name")
            entries[key] = 1.0 if is_word else _number(name, value)
        if new_names and not self.hashing:
            for key in sorted(entries.keys() - self._columns.keys()):  # in whatever order an example names them
                self._give_column(key)
        for key, number in entries.items():
            column, sign = self._column(key)
            if column is not None:
                row[0, column] += sign * number
        return row

    def _column(self, key: str) -> tuple[int | None, float]:
        if self.hashing:
            code = zlib.crc32(key.encode(errors="surrogatepass"))
            return (code >> 1) % self.n_features, 1.0 if code & 1 else -1.0
        return self._columns.get(key), 1.0

    def _give_column(self, key: str) -> None:
        if len(self._columns) < self.n_features:
            self._columns[key] = len(self._columns)
        elif not self._is_full:
            self._is_full = True
            warnings.warn(
                f"the feature {key!r} and all new ones are ignored, since the {self.n_features} columns are in use; "
                "give n_features, or hashing=True",
                stacklevel=2,
            )


def classifier(learner: type[online.OnlineClassifier]) -> type[OnlineClassifier]:
    """Return a classifier of river that learns as one of scikit-learn's does, with the parameters that are its own.

    Parameters
    ----------
    learner : subclass of OnlineClassifier
        Of `mpu_bench`, or what `mpu_bench.solver.classifier` makes of an online solver.
    """
    not_here = {*learner.of_all_rows, *(parameter.name for parameter in fields(online.OnlineClassifier))}
    declared: list[Any] = [
        (parameter.name, parameter.type, field(default=parameter.default, kw_only=parameter.kw_only))
        for parameter in fields(learner)
        if parameter.name not in not_here
    ]
    own, shared = [name for name, *_ in declared], [parameter.name for parameter in fields(OnlineClassifier)]
    text = (
        cleandoc(learner.__doc__ or "").partition("\n\nParameters\n")[0]
        + f"\n\nParameters\n----------\n{', '.join(own)}\n    As of `{learner.__name__}`."
        + f"\n{', '.join(shared)}\n    As of `OnlineClassifier`."
    )
    namespace = {"learner": learner, "__doc__": text, "__module__": __name__}
    name = learner.__name__.removesuffix("Classifier")
    return make_dataclass(name, declared, bases=(OnlineClassifier,), namespace=namespace, eq=False, repr=False)


Perceptron = classifier(online.PerceptronClassifier)
Forgetron = classifier(online.ForgetronClassifier)
BudgetPerceptron = classifier(online.BudgetPerceptronClassifier)
Projectron = classifier(online.ProjectronClassifier)
BudgetedPegasos = classifier(online.BudgetedPegasosClassifier)


@cache
def _derived_classifiers() -> dict[str, type[OnlineClassifier]]:
    """Return the classifiers of the online solvers that none of `mpu_bench.estimators` was written for."""
    learners = [
        learner for learner in estimators.wrapped_classifiers().values() if issubclass(learner, online.OnlineClassifier)
    ]
    return {river_class.__name__: river_class for river_class in map(classifier, learners)}


def __getattr__(name: str) -> Any:
    if not name.startswith("_") and name in _derived_classifiers():  # what Python itself looks up imports no solver
        return _derived_classifiers()[name]
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def __dir__() -> list[str]:
    return [*globals(), *_derived_classifiers()]


def _records(X: pd.DataFrame) -> list[dict[Any, Any]]:
    if X.columns.has_duplicates:
        name = X.columns[X.columns.duplicated()][0]
        raise ValueError(f"two features of an example are called {str(name)!r}; give one of them another name")
    return X.to_dict("records")


def _number(name: Any, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = np.nan
    if not np.isfinite(number):
        raise ValueError(f"the feature {name!r} is {value!r}; it must be a finite number or a string")
    return number
