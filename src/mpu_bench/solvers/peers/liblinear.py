"""LIBLINEAR's dual coordinate descent for the L1-SVM, through scikit-learn; the peer the linear solvers are held to.

    min_w  J(w) = 1/2 ||w||^2 + C sum_i max(0, 1 - y_i w.x_i)

Fan, Chang, Hsieh, Wang, Lin: "LIBLINEAR: a library for large linear classification", JMLR 9, 2008, solver type 3.
It does not give its dual variables, so it certifies no gap.

Counted: passes over a shrinking set only; ``presented`` is passes times n, an upper bound.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from annotated_types import Ge, Gt
from numpy.typing import NDArray

from mpu_bench.core.counters import INNER_PRODUCTS, PRESENTED, new_counters
from mpu_bench.core.kernels import Kernel
from mpu_bench.core.models import LinearModel
from mpu_bench.core.problem import Problem
from mpu_bench.core.rows import Rows, to_scipy
from mpu_bench.core.solver import Measures, Optimum, Solver, Status, Until
from mpu_bench.solvers.certificates import L1_SVM, margin, primal


@dataclass
class State:
    """The problem as the peer wants it, and its solution."""

    rows: Rows
    signs: NDArray[np.float64]  #: (n,)
    examples: Any  #: (n, d) float64, CSR or dense
    seed: int
    weights: NDArray[np.float64]  #: (d,)
    counters: NDArray[np.int64]
    status: Status = Status.RUNNING


@dataclass(frozen=True)
class Liblinear(Solver):
    """LIBLINEAR, L2-regularised L1-loss, dual.

    Attributes
    ----------
    C : float
        The weight of the losses.
    tolerance : float
        LIBLINEAR's epsilon: largest minus smallest projected gradient over a pass without shrinking.
    most_passes : int
        Its cap on passes. LIBLINEAR's own is 300 and silent; this one is large enough never to bind.
    """

    name = "liblinear"
    paper = "scikit-learn"
    sliceable = False
    ends: ClassVar = True

    C: Annotated[float, Gt(0)] = 1.0
    tolerance: Annotated[float, Gt(0)] = 0.1
    most_passes: Annotated[int, Ge(1)] = 10_000_000

    def start(self, problem: Problem, kernel: Kernel, seed: int) -> State:
        """Convert the examples; nothing is trained yet."""
        self.check(problem, kernel)
        return State(
            problem.train,
            problem.signs(),
            to_scipy(problem.train, problem.features),
            seed,
            np.zeros(problem.features),
            new_counters(),
        )

    def advance(self, state: State, until: Until) -> Status:  # noqa: ARG002
        """Train to the end, whatever ``until`` says. RUNNING means that the cap on passes stopped it."""
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.svm import LinearSVC

        if state.status is Status.DONE:
            return Status.DONE
        peer = LinearSVC(
            C=self.C,
            loss="hinge",
            dual=True,
            fit_intercept=False,
            tol=self.tolerance,
            max_iter=self.most_passes,
            random_state=state.seed,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # told by the status
            peer.fit(state.examples, state.signs)
        state.weights[:] = peer.coef_[0]
        state.counters[PRESENTED] = state.counters[INNER_PRODUCTS] = int(peer.n_iter_) * len(state.signs)
        state.status = Status.DONE if peer.n_iter_ < self.most_passes else Status.RUNNING
        return state.status

    def model(self, state: State) -> LinearModel:
        """Return w."""
        return LinearModel(state.weights[np.newaxis].copy())

    def measures(self, state: State) -> Measures:
        """Evaluate the objective and the margin; there are no dual variables to certify them."""
        return Measures(
            objective=primal(state.rows, state.signs, state.weights, self.C),
            margin=margin(state.rows, state.signs, state.weights),
        )

    @classmethod
    def objective_of(cls, parameters: Mapping[str, Any]) -> str:  # noqa: ARG003
        """Return the problem's name."""
        return L1_SVM

    @classmethod
    def optimum_solver(cls, parameters: Mapping[str, Any], linear: bool) -> Optimum | None:
        """Return that of the linear L1-SVM."""
        return ("optimum", {"C": parameters["C"]}) if linear else None
