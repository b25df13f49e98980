"""The search for the point farthest from the centre of a ball: the one with the least response.

The response of a point outside the core set is not computed anew where the steps since it was last known are fewer
than the core set's examples: it is brought up to date with one kernel value a step (`History`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mpu_bench.core.counters import KERNEL_COMPUTED, KERNEL_EVALUATIONS
from mpu_bench.core.jit import jit
from mpu_bench.core.rng import randint, rng
from mpu_bench.core.vectors import Vectors, new_vectors, put
from mpu_bench.solvers.meb.core_set import row, sum_of_products, total, values_from


class History(NamedTuple):
    """The latest steps, and the responses of points outside the core set as they once were.

    Measured (50 columns, 4,000 steps, one run each): with it fw is 2.3 times (n = 30,000) to 2.9 times (n = 5,000) as
    fast and mfw 1.6 to 2.5 times; at n = 30,000 the kernel values computed are 0.23 to 0.26 of those asked for, and
    0.89 to 0.92 without it.
    """

    vectors: Vectors  #: the point of every step, L slots or none
    changes: NDArray[np.float64]  #: (L,) by how much y_j alpha_j / scale changed
    buffer: NDArray[np.float32]  #: (L,)
    first: NDArray[np.int64]  #: (1,) the number of the step in slot 0
    sums: NDArray[np.float64]  #: (n,) sum_j y_j alpha_j (K_ij + 1) / scale when it was last computed
    known: NDArray[np.int64]  #: (n,) up to which step, or -1


class Search(NamedTuple):
    """How the farthest point is searched."""

    order: NDArray[np.uint32]  #: (n,) a permutation; its beginning is the sample
    generator: NDArray[np.uint64]
    sampled: int  #: how many points a sample has
    confirmations: int  #: how many fresh samples must agree that it ends, or -1: all points


def new_history(n: int, features: int, length: int, steps: int) -> History:
    """Return a history of n examples with room for so many steps, before which some were taken."""
    changes, buffer = np.zeros(length), np.zeros(length, np.float32)
    first, known = np.array([steps]), np.full(n, -1)
    return History(new_vectors(features, length), changes, buffer, first, np.zeros(n), known)


def new_search(n: int, sampled: int, confirmations: int, seed: int) -> Search:
    """Return a search among n points."""
    return Search(np.arange(n, dtype=np.uint32), rng(seed, "ball"), sampled, confirmations)


@jit
def draw(order, sampled, generator):
    """Put as many different random items as are sampled at the beginning of a permutation."""
    for p in range(sampled):
        other = p + randint(generator, np.uint32(len(order) - p))
        order[p], order[other] = order[other], order[p]


@jit
def farthest_point(examples, core, history, search, ball, eps, counters):
    """Return the point farthest from the centre and its response; -1 for the point when the algorithm ends."""
    # g_i > (1 + eps)^2 r^2, with g_i = r^2 + 2 (R - s_i)
    enough = (ball.delta2 - ball.r2) - (2.0 * eps + eps * eps) * ball.r2 / 2.0
    for attempt in range(1 + abs(search.confirmations)):
        sampled = search.sampled
        if search.confirmations < 0 and attempt == 1:
            sampled = len(search.order)
        if sampled < len(search.order):
            draw(search.order, sampled, search.generator)
        farthest, least = np.uint32(0), np.inf
        for p in range(sampled):
            i = search.order[p]
            s = response(examples, core, history, i, ball, counters)
            if s < least or (s == least and i < farthest):
                farthest, least = i, s
        counters[KERNEL_EVALUATIONS] += core.active[0] * sampled
        if least < enough:
            return np.int64(farthest), least
    return np.int64(-1), 0.0


@jit(allocates=True, inline="always")
def response(examples, core, history, i, ball, counters):
    """Return s_i, computed in the cheapest of three ways."""
    slot, m = core.slots[i], core.vectors.size[0]
    if slot >= 0:
        return ball.scale * core.responses[slot]
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
        if len(core.kept) == len(core.slots):  # there is room for a row of every example
            kernel_row = row(core, examples, i, counters)
        else:
            kernel_row = core.buffer[:m]
            values_from(examples, i, core.vectors, np.int64(0), kernel_row)
            counters[KERNEL_COMPUTED] += m
        score = sum_of_products(core.coefficients, kernel_row) + ball.bias
    history.sums[i], history.known[i] = score, steps
    return ball.scale * (2.0 * examples.labels[i] - 1.0) * score


@jit
def least_response(examples, core, ball):
    """Return the least response of all points; none is remembered."""
    least, m = np.inf, core.vectors.size[0]
    for i in range(len(examples.labels)):
        slot = core.slots[i]
        if slot >= 0:
            least = min(least, core.responses[slot])
            continue
        values_from(examples, np.uint32(i), core.vectors, np.int64(0), core.buffer[:m])
        score = sum_of_products(core.coefficients, core.buffer[:m]) + ball.bias
        least = min(least, (2.0 * examples.labels[i] - 1.0) * score)
    return ball.scale * least


@jit
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
    for c in range(vectors.columns.shape[0]):
        for k in range(left):
            vectors.columns[c, k] = vectors.columns[c, half + k]
    for k in range(left):
        vectors.squared_norms[k], history.changes[k] = vectors.squared_norms[half + k], history.changes[half + k]
    history.first[0] += half
    vectors.size[0] = left
