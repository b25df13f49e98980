"""The solvers of frank-wolfe-2012 as classifiers: L2-SVMs as minimal enclosing balls."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

from mpu_bench.core.solver import Measures, Solver
from mpu_bench.estimators.mixins import BatchKernelClassifier, TwoClassClassifier, WeightedClassifier

_ROUNDING = 1e-9  # gaps below are as small as rounding leaves them; a smaller tol asks for no more


@dataclass(eq=False, repr=False)
class _BallClassifier(BatchKernelClassifier, TwoClassClassifier, WeightedClassifier):
    """What the two have in common."""

    bounds: ClassVar = "iterations"

    C: float = 1.0
    _: KW_ONLY
    tol: float = 1e-3
    sampling: Any = 59
    max_iter: int | None = 100_000
    multi_class: str = "ovo"

    def _ball(self, name: str, **parameters: Any) -> Solver:
        return self._new_solver(
            name, C=self.C, stop=self.tol, sampling=self.sampling, cache_mb=self.cache_size, **parameters
        )

    def _is_near(self, measures: Measures, n: float) -> bool:  # noqa: ARG002
        return measures.gap is not None and measures.gap <= max(self.tol, _ROUNDING)

    def _cure(self, stopped: str, X: Any, at_rounding: bool = False) -> str:
        if stopped:
            return super()._cure(stopped, X, at_rounding)
        return "scale the features, as with StandardScaler, or take a smaller C"  # rounding ended it


@dataclass(eq=False, repr=False)
class CoreVectorClassifier(_BallClassifier):
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
    class_weight : dict or "balanced", optional
        What C is multiplied by for each class.
    kernel, gamma, degree, coef0, cache_size, multi_class, n_jobs, max_seconds, random_state, verbose, probability
        As of `SBPClassifier`. The rows must have one length in the kernel's space, as with ``"rbf"``.
    """

    def _solver(self, n: int) -> Solver:  # noqa: ARG002
        return self._ball("cvm", add="all")


@dataclass(eq=False, repr=False)
class FrankWolfeClassifier(_BallClassifier):
    """Frank-Wolfe on minimal enclosing balls (frank-wolfe-2012): an L2-SVM whose intercept is regularised.

    Parameters
    ----------
    C : float
        The weight of the squared losses.
    modified : bool
        Whether weight may also be taken from a point, away from it: the Modified Frank-Wolfe method, which needs far
        fewer iterations.
    tol, max_iter, sampling, class_weight
        As of `CoreVectorClassifier`, with rows of any length.
    kernel, gamma, degree, coef0, cache_size, multi_class, n_jobs, max_seconds, random_state, verbose, probability
        As of `SBPClassifier`.
    """

    _: KW_ONLY
    modified: bool = True

    def _solver(self, n: int) -> Solver:  # noqa: ARG002
        return self._ball("mfw" if self.modified else "fw")
