"""A step of all weights of the core set at once, by conjugate gradients: what SMO needs very many moves for.

Every support vector of an L2-SVM is free, so that the weights beta = alpha / R solve K~ beta = 1 where they are not 0:

    maximise   D = 2 sum_j beta_j - beta' K~ beta   over   beta_j >= 0,   whose gradient is 2 (1 - s / R)

The step is that of conjugate gradients among those that are above 0 or have a gradient above 0, projected to beta >= 0
(More, Toraldo: "On the solution of large quadratic programming problems with bound constraints", SIAM Journal on
Optimization 1, 1991), and then as long as is best, up to the projection. R falls, as 1 / R is the largest D of the
multiples of beta.

A product with K~ reads half of it, as it is symmetric. Where there is room for all rows, that half is kept; else rows
that are not kept are computed for every product.
"""

from __future__ import annotations

import numpy as np

from mpu_bench.core.counters import KERNEL_COMPUTED, UPDATES
from mpu_bench.core.jit import jit
from mpu_bench.core.numeric import ordered_dot
from mpu_bench.solvers.meb.core_set import extend_row, values_from

_MAX_PRODUCTS, _MAX_VALUES = 50, 1 << 33  # of one step, and the entries of K~ in these: seconds
_MAX_COMPUTED = 1 << 28  # of these entries, where their row is not kept: the longer the rows of data, the slower
_LEFT = 0.01  # of the squared gradient, with which conjugate gradients end


@jit(allocates=True)
def step_of_all(core, examples, R, counters):
    """Change all weights of the core set, its responses and active examples; return the new R.

    Nothing is changed where the core set is too large for it, or where rounding leaves nothing to gain.
    """
    m, computed = core.vectors.size[0], 1
    for i in range(m):
        if len(core.kept) >= m and not _is_kept(core, i):
            extend_row(core, examples, core.members[i], np.int64(i), counters)
        computed += 0 if _is_kept(core, i) else i
    limit = min(_MAX_PRODUCTS, _MAX_VALUES // (m * m), _MAX_COMPUTED // computed)
    if limit < 2:
        return R
    s, coefficients, signs = core.responses[:m], core.coefficients, core.signs
    weights, gradient, change, product = np.zeros(m), np.zeros(m), np.zeros(m), np.zeros(m)
    for j in range(m):
        weights[j] = signs[j] * coefficients[j] / R
        gradient[j] = 1.0 - s[j] / R if weights[j] > 0.0 or s[j] < R else 0.0
    residual, direction, first = gradient.copy(), gradient.copy(), ordered_dot(gradient, gradient, m)
    square = first
    for _ in range(limit - 1):
        _multiply(core, examples, direction, product, counters)
        curvature = ordered_dot(direction, product, m)
        if not curvature > 0.0 or not square > _LEFT * first:
            break
        length, before, square = square / curvature, square, 0.0
        for j in range(m):
            change[j] += length * direction[j]
            residual[j] -= length * product[j] if weights[j] > 0.0 or s[j] < R else 0.0
            square += residual[j] * residual[j]
        for j in range(m):
            direction[j] = residual[j] + square / before * direction[j]
    for j in range(m):
        change[j] = max(change[j], -weights[j])
    _multiply(core, examples, change, product, counters)
    slope, curvature = ordered_dot(gradient, change, m), ordered_dot(change, product, m)
    if not (slope > 0.0 and curvature > 0.0):
        return R
    length, total = min(slope / curvature, 1.0), 0.0
    for j in range(m):
        weights[j] = max(weights[j] + length * change[j], 0.0)
        total += weights[j]
    R_after = 0.0
    for j in range(m):
        alpha, response = weights[j] / total, (s[j] / R + length * product[j]) / total
        coefficients[j], s[j] = signs[j] * alpha, response
        R_after += alpha * response
    counters[UPDATES] += 1
    return R_after


@jit(allocates=True)
def _multiply(core, examples, vector, product, counters):
    """Compute K~ times a vector, both of the core set."""
    m, signs = len(vector), core.signs
    signed, sums = np.zeros(m), np.zeros(m)
    total = 0.0
    for j in range(m):
        signed[j] = signs[j] * vector[j]
        total += signed[j]
    for i in range(m):
        if _is_kept(core, i):
            kernel_row = core.kept[core.lru.slot_of_row[core.members[i]], :i]
        else:
            kernel_row = core.buffer[:i]
            values_from(examples, core.members[i], core.vectors, np.int64(0), kernel_row)
            counters[KERNEL_COMPUTED] += i
        sums[i] += _multiply_row(signed[i], kernel_row, signed, sums)
    for i in range(m):
        product[i] = signs[i] * (sums[i] + (total - signed[i])) + core.diagonal[i] * vector[i]


@jit
def _is_kept(core, i):
    """Return whether the kernel values of slot i with those before it are kept."""
    row_slot = core.lru.slot_of_row[core.members[i]]
    return row_slot >= 0 and core.lengths[row_slot] >= i


@jit(fastmath={"reassoc", "contract", "nsz"})
def _multiply_row(factor, kernel_row, vector, sums):
    """Add a multiple of a row to sums, and return the row's product with a vector: the row is read once."""
    total = 0.0
    for j in range(len(kernel_row)):
        k = np.float64(kernel_row[j])
        total += vector[j] * k
        sums[j] += factor * k
    return total
