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
from typing import Annotated, ClassVar

import numpy as np
from annotated_types import Gt, Lt

from mpu_bench.core.kernels import Kernel
from mpu_bench.core.models import Model
from mpu_bench.core.problem import Problem
from mpu_bench.core.rng import generator
from mpu_bench.core.solver import Allowance, Measures, Solver, Status
from mpu_bench.solvers.mpu import active_sets, hard_margin
from mpu_bench.solvers.mpu.active_sets import Rule, State
from mpu_bench.solvers.mpu.responses import model_of, responses_to_zero


@dataclass(frozen=True)
class MarginPerceptron(Solver):
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
    kernels: ClassVar = "any"

    accuracy: Annotated[float, Gt(0), Lt(1)] = 1e-2
    smallest_margin: Annotated[float, Gt(0), Lt(1)] = 1e-6

    def rule(self, largest_squared_norm: float) -> Rule:
        """Choose b for the accuracy wanted; ``largest_squared_norm`` is R^2."""
        b = float(largest_squared_norm) / self.accuracy
        return Rule(np.inf, b, np.inf, 0.0, self.smallest_margin * float(np.sqrt(largest_squared_norm)))

    def start(self, problem: Problem, kernel: Kernel, seed: int) -> State:
        """Start at a = 0."""
        self.check(problem, kernel)
        held, norms = responses_to_zero(problem, kernel)
        rule = self.rule(norms.max())
        hard_margin.check_lengths(self.name, self.accuracy, rule, norms)
        return hard_margin.start(held, norms, rule, generator(seed, self.name))

    def advance(self, state: State, allowance: Allowance) -> Status:
        """Present further examples."""
        return active_sets.advance(state, self.rule(state.squared_norms.max()), allowance)

    def model(self, state: State) -> Model:
        """Give w = a / b."""
        return model_of(state.held, state.multiplicities, self.rule(state.squared_norms.max()).threshold)

    def measures(self, state: State) -> Measures:
        """Certify the margin (12)."""
        return hard_margin.measures(state, self.rule(state.squared_norms.max()))

    def remark(self, state: State) -> str:
        """Say that the data are not separable, where the run ended with that answer."""
        return hard_margin.remark(state)
