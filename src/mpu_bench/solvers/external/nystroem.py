"""Nyström features of the Gaussian kernel and the linear L1-SVM on them, both by scikit-learn; shown beside rff.

    Phi(x) = M^(-1/2) (K(z_1, x), ..., K(z_m, x)),   M the matrix of K(z_j, z_k),   K(a, b) is about Phi(a).Phi(b)
    min_w  J(w) = 1/2 ||w||^2 + C sum_i max(0, 1 - y_i w.Phi(x_i))

Williams, Seeger: "Using the Nyström method to speed up kernel machines", NIPS 2000: the landmarks z are m training
examples, drawn without replacement. The linear problem is LIBLINEAR's (solvers/external/liblinear.py). As f(x) =
w.Phi(x) = sum_j beta_j K(z_j, x) with beta = M^(-1/2) w, the model is a kernel expansion over the landmarks.

M may be nearly singular, and beta large with either sign: kernel values of the model are computed in double precision,
for which its vectors are kept in double.

Counted: for the features n m kernel evaluations, and m m for M; what the linear problem costs is left out, as for rff,
but for the examples that it presents: passes times n. The features take 8 m n bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from annotated_types import Ge, Gt
from numpy.typing import NDArray

from mpu_bench.core.clock import untimed
from mpu_bench.core.counters import KERNEL_COMPUTED, KERNEL_EVALUATIONS, PRESENTED, new_counters
from mpu_bench.core.models import KernelModel
from mpu_bench.core.problem import Problem
from mpu_bench.core.rows import Dense, Ones, Rows, Sparse, take, to_scipy
from mpu_bench.core.solver import Measures, Status
from mpu_bench.kernels import Gaussian, Kernel
from mpu_bench.kernels.matrix import checked_norms
from mpu_bench.solvers.certificates import L1_SVM
from mpu_bench.solvers.external.base import ExternalSolver
from mpu_bench.solvers.external.liblinear import Liblinear


@dataclass
class State:
    """The problem as LIBLINEAR wants it, and its solution; m landmarks."""

    rows: Rows
    features: int
    kernel: Gaussian
    signs: NDArray[np.float64]  #: y (n,)
    examples: Any  #: (n, d) float64, CSR or dense
    seed: int
    landmarks: NDArray[np.int64]  #: indices of z in the training examples (m,)
    coefficients: NDArray[np.float64]  #: beta (m,)
    responses: NDArray[np.float64]  #: w.Phi(x_i) (n,)
    counters: NDArray[np.int64]
    squared_norm: float = 0.0  #: ||w||^2
    status: Status = Status.RUNNING


@dataclass(frozen=True)
class Nystroem(ExternalSolver):
    """Nyström features with LIBLINEAR.

    Attributes
    ----------
    C : float
        The weight of the losses.
    landmarks : int
        m, the examples that features are made of; all, where there are fewer.
    tolerance : float
        LIBLINEAR's epsilon.
    """

    name = "nystroem"
    paper = "scikit-learn"
    kernels: ClassVar = "gaussian"
    objective: ClassVar = f"{L1_SVM}, Nyström features"

    C: Annotated[float, Gt(0)] = 1.0
    landmarks: Annotated[int, Ge(1)] = 1024
    tolerance: Annotated[float, Gt(0)] = 0.01

    @untimed()
    def start(self, problem: Problem, kernel: Kernel, seed: int) -> State:
        """Convert the examples, off the clock; no landmark is drawn yet."""
        self.check(problem, kernel)
        checked_norms(problem.train, kernel, np.dtype(np.float64))
        assert isinstance(kernel, Gaussian)
        n, m = problem.n, min(self.landmarks, problem.n)
        examples = to_scipy(problem.train, problem.features)
        return State(
            problem.train, problem.features, kernel, problem.signs(), examples, seed,
            np.zeros(m, np.int64), np.zeros(m), np.zeros(n), new_counters(),
        )  # fmt: skip

    def run(self, state: State) -> bool:
        """Make the features and train to the end, or to the cap on passes."""
        from sklearn.kernel_approximation import Nystroem as Features

        n, m = len(state.signs), len(state.landmarks)
        nystroem = Features(kernel="rbf", gamma=state.kernel.gamma, n_components=m, random_state=state.seed)
        features = nystroem.fit_transform(state.examples)
        linear = Liblinear(C=self.C, tolerance=self.tolerance).train(features, state.signs, state.seed)
        state.landmarks[:] = nystroem.component_indices_
        state.coefficients[:] = nystroem.normalization_.T @ linear.weights
        state.responses[:] = features @ linear.weights
        state.squared_norm = float(linear.weights @ linear.weights)
        state.counters[PRESENTED] = linear.passes * n
        state.counters[[KERNEL_EVALUATIONS, KERNEL_COMPUTED]] = n * m + m * m
        return linear.ended

    def model(self, state: State) -> KernelModel:
        """Return the expansion over the landmarks."""
        used = np.flatnonzero(state.coefficients)
        vectors = _in_double(take(state.rows, state.landmarks[used]))
        return KernelModel(vectors, state.coefficients[used, np.newaxis], state.kernel, state.features)

    def measures(self, state: State) -> Measures:
        """Evaluate J on the features; there are no dual variables to certify it."""
        margins, norm = state.signs * state.responses, np.sqrt(state.squared_norm)
        losses = float(np.maximum(0.0, 1.0 - margins).sum())
        return Measures(
            objective=state.squared_norm / 2 + self.C * losses,
            margin=float(margins.min() / norm) if norm > 0 else None,
        )


def _in_double(rows: Rows) -> Rows:
    """Return the rows with values in double precision."""
    if isinstance(rows, Dense):
        return Dense(rows.values.astype(np.float64))
    values = np.ones(len(rows.indices)) if isinstance(rows, Ones) else rows.values.astype(np.float64)
    return Sparse(values, rows.indices, rows.starts)
