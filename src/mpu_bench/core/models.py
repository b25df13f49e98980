"""What a solver leaves behind: a linear model, one on Fourier features or a kernel expansion."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mpu_bench.core.jit import jit
from mpu_bench.core.rows import Dense, Rows, any_rows, count, dot, take, to_scipy
from mpu_bench.core.vectors import GROUP, Vectors, append, kernel_values, new_vectors, score
from mpu_bench.errors import ConfigError, DataError
from mpu_bench.kernels import Kernel
from mpu_bench.kernels.precision import Precision, centred_on, is_single_enough_for_scores

_MIN_VECTORS, _MAX_VECTORS = 16, 4096  # that meet a row at once ...
_MAX_VALUES = 1 << 24  # ... and their values: 64 MB in single precision, of very many columns
_CACHE_BYTES = 1 << 20  # in which their values stay while the rows pass, of fewer columns
_ROWS_AT_ONCE = 4096  # whose Fourier features are computed


class Model(Protocol):
    """What every model has."""

    @property
    def linear(self) -> bool:
        """Whether it is evaluated without kernel values."""

    @property
    def support_vectors(self) -> int:
        """How many vectors it keeps."""

    def scores(self, rows: Rows) -> NDArray[np.float64]:
        """Return the scores of every row, shape (n, c)."""

    def labels(self, rows: Rows) -> NDArray[np.int32]:
        """Return the class index predicted for every row, shape (n,)."""


class ScoredModel(ABC):
    """A model whose predictions follow from its scores by `labels_of`."""

    @abstractmethod
    def scores(self, rows: Rows) -> NDArray[np.float64]:
        """Return the scores of every row, shape (n, c)."""

    def labels(self, rows: Rows) -> NDArray[np.int32]:
        """Return the class index predicted for every row, shape (n,)."""
        return labels_of(self.scores(rows))

    @property
    @abstractmethod
    def finite(self) -> bool:
        """Whether all its numbers are."""


@dataclass(frozen=True, eq=False)
class LinearModel(ScoredModel):
    """f(x) = w.x + b, or one such score per class.

    Attributes
    ----------
    weights : array of float64, shape (c, d); c = 1 for two classes
    bias : float
        b; where all rows have a constant feature, its weight stands for it, and b is a threshold's.
    """

    weights: NDArray[np.float64]
    bias: float = field(default=0.0, kw_only=True)

    @property
    def linear(self) -> bool:
        """Whether it is evaluated without kernel values."""
        return True

    def scores(self, rows: Rows) -> NDArray[np.float64]:
        """Return the scores of every row, shape (n, c)."""
        scores: NDArray[np.float64] = _linear_scores(rows, self.weights)
        return scores + self.bias

    @property
    def finite(self) -> bool:
        """Whether all weights and the bias are."""
        return all_finite(self.weights) and all_finite(self.bias)

    @property
    def support_vectors(self) -> int:
        """A linear model keeps no vectors."""
        return 0


@dataclass(frozen=True, eq=False)
class FourierModel(LinearModel):
    """f(x) = w.P(x) + b with P(x) = 1/sqrt(k) (cos v_1.x, ..., cos v_k.x, sin v_1.x, ..., sin v_k.x).

    Attributes
    ----------
    weights : array of float64, shape (c, 2k); c = 1 for two classes
    frequencies : array of float64, shape (k, d)
    """

    frequencies: NDArray[np.float64]

    def scores(self, rows: Rows) -> NDArray[np.float64]:
        """Return the scores of every row, shape (n, c)."""
        parts = [features @ self.weights.T for features in fourier_features(rows, self.frequencies)]
        return np.concatenate([np.empty((0, len(self.weights))), *parts]) + self.bias


def fourier_features(rows: Rows, frequencies: NDArray[np.float64]) -> Iterator[NDArray[np.float64]]:
    """Yield P(x) of some rows after the other, first the k cosines and then the k sines; shape (rows, 2k)."""
    (k, d), n = frequencies.shape, int(count(rows))
    by_column = frequencies.T if isinstance(rows, Dense) else np.ascontiguousarray(frequencies.T)  # once, for SciPy
    for first in range(0, n, _ROWS_AT_ONCE):
        part = take(rows, np.arange(first, min(first + _ROWS_AT_ONCE, n)))
        angles = np.asarray(to_scipy(part, d) @ by_column)
        yield np.hstack([np.cos(angles), np.sin(angles)]) / np.sqrt(k)


@dataclass(frozen=True, eq=False)
class KernelModel(ScoredModel):
    """f(x) = sum_j alpha_j K(x_j, x) + b, or one such score per class.

    Attributes
    ----------
    vectors : Rows
        The m support vectors.
    coefficients : array of float64, shape (m, c); c = 1 for two classes
    kernel : Kernel
    features : int
        The number of columns of the vectors, d.
    bias : float
        b.
    support : array of int, shape (m,), optional
        Which of the training rows they are; not of vectors that are none of these.
    """

    vectors: Rows
    coefficients: NDArray[np.float64]
    kernel: Kernel
    features: int
    bias: float = 0.0
    support: NDArray[np.integer[Any]] | None = None

    @classmethod
    def of_support(
        cls, rows: Rows, coefficients: NDArray[np.float64], kernel: Kernel, features: int, bias: float = 0.0
    ) -> KernelModel:
        """Return the expansion over the rows whose coefficient, shape (n,), is not zero."""
        support = np.flatnonzero(coefficients)
        return cls(take(rows, support), coefficients[support, np.newaxis], kernel, features, bias, support)

    @property
    def linear(self) -> bool:
        """Whether it is evaluated without kernel values."""
        return False

    def scores(self, rows: Rows) -> NDArray[np.float64]:
        """Return the scores of every row, shape (n, c)."""
        return self._scores(rows, _largest_length(self.coefficients))

    def double_scores(self, rows: Rows) -> NDArray[np.float64]:
        """Return the scores of every row, shape (n, c), from kernel values in double precision whatever they are."""
        return self._scores(rows, np.inf)

    def _scores(self, rows: Rows, length: float) -> NDArray[np.float64]:
        """Return the scores, some of the vectors at a time, as precise as coefficients of this length need them."""
        scores = np.zeros((count(rows), self.coefficients.shape[1]))
        vectors, rows, features = used_columns(self.vectors, rows, self.features, self.kernel)
        for first, block in vector_blocks(vectors, rows, self.kernel, features, length):
            coefficients = self.coefficients[first : first + block.size[0]].T.copy()
            _add_scores(block, self.kernel, any_rows(rows), coefficients, scores)
        scores += self.bias
        return scores

    @property
    def finite(self) -> bool:
        """Whether all coefficients and the bias are."""
        return all_finite(self.coefficients) and all_finite(self.bias)

    @property
    def support_vectors(self) -> int:
        """The number of vectors with a coefficient that is not zero."""
        return int(np.count_nonzero(np.any(self.coefficients != 0, axis=1)))


def with_threshold(model: Model, threshold: float) -> Model:
    """Return a model of two classes that predicts the second where the score of this one is above a threshold.

    Raises
    ------
    ConfigError
        If it has no single score, or none with a bias.
    """
    if isinstance(model, LinearModel) and len(model.weights) == 1:
        return replace(model, bias=model.bias - threshold)
    if isinstance(model, KernelModel) and model.coefficients.shape[1] == 1:
        return replace(model, bias=model.bias - threshold)
    raise ConfigError(f"score_threshold: a {type(model).__name__} of this solver has not one score of two classes")


def all_finite(numbers: ArrayLike) -> bool:
    """Return whether numbers are neither infinite nor NaN."""
    return bool(np.isfinite(numbers).all())


def finite_scores(scores: NDArray[np.float64], first_row: int = 1) -> NDArray[np.float64]:
    """Return scores (n, c) as they are.

    Raises
    ------
    DataError
        With its row, counted from ``first_row`` on: a score is not finite.
    """
    if not (finite := np.isfinite(scores).all(axis=1)).all():
        row = first_row + int(np.flatnonzero(~finite)[0])
        raise DataError(f"row {row}: its score is not finite; a value lies far beyond those that trained the model")
    return scores


def labels_of(scores: NDArray[np.float64]) -> NDArray[np.int32]:
    """Return the class indices of scores (n, c): the best class, or for c = 1 whether the score is above zero.

    A score of exactly zero counts as the negative class; ties go to the lowest index.
    """
    if scores.shape[1] == 1:
        return (scores[:, 0] > 0).astype(np.int32)
    best: NDArray[np.int32] = np.argmax(scores, axis=1).astype(np.int32)
    return best


@jit(allocates=True)
def _linear_scores(rows, weights):
    scores = np.empty((count(rows), weights.shape[0]))
    for i in range(np.uint32(count(rows))):
        for c in range(weights.shape[0]):
            scores[i, c] = dot(rows, np.uint32(i), weights[c])
    return scores


def used_columns(vectors: Rows, rows: Rows, features: int, kernel: Kernel) -> tuple[Rows, Rows, int]:
    """Return vectors and rows, and how many columns they have: of very many, such as hashed ones, few are used.

    Sparse rows then have the columns of the vectors, in order, and one that no vector uses for all others; there are
    columns enough for the longest row. Inner products and norms stay as they were, to the bit; those of dense rows too
    far from the origin even for double precision are of rows that are centred (`centred_on`).
    """
    if isinstance(vectors, Dense) and isinstance(rows, Dense):
        return *centred_on(vectors, rows, kernel), features
    if features <= _MAX_VALUES // _MIN_VECTORS or isinstance(vectors, Dense) or isinstance(rows, Dense):
        return vectors, rows, features
    used = np.unique(vectors.indices)
    positions = np.minimum(np.searchsorted(used, rows.indices), max(len(used) - 1, 0))
    is_used = used[positions] == rows.indices if len(used) else np.zeros(len(positions), bool)
    renamed = rows._replace(indices=np.where(is_used, positions, len(used)).astype(np.uint32))
    longest = int((rows.starts[1:] - rows.starts[:-1]).max(initial=0))
    vectors = vectors._replace(indices=np.searchsorted(used, vectors.indices).astype(np.uint32))
    return vectors, renamed, max(len(used) + 1, longest)


def _largest_length(coefficients: NDArray[np.float64]) -> float:
    """Return the largest sqrt(sum_j alpha_j^2) of a column, 0 of none."""
    with np.errstate(over="ignore"):
        return float(np.sqrt(np.square(coefficients).sum(axis=0)).max(initial=0.0))


def vector_blocks(
    vectors: Rows, rows: Rows, kernel: Kernel, features: int, length: float
) -> Iterator[tuple[int, Vectors]]:
    """Yield the vectors that rows are to meet by columns, some at a time, with the number of the first of them.

    Kernel values are as precise as the rows, in single precision to 1e-6 or so; and double where single is not enough
    to tell the vectors apart, or for scores with coefficients of this length (`is_single_enough_for_scores`).
    """
    m = count(vectors)
    is_double = any(part.dtype == np.float64 for part in (*rows, *vectors))
    is_single = not is_double and is_single_enough_for_scores(vectors, kernel, length)
    precision: Precision = "single" if is_single else "double"
    in_cache = _CACHE_BYTES // (features * (4 if is_single else 8)) // GROUP * GROUP
    capacity = max(_MIN_VECTORS, min(m, _MAX_VECTORS, max(GROUP, in_cache), _MAX_VALUES // features))
    for first in range(0, m, capacity):
        block = new_vectors(features, capacity, precision)
        append(block, any_rows(vectors), first, min(first + capacity, m))
        yield first, block


@jit(allocates=True)
def _add_scores(vectors, kernel, rows, coefficients, scores):
    kernel_row, more = np.empty_like(vectors.squared_norms), np.empty(len(coefficients))
    for i in range(len(scores)):
        kernel_values(vectors, kernel, rows, np.uint32(i), kernel_row)
        score(coefficients, kernel_row[: vectors.size[0]], more)
        for c in range(len(more)):
            scores[i, c] += more[c]
