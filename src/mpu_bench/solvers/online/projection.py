"""Projecting a vector that leaves on the span of the others, by the Cholesky factor of their Gram matrix.

    alpha_j += d_j alpha_p   for all j that stay,   d = K^-1 k_p,   K over them, k_p = K(x_j, x_p)

The factor of the Gram matrix over the vectors there, K = L L', is kept, with 1e-9 on the diagonal (equal rows would
make it singular). A new vector x with kernel values k adds a row to it,

    (z, sqrt(K(x, x) - z.z)),   L z = k.

Where x is the one that leaves, d is L'^-1 z. Where it is another, p, L without its row is made triangular again by
rotations (c_j, s_j) of its columns with p's, one for each later vector j. They give d as well: with g_j the product of
the cosines before j, and l the row of p, d is L'^-1 y of the new factor with

    y_j = l_j before p,   y_j = l_p s_j g_j after it,

and l_p^2 times the product of all squared cosines is what d leaves of K(x_p, x_p). So a step reads L twice, and where p
is not x itself changes at most all of it once: O(B^2).

Solving by triangles and rotations leaves residuals of some 1e-16 of K(x, x), however near a vector is to the span of
the others. What that adds up to over many rotations is bounded by factoring K anew once in 32 B changes. All is in
double precision, kernel values, too: rounded to single, Gram matrices of close vectors are no longer positive.
(Wang, Crammer, Vucetic: "Multi-Class Pegasos on a Budget", ICML 2010, section 4.2, (15) and (16).)
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mpu_bench.core.counters import KERNEL_EVALUATIONS
from mpu_bench.core.jit import jit
from mpu_bench.core.numeric import axpy, dot, new_record
from mpu_bench.errors import DataError
from mpu_bench.solvers.online.expansion import change_squared_norm, remove, smallest, squared_coefficients
from mpu_bench.solvers.online.leaving import maintain

_JITTER = 1e-9  # of K(x, x)
_CHANGES = 32  # times B, after which K is factored anew: a hundredth of the work, and errors up to some 1e-12
_TINY = 1e-300  # instead of K(x, x) = 0, as of a row of zeros with a linear kernel, to divide by

#: ``changes``: how often a vector has left since K was factored
SCALARS = np.dtype([("changes", "i8")])


class Projection(NamedTuple):
    """The factor, whose rows are in the order of insertion, and scratch."""

    gram: NDArray[np.float64]  #: (B + 1, B + 1) kernel values by slot, without the 1e-9
    order: NDArray[np.int64]  #: (B + 1,) the slots of the factor's rows
    factor: NDArray[np.float64]  #: (B + 1, B + 1) L by columns: L_ij is ``factor[j, i]``
    solution: NDArray[np.float64]  #: (B + 1,) z or y
    rotated: NDArray[np.float64]  #: (B + 1,) the column of L that leaves
    shares: NDArray[np.float64]  #: (B + 1,) d by slot, and -1 at p
    scalars: np.recarray[Any, Any]  #: (1,) `SCALARS`


def new_projection(budget: int) -> Projection:
    """Return the factor of no vectors."""
    square, row = np.zeros((budget + 1, budget + 1)), np.zeros(budget + 1)
    order = np.zeros(budget + 1, np.int64)
    return Projection(square, order, square.copy(), row, row.copy(), row.copy(), new_record(SCALARS))


@maintain.register(Projection)
def _(projection, w, _kernel, budget, counters):
    """Add the vector inserted last to the factor, or project the smallest vector on the others."""
    m, gram = w.f.vectors.size[0] - 1, projection.gram
    for j in range(m + 1):
        gram[m, j] = gram[j, m] = w.f.kernel_row[j]
    projection.order[m] = m
    s = _solve(projection, m)
    if m < budget:
        _append(projection, s, m)
        return
    counters[KERNEL_EVALUATIONS] += m + 1
    p = smallest(w.norms, w.inserted_at, m + 1)
    if p < m:
        _append(projection, s, m)
        s = _take_out(projection, p, m)
    d = projection.shares
    _solve_transposed(projection, d, m)
    d[p] = -1.0
    change_squared_norm(w, _give_away(w.f.coefficients, w.average, w.norms[p], gram, d, p, m, s))
    for j in range(m + 1):
        w.norms[j] = squared_coefficients(w.f.coefficients, j) * gram[j, j]
    if p < m:
        _exchange(projection, p, m)
    remove(w, p)


@jit
def _solve(projection, m):
    """Solve L z = k for the vector in row m; return what its projection on those before leaves of K(x, x)."""
    factor, order, z = projection.factor, projection.order, projection.solution
    kernel_row, k_xx = projection.gram[order[m]], projection.gram[order[m], order[m]]
    left = k_xx * (1.0 + _JITTER)
    for j in range(m):
        z[j] = kernel_row[order[j]]
    for j in range(m):
        z[j] /= factor[j, j]
        left -= z[j] * z[j]
        axpy(-z[j], factor[j, j + 1 :], z[j + 1 :], m - j - 1)
    if left <= 0.0 < k_xx:
        raise DataError(
            "projection: the kernel values of the vectors are too similar, as where features are far from 0 for"
            " their differences; shift and scale the features, or take another maintenance"
        )
    return max(left, k_xx * _JITTER, _TINY)


@jit
def _append(projection, s, m):
    """Write row m of L."""
    factor, z = projection.factor, projection.solution
    for j in range(m):
        factor[j, m] = z[j]
    factor[m, m] = np.sqrt(s)


@jit
def _take_out(projection, p, m):
    """Take the vector of slot p out of the factor of m + 1; compute y, and return what d leaves of K(x_p, x_p)."""
    factor, order, y, column = projection.factor, projection.order, projection.solution, projection.rotated
    here = 0
    while order[here] != p:
        here += 1
    for j in range(here):
        y[j] = factor[j, here]
        _shift(factor[j], here, m)
    for i in range(here, m + 1):
        column[i] = factor[here, i]
    left = factor[here, here]
    for j in range(here + 1, m + 1):
        length = np.sqrt(factor[j, j] ** 2 + column[j] ** 2)
        cosine, sine = factor[j, j] / length, column[j] / length
        y[j - 1] = left * sine
        left *= cosine
        factor[j - 1, j - 1] = length
        _rotate(factor[j], column, cosine, sine, factor[j - 1], j + 1, m + 1)
        order[j - 1] = order[j]
    return left * left


@jit
def _solve_transposed(projection, d, m):
    """Solve L' d = y, by slot."""
    factor, order, y = projection.factor, projection.order, projection.solution
    for j in range(m - 1, -1, -1):
        y[j] = (y[j] - dot(factor[j, j + 1 :], y[j + 1 :], m - j - 1)) / factor[j, j]
        d[order[j]] = y[j]


@jit
def _shift(x, begin, end):
    for i in range(np.uint64(begin), np.uint64(end)):
        x[i] = x[i + np.uint64(1)]


@jit(fastmath={"contract"})
def _rotate(x, column, cosine, sine, out, begin, end):
    for i in range(np.uint64(begin), np.uint64(end)):
        out[i - np.uint64(1)] = cosine * x[i] + sine * column[i]
        column[i] = cosine * column[i] - sine * x[i]


@jit
def _give_away(coefficients, average, norm, gram, d, p, m, left):
    """Add alpha_p d to alpha; returns the change of the squared norm.

    What leaves w is r = alpha_p (phi_p - sum_j d_j phi_j). But for the 1e-9 on the diagonal, e_j, it is orthogonal to
    all that stay, and ||w||^2 is less by ||r||^2.
    """
    jittered, crossed = left - _JITTER * gram[p, p], 0.0
    for j in range(m + 1):
        if j != p:
            jittered += _JITTER * gram[j, j] * d[j] * d[j]
    for c in range(len(coefficients)):
        total = 0.0
        for j in range(m + 1):
            if j != p:
                total += coefficients[c, j] * _JITTER * gram[j, j] * d[j]
        crossed += coefficients[c, p] * total
        _add_shares(coefficients, c, p, d, m + 1)
        if average.shape[1] > 0:
            _add_shares(average, c, p, d, m + 1)
    return -jittered * norm / max(gram[p, p], _TINY) - 2.0 * crossed


@jit
def _add_shares(coefficients, c, p, d, m):
    here = coefficients[c, p]
    for j in range(m):
        coefficients[c, j] += d[j] * here


@jit
def _exchange(projection, p, m):
    """Put the last vector into slot p; factor K anew after many changes."""
    gram, order, scalars = projection.gram, projection.order, projection.scalars[0]
    for j in range(m):
        gram[p, j] = gram[j, p] = gram[m, j]
    gram[p, p] = gram[m, m]
    order[m - 1] = p  # it is the newest
    scalars.changes += 1
    if scalars.changes == _CHANGES * m:
        scalars.changes = 0
        for i in range(m):
            _append(projection, _solve(projection, i), i)
