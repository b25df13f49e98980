"""The hypothesis of the online kernel machines, and how it predicts.

    f_c(x) = sum_j coefficients_cj K(x_j, x)   over the stored vectors x_j

Two classes have one function, whose sign decides; else there is one per class, and the highest score decides.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mpu_bench.core.counters import KERNEL_COMPUTED, KERNEL_EVALUATIONS, PRESENTED
from mpu_bench.core.jit import jit
from mpu_bench.core.kernels import Kernel
from mpu_bench.core.models import KernelModel
from mpu_bench.core.precision import Precision
from mpu_bench.core.prefetch import prefetch
from mpu_bench.core.problem import Problem
from mpu_bench.core.rows import prefetch_row
from mpu_bench.core.stream import Chunk
from mpu_bench.core.vectors import (
    Vectors,
    enlarged,
    free_entries_for,
    grown,
    has_free_entries,
    keeps_sparse,
    kernel_values,
    new_vectors,
    quantum_of,
    rows_of,
    weighted_sum,
    with_free_entries,
)
from mpu_bench.errors import DataError

_PREFETCH_DISTANCE = 8  # examples


class Hypothesis(NamedTuple):
    """Slots for support vectors, and c functions of them."""

    vectors: Vectors
    coefficients: NDArray[np.float64]  #: (c, capacity)
    kernel_row: NDArray[np.floating[Any]]  #: (capacity,) K(x_j, x) of the example presented
    scores: NDArray[np.float64]  #: (c,) its f_c(x)


def new_hypothesis(problem: Problem, capacity: int, precision: Precision, quantum: float = 0.0) -> Hypothesis:
    """Return f = 0 with so many slots for rows of a problem, whose quantum is that of `new_vectors`."""
    functions = functions_for(len(problem.classes))
    sparse = keeps_sparse(problem.train, problem.features)
    vectors = new_vectors(problem.features, capacity, precision, quantum, sparse)
    kernel_row = np.zeros_like(vectors.squared_norms)
    return Hypothesis(vectors, np.zeros((functions, capacity)), kernel_row, np.zeros(functions))


def functions_for(classes: int) -> int:
    """Return how many functions separate so many classes: one separates two, else there is one per class."""
    return 1 if classes == 2 else classes


def common_quantum(problem: Problem) -> float:
    """Return the quantum of all training rows (`quantum_of`), 0 where there is none or where they are not all there."""
    return quantum_of(problem.train) if problem.blocks == 1 else 0.0


@jit
def has_room(f, rows, i):
    """Return whether there is room for all that a row may leave: a slot, and entries where vectors are kept sparse."""
    return f.vectors.size[0] < len(f.kernel_row) and has_free_entries(f.vectors, rows, i, len(f.scores))


def with_room(f: Hypothesis, chunk: Chunk, position: int) -> Hypothesis:
    """Return a hypothesis with room for the example at this position, with twice as many slots where all are taken."""
    if f.vectors.size[0] == len(f.kernel_row):
        f = with_doubled_capacity(f)
    if len(f.vectors.entries.spread) and not has_room(f, chunk.rows, i := chunk.order[position]):
        free = int(free_entries_for(f.vectors, chunk.rows, i, len(f.scores)))
        f = f._replace(vectors=with_free_entries(f.vectors, free))
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


def refuse_overflow(scores: NDArray[np.float64], kernel: Kernel) -> None:
    """Refuse scores that are not finite.

    Raises
    ------
    DataError
        Naming the kernel.
    """
    if not np.isfinite(scores).all():
        raise DataError(
            f"a score is not finite: values of the kernel {kernel} are too large for the precision of kernel values;"
            " scale the features down or take normalize: true"
        )


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
def predict(scores, label, asked, computed, errors, counters):
    """Count an example that has been scored, and whether it is an error.

    Parameters
    ----------
    scores : array of float64, shape (c,)
    label : int32
    asked, computed : integer
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
        counters[KERNEL_EVALUATIONS] += asked
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
