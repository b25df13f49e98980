"""What a solver leaves behind: a linear model, one on Fourier features or a kernel expansion; scores, save and load."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numba import njit
from numpy.typing import NDArray

from mpu_bench.core import kernels
from mpu_bench.core.kernels import Kernel
from mpu_bench.core.rows import Dense, Ones, Rows, Sparse, count, dot, take, to_scipy
from mpu_bench.core.vectors import Precision, Vectors, append, kernel_values, new_vectors, score

_LEAST_TOGETHER, _MOST_TOGETHER = 16, 4096  # vectors that meet a row at once
_HELD_VALUES = 1 << 24  # of the vectors that do: 64 MB in single precision

_BLOCK = 4096  # rows whose Fourier features are made at a time

_ROWS = {tuple_type.__name__: tuple_type for tuple_type in (Dense, Sparse, Ones)}


class Model(Protocol):
    """What is asked of every model."""

    @property
    def linear(self) -> bool:
        """Whether it is evaluated without kernel values."""

    @property
    def support_vectors(self) -> int:
        """How many vectors it keeps."""

    def scores(self, rows: Rows) -> NDArray[np.float64]:
        """Score every row."""

    def labels(self, rows: Rows) -> NDArray[np.int32]:
        """Predict class indices, shape (n,)."""

    def save(self, path: Path) -> None:
        """Write the model to a ``.npz`` file."""


@dataclass(frozen=True, eq=False)
class LinearModel:
    """f(x) = w.x, or one such score per class.

    Attributes
    ----------
    weights : array of float64, shape (c, d); c = 1 for two classes
    """

    weights: NDArray[np.float64]

    @property
    def linear(self) -> bool:
        """Whether it is evaluated without kernel values."""
        return True

    def scores(self, rows: Rows) -> NDArray[np.float64]:
        """Score every row; shape (n, c)."""
        scores: NDArray[np.float64] = _linear_scores(rows, self.weights)
        return scores

    def labels(self, rows: Rows) -> NDArray[np.int32]:
        """Predict class indices, shape (n,)."""
        return labels_of(self.scores(rows))

    @property
    def support_vectors(self) -> int:
        """A linear model keeps no vectors."""
        return 0

    def save(self, path: Path) -> None:
        """Write the model to a ``.npz`` file."""
        np.savez(path, model="linear", weights=self.weights)


@dataclass(frozen=True, eq=False)
class FourierModel(LinearModel):
    """f(x) = w.P(x) with P(x) = 1/sqrt(k) (cos v_1.x, ..., cos v_k.x, sin v_1.x, ..., sin v_k.x).

    Attributes
    ----------
    weights : array of float64, shape (c, 2k); c = 1 for two classes
    frequencies : array of float64, shape (k, d)
    """

    frequencies: NDArray[np.float64]

    def scores(self, rows: Rows) -> NDArray[np.float64]:
        """Score every row; shape (n, c)."""
        parts = [features @ self.weights.T for features in fourier_features(rows, self.frequencies)]
        return np.concatenate([np.empty((0, len(self.weights))), *parts])

    def save(self, path: Path) -> None:
        """Write the model to a ``.npz`` file."""
        np.savez(path, model="fourier", weights=self.weights, frequencies=self.frequencies)


def fourier_features(rows: Rows, frequencies: NDArray[np.float64]) -> Iterator[NDArray[np.float64]]:
    """Compute P(x) of some rows after the other, first the k cosines and then the k sines; shape (rows, 2k)."""
    (k, d), n = frequencies.shape, int(count(rows))
    for first in range(0, n, _BLOCK):
        part = take(rows, np.arange(first, min(first + _BLOCK, n)))
        angles = np.asarray(to_scipy(part, d) @ frequencies.T)
        yield np.hstack([np.cos(angles), np.sin(angles)]) / np.sqrt(k)


@dataclass(frozen=True, eq=False)
class KernelModel:
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
    """

    vectors: Rows
    coefficients: NDArray[np.float64]
    kernel: Kernel
    features: int
    bias: float = 0.0

    @classmethod
    def of_support(
        cls, rows: Rows, coefficients: NDArray[np.float64], kernel: Kernel, features: int, bias: float = 0.0
    ) -> KernelModel:
        """Return the expansion over the rows whose coefficient, shape (n,), is not zero."""
        support = np.flatnonzero(coefficients)
        return cls(take(rows, support), coefficients[support, np.newaxis], kernel, features, bias)

    @property
    def linear(self) -> bool:
        """Whether it is evaluated without kernel values."""
        return False

    def scores(self, rows: Rows) -> NDArray[np.float64]:
        """Score every row; shape (n, c)."""
        scores: NDArray[np.float64] = _kernel_scores(rows, self.vectors, self.coefficients, self.kernel, self.features)
        scores += self.bias
        return scores

    def labels(self, rows: Rows) -> NDArray[np.int32]:
        """Predict class indices, shape (n,)."""
        return labels_of(self.scores(rows))

    @property
    def support_vectors(self) -> int:
        """The number of vectors with a coefficient that is not zero."""
        return int(np.count_nonzero(np.any(self.coefficients != 0, axis=1)))

    def save(self, path: Path) -> None:
        """Write the model to a ``.npz`` file."""
        parts = expansion_to_arrays(self.vectors, self.kernel, self.features)
        np.savez(path, model="kernel", coefficients=self.coefficients, bias=self.bias, **parts)


def load(path: Path) -> Model:
    """Read a model that `save` wrote.

    Raises
    ------
    ValueError
        If the file holds no model.
    """
    with np.load(path) as stored:
        content = dict(stored)
    if "model" not in content:
        raise ValueError(f"{path}: not a saved model")
    if str(content["model"]) == "linear":
        return LinearModel(content["weights"])
    if str(content["model"]) == "fourier":
        return FourierModel(content["weights"], content["frequencies"])
    if str(content["model"]) == "multiclass":
        from mpu_bench.core import voting

        return voting.from_arrays(content)
    vectors, kernel, features = expansion_from_arrays(content)
    bias = float(content.get("bias", 0.0))  # models saved before there was a bias have none
    return KernelModel(vectors, content["coefficients"], kernel, features, bias)


def expansion_to_arrays(vectors: Rows, kernel: Kernel, features: int) -> dict[str, Any]:
    """Name what is to be saved of vectors of so many features and their kernel."""
    named: dict[str, Any] = {f"vectors_{name}": array for name, array in vectors._asdict().items()}
    named |= {f"kernel_{name}": number for name, number in kernel._asdict().items()}
    return named | {"rows": type(vectors).__name__, "kernel": type(kernel).__name__, "features": features}


def expansion_from_arrays(content: Mapping[str, Any]) -> tuple[Rows, Kernel, int]:
    """Read what `expansion_to_arrays` has named."""
    rows_type = _ROWS[str(content["rows"])]
    kernel_type = getattr(kernels, str(content["kernel"]))
    vectors = rows_type(*(content[f"vectors_{name}"] for name in rows_type._fields))
    kernel = kernel_type(*(content[f"kernel_{name}"].item() for name in kernel_type._fields))
    return vectors, kernel, int(content["features"])


def labels_of(scores: NDArray[np.float64]) -> NDArray[np.int32]:
    """Turn scores (n, c) into class indices: the best class, or for c = 1 whether the score is above zero.

    A score of exactly zero counts as the negative class; ties go to the lowest index.
    """
    if scores.shape[1] == 1:
        return (scores[:, 0] > 0).astype(np.int32)
    best: NDArray[np.int32] = np.argmax(scores, axis=1).astype(np.int32)
    return best


@njit(cache=True, nogil=True)
def _linear_scores(rows, weights):
    scores = np.empty((count(rows), weights.shape[0]))
    for i in range(np.uint32(count(rows))):
        for c in range(weights.shape[0]):
            scores[i, c] = dot(rows, np.uint32(i), weights[c])
    return scores


def _kernel_scores(
    rows: Rows, vectors: Rows, coefficients: NDArray[np.float64], kernel: Kernel, features: int
) -> NDArray[np.float64]:
    """Add up ``sum_j coefficients[j] K(x_j, x)`` for every row x, some of the vectors at a time."""
    scores = np.zeros((count(rows), coefficients.shape[1]))
    for first, held in held_vectors(vectors, rows, features):
        _add_scores(held, kernel, rows, coefficients[first : first + held.size[0]].T.copy(), scores)
    return scores


def held_vectors(vectors: Rows, rows: Rows, features: int) -> Iterator[tuple[int, Vectors]]:
    """Give the vectors that rows are to meet by columns, some at a time, with the number of the first of them.

    Kernel values are as precise as the rows, in single precision to 1e-6 or so.
    """
    m = count(vectors)
    precision: Precision = "double" if any(part.dtype == np.float64 for part in (*rows, *vectors)) else "single"
    room = max(_LEAST_TOGETHER, min(m, _MOST_TOGETHER, _HELD_VALUES // features))
    for first in range(0, m, room):
        held = new_vectors(features, room, precision)
        append(held, vectors, first, min(first + room, m))
        yield first, held


@njit(cache=True, nogil=True)
def _add_scores(held, kernel, rows, coefficients, scores):
    kernel_row, more = np.empty_like(held.squared_norms), np.empty(len(coefficients))
    for i in range(count(rows)):
        kernel_values(held, kernel, rows, np.uint32(i), kernel_row)
        score(coefficients, kernel_row[: held.size[0]], more)
        scores[i] += more
