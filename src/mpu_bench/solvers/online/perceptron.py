"""The kernel Perceptron, one pass or many.

    f(x) = sum_j w_j y_j K(x_j, x)   over the stored vectors S

Rosenblatt: "The Perceptron", Psychological Review 65, 1958, in the form the budgeted algorithms of Dekel,
Shalev-Shwartz, Singer ("The Forgetron", NIPS 2005) are compared with: predict, and on an error (y f(x) <= 0) store
the example with weight 1. A repeated error on a stored vector adds 1 to its weight. With more than two classes one
f per class is learned (the multi-class Perceptron): on an error, f_y(x) <= f_r(x) for the best wrong class r, the
example gets +1 for y and -1 for r.

Counted: |S| kernel evaluations per example presented; an error is one step and one update.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from mpu_bench.core.counters import KERNEL_COMPUTED, KERNEL_EVALUATIONS, PRESENTED, STEPS, UPDATES, new_counters
from mpu_bench.core.kernels import Kernel
from mpu_bench.core.model import KernelModel
from mpu_bench.core.problem import Problem
from mpu_bench.core.stream import Chunk, Stream
from mpu_bench.core.vectors import Precision, Vectors, enlarged, kernel_values, new_vectors, put, rows_of
from mpu_bench.solvers.online.online import OnlineSolver, best_wrong, margin, score

_FIRST_ROOM = 64  # vectors


class Hypothesis(NamedTuple):
    """f over m stored vectors; c scores (1 for two classes)."""

    vectors: Vectors
    coefficients: NDArray[np.float64]  #: (c, room)
    kernel_row: NDArray[np.floating[Any]]  #: (room,) K(x_j, x) of the example presented
    scores: NDArray[np.float64]  #: (c,) its scores


@dataclass
class State:
    """What the algorithm works on; n examples."""

    stream: Stream
    kernel: Kernel
    hypothesis: Hypothesis
    places: NDArray[np.int32]  #: (n,) where an example is stored, or -1; of one pass nothing needs to be known
    errors: NDArray[np.int64]
    counters: NDArray[np.int64]


@dataclass(frozen=True)
class Perceptron(OnlineSolver):
    """The kernel Perceptron.

    Attributes
    ----------
    passes : int
        How often every example is presented, each time in a new random order.
    precision : {"single", "double"}
        Of kernel values; scores are added up in double.
    """

    name = "perceptron"
    paper = "forgetron-2005"

    precision: Precision = "single"

    def start(self, problem: Problem, kernel: Kernel, seed: int) -> State:
        """Start with nothing stored: f = 0."""
        self.check(problem, kernel)
        scores = 1 if len(problem.classes) == 2 else len(problem.classes)
        vectors = new_vectors(problem.features, _FIRST_ROOM, self.precision)
        hypothesis = Hypothesis(
            vectors, np.zeros((scores, _FIRST_ROOM)), np.zeros_like(vectors.squared_norms), np.zeros(scores)
        )
        places = np.full(problem.n if self.passes > 1 else 0, -1, np.int32)
        return State(Stream(problem, seed), kernel, hypothesis, places, np.zeros(1, np.int64), new_counters())

    def present(self, state: State, chunk: Chunk, position: int, stop: int, most: int) -> None:
        """Predict and learn; ends early where the room for vectors does."""
        if state.hypothesis.vectors.size[0] == len(state.hypothesis.kernel_row):
            state.hypothesis = _with_more_room(state.hypothesis)
        _present(state.hypothesis, state.kernel, state.places, chunk, position, stop, most, state.counters)
        state.errors[0] = state.counters[STEPS]

    def model(self, state: State) -> KernelModel:
        """Give the expansion over the stored vectors."""
        vectors = rows_of(state.hypothesis.vectors)
        m, d = vectors.values.shape
        return KernelModel(vectors, state.hypothesis.coefficients[:, :m].T.copy(), state.kernel, d)


def _with_more_room(hypothesis: Hypothesis) -> Hypothesis:
    scores, room = hypothesis.coefficients.shape
    return Hypothesis(
        enlarged(hypothesis.vectors, 2 * room),
        np.hstack([hypothesis.coefficients, np.zeros((scores, room))]),
        np.zeros(2 * room, hypothesis.kernel_row.dtype),
        hypothesis.scores,
    )


@njit(cache=True, nogil=True)
def _present(f, kernel, places, chunk, position, stop, most, counters):
    for p in range(position, stop):
        m = f.vectors.size[0]
        if counters[KERNEL_EVALUATIONS] >= most or m == len(f.kernel_row):
            return
        i = chunk.order[p]
        kernel_values(f.vectors, kernel, chunk.rows, i, f.kernel_row)
        score(f.coefficients, f.kernel_row[:m], f.scores)
        counters[KERNEL_EVALUATIONS] += m
        counters[KERNEL_COMPUTED] += m
        counters[PRESENTED] += 1
        label = chunk.labels[i]
        rival = best_wrong(f.scores, label)
        if margin(f.scores, label, rival) <= 0.0:
            place = _place(f.vectors, places, chunk, i)
            _add(f.coefficients, place, label, rival)
            counters[STEPS] += 1
            counters[UPDATES] += 1


@njit(cache=True, nogil=True)
def _place(vectors, places, chunk, i):
    """Find where the example is stored; if it is not, store it."""
    number = chunk.first + np.int64(i)
    if len(places) > 0 and places[number] >= 0:
        return np.int64(places[number])
    place = vectors.size[0]
    put(vectors, place, chunk.rows, i)
    if len(places) > 0:
        places[number] = place
    return place


@njit(cache=True, nogil=True)
def _add(coefficients, place, label, rival):
    """Add the example to the hypothesis with weight 1."""
    if len(coefficients) == 1:
        coefficients[0, place] += 1.0 if label == 1 else -1.0
    else:
        coefficients[label, place] += 1.0
        coefficients[rival, place] -= 1.0
