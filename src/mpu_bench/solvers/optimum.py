"""The optimum that objectives are set against: solvers of this project with settings of their own.

A run of one of them is a row of the results like any other, with its own seconds; which solver wants which is said by
`Solver.optimum_solver`. The dual objective of the row is at most the optimum, and its gap says by how much at most.

``kernel-optimum`` also gives `sbp` its nu where a config says ``nu: {from-regularization: ...}``, by Lemma 2.1 of
sbp-2012: the w that minimises lambda/2 ||w||^2 + (mean hinge loss) has, divided by its norm, the largest margin that a
mean slack of nu = (mean hinge loss) / ||w|| allows. An optimum that is less exact overstates nu.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Gt

from mpu_bench.solvers.batch.smo import SMO
from mpu_bench.solvers.linear.dcd import DCD


@dataclass(frozen=True)
class Optimum(DCD):
    """The linear L1-SVM without bias: dual coordinate descent to a gap of 1e-8.

    Attributes
    ----------
    C : float
        The weight of the losses.
    stop : float
        The gap, objective / dual - 1, that ends it.
    """

    name = "optimum"
    paper = "mpu-bench"

    stop: Annotated[float, Gt(0)] = 1e-8


@dataclass(frozen=True)
class KernelOptimum(SMO):
    """The kernel SVM: sequential minimal optimization to a violation of 1e-4.

    Attributes
    ----------
    C, regularization, bias
        As of `SMO`.
    tolerance : float
        Of the largest violation of the optimality conditions, in units of y f(x).
    """

    name = "kernel-optimum"
    paper = "mpu-bench"

    tolerance: float = 1e-4
