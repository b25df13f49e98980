"""FW: the Frank-Wolfe algorithm for the L2-SVM as a minimal enclosing ball; frank-wolfe-2012, Algorithm 2.

An iteration searches the point i* farthest from the centre (steps 8, 16) and moves the centre towards it. The problem,
the symbols, how the farthest point is searched, what is counted and measured: `solvers/meb/ball.py`.

r^2 is carried by step 15 and R = Delta^2 - r^2 with it, responses s_j of the core set by one row of kernel values.
Where K(x, x) is not constant the step of Algorithm 2, (R - s_i) / (Delta^2 + R - 2 s_i), may be too long for R to fall:
it is never longer than that of the exact line search, which has k~_ii for Delta^2, nor than up to the point itself,
which lies before the end of that where s_i > k~_ii; and r^2 is carried as it follows from its definition.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mpu_bench.core.counters import KERNEL_EVALUATIONS, STEPS, UPDATES
from mpu_bench.core.jit import jit
from mpu_bench.core.numeric import multiply
from mpu_bench.solvers.certificates import of_example
from mpu_bench.solvers.meb.ball import BallSolver, iterations, join_none
from mpu_bench.solvers.meb.core_set import add_slot, row
from mpu_bench.solvers.meb.farthest import remember

_LONGEST = 1.0 - 2.0**-40  # step: at 1 the other weights were 0, and the scale that they are divided by
_LARGEST_SCALE = 1e100  # of weights and responses; they are multiplied out before it overflows


@dataclass(frozen=True)
class FW(BallSolver):
    """The Frank-Wolfe algorithm."""

    name = "fw"

    def iterate(self, *state: Any) -> int:
        """Take steps of Algorithm 2."""
        return int(_iterate(*state))


@jit
def _iterate(examples, core, history, search, ball, until, counters):
    return iterations(_step, join_none, examples, core, history, search, ball, until, counters)


@jit(inline="always")
def _step(examples, core, history, ball, i, s, counters):
    slot, length = towards(examples, core, ball, i, s)
    move(examples, core, history, ball, slot, length, ball.delta2 - ball.r2 - s, counters)


@jit(inline="always")
def towards(examples, core, ball, i, s):
    """Return the slot of example i, whose response is s, and how far the centre moves towards its point."""
    slot = np.int64(core.slots[i])
    if slot < 0:
        slot = add_slot(core, examples, i, s / ball.scale)
    if core.coefficients[slot] == 0.0:
        core.active[0] += 1  # step 13
    R = ball.delta2 - ball.r2
    length = (R - s) / (max(ball.delta2, core.diagonal[slot]) + R - 2.0 * s)  # step 10: lambda
    return slot, min(length, _LONGEST)


@jit(inline="always")
def move(examples, core, history, ball, slot, length, rise, counters):
    """Make the weights (1 - length) alpha + length e_j for slot j; with a length below zero a step away from its point.

    ``rise`` is R - s_j. Carries r^2, responses and the sum of weights along, and remembers the step.
    """
    i, sign = core.members[slot], core.signs[slot]
    # the new R is (1 - l)^2 R + 2 l (1 - l) s_j + l^2 k~_jj = R - 2 l (R - s_j) + l^2 (k~_jj + R - 2 s_j)
    curvature = core.diagonal[slot] - ball.delta2 + ball.r2 + 2.0 * rise
    ball.r2 += length * (2.0 * rise - length * curvature)  # step 15
    ball.scale *= 1.0 - length  # step 12: (1 - lambda) alpha ...
    change = length / ball.scale
    kernel_row = row(core, examples, i, counters)
    for k in range(len(kernel_row)):
        core.responses[k] += change * sign * core.signs[k] * (np.float64(kernel_row[k]) + 1.0)
    core.responses[slot] += change / of_example(examples.C, i)
    core.coefficients[slot] += change * sign  # ... + lambda e_j
    ball.bias += change * sign
    remember(history, examples, i, change * sign)
    if not 1.0 / _LARGEST_SCALE < ball.scale < _LARGEST_SCALE:
        _multiply_out(core, history, ball)
    counters[KERNEL_EVALUATIONS] += core.active[0]
    counters[STEPS] += 1
    counters[UPDATES] += 1


@jit
def _multiply_out(core, history, ball):
    """Multiply the scale into weights and responses; it is 1 then."""
    multiply(core.coefficients, ball.scale)
    multiply(core.responses, ball.scale)
    multiply(history.changes, ball.scale)
    multiply(history.sums, ball.scale)
    ball.bias *= ball.scale
    ball.scale = 1.0
