"""Pegasos with a kernel, without bias and without projection.

    min_w  P(w) = lambda/2 ||w||^2 + 1/n sum_i max(0, 1 - c_i),     c_i = y_i w.Phi(x_i)

Shalev-Shwartz, Singer, Srebro, Cotter: "Pegasos: primal estimated sub-gradient solver for SVM", Mathematical
Programming 127, 2011, Figure 3, with all responses kept: as it is compared with in Cotter, Shalev-Shwartz, Srebro: "The
Kernelized Stochastic Batch Perceptron", ICML 2012, section 4.2. Iteration t = 1, 2, ... draws i uniformly and takes

    w <- (1 - 1/t) w + [c_i < 1] y_i Phi(x_i) / (lambda t)

so that after it lambda t w = sum_i m_i y_i Phi(x_i), where m_i counts how often i was added. The m_i and the responses
to their sum are kept, and nothing is ever scaled. The model is the last w.

Counted: an iteration is one example presented, of which n make an epoch; one that adds its example is a step and an
update and asks for n kernel values. To charge n for every iteration, take n times the examples presented.

Measured is J(w) = P(w) / lambda = 1/2 ||w||^2 + C sum_i max(0, 1 - c_i) with C = 1 / (lambda n), as of the other
solvers of this problem.
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
from mpu_bench.core.solver import Allowance, Measures, Solver, Status
from mpu_bench.solvers.batch.sdca import add, expansion, primal


class State(NamedTuple):
    """What the algorithm works on; n examples."""

    problem: Problem
    gram: Gram
    signs: NDArray[np.float64]  #: y (n,)
    multiplicities: NDArray[np.float64]  #: m (n,)
    responses: NDArray[np.float64]  #: lambda t c (n,)
    generator: NDArray[np.uint64]
    counters: NDArray[np.int64]


@dataclass(frozen=True)
class KernelPegasos(Solver):
    """Stochastic sub-gradient steps on examples drawn uniformly.

    Attributes
    ----------
    regularization : float
        lambda, the weight of the squared norm against the mean loss.
    passes : int
        The number of iterations, in n.
    """

    name = "pegasos-kernel"
    paper = "sbp-2012"
    kernels: ClassVar = "any"
    kernel_svm: ClassVar = "no bias"

    regularization: Annotated[float, Gt(0)]
    passes: Annotated[int, Ge(1)] = 10

    def start(self, problem: Problem, kernel: Kernel, seed: int) -> State:
        """Start at w = 0."""
        self.check(problem, kernel)
        gram = kernel_matrix.build(problem.train, problem.features, kernel)
        counts, responses, stream = np.zeros(problem.n), np.zeros(problem.n), generator(seed, "pegasos-kernel")
        return State(problem, gram, problem.signs(), counts, responses, stream, new_counters())

    def advance(self, state: State, allowance: Allowance) -> Status:
        """Go on for further iterations."""
        most = self.passes * len(state.signs)
        presented = min(allowance.presented, most - int(state.counters[PRESENTED]))
        _advance(*state[1:], self.regularization, presented, allowance.kernel_evaluations)
        return Status.DONE if state.counters[PRESENTED] == most else Status.RUNNING

    def model(self, state: State) -> KernelModel:
        """Give the last w."""
        return expansion(state.problem, state.gram.kernel, state.multiplicities / self._divisor(state))

    def measures(self, state: State) -> Measures:
        """Evaluate the objective of the last w; there are no dual variables to certify it."""
        divisor = self._divisor(state)
        C = 1.0 / (self.regularization * len(state.signs))
        objective, nu = primal(state.multiplicities / divisor, state.responses / divisor, C)
        return Measures(objective=objective, nu=nu)

    def _divisor(self, state: State) -> float:
        return self.regularization * max(int(state.counters[PRESENTED]), 1)


@njit(cache=True, nogil=True)
def _advance(gram, signs, multiplicities, responses, generator, counters, regularization, presented, evaluations):
    n = np.uint32(len(signs))
    last = counters[PRESENTED] + presented
    most = counters[KERNEL_EVALUATIONS] + evaluations
    while counters[PRESENTED] < last and counters[KERNEL_EVALUATIONS] < most:
        i = below(generator, n)
        before = counters[PRESENTED]  # t - 1
        if before == 0 or responses[i] < regularization * before:  # c_i < 1
            multiplicities[i] += 1.0
            add(responses, signs, signs[i], row(gram, i, counters))
            counters[STEPS] += 1
            counters[UPDATES] += 1
        counters[PRESENTED] += 1
    return 0
