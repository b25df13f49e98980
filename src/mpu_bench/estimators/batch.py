"""The solvers of sbp-2012 as classifiers."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

from mpu_bench.core.solver import Solver
from mpu_bench.estimators.kernels import kernel_named
from mpu_bench.estimators.mixins import BatchKernelClassifier, TwoClassClassifier, WeightedClassifier
from mpu_bench.estimators.parameters import regularization
from mpu_bench.kernels import Kernel


@dataclass(eq=False, repr=False)
class SBPClassifier(BatchKernelClassifier, TwoClassClassifier):
    """The Stochastic Batch Perceptron (sbp-2012): the largest margin with so much slack.

    Parameters
    ----------
    nu : float
        The slack allowed: a mean over the examples, in units of ||w|| = 1.
    fit_intercept : bool
        Whether the model has an intercept, which is not regularised.
    max_iter : int
        Iterations, in n.
    kernel : {"linear", "poly", "rbf", "precomputed"} or function
    gamma : float, "scale" or "auto"
    degree : int
    coef0 : float
        As in scikit-learn's SVC.
    cache_size : float
        Megabytes for rows of kernel values that are kept, at most, for each binary subproblem that is trained at a
        time.
    multi_class : {"ovr", "ovo"}
        How several classes are reduced to two: a binary subproblem for each class, or for each pair.
    n_jobs : int, optional
        How many binary subproblems are trained at a time, each on a thread.
    max_seconds : float, optional
        After which training ends, compiling left out.
    random_state : int, RandomState or None
    verbose : int
        Above 0, progress is printed.
    probability : bool
        Whether there is `predict_proba`, by sigmoids fitted to scores of rows that did not train (Platt); `fit` then
        trains once more for each of five folds.
    """

    why_no_weights: ClassVar = "nu is the mean slack of all rows alike"

    nu: float = 0.01
    _: KW_ONLY
    fit_intercept: bool = False
    max_iter: int = 10

    def _solver(self, n: int) -> Solver:  # noqa: ARG002
        return self._new_solver("sbp", nu=self.nu, bias=bool(self.fit_intercept), passes=self.max_iter)


@dataclass(eq=False, repr=False)
class SDCAClassifier(BatchKernelClassifier, TwoClassClassifier, WeightedClassifier):
    """Stochastic dual coordinate ascent for the kernel L1-SVM, as sbp-2012 runs it.

    Parameters
    ----------
    C : float
        The weight of the losses; lambda = 1 / (C n).
    max_iter : int
        Iterations, in n; ``dual_gap_`` says how good they were.
    class_weight : dict or "balanced", optional
        What C is multiplied by for each class.
    kernel, gamma, degree, coef0, cache_size, multi_class, n_jobs, max_seconds, random_state, verbose, probability
        As of `SBPClassifier`.
    """

    C: float = 1.0
    _: KW_ONLY
    max_iter: int = 100

    def _solver(self, n: int) -> Solver:
        return self._new_solver("sdca", regularization=regularization(self.C, n), passes=self.max_iter)


@dataclass(eq=False, repr=False)
class SMOClassifier(BatchKernelClassifier, TwoClassClassifier, WeightedClassifier):
    """Sequential minimal optimization for the kernel L1-SVM, as LIBSVM has it.

    Parameters
    ----------
    C : float
        The weight of the losses.
    fit_intercept : bool
        Whether the model has an intercept, which is not regularised.
    tol : float
        Of the largest violation of the optimality conditions, in units of y f(x).
    max_iter : int or None
        The most iterations, each of one or two coefficients, of each binary subproblem; None: no such bound.
    class_weight : dict or "balanced", optional
        What C is multiplied by for each class.
    kernel, gamma, degree, coef0, cache_size, multi_class, n_jobs, max_seconds, verbose, probability
        As of `SBPClassifier`.
    random_state
        Nothing is random.
    """

    bounds: ClassVar = "iterations"

    C: float = 1.0
    _: KW_ONLY
    fit_intercept: bool = True
    tol: float = 1e-3
    max_iter: int | None = 10_000_000
    multi_class: str = "ovo"

    def _solver(self, n: int) -> Solver:  # noqa: ARG002
        return self._new_solver("smo", C=self.C, bias=bool(self.fit_intercept), tolerance=self.tol, conjugate=True)


@dataclass(eq=False, repr=False)
class RandomFourierClassifier(TwoClassClassifier, WeightedClassifier):
    """A linear L1-SVM on random Fourier features of the Gaussian kernel, as sbp-2012 runs it.

    Parameters
    ----------
    C : float
        The weight of the losses.
    pairs : int
        How many frequencies; each gives two features.
    tol : float
        LIBLINEAR's epsilon, where dual coordinate descent ends.
    max_iter : int or None
        The most passes over the training rows, of each binary subproblem; None: no such bound.
    class_weight : dict or "balanced", optional
        What C is multiplied by for each class.
    gamma, multi_class, n_jobs, max_seconds, random_state, verbose, probability
        As of `SBPClassifier`.
    """

    bounds: ClassVar = "passes"

    C: float = 1.0
    _: KW_ONLY
    pairs: int = 1024
    tol: float = 0.01
    max_iter: int | None = 10_000
    gamma: float | str = "scale"

    def _kernel(self, X: Any) -> Kernel:
        return kernel_named("rbf", self.gamma, X)

    def _solver(self, n: int) -> Solver:
        return self._new_solver("rff", regularization=regularization(self.C, n), pairs=self.pairs, tolerance=self.tol)
