"""The online solvers as classifiers: ``partial_fit`` learns row after row, in the order they come.

``fit`` is one pass in the order given, unless ``max_iter`` or ``shuffle`` says otherwise: so that rows given in pieces,
however they are cut, leave the same model as all at once.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self, cast

import numpy as np
import psutil
from numpy.typing import NDArray

from mpu_bench.core.counters import PRESENTED
from mpu_bench.core.problem import Problem
from mpu_bench.core.rows import Rows, any_rows, take
from mpu_bench.core.solver import Until
from mpu_bench.core.stream import Chunk, Stream
from mpu_bench.errors import DataError, UserError
from mpu_bench.estimators.base import Fit
from mpu_bench.estimators.inputs import problem_of, rows_of
from mpu_bench.estimators.kernels import is_precomputed
from mpu_bench.estimators.mixins import KernelClassifier
from mpu_bench.estimators.parameters import as_it_was_if_refused, as_value_error, one_of
from mpu_bench.estimators.pieces import IncrementalClassifier, Pieces, with_arrays
from mpu_bench.kernels import Kernel
from mpu_bench.kernels.precision import is_single_enough
from mpu_bench.models.probabilities import RecentScores
from mpu_bench.solvers.online.online import OnlineSolver, functions_for
from mpu_bench.solvers.online.sparseness import Sparseness

#: beside its coefficients, that a slot of a budget has, in use or not: what the system promises may end the process
_NUMBERS_A_SLOT = 3
_REGULARIZATION_OF_STREAMS = 0.01  # Pegasos' lambda where nobody knows how many rows will come


class InOrder:
    """Rows in the order given, pass after pass; stands for a `Stream`.

    Parameters
    ----------
    problem : Problem
        The rows.
    presented : int
        How many examples have been presented before.
    """

    def __init__(self, problem: Problem, presented: int = 0) -> None:
        self.length = presented + problem.n  #: examples a pass
        self._begins = presented
        order = np.arange(problem.n, dtype=np.uint32)
        self._chunk = Chunk(any_rows(problem.train), problem.labels, order, 0)

    def at(self, presented: int) -> tuple[Chunk, int]:
        """Return the rows, and the position of the one to be presented next."""
        return self._chunk, (presented - self._begins) % len(self._chunk.order)


@dataclass(eq=False, repr=False, kw_only=True)
class OnlineClassifier(IncrementalClassifier, KernelClassifier):
    """A classifier that learns row by row; it keeps no rows but the vectors of its model.

    Parameters
    ----------
    gamma : float, "scale" or "auto"
        ``"scale"`` with `partial_fit` is of the rows of the first call.
    max_iter : int
        Passes of `fit`.
    shuffle : bool
        Whether `fit` presents the rows in a random order, another one each pass.
    """

    #: parameters whose value is searched by passes over all rows
    of_all_rows: ClassVar[tuple[str, ...]] = ()
    why_no_weights: ClassVar[str] = "it learns row by row, by steps that take all rows alike"

    max_iter: int = 1
    shuffle: bool = False

    @abstractmethod
    def _solver(self, n: int, passes: int = 1) -> OnlineSolver:
        """Return the solver with its parameters, for n rows (0: not known) and so many passes."""

    def _online(self, name: str, **parameters: Any) -> OnlineSolver:
        """Return an online solver of the project; raise as of `_new_solver`."""
        return cast("OnlineSolver", self._new_solver(name, **parameters))

    def _fit(self, X: Any, labels: NDArray[np.int32], weights: NDArray[np.float64] | None = None) -> None:
        super()._fit(X, labels, weights)
        self._let_go_of_rows()
        if is_precomputed(self.kernel):
            del self._state  # of rows whose kernel values with others are not known

    def _trained(self, problem: Problem, kernel: Kernel, seed: int) -> tuple[OnlineSolver, Any, str]:
        """Forget everything and learn from these rows."""
        solver, run = self._solver(problem.n, self.max_iter), self._run()
        state = self._started_in_memory(solver, problem, kernel, seed)
        solver.refuse_overflow(state, problem.train)
        state.stream = Stream(problem, seed) if self.shuffle or self._needs_all else InOrder(problem)
        stopped = self._train(solver, state, Until(), run)
        self._state = state
        return solver, state, stopped

    @as_it_was_if_refused
    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Learn from these rows, once each and in their order, after all that came before.

        Parameters
        ----------
        X : array or sparse matrix, shape (n, d)
        y : array of shape (n,)
        classes : array, optional
            All labels that will come; needed at the first call.

        Raises
        ------
        ValueError
            If the first call names no classes, if a label is none of them, if a parameter can only be found from all
            rows, if kernel values are given, or if a parameter is not what it was when learning began.
        KeyboardInterrupt
            Rows that were learned before it stay learned, and the next call's model is of them, too; but none of the
            first call, or of one whose rows are the first to need double precision.
        """
        self._refuse_what_needs_all()
        begins = "_state" not in vars(self)
        X, labels = self._checked_piece(X, y, classes, begins)
        with as_value_error():
            solver = self._solver(0)  # however many rows this piece has
            if begins:
                self.begin(solver, X)
            self.learn(solver, rows_of(X), labels)
            self.keep_learned(solver)
        return self

    def keep_learned(self, solver: OnlineSolver) -> None:
        """Make the model of all that was learned that of the classifier, with its probabilities."""
        self._keep(solver, self._state, int(self._state.counters[PRESENTED]))
        if self.probability:
            self.calibration_ = self._recent.sigmoids

    def begin(self, solver: OnlineSolver, X: Any) -> None:
        """Start with nothing learned, for rows as wide as X; ``classes_`` and ``n_features_in_`` are set.

        Raises
        ------
        ValueError
            If a parameter can only be found from all rows, or if there is no memory for so many vectors.
        DataError
            If a row is so long that a kernel value may not be finite.
        """
        self._refuse_what_needs_all()
        nothing = problem_of(rows_of(X), np.zeros(X.shape[0], np.int32), self.n_features_in_, self.classes_)
        state = self._started_in_memory(solver, nothing, self._kernel(X), self._seed())
        solver.refuse_overflow(state, nothing.train)
        self._state = state
        if self.probability:
            self._recent = RecentScores(functions_for(len(self.classes_)))
        self._let_go_of_rows()

    def learn(self, solver: OnlineSolver, rows: Rows, labels: NDArray[np.int32]) -> NDArray[np.float64]:
        """Present rows, once each and in their order; ``model_`` is left as it was.

        With ``probability`` return the scores of each row before it was learned, shape (n, c), else none.

        Parameters
        ----------
        solver : OnlineSolver
        rows : Rows
        labels : array of int32, shape (n,)
            Indices of ``classes_``.

        Raises
        ------
        DataError
            If a row is so long that a kernel value may not be finite; nothing is learned then. If a row can be learned
            in part only, as where projections fail; nothing more can be learned then.
        """
        state = self._precise_enough(solver, rows)
        if getattr(state, "is_broken", False):
            raise DataError("an error ended learning within a row; start over with fit, or with a new classifier")
        self._state, presented = state, int(state.counters[PRESENTED])
        state.stream = InOrder(problem_of(rows, labels, self.n_features_in_, self.classes_), presented)
        scores = np.zeros((len(labels) if self.probability else 0, functions_for(len(self.classes_))))
        is_averaged = getattr(solver, "average", False)  # and the model is not the hypothesis that is presented rows
        try:
            for index in range(len(scores)):
                if is_averaged:
                    scores[index] = solver.model(state).scores(take(rows, np.array([index])))[0]
                solver.advance(state, Until(presented + index + 1))
                if not is_averaged:
                    scores[index] = state.hypothesis.scores
                self._recent.add(scores[index], labels[index])
            if not self.probability:
                self._train(solver, state, Until(), Fit())
        except UserError:
            state.is_broken = True
            raise
        finally:
            self._let_go_of_rows()
        return scores

    def _fit_sigmoids(self, scores: Any, labels: Any, weights: Any) -> None:
        """Fit the sigmoids; those of `partial_fit` go on from the last of these scores."""
        super()._fit_sigmoids(scores, labels, weights)
        self._recent = RecentScores(scores.shape[1])
        for score, label in zip(scores, labels, strict=True):
            self._recent.add(score, label)

    def _refuse_what_needs_all(self) -> None:
        if is_precomputed(self.kernel):
            raise ValueError(
                f"{type(self).__name__}.partial_fit: kernel is {self.kernel!r}, whose values with rows to come are not "
                "known; use fit, or give a kernel by name"
            )
        if self._needs_all:
            raise ValueError(f"{type(self).__name__}: a budget is reached by a search over all rows; give eta")

    @property
    def _needs_all(self) -> bool:
        """Whether something is found by a search over all rows."""
        return any(getattr(self, name) is not None for name in self.of_all_rows)

    def _started_in_memory(self, solver: OnlineSolver, problem: Problem, kernel: Kernel, seed: int) -> Any:
        budget, a_slot = vars(self).get("budget"), 8 * (functions_for(len(self.classes_)) + _NUMBERS_A_SLOT)
        try:
            if budget is not None and a_slot * int(budget) > psutil.virtual_memory().available:
                raise MemoryError
            return self._started(solver, problem, kernel, seed)
        except MemoryError as error:
            if budget is None:
                raise
            raise ValueError(f"budget is {budget}; too many for the memory of this machine; choose fewer") from error

    def _started(self, solver: OnlineSolver, problem: Problem, kernel: Kernel, seed: int) -> Any:
        return solver.start(Pieces(**vars(problem)), kernel, seed)

    def _precise_enough(self, solver: OnlineSolver, rows: Rows) -> Any:
        """Return the state, in double precision where single would not tell rows apart; warn where double would not.

        Refuses rows as `OnlineSolver.refuse_overflow` does, before it warns.
        """
        state, is_enough = self._state, is_single_enough(rows, self._state.kernel)
        numbers = getattr(state.hypothesis, "kernel_row", None)
        if not is_enough and numbers is not None and numbers.dtype == np.float32:
            state = with_arrays(  # all copied: should learning fail, the state before is whole
                state, lambda array: array.astype(np.float64 if array.dtype == np.float32 else array.dtype)
            )
        solver.refuse_overflow(state, rows)
        if not is_enough:
            self._warn_if_far(rows, state.kernel, of_angles=numbers is None)
        return state

    def _let_go_of_rows(self) -> None:
        """Keep nothing of the rows presented but the vectors of the model."""
        self._state.stream = None
        if hasattr(self._state, "slots"):
            self._state.slots = np.zeros(0, np.int32)  # of rows that do not come again


@dataclass(eq=False, repr=False)
class PerceptronClassifier(OnlineClassifier):
    """The kernel Perceptron, which keeps every row that it errs on.

    Parameters
    ----------
    max_iter : int
        Passes of `fit`.
    shuffle : bool
        Whether `fit` presents the rows in a random order, another one each pass.
    kernel : {"linear", "poly", "rbf", "precomputed"} or function
    gamma : float, "scale" or "auto"
    degree : int
    coef0 : float
        As in scikit-learn's SVC; ``"scale"`` with `partial_fit` is of the rows of the first call.
    precision : {"single", "double"}
        Of kernel values; double from the rows on that are too far from the origin for single to tell them apart.
    max_seconds : float, optional
        After which `fit` ends, compiling left out.
    random_state : int, RandomState or None
    verbose : int
        Above 0, progress is printed.
    probability : bool
        Whether there is `predict_proba`, by sigmoids fitted to scores of rows that did not train (Platt). `fit` then
        trains once more for each of five folds; `partial_fit` takes the last 500 scores, each of a row before it was
        learned.
    """

    _: KW_ONLY
    precision: str = "single"

    def _solver(self, n: int, passes: int = 1) -> OnlineSolver:  # noqa: ARG002
        return self._online("perceptron", passes=passes, precision=self.precision)


@dataclass(eq=False, repr=False)
class ForgetronClassifier(OnlineClassifier):
    """The Forgetron (forgetron-2005): a Perceptron of at most so many vectors, with a bound on its mistakes.

    Parameters
    ----------
    budget : int
        How many support vectors it may keep; with more than two classes that of each class.
    max_iter, shuffle, kernel, gamma, degree, coef0, precision, max_seconds, random_state, verbose, probability
        As of `PerceptronClassifier`.
    """

    budget: int = 100
    _: KW_ONLY
    precision: str = "single"

    def _solver(self, n: int, passes: int = 1) -> OnlineSolver:  # noqa: ARG002
        return self._online("forgetron", vectors=self.budget, passes=passes, precision=self.precision)


@dataclass(eq=False, repr=False)
class BudgetPerceptronClassifier(OnlineClassifier):
    """A Perceptron of at most so many vectors, of which one leaves for a new one.

    Parameters
    ----------
    budget : int
        How many support vectors it may keep; with more than two classes that of each class.
    removal : {"cks", "oldest", "random"}
        Who leaves: the vector with the largest margin without itself (Crammer, Kandola, Singer), the oldest, or any.
    max_iter, shuffle, kernel, gamma, degree, coef0, precision, max_seconds, random_state, verbose, probability
        As of `PerceptronClassifier`.
    """

    budget: int = 100
    _: KW_ONLY
    removal: str = "cks"
    precision: str = "single"

    def _solver(self, n: int, passes: int = 1) -> OnlineSolver:  # noqa: ARG002
        names = {"cks": "cks", "oldest": "perceptron-oldest", "random": "perceptron-random"}
        name = names[one_of(names, removal=self.removal)]
        return self._online(name, vectors=self.budget, passes=passes, precision=self.precision)


@dataclass(eq=False, repr=False)
class ProjectronClassifier(OnlineClassifier):
    """Projectron++ (orabona-2009, as bpegasos-2010 runs it): what is near the span of the vectors is projected on it.

    Parameters
    ----------
    eta : float
        The largest squared distance from the span at which a row is projected.
    budget : int, optional
        In place of ``eta``: the eta is searched with which so many vectors are stored, by passes over all rows, which
        are shuffled and which `max_seconds` does not end; not for `partial_fit`.
    max_iter, shuffle, kernel, gamma, degree, coef0, max_seconds, random_state, verbose, probability
        As of `PerceptronClassifier`.
    """

    of_all_rows: ClassVar = ("budget",)

    eta: float = 0.1
    _: KW_ONLY
    budget: int | None = None

    def _solver(self, n: int, passes: int = 1) -> OnlineSolver:  # noqa: ARG002
        sparseness = {"eta": self.eta} if self.budget is None else {"vectors": self.budget}
        return self._online("projectron++", passes=passes, **sparseness)

    def _started(self, solver: OnlineSolver, problem: Problem, kernel: Kernel, seed: int) -> Any:
        if self._needs_all:
            return solver.start(problem, kernel, seed)
        state = super()._started(solver, problem, kernel, seed)
        eta = float(self.eta)
        state.sparseness = Sparseness(eta, 0.0, eta)  # not by the largest K(x, x) of the rows at hand
        return state


@dataclass(eq=False, repr=False)
class BudgetedPegasosClassifier(OnlineClassifier):
    """Multi-class Pegasos on a budget (bpegasos-2010).

    Parameters
    ----------
    budget : int or None
        The budget; None keeps every vector.
    maintenance : {"merging", "projection", "smallest", "random"}
        What is done with a vector too many; merging needs ``kernel="rbf"``.
    regularization : float, optional
        lambda. By default 1 / n with `fit`; with `partial_fit`, which does not know how many rows will come, 0.01: give
        1e-4 for streams of 10,000 rows or more. The smaller it is, the longer the last rows decide alone.
    average : bool
        Whether the model is the average of the hypotheses after every step; with merging and projection.
    max_iter, shuffle, kernel, gamma, degree, coef0, precision, max_seconds, random_state, verbose, probability
        As of `PerceptronClassifier`.
    """

    budget: int | None = 100
    _: KW_ONLY
    maintenance: str = "merging"
    regularization: float | None = None
    average: bool = False
    precision: str = "single"

    def _solver(self, n: int, passes: int = 1) -> OnlineSolver:
        regularization = self.regularization
        if regularization is None:
            regularization = 1.0 / n if n else _REGULARIZATION_OF_STREAMS
        common = {
            "regularization": regularization, "average": bool(self.average), "passes": passes,
            "precision": self.precision,
        }  # fmt: skip
        if self.budget is None:
            return self._online("pegasos-multiclass", **common)
        return self._online("bpegasos", vectors=self.budget, maintenance=self.maintenance, **common)
