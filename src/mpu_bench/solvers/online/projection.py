"""Projecting a vector that leaves on the span of the others, by the inverse of their Gram matrix.

    alpha_j += (K^-1 k_p)_j alpha_p   for all j that stay,   K over them, k_p = K(x_j, x_p)

The inverse A of the Gram matrix over the B vectors there is kept, with 1e-9 on the diagonal (equal rows would make it
singular). For a new vector x with kernel values k, v = A k and s = K(x, x) - k.v the inverse with x included is

    [A + v v' / s,  -v / s;  -v' / s,  1 / s],

and (K^-1 k_p) over the others is minus its column p by its diagonal element there; without p it is what a rank-one
change by that column leaves. So a step reads A once, and where p is not x itself changes it once: O(B^2). A is
symmetric and only its lower triangle is kept, row by row.

Rounding builds up. K v = k is checked in one row a step, by turns; where it is off by more than 1e-6, and by ten times
what a fresh inverse leaves, A is computed anew. Where a vector is nearly in the span of the others, as one that repeats
another, that does not do: v and d are corrected by A times what they leave of k and k_p (iterative refinement), after A
was computed anew if need be. All is in double precision, kernel values, too: rounded to single, Gram matrices of close
vectors are no longer positive.
(Wang, Crammer, Vucetic: "Multi-Class Pegasos on a Budget", ICML 2010, section 4.2, (15) and (16).)
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import objmode
from numpy.typing import NDArray
from scipy.linalg import blas, lapack

from mpu_bench.core.blas1 import dot
from mpu_bench.core.counters import KERNEL_EVALUATIONS
from mpu_bench.core.jit import jit
from mpu_bench.core.records import new_record
from mpu_bench.errors import DataError
from mpu_bench.solvers.online.expansion import change_squared_norm, remove, smallest, squared_coefficients
from mpu_bench.solvers.online.leaving import maintain

_JITTER = 1e-9  # of K(x, x)
_RESIDUAL_LIMIT = 1e-6  # of K(x, x)
_RESIDUAL_FACTOR = 10.0  # of the residual that a fresh inverse leaves
_NEARLY_DEPENDENT = 1e-6  # of K(x, x): what is left of it by projecting on the others
_CORRECTED = 1e-10  # of K(x, x): what is left with an inverse that need not be computed anew
_MOST_CORRECTIONS = 3  # each makes what is left smaller by some digits
_TINY = 1e-300  # instead of K(x, x) = 0, as of a row of zeros with a linear kernel, to divide by

#: ``residual_limit``: what is allowed; ``renewals``: how often A was computed anew; ``next_row``: the one to check
#: next; ``was_dependent``: whether a vector was nearly in the span of the others at the last step
SCALARS = np.dtype([("residual_limit", "f8"), ("renewals", "i8"), ("next_row", "i8"), ("was_dependent", "?")])


class Projection(NamedTuple):
    """The inverse, and scratch."""

    gram: NDArray[np.float64]  #: (B + 1, B + 1) kernel values, without the 1e-9
    inverse: NDArray[np.float64]  #: (B, B) A, whose lower triangle counts
    solution: NDArray[np.float64]  #: (B + 1,) v
    column: NDArray[np.float64]  #: (B + 1,) of the larger inverse
    shares: NDArray[np.float64]  #: (B + 1,) d = K^-1 k_p, and -1 at p
    residuals: NDArray[np.float64]  #: (B + 1,) k_p - K d
    correction: NDArray[np.float64]  #: (B + 1,) of d
    scalars: np.recarray[Any, Any]  #: (1,) `SCALARS`


def new_projection(budget: int) -> Projection:
    """Return the inverse of no vectors."""
    square, row = np.zeros((budget + 1, budget + 1)), np.zeros(budget + 1)
    scalars = new_record(SCALARS, residual_limit=_RESIDUAL_LIMIT)
    solution, column, shares, residuals, correction = (row.copy() for _ in range(5))
    inverse = np.zeros((budget, budget))
    return Projection(square, inverse, solution, column, shares, residuals, correction, scalars)


@maintain.register(Projection)
def _(projection, w, _kernel, budget, counters):
    """Take the vector inserted last into the inverse, or project the smallest vector on the others."""
    m, gram, inverse, v = w.f.vectors.size[0] - 1, projection.gram, projection.inverse, projection.solution
    for j in range(m + 1):
        gram[m, j] = gram[j, m] = w.f.kernel_row[j]
    s = _solve(gram, inverse, m, v, projection.scalars[0])
    is_dependent = _is_nearly_dependent(gram, inverse, s, m)
    if is_dependent or projection.scalars[0].was_dependent:
        v[m] = -1.0
        # A lost digits by what was dependent, also where that has left
        if not is_dependent or _correct(projection, v, s, m, m) > _CORRECTED:
            _renew(gram, inverse, m, v)
            projection.scalars[0].renewals += 1
            _correct(projection, v, s, m, m)
        s = _left(gram, v, m)
    projection.scalars[0].was_dependent = is_dependent
    if m < budget:
        _extend(inverse, v, s, m)
        return
    counters[KERNEL_EVALUATIONS] += m + 1
    p = smallest(w.norms, w.inserted_at, m + 1)
    d, column = projection.shares, projection.column
    left = _shares(inverse, v, s, p, m, column, d)
    if is_dependent and p < m:
        _correct(projection, d, s, p, m)
        left = gram[p, p] * _JITTER - dot(gram[p], d, m + 1)  # d is -1 at p
    change_squared_norm(w, _give_away(w.f.coefficients, w.average, w.norms[p], gram, d, p, m, left))
    for j in range(m + 1):
        w.norms[j] = squared_coefficients(w.f.coefficients, j) * gram[j, j]
    if p != m:
        _exchange(gram, inverse, v, s, p, m, column)
    remove(w, p)


@jit
def _solve(gram, inverse, m, v, scalars):
    """Compute v = A k for the last vector; returns s, what k leaves of its squared norm."""
    _multiply(inverse, gram[m], m, v)
    if m > 0:
        c = scalars.next_row % m
        scalars.next_row = c + 1
        if abs(_residual(gram, v, m, c)) > scalars.residual_limit:
            worst = _renew(gram, inverse, m, v)
            scalars.residual_limit = max(_RESIDUAL_LIMIT, _RESIDUAL_FACTOR * worst)
            scalars.renewals += 1
    return _left(gram, v, m)


@jit
def _left(gram, v, m):
    """Return what k leaves of the squared norm of the last vector."""
    k_xx = gram[m, m]
    return max(k_xx * (1.0 + _JITTER) - dot(gram[m], v, m), k_xx * _JITTER, _TINY)


@jit
def _is_nearly_dependent(gram, inverse, s, m):
    """Return whether of some vector next to nothing is left by projecting it on the others."""
    least = s / max(gram[m, m], _TINY)
    for j in range(m):
        least = min(least, 1.0 / max(inverse[j, j] * gram[j, j], _TINY))
    return least < _NEARLY_DEPENDENT


@jit
def _correct(projection, d, s, p, m):
    """Correct d, -1 at p, until K d = k_p over the others, as nearly as may be; return the largest residual."""
    gram, r, y = projection.gram, projection.residuals, projection.correction
    v, column = projection.solution, projection.column
    worst = _residuals(gram, d, p, m, r)
    for _ in range(_MOST_CORRECTIONS):
        _multiply(projection.inverse, r, m, y)
        if p < m:  # by the inverse with the last vector and without p
            t = (dot(v, r, m) - r[m]) / s
            for j in range(m):
                y[j] += t * v[j]
            y[m] = -t
            here = y[p] / column[p]
            for j in range(m + 1):
                y[j] -= here * column[j]
        y[p] = 0.0
        for j in range(m + 1):
            d[j] += y[j]
        before, worst = worst, _residuals(gram, d, p, m, r)
        if not worst < before:
            for j in range(m + 1):
                d[j] -= y[j]
            return _residuals(gram, d, p, m, r)
    return worst


@jit
def _residuals(gram, d, p, m, out):
    """Compute k_p - K d, 1e-9 on the diagonal included, and 0 for p; return the largest part of K(x, x)."""
    worst = 0.0
    for i in range(m + 1):
        out[i] = 0.0 if i == p else -dot(gram[i], d, m + 1) - _JITTER * gram[i, i] * d[i]
        worst = max(worst, abs(out[i]) / max(gram[i, i], _TINY))
    return worst


@jit
def _residual(gram, v, m, c):
    """Return how far K v is off k in row c, as a part of K(x, x)."""
    k_xx = gram[c, c]
    return (dot(gram[c], v, m) + _JITTER * k_xx * v[c] - gram[m, c]) / max(k_xx, _TINY)


@jit(allocates=True, nogil=False)
def _renew(gram, inverse, m, v):
    """Compute the inverse anew, and v; returns the largest residual. Rare, and in Python: LAPACK compiles for long."""
    with objmode(worst="float64"):
        worst = invert_anew(gram, inverse, m, v)
    return worst  # noqa: RET504 - what leaves the block must have a name


def invert_anew(gram: NDArray[np.float64], inverse: NDArray[np.float64], m: int, v: NDArray[np.float64]) -> float:
    """Compute the inverse of the first m rows and columns, with 1e-9 on the diagonal, and v = A k.

    Returns
    -------
    float
        The largest residual of a row.

    Raises
    ------
    DataError
        If the matrix is not positive definite, for its vectors cannot be told apart.
    """
    matrix = gram[:m, :m].copy()
    matrix[np.diag_indices(m)] = np.maximum(matrix.diagonal() * (1.0 + _JITTER), _TINY)
    upper, failed = lapack.dpotrf(matrix.T, lower=0)  # in Fortran's order: the lower factor by rows
    if failed:
        raise DataError(
            "projection: the vectors cannot be told apart by their kernel values, as where features are far from 0 for"
            " their differences; shift and scale the features, or take maintenance: merging"
        )
    _invert(np.ascontiguousarray(upper.T), matrix)
    inverse[:m, :m] = blas.dgemm(1.0, matrix.T, matrix.T, trans_b=True).T
    _multiply(inverse, gram[m], m, v)
    return float(_largest_residual(gram, v, m))


@jit
def _largest_residual(gram, v, m):
    largest = 0.0
    for c in range(m):
        largest = max(largest, abs(_residual(gram, v, m, c)))
    return largest


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


@jit(fastmath={"contract"})
def _add_products(inverse, i, m, s, a, t, b):
    """Add ``s a + t b`` to the first m elements of row i."""
    for j in range(np.uint64(0), np.uint64(m)):
        inverse[i, j] += s * a[j] + t * b[j]


@jit
def _extend(inverse, v, s, m):
    """Take the last vector into the inverse."""
    for i in range(m):
        _add_products(inverse, i, i + 1, v[i] / s, v, 0.0, v)
        inverse[m, i] = -v[i] / s
    inverse[m, m] = 1.0 / s


@jit
def _shares(inverse, v, s, p, m, column, d):
    """Compute d = K^-1 k_p and column p of the inverse with the last vector; returns what d leaves of K(x_p, x_p)."""
    if p == m:
        for j in range(m):
            d[j] = v[j]
        d[p] = -1.0
        return s
    for j in range(m):
        column[j] = (inverse[p, j] if j <= p else inverse[j, p]) + v[j] * v[p] / s
    column[m] = -v[p] / s
    for j in range(m + 1):
        d[j] = -column[j] / column[p]
    d[p] = -1.0
    return 1.0 / column[p]


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
def _exchange(gram, inverse, v, s, p, m, column):
    """Put the last vector into the slot of p, in the Gram matrix and in the inverse."""
    for i in range(m):
        _add_products(inverse, i, i + 1, v[i] / s, v, -column[i] / column[p], column)
    for j in range(m):
        crossed = -v[j] / s - column[j] * column[m] / column[p]
        if j < p:
            inverse[p, j] = crossed
        elif j > p:
            inverse[j, p] = crossed
    inverse[p, p] = 1.0 / s - column[m] * column[m] / column[p]
    k_xx = gram[m, m]
    for j in range(m):
        gram[p, j] = gram[j, p] = gram[m, j]
    gram[p, p] = k_xx
