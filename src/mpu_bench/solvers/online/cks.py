"""CKS: the Perceptron that drops the vector which is best explained by the others.

    f(x) = sum_j y_j K(x_j, x)   over the stored vectors S, |S| <= B

Crammer, Kandola, Singer: "Online classification on a budget", NIPS 2003, as Dekel, Shalev-Shwartz, Singer ("The
Forgetron", NIPS 2005, section 5) compare with it: on an error insert the example; past B remove

    argmax_j y_j (f(x_j) - y_j K(x_j, x_j))

the vector whose margin is the largest after its removal. The new example is among the candidates; with ``victim:
before-insertion`` f is that before it came, and it is none. The text of 2005 ("when the CKS algorithm exceeds its
budget, it removes ...") allows both. On ties (within 1e-9, so that rounding does not decide) the oldest leaves.
`g_j = f(x_j) - y_j K(x_j, x_j)` is carried along for all stored vectors (`MIN_NEEDED` in leaving.py).

Counted: |S| kernel evaluations per example presented, and the B + 1 of the vector that leaves with those stored and
the new one; they are at hand in a matrix of B x B kernel values, so nothing is computed for them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from mpu_bench.solvers.online.budget_perceptrons import BudgetPerceptron
from mpu_bench.solvers.online.leaving import MIN_NEEDED, MIN_NEEDED_BEFORE


@dataclass(frozen=True)
class CKS(BudgetPerceptron):
    """The Perceptron that drops the vector which is best explained by the others.

    `BudgetPerceptron` has the other parameters.

    Attributes
    ----------
    victim : {"after-insertion", "before-insertion"}, optional
        When the vector that leaves is chosen: among those stored and the new one, the default, or among those stored
        before it came.
    """

    name = "cks"
    paper = "forgetron-2005"

    victim: Literal["after-insertion", "before-insertion"] | None = None

    @property
    def rule(self) -> int:
        """How the vector that leaves is chosen."""
        return MIN_NEEDED_BEFORE if self.victim == "before-insertion" else MIN_NEEDED
