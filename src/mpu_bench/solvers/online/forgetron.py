"""The Forgetron: weights shrink before the oldest vector leaves, just enough for a bound on the mistakes.

    f(x) = sum_j sigma_j y_j K(x_j, x)   over the active set I, |I| <= B

Dekel, Shalev-Shwartz, Singer: "The Forgetron: A Kernel-Based Perceptron on a Fixed Budget", NIPS 2005, Figure 1. On
a mistake (y f(x) <= 0) insert the example with weight 1 (step 1). If there are more than B vectors then, all weights
are scaled by the largest phi in (0, 1] with

    Psi(sigma_r, phi, mu_r) + Q <= 15/32 M,   Psi(sigma, phi, mu) = (sigma phi)^2 + 2 sigma phi (1 - phi mu)    (4)

(step 2) and the oldest, r, leaves (step 3). M counts the mistakes, Q adds up the Psi, and mu_r = y_r f'(x_r) is the
margin of r under f', the hypothesis after the insertion. If K(x, x) <= 1, B >= 83 and ||g|| <= sqrt((B + 1) /
log(B + 1)) / 4, then M <= 2 ||g||^2 + 4 sum_t hinge(g; x_t, y_t) (Theorem 2). Where K(x, x) is far above 1 and
above all other kernel values, mu is so large that nothing ever shrinks, and the Forgetron is `perceptron-oldest`:
use ``normalize: true`` then.

phi is found as a root of a quadratic, and scaling costs O(B), as a mistake does anyway.

Counted: |S| kernel evaluations per example presented, and the B + 1 of the vector that leaves with all stored; of these
only K(x_r, x_r) is computed, the others are at hand in a matrix of B x B kernel values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mpu_bench.core.counters import KERNEL_COMPUTED, KERNEL_EVALUATIONS
from mpu_bench.core.jit import jit
from mpu_bench.kernels import value
from mpu_bench.kernels.precision import Precision
from mpu_bench.solvers.online.budget_perceptrons import (
    BudgetPerceptron,
    State,
    budget_of,
    free_slot,
    kernel_matrices,
    remember,
)

_DAMAGE_PER_MISTAKE = 15 / 32  # of (4)
_NORM_ROUNDING = 1e-5  # of K(x, x) in single precision


class Shrinking(NamedTuple):
    """What is remembered of c hypotheses."""

    damage: NDArray[np.float64]  #: (c,) Q
    kernel_matrix: NDArray[np.floating[Any]]  #: (c, B, B) K(x_i, x_j) by slot; the diagonal is not used


@dataclass(frozen=True)
class Forgetron(BudgetPerceptron):
    """The Forgetron; `BudgetPerceptron` has the parameters."""

    name = "forgetron"
    paper = "forgetron-2005"
    # a score near zero decides whether there is a mistake; the errors of the last hypothesis scatter by points
    rounding: ClassVar = {"kernel_evaluations": 5e-3, "updates": 0.02, "train_error": 0.05, "test_error": 0.05}

    def removal(self, functions: int, precision: Precision, seed: int) -> Shrinking:  # noqa: ARG002
        """Start with Q = 0."""
        return Shrinking(np.zeros(functions), kernel_matrices(functions, self.vectors, precision))

    def note(self, state: State) -> str:
        """Return where the mistake bound does not hold because kernel values are too large."""
        norms = state.hypotheses.vectors.squared_norms.max()
        largest = value(state.kernel, norms, norms, norms)
        return "" if largest <= 1 + _NORM_ROUNDING else f"K(x, x) is up to {largest:.3g}; Theorem 2 asks for at most 1"


@free_slot.register(Shrinking)
def _(removal, c, f, kernel, counters):
    m, mistakes, budget, coefficients = f.vectors.size[0], f.mistakes[0], budget_of(f), f.coefficients
    kernel_row, r = f.kernel_row[:m], (mistakes - 1) % budget  # r = min I, once all slots are taken
    if m == budget:
        mu = _margin(f, kernel, removal.kernel_matrix[c, r], r)
        counters[KERNEL_EVALUATIONS] += budget + 1
        counters[KERNEL_COMPUTED] += 1
        phi, removal.damage[c] = shrink(abs(coefficients[r]), mu, removal.damage[c], mistakes)  # step 2
        if phi < 1.0:
            for j in range(len(coefficients)):
                coefficients[j] *= phi
    remember(removal.kernel_matrix[c], r, kernel_row)
    return r  # step 3


@jit
def _margin(f, kernel, row, r):
    """Return ``mu = y_r f'(x_r)`` from the kernel values of the stored vectors with x_r."""
    coefficients, norm = f.coefficients, np.float64(f.vectors.squared_norms[r])
    total = coefficients[r] * value(kernel, norm, norm, norm) + coefficients[len(row)] * f.kernel_row[r]
    for j in range(len(row)):
        if j != r:
            total += coefficients[j] * row[j]
    return total if coefficients[r] > 0 else -total


@jit
def shrink(sigma, mu, damage, mistakes):
    """Return phi.

    Parameters
    ----------
    sigma, mu : float
        The weight and the margin of the vector that leaves; sigma > 0.
    damage : float
        Q, at most 15/32 (M - 1).
    mistakes : int
        M.

    Returns
    -------
    phi : float
        The largest in (0, 1] for which (4) holds.
    damage : float
        Q + Psi(sigma, phi, mu), at most 15/32 M.
    """
    # (4) is a phi^2 + b phi <= slack, with b > 0 and slack > 0
    a, b, slack = sigma * (sigma - 2.0 * mu), 2.0 * sigma, _DAMAGE_PER_MISTAKE * mistakes - damage
    if a + b <= slack:
        return 1.0, min(damage + a + b, _DAMAGE_PER_MISTAKE * mistakes)
    return 2.0 * slack / (b + np.sqrt(b * b + 4.0 * a * slack)), _DAMAGE_PER_MISTAKE * mistakes
