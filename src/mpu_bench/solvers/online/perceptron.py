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
from typing import Annotated, ClassVar, NamedTuple

import numpy as np
from annotated_types import Ge
from numba import njit
from numpy.typing import NDArray

from mpu_bench.core.counters import KERNEL_COMPUTED, KERNEL_EVALUATIONS, PRESENTED, STEPS, UPDATES, new_counters
from mpu_bench.core.kernels import Kernel, value
from mpu_bench.core.model import KernelModel
from mpu_bench.core.problem import Problem
from mpu_bench.core.random import generator, shuffle
from mpu_bench.core.rows import Rows, add, dot, prepare, squared_norms, take
from mpu_bench.core.solver import Allowance, Measures, Solver, Status

_AHEAD = 6  # vectors ahead that are fetched


class State(NamedTuple):
    """What the algorithm works on; n examples of d features, m stored vectors, c scores (1 for two classes)."""

    rows: Rows
    labels: NDArray[np.int32]  #: (n,) classes
    kernel: Kernel
    squared_norms: NDArray[np.float64]  #: ||x_i||^2 (n,)
    order: NDArray[np.uint32]  #: (n,) this pass's permutation
    stored: NDArray[np.uint32]  #: (n,) the examples stored, the first m are valid
    places: NDArray[np.int64]  #: (n,) where an example is stored, or -1
    coefficients: NDArray[np.float64]  #: (n, c) of the stored vectors
    size: NDArray[np.int64]  #: m (1,)
    example: NDArray[np.float64]  #: (d,) the example presented; zero between presentations
    scores: NDArray[np.float64]  #: (c,) its scores
    generator: NDArray[np.uint64]
    counters: NDArray[np.int64]


@dataclass(frozen=True)
class Perceptron(Solver):
    """The kernel Perceptron.

    Attributes
    ----------
    passes : int
        How often every example is presented, each time in a new random order.
    """

    name = "perceptron"
    paper = "forgetron-2005"
    kernels: ClassVar = "any"
    classes: ClassVar = "any"

    passes: Annotated[int, Ge(1)] = 1

    def start(self, problem: Problem, kernel: Kernel, seed: int) -> State:
        """Start with nothing stored: f = 0."""
        self.check(problem, kernel)
        n, scores = problem.n, 1 if len(problem.classes) == 2 else len(problem.classes)
        return State(
            problem.train,
            problem.labels,
            kernel,
            squared_norms(problem.train),
            np.arange(n, dtype=np.uint32),
            np.zeros(n, np.uint32),
            np.full(n, -1),
            np.zeros((n, scores)),
            np.zeros(1, np.int64),
            np.zeros(problem.features),
            np.zeros(scores),
            generator(seed, "perceptron"),
            new_counters(),
        )

    def advance(self, state: State, allowance: Allowance) -> Status:
        """Present further examples."""
        left = self.passes * len(state.labels) - int(state.counters[PRESENTED])
        _advance(state, min(allowance.presented, left), allowance.kernel_evaluations)
        return Status.DONE if state.counters[PRESENTED] == self.passes * len(state.labels) else Status.RUNNING

    def model(self, state: State) -> KernelModel:
        """Give the expansion over the stored vectors."""
        m = int(state.size[0])
        vectors = take(state.rows, state.stored[:m])
        return KernelModel(vectors, state.coefficients[:m].copy(), state.kernel, len(state.example))

    def measures(self, state: State) -> Measures:
        """Give errors / examples presented."""
        presented = int(state.counters[PRESENTED])
        return Measures(online_error=int(state.counters[STEPS]) / presented if presented else None)


@njit(cache=True, nogil=True)
def _advance(state, presented, evaluations):
    n, counters = len(state.labels), state.counters
    last = counters[PRESENTED] + presented
    most = counters[KERNEL_EVALUATIONS] + evaluations
    while counters[PRESENTED] < last and counters[KERNEL_EVALUATIONS] < most:
        position = counters[PRESENTED] % n
        if position == 0:
            shuffle(state.generator, state.order, n)
        i = state.order[position]
        _score(state, i)
        label = state.labels[i]
        rival = _best_wrong(state.scores, label)
        if _margin(state.scores, label, rival) <= 0.0:
            _store(state, i, label, rival)
        counters[PRESENTED] += 1
    return 0


@njit(cache=True, nogil=True)
def _score(state, i):
    """Compute f(x_i), all classes; |S| kernel evaluations."""
    add(state.rows, i, 1.0, state.example)
    state.scores[:] = 0.0
    m = state.size[0]
    for j in range(m):
        prepare(state.rows, state.stored[min(j + _AHEAD, m - 1)])
        vector = state.stored[j]
        product = dot(state.rows, vector, state.example)
        k = value(state.kernel, product, state.squared_norms[vector], state.squared_norms[i])
        for c in range(len(state.scores)):
            state.scores[c] += state.coefficients[j, c] * k
    add(state.rows, i, -1.0, state.example)
    state.counters[KERNEL_EVALUATIONS] += m
    state.counters[KERNEL_COMPUTED] += m


@njit(cache=True, nogil=True)
def _best_wrong(scores, label):
    """Choose the wrong class with the highest score, the lowest one on ties."""
    if len(scores) == 1:
        return 0
    rival = 1 if label == 0 else 0
    for c in range(len(scores)):
        if c != label and scores[c] > scores[rival]:
            rival = c
    return rival


@njit(cache=True, nogil=True)
def _margin(scores, label, rival):
    """Compute y f(x), or f_y(x) - f_r(x)."""
    if len(scores) == 1:
        return scores[0] if label == 1 else -scores[0]
    return scores[label] - scores[rival]


@njit(cache=True, nogil=True)
def _store(state, i, label, rival):
    """Add the example to the hypothesis with weight 1."""
    if state.places[i] < 0:
        state.places[i] = state.size[0]
        state.stored[state.size[0]] = i
        state.size[0] += 1
    weights = state.coefficients[state.places[i]]
    if len(weights) == 1:
        weights[0] += 1.0 if label == 1 else -1.0
    else:
        weights[label] += 1.0
        weights[rival] -= 1.0
    state.counters[STEPS] += 1
    state.counters[UPDATES] += 1
