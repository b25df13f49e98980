"""LIBLINEAR's dual coordinate descent for the L1-SVM, through scikit-learn: the yardstick of the linear solvers.

    min_w  J(w) = 1/2 ||w||^2 + C sum_i max(0, 1 - y_i w.x_i)

Fan, Chang, Hsieh, Wang, Lin: "LIBLINEAR: a library for large linear classification", JMLR 9, 2008, solver type 3.
It does not give its dual variables, so it certifies no gap.

Counted: passes over a shrinking set only; ``presented`` is passes times n, an upper bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from annotated_types import Ge, Gt, Le
from numpy.typing import NDArray

from mpu_bench.solvers.external.linear import ExternalLinearSolver, Trained


@dataclass(frozen=True)
class Liblinear(ExternalLinearSolver):
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

    tolerance: Annotated[float, Gt(0)] = 0.1
    most_passes: Annotated[int, Ge(1), Le(2**31 - 1)] = 10_000_000

    def train(self, examples: Any, signs: NDArray[np.float64], seed: int) -> Trained:
        """Train to the end, or to the cap on passes."""
        from sklearn.svm import LinearSVC

        estimator = LinearSVC(
            C=self.C,
            loss="hinge",
            dual=True,
            fit_intercept=False,
            tol=self.tolerance,
            max_iter=self.most_passes,
            random_state=seed,
        )
        estimator.fit(examples, signs)
        return Trained(estimator.coef_[0], int(estimator.n_iter_), bool(estimator.n_iter_ < self.most_passes))
