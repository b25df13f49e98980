"""Random small problems of the shapes that solvers get wrong: far from zero, repeated, empty, contradictory."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

FORMATS = ("float64", "float32", "csr float64", "csr float32", "binary", "csr binary")
KERNELS = ("rbf", "linear", "poly")


@dataclass(frozen=True, eq=False)
class SmallProblem:
    """Training rows with what a user would say of them, by scikit-learn's words."""

    seed: int
    X: Any
    y: NDArray[np.int64]
    weights: NDArray[np.float64] | None
    parameters: dict[str, Any] = field(default_factory=dict)  #: kernel, gamma, degree, coef0, C, nu

    @property
    def dense(self) -> NDArray[np.float64]:
        """The rows as one array, in double."""
        return np.asarray(self.X.toarray() if scipy.sparse.issparse(self.X) else self.X, np.float64)

    def __str__(self) -> str:
        """Say what it takes to see which problem it is."""
        kind = "csr" if scipy.sparse.issparse(self.X) else "dense"
        weighted = "" if self.weights is None else ", weighted"
        return (
            f"seed {self.seed}: {kind} {self.X.dtype} {self.X.shape[0]} x {self.X.shape[1]}, largest"
            f" {np.abs(self.dense).max():.1e}, {len(set(self.y))} classes{weighted}, {self.parameters}"
        )


def made(
    seed: int, formats: tuple[str, ...] = FORMATS, kernels: tuple[str, ...] = KERNELS, most: int = 60
) -> SmallProblem:
    """Return the problem of a seed, with at most so many rows."""
    random = np.random.default_rng([seed, 20261125])
    n, d, classes = int(random.integers(6, most + 1)), int(random.integers(1, 11)), 3 if random.random() < 0.2 else 2
    form = formats[random.integers(len(formats))]
    rows, y = _rows(random, n, d, classes, "binary" in form)
    values = rows.astype(np.float32 if "32" in form else np.float64)
    X = scipy.sparse.csr_matrix(values) if "csr" in form else values
    weights = 10 ** random.uniform(-2, 2, n) if random.random() < 0.2 else None
    return SmallProblem(seed, X, y, weights, _parameters(random, values.astype(float), kernels))


def _rows(
    random: np.random.Generator, n: int, d: int, classes: int, binary: bool
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    y = random.integers(0, classes, n)
    y[: 2 * classes] = np.repeat(np.arange(classes), 2)
    apart = random.choice([0.0, 1.0, 6.0])
    rows = random.normal(size=(n, d)) + apart * random.normal(size=(classes, d))[y]
    if binary:
        rows = (rows > 0.5).astype(float)
    else:
        if random.random() < 0.2:
            rows = np.round(rows, 1)
        if random.random() < 0.25:
            rows += random.choice([3.0, 100.0, 3000.0]) * random.normal(size=d)  # far from zero
        if random.random() < 0.15:
            rows[:, 0] *= 1e3  # one column beside the others
        rows *= 10.0 ** random.choice([0.0, random.uniform(-4, 4)])
    if random.random() < 0.25:
        rows[random.integers(0, n, n // 3)] = rows[random.integers(0, n)]  # repeated, and of any class
    if random.random() < 0.2:
        rows[random.integers(0, n, n // 5)] = 0.0
    if random.random() < 0.05:
        rows[:] = 0.0
    if random.random() < 0.15:  # contradictions
        half = n // 2
        rows[half : 2 * half] = rows[:half]
        y[half : 2 * half] = (y[:half] + 1) % classes
    return rows, y


def _parameters(random: np.random.Generator, rows: NDArray[np.float64], kernels: tuple[str, ...]) -> dict[str, Any]:
    kernel = str(kernels[random.integers(len(kernels))])
    distances = np.square(rows[:, None] - rows[None]).sum(axis=2)
    typical = float(np.median(distances[distances > 0])) if (distances > 0).any() else 1.0
    if kernel == "rbf":
        gamma = 10 ** random.uniform(-2, 2) / typical
    else:
        longest = max(float(np.square(rows).sum(axis=1).max()), 1e-8)
        gamma = float(random.choice([1.0, 1 / longest, 10 ** random.uniform(-2, 2) / longest]))
    coef0 = float(random.choice([0.0, 1.0, 10.0, -1.0], p=[0.3, 0.4, 0.25, 0.05]))
    degree = int(random.integers(1, 6))
    C = float(random.choice([1.0, 10 ** random.uniform(-6, 6)], p=[0.2, 0.8]))
    nu = float(random.choice([0.0, 0.01, 0.1])) * float(np.sqrt(max(np.square(rows).sum(axis=1).mean(), 1e-12)))
    if kernel == "rbf":
        nu = min(nu, 0.1)
    return {"kernel": kernel, "gamma": float(gamma), "degree": degree, "coef0": coef0, "C": C, "nu": nu}
