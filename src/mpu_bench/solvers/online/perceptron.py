"""The kernel Perceptron, one pass or many.

    f(x) = sum_j w_j y_j K(x_j, x)   over the stored vectors S

Rosenblatt: "The Perceptron", Psychological Review 65, 1958, in the form the budgeted algorithms of Dekel,
Shalev-Shwartz, Singer ("The Forgetron", NIPS 2005) are compared with: predict, and on an error (y f(x) <= 0) store
the example with weight 1. A repeated error on a stored vector adds 1 to its weight.

With more than two classes one function per class learns its class against the rest (one-against-rest), as those with
a budget do (budget_perceptrons.py); they share a store, in which each has its own vectors. The class with the highest
score is predicted, and the online error is that of this prediction.

Counted: |S| kernel evaluations per function and example presented, computed once for all; an error of a function
is an update, an example that causes any is a step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from mpu_bench.core.counters import STEPS, UPDATES, new_counters, reached
from mpu_bench.core.jit import jit
from mpu_bench.core.problem import Problem
from mpu_bench.core.solver import Until
from mpu_bench.core.stream import Chunk, Stream
from mpu_bench.core.vectors import put
from mpu_bench.kernels import Kernel
from mpu_bench.kernels.precision import Precision, precision_for
from mpu_bench.solvers.online.online import (
    OnlineSolver,
    OnlineState,
    has_room,
    new_hypothesis,
    next_example,
    predict,
    score_example,
    sign_for,
    with_room,
)

_FIRST_CAPACITY = 64  # vectors


@dataclass
class State(OnlineState):
    """What the algorithm works on; n examples."""

    sizes: NDArray[np.int64]  #: (c,) |S|, how many of the vectors each function uses
    slots: NDArray[np.int32]  #: (n,) where an example is stored, or -1; (0,) in one pass, where none comes again


@dataclass(frozen=True)
class Perceptron(OnlineSolver):
    """The kernel Perceptron.

    Attributes
    ----------
    passes : int
        How often every example is presented, each time in a new random order.
    precision : {"single", "double"}
        Of kernel values, where single is enough (kernels/precision.py); scores are added up in double.
    """

    name = "perceptron"
    paper = "forgetron-2005"
    changes_by_updates: ClassVar = True

    precision: Precision = "single"

    def start(self, problem: Problem, kernel: Kernel, seed: int) -> State:
        """Start with nothing stored: f = 0."""
        self.check(problem, kernel)
        precision = precision_for(problem, kernel, self.precision)
        f = new_hypothesis(problem, _FIRST_CAPACITY, precision, quantised=True)
        sizes = np.zeros(len(f.scores), np.int64)
        slots = np.full(problem.n if self.passes > 1 else 0, -1, np.int32)
        return State(Stream(problem, seed), kernel, f, np.zeros(1, np.int64), new_counters(), sizes, slots)

    def present(self, state: State, chunk: Chunk, position: int, until: Until) -> None:
        """Predict and learn; ends early where there is no free slot for a vector."""
        state.hypothesis = with_room(state.hypothesis, chunk, position)
        f, sizes, slots = state.hypothesis, state.sizes, state.slots
        _present(f, sizes, slots, state.kernel, chunk, position, until, state.errors, state.counters)


@jit
def _present(f, sizes, slots, kernel, chunk, position, until, errors, counters):
    coefficients, scores = f.coefficients, f.scores
    for p in range(position, len(chunk.order)):
        i, m = next_example(chunk, p), f.vectors.size[0]
        if reached(counters, until) or not has_room(f, chunk.rows, i):
            return
        label = chunk.labels[i]
        score_example(f, kernel, chunk.rows, i, m, 1.0)
        _, ahead = predict(scores, label, sizes.sum(), m, errors, counters)
        if np.isnan(ahead):
            return
        updates = counters[UPDATES]
        for c in range(len(scores)):
            sign = sign_for(c, label, scores)
            if sign * scores[c] <= 0.0:
                slot = _slot(f.vectors, slots, chunk, i, m)
                sizes[c] += coefficients[c, slot] == 0.0
                coefficients[c, slot] += sign
                counters[UPDATES] += 1
        counters[STEPS] += counters[UPDATES] > updates


@jit(forceinline=True)
def _slot(vectors, slots, chunk, i, m):
    """Return where the example is stored; if it is not, store it after the m vectors there were."""
    number = chunk.first + np.int64(i)
    if len(slots) > 0 and slots[number] >= 0:
        return np.int64(slots[number])
    if vectors.size[0] == m:
        put(vectors, m, chunk.rows, i)
        if len(slots) > 0:
            slots[number] = m
    return m
