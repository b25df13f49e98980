"""The solvers of frank-wolfe-2012 as classifiers: L2-SVMs as minimal enclosing balls."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

from mpu_bench.core.solver import Solver
from mpu_bench.estimators.base import KernelClassifier, TwoClassClassifier

_WORDS = {"stop": "tol", "cache_mb": "cache_size"}


@dataclass(eq=False, repr=False)
class CoreVectorClassifier(KernelClassifier, TwoClassClassifier):
    """The Core Vector Machine (tsang-2005): an L2-SVM whose intercept is regularised.

    Parameters
    ----------
    C : float
        The weight of the squared losses.
    tol : float
        Training ends when the objective is at most 1 + tol times the optimum, as all rows certify (``dual_gap_``).
        A config's ``eps`` is of the ball's radius instead, as in the paper: a ball may be exact to a millionth while
        the objective is many times the optimum.
    max_iter : int or None
        The most iterations, of each binary subproblem; None: no such bound.
    sampling : int or "all"
        How many random points the farthest is searched among.
    cache_size : float
        Megabytes for rows of kernel values that are kept.
    kernel, gamma, degree, coef0, multi_class, max_seconds, random_state, verbose
        As of `SBPClassifier`. The rows must have one length in the kernel's space, as with ``"rbf"``.
    """

    solvers: ClassVar = ("cvm",)
    bounds: ClassVar = "iterations"

    C: float = 1.0
    _: KW_ONLY
    tol: float = 1e-3
    max_iter: int | None = 100_000
    sampling: Any = 59
    cache_size: float = 200.0
    multi_class: str = "ovo"

    def _solver(self, n: int) -> Solver:  # noqa: ARG002
        return self._made("cvm", _WORDS, C=self.C, stop=self.tol, sampling=self.sampling, cache_mb=self.cache_size)


@dataclass(eq=False, repr=False)
class FrankWolfeClassifier(KernelClassifier, TwoClassClassifier):
    """Frank-Wolfe on minimal enclosing balls (frank-wolfe-2012): an L2-SVM whose intercept is regularised.

    Parameters
    ----------
    C : float
        The weight of the squared losses.
    modified : bool
        Whether weight may also be taken from a point, away from it: the Modified Frank-Wolfe method.
    tol, max_iter, sampling, cache_size, kernel, gamma, degree, coef0, multi_class, max_seconds, random_state, verbose
        As of `CoreVectorClassifier`, with rows of any length.
    """

    solvers: ClassVar = ("fw", "mfw")
    bounds: ClassVar = "iterations"

    C: float = 1.0
    _: KW_ONLY
    modified: bool = True
    tol: float = 1e-3
    max_iter: int | None = 1_000_000
    sampling: Any = 59
    cache_size: float = 200.0
    multi_class: str = "ovo"

    def _solver(self, n: int) -> Solver:  # noqa: ARG002
        name = "mfw" if self.modified else "fw"
        return self._made(name, _WORDS, C=self.C, stop=self.tol, sampling=self.sampling, cache_mb=self.cache_size)
