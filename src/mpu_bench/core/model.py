"""What a solver leaves behind: a linear model or a kernel expansion, with scores, labels, save and load."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from mpu_bench.core import kernels
from mpu_bench.core.kernels import Kernel, value
from mpu_bench.core.rows import Dense, Ones, Rows, Sparse, add, count, dot, squared_norm, squared_norms

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


@njit(cache=True, nogil=True)
def _kernel_scores(rows, vectors, coefficients, kernel, features):
    scores = np.zeros((count(rows), coefficients.shape[1]))
    norms = squared_norms(vectors)
    dense = np.zeros(features)
    for i in range(count(rows)):
        add(rows, np.uint32(i), 1.0, dense)
        norm = squared_norm(rows, np.uint32(i))
        for j in range(count(vectors)):
            k = value(kernel, dot(vectors, np.uint32(j), dense), norms[j], norm)
            for c in range(coefficients.shape[1]):
                scores[i, c] += coefficients[j, c] * k
        add(rows, np.uint32(i), -1.0, dense)  # zero again, at the cost of the row alone
    return scores
