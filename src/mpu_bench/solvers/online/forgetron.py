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

phi is found as a root of a quadratic (`shrink` in leaving.py), and scaling costs O(B), as a mistake does anyway.

Counted: |S| kernel evaluations per example presented, and the B + 1 of the vector that leaves with all stored; of these
only K(x_r, x_r) is computed, the others are at hand in a matrix of B x B kernel values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from mpu_bench.kernels import value
from mpu_bench.solvers.online.budget_perceptrons import BudgetPerceptron
from mpu_bench.solvers.online.leaving import SHRUNK

_NORM_ROUNDING = 1e-5  # of K(x, x) in single precision


@dataclass(frozen=True)
class Forgetron(BudgetPerceptron):
    """The Forgetron.

    `BudgetPerceptron` has the parameters.
    """

    name = "forgetron"
    paper = "forgetron-2005"
    # a score near zero decides whether there is a mistake; the errors of the last hypothesis scatter by points
    rounding: ClassVar = {"kernel_evaluations": 5e-3, "updates": 0.02, "train_error": 0.05, "test_error": 0.05}
    rule = SHRUNK

    def note(self, state: Any) -> str:
        """Return where the mistake bound does not hold because kernel values are too large."""
        norms = state.hypothesis.vectors.squared_norms.max()
        largest = value(state.kernel, norms, norms, norms)
        return "" if largest <= 1 + _NORM_ROUNDING else f"K(x, x) is up to {largest:.3g}; Theorem 2 asks for at most 1"
