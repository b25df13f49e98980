"""The solvers of sbp-2012 as classifiers."""

from __future__ import annotations

from typing import Any, ClassVar

from mpu_bench.core.solver import Solver
from mpu_bench.estimators.base import KernelClassifier, solver_named


class SBPClassifier(KernelClassifier):
    """The Stochastic Batch Perceptron (sbp-2012): the largest margin with so much slack.

    Parameters
    ----------
    nu : float
        The slack allowed: a mean over the examples, in units of ||w|| = 1.
    bias : bool
        Whether the model has an intercept, which is not regularised.
    max_iter : int
        Iterations, in n.
    kernel : {"linear", "poly", "rbf"}
    gamma : float, "scale" or "auto"
    degree : int
    coef0 : float
        As in scikit-learn's SVC.
    multi_class : {"ovr", "ovo"}
        What several classes are told apart by: one machine a class, or one for every pair.
    max_seconds : float, optional
        After which training ends, compiling left out.
    random_state : int, RandomState or None
    verbose : int
        Above 0, progress is printed.
    """

    solvers: ClassVar = ("sbp",)

    def __init__(
        self, nu: float = 0.01, *, bias: bool = False, max_iter: int = 10, kernel: str = "rbf",
        gamma: float | str = "scale", degree: int = 3, coef0: float = 0.0, multi_class: str = "ovr",
        max_seconds: float | None = None, random_state: Any = None, verbose: int = 0,
    ) -> None:  # fmt: skip
        self.nu = nu
        self.bias = bias
        self.max_iter = max_iter
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.multi_class = multi_class
        self.max_seconds = max_seconds
        self.random_state = random_state
        self.verbose = verbose

    def _solver(self, n: int) -> Solver:  # noqa: ARG002
        return solver_named("sbp", nu=self.nu, bias=bool(self.bias), passes=self.max_iter)


class SDCAClassifier(KernelClassifier):
    """Stochastic dual coordinate ascent for the kernel L1-SVM, as sbp-2012 runs it.

    Parameters
    ----------
    C : float
        The weight of the losses; lambda = 1 / (C n).
    max_iter : int
        Iterations, in n; ``dual_gap_`` says how good they were.
    kernel, gamma, degree, coef0, multi_class, max_seconds, random_state, verbose
        As of `SBPClassifier`.
    """

    solvers: ClassVar = ("sdca",)

    def __init__(
        self, C: float = 1.0, *, max_iter: int = 100, kernel: str = "rbf",
        gamma: float | str = "scale", degree: int = 3, coef0: float = 0.0, multi_class: str = "ovr",
        max_seconds: float | None = None, random_state: Any = None, verbose: int = 0,
    ) -> None:  # fmt: skip
        self.C = C
        self.max_iter = max_iter
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.multi_class = multi_class
        self.max_seconds = max_seconds
        self.random_state = random_state
        self.verbose = verbose

    def _solver(self, n: int) -> Solver:
        return solver_named("sdca", regularization=1.0 / (self.C * n), passes=self.max_iter)


class SMOClassifier(KernelClassifier):
    """Sequential minimal optimization for the kernel L1-SVM, as LIBSVM has it.

    Parameters
    ----------
    C : float
        The weight of the losses.
    bias : bool
        Whether the model has an intercept, which is not regularised.
    tol : float
        Of the largest violation of the optimality conditions, in units of y f(x).
    kernel, gamma, degree, coef0, multi_class, max_seconds, verbose
        As of `SBPClassifier`.
    random_state
        Nothing is random.
    """

    solvers: ClassVar = ("smo",)

    def __init__(
        self, C: float = 1.0, *, bias: bool = True, tol: float = 1e-3, kernel: str = "rbf",
        gamma: float | str = "scale", degree: int = 3, coef0: float = 0.0, multi_class: str = "ovo",
        max_seconds: float | None = None, random_state: Any = None, verbose: int = 0,
    ) -> None:  # fmt: skip
        self.C = C
        self.bias = bias
        self.tol = tol
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.multi_class = multi_class
        self.max_seconds = max_seconds
        self.random_state = random_state
        self.verbose = verbose

    def _solver(self, n: int) -> Solver:  # noqa: ARG002
        return solver_named("smo", C=self.C, bias=bool(self.bias), tolerance=self.tol)


class RandomFourierClassifier(KernelClassifier):
    """A linear L1-SVM on random Fourier features of the Gaussian kernel, as sbp-2012 runs it.

    Parameters
    ----------
    C : float
        The weight of the losses.
    pairs : int
        How many frequencies; each gives two features.
    tol : float
        LIBLINEAR's epsilon, where dual coordinate descent ends.
    gamma, multi_class, max_seconds, random_state, verbose
        As of `SBPClassifier`.
    """

    solvers: ClassVar = ("rff",)
    kernel, degree, coef0 = "rbf", 3, 0.0  # its only one

    def __init__(
        self, C: float = 1.0, *, pairs: int = 1024, tol: float = 0.01, gamma: float | str = "scale",
        multi_class: str = "ovr", max_seconds: float | None = None, random_state: Any = None, verbose: int = 0,
    ) -> None:  # fmt: skip
        self.C = C
        self.pairs = pairs
        self.tol = tol
        self.gamma = gamma
        self.multi_class = multi_class
        self.max_seconds = max_seconds
        self.random_state = random_state
        self.verbose = verbose

    def _solver(self, n: int) -> Solver:
        return solver_named("rff", regularization=1.0 / (self.C * n), pairs=self.pairs, tolerance=self.tol)
