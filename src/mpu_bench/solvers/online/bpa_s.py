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
from typing import Annotated, ClassVar

import numpy as np
from annotated_types import Ge, Gt
from numpy.typing import NDArray

from mpu_bench.core.counters import STEPS, UPDATES, new_counters, reached
from mpu_bench.core.jit import jit
from mpu_bench.core.models import KernelModel
from mpu_bench.core.problem import Problem
from mpu_bench.core.rows import Rows, squared_norms
from mpu_bench.core.solver import Until
from mpu_bench.core.stream import Chunk, Stream
from mpu_bench.core.vectors import padded, put
from mpu_bench.errors import ConfigError
from mpu_bench.kernels import Kernel
from mpu_bench.kernels.matrix import kernel_diagonal
from mpu_bench.kernels.precision import Precision, precision_for
from mpu_bench.solvers.online.budget_perceptrons import model_of_functions, predict_by_functions
from mpu_bench.solvers.online.online import (
    OnlineSolver,
    OnlineState,
    functions_for,
    has_room,
    new_hypothesis,
    next_example,
    sign_for,
    with_room,
)

_TIE = 1e-9  # Q are equal that differ by no more than this part
_NOT_ONE = 1e-6  # of K(x, x): rows may be in single precision


@dataclass
class State(OnlineState):
    """What the algorithm works on."""

    sizes: NDArray[np.int64]  #: (c,) |S|, how many vectors each function has


@dataclass(frozen=True, kw_only=True)
class BPAS(OnlineSolver):
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
    changes_by_updates: ClassVar = True
    kernels: ClassVar = "constant-diagonal"

    vectors: Annotated[int, Ge(1)] = 100
    C: Annotated[float, Gt(0)] = 1.0
    precision: Precision = "single"

    def start(self, problem: Problem, kernel: Kernel, seed: int) -> State:
        """Start with nothing stored: f = 0.

        Raises
        ------
        ConfigError
            If K(x, x) is not 1.
        """
        self.check(problem, kernel)
        self._refuse_lengths(kernel, problem.train, problem.name)
        functions = functions_for(len(problem.classes))
        precision = precision_for(problem, kernel, self.precision)
        f = new_hypothesis(problem, functions * padded(self.vectors + 1), precision, quantised=True)
        errors, counters = np.zeros(1, np.int64), new_counters()
        return State(Stream(problem, seed), kernel, f, errors, counters, np.zeros(functions, np.int64))

    def refuse_overflow(self, state: State, rows: Rows) -> None:
        """Refuse further rows as `start` does the first."""
        self._refuse_lengths(state.kernel, rows, "rows")
        super().refuse_overflow(state, rows)

    def _refuse_lengths(self, kernel: Kernel, rows: Rows, name: str) -> None:
        diagonal = kernel_diagonal(kernel, squared_norms(rows))
        if (np.abs(diagonal - 1.0) > _NOT_ONE).any():
            raise ConfigError(
                f"{self.name}: K(x, x) is {diagonal.min():.3g} to {diagonal.max():.3g} on {name}; it must be 1:"
                " take a gaussian kernel, or normalize: true"
            )

    def present(self, state: State, chunk: Chunk, position: int, until: Until) -> None:
        """Predict and learn; ends early where there is no room for a vector that is kept sparse."""
        f = state.hypothesis = with_room(state.hypothesis, chunk, position)
        limits = self.vectors, self.C
        _present(f, state.sizes, limits, state.kernel, chunk, position, until, state.errors, state.counters)

    def model(self, state: State) -> KernelModel:
        """Return the expansion over the stored vectors, those of all functions one after the other."""
        return model_of_functions(state.hypothesis, state.kernel, state.sizes)


@jit
def _present(f, sizes, limits, kernel, chunk, position, until, errors, counters):
    (budget, C), scores, s = limits, f.scores, len(f.kernel_row) // len(f.scores)
    for p in range(position, len(chunk.order)):
        i = next_example(chunk, p)
        if reached(counters, until) or not has_room(f, chunk.rows, i):
            return
        label = chunk.labels[i]
        if np.isnan(predict_by_functions(f, sizes, kernel, chunk.rows, i, label, errors, counters)):
            return
        updates = counters[UPDATES]
        for c in range(len(scores)):
            first, m, sign = c * s, sizes[c], sign_for(c, label, scores)
            loss = 1.0 - sign * scores[c]
            if loss > 0.0:
                alphas, kernel_row = f.coefficients[c, first : first + s], f.kernel_row[first : first + m]
                r, beta = m, sign * min(C, loss)
                if m == budget:
                    r = _least_harm(alphas, kernel_row, scores[c], sign, beta, C)
                    beta += alphas[r] * kernel_row[r]
                put(f.vectors, first + r, chunk.rows, i)
                alphas[r], sizes[c] = beta, max(m, r + 1)
                counters[UPDATES] += 1
        counters[STEPS] += counters[UPDATES] > updates


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
