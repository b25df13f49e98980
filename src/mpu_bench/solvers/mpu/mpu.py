"""The margin perceptron with unlearning: soft or hard margin, any kernel, no bias.

    soft margin   min_w  J(w) = 1/2 ||w||^2 + C sum_i max(0, 1 - y_i w.x_i)
    hard margin   max_w  min_i y_i w.x_i / ||w||

Panagiotakopoulos, Tsampouka: "The Margin Perceptron with Unlearning", ICML 2010, Algorithm 1. With z_i = y_i x_i,
integers 0 <= I_i <= I and a = sum_i I_i z_i, an example is *learned* (a += z_i, I_i += 1) while a.z_i <= b and I_i < I,
and *unlearned* (a -= z_i, I_i -= 1) while a.z_i >= b + db and I_i > 0; db = 3 R^2 with R = max ||x_i||. The solution is
w = a / b. The presentation of the examples is in active_sets.py, with what is counted; kernels in responses.py.

Soft margin: the dual variables are I_i / b, C = I / b, and the accuracy eps wanted before running gives I (Remark 4).
The certificate after running is (24).

Hard margin: I is infinite and C is not used. Before running, the margin is certain to be above a fraction
1 / (1 + min(db, b + R^2) / b) of the maximum (11). As (b + R^2) / b is above 1, for eps < 1 the fraction 1 / (1 + eps)
takes db / b = eps. The certificate after running is (12), which at convergence is above that fraction as well, by (19).
Data that are not separable, for which the algorithm would never end, end a run by a certificate of that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np
from annotated_types import Ge, Gt, Lt

from mpu_bench.core.kernels import Kernel
from mpu_bench.core.models import Model
from mpu_bench.core.problem import Problem
from mpu_bench.core.rng import generator
from mpu_bench.core.solver import Allowance, Measures, Solver, Status
from mpu_bench.errors import ConfigError
from mpu_bench.solvers.mpu import active_sets, hard_margin
from mpu_bench.solvers.mpu.active_sets import Rule, State
from mpu_bench.solvers.mpu.responses import (
    model_of,
    recombined_squared_length,
    responses_to_zero,
    squared_length,
    survey,
)


@dataclass(frozen=True)
class MPU(Solver):
    """The margin perceptron with unlearning.

    Attributes
    ----------
    C : float
        The weight of the losses; not used with ``margin: hard``.
    accuracy : float
        epsilon, guaranteed before running: at convergence J is at most 1 + epsilon times the optimum, or the margin
        at least 1 / (1 + epsilon) of the maximum.
    stop : float
        epsilon_stop: end as soon as the after-running certificate guarantees as much for this accuracy; 0 runs to
        convergence.
    margin : str
        ``soft``: the L1-SVM. ``hard``: the maximum margin, for data that are separable.
    smallest_margin : float
        With ``margin: hard``, in units of R: data whose maximum margin is certainly below this end the run as not
        separable.
    """

    name = "mpu"
    paper = "mpu-2010"
    kernels: ClassVar = "any"
    l1_svm = True

    C: Annotated[float, Gt(0)] = 1.0
    accuracy: Annotated[float, Gt(0), Lt(1)] = 1e-5
    stop: Annotated[float, Ge(0)] = 1e-4
    margin: Literal["soft", "hard"] = "soft"
    smallest_margin: Annotated[float, Gt(0), Lt(1)] = 1e-6

    def rule(self, largest_squared_norm: float) -> Rule:
        """Choose I and b for the accuracy wanted; ``largest_squared_norm`` is R^2.

        Raises
        ------
        ConfigError
            If I is beyond 2^53, where doubles no longer hold all integers.
        """
        gap = 3.0 * float(largest_squared_norm)  # db > R^2, (7)
        if self.margin == "hard":
            b = gap / self.accuracy  # (11)
            return Rule(np.inf, b, b + gap, self.stop, self.smallest_margin * float(np.sqrt(largest_squared_norm)))
        most = self.C * gap * (2.0 + self.accuracy) / self.accuracy + 1.0  # Remark 4
        if most > 2.0**53:
            raise ConfigError(
                f"mpu: accuracy {self.accuracy} needs I = {most:.1e}, beyond 2^53; take a larger accuracy"
            )
        most = np.floor(most)
        return Rule(most, most / self.C, most / self.C + gap, self.stop, 0.0)

    def start(self, problem: Problem, kernel: Kernel, seed: int) -> State:
        """Start at a = 0."""
        self.check(problem, kernel)
        held, norms = responses_to_zero(problem, kernel)
        rule = self.rule(norms.max())
        if self.margin == "soft":
            return active_sets.start(held, norms, rule, generator(seed, self.name))
        hard_margin.check_lengths(self.name, self.accuracy, rule, norms)
        return hard_margin.start(held, norms, rule, generator(seed, self.name))

    def advance(self, state: State, allowance: Allowance) -> Status:
        """Present further examples."""
        return active_sets.advance(state, self.rule(state.squared_norms.max()), allowance)

    def model(self, state: State) -> Model:
        """Give w = a / b; in hard margin, too: y_i w.x_i is above 1 for every example at convergence."""
        return model_of(state.held, state.multiplicities, self.rule(state.squared_norms.max()).threshold)

    def measures(self, state: State) -> Measures:
        """Certify w = a / b: its objective by the dual variables I_i / b (24), or its margin (12)."""
        rule = self.rule(state.squared_norms.max())
        if self.margin == "hard":
            return hard_margin.measures(state, rule)
        b, counts = rule.threshold, state.multiplicities
        squared = float(squared_length(state.held, counts))
        loss, smallest = survey(state.held, b)
        objective = (squared / 2 / b + self.C * float(loss)) / b
        dual = (counts.sum() - recombined_squared_length(state.held, counts) / 2 / b) / b
        return Measures(
            objective,
            float(dual),
            gap=float(objective / dual - 1) if dual > 0 else None,
            margin=float(smallest / np.sqrt(squared)) if squared > 0 else None,
        )

    def remark(self, state: State) -> str:
        """Say that the data are not separable, where a run for a hard margin ended with that answer."""
        return hard_margin.remark(state)
