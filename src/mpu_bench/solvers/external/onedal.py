"""oneDAL's kernel SVM with a bias, through scikit-learn-intelex; shown beside the batch kernel solvers.

    min_{w, b}  P = 1/2 ||w||^2 + C sum_i max(0, 1 - y_i (w.Phi(x_i) + b))

Wen, Shi, Li, He, Chen: "ThunderSVM: a fast SVM library on GPUs and CPUs", JMLR 19, 2018: an iteration chooses a working
set of q examples, the largest power of two up to min(n, 1024), of which half were in the last one, computes their rows
of the kernel matrix at once, and runs SMO on them alone. The kernels map exactly: Gaussian(gamma) is `rbf`,
Polynomial(scale, offset, degree) is `poly` with gamma, coef0 and degree. It has the threads that the run has.

Besides its tolerance it has another rule: it stops, too, where the largest violation has stayed as it is for some
iterations. What its solution is worth is certified here from its dual variables.

Counted: working sets, and for each of them q n kernel evaluations; how many steps SMO does within them, and how many
kernel values it computes, it does not tell.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mpu_bench.solvers.external.kernels import ExternalKernelSolver

_LARGEST_WORKING_SET = 1024


@dataclass(frozen=True)
class OnedalSVC(ExternalKernelSolver):
    """oneDAL's C-SVC by scikit-learn-intelex; there is always a bias.

    Attributes
    ----------
    C : float
        The weight of the losses.
    tolerance : float
        Of the largest violation of the optimality conditions.
    cache_mb : float
        Megabytes for kernel values it keeps.
    """

    name = "onedal-svc"
    version = 3
    iteration_is_update = False
    paper = "scikit-learn-intelex"

    def estimator(self, n: int, **kernel: Any) -> Any:
        """Return scikit-learn-intelex's SVC."""
        import numba
        from sklearnex.svm import SVC

        return SVC(
            C=self.C,
            tol=self.tolerance,
            cache_size=self.cache_mb,
            max_iter=self.most_iterations(n),
            n_jobs=numba.get_num_threads(),  # which settings of the environment for other libraries do not tell it
            **kernel,
        )

    def evaluations(self, n: int, iterations: int) -> int:
        """Return a row for every example of every working set."""
        return min(_LARGEST_WORKING_SET, 1 << (n.bit_length() - 1)) * n * iterations

    def most_iterations(self, n: int) -> int:  # noqa: ARG002
        """Return a cap large enough never to bind; its own is 10,000 and silent."""
        return 10_000_000
