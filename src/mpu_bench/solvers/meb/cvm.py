"""CVM: the Core Vector Machine of Tsang, Kwok, Cheung (JMLR 6, 2005); frank-wolfe-2012, Algorithm 1.

An iteration adds the point i* farthest from the centre to the core set and finds the minimal ball of the core set
anew, by SMO from the weights it had. The problem, the symbols, how the farthest point is searched, what is counted and
measured: `solvers/meb/ball.py`.

SMO ends when no response with weight is above the least one by more than eps' r^2 / 2: then no point of the core set
is farther than (1 + eps) r, and the next i* is a new one. How near it goes is not in print: ``inner_tolerance`` is a
factor of that. Where SMO ends before, at its most moves (`simplex.py`), the next i* may be one of the core set, and SMO
goes on. `updates` counts SMO's iterations; the kernel values it works with are those of the core set, which were asked
for when its points were added. Where not all rows of the core set are kept, it computes some again: with 17,000 points
(Adult, C = 2) and `cache_mb` 200, 1.8 times what is asked for.

With ``add: all``, which `CoreVectorClassifier` takes, an iteration adds every point it has looked at that is too far,
of a sample as large as the core set. SMO ends at a share of the farthest one's violation, and where it has not after
about as many moves as there are points, all weights make a step at once (`conjugate.py`). With ``stop``, the SVM's gap
is computed as soon as the core set and the points last added let it be guessed small enough. On Adult (C = 2) that
takes 48,537 moves to a gap of 3.6e-4 (one run); by SMO alone, a point at a time, R was still falling after 869,000.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from annotated_types import Gt, Le

from mpu_bench.core.counters import KERNEL_EVALUATIONS, STEPS, UPDATES
from mpu_bench.core.jit import jit
from mpu_bench.core.problem import Problem
from mpu_bench.core.rows import squared_norms
from mpu_bench.core.solver import Kernels
from mpu_bench.errors import ConfigError
from mpu_bench.kernels import Kernel
from mpu_bench.kernels.matrix import kernel_diagonal
from mpu_bench.solvers.certificates import of_example
from mpu_bench.solvers.meb.ball import BallSolver, State, iterations
from mpu_bench.solvers.meb.conjugate import step_of_all
from mpu_bench.solvers.meb.core_set import add_slot, gap_of_core_set, has_room, total, with_weight
from mpu_bench.solvers.meb.farthest import shortfall
from mpu_bench.solvers.meb.simplex import MAX_MOVES, minimise_core_set

_MIN_MOVES = 64  # and one a slot: SMO's moves before a step of all weights, where all points are added
_SHARE_OF_VIOLATION = 0.25  # of the farthest point, that SMO may leave on the core set where all are added
_DIAGONAL_TOLERANCE = 1e-6  # how much K(x, x) may vary, relative: rows of length one are not quite that


@dataclass(frozen=True)
class CVM(BallSolver):
    """The Core Vector Machine.

    Attributes
    ----------
    inner_tolerance : float, optional
        SMO ends on the core set at so many times what the ball's own rule allows; 1 without it.
    add : {"farthest", "all"}
        Which of the points that an iteration has looked at, and that are too far, it adds: the farthest alone, as in
        the paper, or all, and then SMO goes only so near as these ask for.
    others
        As of `BallSolver`.
    """

    name = "cvm"

    kernels: ClassVar[Kernels] = "constant-diagonal"
    keeps_history: ClassVar[bool] = False
    # as with the others (ball.py), but a step solves the whole core set anew, and forgets the path to it
    rounding: ClassVar = dict.fromkeys(("updates", "passes", "support_vectors"), 0.2) | {
        "kernel_evaluations": 0.4,
        "objective": 1e-3,
    }

    inner_tolerance: Annotated[float, Gt(0), Le(1)] | None = None
    add: Literal["farthest", "all"] = "farthest"

    def check(self, problem: Problem, kernel: Kernel) -> None:
        """Refuse what all three refuse, and a kernel with which K(x, x) is not constant."""
        super().check(problem, kernel)
        diagonal = kernel_diagonal(kernel, squared_norms(problem.train))
        smallest, largest = float(diagonal.min()), float(diagonal.max())
        if largest - smallest > _DIAGONAL_TOLERANCE * largest:
            raise ConfigError(
                f"cvm: K(x, x) must be the same for all x, for only then the SVM is a minimal enclosing ball; with the"
                f" kernel {kernel} on {problem.name} it goes from {smallest:.4g} to {largest:.4g}; fw and mfw can train"
                " with it, and cvm with a gaussian kernel"
            )

    def start(self, problem: Problem, kernel: Kernel, seed: int) -> State:
        """Start from the minimal ball of 20 random points."""
        state = super().start(problem, kernel, seed)
        state.ball.inner_tolerance = 1.0 if self.inner_tolerance is None else self.inner_tolerance
        state.ball.adds_all = self.add == "all"
        return state

    def iterate(self, *state: Any) -> int:
        """Take steps of Algorithm 1."""
        return int(_iterate(*state))


@jit
def _iterate(examples, core, history, search, ball, until, counters):
    return iterations(_step, _join, examples, core, history, search, ball, until, counters)


@jit(inline="always")
def _join(examples, core, ball, i, s, counters):
    if ball.adds_all and core.slots[i] < 0:
        ball.missing += of_example(examples.C, i) * (1.0 - s / (ball.delta2 - ball.r2)) ** 2
        if has_room(core, 2):  # one is for the farthest
            _add(examples, core, i, s, counters)


@jit(inline="always")
def _add(examples, core, i, s, counters):
    if core.slots[i] < 0:
        counters[KERNEL_EVALUATIONS] += core.vectors.size[0]
        add_slot(core, examples, i, s)  # step 10


@jit(inline="always")
def _step(examples, core, history, ball, i, s, counters):
    _add(examples, core, i, s, counters)
    R, tolerance, limit = ball.delta2 - ball.r2, ball.inner_tolerance * shortfall(ball), MAX_MOVES
    if ball.adds_all:
        tolerance = max(tolerance, _SHARE_OF_VIOLATION * (R - s))
        limit = _MIN_MOVES + core.vectors.size[0]
    moves = counters[UPDATES]
    R = minimise_core_set(core, examples, R, tolerance, limit, counters)  # steps 11, 12
    if ball.adds_all:
        if counters[UPDATES] - moves == limit:
            R = step_of_all(core, examples, R, counters)
        core.active[0] = with_weight(core)  # what got no weight may leave
        if ball.gap > 0.0:
            ball.guess = gap_of_core_set(core, examples, R) + R * ball.missing * len(core.slots) / ball.looked_at
        ball.missing = 0.0
    ball.r2 = ball.delta2 - R  # step 13
    ball.bias = total(core.coefficients)
    history.first[0] += 1  # every weight may have changed
    counters[STEPS] += 1
