"""What some classifiers have beside `SolverClassifier`: several classes, an intercept, weights, a kernel."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, ClassVar, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import _check_sample_weight

from mpu_bench.core.problem import Problem
from mpu_bench.core.rows import Dense, Rows, with_constant
from mpu_bench.core.solver import Solver, Until
from mpu_bench.estimators.base import SolverClassifier
from mpu_bench.estimators.expansions import coefficients_of, kernel_of, machines_of, with_machines
from mpu_bench.estimators.inputs import rows_of
from mpu_bench.estimators.kernels import GivenValues, indices, is_precomputed, kernel_named
from mpu_bench.estimators.parameters import KernelFunction, as_it_was_if_refused, as_value_error, one_of, warn
from mpu_bench.kernels import Kernel, Precomputed
from mpu_bench.kernels.matrix import DEFAULT_CACHE_MB, limited
from mpu_bench.solvers.multiclass import Multiclass, Reduction, Trained

#: what `multi_class` may be -> what it is called in a config
REDUCTIONS: dict[str, Reduction] = {"ovr": "one-against-rest", "ovo": "one-against-one"}


@dataclass(eq=False, repr=False, kw_only=True)
class TwoClassClassifier(SolverClassifier):
    """A classifier whose solver separates two classes; several are reduced to binary subproblems.

    Parameters
    ----------
    multi_class : {"ovr", "ovo"}
        How several classes are reduced to two: a binary subproblem for each class, or for each pair.
    n_jobs : int, optional
        How many subproblems are trained at a time, each on a thread, as joblib counts; the model does not depend on it.
    """

    multi_class: str = "ovr"
    n_jobs: int | None = None

    def _trained(self, problem: Problem, kernel: Kernel, seed: int) -> tuple[Solver, Any, str]:
        """Train the solver, or for several classes one for each subproblem."""
        reduction = REDUCTIONS[one_of(REDUCTIONS, multi_class=self.multi_class)]
        if self.n_jobs == 0:
            raise ValueError("n_jobs is 0; it must be at least 1, or -1 for all processors, or None")
        if len(problem.classes) == 2:
            return super()._trained(problem, kernel, seed)
        solver, run = Multiclass(self._solver(problem.n), reduction), self._run()
        solver.check(problem, kernel)
        state = solver.divided(problem, kernel, seed)

        def train(number: int) -> tuple[Trained, str] | None:
            if number > 0 and run.is_over:
                return None
            with self._memory():
                subproblem = solver.subproblem(state, number, self._solver)
            end = Until(self._max_presented(subproblem.n))
            stopped = self._train(subproblem.solver, subproblem.state, end, run)
            return subproblem.trained(), stopped

        stops = []
        try:
            ended = Parallel(self.n_jobs, require="sharedmem")(map(delayed(train), range(len(state.pairs))))
        except BaseException:
            run.cancelled = True  # for those that other threads train
            raise
        for trained, stopped in takewhile(bool, ended):
            solver.add(state, trained)
            stops.append(stopped)
        return solver, state, max(stops)  # "max_seconds" before "max_iter" before none


@dataclass(eq=False, repr=False, kw_only=True)
class AugmentedClassifier(TwoClassClassifier):
    """A classifier without an intercept of its own.

    Parameters
    ----------
    fit_intercept : bool
        Whether a feature that is 1 is added to every row, in a copy.
    """

    fit_intercept: bool = True

    @property
    def _columns(self) -> int:
        return int(self.n_features_in_) + bool(self.fit_intercept)

    def _augmented(self, rows: Rows) -> Rows:
        return with_constant(rows, self.n_features_in_, 1.0) if self.fit_intercept else rows

    def sparsify(self) -> Self:
        """Let ``coef_`` be a CSR matrix until the next fit; scores stay as they are, from weights of all features."""
        self._fitted("coef_")
        self._is_sparsified = True
        return self

    def densify(self) -> Self:
        """Let ``coef_`` be an array again, as it is after every fit."""
        self._fitted("coef_")
        self._is_sparsified = False
        return self


@dataclass(eq=False, repr=False, kw_only=True)
class WeightedClassifier(SolverClassifier):
    """A classifier whose solver has a place for weights: C of an example is multiplied by its own.

    Parameters
    ----------
    class_weight : dict or "balanced", optional
        The weight of every class, 1 for one that is not named; ``"balanced"``: n / (classes x examples of the class),
        where rows with a ``sample_weight`` count by it.
    """

    class_weight: Any = None

    @as_it_was_if_refused
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train.

        Parameters
        ----------
        X : array or sparse matrix, shape (n, d)
            float32 or float64; anything else becomes float64. It is never written to.
        y : array of shape (n,)
            Labels: numbers or strings.
        sample_weight : array of shape (n,), optional
            What C is multiplied by for each row, besides the weight of its class; a row of weight 0 is left out.

        Raises
        ------
        ValueError
            As of `SolverClassifier.fit`, or if a weight is negative or not finite, or if all rows of a class have none.
        """
        rows, labels = self._checked(X, y)
        weights = self._weights(rows, labels, sample_weight)
        if weights is None or weights.all():
            self._fit(rows, labels, weights)
        else:
            self._fit_weighted(rows, labels, weights)
        self._calibrate(X, labels, sample_weight)
        return self

    def _fit_weighted(self, X: Any, labels: NDArray[np.int32], weights: NDArray[np.float64]) -> None:
        """Fit the rows that have a weight."""
        weighted = np.flatnonzero(weights)
        weightless = self.classes_[np.setdiff1d(labels, labels[weighted])]
        if len(weightless):
            raise ValueError(
                f"all rows of class {weightless[0]!s} have weight 0: weigh it, or leave it out of the data"
            )
        self._fit(X[weighted], labels[weighted], weights[weighted])
        if "support_" in vars(self):
            self.support_ = weighted[self.support_]

    def _weights(self, X: Any, labels: NDArray[np.int32], sample_weight: Any) -> NDArray[np.float64] | None:
        """Return the weight of every row, None where none is given; refuse what are none."""
        class_weight = self.class_weight  # arrays are compared element by element, so that `in` does not do
        if not (
            class_weight is None
            or isinstance(class_weight, Mapping)
            or (isinstance(class_weight, str) and class_weight == "balanced")
        ):
            raise ValueError(f"class_weight is {class_weight!r}; it must be 'balanced', a dict or None")
        if class_weight is None and sample_weight is None:
            return None
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if isinstance(class_weight, str):  # a row counts by its weight, so that one of weight 2 is as two rows
            counts = np.bincount(labels, weights, len(self.classes_))
            of_class = counts.sum() / (len(counts) * np.where(counts > 0, counts, 1.0))
        else:
            of_class = compute_class_weight(class_weight, classes=self.classes_, y=self.classes_[labels])
        if not (np.isfinite(of_class).all() and (of_class >= 0).all()):
            raise ValueError(f"class_weight is {class_weight!r}; every weight must be finite and at least 0")
        weights = np.asarray(weights * of_class[labels])
        if not len(weights) * float(weights.max()) < np.inf:
            raise ValueError("the weights of the rows, times those of their classes, are too large; give smaller ones")
        return weights


@dataclass(eq=False, repr=False, kw_only=True)
class KernelClassifier(SolverClassifier):
    """A classifier with a kernel, by scikit-learn's words.

    Parameters
    ----------
    kernel : {"linear", "poly", "rbf", "precomputed"} or function
        ``"precomputed"``: X is the kernel matrix, (n, n) for `fit` and for others their values with all n training
        rows. A function ``kernel(X, Y)`` returns the values of the rows of X with those of Y. `partial_fit`, `save` and
        exports have neither.
    gamma : float, "scale" or "auto"
    degree : int
    coef0 : float
        As in scikit-learn's SVC.
    """

    certified: ClassVar = False  #: whether it matters that the kernel is positive semidefinite

    kernel: str | KernelFunction = "rbf"
    gamma: float | str = "scale"
    degree: int = 3
    coef0: float = 0.0

    def _checked(self, X: Any, y: Any) -> tuple[Any, NDArray[np.int32]]:
        """Return X and the labels; of given kernel values the indices of the rows stand for X."""
        X, labels = super()._checked(X, y)
        self.__dict__.pop("_given", None)  # of another fit
        if not is_precomputed(self.kernel):
            return X, labels
        with as_value_error():
            offset = float(super()._columns > self.n_features_in_)  # what a feature that is 1 adds to each value
            self._given = GivenValues.of_training_rows(self.kernel, X, offset, self.certified)
        return indices(len(labels), self._given.kernel.matrix.dtype), labels

    def _kernel(self, X: Any) -> Kernel:
        if isinstance(self.kernel, str) and not is_precomputed(self.kernel):
            return kernel_named(self.kernel, self.gamma, X, self.degree, self.coef0)
        return self._given.kernel

    @property
    def _columns(self) -> int:
        return 1 if is_precomputed(self.kernel) else super()._columns

    def _augmented(self, rows: Rows) -> Rows:
        return rows if is_precomputed(self.kernel) else super()._augmented(rows)

    def _cure(self, stopped: str, X: Any, at_rounding: bool = False) -> str:
        return super()._cure(stopped, self._given.rows if is_precomputed(self.kernel) else X, at_rounding)

    def _finish(self, solver: Solver, state: Any, stopped: str, *, rows: Rows, kernel: Kernel, X: Any) -> None:
        super()._finish(solver, state, stopped, rows=rows, kernel=kernel, X=X)
        if self.certified and not kernel.positive_semidefinite:
            which = (
                "the kernel matrix"
                if is_precomputed(self.kernel)
                else f"kernel={self.kernel!r} with coef0={self.coef0}"
            )
            warn(f"{type(self).__name__}: {which} is not positive semidefinite; no dual_gap_ certifies the model")
        if is_precomputed(self.kernel):
            vectors = machines_of(self.model_).vectors.values
            self.support_ = np.searchsorted(X[:, 0], vectors[:, 0])  # X has the indices of those with a weight
            self._given = self._given.of_vectors(vectors[:, 0].astype(np.intp))
            row_indices = vectors if self._given.rows is None else indices(len(vectors), vectors.dtype)
            self.model_ = with_machines(self.model_, kernel=self._given.kernel, vectors=Dense(row_indices))

    def _scored(self, X: Any) -> NDArray[np.float64]:
        if not isinstance(kernel_of(self.model_), Precomputed):
            return super()._scored(X)
        with as_value_error():
            kernel = self._given.kernel_of(X)
        return with_machines(self.model_, kernel=kernel).scores(rows_of(indices(X.shape[0], kernel.matrix.dtype)))

    @property
    def support_vectors_(self) -> Any:
        """The vectors that the model keeps, shape (m, d); sparse where the training rows are kept and were.

        With ``fit_intercept=True`` of linear solvers their shape is (m, d + 1), for the kernel is of rows with a last
        feature that is 1. With ``kernel="precomputed"`` there are none, shape (0, 0): ``support_`` has their indices.
        """
        if isinstance(kernel_of(self._fitted("support_vectors_")), Precomputed):
            return np.zeros((0, 0)) if self._given.rows is None else self._given.rows
        return super().support_vectors_

    @property
    def intercept_(self) -> NDArray[np.float64]:
        """What is added to the scores, shape (1,) for two classes, else one number for each subproblem or class."""
        model = self._fitted("intercept_")
        intercepts = super().intercept_
        if not isinstance(kernel := kernel_of(model), Precomputed):
            return intercepts
        return np.asarray(intercepts + kernel.offset * coefficients_of(machines_of(model)).sum(axis=1))

    def __sklearn_tags__(self) -> Any:
        """Return what scikit-learn must know: a kernel matrix is split by rows and columns."""
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = isinstance(self.kernel, str) and self.kernel == "precomputed"
        tags.input_tags.sparse = not tags.input_tags.pairwise
        return tags


@dataclass(eq=False, repr=False, kw_only=True)
class BatchKernelClassifier(KernelClassifier):
    """A classifier with a kernel that keeps rows of kernel values.

    Parameters
    ----------
    cache_size : float
        Megabytes for them at most, for each subproblem that is trained at a time. Nothing but seconds depends on it.
    """

    certified: ClassVar = True

    cache_size: float = DEFAULT_CACHE_MB

    def _memory(self) -> AbstractContextManager[None]:
        if not 0 < self.cache_size < np.inf:
            raise ValueError(f"cache_size is {self.cache_size!r}; it must be above 0 and finite")
        return limited(int(self.cache_size * 2**20))
