"""Perceptrons that keep at most B vectors, and the two simplest answers to which one leaves: the oldest, or any.

    f(x) = sum_j a_j K(x_j, x),  a_j = y_j w_j   over the stored vectors S, |S| <= B

Dekel, Shalev-Shwartz, Singer: "The Forgetron: A Kernel-Based Perceptron on a Fixed Budget", NIPS 2005, section 3:
predict, and on an error (y f(x) <= 0) insert the example with weight 1; if there are more than B vectors then, one
leaves. Which, and what happens to the weights before, is a solver's `rule` (leaving.py): `perceptron-oldest` (section
3) and `perceptron-random` (Cavallanti, Cesa-Bianchi, Gentile 2007: any vector but the new one, all equally likely) are
here, `cks` and `forgetron` have files of their own.

With more than two classes one function per class learns its class against the rest (one-against-rest): c of them
of at most B vectors each, all of one stream. The class with the highest score is predicted, and the online error is
that of this prediction. The slots of one function follow those of another: s of them each, B and at least one more.

Counted: |S| kernel evaluations per function and example presented, and what a rule asks for; an insertion is an
update, an example that causes any is a step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from annotated_types import Ge
from numpy.typing import NDArray

from mpu_bench.core.counters import STEPS, UPDATES, new_counters, reached
from mpu_bench.core.jit import jit
from mpu_bench.core.models import KernelModel
from mpu_bench.core.problem import Problem
from mpu_bench.core.rng import rng
from mpu_bench.core.solver import Until
from mpu_bench.core.stream import Chunk, Stream
from mpu_bench.core.vectors import example_at_hand, padded, put, some_kernel_values, weighted_sum
from mpu_bench.kernels import Kernel
from mpu_bench.kernels.precision import Precision, precision_for
from mpu_bench.solvers.online.leaving import OLDEST, RANDOM, asks_for_slot, new_leaving, slot_for
from mpu_bench.solvers.online.online import (
    OnlineSolver,
    OnlineState,
    functions_for,
    has_room,
    model_of,
    new_hypothesis,
    next_example,
    predict,
    sign_for,
    with_room,
)


@dataclass
class State(OnlineState):
    """What the algorithm works on."""

    sizes: NDArray[np.int64]  #: (c,) |S|, how many vectors each function has
    mistakes: NDArray[np.int64]  #: (c,) M, the present one included
    leaving: Any  #: a `Leaving`, or what another learner has in its place


@dataclass(frozen=True, kw_only=True)
class BudgetPerceptron(OnlineSolver):
    """A Perceptron of at most B vectors; subclasses say by which ``rule`` of leaving.py one leaves.

    Attributes
    ----------
    vectors : int
        B, the budget; with more than two classes that of each function.
    passes : int
        How often every example is presented, each time in a new random order.
    precision : {"single", "double"}
        Of kernel values, where single is enough (kernels/precision.py); scores are added up in double.
    """

    changes_by_updates: ClassVar = True

    vectors: Annotated[int, Ge(1)]
    precision: Precision = "single"

    @property
    def rule(self) -> int:
        """Which of leaving.py it is."""
        raise NotImplementedError

    def start(self, problem: Problem, kernel: Kernel, seed: int) -> State:
        """Start with nothing stored: f = 0."""
        self.check(problem, kernel)
        functions = functions_for(len(problem.classes))
        precision = precision_for(problem, kernel, self.precision)
        f = new_hypothesis(problem, functions * padded(self.vectors + 1), precision, quantised=True)
        leaving = self.leaving(precision, seed, functions)
        sizes, mistakes = np.zeros(functions, np.int64), np.zeros(functions, np.int64)
        errors, counters = np.zeros(1, np.int64), new_counters()
        return State(Stream(problem, seed), kernel, f, errors, counters, sizes, mistakes, leaving)

    def leaving(self, precision: Precision, seed: int, functions: int) -> Any:
        """Return what decides who leaves each of so many functions."""
        return new_leaving(self.rule, self.vectors, precision, rng(seed, "vector to leave"), functions)

    def present(self, state: State, chunk: Chunk, position: int, until: Until) -> None:
        """Predict and learn; ends early where there is no room for a vector that is kept sparse."""
        state.hypothesis = with_room(state.hypothesis, chunk, position)
        functions = state.hypothesis, state.sizes, state.mistakes, state.leaving
        _present(*functions, state.kernel, chunk, position, until, state.errors, state.counters)

    def model(self, state: State) -> KernelModel:
        """Return the expansion over the stored vectors, those of all functions one after the other."""
        f, sizes = state.hypothesis, state.sizes
        by_function = np.arange(len(f.kernel_row)).reshape(len(sizes), -1)
        taken = np.concatenate([slots[:size] for slots, size in zip(by_function, sizes, strict=True)])
        return model_of(f, state.kernel, taken)


@dataclass(frozen=True)
class PerceptronOldest(BudgetPerceptron):
    """The Perceptron that drops its oldest vector.

    `BudgetPerceptron` has the parameters.
    """

    name = "perceptron-oldest"
    paper = "forgetron-2005"
    rule = OLDEST


@dataclass(frozen=True)
class PerceptronRandom(BudgetPerceptron):
    """The Perceptron that drops one of its vectors at random.

    `BudgetPerceptron` has the parameters.
    """

    name = "perceptron-random"
    paper = "forgetron-2005"
    rule = RANDOM


@jit
def _present(f, sizes, mistakes, leaving, kernel, chunk, position, until, errors, counters):
    scores, s = f.scores, len(f.kernel_row) // len(f.scores)
    for p in range(position, len(chunk.order)):
        i = next_example(chunk, p)
        if reached(counters, until) or not has_room(f, chunk.rows, i):
            return
        label = chunk.labels[i]
        if np.isnan(_predict(f, sizes, kernel, chunk.rows, i, label, errors, counters)):
            return
        updates = counters[UPDATES]
        for c in range(len(scores)):
            sign = sign_for(c, label, scores)
            if asks_for_slot(leaving, sign * scores[c]):
                _insert(f, sizes, mistakes, leaving, c, c * s, kernel, chunk.rows, i, sign, counters)
                counters[UPDATES] += 1
        counters[STEPS] += counters[UPDATES] > updates


@jit(inline="always")
def _predict(f, sizes, kernel, rows, i, label, errors, counters):
    """Score an example, function by function with a kernel row each, and count it as `predict` does.

    Returns
    -------
    float
        By how much its class is ahead; NaN, and nothing is counted, where a score is not finite.
    """
    requested, s = 0, len(f.kernel_row) // len(f.scores)
    nonzero_count, norm = example_at_hand(f.vectors, rows, i)
    for c in range(len(f.scores)):
        first, m = c * s, sizes[c]
        some_kernel_values(f.vectors, kernel, nonzero_count, norm, first, m, f.kernel_row)
        f.scores[c] = weighted_sum(f.coefficients[c, first : first + m], f.kernel_row[first:])
        requested += m
    return predict(f.scores, label, requested, requested, errors, counters)[1]


@jit(forceinline=True)
def _insert(f, sizes, mistakes, leaving, c, first, kernel, rows, i, sign, counters):
    """Insert the example with weight 1, or what ``leaving`` makes of it; where there are B vectors, one leaves."""
    m, coefficients = sizes[c], f.coefficients[c]
    mistakes[c] += 1
    coefficients[first + m] = sign
    slot = slot_for(leaving, f, c, first, m, mistakes[c], kernel, counters)
    if slot < leaving.budget:
        coefficients[first + slot] = coefficients[first + m]
        put(f.vectors, first + slot, rows, i)
        sizes[c] = max(m, slot + 1)
