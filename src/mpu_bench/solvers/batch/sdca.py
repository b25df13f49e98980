"""Stochastic dual coordinate ascent for the kernel L1-SVM without bias.

    primal   J(w) = 1/2 ||w||^2 + C sum_i max(0, 1 - c_i),    c_i = y_i w.Phi(x_i),   C = 1 / (lambda n)
    dual     D(alpha) = sum_i alpha_i - 1/2 ||w||^2,          w = sum_i alpha_i y_i Phi(x_i),   0 <= alpha_i <= C

Hsieh, Chang, Lin, Keerthi, Sundararajan: "A dual coordinate descent method for large-scale linear SVM", ICML 2008, with
the examples drawn uniformly (their section 3.2) and no shrinking, on kept responses: as the method is compared with in
Cotter, Shalev-Shwartz, Srebro: "The Kernelized Stochastic Batch Perceptron", ICML 2012, Problem 4.1. Each iteration
sets one alpha_i to its maximum. lambda J is Problem 2.2's objective, lambda/2 ||w||^2 + 1/n sum_i max(0, 1 - c_i).

Counted: an iteration is one example presented, of which n make an epoch; one that changes its alpha_i is a step and an
update and asks for n kernel values. To charge n for every iteration, take n times the examples presented.

Measured are J, D and the gap, all from the kept responses: of the kernel matrix as core/gram.py rounds its entries.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, NamedTuple

import numpy as np
from annotated_types import Ge, Gt
from numba import njit
from numpy.typing import NDArray

from mpu_bench.core import gram as kernel_matrix
from mpu_bench.core.counters import KERNEL_EVALUATIONS, PRESENTED, STEPS, UPDATES, new_counters
from mpu_bench.core.gram import Gram, row
from mpu_bench.core.kernels import Kernel
from mpu_bench.core.models import KernelModel
from mpu_bench.core.problem import Problem
from mpu_bench.core.rng import below, generator
from mpu_bench.core.rows import take
from mpu_bench.core.solver import Allowance, Measures, Solver, Status, mean_slack

_EXACT = 1e-12  # derivatives below are rounding


class State(NamedTuple):
    """What the algorithm works on; n examples."""

    problem: Problem
    gram: Gram
    signs: NDArray[np.float64]  #: y (n,)
    alphas: NDArray[np.float64]  #: (n,), in [0, C]
    responses: NDArray[np.float64]  #: c (n,)
    generator: NDArray[np.uint64]
    counters: NDArray[np.int64]


@dataclass(frozen=True)
class SDCA(Solver):
    """Stochastic dual coordinate ascent.

    Attributes
    ----------
    regularization : float
        lambda, the weight of the squared norm against the mean loss; C = 1 / (lambda n).
    passes : int
        The number of iterations, in n.
    """

    name = "sdca"
    paper = "sbp-2012"
    kernels: ClassVar = "any"
    kernel_svm: ClassVar = "no bias"

    regularization: Annotated[float, Gt(0)]
    passes: Annotated[int, Ge(1)] = 10

    def start(self, problem: Problem, kernel: Kernel, seed: int) -> State:
        """Start at alpha = 0."""
        self.check(problem, kernel)
        gram = kernel_matrix.build(problem.train, problem.features, kernel)
        alphas, responses = np.zeros(problem.n), np.zeros(problem.n)
        return State(problem, gram, problem.signs(), alphas, responses, generator(seed, "sdca"), new_counters())

    def advance(self, state: State, allowance: Allowance) -> Status:
        """Go on for further iterations."""
        n = len(state.signs)
        presented = min(allowance.presented, self.passes * n - int(state.counters[PRESENTED]))
        _advance(*state[1:], 1.0 / (self.regularization * n), presented, allowance.kernel_evaluations)
        return Status.DONE if state.counters[PRESENTED] == self.passes * n else Status.RUNNING

    def model(self, state: State) -> KernelModel:
        """Give w."""
        return expansion(state.problem, state.gram.kernel, state.alphas)

    def measures(self, state: State) -> Measures:
        """Certify w by alpha."""
        C = 1.0 / (self.regularization * len(state.signs))
        objective, nu = primal(state.alphas, state.responses, C)
        dual = float(state.alphas.sum() - state.alphas @ state.responses / 2)
        return Measures(objective, dual, objective / dual - 1 if dual > 0 else None, nu=nu)


def primal(alphas: NDArray[np.float64], responses: NDArray[np.float64], C: float) -> tuple[float, float | None]:
    """Evaluate J, and nu, of ``w = sum_i alpha_i y_i Phi(x_i)`` with its responses, both of shape (n,)."""
    squared, losses = float(alphas @ responses), np.maximum(0.0, 1.0 - responses)
    return squared / 2 + C * float(losses.sum()), mean_slack(losses, squared)


def expansion(problem: Problem, kernel: Kernel, alphas: NDArray[np.float64]) -> KernelModel:
    """Give ``f(x) = sum_i alpha_i y_i K(x_i, x)`` over the examples whose alpha_i, shape (n,), is not zero."""
    support = np.flatnonzero(alphas)
    coefficients = (problem.signs() * alphas)[support, np.newaxis]
    return KernelModel(take(problem.train, support), coefficients, kernel, problem.features)


@njit(cache=True, nogil=True)
def _advance(gram, signs, alphas, responses, generator, counters, C, presented, evaluations):
    n = np.uint32(len(signs))
    last = counters[PRESENTED] + presented
    most = counters[KERNEL_EVALUATIONS] + evaluations
    while counters[PRESENTED] < last and counters[KERNEL_EVALUATIONS] < most:
        counters[PRESENTED] += 1
        i = below(generator, n)
        derivative = 1.0 - responses[i]
        curvature = max(gram.diagonal[i], np.finfo(np.float64).tiny)  # a zero row goes to C at once
        change = min(max(alphas[i] + derivative / curvature, 0.0), C) - alphas[i]
        if change == 0.0 or abs(derivative) <= _EXACT:
            continue
        alphas[i] = min(max(alphas[i] + change, 0.0), C)
        add(responses, signs, change * signs[i], row(gram, i, counters))
        counters[STEPS] += 1
        counters[UPDATES] += 1
    return 0


@njit(cache=True, nogil=True)
def add(responses, signs, step, kernel_row):
    """Update the responses: ``c_j += step y_j K(x_i, x_j)``, all of shape (n,)."""
    for j in range(len(responses)):
        responses[j] += step * signs[j] * np.float64(kernel_row[j])
