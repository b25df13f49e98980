"""The kernel Perceptron, one pass or many.

    f(x) = sum_j w_j y_j K(x_j, x)   over the stored vectors S

Rosenblatt: "The Perceptron", Psychological Review 65, 1958, in the form the budgeted algorithms of Dekel,
Shalev-Shwartz, Singer ("The Forgetron", NIPS 2005) are compared with: predict, and on an error (y f(x) <= 0) store
the example with weight 1. A repeated error on a stored vector adds 1 to its weight.

With more than two classes one machine per class learns its class against the rest (one-against-rest), as those with
a budget do (budget_perceptrons.py); they share a store, in which each has its own vectors. The class with the highest
score is predicted, and the online error is that of this prediction.

Counted: |S| kernel evaluations per machine and example presented, computed once for all machines; an error of a machine
is an update, an example that causes any is a step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mpu_bench.core.counters import KERNEL_COMPUTED, KERNEL_EVALUATIONS, PRESENTED, STEPS, UPDATES, new_counters
from mpu_bench.core.jit import jit
from mpu_bench.core.kernels import Kernel
from mpu_bench.core.models import KernelModel
from mpu_bench.core.problem import Problem
from mpu_bench.core.stream import Chunk, Stream
from mpu_bench.core.vectors import Precision, Vectors, enlarged, kernel_values, new_vectors, put, rows_of, step_of
from mpu_bench.errors import DataError
from mpu_bench.solvers.online.online import OnlineSolver, all_finite, best_wrong, expect, margin, score

_FIRST_ROOM = 64  # vectors


class Hypothesis(NamedTuple):
    """f over m stored vectors; c scores, of one machine for two classes, else of one per class."""

    vectors: Vectors
    coefficients: NDArray[np.float64]  #: (c, room)
    kernel_row: NDArray[np.floating[Any]]  #: (room,) K(x_j, x) of the example presented
    scores: NDArray[np.float64]  #: (c,) its scores
    sizes: NDArray[np.int64]  #: (c,) |S|, how many of the vectors each machine uses


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
        machines = machines_for(problem)
        vectors = new_vectors(problem.features, _FIRST_ROOM, self.precision, step_of_all(problem))
        hypothesis = Hypothesis(
            vectors,
            np.zeros((machines, _FIRST_ROOM)),
            np.zeros_like(vectors.squared_norms),
            np.zeros(machines),
            np.zeros(machines, np.int64),
        )
        places = np.full(problem.n if self.passes > 1 else 0, -1, np.int32)
        return State(Stream(problem, seed), kernel, hypothesis, places, np.zeros(1, np.int64), new_counters())

    def present(self, state: State, chunk: Chunk, position: int, stop: int, most: int) -> None:
        """Predict and learn; ends early where the room for vectors does."""
        if state.hypothesis.vectors.size[0] == len(state.hypothesis.kernel_row):
            state.hypothesis = _with_more_room(state.hypothesis)
        f, errors, counters = state.hypothesis, state.errors, state.counters
        _present(f, state.kernel, state.places, chunk, position, stop, most, errors, counters)
        refuse_overflow(f.scores, state.kernel)

    def model(self, state: State) -> KernelModel:
        """Give the expansion over the stored vectors."""
        vectors = rows_of(state.hypothesis.vectors)
        m, d = vectors.values.shape
        return KernelModel(vectors, state.hypothesis.coefficients[:, :m].T.copy(), state.kernel, d)


def machines_for(problem: Problem) -> int:
    """Say how many machines separate the classes: one for two, else one per class."""
    return 1 if len(problem.classes) == 2 else len(problem.classes)


def step_of_all(problem: Problem) -> float:
    """Give the step that all rows have, 0 where there is none or where they are not all there."""
    return step_of(problem.train) if problem.blocks == 1 else 0.0


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
            " scale the features down (a card's step for that is `scale`) or take normalize: true"
        )


def _with_more_room(hypothesis: Hypothesis) -> Hypothesis:
    machines, room = hypothesis.coefficients.shape
    return hypothesis._replace(
        vectors=enlarged(hypothesis.vectors, 2 * room),
        coefficients=np.hstack([hypothesis.coefficients, np.zeros((machines, room))]),
        kernel_row=np.zeros(2 * room, hypothesis.kernel_row.dtype),
    )


@jit
def sign_for(c, label, scores):
    """Give y = +-1 of an example for the c-th machine: whether it is of its class, for two classes the second."""
    return 1.0 if label == (1 if len(scores) == 1 else c) else -1.0


@jit
def _present(f, kernel, places, chunk, position, stop, most, errors, counters):
    for p in range(position, stop):
        m = f.vectors.size[0]
        if counters[KERNEL_EVALUATIONS] >= most or m == len(f.kernel_row):
            return
        expect(chunk, p)
        i = chunk.order[p]
        label = chunk.labels[i]
        kernel_values(f.vectors, kernel, chunk.rows, i, f.kernel_row)
        score(f.coefficients, f.kernel_row[:m], f.scores)
        if not all_finite(f.scores):
            return
        counters[KERNEL_EVALUATIONS] += f.sizes.sum()
        counters[KERNEL_COMPUTED] += m
        counters[PRESENTED] += 1
        errors[0] += margin(f.scores, label, best_wrong(f.scores, label)) <= 0.0
        updates = counters[UPDATES]
        for c in range(len(f.scores)):
            sign = sign_for(c, label, f.scores)
            if sign * f.scores[c] <= 0.0:
                place = _place(f.vectors, places, chunk, i, m)
                f.sizes[c] += f.coefficients[c, place] == 0.0
                f.coefficients[c, place] += sign
                counters[UPDATES] += 1
        counters[STEPS] += counters[UPDATES] > updates


@jit
def _place(vectors, places, chunk, i, m):
    """Find where the example is stored; if it is not, store it after the m vectors there were."""
    number = chunk.first + np.int64(i)
    if len(places) > 0 and places[number] >= 0:
        return np.int64(places[number])
    if vectors.size[0] == m:
        put(vectors, m, chunk.rows, i)
        if len(places) > 0:
            places[number] = m
    return m
