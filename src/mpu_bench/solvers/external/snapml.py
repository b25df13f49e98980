"""Snap ML's dual coordinate descent for the L1-SVM; an external solver that the linear solvers are compared with.

    min_w  J(w) = 1/2 ||w||^2 + C sum_i max(0, 1 - y_i w.x_i)

Dünner, Parnell, Sarigiannis, Ioannou, Anghel, Ravi, Kandasamy, Pozidis: "Snap ML: a hierarchical framework for machine
learning", NeurIPS 2018. It minimises J / C, with its ``regularizer`` = 1 / C, on one thread and on a copy of the
examples in single precision. It does not give its dual variables, so it certifies no gap; no seed changes its result.

It stops where the weights hardly change, which need not be at the optimum: on a1a with C = 1, J is 2.2e-4 above the
optimum with any tolerance below 1e-8. Seven examples that are no support vectors lie within the margin there, so it
seems that examples that were left out once are not looked at again. Where C is large it may end at several times the
optimum.

Counted: a pass presents all n examples.
"""

from __future__ import annotations

import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import Annotated, Any, ClassVar

import numpy as np
from annotated_types import Ge, Gt, Le
from numpy.typing import NDArray

from mpu_bench.solvers.external.linear import ExternalLinearSolver, Trained


@dataclass(frozen=True)
class Snapml(ExternalLinearSolver):
    """Snap ML's support vector machine, hinge loss, dual, without a bias.

    Attributes
    ----------
    C : float
        The weight of the losses.
    tolerance : float
        Snap ML's: the largest change of the weights in a pass at which it stops, of relative meaning only.
    most_passes : int
        Its cap on passes; Snap ML's own is 1000.
    """

    name = "snapml-svm"
    deterministic: ClassVar = True
    paper = "snapml"

    tolerance: Annotated[float, Gt(0)] = 1e-3
    most_passes: Annotated[int, Ge(1), Le(2**31 - 1)] = 1_000_000

    def train(self, examples: Any, signs: NDArray[np.float64], seed: int) -> Trained:
        """Train to the end, or to the cap on passes."""
        estimator = _snapml().SupportVectorMachine(
            loss="hinge",
            regularizer=1.0 / self.C,
            fit_intercept=False,
            tol=self.tolerance,
            max_iter=self.most_passes,
            random_state=seed % 2**31,
        )
        estimator.fit(examples, signs)
        passes = int(np.max(estimator.n_iter_))
        return Trained(np.ravel(estimator.coef_), passes, passes < self.most_passes)


def _snapml() -> ModuleType:
    """Import Snap ML, and leave the arithmetic of this thread, and how it is warned, as they are.

    Its libraries are compiled with ``-ffast-math``: the thread that loads them takes subnormal numbers for zero from
    then on, in all that it computes. Here it is a thread that ends.
    """
    with warnings.catch_warnings(), ThreadPoolExecutor(1) as thread:
        # it asks numpy by a deprecated name what the processor can do; were the warning an error, it would not use AVX2
        warnings.simplefilter("ignore")
        return thread.submit(import_module, "snapml").result()
