"""What external solvers of the kernel SVM with a bias share: handing over examples and kernels, certifying duals."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from annotated_types import Gt
from numpy.typing import NDArray

from mpu_bench.core.clock import untimed
from mpu_bench.core.counters import KERNEL_EVALUATIONS, PRESENTED, STEPS, UPDATES, new_counters
from mpu_bench.core.models import KernelModel
from mpu_bench.core.problem import Problem
from mpu_bench.core.rows import to_scipy
from mpu_bench.core.solver import Measures, Optimum, Status
from mpu_bench.kernels import Kernel
from mpu_bench.kernels.matrix import checked_norms
from mpu_bench.solvers.certificates import L1_SVM, per_example
from mpu_bench.solvers.expansions import certify_expansion
from mpu_bench.solvers.external.base import ExternalSolver


@dataclass
class State:
    """The problem as the external solver wants it, and its solution."""

    problem: Problem
    kernel: Kernel
    signs: NDArray[np.float64]  #: y (n,)
    examples: Any  #: (n, d) float64, CSR or dense
    coefficients: NDArray[np.float64]  #: y_i alpha_i (n,)
    counters: NDArray[np.int64]
    bias: float = 0.0  #: b
    status: Status = Status.RUNNING


@dataclass(frozen=True)
class ExternalKernelSolver(ExternalSolver):
    """An external solver for the kernel SVM with a bias, which has the interface of scikit-learn's SVC.

    Attributes
    ----------
    C : float
        The weight of the losses.
    tolerance : float
        Of the largest violation of the optimality conditions.
    cache_mb : float
        Megabytes for kernel values it keeps.
    """

    version = 2
    deterministic: ClassVar = True
    kernels: ClassVar = "any"
    objective: ClassVar = f"{L1_SVM}, with bias"
    iteration_is_update: ClassVar = True  #: else how many updates it makes in one is unknown

    C: Annotated[float, Gt(0)] = 1.0
    tolerance: Annotated[float, Gt(0)] = 1e-3
    cache_mb: Annotated[float, Gt(0)] = 2048.0

    @abstractmethod
    def estimator(self, n: int, **kernel: Any) -> Any:
        """Return an SVC that is not trained yet, for n examples, with a kernel by its name and options."""

    @abstractmethod
    def evaluations(self, n: int, iterations: int) -> int:
        """Return how many kernel values it asks for in its iterations on n examples."""

    @abstractmethod
    def most_iterations(self, n: int) -> int:
        """Return the cap on its iterations on n examples: rounding may leave its own rule out of reach."""

    def check_kernel(self, kernel: Kernel) -> None:
        """Refuse a kernel that the external solver does not take."""
        super().check_kernel(kernel)
        kernel.for_sklearn()

    @untimed()
    def start(self, problem: Problem, kernel: Kernel, seed: int) -> State:  # noqa: ARG002
        """Convert the examples, off the clock; nothing is trained yet."""
        self.check(problem, kernel)
        checked_norms(problem.train, kernel, np.dtype(np.float64))
        return State(
            problem,
            kernel,
            problem.signs(),
            to_scipy(problem.train, problem.features),
            np.zeros(problem.n),
            new_counters(),
        )

    def run(self, state: State) -> bool:
        """Train to the end, or to the cap on iterations."""
        n = len(state.signs)
        estimator = self.estimator(n, **state.kernel.for_sklearn()).fit(state.examples, state.signs)
        state.coefficients[:] = 0.0
        state.coefficients[estimator.support_] = (
            estimator.dual_coef_.toarray()[0] if hasattr(estimator.dual_coef_, "toarray") else estimator.dual_coef_[0]
        )
        state.bias = float(estimator.intercept_[0])
        iterations = int(np.sum(estimator.n_iter_))
        state.counters[PRESENTED] = iterations
        state.counters[[STEPS, UPDATES]] = iterations if self.iteration_is_update else 0
        state.counters[KERNEL_EVALUATIONS] = self.evaluations(n, iterations)
        return iterations < self.most_iterations(n)

    def model(self, state: State) -> KernelModel:
        """Return the expansion over the support vectors."""
        problem = state.problem
        return KernelModel.of_support(problem.train, state.coefficients, state.kernel, problem.features, state.bias)

    def measures(self, state: State) -> Measures:
        """Certify the model by its own dual variables."""
        C = per_example(self.C, state.problem)
        return certify_expansion(state.problem, state.kernel, state.coefficients, C, state.bias)

    @classmethod
    def optimum_solver(cls, parameters: Mapping[str, Any], linear: bool) -> Optimum | None:  # noqa: ARG003
        """Return that of the kernel SVM with a bias."""
        return "kernel-optimum", {"C": parameters["C"], "bias": True}
