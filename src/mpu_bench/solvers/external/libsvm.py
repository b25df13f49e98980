"""LIBSVM's SMO for the kernel SVM with a bias, through scikit-learn: the yardstick of the batch kernel solvers.

    min_{w, b}  P = 1/2 ||w||^2 + C sum_i max(0, 1 - y_i (w.Phi(x_i) + b))

Chang, Lin: "LIBSVM: a library for support vector machines", ACM TIST 2, 2011, C-SVC. The kernels map exactly:
Gaussian(gamma) is `rbf`, Polynomial(scale, offset, degree) is `poly` with gamma, coef0 and degree.

Deviation: it has LIBSVM's own cap on iterations, max(10^7, 100 n).

Counted as for smo: 2n kernel evaluations for an iteration, which changes a pair. How many it computes it does not tell.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mpu_bench.solvers.external.kernels import ExternalKernelSolver


@dataclass(frozen=True)
class Libsvm(ExternalKernelSolver):
    """LIBSVM, C-SVC; there is always a bias.

    Attributes
    ----------
    C : float
        The weight of the losses.
    tolerance : float
        LIBSVM's epsilon: of the largest violation of the optimality conditions.
    cache_mb : float
        Megabytes for kernel values it keeps.
    """

    name = "libsvm"
    paper = "scikit-learn"

    def estimator(self, n: int, **kernel: Any) -> Any:
        """Return scikit-learn's SVC."""
        from sklearn.svm import SVC

        return SVC(C=self.C, tol=self.tolerance, cache_size=self.cache_mb, max_iter=self.most_iterations(n), **kernel)

    def most_iterations(self, n: int) -> int:
        """Return LIBSVM's own cap, which scikit-learn leaves out."""
        return max(10_000_000, 100 * n)

    def evaluations(self, n: int, iterations: int) -> int:
        """Return two rows an iteration."""
        return 2 * n * iterations
