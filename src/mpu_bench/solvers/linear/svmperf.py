"""SVMperf's cutting planes with one slack variable, for the linear L1-SVM without bias.

    min_{w, xi}  1/2 ||w||^2 + C n xi,   1/n sum_i c_i z_i.w >= 1/n sum_i c_i - xi  for all c in {0, 1}^n,   z = y x

Joachims: "Training Linear SVMs in Linear Time", KDD 2006, Algorithm 1 on (OP3). A round finds the constraint that w
violates most, c_i = [z_i.w < 1], and w becomes the optimum over the constraints found so far, the planes. With
g_j = sum_i c_ji z_i and b_j = sum_i c_ji (n times those of the paper) its dual is

    max_beta  D(beta) = sum_j beta_j b_j - 1/2 ||w||^2,   w = sum_j beta_j g_j,   beta >= 0,   sum_j beta_j <= C

and alpha_i = sum_j beta_j c_ji is feasible for the dual of the L1-SVM, with the same value: D bounds its optimum. The
plane with c = 0 stands for xi >= 0 and makes the last constraint an equation. s_j = b_j - g_j.w is a plane's slack;
that of the new plane is the sum of the losses, so that J(w) - D = C s_new - sum_j beta_j s_j.

Where the loss of example i has a weight v_i, v_i c_i stands for c_i in all sums, alpha_i is at most v_i C, and the run
ends as if n were the sum of the weights.

The small problem is solved by moving multipliers between pairs of planes, warm-started: the largest s_j gains, and
loses the one that raises D most (second order: Fan, Chen, Lin, JMLR 6, 2005). A plane that was idle, beta_j = 0, for
50 rounds is dropped, as in the author's program. The model is the last w, as there.

Counted: n examples seen and n inner products a round; a round that changes w is one step and one update. A
slice may end within a round. Products of planes are not counted. The planes are dense, 8 d bytes each; one to two
hundred are kept at high accuracy, and those there are twice while room is made for more: 2.9 GB for the d = 1.4e6 of
News20.

Deviations: the small problem is solved until its own gap is a part of J - D, a fifth, or by 10,000 moves, as exactness
does not pay; the author's program solves it exactly, as ``inner_gap: 0.001`` nearly does. So the run ends when J - D <=
tolerance C n / 100, which with an exact solution is the author's rule, violation <= tolerance. It also ends when
rounding keeps D from rising. The tolerance is in per cent of examples, as in the author's program (its error rate is a
percentage, C_perf = C n / 100), whose settings mpu-2010 prints.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from annotated_types import Gt, Le
from numpy.typing import NDArray

from mpu_bench.core.buffers import grown
from mpu_bench.core.counters import INNER_PRODUCTS, PRESENTED, STEPS, UPDATES, new_counters, reached
from mpu_bench.core.jit import jit
from mpu_bench.core.models import LinearModel
from mpu_bench.core.numeric import dot as dense_dot
from mpu_bench.core.numeric import new_record, ordered_dot
from mpu_bench.core.problem import Problem
from mpu_bench.core.rows import Rows, add, dot, new_weights, squared_norms
from mpu_bench.core.solver import Measures, Status, Until
from mpu_bench.kernels import Kernel
from mpu_bench.solvers.certificates import (
    LinearL1SVM,
    PerExample,
    certify_sum,
    finite_squared_norms,
    of_example,
    per_example,
)

_IDLE_ROUNDS = 50  # after which a plane is dropped
_MAX_MOVES = 10_000  # of multipliers in a round: where they do not do, a further plane helps more than further moves
_STILL_ROUNDS = 10  # in which D has not risen by more than rounding, which end a run
_NOISE = 8 * float(np.finfo(np.float64).eps)  # of D, relative to the sum of the dual variables
_FIRST_CAPACITY = 64  # planes
_BLOCK_EXAMPLES = 128  # whose violators are collected before they are added
_FULL = -1  # no status: room for a plane is wanted

PROGRESS = np.dtype(
    [
        ("position", "i8"),  # in the round
        ("planes", "i8"),  # m
        ("status", "i8"),
        ("loss", "f8"),  # sum over this round's examples
        ("violators", "f8"),  # how many of them have a loss; the sum of their weights
        ("dual", "f8"),  # the largest D
        ("still", "i8"),  # rounds since D has risen
    ]
)


class Arrays(NamedTuple):
    """n examples of d features, m planes of the capacity.

    Plane 0 is the one with c = 0; plane m is the one that the present round sums up.
    """

    rows: Rows
    signs: NDArray[np.float64]  #: y (n,)
    loss_weights: PerExample
    total: float  #: n, or the sum of the weights
    weights: NDArray[np.float64]  #: w (d,)
    planes: NDArray[np.float64]  #: g (capacity, d)
    offsets: NDArray[np.float64]  #: b (capacity,)
    gram: NDArray[np.float64]  #: g_j.g_k (capacity, capacity)
    multipliers: NDArray[np.float64]  #: beta (capacity,)
    slacks: NDArray[np.float64]  #: s (capacity,)
    idle: NDArray[np.int64]  #: rounds since beta_j was above zero (capacity,)
    progress: NDArray[Any]  #: a record of `PROGRESS`


@dataclass
class State:
    """What the algorithm works on."""

    arrays: Arrays  #: replaced where planes need more room
    counters: NDArray[np.int64]


@dataclass(frozen=True)
class SVMperf(LinearL1SVM):
    """One-slack cutting planes.

    Attributes
    ----------
    C : float
        The weight of the losses.
    tolerance : float
        epsilon, in per cent: at the end J(w) is at most tolerance C n / 100 above the optimum.
    inner_gap : float, optional
        The part of J - D to which the small problem over the planes is solved; 0.2 without it.
    """

    name = "svmperf"
    deterministic: ClassVar = True
    paper = "joachims-2006"

    tolerance: Annotated[float, Gt(0)] = 0.1
    inner_gap: Annotated[float, Gt(0), Le(1)] | None = None

    def start(self, problem: Problem, kernel: Kernel, seed: int) -> State:  # noqa: ARG002
        """Start at w = 0, with the plane c = 0 alone; nothing is random."""
        self.check(problem, kernel)
        finite_squared_norms(problem)
        loss_weights = per_example(1.0, problem)
        arrays = Arrays(
            problem.train,
            problem.signs(),
            loss_weights,
            float(np.broadcast_to(loss_weights, problem.n).sum()),
            new_weights(problem.features),
            np.zeros((_FIRST_CAPACITY, problem.features)),
            np.zeros(_FIRST_CAPACITY),
            np.zeros((_FIRST_CAPACITY, _FIRST_CAPACITY)),
            np.zeros(_FIRST_CAPACITY),
            np.zeros(_FIRST_CAPACITY),
            np.zeros(_FIRST_CAPACITY, np.int64),
            new_record(PROGRESS, planes=1, dual=-np.inf),
        )
        arrays.multipliers[0] = self.C
        return State(arrays, new_counters())

    def advance(self, state: State, until: Until) -> Status:
        """Present further examples."""
        inner_gap = 0.2 if self.inner_gap is None else self.inner_gap
        while (ended := _advance(state.arrays, state.counters, self.C, self.tolerance, inner_gap, until)) == _FULL:
            state.arrays = _with_room(state.arrays)
        return Status(ended)

    def model(self, state: State) -> LinearModel:
        """Return the last w."""
        return LinearModel(state.arrays.weights[np.newaxis].copy())

    def measures(self, state: State) -> Measures:
        """Certify the last w by the planes' multipliers."""
        arrays, weights, m = state.arrays, state.arrays.weights, state.arrays.progress[0].planes
        multipliers, norms = arrays.multipliers[:m], np.sqrt(squared_norms(arrays.rows))
        total = float(multipliers @ arrays.offsets[:m]) * min(1.0, self.C / float(multipliers.sum()))  # moves round
        reach = self.C * float((arrays.loss_weights * norms).sum())
        C = self.C * arrays.loss_weights
        return certify_sum(arrays.rows, arrays.signs, weights, C, norms, total, weights, reach)


def _with_room(arrays: Arrays) -> Arrays:
    """Return the arrays with room for twice as many planes."""
    capacity = 2 * len(arrays.planes)
    return arrays._replace(
        planes=grown(arrays.planes, capacity, arrays.planes.shape[1]),
        offsets=grown(arrays.offsets, capacity),
        gram=grown(arrays.gram, capacity, capacity),
        multipliers=grown(arrays.multipliers, capacity),
        slacks=grown(arrays.slacks, capacity),
        idle=grown(arrays.idle, capacity),
    )


@jit
def _advance(arrays, counters, C, tolerance, inner_gap, until):
    """Go on until ``until`` or the run is done; return the status, or that there is no room."""
    progress, n = arrays.progress[0], len(arrays.signs)
    while progress.status == Status.RUNNING and not reached(counters, until):
        if progress.planes == len(arrays.planes):
            return _FULL
        _present(arrays, counters, min(progress.position + until.presented - counters[PRESENTED], n))
        if progress.position == n:
            _end_round(arrays, counters, C, tolerance, inner_gap)
    return progress.status


@jit(allocates=True)
def _present(arrays, counters, last):
    """Add the violators among the examples up to ``last - 1`` to the new plane."""
    rows, signs, weights, progress = arrays.rows, arrays.signs, arrays.weights, arrays.progress[0]
    loss_weights, sum_of_violators = arrays.loss_weights, progress.violators
    plane, first, loss = arrays.planes[progress.planes], progress.position, progress.loss
    violators = np.empty(_BLOCK_EXAMPLES, np.uint32)
    for block in range(first, last, _BLOCK_EXAMPLES):
        size = np.int64(0)
        for i in range(np.uint32(block), np.uint32(min(block + _BLOCK_EXAMPLES, last))):
            response = signs[i] * dot(rows, np.uint32(i), weights)
            violators[size] = i  # no branch, which would be taken at random
            size += np.int64(response < 1.0)  # c_i
            loss += of_example(loss_weights, i) * max(0.0, 1.0 - response)
        for k in range(size):
            weight = of_example(loss_weights, violators[k])
            add(rows, violators[k], weight * signs[violators[k]], plane)
            sum_of_violators += weight
    progress.loss, progress.violators = loss, sum_of_violators
    progress.position = last
    counters[PRESENTED] += last - first
    counters[INNER_PRODUCTS] += last - first


@jit
def _end_round(arrays, counters, C, tolerance, inner_gap):
    """Stop, or add the new plane and solve the small problem again."""
    progress, m, multipliers = arrays.progress[0], arrays.progress[0].planes, arrays.multipliers
    total, slack = ordered_dot(multipliers, arrays.offsets, m), ordered_dot(multipliers, arrays.slacks, m)
    gap, dual = C * progress.loss - slack, (total + slack) / 2.0  # J - D, and D: ||w||^2 is total - slack
    progress.still = 0 if dual > progress.dual + _NOISE * total else progress.still + 1
    progress.dual = max(progress.dual, dual)
    if gap <= tolerance / 100.0 * C * arrays.total or progress.still == _STILL_ROUNDS:
        progress.status = Status.DONE
    else:
        _add_plane(arrays)
        if not np.isfinite(arrays.gram[m, m] + gap):
            progress.status = Status.DIVERGED
        elif _solve(arrays, C, inner_gap * gap) == 0:  # by rounding alone: a violated plane always raises D
            progress.status = Status.DONE
        else:
            counters[STEPS] += 1
            counters[UPDATES] += 1
            _drop_idle_planes(arrays)
            _update_weights(arrays)
    progress.position, progress.loss, progress.violators = 0, 0.0, 0.0
    if progress.planes < len(arrays.planes):
        arrays.planes[progress.planes][:] = 0.0


@jit
def _add_plane(arrays):
    progress, planes, gram = arrays.progress[0], arrays.planes, arrays.gram
    m, violators = progress.planes, progress.violators
    arrays.multipliers[m], arrays.idle[m], arrays.offsets[m] = 0.0, 0, violators
    for j in range(m + 1):
        gram[m, j] = gram[j, m] = dense_dot(planes[j], planes[m], len(planes[m]))
    # The sum of the losses; from the same numbers as the other slacks, as their ties decide in the small problem
    arrays.slacks[m] = violators - ordered_dot(gram[m], arrays.multipliers, m)
    progress.planes = m + 1


@jit
def _solve(arrays, C, wanted):
    """Raise D over the planes until its gap there is at most ``wanted``; return the number of moves."""
    m, gram, multipliers = arrays.progress[0].planes, arrays.gram, arrays.multipliers
    slacks = arrays.slacks[:m]
    for move in range(_MAX_MOVES):
        to = np.argmax(slacks)
        if C * slacks[to] - ordered_dot(multipliers, slacks, m) <= wanted:
            return move
        from_, size = _best_partner(gram, multipliers, slacks, to)
        if size == 0.0:
            return move
        multipliers[to] += size
        multipliers[from_] -= size
        for j in range(m):
            slacks[j] -= size * (gram[to, j] - gram[from_, j])
    return _MAX_MOVES


@jit
def _best_partner(gram, multipliers, slacks, to):
    """Choose the plane whose multiplier moves to plane ``to``, and how much of it, so that D rises most."""
    best, partner, best_size = 0.0, 0, 0.0
    for j in range(len(slacks)):
        difference = slacks[to] - slacks[j]
        if multipliers[j] == 0.0 or difference <= 0.0:
            continue
        curvature = gram[to, to] + gram[j, j] - 2.0 * gram[to, j]
        size = multipliers[j]
        if size * curvature > difference:
            size = difference / curvature
        rise = size * (difference - size * curvature / 2.0)
        if rise > best:
            best, partner, best_size = rise, j, size
    return partner, best_size


@jit
def _drop_idle_planes(arrays):
    """Count the idle rounds, and put the last plane in the place of one that was idle for too long; plane 0 stays.

    Loops, since compiling an assignment of one slice to another takes numba three seconds.
    """
    progress, planes, gram, idle = arrays.progress[0], arrays.planes, arrays.gram, arrays.idle
    offsets, multipliers, m = arrays.offsets, arrays.multipliers, progress.planes
    for j in range(m - 1, 0, -1):
        idle[j] = 0 if multipliers[j] > 0.0 else idle[j] + 1
        if idle[j] >= _IDLE_ROUNDS:
            m -= 1
            for k in range(planes.shape[1]):
                planes[j, k] = planes[m, k]
            for k in range(m + 1):
                gram[j, k] = gram[m, k]
            for k in range(m + 1):
                gram[k, j] = gram[k, m]
            offsets[j], multipliers[j], idle[j] = offsets[m], multipliers[m], idle[m]
    progress.planes = m


@jit
def _update_weights(arrays):
    """Compute w and the slacks afresh from the multipliers: moves leave rounding errors."""
    weights, slacks, multipliers, m = arrays.weights, arrays.slacks, arrays.multipliers, arrays.progress[0].planes
    weights[:] = 0.0
    for k in range(m):
        slacks[k] = arrays.offsets[k]
    for j in range(m):
        if multipliers[j] > 0.0:
            for k in range(len(weights)):
                weights[k] += multipliers[j] * arrays.planes[j, k]
            for k in range(m):
                slacks[k] -= multipliers[j] * arrays.gram[j, k]
