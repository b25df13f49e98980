"""MFW: the modified Frank-Wolfe algorithm, with away steps; frank-wolfe-2012, Algorithm 3.

As FW, but where it promises more, the centre moves away from the nearest point j* that has weight; a full step takes
all its weight and drops it. The problem, the symbols, how the farthest point is searched, what is counted and measured:
`solvers/meb/ball.py`; how r^2 and the responses are carried: `fw.py`.

Deviation: line 21 is printed with the wrong sign; r^2 is carried as it follows from its definition,
r^2 (1 + lambda) + lambda (1 + lambda) (delta_- - 1) r^2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mpu_bench.core.counters import KERNEL_EVALUATIONS, PRESENTED, STEPS, UPDATES
from mpu_bench.core.jit import jit
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
from mpu_bench.solvers.meb.core_set import compact
from mpu_bench.solvers.meb.fw import DONE, RUNNING, step_towards

_IDLE = 4  # slots for each that has no weight, below which those without are taken away
_FEW = 32  # slots that may always have none


@dataclass(frozen=True)
class MFW(BallSolver):
    """The modified Frank-Wolfe algorithm."""

    name = "mfw"

    def iterate(self, state: State, last: int, most: int) -> int:
        """Take Frank-Wolfe and away steps."""
        held = (state.examples, state.core, state.history, state.search, state.ball)
        status: int = _iterate(*held, self.eps, last, most, state.counters)
        return status


@jit
def _iterate(examples, core, history, search, ball, eps, last, most, counters):
    while counters[PRESENTED] < last and counters[KERNEL_EVALUATIONS] < most:
        if core.vectors.size[0] == len(core.members):
            return MORE_ROOM
        i, s = farthest_point(examples, core, history, search, ball, eps, counters)  # step 25
        counters[PRESENTED] += 1
        if i < 0:  # step 11
            return DONE
        nearest, largest = _nearest(core)  # step 26
        squared_length = ball[CONSTANT] - ball[SQUARED_RADIUS]
        fall = ball[SCALE] * largest - squared_length
        if squared_length - s >= fall:  # step 12: delta_+ >= delta_-, both times r^2 / 2
            step_towards(examples, core, history, ball, np.uint32(i), s, counters)  # steps 13 to 16
        else:
            _step_away(examples, core, history, ball, nearest, fall, counters)
    return RUNNING


@jit
def _nearest(core):
    """Find the slot with weight whose response is largest, and that response / scale; the lowest slot on ties."""
    nearest, largest = 0, -np.inf
    for j in range(core.vectors.size[0]):
        if core.coefficients[j] != 0.0 and core.responses[j] > largest:
            nearest, largest = j, core.responses[j]
    return nearest, largest


@jit
def _step_away(examples, core, history, ball, slot, fall, counters):
    """Move the centre away from the point of a slot, whose response is R + fall."""
    squared_length = ball[CONSTANT] - ball[SQUARED_RADIUS]
    weight = ball[SCALE] * core.signs[slot] * core.coefficients[slot]
    length = fall / (max(ball[CONSTANT], core.diagonal[slot]) - squared_length - 2.0 * fall)  # step 18: lambda
    drop = length * (1.0 - weight) >= weight or length <= 0.0
    if drop:
        length = weight / (1.0 - weight)
    move(examples, core, history, ball, slot, -length, -fall, counters)  # steps 20, 21
    counters[KERNEL_EVALUATIONS] += core.active[0]
    counters[STEPS] += 1
    counters[UPDATES] += 1
    if drop:
        core.coefficients[slot] = 0.0
        core.active[0] -= 1  # step 23
        if core.vectors.size[0] - core.active[0] > core.active[0] // _IDLE + _FEW:
            compact(core)
