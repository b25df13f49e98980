"""Sequential minimal optimization of the core set's weights: step 11 of Algorithm 1, and the ball all start from.

    minimise   R = sum_ij alpha_i alpha_j k~_ij   over   sum_j alpha_j = 1,  alpha_j >= 0,   j in the core set

with responses s_j = sum_i alpha_i k~_ij, half the gradient of R. Working set selection by second order information
(Fan, Chen, Lin, JMLR 6, 2005): weight moves to the i with the least response from the j, of those that have weight,
with the largest gain (s_j - s_i)^2 / (k~_ii + k~_jj - 2 k~_ij). It starts from the weights at hand, and makes so many
moves at most that it takes about a tenth of a second: who called goes on from there.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mpu_bench.core.counters import KERNEL_COMPUTED, UPDATES
from mpu_bench.core.jit import jit, jit_dispatch
from mpu_bench.core.numeric import number, order
from mpu_bench.solvers.certificates import of_example
from mpu_bench.solvers.meb.core_set import CoreSet, Examples, kept_row

_MIN_CURVATURE = 1e-12  # of a pair, where k~_ii + k~_jj - 2 k~_ij is not above zero
MAX_MOVES, _MAX_VALUES = 1 << 16, 1 << 27  # of one call, and kernel values that it reads or computes
_SLOTS_AT_ONCE = 128  # of which the best is found in vector code; which of them it is, is looked up afterwards


class KnownRows(NamedTuple):
    """Points all of whose kernel values are known."""

    rows: NDArray[np.floating[Any]]  #: K (m, m)
    C: NDArray[np.float64]  #: C_i (m,)


class RowsOfCoreSet(NamedTuple):
    """The points of the core set: a row is kept or computed."""

    rows: NDArray[np.floating[Any]]  #: K of an example that is kept with those in all slots
    core: CoreSet
    examples: Examples


@jit_dispatch
def index_of_row(points, slot, counters):
    """Return the index among ``rows`` of the example in a slot; valid until the call after the next."""


@index_of_row.register(KnownRows)
def _(points, slot, counters):  # noqa: ARG001
    return slot


@index_of_row.register(RowsOfCoreSet)
def _(points, slot, counters):
    return kept_row(points.core, points.examples, points.core.members[slot], counters)


@jit_dispatch
def loss_weight(points, slot):
    """Return C_i of the example in a slot."""


@loss_weight.register(KnownRows)
def _(points, slot):
    return points.C[slot]


@loss_weight.register(RowsOfCoreSet)
def _(points, slot):
    return of_example(points.examples.C, points.core.members[slot])


@jit
def minimise(points, s, signs, coefficients, diagonal, R, tolerance, limit, counters):
    """Move weights until no response with weight is more than a tolerance above the least one; return the new R.

    It ends before where it has made its ``limit`` moves, where rounding leaves none, and where a response is no number.
    R is given at the weights at hand. The scale of the core set is 1 here.

    Parameters
    ----------
    points : KnownRows or RowsOfCoreSet
    s, signs, coefficients, diagonal : array of float64
        As of the core set; the responses are as many as there are points.
    R, tolerance : float
    limit : int
    counters : array of int64
    """
    m, computed = len(s), counters[KERNEL_COMPUTED]
    i, largest = _extremes(s, coefficients)
    for _ in range(min(limit, _MAX_VALUES // m)):
        if not largest - s[i] > tolerance or counters[KERNEL_COMPUTED] - computed > _MAX_VALUES:
            break
        row_i = points.rows[index_of_row(points, i, counters), :m]
        j = _best_partner(s, coefficients, signs, diagonal, row_i, i)
        row_j = points.rows[index_of_row(points, j, counters), :m]
        curvature = _curvature(diagonal[i], diagonal[j], signs[i] * signs[j], row_i[j])
        weight = signs[j] * coefficients[j]
        t = min((s[j] - s[i]) / curvature, weight)
        gets, gives = coefficients[i] + signs[i] * t, 0.0 if t == weight else coefficients[j] - signs[j] * t
        if gets == coefficients[i] and gives == coefficients[j]:
            break
        R += t * (t * curvature - 2.0 * (s[j] - s[i]))
        coefficients[i], coefficients[j] = gets, gives
        gains, loses = t / loss_weight(points, i), t / loss_weight(points, j)
        i, largest = _move(s, signs, coefficients, i, t * signs[i], row_i, gains, j, -t * signs[j], row_j, loses)
        counters[UPDATES] += 1
    return R


@jit(inline="always")
def minimise_core_set(core, examples, R, tolerance, limit, counters):
    """Move weights of the core set as `minimise` does; return the new R."""
    points, m = RowsOfCoreSet(core.kept, core, examples), core.vectors.size[0]
    core.active[0] = m
    s, signs, coefficients = core.responses[:m], core.signs, core.coefficients
    return minimise(points, s, signs, coefficients, core.diagonal, R, tolerance, limit, counters)


@jit
def _extremes(s, coefficients):
    """Return the slot of the least response, and the largest response with weight."""
    least, largest, block = -order(np.inf), order(-np.inf), 0
    for start in range(0, len(s), _SLOTS_AT_ONCE):
        least_here, largest_here = _extremes_of_block(s[start : start + _SLOTS_AT_ONCE], coefficients[start:])
        if least_here > least:
            least, block = least_here, start
        largest = max(largest, largest_here)
    return _slot_of_least(s, block, least), number(largest)


@jit
def _move(s, signs, coefficients, i, change_i, row_i, gains, j, change_j, row_j, loses):
    """Bring the responses up to date with a move from slot j to slot i, and return their extremes, in one pass.

    The rows hold K alone; by its diagonal, which has 1/C more, the response of i ``gains`` and that of j ``loses``.
    """
    least, largest, block = -order(np.inf), order(-np.inf), 0
    for start in range(0, len(s), _SLOTS_AT_ONCE):
        end = start + _SLOTS_AT_ONCE
        responses, others, ks_i, ks_j = s[start:end], signs[start:], row_i[start:], row_j[start:]
        for k in range(len(responses)):
            responses[k] += others[k] * (
                change_i * (np.float64(ks_i[k]) + 1.0) + change_j * (np.float64(ks_j[k]) + 1.0)
            )
        if start <= i < end:
            s[i] += gains
        if start <= j < end:
            s[j] -= loses
        least_here, largest_here = _extremes_of_block(responses, coefficients[start:])
        if least_here > least:
            least, block = least_here, start
        largest = max(largest, largest_here)
    return _slot_of_least(s, block, least), number(largest)


@jit(forceinline=True)
def _extremes_of_block(responses, weights):
    least = largest = order(-np.inf)
    for k in range(len(responses)):
        least = max(least, -order(responses[k]))
        largest = max(largest, order(responses[k] if weights[k] != 0.0 else -np.inf))
    return least, largest


@jit(forceinline=True)
def _slot_of_least(s, block, least):
    responses, offset = s[block : block + _SLOTS_AT_ONCE], _SLOTS_AT_ONCE
    for k in range(len(responses)):
        offset = min(offset, k if -order(responses[k]) == least else _SLOTS_AT_ONCE)
    return min(block + offset, len(s) - 1)  # none is found among numbers that are none


@jit
def _best_partner(s, coefficients, signs, diagonal, row_i, i):
    """Return the slot with weight from which moving weight to slot i gains the most."""
    best, block, s_i, k_ii, sign_i = np.int64(-1), 0, s[i], diagonal[i], signs[i]
    for start in range(0, len(s), _SLOTS_AT_ONCE):
        gain, end = np.int64(-1), start + _SLOTS_AT_ONCE
        responses, weights, others = s[start:end], coefficients[start:], signs[start:]
        ks, k_i = diagonal[start:], row_i[start:]
        for k in range(len(responses)):
            curvature = _curvature(k_ii, ks[k], sign_i * others[k], k_i[k])
            gain = max(gain, _gain(responses[k] - s_i, weights[k], curvature))
        if gain > best:
            best, block = gain, start
    responses, weights, others = s[block : block + _SLOTS_AT_ONCE], coefficients[block:], signs[block:]
    ks, k_i, offset = diagonal[block:], row_i[block:], _SLOTS_AT_ONCE
    for k in range(len(responses)):
        curvature = _curvature(k_ii, ks[k], sign_i * others[k], k_i[k])
        is_best = _gain(responses[k] - s_i, weights[k], curvature) == best
        offset = min(offset, k if is_best else _SLOTS_AT_ONCE)
    return min(block + offset, len(s) - 1)


@jit(forceinline=True)
def _curvature(k_ii, k_jj, signs, k_ij):
    """Return k~_ii + k~_jj - 2 k~_ij, or a little if it is not above zero; ``signs`` is y_i y_j, ``k_ij`` K alone."""
    curvature = k_ii + k_jj - 2.0 * signs * (np.float64(k_ij) + 1.0)
    return curvature if curvature > _MIN_CURVATURE else _MIN_CURVATURE


@jit(forceinline=True)
def _gain(rise, coefficient, curvature):
    """Return twice by how much R falls, as an integer that compares as it does; 0 where no weight can be moved."""
    rise = rise if coefficient != 0.0 else 0.0
    rise = rise if rise > 0.0 else 0.0
    return np.float64(rise * rise / curvature).view(np.int64)
