"""The perceptron with margin: hard margin, any kernel, no bias.

Duda, Hart: "Pattern Classification and Scene Analysis", Wiley 1973; Krauth, Mezard: "Learning algorithms with optimal
stability in neural networks", Journal of Physics A 20, 1987. With z_i = y_i x_i, an example is learned (a += z_i) while
a.z_i <= b. It is the margin perceptron with unlearning (mpu.py) with infinite I and db: (15) and (20) of mpu-2010 give

    updates <= (R^2 + 2b) / d^2,   margin >= d / (2 + R^2 / b)   at convergence

for data with the maximum margin d; b is chosen as R^2 / accuracy. The certificate, the active sets and the answer for
data without a margin are those of mpu.

Counted: one inner product per example presented, or with a kernel n kernel evaluations per update.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from annotated_types import Gt, Lt

from mpu_bench.solvers.mpu.mpu import ThresholdPerceptron, Thresholds


@dataclass(frozen=True)
class MarginPerceptron(ThresholdPerceptron):
    """The perceptron with margin.

    Attributes
    ----------
    accuracy : float
        epsilon: the margin is at least 1 / (2 + epsilon) of the maximum margin at convergence.
    smallest_margin : float
        In units of R: data whose maximum margin is certainly below this end the run as not separable.
    """

    name = "margin-perceptron"
    paper = "mpu-2010"

    accuracy: Annotated[float, Gt(0), Lt(1)] = 1e-2
    smallest_margin: Annotated[float, Gt(0), Lt(1)] = 1e-6

    def thresholds(self, R2: float, heaviest: float) -> Thresholds:  # noqa: ARG002
        """Choose b for the accuracy wanted; nothing is unlearned."""
        return Thresholds(np.inf, R2 / self.accuracy, np.inf, 0.0, self.smallest_margin * float(np.sqrt(R2)))
