"""Learning and unlearning as section 4 of mpu-2010 presents the examples: active sets and multiple updates.

Panagiotakopoulos, Tsampouka: "The Margin Perceptron with Unlearning", ICML 2010, Algorithm 1. With z_i = y_i x_i,
0 <= I_i <= I and a = sum_i I_i z_i, an example is *learned* (a += z_i, I_i += 1) while p_i = a.z_i <= b and I_i < I,
and *unlearned* (a -= z_i, I_i -= 1) while p_i >= b + db and I_i > 0. Soft margin: I is finite. Hard margin: it is not.

All examples are presented in a new random order; those near the margin or with I_i > 0 form the first active set, and
those of the first that change form the second, which is presented until nothing changes or ten times. After four
rounds over the first set, or one without a change, all examples are presented again; if then none changes, it is done.

Counted: one inner product per example presented and n per after-running certificate, or with a kernel n kernel
evaluations per change and nothing else; a multiple update is one step and as many updates as its multiplicity.

Besides convergence, three things end a run, looked at after the presentation of all examples:

- *The certificate* (24), or (12) in hard margin, is good enough. It is computed only if an estimate says that it may
  be. Soft margin: each example presented adds I max(0, b - p_i) - I_i (b - p_i) to the gap between primal and dual.
  Hard margin: the smallest p_i seen stands for the smallest there is.
- *There is no margin* (hard margin). a / sum_i I_i lies in the convex hull of the z_i, so no vector of length one has
  all its products with the z_i above ||a|| / sum_i I_i: once that is below the smallest margin asked for, the answer
  is known. In soft margin a zero z_i can never be learned and gets I_i = I at once.
- A number is no longer finite.

All I_i are doubles that hold integers, exact below 2^53.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from mpu_bench.core.counters import (
    INNER_PRODUCTS,
    KERNEL_COMPUTED,
    KERNEL_EVALUATIONS,
    PRESENTED,
    STEPS,
    UPDATES,
    new_counters,
)
from mpu_bench.core.prefetch import prefetch
from mpu_bench.core.rng import shuffle
from mpu_bench.core.solver import Allowance, Status
from mpu_bench.solvers.mpu.responses import Responses, change, fetch, products, response, squared_length, survey

_NEAR = 1.01  #: c-bar: an example with p <= c-bar b joins the first active set
_FIRST_ROUNDS = 3  #: N_ep1: the first set is presented once more than this, then all examples are
_SECOND_ROUNDS = 10  #: N_ep2: the second set is presented so often at most

_DOUBT = 1.5  # the certificate is computed where its estimate is at most so many times what is wanted
_AHEAD = np.uint32(6)  # places ahead that are fetched
_ALL, _FIRST, _SECOND = 0, 1, 2  # the sets of examples
# Places in State.progress; _SIZES + s is the size of set s
_POSITION, _SET, _ROUNDS_FIRST, _ROUNDS_SECOND, _CHANGED, _STATUS, _NO_MARGIN, _SIZES = 0, 1, 2, 3, 4, 5, 6, 7
# Places in State.numbers
_GAP, _DUAL, _SMALLEST = 0, 1, 2


class Rule(NamedTuple):
    """The constants of the update conditions and of the end."""

    most: float  #: I, the bound on every I_i; infinite in hard margin
    threshold: float  #: b
    unlearning: float  #: b + db; infinite for no unlearning
    stop: float  #: the deviation from the optimum, or from the maximum margin, that ends a run; 0 for convergence
    smallest_margin: float  #: hard margin: a maximum margin below this ends a run


class State(NamedTuple):
    """What the algorithm works on; n examples."""

    held: Responses
    squared_norms: NDArray[np.float64]  #: ||z_i||^2 (n,)
    multiplicities: NDArray[np.float64]  #: I_i (n,)
    orders: NDArray[np.uint32]  #: (3, n): all examples and the two active sets
    generator: NDArray[np.uint64]
    progress: NDArray[np.int64]  #: where the present round is, how the run ended, and the sizes of the sets
    numbers: NDArray[np.float64]  #: primal - dual as seen in the present round; the dual; both times b^2; smallest p
    counters: NDArray[np.int64]


def start(
    held: Responses,
    squared_norms: NDArray[np.float64],
    rule: Rule,
    generator: NDArray[np.uint64],
    no_margin: bool = False,
) -> State:
    """Start at a = 0; ``no_margin`` where the answer is known already."""
    n = len(squared_norms)
    multiplicities = np.where((squared_norms == 0.0) & np.isfinite(rule.most), rule.most, 0.0)
    orders = np.zeros((3, n), np.uint32)
    orders[_ALL] = np.arange(n)
    shuffle(generator, orders[_ALL], n)
    status = Status.DONE if no_margin else Status.RUNNING
    progress = np.array([0, _ALL, 0, 0, 0, status, no_margin, n, 0, 0])
    numbers = np.array([0.0, rule.threshold * multiplicities.sum(), np.inf])
    return State(held, squared_norms, multiplicities, orders, generator, progress, numbers, new_counters())


def advance(state: State, rule: Rule, allowance: Allowance) -> Status:
    """Present further examples."""
    return Status(_advance(state, rule, allowance.presented, allowance.kernel_evaluations))


def has_no_margin(state: State) -> bool:
    """Tell whether the run ended because no margin above the smallest one exists."""
    return bool(state.progress[_NO_MARGIN])


@njit(cache=True, nogil=True)
def _advance(state, rule, presented, evaluations):
    progress = state.progress
    while progress[_STATUS] == Status.RUNNING and presented > 0 and evaluations > 0:
        first = progress[_POSITION]
        last = min(first + presented, progress[_SIZES + progress[_SET]])
        evaluations -= _present(state, rule, progress[_SET], first, last, evaluations)
        presented -= progress[_POSITION] - first
        while progress[_STATUS] == Status.RUNNING and progress[_POSITION] == progress[_SIZES + progress[_SET]]:
            _end_round(state, rule)
    return progress[_STATUS]


@njit(cache=True, nogil=True, error_model="numpy")
def _present(state, rule, present_set, first, last, allowed):
    """Present the examples ``first`` to ``last - 1`` of a set and collect the set below it.

    Ends early once ``allowed`` kernel values are asked for; gives their number.
    """
    held, norms, multiplicities, orders = state[:4]
    progress, numbers = state.progress, state.numbers
    order, collected = orders[present_set], orders[min(present_set + 1, _SECOND)]
    most, b, unlearning = rule.most, rule.threshold, rule.unlearning
    loss_weight = 0.0 if np.isinf(most) else most
    end = np.uint32(len(order) - 1)
    near = _NEAR * b
    size = np.uint32(0) if present_set == _SECOND else np.uint32(progress[_SIZES + present_set + 1])
    gap, dual, smallest = numbers[_GAP], numbers[_DUAL], numbers[_SMALLEST]
    steps, updates, evaluations = 0, 0.0, 0
    for place in range(np.uint32(first), np.uint32(last)):
        soon = order[min(place + _AHEAD, end)]
        fetch(held, soon)
        prefetch(norms, soon)
        prefetch(multiplicities, soon)
        i = order[place]
        p = response(held, i)
        count = multiplicities[i]
        multiple = 0.0
        gap += loss_weight * max(b - p, 0.0) - count * (b - p)  # this example's part of primal - dual
        smallest = min(smallest, p)
        if p <= b and count < most:  # learn, (8) and section 4
            multiple = min(np.floor((b - p) / norms[i]) + 1.0, most - count)
        elif p >= unlearning and count > 0.0:  # unlearn, (8) and section 4
            multiple = -min(np.floor((p - unlearning) / norms[i]) + 1.0, count)
        if multiple != 0.0:
            evaluations += change(held, i, multiple)  # (2)
            count += multiple
            multiplicities[i] = count
            steps += 1
            updates += abs(multiple)
            dual += multiple * (b - p - multiple * norms[i] / 2.0)
        if present_set == _ALL:
            collects = p <= near or count > 0.0
        else:
            collects = present_set == _FIRST and multiple != 0.0 and count > 0.0
        if collects:
            collected[size] = i
            size += np.uint32(1)
        if evaluations >= allowed:
            last = np.int64(place) + 1
            break
    if present_set != _SECOND:
        progress[_SIZES + present_set + 1] = size
    state.counters[PRESENTED] += last - first
    state.counters[INNER_PRODUCTS] += (last - first) * products(held)
    state.counters[KERNEL_EVALUATIONS] += evaluations
    state.counters[KERNEL_COMPUTED] += evaluations
    state.counters[STEPS] += steps
    state.counters[UPDATES] += np.int64(updates)
    progress[_POSITION] = last
    progress[_CHANGED] += steps
    numbers[_GAP], numbers[_DUAL], numbers[_SMALLEST] = gap, dual, smallest
    return evaluations


@njit(cache=True, nogil=True)
def _end_round(state, rule):
    """Choose the set that is presented next, or stop (section 4)."""
    progress = state.progress
    changed = progress[_CHANGED] > 0
    if progress[_SET] == _ALL:
        if not np.isfinite(state.numbers[_DUAL]):
            progress[_STATUS] = Status.DIVERGED
        elif not changed or _ends_early(state, rule):
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
    state.numbers[_GAP], state.numbers[_SMALLEST] = 0.0, np.inf
    if following != _SECOND:
        progress[_SIZES + following + 1] = 0
    if following == _ALL:
        shuffle(state.generator, state.orders[_ALL], state.orders.shape[1])


@njit(cache=True, nogil=True)
def _ends_early(state, rule):
    """Tell whether the certificate holds, or that there is no margin."""
    if not np.isinf(rule.most):
        return rule.stop > 0.0 and _deviates_little(state, rule)
    length, total = np.sqrt(squared_length(state.held, state.multiplicities)), state.multiplicities.sum()
    if length < rule.smallest_margin * total:
        state.progress[_NO_MARGIN] = 1
        return True
    return rule.stop > 0.0 and _margin_is_large(state, rule, length, total)


@njit(cache=True, nogil=True)
def _deviates_little(state, rule):
    """Tell whether the after-running accuracy (24) is at most ``stop``; computed where it probably is."""
    if state.numbers[_GAP] > _DOUBT * rule.stop * state.numbers[_DUAL]:
        return False
    half = squared_length(state.held, state.multiplicities) / 2.0
    dual = rule.threshold * state.multiplicities.sum() - half
    state.counters[INNER_PRODUCTS] += state.orders.shape[1] * products(state.held)
    loss, _ = survey(state.held, rule.threshold)
    return (half + rule.most * loss) / dual - 1.0 <= rule.stop  # (24)


@njit(cache=True, nogil=True)
def _margin_is_large(state, rule, length, total):
    """Tell whether the fraction (12) is at least 1 / (1 + stop); computed where it probably is."""
    if state.numbers[_SMALLEST] * total * (1.0 + _DOUBT * rule.stop) < length * length:
        return False
    state.counters[INNER_PRODUCTS] += state.orders.shape[1] * products(state.held)
    _, smallest = survey(state.held, rule.threshold)
    return smallest * total * (1.0 + rule.stop) >= length * length  # (12)
