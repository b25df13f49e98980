"""What external solvers of the linear L1-SVM without a bias share: how examples are handed over, what is said of w."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from annotated_types import Gt
from numpy.typing import NDArray

from mpu_bench.core.clock import untimed
from mpu_bench.core.counters import INNER_PRODUCTS, PRESENTED, new_counters
from mpu_bench.core.models import LinearModel
from mpu_bench.core.problem import Problem
from mpu_bench.core.rows import Rows, to_scipy
from mpu_bench.core.solver import Measures, Status
from mpu_bench.kernels import Kernel
from mpu_bench.solvers.certificates import L1_SVM, finite_squared_norms, margin, primal
from mpu_bench.solvers.external.base import ExternalSolver


@dataclass
class State:
    """The problem as the external solver wants it, and its solution."""

    rows: Rows
    signs: NDArray[np.float64]  #: (n,)
    examples: Any  #: (n, d) float64, CSR or dense
    seed: int
    weights: NDArray[np.float64]  #: (d,)
    counters: NDArray[np.int64]
    status: Status = Status.RUNNING


class Trained(NamedTuple):
    """What an external solver has come to."""

    weights: NDArray[np.float64]  #: (d,)
    passes: int
    ended: bool  #: by its own rule; False where its cap on passes stopped it


@dataclass(frozen=True)
class ExternalLinearSolver(ExternalSolver):
    """An external solver for the linear L1-SVM without a bias.

    Attributes
    ----------
    C : float
        The weight of the losses.
    """

    objective: ClassVar = L1_SVM
    optimum: ClassVar = "optimum"

    C: Annotated[float, Gt(0)] = 1.0

    @abstractmethod
    def train(self, examples: Any, signs: NDArray[np.float64], seed: int) -> Trained:
        """Train to the end.

        Parameters
        ----------
        examples : CSR matrix or array of float64, shape (n, d)
        signs : array of float64, shape (n,)
            The labels, -1 or +1.
        seed : int
        """

    @untimed()
    def start(self, problem: Problem, kernel: Kernel, seed: int) -> State:
        """Convert the examples, off the clock; nothing is trained yet."""
        self.check(problem, kernel)
        finite_squared_norms(problem)  # LIBLINEAR ends at once, at w = 0, where one is not
        return State(
            problem.train,
            problem.signs(),
            to_scipy(problem.train, problem.features),
            seed,
            np.zeros(problem.features),
            new_counters(),
        )

    def run(self, state: State) -> bool:
        """Train to the end, or to the cap on passes."""
        trained = self.train(state.examples, state.signs, state.seed)
        state.weights[:] = trained.weights
        state.counters[PRESENTED] = state.counters[INNER_PRODUCTS] = trained.passes * len(state.signs)
        return trained.ended

    def model(self, state: State) -> LinearModel:
        """Return w."""
        return LinearModel(state.weights[np.newaxis].copy())

    def measures(self, state: State) -> Measures:
        """Evaluate the objective and the margin; there are no dual variables to certify them."""
        return Measures(
            objective=primal(state.rows, state.signs, state.weights, np.array([float(self.C)])),
            margin=margin(state.rows, state.signs, state.weights),
        )
