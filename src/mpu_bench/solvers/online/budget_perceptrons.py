"""Perceptrons that keep at most B vectors, and the two simplest answers to which one leaves: the oldest, or any.

    f(x) = sum_j a_j K(x_j, x),  a_j = y_j w_j   over the stored vectors S, |S| <= B

Dekel, Shalev-Shwartz, Singer: "The Forgetron: A Kernel-Based Perceptron on a Fixed Budget", NIPS 2005, section 3:
predict, and on an error (y f(x) <= 0) insert the example with weight 1; if there are more than B vectors then, one
leaves. Which, and what happens to the weights before, is a solver's *removal*: `perceptron-oldest` (section 3) and
`perceptron-random` (Cavallanti, Cesa-Bianchi, Gentile 2007: any vector but the new one, all equally likely) are here,
`cks` and `forgetron` have files of their own.

With more than two classes one hypothesis per class learns its class against the rest (one-against-rest): c of them
of at most B vectors each, all of one stream. The class with the highest score is predicted, and the online error is
that of this prediction.

Counted: |S| kernel evaluations per hypothesis and example presented, and what a removal asks for; an insertion is an
update, an example that causes any is a step.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
from annotated_types import Ge
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
from mpu_bench.core.jit import jit, jit_dispatch
from mpu_bench.core.models import KernelModel
from mpu_bench.core.problem import Problem
from mpu_bench.core.rng import randint, rng
from mpu_bench.core.rows import Dense
from mpu_bench.core.solver import Until
from mpu_bench.core.stream import Chunk, Stream
from mpu_bench.core.vectors import Vectors, kernel_values, new_vectors, padded, put, rows_of, score
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
)

_ARRAYS = [name for name in Vectors._fields if name != "quantum"]


class Hypothesis(NamedTuple):
    """f of at most B vectors; in `State`, c of them: every array has one axis more before its own."""

    vectors: Vectors
    coefficients: NDArray[np.float64]  #: (B + 1,) a_j by slot; the last is that of a new example where all are taken
    kernel_row: NDArray[np.floating[Any]]  #: (capacity,) K(x_j, x) of the example presented
    score: NDArray[np.float64]  #: (1,) f(x)
    mistakes: NDArray[np.int64]  #: (1,) M, the present one included


@dataclass
class State:
    """What the algorithm works on."""

    stream: Stream
    kernel: Kernel
    hypotheses: Hypothesis
    removal: Any
    errors: NDArray[np.int64]
    counters: NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class BudgetPerceptron(OnlineSolver):
    """A Perceptron of at most B vectors; subclasses say which one leaves.

    Attributes
    ----------
    vectors : int
        B, the budget; with more than two classes that of each hypothesis.
    passes : int
        How often every example is presented, each time in a new random order.
    precision : {"single", "double"}
        Of kernel values, where single is enough (kernels/precision.py); scores are added up in double.
    """

    vectors: Annotated[int, Ge(1)]
    precision: Precision = "single"

    @abstractmethod
    def removal(self, functions: int, precision: Precision, seed: int) -> Any:
        """Return what is remembered to decide who leaves: a tuple of a type for which `free_slot` has a body."""

    def start(self, problem: Problem, kernel: Kernel, seed: int) -> State:
        """Start with nothing stored: f = 0."""
        self.check(problem, kernel)
        count = functions_for(len(problem.classes))
        capacity, quantum = int(padded(self.vectors)), common_quantum(problem)
        precision = precision_for(problem, kernel, self.precision)
        stored = [new_vectors(problem.features, capacity, precision, quantum) for _ in range(count)]
        stacked: dict[str, Any] = {name: np.stack([getattr(each, name) for each in stored]) for name in _ARRAYS}
        vectors = stored[0]._replace(**stacked)
        hypotheses = Hypothesis(
            vectors,
            np.zeros((count, self.vectors + 1)),
            np.zeros_like(vectors.squared_norms),
            np.zeros((count, 1)),
            np.zeros((count, 1), np.int64),
        )
        removal = self.removal(count, precision, seed)
        return State(Stream(problem, seed), kernel, hypotheses, removal, np.zeros(1, np.int64), new_counters())

    def present(self, state: State, chunk: Chunk, position: int, until: Until) -> None:
        """Predict and learn."""
        errors, counters = state.errors, state.counters
        _present(state.hypotheses, state.removal, state.kernel, chunk, position, until, errors, counters)
        refuse_overflow(state.hypotheses.score, state.kernel)

    def model(self, state: State) -> KernelModel:
        """Return the expansion over the stored vectors, those of all hypotheses one after the other."""
        count = len(state.hypotheses.score)
        parts = [rows_of(_vectors_of(state.hypotheses, c)).values for c in range(count)]
        sizes = [len(part) for part in parts]
        coefficients, first = np.zeros((sum(sizes), count)), np.cumsum([0, *sizes])
        for c in range(count):
            coefficients[first[c] : first[c + 1], c] = state.hypotheses.coefficients[c, : sizes[c]]
        vectors = np.concatenate(parts)
        return KernelModel(Dense(vectors), coefficients, state.kernel, vectors.shape[1])


def _vectors_of(hypotheses: Hypothesis, c: int) -> Vectors:
    arrays: dict[str, Any] = {name: getattr(hypotheses.vectors, name)[c] for name in _ARRAYS}
    return hypotheses.vectors._replace(**arrays)


@jit_dispatch
def free_slot(removal, c, f, kernel, counters):
    """Return the slot to overwrite by a new example of the c-th hypothesis; B: discard the new example itself.

    Called after the example's coefficient has been written to ``f.coefficients[m]``, m the vectors stored; where all
    B slots are taken, it decides who leaves and may change the weights before.
    """


@jit
def budget_of(f):
    """Return B."""
    return np.int64(len(f.coefficients) - 1)


class Oldest(NamedTuple):
    """The oldest leaves: slots are taken in turn."""


@free_slot.register(Oldest)
def _(_removal, _c, f, _kernel, _counters):
    return (f.mistakes[0] - 1) % budget_of(f)


class Random(NamedTuple):
    """Any of the vectors stored before leaves, all equally likely."""

    generator: NDArray[np.uint64]


@free_slot.register(Random)
def _(removal, _c, f, _kernel, _counters):
    m = f.vectors.size[0]
    return m if m < budget_of(f) else np.int64(randint(removal.generator, np.uint32(m)))


@dataclass(frozen=True)
class PerceptronOldest(BudgetPerceptron):
    """The Perceptron that drops its oldest vector; `BudgetPerceptron` has the parameters."""

    name = "perceptron-oldest"
    paper = "forgetron-2005"

    def removal(self, functions: int, precision: Precision, seed: int) -> Oldest:  # noqa: ARG002
        """Remember nothing."""
        return Oldest()


@dataclass(frozen=True)
class PerceptronRandom(BudgetPerceptron):
    """The Perceptron that drops any of its vectors; `BudgetPerceptron` has the parameters."""

    name = "perceptron-random"
    paper = "forgetron-2005"

    def removal(self, functions: int, precision: Precision, seed: int) -> Random:  # noqa: ARG002
        """Remember the random numbers."""
        return Random(rng(seed, "vector to leave"))


@jit(inline="always")
def hypothesis(hypotheses, c):
    """Return one of the hypotheses; its arrays are views."""
    v = hypotheses.vectors
    return Hypothesis(
        Vectors(v.columns[c], v.squared_norms[c], v.size[c], v.indices[c], v.values[c], v.quantum),
        hypotheses.coefficients[c],
        hypotheses.kernel_row[c],
        hypotheses.score[c],
        hypotheses.mistakes[c],
    )


@jit
def _present(hypotheses, removal, kernel, chunk, position, until, errors, counters):
    scores, coefficients, order = hypotheses.score[:, 0], hypotheses.coefficients, chunk.order
    for p in range(position, len(order)):
        if reached(counters, until):
            return
        prefetch_example(chunk, p)
        i = order[p]
        label = chunk.labels[i]
        for c in range(len(scores)):
            f = hypothesis(hypotheses, c)
            m, kernel_row = f.vectors.size[0], f.kernel_row
            kernel_values(f.vectors, kernel, chunk.rows, i, kernel_row)
            score(coefficients[c : c + 1], kernel_row[:m], f.score)
            counters[KERNEL_EVALUATIONS] += m
            counters[KERNEL_COMPUTED] += m
        if not all_finite(scores):
            return
        counters[PRESENTED] += 1
        errors[0] += margin(scores, label, best_wrong(scores, label)) <= 0.0
        updates = counters[UPDATES]
        for c in range(len(scores)):
            sign = sign_for(c, label, scores)
            if sign * scores[c] <= 0.0:
                _insert(removal, c, hypothesis(hypotheses, c), kernel, chunk.rows, i, sign, counters)
                counters[UPDATES] += 1
        counters[STEPS] += counters[UPDATES] > updates


@jit
def _insert(removal, c, f, kernel, rows, i, sign, counters):
    """Insert the example with weight 1; where there are more than B vectors then, one leaves."""
    m, coefficients = f.vectors.size[0], f.coefficients
    f.mistakes[0] += 1
    coefficients[m] = sign
    slot = free_slot(removal, c, f, kernel, counters)
    if slot < budget_of(f):
        coefficients[slot] = coefficients[m]
        put(f.vectors, slot, rows, i)


def kernel_matrices(functions: int, budget: int, precision: Precision) -> NDArray[np.floating[Any]]:
    """Return space for the kernel values between the vectors of each hypothesis; shape (functions, budget, budget)."""
    return np.zeros((functions, budget, budget), np.float32 if precision == "single" else np.float64)


@jit
def remember(kernel_matrix, slot, kernel_row):
    """Write the kernel values of the vector that comes to a slot with those stored into its row and column."""
    for j in range(len(kernel_row)):
        kernel_matrix[slot, j] = kernel_matrix[j, slot] = kernel_row[j]
