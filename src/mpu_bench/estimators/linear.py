"""The linear solvers of mpu-2010 as classifiers; the two perceptrons take kernels as well.

None has an intercept of its own: ``fit_intercept=True`` gives every row one more feature, which is 1, in a copy.
"""

from __future__ import annotations

from typing import Any, ClassVar

from mpu_bench.core.solver import Solver, Until
from mpu_bench.estimators.base import KernelClassifier, SolverClassifier, solver_named, until_passes


class MPUClassifier(KernelClassifier):
    """The margin perceptron with unlearning (mpu-2010): an L1-SVM, certified.

    Parameters
    ----------
    C : float
        The weight of the losses.
    margin : {"soft", "hard"}
        ``"hard"``: the maximum margin, for data that are separable.
    tol : float
        Ends as soon as the objective is certainly at most 1 + tol times the optimum; 0: at convergence.
    accuracy : float
        What the objective is at most at convergence, as a part of the optimum.
    kernel : {"linear", "poly", "rbf"}
    gamma : float, "scale" or "auto"
    degree : int
    coef0 : float
        As in scikit-learn's SVC.
    fit_intercept : bool
        Whether a feature that is 1 is added.
    multi_class : {"ovr", "ovo"}
        What several classes are told apart by: one machine a class, or one for every pair.
    max_iter : int, optional
        The most passes over the training rows, for each machine; ``margin="hard"`` on data that are not separable has
        no other end.
    max_seconds : float, optional
        After which training ends, compiling left out.
    random_state : int, RandomState or None
        Decides the order of the examples.
    verbose : int
        Above 0, progress is printed.
    """

    solvers: ClassVar = ("mpu",)

    def __init__(
        self, C: float = 1.0, *, margin: str = "soft", tol: float = 1e-4, accuracy: float = 1e-5,
        kernel: str = "linear", gamma: float | str = "scale", degree: int = 3, coef0: float = 0.0,
        fit_intercept: bool = True, multi_class: str = "ovr", max_iter: int | None = None,
        max_seconds: float | None = None, random_state: Any = None, verbose: int = 0,
    ) -> None:  # fmt: skip
        self.C = C
        self.margin = margin
        self.tol = tol
        self.accuracy = accuracy
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.multi_class = multi_class
        self.max_iter = max_iter
        self.max_seconds = max_seconds
        self.random_state = random_state
        self.verbose = verbose

    def _end(self, solver: Solver, n: int) -> Until:
        return Until() if self.max_iter is None else until_passes(solver, self.max_iter, n, len(self.classes_))

    def _solver(self, n: int) -> Solver:  # noqa: ARG002
        if self.margin not in ("soft", "hard"):
            raise ValueError(f"margin is {self.margin!r}; it must be 'soft' or 'hard'")
        return solver_named("mpu", C=self.C, margin=self.margin, stop=self.tol, accuracy=self.accuracy)


class MarginPerceptronClassifier(KernelClassifier):
    """The margin perceptron (mpu-2010): the maximum margin of separable data.

    Parameters
    ----------
    accuracy : float
        At convergence the margin is at least 1 / (1 + accuracy) of the maximum.
    max_iter : int
        The most passes over the training rows, for each machine: data that are not separable have no other end.
    kernel, gamma, degree, coef0, fit_intercept, multi_class, max_seconds, random_state, verbose
        As of `MPUClassifier`.
    """

    solvers: ClassVar = ("margin-perceptron",)

    def __init__(
        self, accuracy: float = 0.01, *, max_iter: int = 1000, kernel: str = "linear", gamma: float | str = "scale",
        degree: int = 3, coef0: float = 0.0, fit_intercept: bool = True, multi_class: str = "ovr",
        max_seconds: float | None = None, random_state: Any = None, verbose: int = 0,
    ) -> None:  # fmt: skip
        self.accuracy = accuracy
        self.max_iter = max_iter
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.multi_class = multi_class
        self.max_seconds = max_seconds
        self.random_state = random_state
        self.verbose = verbose

    def _solver(self, n: int) -> Solver:  # noqa: ARG002
        return solver_named("margin-perceptron", accuracy=self.accuracy)

    def _end(self, solver: Solver, n: int) -> Until:
        return until_passes(solver, self.max_iter, n, len(self.classes_))

    def __sklearn_tags__(self) -> Any:
        """Return what scikit-learn must know: of data that are not separable it learns little."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags


class DCDClassifier(SolverClassifier):
    """Dual coordinate descent for the linear L1-SVM (hsieh-2008), as LIBLINEAR has it.

    Parameters
    ----------
    C : float
        The weight of the losses.
    tol : float
        LIBLINEAR's epsilon: of the largest violation of the optimality conditions.
    gap : float
        Above 0, it ends when objective / dual objective - 1 is at most this, in place of ``tol``.
    fit_intercept, multi_class, max_seconds, random_state, verbose
        As of `MPUClassifier`.
    """

    solvers: ClassVar = ("dcd",)

    def __init__(
        self, C: float = 1.0, *, tol: float = 1e-3, gap: float = 0.0, fit_intercept: bool = True,
        multi_class: str = "ovr", max_seconds: float | None = None, random_state: Any = None, verbose: int = 0,
    ) -> None:  # fmt: skip
        self.C = C
        self.tol = tol
        self.gap = gap
        self.fit_intercept = fit_intercept
        self.multi_class = multi_class
        self.max_seconds = max_seconds
        self.random_state = random_state
        self.verbose = verbose

    def _solver(self, n: int) -> Solver:  # noqa: ARG002
        return solver_named("dcd", C=self.C, tolerance=self.tol, stop=self.gap)


class SVMPerfClassifier(SolverClassifier):
    """Cutting planes for the linear L1-SVM (joachims-2006), as SVMperf has them.

    Parameters
    ----------
    C : float
        The weight of the losses.
    tol : float
        In per cent: at the end the objective is at most ``tol C n / 100`` above the optimum.
    fit_intercept, multi_class, max_seconds, verbose
        As of `MPUClassifier`.
    random_state
        Nothing is random.
    """

    solvers: ClassVar = ("svmperf",)

    def __init__(
        self, C: float = 1.0, *, tol: float = 0.1, fit_intercept: bool = True, multi_class: str = "ovr",
        max_seconds: float | None = None, random_state: Any = None, verbose: int = 0,
    ) -> None:  # fmt: skip
        self.C = C
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.multi_class = multi_class
        self.max_seconds = max_seconds
        self.random_state = random_state
        self.verbose = verbose

    def _solver(self, n: int) -> Solver:  # noqa: ARG002
        return solver_named("svmperf", C=self.C, tolerance=self.tol)


class PegasosClassifier(KernelClassifier):
    """Pegasos (shalev-shwartz-2007): sub-gradient steps on the L1-SVM; with a kernel as sbp-2012 runs it.

    Parameters
    ----------
    C : float
        The weight of the losses; lambda = 1 / (C n).
    max_iter : int
        Passes over the training rows.
    batch : int
        The examples of a step; with a kernel it is 1.
    kernel, gamma, degree, coef0, fit_intercept, multi_class, max_seconds, random_state, verbose
        As of `MPUClassifier`.
    """

    solvers: ClassVar = ("pegasos", "pegasos-kernel")

    def __init__(
        self, C: float = 1.0, *, max_iter: int = 100, batch: int = 30, kernel: str = "linear",
        gamma: float | str = "scale", degree: int = 3, coef0: float = 0.0, fit_intercept: bool = True,
        multi_class: str = "ovr", max_seconds: float | None = None, random_state: Any = None, verbose: int = 0,
    ) -> None:  # fmt: skip
        self.C = C
        self.max_iter = max_iter
        self.batch = batch
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.multi_class = multi_class
        self.max_seconds = max_seconds
        self.random_state = random_state
        self.verbose = verbose

    def _solver(self, n: int) -> Solver:
        if self.kernel == "linear":
            batch = min(self.batch, n)
            return solver_named("pegasos", C=self.C, batch=batch, iterations=-(-self.max_iter * n // batch))
        return solver_named("pegasos-kernel", regularization=1.0 / (self.C * n), passes=self.max_iter)
