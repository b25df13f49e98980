"""MFW: the modified Frank-Wolfe algorithm, with away steps; frank-wolfe-2012, Algorithm 3.

As FW, but where it promises more, the centre moves away from the nearest point j* that has weight; a full step takes
all its weight and drops it. The problem, the symbols, how the farthest point is searched, what is counted and measured:
`solvers/meb/ball.py`; how r^2 and the responses are carried: `fw.py`.

Deviation: line 21 is printed with the wrong sign; r^2 is carried as it follows from its definition,
r^2 (1 + lambda) + lambda (1 + lambda) (delta_- - 1) r^2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mpu_bench.core.jit import jit
from mpu_bench.solvers.meb.ball import BallSolver, iterations, join_none
from mpu_bench.solvers.meb.fw import move, towards


@dataclass(frozen=True)
class MFW(BallSolver):
    """The modified Frank-Wolfe algorithm."""

    name = "mfw"

    def iterate(self, *state: Any) -> int:
        """Take steps of Algorithm 3."""
        return int(_iterate(*state))


@jit
def _iterate(examples, core, history, search, ball, until, counters):
    return iterations(_step, join_none, examples, core, history, search, ball, until, counters)


@jit(inline="always")
def _step(examples, core, history, ball, i, s, counters):
    slot, largest = _nearest(core)  # step 26
    R = ball.delta2 - ball.r2
    rise, fall, drop = R - s, ball.scale * largest - R, False
    if rise >= fall:  # step 12: delta_+ >= delta_-, both times r^2 / 2
        slot, length = towards(examples, core, ball, i, s)  # steps 13 to 16
    else:
        length, drop = _away(core, ball, slot, fall)
        length, rise = -length, -fall
    move(examples, core, history, ball, slot, length, rise, counters)  # steps 15, 16 or 20, 21
    if drop:
        core.coefficients[slot] = 0.0
        core.active[0] -= 1  # step 23


@jit
def _nearest(core):
    """Return the slot with weight whose response is largest, the lowest on ties, and that response / scale."""
    nearest, largest = 0, -np.inf
    for j in range(core.vectors.size[0]):
        if core.coefficients[j] != 0.0 and core.responses[j] > largest:
            nearest, largest = j, core.responses[j]
    return nearest, largest


@jit(inline="always")
def _away(core, ball, slot, fall):
    """Return how far to move away from the point of a slot, whose response is R + fall, and whether it is dropped."""
    weight = ball.scale * core.signs[slot] * core.coefficients[slot]
    R = ball.delta2 - ball.r2
    length = fall / (max(ball.delta2, core.diagonal[slot]) - R - 2.0 * fall)  # step 18: lambda
    if length * (1.0 - weight) >= weight or length <= 0.0:
        return weight / (1.0 - weight), True
    return length, False
