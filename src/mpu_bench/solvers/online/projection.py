"""Projecting a vector that leaves on the span of the others, by the inverse of their Gram matrix.

    alpha_j += (K^-1 k_p)_j alpha_p   for all j that stay,   K over them, k_p = K(x_j, x_p)

The inverse A of the Gram matrix over the B vectors there is kept, with 1e-9 on the diagonal (equal rows would make it
singular). For a new vector x with kernel values k, v = A k and s = K(x, x) - k.v the inverse with x included is

    [A + v v' / s,  -v / s;  -v' / s,  1 / s],

and (K^-1 k_p) over the others is minus its column p by its diagonal element there; without p it is what a rank-one
change by that column leaves. So a step reads A once, and where p is not x itself changes it once: O(B^2). A is
symmetric and only its lower triangle is kept, row by row.

Rounding builds up. K v = k is checked in one row a step, by turns; where it is off by more than 1e-6, and by ten times
what a fresh inverse leaves, A is computed anew. All is in double precision, kernel values, too: rounded to single,
Gram matrices of close vectors are no longer positive.
(Wang, Crammer, Vucetic: "Multi-Class Pegasos on a Budget", ICML 2010, section 4.2, (15) and (16).)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mpu_bench.core.jit import jit
from mpu_bench.solvers.online.expansion import change_squared_norm, forget, refresh_norm, smallest

_JITTER = 1e-9  # of K(x, x)
_DRIFT = 1e-6  # of K(x, x)
_TIMES = 10.0

LIMIT, RENEWED, _CHECKED = 0, 1, 2


class Projection(NamedTuple):
    """The rule, the inverse, and the room it works in."""

    gram: NDArray[np.float64]  #: (B + 1, B + 1) kernel values, without the 1e-9
    inverse: NDArray[np.float64]  #: (B, B) A, whose lower triangle counts
    solution: NDArray[np.float64]  #: (B + 1,) v
    column: NDArray[np.float64]  #: (B + 1,) of the larger inverse
    shares: NDArray[np.float64]  #: (B + 1,) K^-1 k_p, and -1 at p
    numbers: NDArray[np.float64]  #: (3,) the residual allowed, how often A was renewed, the row to check


def new_projection(budget: int) -> Projection:
    """Start with no vectors."""
    square, row = np.zeros((budget + 1, budget + 1)), np.zeros(budget + 1)
    numbers = np.array([_DRIFT, 0.0, 0.0])
    return Projection(square, np.zeros((budget, budget)), row, row.copy(), row.copy(), numbers)


@jit
def extend(work, w):
    """Take the vector inserted last into the inverse."""
    m = w.vectors.size[0] - 1
    _note(work, w, m)
    v, inverse, rest = work.solution, work.inverse, _solve(work, m)
    for i in range(m):
        _add_products(inverse, i, i + 1, v[i] / rest, v, 0.0, v)
        inverse[m, i] = -v[i] / rest
    inverse[m, m] = 1.0 / rest


@jit
def project(work, w):
    """Project the smallest vector on the others and forget it; the one inserted last is not in the inverse yet.

    What leaves w is r = alpha_p (phi_p - sum_j d_j phi_j), d the shares. But for the 1e-9 on the diagonal, e_j, it is
    orthogonal to all that stay, and ||w||^2 is less by ||r||^2.
    """
    m, p = w.vectors.size[0] - 1, smallest(w)
    _note(work, w, m)
    rest = _solve(work, m)
    left = rest if p == m else _column(work, p, m, rest)
    _shares(work, p, m)
    d, jittered, crossed = work.shares, left - _JITTER * work.gram[p, p], 0.0
    for j in range(m + 1):
        if j != p:
            jittered += _JITTER * work.gram[j, j] * d[j] * d[j]
    for c in range(len(w.coefficients)):
        here, total = w.coefficients[c, p], 0.0
        for j in range(m + 1):
            if j != p:
                total += w.coefficients[c, j] * _JITTER * work.gram[j, j] * d[j]
        crossed += here * total
        _give_shares(w.coefficients, c, p, d, m + 1)
        if w.average.shape[1] > 0:
            _give_shares(w.average, c, p, d, m + 1)
    change_squared_norm(w, -jittered * w.norms[p] / work.gram[p, p] - 2.0 * crossed)
    for j in range(m + 1):
        refresh_norm(w, j, work.gram[j, j])
    if p != m:
        _exchange(work, p, m, rest)
    forget(w, p)


@jit
def _note(work, w, m):
    """Keep the kernel values of the vector inserted last."""
    for j in range(m + 1):
        work.gram[m, j] = w.kernel_row[j]
        work.gram[j, m] = w.kernel_row[j]


@jit
def _solve(work, m):
    """Compute v = A k for the last vector, and what k leaves of its squared norm."""
    _multiply(work.inverse, work.gram[m], m, work.solution)
    if m > 0:
        c = np.int64(work.numbers[_CHECKED]) % m
        work.numbers[_CHECKED] = c + 1
        if abs(_residual(work, m, c)) > work.numbers[LIMIT]:
            _renew(work, m)
    own = work.gram[m, m]
    return max(own * (1.0 + _JITTER) - _dot(work.gram[m], work.solution, m), own * _JITTER)


@jit
def _residual(work, m, c):
    """Compute how far K v is off k in row c, as a part of K(x, x)."""
    own, v = work.gram[c, c], work.solution
    return (_dot(work.gram[c], v, m) + _JITTER * own * v[c] - work.gram[m, c]) / max(own, 1e-300)


@jit(allocates=True)
def _renew(work, m):
    """Compute the inverse anew, and what it leaves."""
    matrix = work.gram[:m, :m].copy()
    for j in range(m):
        matrix[j, j] *= 1.0 + _JITTER
    _invert(np.linalg.cholesky(matrix), matrix)
    work.inverse[:m, :m] = matrix.T @ matrix  # symmetric to the last digit, as only one triangle is kept
    _multiply(work.inverse, work.gram[m], m, work.solution)
    worst = 0.0
    for c in range(m):
        worst = max(worst, abs(_residual(work, m, c)))
    work.numbers[LIMIT] = max(_DRIFT, _TIMES * worst)
    work.numbers[RENEWED] += 1


@jit
def _invert(lower, out):
    """Invert a lower triangular matrix, row by row."""
    out[:] = 0.0
    for i in range(len(lower)):
        out[i, i] = 1.0
        for j in range(i):
            _add_products(out, i, j + 1, -lower[i, j], out[j], 0.0, out[j])
        for j in range(i + 1):
            out[i, j] /= lower[i, i]


@jit(fastmath={"reassoc", "contract"})
def _multiply(inverse, k, m, out):
    """Compute ``out = A k`` from the lower triangle, each element of which is read once."""
    for i in range(np.uint64(0), np.uint64(m)):
        total, here = 0.0, k[i]
        for j in range(np.uint64(0), i):
            total += inverse[i, j] * k[j]
            out[j] += inverse[i, j] * here
        out[i] = total + inverse[i, i] * here


@jit(fastmath={"reassoc", "contract"})
def _dot(a, b, m):
    total = 0.0
    for j in range(np.uint64(0), np.uint64(m)):
        total += a[j] * b[j]
    return total


@jit(fastmath={"contract"})
def _add_products(inverse, i, m, s, a, t, b):
    """Add ``s a + t b`` to the first m elements of row i."""
    for j in range(np.uint64(0), np.uint64(m)):
        inverse[i, j] += s * a[j] + t * b[j]


@jit
def _column(work, p, m, rest):
    """Compute column p of the inverse with the last vector; gives what k_p leaves of its squared norm."""
    v, inverse, column = work.solution, work.inverse, work.column
    for j in range(m):
        column[j] = (inverse[p, j] if j <= p else inverse[j, p]) + v[j] * v[p] / rest
    column[m] = -v[p] / rest
    return 1.0 / column[p]


@jit
def _shares(work, p, m):
    if p == m:
        for j in range(m):
            work.shares[j] = work.solution[j]
    else:
        for j in range(m + 1):
            work.shares[j] = -work.column[j] / work.column[p]
    work.shares[p] = -1.0


@jit
def _give_shares(coefficients, c, p, shares, m):
    here = coefficients[c, p]
    for j in range(m):
        coefficients[c, j] += shares[j] * here


@jit
def _exchange(work, p, m, rest):
    """Put the last vector in the place of p, in the Gram matrix and in the inverse."""
    v, inverse, column = work.solution, work.inverse, work.column
    for i in range(m):
        _add_products(inverse, i, i + 1, v[i] / rest, v, -column[i] / column[p], column)
    for j in range(m):
        crossed = -v[j] / rest - column[j] * column[m] / column[p]
        if j < p:
            inverse[p, j] = crossed
        elif j > p:
            inverse[j, p] = crossed
    inverse[p, p] = 1.0 / rest - column[m] * column[m] / column[p]
    own = work.gram[m, m]
    for j in range(m):
        work.gram[p, j] = work.gram[m, j]
        work.gram[j, p] = work.gram[m, j]
    work.gram[p, p] = own
