"""The reference optimum of the kernel SVM: sequential minimal optimization to a violation of 1e-4.

It is what deviations from the optimum are measured against: its dual objective is at most the optimum, and its row
says by how much at most. Its nu is that of `sbp` where a config says ``nu: {from-regularization: ...}``, sbp-2012's
Lemma 2.1: the w that minimises lambda/2 ||w||^2 + (mean hinge loss) has, divided by its length, the largest margin that
a mean slack of nu = (mean hinge loss) / ||w|| allows. An optimum that is less exact overstates nu.
"""

from __future__ import annotations

from dataclasses import dataclass

from mpu_bench.solvers.batch.smo import SMO


@dataclass(frozen=True)
class KernelReference(SMO):
    """Sequential minimal optimization until no condition is violated by more than the tolerance.

    Attributes
    ----------
    C, regularization, bias
        As of `SMO`.
    tolerance : float
        Of the largest violation of the optimality conditions, in units of y f(x).
    """

    name = "kernel-reference"
    paper = "mpu-bench"

    tolerance: float = 1e-4
