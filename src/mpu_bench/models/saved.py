"""A trained model with all that it needs to take raw rows: it is saved, loaded, and predicts."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import ValidationError

from mpu_bench.core.models import Model, finite_scores, labels_of
from mpu_bench.core.rows import Rows, with_constant
from mpu_bench.core.validation import score_counts
from mpu_bench.document import Strict, first_error
from mpu_bench.errors import DataError
from mpu_bench.models import format as model_file
from mpu_bench.models.classes import Classes, ClassLabels
from mpu_bench.models.inputs import array_rows
from mpu_bench.models.parts import Parts, put_together, taken_apart
from mpu_bench.models.probabilities import Sigmoids
from mpu_bench.preprocessing import NumberColumn, Preprocessing, Table, Vectors, from_json, to_json
from mpu_bench.texts import counted, one_line

#: among the parameters of an `Origin`: the test rows of its dataset were learned, too
LEARNED_TEST_ROWS = "learned_test_rows"
_LABELS_SHOWN, _MAX_SHOWN_BYTES = 10, 1000


class Origin(Strict):
    """What made a model, as far as it is known."""

    solver: str = ""
    parameters: Mapping[str, Any] = {}
    dataset: str = ""
    options: Mapping[str, Any] = {}  #: of the dataset
    trained_on: tuple[str, ...] = ()  #: SHA-256 of the content of each file with training rows
    seed: int | None = None
    version: str = ""  #: of mpu-bench
    time: str = ""  #: of saving, in UTC


class _Description(Strict):
    """``model.json``, besides what says that it is one."""

    model: Parts
    classes: ClassLabels
    columns: tuple[str, ...] | None = None
    preprocessing: dict[str, Any] | None = None
    sigmoids: Sigmoids | None = None
    origin: Origin = Origin()


@dataclass(frozen=True, eq=False, repr=False)
class SavedModel:
    """A model and what it needs to take the rows of its user.

    Attributes
    ----------
    model : Model
        Of `core`; evaluated on rows of ``features`` columns.
    classes : Classes
    features : int
        Columns of the rows that the model is evaluated on.
    preprocessing : Table, Vectors or None
        What is done to raw rows first; None: nothing, they are arrays.
    columns : tuple of str or None
        The names of an array's columns, if they are known; a DataFrame may have them in any order.
    constant : float or None
        The value of one more feature that every row gets at last, in place of an intercept.
    sigmoids : Sigmoids or None
        What makes probabilities of scores; None: there are none.
    origin : Origin
    """

    model: Model
    classes: Classes
    features: int
    preprocessing: Preprocessing | None = None
    columns: tuple[str, ...] | None = None
    constant: float | None = None
    sigmoids: Sigmoids | None = None
    origin: Origin = field(default_factory=Origin)

    def __repr__(self) -> str:
        """Return what it is, in a line; its arrays may be long."""
        labels = one_line(", ".join(map(str, self.classes.labels[:_LABELS_SHOWN])), _MAX_SHOWN_BYTES)
        more = ", ..." if len(self.classes.labels) > _LABELS_SHOWN else ""
        vectors = "" if self.model.linear else f", {counted(self.model.support_vectors, 'vector')}"
        of = one_line(" on ".join(filter(None, [self.origin.solver or "unknown", self.origin.dataset])))
        return f"<SavedModel of {of}: {counted(self.raw_features, 'feature')}, classes {labels}{more}{vectors}>"

    @property
    def raw_features(self) -> int:
        """The columns of the features before the constant."""
        return self.features - (self.constant is not None)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The name of every feature that the model weighs, without the constant."""
        if isinstance(self.preprocessing, Table):
            return self.preprocessing.feature_names
        return self.columns or tuple(f"column {number}" for number in range(1, self.raw_features + 1))

    def rows(self, X: Any, first_row: int = 1) -> Rows:
        """Return raw rows as the model is evaluated on them.

        Parameters
        ----------
        X : DataFrame (of pandas, polars and others), array, CSR matrix or Rows, shape (n, columns)
        first_row : int
            The number of its first row, for messages.

        Raises
        ------
        DataError
            If a column is missing, there twice or too many, or a value cannot be taken.
        """
        X = _as_of_pandas(X)
        if isinstance(self.preprocessing, Table):
            rows = self.preprocessing.rows(self._as_table(X, self.preprocessing), first_row)
        else:
            rows = self._vector_rows(X, self.preprocessing)
        return rows if self.constant is None else with_constant(rows, self.raw_features, self.constant)

    def _as_table(self, X: Any, table: Table) -> pd.DataFrame:
        if isinstance(X, pd.DataFrame):
            return X
        names = [column.name for column in table.columns if column.name != table.label]
        values = np.asanyarray(X)  # a masked value is a missing one
        if values.ndim != 2 or values.shape[1] != len(names):
            raise DataError(
                f"the rows are an array of shape {values.shape}; the model takes tables, or arrays of shape "
                f"(n, {len(names)})"
            )
        return pd.DataFrame(values, columns=names)

    def ordered(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return a table with its columns in the order of the model's, where that knows their names.

        Raises
        ------
        DataError
            If one is missing, there twice or too many.
        """
        if isinstance(self.preprocessing, Table):
            return self.preprocessing.ordered(table)
        if self.columns is None:
            return table
        return Table(columns=tuple(NumberColumn(name=name) for name in self.columns)).ordered(table)

    def _vector_rows(self, X: Any, preprocessing: Vectors | None) -> Rows:
        if isinstance(X, pd.DataFrame):
            X = self.ordered(X).to_numpy(na_value=np.nan)
        if preprocessing is None:
            return array_rows(X, self.raw_features)
        return preprocessing.rows(array_rows(X, preprocessing.features_in))

    def scores(self, X: Any, first_row: int = 1) -> NDArray[np.float64]:
        """Return the scores of every raw row, shape (n, c); one for two classes."""
        return self.scores_of(self.rows(X, first_row), first_row)

    def scores_of(self, rows: Rows, first_row: int = 1) -> NDArray[np.float64]:
        """Return the scores of rows as `rows` returns them, shape (n, c).

        Raises
        ------
        DataError
            With its row: a score is not finite.
        """
        return finite_scores(self.model.scores(rows), first_row)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the scores: above zero for the second class, shape (n,), or of every class, shape (n, c)."""
        scores = self.scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the label of every raw row, shape (n,).

        Parameters
        ----------
        X : DataFrame, array or CSR matrix, shape (n, columns)

        Raises
        ------
        DataError
            As of `rows`.
        """
        labels: NDArray[Any] = self.classes.labels[labels_of(self.scores(X))]
        return labels

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of every class for every raw row, shape (n, c).

        Raises
        ------
        DataError
            As of `rows` and `probabilities_of`.
        """
        return self.probabilities_of(self.scores(X))

    def probabilities_of(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the probabilities that scores stand for, shape (n, c).

        Raises
        ------
        DataError
            If the model has none.
        """
        if self.sigmoids is None:
            raise DataError("the model has no probabilities; train its classifier with probability=True")
        return self.sigmoids.probabilities(scores)

    def score(self, X: Any, y: Sequence[Any]) -> float:
        """Return the share of rows whose label is predicted.

        Raises
        ------
        DataError
            As of `rows`, with its row for a label that no class has, and if there is not one label for each row.
        """
        expected, predicted = self.classes.indices(list(y)), labels_of(self.scores(X))
        if not 0 < len(expected) == len(predicted):
            raise DataError(f"there are {len(expected):,} labels of {len(predicted):,} rows; each row needs one")
        return float(np.mean(predicted == expected))

    def save(self, path: str | Path) -> None:
        """Write the model to a file, whole or not at all.

        Raises
        ------
        DataError
            If it is of a kind that cannot be saved.
        StoreError
            If the file cannot be written.
        """
        parts, arrays = taken_apart(self.model, self.features, self.constant)
        description = _Description(
            model=parts,
            classes=self.classes.to_json(),
            columns=self.columns,
            preprocessing=None if self.preprocessing is None else to_json(self.preprocessing),
            sigmoids=self.sigmoids,
            origin=self.origin,
        )
        none = {"sigmoids"} if self.sigmoids is None else None  # so that 0.2.0 reads it
        model_file.write(Path(path), description.model_dump(mode="json", exclude=none), arrays)


def made_now(origin: Origin) -> Origin:
    """Return what made a model, with the version and the time of now."""
    version = sys.modules[__name__.partition(".")[0]].__version__  # importing the package from here would be a circle
    return origin.model_copy(update={"version": version, "time": datetime.now(UTC).isoformat(timespec="seconds")})


def load(path: str | Path) -> SavedModel:
    """Return a model from its file; nothing in it is run.

    Parameters
    ----------
    path : str or Path
        As `SavedModel.save`, a classifier's ``save`` or ``mpu-bench run --save-models`` has written it.

    Raises
    ------
    DataError
        If the file cannot be read, is no model, is damaged, or was written by a later version.
    """
    path = Path(path)
    data, arrays = model_file.read(path)
    try:
        described = _Description.model_validate(data, strict=False)
        classes = Classes.from_json(described.classes)
        saved = SavedModel(
            model=put_together(described.model, arrays, len(classes)),
            classes=classes,
            features=described.model.features,
            preprocessing=None if described.preprocessing is None else from_json(described.preprocessing, str(path)),
            columns=described.columns,
            constant=described.model.constant,
            sigmoids=described.sigmoids,
            origin=described.origin,
        )
        _check_counts(saved)
    except ValidationError as error:
        raise model_file.damaged(path, ValueError(first_error(error))) from None
    except (ValueError, TypeError, OverflowError) as error:
        raise model_file.damaged(path, error) from None
    return saved


def _as_of_pandas(X: Any) -> Any:
    """Return a table of another library, which has names for its columns as well, as one of pandas."""
    if hasattr(X, "column_names") and hasattr(X, "to_pandas"):  # a table of Arrow
        return X.to_pandas(ignore_metadata=True)
    names = getattr(X, "columns", ())
    if isinstance(X, pd.DataFrame) or not len(names) or not all(isinstance(name, str) for name in names):
        return X
    if hasattr(X, "collect"):
        raise DataError("the rows are a lazy table, whose values are not there yet; give what its collect() returns")
    return pd.DataFrame({name: np.asarray(X[name]) for name in names})


def _check_counts(saved: SavedModel) -> None:
    """Check that features and columns are as many as each other."""
    features = saved.raw_features if saved.preprocessing is None else saved.preprocessing.features
    if features != saved.raw_features or (saved.columns is not None and len(saved.columns) != saved.raw_features):
        raise ValueError("the features are not as many as the columns")
    if saved.sigmoids is not None:
        slopes, intercepts = len(saved.sigmoids.slopes), len(saved.sigmoids.intercepts)
        if slopes != intercepts or slopes not in score_counts(len(saved.classes)):
            raise ValueError("the sigmoids are not as many as the scores")
