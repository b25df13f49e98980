"""The linear solvers of mpu-2010 as classifiers; the two perceptrons take kernels as well.

None has an intercept of its own: ``fit_intercept=True`` gives every row one more feature, which is 1, in a copy.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if

from mpu_bench.core.counters import PRESENTED, STEPS
from mpu_bench.core.problem import Problem
from mpu_bench.core.solver import Measures, Solver, Until
from mpu_bench.estimators.base import LARGE_GAP, Fit
from mpu_bench.estimators.inputs import problem_of, rows_of
from mpu_bench.estimators.mixins import AugmentedClassifier, BatchKernelClassifier, WeightedClassifier
from mpu_bench.estimators.parameters import (
    KernelFunction,
    as_it_was_if_refused,
    as_value_error,
    regularization,
)
from mpu_bench.estimators.pieces import IncrementalClassifier, Pieces
from mpu_bench.kernels import Linear
from mpu_bench.solvers.linear.pegasos import Pegasos
from mpu_bench.solvers.multiclass import Multiclass, Subproblem, one_against_rest


@dataclass(eq=False, repr=False, kw_only=True)
class MarginClassifier(BatchKernelClassifier, AugmentedClassifier):
    """A classifier whose solver can find that data are not separable."""

    bounds: ClassVar = "passes"


@dataclass(eq=False, repr=False)
class MPUClassifier(MarginClassifier, WeightedClassifier):
    """The margin perceptron with unlearning (mpu-2010): an L1-SVM, certified.

    Parameters
    ----------
    C : float
        The weight of the losses.
    margin : {"soft", "hard"}
        ``"hard"``: the maximum margin, for data that are separable.
    tol : float
        Ends as soon as the objective is certainly at most 1 + tol times the optimum, or the margin at least
        1 / (1 + tol) of the maximum; 0: at convergence.
    accuracy : float
        The same at convergence: the objective is at most 1 + accuracy times the optimum.
    class_weight : dict or "balanced", optional
        What C is multiplied by for each class; with ``margin="soft"``.
    kernel : {"linear", "poly", "rbf", "precomputed"} or function
    gamma : float, "scale" or "auto"
    degree : int
    coef0 : float
        As in scikit-learn's SVC.
    cache_size : float
        Megabytes for rows of kernel values that are kept, at most, for each binary subproblem that is trained at a
        time.
    fit_intercept : bool
        Whether a feature that is 1 is added; with ``kernel="rbf"``, which sees differences alone, it changes nothing.
    multi_class : {"ovr", "ovo"}
        How several classes are reduced to two: a binary subproblem for each class, or for each pair.
    n_jobs : int, optional
        How many binary subproblems are trained at a time, each on a thread.
    max_iter : int or None
        The most passes over the training rows, of each binary subproblem; None: no such bound, and ``margin="hard"`` on
        data that are not separable may have no end.
    max_seconds : float, optional
        After which training ends, compiling left out.
    random_state : int, RandomState or None
        Decides the order of the examples.
    verbose : int
        Above 0, progress is printed.
    probability : bool
        Whether there is `predict_proba`, by sigmoids fitted to scores of rows that did not train (Platt); `fit` then
        trains once more for each of five folds.
    """

    C: float = 1.0
    _: KW_ONLY
    kernel: str | KernelFunction = "linear"
    margin: str = "soft"
    tol: float = 1e-4
    accuracy: float = 1e-5
    max_iter: int | None = 10_000

    def _weighs_losses(self) -> bool:
        return self.margin == "soft"

    def _solver(self, n: int) -> Solver:  # noqa: ARG002
        return self._new_solver(
            "mpu", C=self.C, margin=self.margin, stop=self.tol, accuracy=self.accuracy, adaptive=True
        )


@dataclass(eq=False, repr=False)
class MarginPerceptronClassifier(MarginClassifier):
    """The margin perceptron (mpu-2010): the maximum margin of separable data.

    Parameters
    ----------
    accuracy : float
        At convergence the margin is at least 1 / (2 + accuracy) of the maximum.
    max_iter : int or None
        The most passes over the training rows, of each binary subproblem: most data that are not separable have no
        other end.
    kernel, gamma, degree, coef0, cache_size, fit_intercept, multi_class, n_jobs, max_seconds, random_state, verbose,
    probability
        As of `MPUClassifier`.
    """

    why_no_weights: ClassVar = "a hard margin has no losses to weigh"

    accuracy: float = 0.01
    _: KW_ONLY
    kernel: str | KernelFunction = "linear"
    max_iter: int | None = 1000

    def _solver(self, n: int) -> Solver:  # noqa: ARG002
        return self._new_solver("margin-perceptron", accuracy=self.accuracy)

    def __sklearn_tags__(self) -> Any:
        """Return what scikit-learn must know: of data that are not separable it learns little."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags


@dataclass(eq=False, repr=False)
class DCDClassifier(AugmentedClassifier, WeightedClassifier):
    """Dual coordinate descent for the linear L1-SVM (hsieh-2008), as LIBLINEAR has it.

    Parameters
    ----------
    C : float
        The weight of the losses.
    tol : float
        LIBLINEAR's epsilon: of the largest violation of the optimality conditions.
    gap : float
        Above 0, it ends when objective / dual objective - 1 is at most this, in place of ``tol``.
    max_iter : int or None
        The most passes over the training rows, of each binary subproblem; None: no such bound.
    class_weight : dict or "balanced", optional
        What C is multiplied by for each class. With ``multi_class="ovr"`` each row keeps the weight of its own class in
        every binary subproblem, where LIBLINEAR weighs the positive class alone.
    fit_intercept, multi_class, n_jobs, max_seconds, random_state, verbose, probability
        As of `MPUClassifier`.
    """

    bounds: ClassVar = "passes"

    C: float = 1.0
    _: KW_ONLY
    tol: float = 1e-3
    gap: float = 0.0
    max_iter: int | None = 10_000

    def _solver(self, n: int) -> Solver:  # noqa: ARG002
        return self._new_solver("dcd", C=self.C, tolerance=self.tol, stop=self.gap)


@dataclass(eq=False, repr=False)
class SVMPerfClassifier(AugmentedClassifier, WeightedClassifier):
    """Cutting planes for the linear L1-SVM (joachims-2006), as SVMperf has them.

    Parameters
    ----------
    C : float
        The weight of the losses.
    tol : float
        In per cent: at the end the objective is at most ``tol C n / 100`` above the optimum, n the sum of all weights.
    max_iter : int or None
        The most planes that are found, each by a pass over the training rows; None: no such bound.
    class_weight : dict or "balanced", optional
        What C is multiplied by for each class.
    fit_intercept, multi_class, n_jobs, max_seconds, verbose, probability
        As of `MPUClassifier`.
    random_state
        Nothing is random.
    """

    bounds: ClassVar = "passes"

    C: float = 1.0
    _: KW_ONLY
    tol: float = 0.1
    max_iter: int | None = 500

    def _solver(self, n: int) -> Solver:  # noqa: ARG002
        return self._new_solver("svmperf", C=self.C, tolerance=self.tol)

    def _is_near(self, measures: Measures, n: float) -> bool:
        return (
            measures.objective is not None
            and measures.dual_objective is not None
            and measures.objective - measures.dual_objective <= self.tol * self.C * n / 100
        )


@dataclass(eq=False, repr=False)
class PegasosClassifier(IncrementalClassifier, BatchKernelClassifier, AugmentedClassifier, WeightedClassifier):
    """Pegasos (shalev-shwartz-2007): sub-gradient steps on the L1-SVM; with a kernel as sbp-2012 runs it.

    `fit` minimises w.w/2 + C sum_i s_i max(0, 1 - y_i w.x_i), where s_i is the weight of row i: a step that a row takes
    is s_i times as long. There are no dual variables, and so no ``dual_gap_``: a fit warns where its objective is 10%
    above that of w = 0.

    Parameters
    ----------
    C : float
        The weight of the losses; lambda = 1 / (C n).
    max_iter : int
        Passes over the training rows.
    batch : int
        The examples of a step; with a kernel it is 1.
    class_weight : dict or "balanced", optional
        What C is multiplied by for each class; with `partial_fit` a dict.
    kernel, gamma, degree, coef0, cache_size, fit_intercept, multi_class, n_jobs, max_seconds, random_state, verbose,
    probability
        As of `MPUClassifier`.
    """

    C: float = 1.0
    _: KW_ONLY
    kernel: str | KernelFunction = "linear"
    max_iter: int = 100
    batch: int = 30

    def _solver(self, n: int) -> Solver:
        if self.kernel == "linear":
            return self._steps(n, self.max_iter)
        return self._new_solver("pegasos-kernel", regularization=regularization(self.C, n), passes=self.max_iter)

    def _steps(self, n: int, passes: int, before: int = 0) -> Pegasos:
        """Return the linear solver of so many passes over n rows, after the steps before."""
        batch = min(self.batch, n)
        iterations = before + passes * n // max(batch, 1)
        return cast("Pegasos", self._new_solver("pegasos", C=self.C, batch=batch, iterations=iterations))

    def _fit(self, X: Any, labels: NDArray[np.int32], weights: NDArray[np.float64] | None = None) -> None:
        self.__dict__.pop("_states", None)
        super()._fit(X, labels, weights)

    @available_if(lambda self: self.kernel == "linear")  # type: ignore[untyped-decorator]
    @as_it_was_if_refused
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Take the steps of one pass over these rows, drawn at random, after all that came before.

        With the same rows at every call it is `fit`, pass for pass. lambda is 1 / (C n) with the n rows of the first
        call: of a stream of n rows in pieces of m, C is that of `fit` times n / m. Several classes are told apart one
        against the rest. It begins anew after `fit`, with the same labels.

        Parameters
        ----------
        X : array or sparse matrix, shape (n, d)
        y : array of shape (n,)
        classes : array, optional
            All labels that will come; needed at the first call, but after `fit`.
        sample_weight : array of shape (n,), optional
            What the steps of each row are multiplied by.

        Raises
        ------
        ValueError
            If the first call names no classes, if a label is none of them, if weights are negative or not finite or
            need all rows, or if a parameter is not what it was when learning began.
        """
        begins = "_states" not in vars(self)
        if begins and classes is None:
            classes = vars(self).get("classes_")
        X, labels = self._checked_piece(X, y, classes, begins)
        if self.probability:
            raise ValueError("probability=True needs all rows: use fit, or scikit-learn's CalibratedClassifierCV")
        if self.class_weight == "balanced" or (self.multi_class == "ovo" and len(self.classes_) > 2):
            raise ValueError("class_weight='balanced' and multi_class='ovo' need all rows: use fit, or give others")
        weights = self._weights(X, labels, sample_weight)
        with as_value_error():
            whole = problem_of(self._augmented(rows_of(X)), labels, self._columns, self.classes_, weights)
            problem, seed, c = Pieces(**vars(whole)), self._seed(), len(self.classes_)
            parts: list[Problem] = [one_against_rest(problem, label) for label in range(c)] if c > 2 else [problem]
            if begins:
                solver = self._steps(problem.n, 1)
                self._states = [solver.start(part, Linear(), seed) for part in parts]
            else:
                solver = self._steps(problem.n, 1, before=int(self._states[0].counters[STEPS]))
                self._states = [solver.resumed(state, part) for state, part in zip(self._states, parts, strict=True)]
            for state in self._states:
                self._train(solver, state, Until(), Fit())
            self._keep(*self._summed(solver, problem), int(self._states[0].counters[PRESENTED]))
        self._states = [state.without_rows() for state in self._states]
        return self

    def _summed(self, solver: Pegasos, problem: Problem) -> tuple[Solver, Any]:
        """Return the solver and the state of all classes together."""
        if len(self._states) == 1:
            return solver, self._states[0]
        several = Multiclass(solver, "one-against-rest")
        whole = several.divided(problem, Linear(), 0)
        for state in self._states:
            several.add(whole, Subproblem(solver, state, int(state.counters[PRESENTED]), None).trained())
        return several, whole

    def _doubt(self, measures: Measures, stopped: bool, n: float) -> str:  # noqa: ARG002
        at_zero = self.C * n
        if measures.objective is None or measures.objective <= (1 + LARGE_GAP) * at_zero:
            return ""
        return f"its objective is {measures.objective:.3g}, where w = 0 has {at_zero:.3g}"
