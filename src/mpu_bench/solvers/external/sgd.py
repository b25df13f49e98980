"""scikit-learn's stochastic gradient descent for the L1-SVM; shown beside the linear solvers.

    min_w  f(w) = alpha/2 ||w||^2 + 1/n sum_i max(0, 1 - y_i w.x_i),   alpha = 1 / (C n);   J(w) = C n f(w)

Bottou: "Large-scale machine learning with stochastic gradient descent", COMPSTAT 2010. Step t presents one example,
with the rate 1 / (alpha (t + t0)) (scikit-learn's ``optimal``), each epoch in another order; the model is the last w.
It has no certificate, and ends after so many epochs: scikit-learn's own rule, a loss that stops falling, says nothing
of J.

Counted: an epoch presents all n examples, for one inner product each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from annotated_types import Ge, Le
from numpy.typing import NDArray

from mpu_bench.solvers.external.linear import ExternalLinearSolver, Trained


@dataclass(frozen=True)
class SGD(ExternalLinearSolver):
    """scikit-learn's SGDClassifier, hinge loss, without a bias.

    Attributes
    ----------
    C : float
        The weight of the losses; alpha = 1 / (C n).
    epochs : int
        How often it presents every example.
    """

    name = "sgd"
    paper = "scikit-learn"

    epochs: Annotated[int, Ge(1), Le(2**32 - 1)] = 20

    def train(self, examples: Any, signs: NDArray[np.float64], seed: int) -> Trained:
        """Present all examples so many times."""
        from sklearn.linear_model import SGDClassifier

        estimator = SGDClassifier(
            loss="hinge",
            penalty="l2",
            alpha=1.0 / (self.C * len(signs)),
            fit_intercept=False,
            max_iter=self.epochs,
            tol=None,
            random_state=seed,
        )
        estimator.fit(examples, signs)
        return Trained(estimator.coef_[0], self.epochs, ended=True)
