"""Stochastic dual coordinate ascent for the kernel L1-SVM without bias.

    primal   J(w) = 1/2 ||w||^2 + C sum_i max(0, 1 - c_i),    c_i = y_i w.Phi(x_i),   C = 1 / (lambda n)
    dual     D(alpha) = sum_i alpha_i - 1/2 ||w||^2,          w = sum_i alpha_i y_i Phi(x_i),   0 <= alpha_i <= C

Hsieh, Chang, Lin, Keerthi, Sundararajan: "A dual coordinate descent method for large-scale linear SVM", ICML 2008, with
the examples drawn uniformly (their section 3.2) and no shrinking, on kept responses: as the method is compared with in
Cotter, Shalev-Shwartz, Srebro: "The Kernelized Stochastic Batch Perceptron", ICML 2012, Problem 4.1. Each iteration
sets one alpha_i to its maximum. lambda J is Problem 2.2's objective, lambda/2 ||w||^2 + 1/n sum_i max(0, 1 - c_i).

It counts as kept_responses.py says. Measured are J, D and the gap (solvers/expansions.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mpu_bench.core.counters import PRESENTED, reached
from mpu_bench.core.jit import jit
from mpu_bench.core.rng import randint
from mpu_bench.core.solver import Measures, Until
from mpu_bench.solvers.batch.kept_responses import KeptResponses, State, add_example
from mpu_bench.solvers.certificates import of_example, per_example
from mpu_bench.solvers.expansions import certify_expansion

_ROUNDING = 1e-12  # of a derivative: where it is less, alpha_i stays


@dataclass(frozen=True)
class SDCA(KeptResponses):
    """Stochastic dual coordinate ascent.

    Attributes
    ----------
    regularization : float
        lambda, the weight of the squared norm against the mean loss; C = 1 / (lambda n).
    passes : int
        The number of iterations, in n.
    """

    name = "sdca"
    version = 2
    paper = "sbp-2012"
    weighted: ClassVar = True

    def _iterate(self, state: State, until: Until) -> None:
        C = per_example(self.weight(state.problem.n), state.problem)
        _iterate(state.gram, state.work, state.counters, C, until)

    def measures(self, state: State) -> Measures:
        """Certify w by alpha."""
        problem, (coefficients, kept_responses) = state.problem, self._expansion(state)
        C, has_ended = per_example(self.weight(problem.n), problem), self._has_ended(state)
        return certify_expansion(problem, state.gram.kernel, coefficients, C, kept=kept_responses, has_ended=has_ended)


@jit
def _iterate(gram, work, counters, C, until):
    alphas, responses, n = work.alphas, work.responses, np.uint32(len(work.signs))
    while not reached(counters, until):
        counters[PRESENTED] += 1
        i = randint(work.generator, n)
        derivative, upper = 1.0 - responses[i], of_example(C, i)
        curvature = max(gram.diagonal[i], np.finfo(np.float64).tiny)  # a zero row goes to C at once
        change = min(max(alphas[i] + derivative / curvature, 0.0), upper) - alphas[i]
        if change == 0.0 or abs(derivative) <= _ROUNDING:
            continue
        alphas[i] = min(max(alphas[i] + change, 0.0), upper)
        add_example(gram, work, i, change, counters)
