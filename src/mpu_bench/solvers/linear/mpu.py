"""The margin perceptron with unlearning: soft margin, linear, no bias.

    min_w  J(w) = 1/2 ||w||^2 + C sum_i max(0, 1 - y_i w.x_i)

Panagiotakopoulos, Tsampouka: "The Margin Perceptron with Unlearning", ICML 2010; Algorithm 1 with the active sets,
multiple updates and early stopping of section 4. With z_i = y_i x_i, integers 0 <= I_i <= I and a = sum_i I_i z_i,
an example is *learned* (a += z_i, I_i += 1) while a.z_i <= b and I_i < I, and *unlearned* (a -= z_i, I_i -= 1)
while a.z_i >= b + db and I_i > 0. The solution is w = a / b with dual variables I_i / b and C = I / b.

b and I follow from the accuracy wanted before running (Remark 4), db = 3 R^2 with R = max ||x_i||.

Counted: one inner product per example presented, n per after-running certificate (24); a multiple update is one
step and as many updates as its multiplicity.

Deviations: the certificate (24) is computed at the end of a pass over all examples only if an estimate says that it
may hold: each example presented adds I max(0, b - a.z_i) - I_i (b - a.z_i) to the gap between primal and dual. A zero
row can never be learned and gets I_i = I at once. a and I_i are doubles that hold integers (exact below 2^53).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np
from annotated_types import Ge, Gt, Lt
from numba import njit
from numpy.typing import NDArray

from mpu_bench.core.counters import INNER_PRODUCTS, PRESENTED, STEPS, UPDATES, new_counters
from mpu_bench.core.kernels import Kernel
from mpu_bench.core.model import LinearModel
from mpu_bench.core.prefetch import prefetch
from mpu_bench.core.problem import Problem
from mpu_bench.core.random import generator, shuffle
from mpu_bench.core.rows import Rows, add, dot, prepare
from mpu_bench.core.solver import Allowance, Measures, Solver, Status
from mpu_bench.errors import ConfigError
from mpu_bench.solvers.linear.objective import certify, finite_squared_norms, hinge_sum

_NEAR = 1.01  #: c-bar: an example with a.z <= c-bar b joins the first active set
_FIRST_ROUNDS = 3  #: N_ep1: the first set is presented once more than this, then all examples are
_SECOND_ROUNDS = 10  #: N_ep2: the second set is presented so often at most

_DOUBT = 1.5  # the certificate is computed where its estimate is at most so many times what is wanted
_AHEAD = np.uint32(6)  # places ahead that are fetched
_ALL, _FIRST, _SECOND = 0, 1, 2  # the sets of examples
# Places in State.progress; _SIZES + s is the size of set s
_POSITION, _SET, _ROUNDS_FIRST, _ROUNDS_SECOND, _CHANGED, _STATUS, _SIZES = 0, 1, 2, 3, 4, 5, 6
# Places in State.numbers
_GAP, _DUAL = 0, 1


class Rule(NamedTuple):
    """The constants of the update conditions."""

    most: float  #: I, the bound on every I_i
    threshold: float  #: b
    unlearning: float  #: b + db


class State(NamedTuple):
    """What the algorithm works on; n examples of d features."""

    rows: Rows
    signs: NDArray[np.float64]  #: y (n,)
    squared_norms: NDArray[np.float64]  #: ||x_i||^2 (n,)
    multiplicities: NDArray[np.float64]  #: I_i (n,)
    weights: NDArray[np.float64]  #: a (d,)
    orders: NDArray[np.uint32]  #: (3, n): all examples and the two active sets
    generator: NDArray[np.uint64]
    progress: NDArray[np.int64]  #: where the present round is, and the sizes of the sets
    numbers: NDArray[np.float64]  #: primal - dual as seen in the present round; the dual; both times b^2
    counters: NDArray[np.int64]


@dataclass(frozen=True)
class MPU(Solver):
    """The margin perceptron with unlearning.

    Attributes
    ----------
    C : float
        The weight of the losses.
    accuracy : float
        epsilon: J is at most 1 + epsilon times the optimum at convergence, guaranteed before running.
    stop : float
        epsilon_stop: end as soon as the after-running certificate (24) is at most this; 0 runs to convergence.
    """

    name = "mpu"
    paper = "mpu-2010"
    l1_svm = True

    C: Annotated[float, Gt(0)] = 1.0
    accuracy: Annotated[float, Gt(0), Lt(1)] = 1e-5
    stop: Annotated[float, Ge(0)] = 1e-4

    def rule(self, largest_squared_norm: float) -> Rule:
        """Choose I and b for the accuracy wanted (Remark 4); ``largest_squared_norm`` is R^2.

        Raises
        ------
        ConfigError
            If I is beyond 2^53, where doubles no longer hold all integers.
        """
        gap = 3.0 * float(largest_squared_norm)  # db > R^2, (7)
        most = self.C * gap * (2.0 + self.accuracy) / self.accuracy + 1.0
        if most > 2.0**53:
            raise ConfigError(
                f"mpu: accuracy {self.accuracy} needs I = {most:.1e}, beyond 2^53; take a larger accuracy"
            )
        most = np.floor(most)
        return Rule(most, most / self.C, most / self.C + gap)

    def start(self, problem: Problem, kernel: Kernel, seed: int) -> State:
        """Start at a = 0."""
        self.check(problem, kernel)
        n = problem.n
        norms = finite_squared_norms(problem)
        multiplicities = np.where(norms == 0.0, self.rule(norms.max()).most, 0.0)
        orders = np.zeros((3, n), np.uint32)
        orders[_ALL] = np.arange(n)
        state = State(
            problem.train,
            problem.signs(),
            norms,
            multiplicities,
            np.zeros(problem.features),
            orders,
            generator(seed, "mpu"),
            np.array([0, _ALL, 0, 0, 0, Status.RUNNING, n, 0, 0]),
            np.array([0.0, self.rule(norms.max()).threshold * multiplicities.sum()]),
            new_counters(),
        )
        shuffle(state.generator, orders[_ALL], n)
        return state

    def advance(self, state: State, allowance: Allowance) -> Status:
        """Present further examples."""
        rule = self.rule(state.squared_norms.max())
        return Status(_advance(state, rule, self.stop, allowance.presented))

    def model(self, state: State) -> LinearModel:
        """Give w = a / b."""
        return LinearModel(state.weights[np.newaxis] / self.rule(state.squared_norms.max()).threshold)

    def measures(self, state: State) -> Measures:
        """Certify w = a / b by the dual variables I_i / b."""
        b = self.rule(state.squared_norms.max()).threshold
        return certify(state.rows, state.signs, state.weights / b, state.multiplicities / b, self.C)


@njit(cache=True, nogil=True)
def _advance(state, rule, stop, allowed):
    progress = state.progress
    while progress[_STATUS] == Status.RUNNING and allowed > 0:
        first = progress[_POSITION]
        last = min(first + allowed, progress[_SIZES + progress[_SET]])
        _present(state, rule, progress[_SET], first, last)
        allowed -= last - first
        while progress[_STATUS] == Status.RUNNING and progress[_POSITION] == progress[_SIZES + progress[_SET]]:
            _end_round(state, rule, stop)
    return progress[_STATUS]


@njit(cache=True, nogil=True, error_model="numpy")
def _present(state, rule, present_set, first, last):
    """Present the examples ``first`` to ``last - 1`` of a set and collect the set below it."""
    rows, signs, norms, multiplicities, weights, orders = state[:6]
    progress, numbers = state.progress, state.numbers
    order, collected = orders[present_set], orders[min(present_set + 1, _SECOND)]
    most, b, unlearning = rule
    end = np.uint32(len(order) - 1)
    near = _NEAR * b
    size = np.uint32(0) if present_set == _SECOND else np.uint32(progress[_SIZES + present_set + 1])
    gap, dual = numbers[_GAP], numbers[_DUAL]
    steps, changes = 0, 0.0
    for place in range(np.uint32(first), np.uint32(last)):
        soon = order[min(place + _AHEAD, end)]
        prepare(rows, soon)
        prefetch(signs, soon)
        prefetch(norms, soon)
        prefetch(multiplicities, soon)
        i = order[place]
        p = signs[i] * dot(rows, i, weights)
        count = multiplicities[i]
        change = 0.0
        gap += most * max(b - p, 0.0) - count * (b - p)  # this example's part of primal - dual
        if p <= b and count < most:  # learn, (8) and section 4
            change = min(np.floor((b - p) / norms[i]) + 1.0, most - count)
        elif p >= unlearning and count > 0.0:  # unlearn, (8) and section 4
            change = -min(np.floor((p - unlearning) / norms[i]) + 1.0, count)
        if change != 0.0:
            add(rows, i, signs[i] * change, weights)  # (2)
            count += change
            multiplicities[i] = count
            steps += 1
            changes += abs(change)
            dual += change * (b - p - change * norms[i] / 2.0)
        if present_set == _ALL:
            collects = p <= near or count > 0.0
        else:
            collects = present_set == _FIRST and change != 0.0 and count > 0.0
        if collects:
            collected[size] = i
            size += np.uint32(1)
    if present_set != _SECOND:
        progress[_SIZES + present_set + 1] = size
    progress[_POSITION] = last
    progress[_CHANGED] += steps
    numbers[_GAP], numbers[_DUAL] = gap, dual
    state.counters[PRESENTED] += last - first
    state.counters[INNER_PRODUCTS] += last - first
    state.counters[STEPS] += steps
    state.counters[UPDATES] += np.int64(changes)


@njit(cache=True, nogil=True)
def _end_round(state, rule, stop):
    """Choose the set that is presented next, or stop (section 4)."""
    progress = state.progress
    changed = progress[_CHANGED] > 0
    if progress[_SET] == _ALL:
        if not np.isfinite(state.numbers[_DUAL]):
            progress[_STATUS] = Status.DIVERGED
        elif not changed or (stop > 0.0 and _certified(state, rule, stop)):
            progress[_STATUS] = Status.DONE
        progress[_ROUNDS_FIRST] = 0
        following = _FIRST
    elif progress[_SET] == _FIRST:
        progress[_ROUNDS_FIRST] += 1
        progress[_ROUNDS_SECOND] = 0
        following = _SECOND if changed and progress[_ROUNDS_FIRST] <= _FIRST_ROUNDS else _ALL
    else:
        progress[_ROUNDS_SECOND] += 1
        following = _SECOND if changed and progress[_ROUNDS_SECOND] < _SECOND_ROUNDS else _FIRST
    if progress[_STATUS] == Status.RUNNING:
        _begin_round(state, following)


@njit(cache=True, nogil=True)
def _begin_round(state, following):
    progress = state.progress
    progress[_SET], progress[_POSITION], progress[_CHANGED] = following, 0, 0
    state.numbers[_GAP] = 0.0
    if following != _SECOND:
        progress[_SIZES + following + 1] = 0
    if following == _ALL:
        shuffle(state.generator, state.orders[_ALL], state.orders.shape[1])


@njit(cache=True, nogil=True)
def _certified(state, rule, stop):
    """Tell whether the after-running accuracy (24) is at most ``stop``; computed where it probably is."""
    if state.numbers[_GAP] > _DOUBT * stop * state.numbers[_DUAL]:
        return False
    half_norm = (state.weights * state.weights).sum() / 2.0
    dual = rule.threshold * state.multiplicities.sum() - half_norm
    state.counters[INNER_PRODUCTS] += state.orders.shape[1]
    loss = hinge_sum(state.rows, state.signs, state.weights, rule.threshold)
    return (half_norm + rule.most * loss) / dual - 1.0 <= stop  # (24)
