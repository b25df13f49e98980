"""What the online solvers have in common: predict, then learn, one example after the other, pass after pass."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from annotated_types import Ge
from numpy.typing import NDArray

from mpu_bench.core.buffers import grown
from mpu_bench.core.counters import KERNEL_COMPUTED, KERNEL_EVALUATIONS, PRESENTED, reached
from mpu_bench.core.jit import jit
from mpu_bench.core.models import KernelModel
from mpu_bench.core.prefetch import prefetch
from mpu_bench.core.problem import Problem
from mpu_bench.core.rows import Rows, prefetch_row, row_length
from mpu_bench.core.solver import Kernels, Measures, Solver, Status, Until
from mpu_bench.core.stream import Chunk, Stream
from mpu_bench.core.vectors import (
    Vectors,
    enlarged,
    has_free_entries,
    kernel_values,
    new_vectors_for,
    quantum_of,
    rows_of,
    weighted_sum,
    with_free_entries,
)
from mpu_bench.errors import DataError
from mpu_bench.kernels import Kernel
from mpu_bench.kernels.matrix import checked_norms
from mpu_bench.kernels.precision import Precision

_PREFETCH_DISTANCE = 8  # examples


class Hypothesis(NamedTuple):
    """Slots for support vectors x_j, and c functions of them: ``f_c(x) = sum_j coefficients_cj K(x_j, x)``."""

    vectors: Vectors
    coefficients: NDArray[np.float64]  #: (c, capacity)
    kernel_row: NDArray[np.floating[Any]]  #: (capacity,) K(x_j, x) of the example presented
    scores: NDArray[np.float64]  #: (c,) its f_c(x)


def new_hypothesis(problem: Problem, capacity: int, precision: Precision, quantised: bool = False) -> Hypothesis:
    """Return f = 0 with so many slots for rows of a problem, quantised if they all have a quantum and are all there."""
    functions = functions_for(len(problem.classes))
    quantum = quantum_of(problem.train) if quantised and problem.blocks == 1 else 0.0
    vectors = new_vectors_for(problem.train, problem.features, capacity, precision, quantum)
    kernel_row = np.zeros_like(vectors.squared_norms)
    return Hypothesis(vectors, np.zeros((functions, capacity)), kernel_row, np.zeros(functions))


def functions_for(classes: int) -> int:
    """Return how many functions separate so many classes: one separates two, else there is one per class."""
    return 1 if classes == 2 else classes


@jit
def has_room(f, rows, i):
    """Return whether there is room for all that a row may leave: a slot, and entries where vectors are kept sparse."""
    has_entries = has_free_entries(f.vectors, row_length(rows, i), len(f.scores))
    return has_entries and f.vectors.size[0] < len(f.kernel_row)


def with_room(f: Hypothesis, chunk: Chunk, position: int) -> Hypothesis:
    """Return a hypothesis with room for the example at this position, with twice as many slots where all are taken."""
    if f.vectors.size[0] == len(f.kernel_row):
        f = with_doubled_capacity(f)
    if len(f.vectors.entries.spread):
        length = int(row_length(chunk.rows, chunk.order[position]))
        f = f._replace(vectors=with_free_entries(f.vectors, length, len(f.scores)))
    return f


def with_doubled_capacity(f: Hypothesis) -> Hypothesis:
    """Return a hypothesis with twice as many slots."""
    capacity = 2 * len(f.kernel_row)
    return f._replace(
        vectors=enlarged(f.vectors, capacity),
        coefficients=grown(f.coefficients, len(f.coefficients), capacity),
        kernel_row=grown(f.kernel_row, capacity),
    )


def model_of(f: Hypothesis, kernel: Kernel, slots: NDArray[np.int64] | None = None) -> KernelModel:
    """Return the expansion over the vectors in some slots, all that are taken by default."""
    slots = np.arange(f.vectors.size[0]) if slots is None else slots
    return KernelModel(rows_of(f.vectors, slots), f.coefficients[:, slots].T.copy(), kernel, len(f.vectors.indices))


@dataclass
class OnlineState:
    """What an online solver works on."""

    stream: Stream
    kernel: Kernel
    hypothesis: Any  #: mostly a `Hypothesis`; what else has ``scores``
    errors: NDArray[np.int64]  #: (1,)
    counters: NDArray[np.int64]


@dataclass(frozen=True)
class OnlineSolver(Solver):
    """An online solver; it works on an `OnlineState`."""

    kernels: ClassVar[Kernels] = "any"
    classes: ClassVar = "any"
    online: ClassVar = True
    ends: ClassVar = True
    changes_by_updates: ClassVar[bool] = False  #: whether scores stay as they are where no update is counted

    passes: Annotated[int, Ge(1)] = 1

    def advance(self, state: Any, until: Until) -> Status:
        """Present further examples."""
        counters, total = state.counters, self.passes * state.stream.length
        until = Until(min(until.presented, total), until.kernel_evaluations)
        while not reached(counters, until) and not self.ended(state):
            self.present_next(state, until)
        return Status.DONE if counters[PRESENTED] == total or self.ended(state) else Status.RUNNING

    def present_next(self, state: Any, until: Until) -> None:
        """Present some of the examples that come next.

        Raises
        ------
        DataError
            If a score is not finite.
        """
        chunk, position = state.stream.at(int(state.counters[PRESENTED]))
        self.present(state, chunk, position, until)
        if not np.isfinite(state.hypothesis.scores).all():
            raise DataError(
                f"a score is not finite: values of the kernel {state.kernel}, or coefficients, are too large for the"
                " precision of kernel values; scale the features down, or take normalize: true or more regularization"
            )

    def refuse_overflow(self, state: Any, rows: Rows) -> None:
        """Refuse rows of which a kernel value may not be finite in the precision of a state.

        Raises
        ------
        DataError
            As of `kernels.matrix.checked_norms`.
        """
        checked_norms(rows, state.kernel, state.hypothesis.kernel_row.dtype)

    def ended(self, state: Any) -> bool:  # noqa: ARG002
        """Return whether the run ends before all examples have been presented."""
        return False

    @abstractmethod
    def present(self, state: Any, chunk: Chunk, position: int, until: Until) -> None:
        """Present the examples ``chunk.order[position:]``, or fewer.

        Parameters
        ----------
        state : as `start` made it
        chunk : Chunk
        position : int
        until : Until
            Where to stop. Whoever needs more slots for vectors adds them here and may return earlier.
        """

    def model(self, state: Any) -> KernelModel:
        """Return the expansion over the stored vectors."""
        return model_of(state.hypothesis, state.kernel)

    def measures(self, state: Any) -> Measures:
        """Return the wrong predictions / examples seen."""
        presented = int(state.counters[PRESENTED])
        return Measures(online_error=int(state.errors[0]) / presented if presented else None)


@jit(inline="always")
def next_example(chunk, position):
    """Return which row is presented, and prefetch one of a few positions later: in random order each misses a cache."""
    soon = chunk.order[min(position + _PREFETCH_DISTANCE, len(chunk.order) - 1)]
    prefetch_row(chunk.rows, soon)
    prefetch(chunk.labels, soon)
    return chunk.order[position]


@jit(inline="always")
def score_example(f, kernel, rows, i, m, scale):
    """Compute the kernel row of an example with all vectors, and its scores, ``scale`` times sums over the first m."""
    kernel_values(f.vectors, kernel, rows, i, f.kernel_row)
    for c in range(len(f.scores)):
        f.scores[c] = scale * weighted_sum(f.coefficients[c, :m], f.kernel_row)


@jit(inline="always")
def predict(scores, label, requested, computed, errors, counters):
    """Count an example that has been scored, and whether it is an error.

    Parameters
    ----------
    scores : array of float64, shape (c,)
    label : int32
    requested, computed : integer
        Kernel values.
    errors, counters : array of int64

    Returns
    -------
    rival : integer
        The best wrong class.
    ahead : float
        By how much the class is ahead of it; NaN, and nothing is counted, where a score is not finite.
    """
    rival, ahead = best_wrong(scores, label), np.nan
    if all_finite(scores):
        ahead = margin(scores, label, rival)
        counters[PRESENTED] += 1
        counters[KERNEL_EVALUATIONS] += requested
        counters[KERNEL_COMPUTED] += computed
        errors[0] += ahead <= 0.0
    return rival, ahead


@jit
def all_finite(scores):
    """Return whether all scores are numbers."""
    finite = True
    for c in range(len(scores)):
        finite &= np.isfinite(scores[c])
    return finite


@jit
def sign_for(c, label, scores):
    """Return y = +-1 of an example for the c-th function: whether it is of its class, for two classes the second."""
    return 1.0 if label == (1 if len(scores) == 1 else c) else -1.0


@jit(forceinline=True)
def best_wrong(scores, label):
    """Return the wrong class with the highest score, the lowest one on ties; with one score for two classes, 0."""
    if len(scores) == 1:
        return 0
    rival = 1 if label == 0 else 0
    for c in range(len(scores)):
        if c != label and scores[c] > scores[rival]:
            rival = c
    return rival


@jit(forceinline=True)
def margin(scores, label, rival):
    """Return y f(x), or f_y(x) - f_r(x) for the best wrong class r."""
    if len(scores) == 1:
        return scores[0] if label == 1 else -scores[0]
    return scores[label] - scores[rival]
