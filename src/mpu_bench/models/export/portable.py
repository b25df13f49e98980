"""A saved model as what every export is made of: columns, steps to features, machines with their scores, a vote."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse
from numpy.typing import NDArray

from mpu_bench.core.kernels import Kernel, Linear
from mpu_bench.core.models import FourierModel, KernelModel, LinearModel
from mpu_bench.core.rows import Rows, to_scipy
from mpu_bench.core.voting import MulticlassModel
from mpu_bench.models.saved import SavedModel
from mpu_bench.preprocessing import CategoricalColumn, NumberColumn, Table, Vectors, numbers_of

Column = NumberColumn | CategoricalColumn


@dataclass(frozen=True, eq=False)
class Portable:
    """A model whose machines are of one of three kinds.

    Attributes
    ----------
    saved : SavedModel
    columns : tuple of NumberColumn or CategoricalColumn
        What a row holds, one number each: a number, or the code of a word.
    steps : Vectors or None
        What is done to a row of a model that takes vectors.
    features : int
        d, with a constant.
    pairs : array of int, shape (p, 2), or None
        The classes that machines vote for; None: there are as many scores as classes, or one of two.
    weights : array, shape (p, d) or (p, 2k), or None
    frequencies : array, shape (k, d), or None
        Of Fourier features, of which the weights are then.
    vectors : CSR array, shape (m, d), or None
        Of expansions.
    coefficients : CSR array, shape (m, p), or None
    biases : array, shape (p,)
    kernel : Kernel
        `Linear` where there are weights.
    """

    saved: SavedModel
    columns: tuple[Column, ...]
    steps: Vectors | None
    features: int
    pairs: NDArray[np.int32] | None
    weights: NDArray[np.float64] | None
    frequencies: NDArray[np.float64] | None
    vectors: Any
    coefficients: Any
    biases: NDArray[np.float64]
    kernel: Kernel

    @property
    def machines(self) -> int:
        """How many scores are computed, p."""
        return len(self.biases)

    @property
    def classes(self) -> int:
        """How many classes there are."""
        return len(self.saved.classes)

    @property
    def scores(self) -> int:
        """How many scores a row has for its user: one of two classes, else one a class."""
        return self.machines if self.pairs is None else self.classes

    @property
    def made_of_columns(self) -> int:
        """How many features are made of the columns of a row; the others are `constants`."""
        return self.features - len(self.constants)

    @property
    def constants(self) -> list[float]:
        """The values of the last features, which every row gets."""
        augment = None if self.saved.preprocessing is None else self.saved.preprocessing.augment
        return [value for value in (augment, self.saved.constant) if value is not None]

    def numbers(self, raw: Any) -> NDArray[np.float32]:
        """Return raw rows as a device gets them, shape (n, columns): NaN for what is missing, -1 for unknown words."""
        if not isinstance(raw, pd.DataFrame):
            dense: Any = raw.toarray() if hasattr(raw, "toarray") else np.asarray(raw)
            return np.ascontiguousarray(dense, np.float32)
        if not isinstance(self.saved.preprocessing, Table):
            return np.ascontiguousarray(raw.to_numpy(), np.float32)
        parts = [self._numbers_of(column, raw[column.name]) for column in self.columns]
        return np.ascontiguousarray(np.column_stack(parts), np.float32)

    def _numbers_of(self, column: Column, texts: Any) -> NDArray[Any]:
        return column.codes(texts) if isinstance(column, CategoricalColumn) else numbers_of(texts, column.name)


def portable(saved: SavedModel) -> Portable:
    """Return a saved model as what exports are made of."""
    model: Any = saved.model
    pairs = model.pairs if isinstance(model, MulticlassModel) else None
    machines = model.machines if isinstance(model, MulticlassModel) else model
    steps = saved.preprocessing if isinstance(saved.preprocessing, Vectors) else None
    known = saved, _columns(saved), steps, saved.features, pairs
    if isinstance(machines, LinearModel):
        frequencies = machines.frequencies if isinstance(machines, FourierModel) else None
        return Portable(*known, machines.weights, frequencies, None, None, np.zeros(len(machines.weights)), Linear())
    vectors = scipy.sparse.csr_array(to_scipy(machines.vectors, saved.features))
    coefficients, biases = _expansion(machines)
    if isinstance(machines.kernel, Linear):
        weights = np.asarray((coefficients.T @ vectors).toarray())
        return Portable(*known, weights, None, None, None, biases, Linear())
    used = np.flatnonzero(np.diff(coefficients.indptr))
    return Portable(*known, None, None, vectors[used], coefficients[used], biases, machines.kernel)


def _columns(saved: SavedModel) -> tuple[Column, ...]:
    prepared = saved.preprocessing
    if isinstance(prepared, Table):
        return tuple(column for column in prepared.columns if isinstance(column, NumberColumn | CategoricalColumn))
    count = prepared.features_in if isinstance(prepared, Vectors) else saved.raw_features
    names = saved.columns or [f"column {number}" for number in range(1, count + 1)]
    return tuple(NumberColumn(name=name) for name in names)


def _expansion(machines: Any) -> tuple[Any, NDArray[np.float64]]:
    """Return the coefficients of every vector, without those that are zero, and the biases."""
    if isinstance(machines, KernelModel):
        coefficients = scipy.sparse.csr_array(machines.coefficients)
        return coefficients, np.full(coefficients.shape[1], machines.bias)
    shape = len(machines.starts) - 1, len(machines.biases)
    coefficients = scipy.sparse.csr_array((machines.coefficients, machines.machines, machines.starts), shape)
    coefficients.sum_duplicates()
    coefficients.eliminate_zeros()
    return coefficients, machines.biases


def dense_features(rows: Rows, features: int) -> NDArray[np.float32]:
    """Return rows that a model is evaluated on as an array in single precision."""
    matrix: Any = to_scipy(rows, features)
    return np.ascontiguousarray(matrix if isinstance(matrix, np.ndarray) else matrix.toarray(), np.float32)
