"""BPA-S: the Passive-Aggressive learner on a budget that puts a new example in the place of one support vector.

    f(x) = sum_j alpha_j K(x_j, x)   over the stored vectors S, |S| <= B,   K(x, x) = 1

Wang, Vucetic: "Online Passive-Aggressive Algorithms on a Budget", AISTATS 2010, with the simplest of its three updates
of what is left. An example (x, y) with the hinge loss l = max(0, 1 - y f(x)) above 0 asks for the step of PA-I,
tau = min(C, l). With fewer than B vectors it is stored with y tau. Else it takes the place of the vector r for which

    Q_r = 1/2 ||f_r - f||^2 + C max(0, 1 - y f_r(x)),   f_r = f - alpha_r K(x_r, .) + beta_r K(x, .),

is the least, with the coefficient beta_r = alpha_r K(x_r, x) + y tau; on ties (within 1e-9) the first.

With more than two classes one function per class learns its class against the rest, with at most B vectors each, as
those of budget_perceptrons.py.

Counted: |S| kernel evaluations per function and example presented, and none for a removal; a step of a function is an
update, an example that causes any is a step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, NamedTuple

import numpy as np
from annotated_types import Ge, Gt

from mpu_bench.core.jit import jit
from mpu_bench.core.problem import Problem
from mpu_bench.core.rows import Rows, squared_norms
from mpu_bench.errors import ConfigError
from mpu_bench.kernels import Kernel
from mpu_bench.kernels.matrix import blocks_of_diagonal, kernel_diagonal
from mpu_bench.kernels.precision import Precision
from mpu_bench.solvers.online.budget_perceptrons import BudgetPerceptron, State
from mpu_bench.solvers.online.leaving import asks_for_slot, slot_for

_TIE = 1e-9  # Q are equal that differ by no more than this part
_NOT_ONE = 1e-6  # of K(x, x): rows may be in single precision


class Replacing(NamedTuple):
    """The limits of a step; stands for the `Leaving` of perceptrons."""

    budget: int  #: B
    C: float


@dataclass(frozen=True, kw_only=True)
class BPAS(BudgetPerceptron):
    """BPA-S, the Passive-Aggressive learner on a budget.

    Attributes
    ----------
    vectors : int
        B, the budget; with more than two classes that of each function.
    C : float
        The largest step, and the weight of the loss against the change of f.
    passes : int
        How often every example is presented, each time in a new random order.
    precision : {"single", "double"}
        Of kernel values, where single is enough (kernels/precision.py); scores are added up in double.
    """

    name = "bpa-s"
    paper = "wang-2010"
    kernels: ClassVar = "constant-diagonal"

    vectors: Annotated[int, Ge(1)] = 100
    C: Annotated[float, Gt(0)] = 1.0

    def check(self, problem: Problem, kernel: Kernel) -> None:
        """Refuse what every solver refuses, and a kernel with which K(x, x) is not 1."""
        super().check(problem, kernel)
        for rows in blocks_of_diagonal(problem, kernel):
            self._refuse_lengths(kernel, rows, problem.name)

    def refuse_overflow(self, state: State, rows: Rows) -> None:
        """Refuse further rows as `check` does the first."""
        self._refuse_lengths(state.kernel, rows, "rows")
        super().refuse_overflow(state, rows)

    def _refuse_lengths(self, kernel: Kernel, rows: Rows, name: str) -> None:
        diagonal = kernel_diagonal(kernel, squared_norms(rows))
        if (np.abs(diagonal - 1.0) > _NOT_ONE).any():
            raise ConfigError(
                f"{self.name}: K(x, x) is {diagonal.min():.3g} to {diagonal.max():.3g} on {name}; it must be 1:"
                " take a gaussian kernel, or normalize: true"
            )

    def leaving(self, precision: Precision, seed: int, functions: int) -> Replacing:  # noqa: ARG002
        """Return the limits of a step."""
        return Replacing(self.vectors, self.C)


@asks_for_slot.register(Replacing)
def _(_replacing, margin):
    return margin < 1.0


@slot_for.register(Replacing, forceinline=True)  # a call with all these arrays takes longer
def _(replacing, f, c, first, m, _mistakes, _kernel, _counters):
    alphas, kernel_row, score = f.coefficients[c, first:], f.kernel_row[first : first + m], f.scores[c]
    sign, C, r = alphas[m], replacing.C, np.int64(m)
    beta = sign * min(C, 1.0 - sign * score)
    if m == replacing.budget:
        r = _least_harm(alphas, kernel_row, score, sign, beta, C)
        beta += alphas[r] * kernel_row[r]
    alphas[m] = beta
    return r


@jit
def _least_harm(alphas, kernel_row, score, sign, step, C):
    """Return the r of the least Q_r; ``step`` is y tau."""
    least, slot = np.inf, np.int64(0)
    for r in range(len(kernel_row)):
        contribution = alphas[r] * kernel_row[r]
        beta = contribution + step
        change = alphas[r] * alphas[r] + beta * beta - 2.0 * beta * contribution
        Q = 0.5 * change + C * max(0.0, 1.0 - sign * (score - contribution + beta))
        if least * (1.0 - _TIE) > Q:
            least, slot = Q, np.int64(r)
    return slot
