"""Pegasos with a kernel, without bias and without projection.

    min_w  P(w) = lambda/2 ||w||^2 + 1/n sum_i max(0, 1 - c_i),     c_i = y_i w.Phi(x_i)

Shalev-Shwartz, Singer, Srebro, Cotter: "Pegasos: primal estimated sub-gradient solver for SVM", Mathematical
Programming 127, 2011, Figure 3, with all responses kept: as it is compared with in Cotter, Shalev-Shwartz, Srebro: "The
Kernelized Stochastic Batch Perceptron", ICML 2012, section 4.2. Iteration t = 1, 2, ... draws i uniformly and takes

    w <- (1 - 1/t) w + [c_i < 1] y_i Phi(x_i) / (lambda t)

so that after it lambda t w = sum_i m_i y_i Phi(x_i), where m_i counts how often i was added, each time as its weight
where the losses have weights. The m_i and the responses to their sum are kept, and nothing is ever scaled. The model is
the last w.

It counts as kept_responses.py says. Measured is J(w) = P(w) / lambda = 1/2 ||w||^2 + C sum_i max(0, 1 - c_i) with
C = 1 / (lambda n), as of the other solvers of this problem.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mpu_bench.core.counters import PRESENTED, reached
from mpu_bench.core.jit import jit
from mpu_bench.core.rng import randint
from mpu_bench.core.solver import Until
from mpu_bench.solvers.batch.kept_responses import KeptResponses, State, add_example
from mpu_bench.solvers.certificates import of_example, per_example


@dataclass(frozen=True)
class KernelPegasos(KeptResponses):
    """Stochastic sub-gradient steps on examples drawn uniformly.

    Attributes
    ----------
    regularization : float
        lambda, the weight of the squared norm against the mean loss.
    passes : int
        The number of iterations, in n.
    """

    name = "pegasos-kernel"
    version = 2
    paper = "sbp-2012"
    weighted: ClassVar = True

    def _iterate(self, state: State, until: Until) -> None:
        weights = per_example(1.0, state.problem)
        _iterate(state.gram, state.work, state.counters, self.regularization, weights, until)

    def _scale(self, state: State) -> float:
        return self.regularization * max(int(state.counters[PRESENTED]), 1)  # lambda t


@jit
def _iterate(gram, work, counters, regularization, weights, until):
    n = np.uint32(len(work.signs))
    while not reached(counters, until):
        i = randint(work.generator, n)
        before = counters[PRESENTED]  # t - 1
        if before == 0 or work.responses[i] < regularization * before:  # c_i < 1
            weight = of_example(weights, i)
            work.alphas[i] += weight  # m_i
            add_example(gram, work, i, weight, counters)
        counters[PRESENTED] += 1
