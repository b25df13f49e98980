"""What a solver leaves behind: a linear model or a kernel expansion, with scores, labels, save and load."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from mpu_bench.core import kernels
from mpu_bench.core.kernels import Kernel
from mpu_bench.core.rows import Dense, Ones, Rows, Sparse, count, dot
from mpu_bench.core.vectors import Precision, append, kernel_values, new_vectors, score

_LEAST_TOGETHER, _MOST_TOGETHER = 16, 4096  # vectors that meet a row at once
_HELD_VALUES = 1 << 24  # of the vectors that do: 64 MB in single precision

_ROWS = {tuple_type.__name__: tuple_type for tuple_type in (Dense, Sparse, Ones)}


@dataclass(frozen=True, eq=False)
class LinearModel:
    """f(x) = w.x, or one such score per class.

    Attributes
    ----------
    weights : array of float64, shape (c, d); c = 1 for two classes
    """

    weights: NDArray[np.float64]

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
        arrays: dict[str, Any] = {f"vectors_{name}": array for name, array in self.vectors._asdict().items()}
        arrays |= {f"kernel_{name}": number for name, number in self.kernel._asdict().items()}
        np.savez(
            path,
            model="kernel",
            rows=type(self.vectors).__name__,
            kernel=type(self.kernel).__name__,
            coefficients=self.coefficients,
            features=self.features,
            bias=self.bias,
            **arrays,
        )


Model = LinearModel | KernelModel


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
    rows_type = _ROWS[str(content["rows"])]
    kernel_type = getattr(kernels, str(content["kernel"]))
    vectors = rows_type(*(content[f"vectors_{name}"] for name in rows_type._fields))
    kernel = kernel_type(*(content[f"kernel_{name}"].item() for name in kernel_type._fields))
    bias = float(content.get("bias", 0.0))  # models saved before there was a bias have none
    return KernelModel(vectors, content["coefficients"], kernel, int(content["features"]), bias)


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
    """Add up ``sum_j coefficients[j] K(x_j, x)`` for every row x, some of the vectors at a time.

    Kernel values are as precise as the rows, in single precision to 1e-6 or so; sums are in double.
    """
    m = count(vectors)
    scores = np.zeros((count(rows), coefficients.shape[1]))
    precision: Precision = "double" if any(part.dtype == np.float64 for part in (*rows, *vectors)) else "single"
    room = max(_LEAST_TOGETHER, min(m, _MOST_TOGETHER, _HELD_VALUES // features))
    for first in range(0, m, room):
        held = new_vectors(features, room, precision)
        append(held, vectors, first, min(first + room, m))
        _add_scores(held, kernel, rows, coefficients[first : first + room].T.copy(), scores)
    return scores


@njit(cache=True, nogil=True)
def _add_scores(held, kernel, rows, coefficients, scores):
    kernel_row, more = np.empty_like(held.squared_norms), np.empty(len(coefficients))
    for i in range(count(rows)):
        kernel_values(held, kernel, rows, np.uint32(i), kernel_row)
        score(coefficients, kernel_row[: held.size[0]], more)
        scores[i] += more
