"""What all classifiers have in common: from arrays to a problem, from a state to what scikit-learn calls fitted."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from concurrent.futures import CancelledError
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from mpu_bench.core import answers
from mpu_bench.core.clock import GETTING_READY
from mpu_bench.core.counters import KERNEL_EVALUATIONS, PRESENTED, UNLIMITED
from mpu_bench.core.models import FourierModel, KernelModel, LinearModel, Model, all_finite, finite_scores, labels_of
from mpu_bench.core.problem import Problem
from mpu_bench.core.rows import Dense, Rows, squared_norms, take
from mpu_bench.core.solver import Measures, Solver, Status, Until, types_of
from mpu_bench.core.voting import MulticlassModel
from mpu_bench.errors import OutOfRangeError
from mpu_bench.estimators.calibrated import Calibrated
from mpu_bench.estimators.expansions import coefficients_of, machines_of, weights_of
from mpu_bench.estimators.inputs import as_array, check_format, is_sparse, problem_of, rows_of, scales_of
from mpu_bench.estimators.parameters import (
    KnowsOldNames,
    as_it_was_if_refused,
    as_value_error,
    check_types,
    warn,
)
from mpu_bench.estimators.saving import saved_model
from mpu_bench.kernels import Kernel, Linear
from mpu_bench.kernels.precision import FAR, is_double_enough
from mpu_bench.preprocessing import Preprocessing
from mpu_bench.solvers import load
from mpu_bench.solvers.multiclass import Multiclass

_SLICE_SECONDS = 0.1  # between two looks at the clock and at Ctrl-C
_MAX_GROWTH = 8.0  # of a slice to the next; the first is one example
_LONGEST_SLICE = 1e12  # examples, or kernel values: one example may cost a row of them, or none
_FAR = "may be far from the optimum"
LARGE_GAP = 0.1  # `dual_gap_` above which a fit warns, however it ended
#: a solver's parameter -> what classifiers call it, the first that one has
_WORDS = {
    "tolerance": ("tol",), "stop": ("gap", "tol"), "passes": ("max_iter",), "iterations": ("max_iter",),
    "bias": ("fit_intercept",), "vectors": ("budget",), "cache_mb": ("cache_size",),
}  # fmt: skip
#: what a solver takes, for `validate_data`
ROWS = {"accept_sparse": "csr", "dtype": (np.float64, np.float32), "order": "C"}


class Fit:
    """A fit that is under way, on one thread or on several; compiling and loading code take none of its seconds.

    Parameters
    ----------
    max_seconds : float, optional
        After which it is over.
    """

    def __init__(self, max_seconds: float | None = None) -> None:
        self.cancelled = False  #: whether nobody waits for it any more
        self._limit = np.inf if max_seconds is None else float(max_seconds)
        self._began = time.perf_counter() - GETTING_READY.seconds

    @property
    def seconds(self) -> float:
        """Seconds since it began."""
        return time.perf_counter() - GETTING_READY.seconds - self._began

    @property
    def is_over(self) -> bool:
        """Whether its seconds are."""
        return self.seconds >= self._limit


@dataclass(eq=False, repr=False, kw_only=True)
class SolverClassifier(KnowsOldNames, Calibrated, ClassifierMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """A classifier that a solver of this project trains.

    Parameters
    ----------
    max_seconds : float, optional
        After which training ends, compiling left out.
    random_state : int, RandomState or None
        Decides what is random: mostly the order of the examples.
    verbose : int
        Above 0, progress is printed.

    Attributes
    ----------
    classes_ : array
        The labels, sorted.
    n_features_in_ : int
        d.
    n_iter_ : int
        Passes over the training rows, rounded up, or iterations: in the unit of ``max_iter``. Of several classes the
        most of a binary subproblem.
    kernel_evaluations_ : int
        Kernel values the algorithm has asked for.
    support_, n_support_ : array
        Which rows of X `support_vectors_` are, and how many of each class; of classifiers that are given all rows at
        once and keep some, and of others after a `fit` with kernel values by a matrix or a function. Of rows that are
        equal several classes name one, the first.
    dual_gap_ : float
        objective / dual objective - 1, where the solver certifies both: it bounds how far the objective is from the
        optimum. A fit that ends with one above 0.1, or before the solver's own end, warns (`ConvergenceWarning`).
    """

    #: what of a solver that comes to an end of its own ``max_iter`` bounds; None where the solver itself counts to it
    bounds: ClassVar[Literal["passes", "iterations"] | None] = None

    _is_sparsified = False  # whether `coef_` is sparse
    _mean_weight = 1.0  # of the rows of the last fit

    max_seconds: float | None = None
    random_state: Any = None
    verbose: int = 0

    @abstractmethod
    def _solver(self, n: int) -> Solver:
        """Return the solver with its parameters, for n examples."""

    def _kernel(self, X: Any) -> Kernel:  # noqa: ARG002
        return Linear()

    def _new_solver(self, solver: str | type[Solver], **parameters: Any) -> Solver:
        """Return a solver.

        Parameters
        ----------
        solver : str or subclass of Solver
            A name is of one of the project's.
        parameters
            Of the solver.

        Raises
        ------
        ValueError
            If a parameter is outside its range.
        """
        kind = load(solver) if isinstance(solver, str) else solver
        types = types_of(kind)
        converted = {key: float(value) if types[key] is float else value for key, value in parameters.items()}
        try:
            return kind(**converted)
        except OutOfRangeError as error:
            words = (error.parameter, *_WORDS.get(error.parameter, ()))
            word = next(word for word in words if hasattr(self, word))
            raise ValueError(f"{word} is {getattr(self, word)!r}; it must be {error.range}") from None

    @as_it_was_if_refused
    def fit(self, X: Any, y: Any) -> Self:
        """Train.

        Parameters
        ----------
        X : array or sparse matrix, shape (n, d)
            float32 or float64; anything else becomes float64. It is never written to.
        y : array of shape (n,)
            Labels: numbers or strings.

        Raises
        ------
        ValueError
            If X holds what is not finite, if y has one class only, or if a parameter is outside its range.
        """
        rows, labels = self._checked(X, y)
        self._fit(rows, labels)
        self._calibrate(X, labels)
        return self

    def _fit(self, X: Any, labels: NDArray[np.int32], weights: NDArray[np.float64] | None = None) -> None:
        with as_value_error():
            kernel, self._mean_weight = self._kernel(X), 1.0 if weights is None else float(weights.mean())
            problem = problem_of(self._augmented(rows_of(X)), labels, self._columns, self.classes_, weights)
            solver, state, stopped = self._trained(problem, kernel, self._seed())
            self._finish(solver, state, stopped, rows=problem.train, kernel=kernel, X=X)
        support = getattr(machines_of(self.model_), "support", None)
        if support is not None:
            self.support_ = support.astype(np.intp)
        if "support_" in vars(self):
            self.n_support_ = np.bincount(labels[self.support_], minlength=len(self.classes_))

    def _trained(self, problem: Problem, kernel: Kernel, seed: int) -> tuple[Solver, Any, str]:
        """Train a solver; return it, its state and what ended it (see `_train`)."""
        solver, run = self._solver(problem.n), self._run()
        with self._memory():
            state = solver.start(problem, kernel, seed)
        return solver, state, self._train(solver, state, Until(self._max_presented(problem.n)), run)

    def _memory(self) -> AbstractContextManager[None]:
        """Return the context in which a solver starts, which may limit its memory."""
        return nullcontext()

    def _run(self) -> Fit:
        if self.max_seconds is not None and not self.max_seconds > 0:
            raise ValueError(f"max_seconds is {self.max_seconds!r}; it must be above 0, or None")
        return Fit(self.max_seconds)

    def _max_presented(self, n: int) -> int:
        """Return how many examples a binary subproblem that has n may be presented at most."""
        limit: int | None = vars(self)["max_iter"] if self.bounds else None
        if limit is None:
            return UNLIMITED
        if not limit >= 1:
            raise ValueError(f"max_iter is {limit!r}; it must be at least 1")
        return min(int(limit) * (n if self.bounds == "passes" else 1), UNLIMITED)

    def _finish(self, solver: Solver, state: Any, stopped: str, *, rows: Rows, kernel: Kernel, X: Any) -> None:
        """Keep what is left of training; warn where that may not be what was wanted."""
        measures = self._keep(solver, state, X.shape[0])
        self._warn(solver, state, measures, stopped, X)
        longest = take(rows, np.argmax(squared_norms(rows), keepdims=True))
        of_angles = isinstance(machines_of(self.model_), FourierModel)
        if of_angles or measures.gap is None:
            self._warn_if_far(longest, kernel, of_angles)
        self._check_finite(all_finite(self.model_.scores(longest)), "its scores")

    def _checked(self, X: Any, y: Any) -> tuple[Any, NDArray[np.int32]]:
        """Return X as the solvers take it and labels as indices of `classes_`, which is set."""
        X, y = self._validated(X, y)
        self.classes_, labels = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"y has one class only, {self.classes_.tolist()[0]!r}; a classifier needs two")
        return X, labels.astype(np.int32)

    def _validated(self, X: Any, y: Any, begins: bool = True) -> tuple[Any, NDArray[Any]]:
        """Return X as the solvers take it and labels of one kind; where training begins, set how many features."""
        check_types(self)
        X, y = validate_data(self, X, y, **ROWS, reset=begins)
        check_format(X)
        if y.dtype == object and len({isinstance(label, str) for label in y}) > 1:
            raise ValueError(
                "y has words as labels, and others (numbers or None); give all as words, or all as numbers"
            )
        check_classification_targets(y)
        return X, y

    @property
    def _columns(self) -> int:
        return int(self.n_features_in_)

    def _augmented(self, rows: Rows) -> Rows:
        return rows

    def _seed(self) -> int:
        if isinstance(self.random_state, int | np.integer) and self.random_state >= 0:
            return int(self.random_state)
        try:
            return int(check_random_state(self.random_state).randint(2**31 - 1))
        except ValueError:
            raise ValueError(
                f"random_state is {self.random_state!r}; it must be a whole number from 0 on, a RandomState or None"
            ) from None

    def _train(self, solver: Solver, state: Any, end: Until, run: Fit) -> str:
        """Advance to an end, by slices: Ctrl-C is heard and the clock looked at between them.

        Returns
        -------
        str
            The name of the parameter that ended it; empty where the solver came to its own end.
        """
        counters = state.counters
        examples = values = 1.0  # of the next slice
        while not run.cancelled:
            slice_began = run.seconds
            presented, evaluated = int(counters[PRESENTED]), int(counters[KERNEL_EVALUATIONS])
            limit = min(end.presented, presented + int(examples))
            status = solver.advance(state, Until(limit, evaluated + int(values)))
            seconds = run.seconds
            if self.verbose:
                print(f"{type(self).__name__}: {counters[PRESENTED]:,} examples, {seconds:.1f} s")  # noqa: T201
            self._check_finite(status is not Status.DIVERGED, "a number")
            if status is Status.DONE:
                return ""
            if counters[PRESENTED] >= end.presented:
                return "max_iter"
            if run.is_over:
                return "max_seconds"
            share = _SLICE_SECONDS / max(seconds - slice_began, 1e-9)
            growth = min(_MAX_GROWTH, max(share, 1 / _MAX_GROWTH))
            examples = min(max(1.0, (counters[PRESENTED] - presented) * growth), _LONGEST_SLICE)
            # a kernel value takes no longer than an example that needed none
            values = min(max(examples, (counters[KERNEL_EVALUATIONS] - evaluated) * growth), _LONGEST_SLICE)
        raise CancelledError

    def _keep(self, solver: Solver, state: Any, n: int) -> Measures:
        """Set what is left of training, and return what the solver certifies of it."""
        for name in ("dual_gap_", "support_", "n_support_", "calibration_", "_is_sparsified"):  # of another fit
            self.__dict__.pop(name, None)
        self.model_ = solver.model(state)
        self._trained_with = {name: getattr(self, name) for name in _parameters_of(type(self))}
        self._check_finite(answers.is_finite(self.model_), "its model")
        problems = _binary_problems(solver, state, n)
        self.n_iter_ = max(1, *(count if self.bounds == "iterations" else -(-count // of) for count, of in problems))
        self.kernel_evaluations_ = int(state.counters[KERNEL_EVALUATIONS])
        measures = solver.measures(state)
        if measures.gap is not None:
            self.dual_gap_ = float(measures.gap)
        return measures

    def _check_finite(self, finite: bool, what: str) -> None:
        if not finite:
            raise ValueError(
                f"{type(self).__name__}: {what} is no longer finite; scale the features, as with StandardScaler"
            )

    def _warn(self, solver: Solver, state: Any, measures: Measures, stopped: str, X: Any) -> None:
        """Warn of what training did not reach, with what to do."""
        problems = _binary_problems(solver, state, X.shape[0])
        note = solver.note(state) if self.bounds else ""
        total = self._mean_weight * sum(n for _, n in problems)
        doubt = self._doubt(measures, bool(stopped or note), total)
        if not (stopped or doubt or note):
            return
        cure = self._cure(stopped, X, bool(note) or not self._is_near(measures, total)) if stopped or doubt else ""
        how = f"was stopped by {stopped} = {getattr(self, stopped)}, before its own end" if stopped else note or _FAR
        notes = [f"{type(self).__name__}{': ' if how == note else ' '}{how}"]
        if isinstance(solver, Multiclass) and (left := len(state.pairs) - len(problems)):
            notes.append(f"{left} of its binary subproblems did not begin, and have no vote")
        warn("; ".join(filter(None, [*notes, doubt, cure])))

    def _warn_if_far(self, rows: Rows, kernel: Kernel, of_angles: bool) -> None:
        """Warn where even double precision does not tell rows apart, by distances or by angles of Fourier features."""
        if not is_double_enough(rows, kernel, of_angles):
            warn(f"{type(self).__name__}: {FAR}; center the features, as with StandardScaler, or take a smaller gamma")

    def _is_near(self, measures: Measures, n: float) -> bool:  # noqa: ARG002
        """Return whether the model is as near the optimum as the solver's end promises, if rounding did not end it."""
        return True

    def _doubt(self, measures: Measures, stopped: bool, n: float) -> str:
        """Return what makes it doubtful that the model is near the optimum; empty where nothing does.

        Parameters
        ----------
        measures : Measures
        stopped : bool
            Whether it was before the solver's own end.
        n : float
            The examples of all binary subproblems, the sum of their weights.
        """
        if measures.dual_objective is not None and measures.gap is None:
            return "nothing bounds how far its objective is from the optimum"
        if measures.gap is not None and (stopped or measures.gap > LARGE_GAP or not self._is_near(measures, n)):
            return f"its gap is {measures.gap:.2g} (dual_gap_), which is 0 at the optimum"
        return ""

    def _weighs_losses(self) -> bool:
        """Return whether there is a C that has an effect."""
        return "C" in self.get_params()

    def _cure(self, stopped: str, X: Any, at_rounding: bool = False) -> str:
        """Return what to do, most likely, where training did not come near the optimum."""
        or_C = ", or take a smaller C" if self._weighs_losses() else ""
        if X is not None and (scales := scales_of(X)) is not None:
            scaler = "MaxAbsScaler" if is_sparse(X) else "StandardScaler"
            least, greatest = scales
            return (
                f"scale the features, as with {scaler} (their largest values are {least:.2g} to {greatest:.2g}){or_C}"
            )
        tolerance = "gap" if vars(self).get("gap") else "tol" if "tol" in self.get_params() else ""
        if stopped or at_rounding:
            return f"take a larger {' or '.join(filter(None, (stopped, tolerance)))}{or_C}"
        return f"take a {f'smaller {tolerance}' if tolerance else 'larger max_iter'}{or_C}"

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the scores: above zero for the second class, shape (n,), or of every class, shape (n, c).

        With ``multi_class="ovo"`` a class's score is its votes, with a part below 1/3 for their scores.
        """
        scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the label of every row, shape (n,)."""
        chosen = labels_of(self._scores(X))
        return np.asarray(self.classes_[chosen])

    def _scores(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self, "model_")
        X = validate_data(self, X, **ROWS, reset=False)
        check_format(X)
        with as_value_error():
            return finite_scores(self._scored(X))

    def _scored(self, X: Any) -> NDArray[np.float64]:
        """Return the scores of every row of what `validate_data` has let pass, shape (n, c)."""
        return self.model_.scores(self._as_trained()._augmented(rows_of(X)))

    def _as_trained(self) -> Self:
        """Return a classifier with the parameters of its fit: those set since hold from the next one on."""
        trained = object.__new__(type(self))
        trained.__dict__.update(vars(self), **vars(self).get("_trained_with", {}))
        return trained

    def save(self, path: str | Path, preprocessing: Preprocessing | None = None) -> None:
        """Write the fitted model to a file of data alone, which `mpu_bench.load` reads.

        Parameters
        ----------
        path : str or Path
            Such as ``model.mpu``; written whole or not at all.
        preprocessing : Table or Vectors, optional
            What was done to raw rows before they came here; the saved model then takes raw rows.

        Raises
        ------
        ValueError
            If the labels cannot be saved, or the preprocessing has other features.
        StoreError
            If the file cannot be written.
        """
        check_is_fitted(self, "model_")
        with as_value_error():
            saved_model(self, preprocessing).save(path)

    @property
    def coef_(self) -> Any:
        """The weights of the features, shape (1, d) for two classes, else one row a binary subproblem or class."""
        weights = weights_of(self._fitted("coef_"))
        if weights is None:
            raise AttributeError(f"{type(self).__name__} has coef_ with kernel='linear' only")
        weights = weights[:, : self.n_features_in_]
        return scipy.sparse.csr_matrix(weights) if self._is_sparsified else weights

    @property
    def intercept_(self) -> NDArray[np.float64]:
        """What is added to the scores, shape (1,) for two classes, else one number a binary subproblem or class."""
        model = self._fitted("intercept_")
        weights = weights_of(model)
        if weights is not None and weights.shape[1] > self.n_features_in_:
            return weights[:, self.n_features_in_]
        if isinstance(model, KernelModel):
            return np.full(model.coefficients.shape[1], model.bias)
        if isinstance(model, MulticlassModel) and not isinstance(model.machines, LinearModel):
            return model.machines.biases
        machines = machines_of(model)
        return np.full(len(machines.weights), machines.bias)

    @property
    def support_vectors_(self) -> Any:
        """The vectors that the model keeps, shape (m, d); sparse where the training rows are kept and were.

        With ``fit_intercept=True`` their shape is (m, d + 1), for the kernel is of rows with a last feature that is 1.
        """
        model = self._expansion("support_vectors_")
        return as_array(model.vectors, model.features)

    @property
    def dual_coef_(self) -> Any:
        """Their coefficients, with the signs of the labels; shape (1, m) for two classes; sparse where they are."""
        model = self._expansion("dual_coef_")
        coefficients = coefficients_of(model)
        return coefficients if isinstance(model.vectors, Dense) else scipy.sparse.csr_matrix(coefficients)

    def _expansion(self, name: str) -> Any:
        machines = machines_of(self._fitted(name))
        if isinstance(machines, LinearModel):
            raise AttributeError(f"{type(self).__name__} has no {name}: its model is linear")
        return machines

    def _fitted(self, name: str) -> Model:
        if "model_" not in vars(self):
            raise AttributeError(f"{type(self).__name__} has no {name} before it is fitted")
        model: Model = self.model_
        return model

    def __sklearn_tags__(self) -> Any:
        """Return what scikit-learn must know."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


@cache
def _parameters_of(kind: type) -> tuple[str, ...]:
    """Return the names of a classifier's parameters, which `get_params` finds anew each time."""
    return tuple(field.name for field in fields(kind))


def _binary_problems(solver: Solver, state: Any, n: int) -> list[tuple[int, int]]:
    """Return how many examples each binary subproblem that has begun was presented, and how many it has."""
    return solver.presented(state) if isinstance(solver, Multiclass) else [(int(state.counters[PRESENTED]), max(n, 1))]
