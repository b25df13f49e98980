"""The search for the point farthest from the centre of a ball: the one with the least response.

The response of a point outside the core set is not computed anew where the steps since it was last known are fewer
than the core set's examples: it is brought up to date with one kernel value a step (`History`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mpu_bench.core.counters import KERNEL_COMPUTED, KERNEL_EVALUATIONS
from mpu_bench.core.jit import jit
from mpu_bench.core.rng import randint, rng
from mpu_bench.core.vectors import Vectors, move, put
from mpu_bench.solvers.meb.core_set import row, sum_of_products, total, values_from

NO_POINT, NOT_YET = -1, -2  # instead of a point
_MAX_VALUES = 1 << 23  # kernel values of a part of all points: some tenths of a second


class History(NamedTuple):
    """The latest steps, and the responses of points outside the core set as they once were.

    Measured (50 columns, 4,000 steps, one run each): with it fw is 2.3 times (n = 30,000) to 2.9 times (n = 5,000) as
    fast and mfw 1.6 to 2.5 times; at n = 30,000 the kernel values computed are 0.23 to 0.26 of those asked for, and
    0.89 to 0.92 without it.
    """

    vectors: Vectors  #: the point of every step, L slots or none
    changes: NDArray[np.float64]  #: (L,) by how much y_j alpha_j / scale changed
    buffer: NDArray[np.floating[Any]]  #: (L,)
    first: NDArray[np.int64]  #: (1,) the number of the step in slot 0
    sums: NDArray[np.float64]  #: (n,) sum_j y_j alpha_j (K_ij + 1) / scale when it was last computed
    known: NDArray[np.int64]  #: (n,) up to which step, or -1


class Search(NamedTuple):
    """How the farthest point is searched."""

    order: NDArray[np.uint32]  #: (n,) a permutation; its beginning is the sample
    generator: NDArray[np.uint64]
    sampled: int  #: how many points a sample has
    confirmations: int  #: how many fresh samples must agree that it ends, or -1: all points
    agreed: NDArray[np.int64]  #: (1,) how many of all points have agreed since the last step
    first: NDArray[np.int64]  #: (1,) from which point on they are asked
    first_rows: NDArray[np.floating[Any]]  #: K of the points that the ball at the start is that of


def new_history(n: int, vectors: Vectors, steps: int) -> History:
    """Return a history of n examples with room for as many steps as there are slots, before which some were taken."""
    buffer = np.zeros_like(vectors.squared_norms)
    return History(vectors, np.zeros(len(buffer)), buffer, np.array([steps]), np.zeros(n), np.full(n, -1))


def new_search(n: int, sampled: int, confirmations: int, seed: int, first_rows: NDArray[np.floating[Any]]) -> Search:
    """Return a search among n points, and for the first ball."""
    order, agreed, first = np.arange(n, dtype=np.uint32), np.zeros(1, np.int64), np.zeros(1, np.int64)
    return Search(order, rng(seed, "ball"), sampled, confirmations, agreed, first, first_rows)


@jit
def draw(order, sampled, generator):
    """Put as many different random items as are sampled at the beginning of a permutation."""
    for p in range(sampled):
        other = p + randint(generator, np.uint32(len(order) - p))
        order[p], order[other] = order[other], order[p]


@jit(inline="always")
def shortfall(ball):
    """Return by how much the least response may be below R when the algorithm ends."""
    if ball.gap > 0.0:  # R^2 / s^2 - 1 is the gap then (certificate.py)
        allowed = (ball.delta2 - ball.r2) * (1.0 - 1.0 / np.sqrt(1.0 + ball.gap))
    else:  # g_i <= (1 + eps)^2 r^2, with g_i = r^2 + 2 (R - s_i)
        allowed = (ball.eps + ball.eps * ball.eps / 2.0) * ball.r2
    return max(allowed, ball.rounding)


@jit(inline="always")
def farthest_point(join, examples, core, history, search, ball, counters):
    """Return the point farthest from the centre and its response; for the point `NO_POINT` when the algorithm ends.

    It is `NOT_YET` where no sample and none of those of all points that there was time for is far enough: the next call
    goes on. The response is no number where one of those looked at is none. ``join(examples, core, ball, i, s,
    counters)``, an algorithm's, is called with each that is far enough.
    """
    n, enough = len(search.order), (ball.delta2 - ball.r2) - shortfall(ball)
    for attempt in range(1 + abs(search.confirmations)):
        asks_all = search.confirmations < 0 and attempt == 1
        first = search.agreed[0] if asks_all else 0
        last = min(n, first + 1 + _MAX_VALUES // core.vectors.size[0]) if asks_all else search.sampled
        if ball.adds_all:  # SMO has as much to do with them
            last = max(last, min(n, first + core.vectors.size[0]))
        if not asks_all and last < n:
            draw(search.order, last, search.generator)
        farthest, least = np.uint32(0), np.inf
        for p in range(first, last):
            i = np.uint32((search.first[0] + p) % n) if asks_all else search.order[p]
            s = response(examples, core, history, i, ball, counters)
            if np.isnan(s):
                return np.int64(i), s
            if s < enough:
                join(examples, core, ball, i, s, counters)
            if s < least or (s == least and i < farthest):
                farthest, least = i, s
        counters[KERNEL_EVALUATIONS] += core.active[0] * (last - first)
        if least < enough:
            ball.looked_at = last - first
            if asks_all and ball.adds_all:  # those before were asked a moment ago
                search.first[0] = (search.first[0] + last) % n
            search.agreed[0] = 0
            return np.int64(farthest), least
        if asks_all:
            search.agreed[0] = last
    return np.int64(NOT_YET if search.confirmations < 0 and search.agreed[0] < n else NO_POINT), 0.0


@jit(allocates=True, inline="always")
def response(examples, core, history, i, ball, counters):
    """Return s_i, computed in the cheapest of three ways."""
    slot, m = core.slots[i], core.vectors.size[0]
    if slot >= 0:
        return ball.scale * core.responses[slot]
    # there is room for a row of every example; where all of a large sample join, few are asked for again
    all_kept = len(core.kept) == len(core.slots) and not ball.adds_all
    if all_kept and len(history.changes) == 0:
        score = sum_of_products(core.coefficients, row(core, examples, i, counters)) + ball.bias
        return ball.scale * (2.0 * examples.labels[i] - 1.0) * score
    steps = history.first[0] + history.vectors.size[0]
    behind, missing = steps - history.known[i], m
    if core.lru.slot_of_row[i] >= 0:
        missing += m // 4 - core.lengths[core.lru.slot_of_row[i]]
    if history.known[i] >= history.first[0] and behind <= missing:
        begin = history.known[i] - history.first[0]
        kernel_row, changes = history.buffer[:behind], history.changes[begin : begin + behind]
        values_from(examples, i, history.vectors, begin, kernel_row)
        score = history.sums[i] + sum_of_products(changes, kernel_row) + total(changes)
        counters[KERNEL_COMPUTED] += behind
    else:
        if all_kept:
            kernel_row = row(core, examples, i, counters)
        else:
            kernel_row = core.buffer[:m]
            values_from(examples, i, core.vectors, np.int64(0), kernel_row)
            counters[KERNEL_COMPUTED] += m
        score = sum_of_products(core.coefficients, kernel_row) + ball.bias
    history.sums[i], history.known[i] = score, steps
    return ball.scale * (2.0 * examples.labels[i] - 1.0) * score


@jit(inline="always")
def remember(history, examples, i, change):
    """Append a step that changed y_i alpha_i / scale of example i; the older half makes room where there is none."""
    if len(history.changes) == 0:
        history.first[0] += 1
        return
    if history.vectors.size[0] == len(history.changes):
        _forget_half(history)
    history.changes[history.vectors.size[0]] = change
    put(history.vectors, history.vectors.size[0], examples.rows, i)


@jit
def _forget_half(history):
    """Forget the older half of the steps."""
    vectors, half = history.vectors, len(history.changes) // 2
    left = len(history.changes) - half
    for k in range(left):
        move(vectors, half + k, k)
        history.changes[k] = history.changes[half + k]
    history.first[0] += half
    vectors.size[0] = left
