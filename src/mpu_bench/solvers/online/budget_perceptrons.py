"""Perceptrons that keep at most B vectors, and the two simplest rules of which one leaves: the oldest, or any.

    f(x) = sum_j a_j K(x_j, x),  a_j = y_j w_j   over the stored vectors S, |S| <= B

Dekel, Shalev-Shwartz, Singer: "The Forgetron: A Kernel-Based Perceptron on a Fixed Budget", NIPS 2005, section 3:
predict, and on an error (y f(x) <= 0) insert the example with weight 1; if there are more than B vectors then, one
leaves. Which, and what happens to the weights before, is a solver's *rule*: `perceptron-oldest` (section 3) and
`perceptron-random` (Cavallanti, Cesa-Bianchi, Gentile 2007: any vector but the new one, all equally likely) are here,
`cks` and `forgetron` have files of their own.

With more than two classes one machine per class learns its class against the rest (one-against-rest): c hypotheses
of at most B vectors each, all of one stream. The class with the highest score is predicted, and the online error is
that of this prediction.

Counted: |S| kernel evaluations per machine and example presented, and what a rule asks for; an insertion is an update,
an example that causes any is a step.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
from annotated_types import Ge
from numba import njit
from numpy.typing import NDArray

from mpu_bench.core.counters import KERNEL_COMPUTED, KERNEL_EVALUATIONS, PRESENTED, STEPS, UPDATES, new_counters
from mpu_bench.core.jit import dispatch, jit
from mpu_bench.core.kernels import Kernel
from mpu_bench.core.models import KernelModel
from mpu_bench.core.problem import Problem
from mpu_bench.core.rng import randint, rng
from mpu_bench.core.rows import Dense
from mpu_bench.core.stream import Chunk, Stream
from mpu_bench.core.vectors import Precision, Vectors, kernel_values, new_vectors, padded, put, rows_of
from mpu_bench.solvers.online.online import OnlineSolver, all_finite, best_wrong, expect, margin, score
from mpu_bench.solvers.online.perceptron import machines_for, refuse_overflow, sign_for, step_of_all

_ARRAYS = [name for name in Vectors._fields if name != "step"]


class Machine(NamedTuple):
    """A hypothesis f of at most B vectors; as `Machines`, c of them, every array with one axis more before its own."""

    vectors: Vectors
    coefficients: NDArray[np.float64]  #: (B + 1,) a_j by place; the last is that of a new example where all are taken
    kernel_row: NDArray[np.floating[Any]]  #: (room,) K(x_j, x) of the example presented
    score: NDArray[np.float64]  #: (1,) f(x)
    mistakes: NDArray[np.int64]  #: (1,) M, the present one included


@dataclass
class State:
    """What the algorithm works on."""

    stream: Stream
    kernel: Kernel
    machines: Machine
    rule: Any
    errors: NDArray[np.int64]
    counters: NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class BudgetPerceptron(OnlineSolver):
    """A Perceptron of at most B vectors; subclasses give the rule of which one leaves.

    Attributes
    ----------
    vectors : int
        B, the budget; with more than two classes that of each machine.
    passes : int
        How often every example is presented, each time in a new random order.
    precision : {"single", "double"}
        Of kernel values; scores are added up in double.
    """

    vectors: Annotated[int, Ge(1)]
    precision: Precision = "single"

    @abstractmethod
    def rule(self, machines: int, seed: int) -> Any:
        """Make what the rule remembers of so many machines: a tuple whose type is a key of `RULES`."""

    def start(self, problem: Problem, kernel: Kernel, seed: int) -> State:
        """Start with nothing stored: f = 0."""
        self.check(problem, kernel)
        count = machines_for(problem)
        room, step = int(padded(self.vectors)), step_of_all(problem)
        stored = [new_vectors(problem.features, room, self.precision, step) for _ in range(count)]
        stacked: dict[str, Any] = {name: np.stack([getattr(each, name) for each in stored]) for name in _ARRAYS}
        vectors = stored[0]._replace(**stacked)
        machines = Machine(
            vectors,
            np.zeros((count, self.vectors + 1)),
            np.zeros_like(vectors.squared_norms),
            np.zeros((count, 1)),
            np.zeros((count, 1), np.int64),
        )
        rule = self.rule(count, seed)
        return State(Stream(problem, seed), kernel, machines, rule, np.zeros(1, np.int64), new_counters())

    def present(self, state: State, chunk: Chunk, position: int, stop: int, most: int) -> None:
        """Predict and learn."""
        errors, counters = state.errors, state.counters
        _present(state.machines, state.rule, state.kernel, chunk, position, stop, most, errors, counters)
        refuse_overflow(state.machines.score, state.kernel)

    def model(self, state: State) -> KernelModel:
        """Give the expansion over the stored vectors, those of all machines one after the other."""
        count = len(state.machines.score)
        parts = [rows_of(machine(state.machines, c).vectors).values for c in range(count)]
        sizes = [len(part) for part in parts]
        coefficients, first = np.zeros((sum(sizes), count)), np.cumsum([0, *sizes])
        for c in range(count):
            coefficients[first[c] : first[c + 1], c] = state.machines.coefficients[c, : sizes[c]]
        vectors = np.concatenate(parts)
        return KernelModel(Dense(vectors), coefficients, state.kernel, vectors.shape[1])


class Oldest(NamedTuple):
    """The oldest leaves: places are taken in turn."""


@jit
def budget_of(f):
    """Give B."""
    return np.int64(len(f.coefficients) - 1)


def _oldest(_rule, _c, f, _kernel, _counters):
    return (f.mistakes[0] - 1) % budget_of(f)


class Random(NamedTuple):
    """Any of the vectors stored before leaves, all equally likely."""

    generator: NDArray[np.uint64]  #: (1,)


def _random(rule, _c, f, _kernel, _counters):
    m = f.vectors.size[0]
    return m if m < budget_of(f) else np.int64(randint(rule.generator, np.uint32(m)))


#: The rules, by the type of what they remember; a solver adds its own.
RULES: dict[type, Callable[..., Any]] = {Oldest: _oldest, Random: _random}

#: ``make_room(rule, c, f, kernel, counters)``: gives the place for a new example in f, the c-th machine, maybe full.
#: Its coefficient is already there, after those of the m vectors stored; whoever is at the place leaves. Place B is
#: none: then the example itself leaves.
make_room = dispatch("make_room", RULES)


@dataclass(frozen=True)
class PerceptronOldest(BudgetPerceptron):
    """The Perceptron that drops its oldest vector; `BudgetPerceptron` has the parameters."""

    name = "perceptron-oldest"
    paper = "forgetron-2005"

    def rule(self, machines: int, seed: int) -> Oldest:  # noqa: ARG002
        """Remember nothing."""
        return Oldest()


@dataclass(frozen=True)
class PerceptronRandom(BudgetPerceptron):
    """The Perceptron that drops any of its vectors; `BudgetPerceptron` has the parameters."""

    name = "perceptron-random"
    paper = "forgetron-2005"

    def rule(self, machines: int, seed: int) -> Random:  # noqa: ARG002
        """Remember the random numbers."""
        return Random(rng(seed, "vector to leave"))


@njit(cache=True, inline="always")
def machine(machines, c):
    """Give one of the machines; its arrays are views."""
    v = machines.vectors
    return Machine(
        Vectors(v.columns[c], v.squared_norms[c], v.size[c], v.indices[c], v.values[c], v.step),
        machines.coefficients[c],
        machines.kernel_row[c],
        machines.score[c],
        machines.mistakes[c],
    )


@jit
def _present(machines, rule, kernel, chunk, position, stop, most, errors, counters):
    scores = machines.score[:, 0]
    for p in range(position, stop):
        if counters[KERNEL_EVALUATIONS] >= most:
            return
        expect(chunk, p)
        i = chunk.order[p]
        label = chunk.labels[i]
        for c in range(len(scores)):
            f = machine(machines, c)
            m = f.vectors.size[0]
            kernel_values(f.vectors, kernel, chunk.rows, i, f.kernel_row)
            score(machines.coefficients[c : c + 1], f.kernel_row[:m], f.score)
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
                _insert(rule, c, machine(machines, c), kernel, chunk.rows, i, sign, counters)
                counters[UPDATES] += 1
        counters[STEPS] += counters[UPDATES] > updates


@jit
def _insert(rule, c, f, kernel, rows, i, sign, counters):
    """Insert the example with weight 1; where there are more than B vectors then, one leaves."""
    m = f.vectors.size[0]
    f.mistakes[0] += 1
    f.coefficients[m] = sign
    place = make_room(rule, c, f, kernel, counters)
    if place < budget_of(f):
        f.coefficients[place] = f.coefficients[m]
        put(f.vectors, place, rows, i)


def kernel_matrices(machines: int, budget: int, precision: Precision) -> NDArray[np.floating[Any]]:
    """Make room for the kernel values between the vectors of each machine; shape (machines, budget, budget)."""
    return np.zeros((machines, budget, budget), np.float32 if precision == "single" else np.float64)


@jit
def remember(kernel_matrix, place, kernel_row):
    """Write the kernel values of the vector that comes to a place with those stored into its row and column."""
    for j in range(len(kernel_row)):
        kernel_matrix[place, j] = kernel_matrix[j, place] = kernel_row[j]
