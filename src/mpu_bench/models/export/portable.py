"""A saved model as what every export is made of: columns, steps to features, machines with their scores, a vote."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse
from numpy.typing import NDArray

from mpu_bench.core.models import FourierModel, KernelModel, LinearModel
from mpu_bench.core.rows import Rows, to_scipy
from mpu_bench.core.voting import MulticlassModel, SharedExpansions
from mpu_bench.errors import DataError
from mpu_bench.kernels import Kernel, Linear
from mpu_bench.kernels.precision import is_single_enough_for_scores
from mpu_bench.models.saved import SavedModel
from mpu_bench.preprocessing import CategoricalColumn, NumberColumn, Table, Vectors, numbers_of, rows_of_matrix

Column = NumberColumn | CategoricalColumn
_ROUNDING = 2.0**-24  # of a number to single precision, of its size
_SMALLEST_WIDTH, _LARGEST_WIDTH = 1e-30, 1e30  # of a column whose values single precision holds with all digits
WIDTH_OF_CONSTANT = 1e300  #: by which a card divides what must become 0
_MAX_ROUNDING = 1e-3  # of a feature in units of its width, and of the distance in units of a kernel's width
_MAX_SCORE_ROUNDING = 0.01  # scores of support vectors on the margin are 1 apart from zero


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
    def largest_width(self) -> float:
        """By which what must become 0 is divided, in the type of a row's numbers."""
        return WIDTH_OF_CONSTANT if self.number is np.float64 else 3e38

    @cached_property
    def number(self) -> type[np.float32] | type[np.float64]:
        """The type of a row's numbers: double where a column's are too large, small or far from zero for single.

        The steps on rows are taken in this type, and all that follows in single precision.
        """
        scales = [(abs(source[1]), abs(source[2])) for source in self.sources if isinstance(source, tuple)]
        is_far = any(
            shift * _ROUNDING > _MAX_ROUNDING * width or not _SMALLEST_WIDTH <= width <= _LARGEST_WIDTH
            for shift, width in scales
            if width != WIDTH_OF_CONSTANT
        )
        return np.float64 if is_far else np.float32

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

    @property
    def sources(self) -> list[tuple[int, float, float] | int]:
        """For every feature, the column it is made from with its shift and width, or the column of its word."""
        prepared: Any = self.saved.preprocessing
        if prepared is None:
            return [(index, 0.0, 1.0) for index in range(self.made_of_columns)]
        if isinstance(prepared, Table):
            sources: list[tuple[int, float, float] | int] = []
            for index, column in enumerate(self.columns):
                if isinstance(column, CategoricalColumn):
                    sources += [index] * len(column.categories)
                else:
                    sources.append((index, column.shift, column.width))
            return sources
        columns = range(prepared.features_in) if prepared.kept is None else prepared.kept
        factor = prepared.divide_by / prepared.multiply_by
        shifts, widths = prepared.shift or [0.0] * len(columns), prepared.width or [1.0] * len(columns)
        scales = zip(columns, shifts, widths, strict=True)
        return [(column, shift * factor, width * factor) for column, shift, width in scales]

    def numbers(self, raw: Any) -> NDArray[np.floating[Any]]:
        """Return raw rows as a device gets them, shape (n, columns): NaN for what is missing, -1 for unknown words."""
        if not isinstance(raw, pd.DataFrame):
            dense: Any = raw.toarray() if hasattr(raw, "toarray") else np.asarray(raw)
            return np.ascontiguousarray(dense, self.number)
        if not isinstance(self.saved.preprocessing, Table):
            return np.ascontiguousarray(raw.to_numpy(), self.number)
        parts = [
            column.codes(raw[column.name])
            if isinstance(column, CategoricalColumn)
            else numbers_of(raw[column.name], column.name)
            for column in self.columns
        ]
        return np.ascontiguousarray(np.column_stack(parts), self.number)


def portable(saved: SavedModel) -> Portable:
    """Return a saved model as what exports are made of.

    Raises
    ------
    DataError
        If its kernel or its type is none of the project's.
    """
    model: Any = saved.model
    is_vote = type(model) is MulticlassModel  # a subclass scores otherwise
    pairs, machines = (model.pairs, model.machines) if is_vote else (None, model)
    steps = saved.preprocessing if isinstance(saved.preprocessing, Vectors) else None
    known = saved, _columns(saved), steps, saved.features, pairs
    if type(machines) in (LinearModel, FourierModel):
        frequencies = machines.frequencies if isinstance(machines, FourierModel) else None
        biases = np.full(len(machines.weights), float(machines.bias))
        return Portable(*known, machines.weights, frequencies, None, None, biases, Linear())
    if type(machines) not in (KernelModel, SharedExpansions):
        raise DataError(f"a model of type {type(machines).__name__} cannot be exported; those of mpu_bench.core can")
    if not isinstance(machines.kernel, Kernel):
        raise DataError(f"the kernel {machines.kernel} cannot be exported; one of mpu_bench.kernels can")
    vectors = scipy.sparse.csr_array(to_scipy(machines.vectors, saved.features))
    coefficients, biases = _expansion(machines)
    if isinstance(machines.kernel, Linear):
        weights = np.asarray((coefficients.T @ vectors).toarray())
        return Portable(*known, weights, None, None, None, biases, Linear())
    used = np.flatnonzero(np.diff(coefficients.indptr))
    return Portable(*known, None, None, vectors[used], coefficients[used], biases, machines.kernel)


def too_coarse(model: Portable) -> str:
    """Return what of a model single precision is known to be too coarse for, with the cure; empty where nothing is.

    That is what is known without rows; a model that answers alike on raw rows is right all the same.
    """
    why = ""
    numbers = model.coefficients.toarray().T if model.weights is None else model.weights
    sizes = np.abs(numbers).max(axis=1, initial=0.0)
    if (tiny := sizes[(sizes > 0) & (sizes < np.finfo(np.float32).tiny)]).size:
        kind = "coefficients" if model.weights is None else "weights"
        why = f"{kind} of {tiny.max():.3g} at most, which single precision rounds: regularize less"
    elif model.weights is not None:
        constants = len(model.constants) if model.frequencies is None else 0
        d = model.weights.shape[1] - constants
        offsets = model.biases + model.weights[:, d:] @ np.array(model.constants[:constants])
        lengths = np.maximum(1.0, np.sqrt(np.square(model.weights[:, :d]).sum(axis=1)))
        k = int(np.argmax(np.abs(offsets) / lengths))
        if abs(offsets[k]) * _ROUNDING > _MAX_SCORE_ROUNDING * lengths[k]:
            why = f"the intercept {offsets[k]:.3g} cancels against columns far from zero, which single precision rounds"
    elif model.kernel.shift_invariant:
        largest = abs(model.vectors).max(axis=0).toarray().ravel() if model.vectors.shape[0] else np.zeros(1)
        j = int(np.argmax(largest))
        if np.sqrt(model.kernel.growth(largest[j] ** 2)) / 2 * _ROUNDING > _MAX_ROUNDING:
            column = [*model.saved.feature_names, "constant"][j]
            why = f"the column '{column}' is up to {largest[j]:.3g}, whose digits single precision rounds"
    else:
        length = float(np.sqrt(model.coefficients.multiply(model.coefficients).sum(axis=0).max(initial=0.0)))
        rows = rows_of_matrix(model.vectors, sparse=True)
        if not is_single_enough_for_scores(rows, model.kernel, length):
            why = f"values of the kernel {model.kernel} are too large for sums in single precision"
    cure = "scale the features before training (StandardScaler, or the step `scale` of a dataset)"
    return f"{why}; {cure}" if why else ""


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
    parts = machines.coefficients, machines.machines, machines.starts  # of the model: they are copied
    coefficients = scipy.sparse.csr_array(parts, (len(machines.starts) - 1, len(machines.biases)), copy=True)
    coefficients.sum_duplicates()
    coefficients.eliminate_zeros()
    return coefficients, machines.biases


def dense_features(rows: Rows, features: int) -> NDArray[np.float32]:
    """Return rows that a model is evaluated on as an array in single precision."""
    return np.asarray(rows_of_matrix(to_scipy(rows, features), sparse=False)[0], np.float32)
