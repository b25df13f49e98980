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
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mpu_bench.core.counters import (
    KERNEL_COMPUTED,
    KERNEL_EVALUATIONS,
    PRESENTED,
    STEPS,
    UPDATES,
    new_counters,
    reached,
)
from mpu_bench.core.jit import jit
from mpu_bench.core.models import KernelModel
from mpu_bench.core.problem import Problem
from mpu_bench.core.solver import Until
from mpu_bench.core.stream import Chunk, Stream
from mpu_bench.core.vectors import Vectors, kernel_values, new_vectors, put, rows_of, score
from mpu_bench.kernels import Kernel
from mpu_bench.kernels.precision import Precision, precision_for
from mpu_bench.solvers.online.online import (
    OnlineSolver,
    all_finite,
    best_wrong,
    common_quantum,
    functions_for,
    margin,
    prefetch_example,
    refuse_overflow,
    sign_for,
    with_doubled_capacity,
)

_FIRST_CAPACITY = 64  # vectors


class Hypothesis(NamedTuple):
    """f over m stored vectors; c functions, one for two classes, else one per class."""

    vectors: Vectors
    coefficients: NDArray[np.float64]  #: (c, capacity)
    kernel_row: NDArray[np.floating[Any]]  #: (capacity,) K(x_j, x) of the example presented
    scores: NDArray[np.float64]  #: (c,) its scores
    sizes: NDArray[np.int64]  #: (c,) |S|, how many of the vectors each function uses


@dataclass
class State:
    """What the algorithm works on; n examples."""

    stream: Stream
    kernel: Kernel
    hypothesis: Hypothesis
    slots: NDArray[np.int32]  #: (n,) where an example is stored, or -1; (0,) in one pass, where none comes again
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
        Of kernel values, where single is enough (kernels/precision.py); scores are added up in double.
    """

    name = "perceptron"
    paper = "forgetron-2005"

    precision: Precision = "single"

    def start(self, problem: Problem, kernel: Kernel, seed: int) -> State:
        """Start with nothing stored: f = 0."""
        self.check(problem, kernel)
        functions = functions_for(len(problem.classes))
        precision = precision_for(problem, kernel, self.precision)
        vectors = new_vectors(problem.features, _FIRST_CAPACITY, precision, common_quantum(problem))
        hypothesis = Hypothesis(
            vectors,
            np.zeros((functions, _FIRST_CAPACITY)),
            np.zeros_like(vectors.squared_norms),
            np.zeros(functions),
            np.zeros(functions, np.int64),
        )
        slots = np.full(problem.n if self.passes > 1 else 0, -1, np.int32)
        return State(Stream(problem, seed), kernel, hypothesis, slots, np.zeros(1, np.int64), new_counters())

    def present(self, state: State, chunk: Chunk, position: int, until: Until) -> None:
        """Predict and learn; ends early where there is no free slot for a vector."""
        if state.hypothesis.vectors.size[0] == len(state.hypothesis.kernel_row):
            state.hypothesis = with_doubled_capacity(state.hypothesis, "coefficients", "kernel_row")
        f = state.hypothesis
        _present(f, state.kernel, state.slots, chunk, position, until, state.errors, state.counters)
        refuse_overflow(f.scores, state.kernel)

    def model(self, state: State) -> KernelModel:
        """Return the expansion over the stored vectors."""
        vectors = rows_of(state.hypothesis.vectors)
        m, d = vectors.values.shape
        return KernelModel(vectors, state.hypothesis.coefficients[:, :m].T.copy(), state.kernel, d)


@jit
def _present(f, kernel, slots, chunk, position, until, errors, counters):
    coefficients, kernel_row, scores, sizes = f.coefficients, f.kernel_row, f.scores, f.sizes
    order, capacity = chunk.order, len(kernel_row)
    for p in range(position, len(order)):
        m = f.vectors.size[0]
        if reached(counters, until) or m == capacity:
            return
        prefetch_example(chunk, p)
        i = order[p]
        label = chunk.labels[i]
        kernel_values(f.vectors, kernel, chunk.rows, i, kernel_row)
        score(coefficients, kernel_row[:m], scores)
        if not all_finite(scores):
            return
        counters[KERNEL_EVALUATIONS] += sizes.sum()
        counters[KERNEL_COMPUTED] += m
        counters[PRESENTED] += 1
        errors[0] += margin(scores, label, best_wrong(scores, label)) <= 0.0
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
