"""SVMperf's cutting planes with one slack variable, for the linear L1-SVM without bias.

    min_{w, xi}  1/2 ||w||^2 + C n xi,   1/n sum_i c_i z_i.w >= 1/n sum_i c_i - xi  for all c in {0, 1}^n,   z = y x

Joachims: "Training Linear SVMs in Linear Time", KDD 2006, Algorithm 1 on (OP3). A round finds the constraint that w
violates most, c_i = [z_i.w < 1], and w becomes the optimum over the constraints found so far, the planes. With
g_j = sum_i c_ji z_i and b_j = sum_i c_ji (n times those of the paper) its dual is

    max_beta  D(beta) = sum_j beta_j b_j - 1/2 ||w||^2,   w = sum_j beta_j g_j,   beta >= 0,   sum_j beta_j <= C

and alpha_i = sum_j beta_j c_ji is feasible for the dual of the L1-SVM, with the same value: D bounds its optimum. The
plane with c = 0 stands for xi >= 0 and makes the last constraint an equation. s_j = b_j - g_j.w is a plane's slack;
that of the new plane is the sum of the losses, so that J(w) - D = C s_new - sum_j beta_j s_j.

The small problem is solved by moving multipliers between pairs of planes, warm-started: the largest s_j gains, and
loses the one that raises D most (second order: Fan, Chen, Lin, JMLR 6, 2005). A plane that was idle, beta_j = 0, for
50 rounds is dropped, as in the author's program. The model is the last w, as there.

Counted: n examples presented and n inner products a round; a round that changes w is one step and one update. A
slice may end within a round. Products of planes are not counted. The planes are dense, 8 d bytes each; one to two
hundred are kept at high accuracy (at most 2 GB for the d = 1.4e6 of News20).

Deviations: the small problem is solved until its own gap is a fifth of J - D, for exactness does not pay; so the
run ends when J - D <= tolerance C n / 100, which with an exact solution is the author's rule, violation <= tolerance.
It also ends when rounding keeps D from rising. The tolerance is in per cent of examples, as in the author's program
(its error rate is a percentage, C_perf = C n / 100), whose settings mpu-2010 prints.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np
from annotated_types import Gt
from numba import njit
from numpy.typing import NDArray

from mpu_bench.core.counters import INNER_PRODUCTS, PRESENTED, STEPS, UPDATES, new_counters
from mpu_bench.core.kernels import Kernel
from mpu_bench.core.models import LinearModel
from mpu_bench.core.problem import Problem
from mpu_bench.core.rows import Rows, add, dot, new_weights
from mpu_bench.core.solver import Allowance, Measures, Solver, Status
from mpu_bench.solvers.certificates import finite_squared_norms, margin, primal

_IDLE_ROUNDS = 50  # a plane idle for so long is dropped
_EXACTNESS = 0.2  # the small problem is solved to this part of J - D
_MOST_MOVES = 100_000  # of multipliers in a round
_FIRST_CAPACITY = 64  # planes there is room for at the start
_BLOCK = 128  # examples whose violators are collected before they are added
# Places in State.progress
_POSITION, _PLANES, _STATUS = 0, 1, 2
# Places in State.partial
_LOSS, _VIOLATORS = 0, 1
_NO_ROOM = -1  # no status: room for a plane is wanted


class State(NamedTuple):
    """What the algorithm works on; n examples of d features, m planes and room for more.

    Plane 0 is the one with c = 0; plane m is the one that the present round sums up. `SVMperf.advance` resizes the
    arrays of planes in place, so keep no views of them.
    """

    rows: Rows
    signs: NDArray[np.float64]  #: y (n,)
    weights: NDArray[np.float64]  #: w (d,)
    planes: NDArray[np.float64]  #: g (room, d)
    offsets: NDArray[np.float64]  #: b (room,)
    gram: NDArray[np.float64]  #: g_j.g_k (room, room)
    multipliers: NDArray[np.float64]  #: beta (room,)
    slacks: NDArray[np.float64]  #: s (room,)
    idle: NDArray[np.int64]  #: rounds since beta_j was above zero (room,)
    partial: NDArray[np.float64]  #: sums over this round's examples: losses, and how many have one
    progress: NDArray[np.int64]  #: place in the round, m, status
    counters: NDArray[np.int64]


@dataclass(frozen=True)
class SVMperf(Solver):
    """One-slack cutting planes.

    Attributes
    ----------
    C : float
        The weight of the losses.
    tolerance : float
        epsilon, in per cent: at the end J(w) is at most tolerance C n / 100 above the optimum.
    """

    name = "svmperf"
    paper = "joachims-2006"
    l1_svm = True

    C: Annotated[float, Gt(0)] = 1.0
    tolerance: Annotated[float, Gt(0)] = 0.1

    def start(self, problem: Problem, kernel: Kernel, seed: int) -> State:  # noqa: ARG002
        """Start at w = 0, with the plane c = 0 alone; nothing is random."""
        self.check(problem, kernel)
        finite_squared_norms(problem)
        room = _FIRST_CAPACITY
        state = State(
            problem.train,
            problem.signs(),
            new_weights(problem.features),
            np.zeros((room, problem.features)),
            np.zeros(room),
            np.zeros((room, room)),
            np.zeros(room),
            np.zeros(room),
            np.zeros(room, np.int64),
            np.zeros(2),
            np.array([0, 1, Status.RUNNING]),
            new_counters(),
        )
        state.multipliers[0] = self.C
        return state

    def advance(self, state: State, allowance: Allowance) -> Status:
        """Present further examples."""
        last = int(state.counters[PRESENTED]) + allowance.presented
        while (ended := _advance(state, self.C, self.tolerance, last)) == _NO_ROOM:
            _double_room(state)
        return Status(ended)

    def model(self, state: State) -> LinearModel:
        """Give the last w."""
        return LinearModel(state.weights[np.newaxis].copy())

    def measures(self, state: State) -> Measures:
        """Certify the last w by the planes' multipliers."""
        weights = state.weights
        objective = primal(state.rows, state.signs, weights, self.C)
        m = state.progress[_PLANES]
        bound = float(state.multipliers[:m] @ state.offsets[:m] - weights @ weights / 2)
        gap = objective / bound - 1 if bound > 0 else None
        return Measures(objective, bound, gap, margin(state.rows, state.signs, weights))


def _double_room(state: State) -> None:
    """Make room for twice as many planes, in place: a State's arrays cannot be replaced."""
    room, old_gram = 2 * len(state.planes), state.gram.copy()
    state.planes.resize((room, state.planes.shape[1]), refcheck=False)
    for array in (state.offsets, state.multipliers, state.slacks, state.idle):
        array.resize(room, refcheck=False)
    state.gram.resize((room, room), refcheck=False)
    state.gram[:] = 0.0
    state.gram[: len(old_gram), : len(old_gram)] = old_gram


@njit(cache=True, nogil=True)
def _advance(state, C, tolerance, last):
    """Go on until so many examples are presented or the run is done; gives the status, or that there is no room."""
    progress, counters, n = state.progress, state.counters, len(state.signs)
    while progress[_STATUS] == Status.RUNNING and counters[PRESENTED] < last:
        if progress[_PLANES] == len(state.planes):
            return _NO_ROOM
        first = progress[_POSITION]
        end = min(first + last - counters[PRESENTED], n)
        _present(state, first, end)
        if end == n:
            _end_round(state, C, tolerance)
    return progress[_STATUS]


@njit(cache=True, nogil=True)
def _present(state, first, last):
    """Add the violators among the examples ``first`` to ``last - 1`` to the new plane."""
    rows, signs, weights = state.rows, state.signs, state.weights
    plane = state.planes[state.progress[_PLANES]]
    violators = np.empty(_BLOCK, np.uint32)
    loss = state.partial[_LOSS]
    for block in range(first, last, _BLOCK):
        size = np.int64(0)
        for i in range(np.uint32(block), np.uint32(min(block + _BLOCK, last))):
            response = signs[i] * dot(rows, np.uint32(i), weights)
            violators[size] = i  # no branch, which would be taken at random
            size += np.int64(response < 1.0)  # c_i
            loss += max(0.0, 1.0 - response)
        for k in range(size):
            add(rows, violators[k], signs[violators[k]], plane)
        state.partial[_VIOLATORS] += size
    state.partial[_LOSS] = loss
    state.progress[_POSITION] = last
    state.counters[PRESENTED] += last - first
    state.counters[INNER_PRODUCTS] += last - first


@njit(cache=True, nogil=True)
def _end_round(state, C, tolerance):
    """Stop, or add the new plane and solve the small problem again."""
    progress, m = state.progress, state.progress[_PLANES]
    loss, violators = state.partial
    gap = C * loss - (state.multipliers[:m] * state.slacks[:m]).sum()  # J - D
    if gap <= tolerance / 100.0 * C * len(state.signs):
        progress[_STATUS] = Status.DONE
    else:
        _add_plane(state, violators)
        if not np.isfinite(state.gram[m, m] + gap):
            progress[_STATUS] = Status.DIVERGED
        elif _solve(state, C, _EXACTNESS * gap) == 0:  # by rounding alone: a violated plane always raises D
            progress[_STATUS] = Status.DONE
        else:
            state.counters[STEPS] += 1
            state.counters[UPDATES] += 1
            _drop_idle_planes(state)
            _update_weights(state)
    progress[_POSITION] = 0
    state.partial[:] = 0.0
    if progress[_PLANES] < len(state.planes):
        state.planes[progress[_PLANES]] = 0.0


@njit(cache=True, nogil=True)
def _add_plane(state, violators):
    m, planes, gram, multipliers = state.progress[_PLANES], state.planes, state.gram, state.multipliers
    multipliers[m], state.idle[m], state.offsets[m] = 0.0, 0, violators
    for j in range(m + 1):
        gram[m, j] = gram[j, m] = _product(planes[j], planes[m])
    # The sum of the losses; from the same numbers as the other slacks, as their ties decide in the small problem
    state.slacks[m] = violators - (gram[m, :m] * multipliers[:m]).sum()
    state.progress[_PLANES] = m + 1


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _product(left, right):
    total = 0.0
    for j in range(len(left)):
        total += left[j] * right[j]
    return total


@njit(cache=True, nogil=True)
def _solve(state, C, wanted):
    """Raise D over the planes until its gap there is at most ``wanted``; gives the number of moves."""
    m = state.progress[_PLANES]
    gram, multipliers, slacks = state.gram, state.multipliers[:m], state.slacks[:m]
    for move in range(_MOST_MOVES):
        gains = np.argmax(slacks)
        if C * slacks[gains] - (multipliers * slacks).sum() <= wanted:
            return move
        loses, size = _best_partner(gram, multipliers, slacks, gains)
        if size == 0.0:
            return move
        multipliers[gains] += size
        multipliers[loses] -= size
        for j in range(m):
            slacks[j] -= size * (gram[gains, j] - gram[loses, j])
    return _MOST_MOVES


@njit(cache=True, nogil=True)
def _best_partner(gram, multipliers, slacks, gains):
    """Choose the plane whose multiplier moves to plane ``gains``, and how much of it, so that D rises most."""
    best, partner, best_size = 0.0, 0, 0.0
    for j in range(len(slacks)):
        difference = slacks[gains] - slacks[j]
        if multipliers[j] == 0.0 or difference <= 0.0:
            continue
        curvature = gram[gains, gains] + gram[j, j] - 2.0 * gram[gains, j]
        size = multipliers[j]
        if size * curvature > difference:
            size = difference / curvature
        rise = size * (difference - size * curvature / 2.0)
        if rise > best:
            best, partner, best_size = rise, j, size
    return partner, best_size


@njit(cache=True, nogil=True)
def _drop_idle_planes(state):
    """Count the idle rounds, and put the last plane in the place of one that was idle for too long; plane 0 stays."""
    m, planes, gram = state.progress[_PLANES], state.planes, state.gram
    for j in range(m - 1, 0, -1):
        state.idle[j] = 0 if state.multipliers[j] > 0.0 else state.idle[j] + 1
        if state.idle[j] >= _IDLE_ROUNDS:
            m -= 1
            planes[j] = planes[m]
            gram[j, : m + 1] = gram[m, : m + 1]
            gram[: m + 1, j] = gram[: m + 1, m]
            for array in (state.offsets, state.multipliers):
                array[j] = array[m]
            state.idle[j] = state.idle[m]
    state.progress[_PLANES] = m


@njit(cache=True, nogil=True)
def _update_weights(state):
    """Compute w and the slacks afresh from the multipliers: moves leave rounding errors."""
    m, weights, slacks, multipliers = state.progress[_PLANES], state.weights, state.slacks, state.multipliers
    weights[:] = 0.0
    slacks[:m] = state.offsets[:m]
    for j in range(m):
        if multipliers[j] > 0.0:
            for k in range(len(weights)):
                weights[k] += multipliers[j] * state.planes[j, k]
            for k in range(m):
                slacks[k] -= multipliers[j] * state.gram[j, k]
