"""FW: the Frank-Wolfe algorithm for the L2-SVM as a minimal enclosing ball; frank-wolfe-2012, Algorithm 2.

An iteration searches the point i* farthest from the centre and moves the centre towards it. The problem, the symbols,
how the farthest point is searched, what is counted and measured: `solvers/meb/ball.py`.

r^2 is carried by step 15 and R = Delta^2 - r^2 with it, responses s_j of the core set by one row of kernel values.
Where K(x, x) is not constant the step of Algorithm 2, (R - s_i) / (Delta^2 + R - 2 s_i), may be too long for R to fall:
it is never longer than that of the exact line search, which has k~_ii for Delta^2, and r^2 is carried as it follows
from its definition.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mpu_bench.core.counters import KERNEL_EVALUATIONS, PRESENTED, STEPS, UPDATES
from mpu_bench.core.jit import jit
from mpu_bench.core.solver import Status
from mpu_bench.solvers.meb.ball import (
    CONSTANT,
    MORE_ROOM,
    SCALE,
    SQUARED_RADIUS,
    BallSolver,
    State,
    farthest_point,
    move,
)
from mpu_bench.solvers.meb.core_set import add_slot

DONE, RUNNING = int(Status.DONE), int(Status.RUNNING)


@dataclass(frozen=True)
class FW(BallSolver):
    """The Frank-Wolfe algorithm."""

    name = "fw"

    def iterate(self, state: State, last: int, most: int) -> int:
        """Take Frank-Wolfe steps."""
        held = (state.examples, state.core, state.history, state.search, state.ball)
        status: int = _iterate(*held, self.eps, last, most, state.counters)
        return status


@jit
def _iterate(examples, core, history, search, ball, eps, last, most, counters):
    while counters[PRESENTED] < last and counters[KERNEL_EVALUATIONS] < most:
        if core.vectors.size[0] == len(core.members):
            return MORE_ROOM
        i, s = farthest_point(examples, core, history, search, ball, eps, counters)  # step 16
        counters[PRESENTED] += 1
        if i < 0:  # step 9
            return DONE
        step_towards(examples, core, history, ball, np.uint32(i), s, counters)
    return RUNNING


@jit
def step_towards(examples, core, history, ball, i, s, counters):
    """Move the centre towards the point of example i, whose response is s."""
    slot = np.int64(core.slots[i])
    if slot < 0:
        slot = add_slot(core, examples, i, s / ball[SCALE])
    squared_length = ball[CONSTANT] - ball[SQUARED_RADIUS]  # R
    rise = squared_length - s  # delta r^2 / 2
    length = rise / (max(ball[CONSTANT], core.diagonal[slot]) + squared_length - 2.0 * s)  # step 10: lambda
    if core.coefficients[slot] == 0.0:
        core.active[0] += 1  # step 13
    move(examples, core, history, ball, slot, length, rise, counters)  # steps 12, 15
    counters[KERNEL_EVALUATIONS] += core.active[0]
    counters[STEPS] += 1
    counters[UPDATES] += 1
