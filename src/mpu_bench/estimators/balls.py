"""The solvers of frank-wolfe-2012 as classifiers: L2-SVMs as minimal enclosing balls."""

from __future__ import annotations

from typing import Any, ClassVar

from mpu_bench.core.solver import Solver
from mpu_bench.estimators.base import KernelClassifier, solver_named


class CoreVectorClassifier(KernelClassifier):
    """The Core Vector Machine (tsang-2005): an L2-SVM whose intercept is regularised.

    Parameters
    ----------
    C : float
        The weight of the squared losses.
    tol : float
        Of the radius: it ends when no point is known farther than (1 + tol) r from the centre.
    sampling : int or "all"
        How many random points the farthest is searched among.
    cache_size : float
        Megabytes for rows of kernel values that are kept.
    kernel, gamma, degree, coef0, multi_class, max_seconds, random_state, verbose
        As of `SBPClassifier`. The rows must have one length in the kernel's space, as with ``"rbf"``.
    """

    solvers: ClassVar = ("cvm",)

    def __init__(
        self, C: float = 1.0, *, tol: float = 1e-6, sampling: Any = 59, cache_size: float = 200.0,
        kernel: str = "rbf", gamma: float | str = "scale", degree: int = 3, coef0: float = 0.0,
        multi_class: str = "ovo", max_seconds: float | None = None, random_state: Any = None, verbose: int = 0,
    ) -> None:  # fmt: skip
        self.C = C
        self.tol = tol
        self.sampling = sampling
        self.cache_size = cache_size
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.multi_class = multi_class
        self.max_seconds = max_seconds
        self.random_state = random_state
        self.verbose = verbose

    def _solver(self, n: int) -> Solver:  # noqa: ARG002
        return solver_named("cvm", C=self.C, eps=self.tol, sampling=self.sampling, cache_mb=self.cache_size)


class FrankWolfeClassifier(KernelClassifier):
    """Frank-Wolfe on minimal enclosing balls (frank-wolfe-2012): an L2-SVM whose intercept is regularised.

    Parameters
    ----------
    C : float
        The weight of the squared losses.
    modified : bool
        Whether weight may also be taken from a point, away from it: the Modified Frank-Wolfe method.
    tol, sampling, cache_size, kernel, gamma, degree, coef0, multi_class, max_seconds, random_state, verbose
        As of `CoreVectorClassifier`, with rows of any length.
    """

    solvers: ClassVar = ("fw", "mfw")

    def __init__(
        self, C: float = 1.0, *, modified: bool = True, tol: float = 1e-6, sampling: Any = 59,
        cache_size: float = 200.0, kernel: str = "rbf", gamma: float | str = "scale", degree: int = 3,
        coef0: float = 0.0, multi_class: str = "ovo", max_seconds: float | None = None, random_state: Any = None,
        verbose: int = 0,
    ) -> None:  # fmt: skip
        self.C = C
        self.modified = modified
        self.tol = tol
        self.sampling = sampling
        self.cache_size = cache_size
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.multi_class = multi_class
        self.max_seconds = max_seconds
        self.random_state = random_state
        self.verbose = verbose

    def _solver(self, n: int) -> Solver:  # noqa: ARG002
        name = "mfw" if self.modified else "fw"
        return solver_named(name, C=self.C, eps=self.tol, sampling=self.sampling, cache_mb=self.cache_size)
