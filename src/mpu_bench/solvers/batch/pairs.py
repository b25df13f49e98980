"""Pairs of variables of SMO: which goes with a first one, and the step of both, alone or conjugate to the step before.

With a bias a pair moves along e_i - e_j: Fan, Chen, Lin, "Working set selection using second order information for
training support vector machines", JMLR 6, 2005, WSS 2. Without one both move freely between their bounds: Steinwart,
Hush, Scovel, "Training SVMs without offset", JMLR 12, 2011. The second variable is here that whose best step, once the
first has made its own, gains most, with the curvature that is left of it: K_jj - K_ij^2 / K_ii.

Torres-Barran, Alaiz, Dorronsoro, "Faster SVM training via conjugate SMO", Pattern Recognition 111, 2021: with d the
step before, the step is the best of all s e_i + t e_j + u d, so that steps are conjugate by K. While d was cut at no
bound the gradient along it is 0, and u follows from s and t, for which K is replaced by K - (Kd)(Kd)' / d'Kd.

Deviations: where a step is cut at a bound, or d has grown to so many variables, the next is that of a pair alone; and
so are the first n, in which most variables go to a bound or are moved once.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mpu_bench.core.jit import jit
from mpu_bench.core.numeric import new_record
from mpu_bench.solvers.batch.shrinking import update_bounds

VARIABLES_AT_ONCE = 128  # of which the best is found in vector code; which of them it is, is looked up afterwards
_MIN_SHARE = 1e-3  # of the curvature of a variable or a pair that the step before and the first variable leave it
_MIN_LEFT = 1e-10  # of the curvature of a pair, below which the step before leaves nothing but rounding
_MAX_MEMBERS = 32

_STEP = np.dtype([("curvature", "f8"), ("size", "i8")])


class Direction(NamedTuple):
    """The step before, d; that of a pair alone where its curvature is 0."""

    members: NDArray[np.int64]  #: (_MAX_MEMBERS,) the variables that it has changed
    changes: NDArray[np.float64]  #: (_MAX_MEMBERS,) by how much
    product: NDArray[np.float64]  #: Kd (n,)
    step: np.recarray[Any, Any]  #: d'Kd, and how many members there are


def new_direction(n: int) -> Direction:
    """Return that no step was made yet on n variables."""
    return Direction(np.zeros(_MAX_MEMBERS, np.int64), np.zeros(_MAX_MEMBERS), np.zeros(n), new_record(_STEP))


@jit
def forget(direction):
    """Let the next step be that of a pair alone."""
    direction.step[0].curvature, direction.step[0].size = 0.0, 0


@jit(forceinline=True)
def select_j(variables, i, row_i):
    """Return the position that gains most together with i, by second order information, with a bias."""
    m, diagonal, low, floor = variables.active_size[0], variables.diagonal, variables.low, variables.min_curvature
    minus_y_grad, grad_i, k_ii = variables.minus_y_grad[:m], variables.minus_y_grad[i], variables.diagonal[i]
    best, block = np.int64(-1), 0
    for start in range(0, m, VARIABLES_AT_ONCE):
        gain, end = np.int64(-1), start + VARIABLES_AT_ONCE
        g, block_low, ks, k_i = minus_y_grad[start:end], low[start:], diagonal[start:], row_i[start:]
        for k in range(len(g)):
            gain = max(gain, _pair_gain(grad_i - g[k] + block_low[k], k_ii + ks[k] - 2.0 * np.float64(k_i[k]), floor))
        if gain > best:
            best, block = gain, start
    g, position = minus_y_grad[block : block + VARIABLES_AT_ONCE], VARIABLES_AT_ONCE
    block_low, ks, k_i = low[block:], diagonal[block:], row_i[block:]
    for k in range(len(g)):
        is_best = _pair_gain(grad_i - g[k] + block_low[k], k_ii + ks[k] - 2.0 * np.float64(k_i[k]), floor) == best
        position = min(position, k if is_best else VARIABLES_AT_ONCE)
    return block + min(position, len(g) - 1)


@jit(forceinline=True, error_model="numpy")  # a check of the divisor would be in the way of vector code
def _pair_gain(difference, curvature, floor):
    """Return twice the gain of a pair, as an integer that compares as it does; 0 where j is not in I_low."""
    difference = difference if difference > 0.0 else 0.0
    curvature = curvature if curvature > floor else floor
    return np.float64(difference * difference / curvature).view(np.int64)


class _First(NamedTuple):
    """What the gain of a conjugate step takes from the first variable of its pair, i."""

    bias: bool
    minus_y_grad: float
    curvature: float  #: K_ii
    product: float  #: (Kd)_i
    weight: float  #: 1 / d'Kd; 0 where there is no step before
    step: float  #: of i alone
    shared: float  #: 1 / K_ii where the bounds allow that step, else 0
    floor: float  #: of curvatures


@jit(forceinline=True)
def _first(variables, direction, bias, i):
    """Return the side of i."""
    slope, k_ii, beta, d = variables.minus_y_grad[i], variables.diagonal[i], variables.beta[i], direction.step[0]
    weight, product, floor = 0.0, 0.0, variables.min_curvature
    if d.curvature > 0.0:
        weight, product = 1.0 / d.curvature, direction.product[i]
    left = max(k_ii - weight * (product * product), _MIN_SHARE * k_ii, floor)
    wanted = slope / left
    step = min(max(wanted, variables.lower[i] - beta), variables.upper[i] - beta)
    return _First(bias, slope, k_ii, product, weight, step, 1.0 / left if step == wanted else 0.0, floor)


@jit(forceinline=True)
def select_conjugate_j(variables, direction, bias, i, row_i):
    """Return the position that gains most with i and the step before; without a bias i itself, where none gains."""
    m, diagonal, up, low = variables.active_size[0], variables.diagonal, variables.up, variables.low
    minus_y_grad, first = variables.minus_y_grad[:m], _first(variables, direction, bias, i)
    # without a step before it, products are read and not used: of an array that is in a cache
    product = direction.product if first.weight > 0.0 else variables.minus_y_grad
    up[i] = low[i] = -np.inf  # it is no second of its own
    best, block = np.int64(-1), 0
    for start in range(0, m, VARIABLES_AT_ONCE):
        gain, end = np.int64(-1), start + VARIABLES_AT_ONCE
        g, ups, lows, ks = minus_y_grad[start:end], up[start:], low[start:], diagonal[start:]
        k_i, qs = row_i[start:], product[start:]
        for k in range(len(g)):
            gain = max(gain, _conjugate_gain(first, g[k], ups[k], lows[k], ks[k], np.float64(k_i[k]), qs[k]))
        if gain > best:
            best, block = gain, start
    g, position = minus_y_grad[block : block + VARIABLES_AT_ONCE], VARIABLES_AT_ONCE
    ups, lows, ks, k_i, qs = up[block:], low[block:], diagonal[block:], row_i[block:], product[block:]
    for k in range(len(g)):
        is_best = _conjugate_gain(first, g[k], ups[k], lows[k], ks[k], np.float64(k_i[k]), qs[k]) == best
        position = min(position, k if is_best else VARIABLES_AT_ONCE)
    update_bounds(variables, i)
    return i if best == 0 and not bias else block + min(position, len(g) - 1)


@jit(forceinline=True, error_model="numpy")  # a check of the divisor would be in the way of vector code
def _conjugate_gain(first, minus_y_grad, up, low, k_jj, k_ij, product):
    """Return twice the gain of i and j, as an integer that compares as it does; 0 where j cannot go with i."""
    if first.bias:
        slope, along = first.minus_y_grad - minus_y_grad + low, first.product - product
        curvature = first.curvature + k_jj - 2.0 * k_ij
        left = curvature - first.weight * (along * along)
    else:
        left = curvature = k_jj
        if first.weight > 0.0:
            k_ij -= first.weight * (first.product * product)
            left -= first.weight * (product * product)
        slope = minus_y_grad - first.step * k_ij
        left -= first.shared * (k_ij * k_ij)
        rise, fall = slope + up, low - slope
        slope = rise if rise > fall else fall
    slope = slope if slope > 0.0 else 0.0
    least = _MIN_SHARE * curvature
    left = left if left > least else least
    left = left if left > first.floor else first.floor
    return np.float64(slope * slope / left).view(np.int64)


@jit(forceinline=True)
def step(variables, direction, bias, is_conjugate, i, j, row_i, row_j):
    """Take the best step of i and j as far as the bounds allow, or of both and the step before; return the gain."""
    while is_conjugate:
        first, k_jj, k_ij = _first(variables, direction, bias, i), variables.diagonal[j], np.float64(row_i[j])
        q_i, q_j, w, s, t = first.product, direction.product[j], first.weight, 0.0, 0.0
        a, b, k = first.curvature - w * (q_i * q_i), k_jj - w * (q_j * q_j), k_ij - w * (q_i * q_j)
        if bias:
            left, curvature = a + b - 2.0 * k, first.curvature + k_jj - 2.0 * k_ij
            if left > max(_MIN_LEFT * curvature, first.floor):
                s = (first.minus_y_grad - variables.minus_y_grad[j]) / left
                t = -s
        elif i != j:
            s, t = _best_of_two(
                first.minus_y_grad, variables.minus_y_grad[j], a, b, k, first.curvature * k_jj, first.floor
            )
        u = -w * (s * q_i + t * q_j)
        if s != 0.0 and _is_inside(variables, direction, i, j, s, t, u):
            return _step_along(variables, direction, i, j, row_i, row_j, s, t, u)
        forget(direction)
        is_conjugate = w > 0.0
    if bias:
        return _update_pair(variables, i, j, row_i, row_j)
    return update_single(variables, i, row_i) if i == j else _update_both(variables, i, j, row_i, row_j)


@jit(forceinline=True)
def _best_of_two(slope_i, slope_j, a, b, k, size, floor):
    """Return the best step of two variables whose K is [[a, k], [k, b]]; (0, 0) where rounding leaves none."""
    determinant = a * b - k * k
    if min(a, b) > floor and determinant > _MIN_LEFT * size:
        return (b * slope_i - k * slope_j) / determinant, (a * slope_j - k * slope_i) / determinant
    return 0.0, 0.0


@jit(forceinline=True)
def _is_inside(variables, direction, i, j, s, t, u):
    """Let d be s e_i + t e_j + u d; return whether all that it changes stay between their bounds."""
    d, members, changes = direction.step[0], direction.members, direction.changes
    for k in range(d.size):
        changes[k] *= u
    _add(direction, i, s)
    _add(direction, j, t)
    for k in range(d.size):
        beta = variables.beta[members[k]] + changes[k]
        if not variables.lower[members[k]] < beta < variables.upper[members[k]]:
            return False
    return True


@jit(forceinline=True)
def _add(direction, i, change):
    """Add to the change of a variable."""
    d, at = direction.step[0], 0
    while at < d.size and direction.members[at] != i:
        at += 1
    if at == d.size:
        direction.members[at], direction.changes[at], d.size = i, 0.0, d.size + 1
    direction.changes[at] += change


@jit(forceinline=True)
def _step_along(variables, direction, i, j, row_i, row_j, s, t, u):
    """Take the step d = s e_i + t e_j + u d; return the gain."""
    d, minus_y_grad, product = direction.step[0], variables.minus_y_grad, direction.product
    d.curvature = s * minus_y_grad[i] + t * minus_y_grad[j]  # equal to its slope, as it is the best step
    for k in range(d.size):
        variables.beta[direction.members[k]] += direction.changes[k]
    update_bounds(variables, i)
    update_bounds(variables, j)
    for k in range(variables.active_size[0]):
        change = s * np.float64(row_i[k]) + t * np.float64(row_j[k]) + u * product[k]
        product[k] = change
        minus_y_grad[k] -= change
    gain = 0.5 * d.curvature
    if d.size > _MAX_MEMBERS - 2:
        forget(direction)
    return gain


@jit(forceinline=True)
def _update_pair(variables, i, j, row_i, row_j):
    """Add t to beta_i and take it from beta_j, as far as D grows and the bounds allow; return by how much it grows."""
    beta, lower, upper, minus_y_grad = variables.beta, variables.lower, variables.upper, variables.minus_y_grad
    curvature = variables.diagonal[i] + variables.diagonal[j] - 2.0 * np.float64(row_i[j])
    most_i, most_j = upper[i] - beta[i], beta[j] - lower[j]
    slope = minus_y_grad[i] - minus_y_grad[j]
    t = min(slope / max(curvature, variables.min_curvature), most_i, most_j)
    beta[i] = upper[i] if t == most_i else beta[i] + t
    beta[j] = lower[j] if t == most_j else beta[j] - t
    update_bounds(variables, i)
    update_bounds(variables, j)
    for k in range(variables.active_size[0]):
        minus_y_grad[k] -= t * (np.float64(row_i[k]) - np.float64(row_j[k]))
    return t * (slope - 0.5 * t * curvature)


@jit(forceinline=True)
def _update_both(variables, i, j, row_i, row_j):
    """Move beta_i and beta_j as far as D grows and the bounds allow; return by how much it grows."""
    beta, lower, upper, minus_y_grad = variables.beta, variables.lower, variables.upper, variables.minus_y_grad
    k_ij, best, s, t, new_i, new_j = np.float64(row_i[j]), 0.0, 0.0, 0.0, beta[i], beta[j]
    a, b = variables.diagonal[i], variables.diagonal[j]
    of_i, of_j = _best_of_two(minus_y_grad[i], minus_y_grad[j], a, b, k_ij, a * b, variables.min_curvature)
    if lower[i] < beta[i] + of_i < upper[i] and lower[j] < beta[j] + of_j < upper[j]:
        best, s, t = 0.5 * (of_i * minus_y_grad[i] + of_j * minus_y_grad[j]), of_i, of_j
        new_i, new_j = beta[i] + s, beta[j] + t
    for end in range(0 if best > 0.0 else 4):  # else one of them ends at a bound
        at, other = (i, j) if end < 2 else (j, i)
        at_bound = lower[at] if end % 2 == 0 else upper[at]
        change = at_bound - beta[at]
        slope, curvature = minus_y_grad[other] - change * k_ij, variables.diagonal[other]
        new = min(max(beta[other] + slope / max(curvature, variables.min_curvature), lower[other]), upper[other])
        then = new - beta[other]
        gain = change * (minus_y_grad[at] - 0.5 * change * variables.diagonal[at]) + then * (
            slope - 0.5 * then * curvature
        )
        if gain > best:
            best = gain
            s, t, new_i, new_j = (change, then, at_bound, new) if end < 2 else (then, change, new, at_bound)
    beta[i], beta[j] = new_i, new_j
    update_bounds(variables, i)
    update_bounds(variables, j)
    for k in range(variables.active_size[0]):
        minus_y_grad[k] -= s * np.float64(row_i[k]) + t * np.float64(row_j[k])
    return best


@jit(forceinline=True)
def update_single(variables, i, row_i):
    """Move beta_i as far as D grows and the bounds allow; return by how much it grows."""
    beta, minus_y_grad, slope = variables.beta, variables.minus_y_grad, variables.minus_y_grad[i]
    step = slope / max(variables.diagonal[i], variables.min_curvature)
    new = min(max(beta[i] + step, variables.lower[i]), variables.upper[i])
    change = new - beta[i]
    for k in range(variables.active_size[0]):
        minus_y_grad[k] -= change * np.float64(row_i[k])
    beta[i] = new
    update_bounds(variables, i)
    return change * (slope - 0.5 * change * variables.diagonal[i])
