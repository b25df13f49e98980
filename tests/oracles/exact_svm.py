"""Soft-margin SVMs of a few dozen examples, solved to many digits and in 80 bits; an optimum comes as an interval.

    L1      J(w, b) = 1/2 ||w||^2 + sum_i C_i max(0, 1 - y_i f(x_i)),             f(x) = w.Phi(x) + b
    L2      F(w, b) = ||w||^2 + b^2 + sum_i C_i max(0, 1 - y_i f(x_i))^2

Every model bounds an optimum from above, and every dual vector that is feasible from below: what is wrong with the
solver can make the interval wide, never false. Where `numpy.longdouble` is no more than double it is wider.
"""

from typing import NamedTuple

import numpy as np

from mpu_bench.kernels import Gaussian, Linear, Polynomial

LONG = np.longdouble
EPS = float(np.finfo(LONG).eps)
_ROUNDING = 16 * EPS  # of a sum of so many numbers, by the sum of their sizes
_MAX_STEPS, _PATIENCE, _WANTED = 150, 12, 1e-13


class Interval(NamedTuple):
    """What an optimum lies in."""

    lower: float
    upper: float

    @property
    def width(self):
        return self.upper / self.lower - 1 if self.lower > 0 else np.inf


def gram(kernel, left, right):
    """Return the kernel values of the rows of two matrices, in 80 bits."""
    left, right = np.asarray(left, LONG), np.asarray(right, LONG)
    match kernel:
        case Linear():
            return left @ right.T
        case Gaussian():
            return np.exp(-LONG(kernel.gamma) * np.square(left[:, None] - right[None]).sum(axis=2))
        case Polynomial(normalize=False):
            return (LONG(kernel.scale) * (left @ right.T) + LONG(kernel.offset)) ** kernel.degree
    raise AssertionError(f"there is no reference for {kernel}")


def hinge(signs, scores, C):
    """Return sum_i C_i max(0, 1 - y_i f_i)."""
    return (C * np.maximum(0, 1 - signs * scores)).sum()


def l1(products, signs, C, bias):
    """Return the interval of the optimum of J over w, and over b with a bias; C is an array (n,)."""
    signs, C = np.asarray(signs, LONG), np.asarray(C, LONG)
    patterns, best = np.outer(signs, signs) * products, [LONG(0), C.sum()]
    if bias:  # w = 0
        best[1] = 2 * min(C[signs > 0].sum(), C[signs < 0].sum())
    unit = C.max()

    def look(shares):
        alphas = shares * unit
        if bias:
            alphas = _balanced(alphas, signs)
        responses = patterns @ alphas
        half, scores, wrong = alphas @ responses / 2, signs * responses, _ROUNDING * (np.abs(patterns) @ alphas + 1)
        b = _best_bias(scores, signs, C) if bias else LONG(0)
        best[0] = max(best[0], alphas.sum() - half - alphas @ wrong)
        square = half + alphas @ wrong
        best[1] = min(best[1], square + hinge(signs, scores + b - signs * wrong, C))
        if bias:  # and of the multiple that has no loss
            b = -(scores[signs > 0].min() + scores[signs < 0].max()) / 2
        if (margin := (signs * (scores + b) - wrong).min()) > 0:
            best[1] = min(best[1], square / margin**2)
        return best[1] / best[0] - 1 if best[0] > 0 else LONG(np.inf)

    _interior_point(patterns * unit, C / unit, signs if bias else None, look)
    return Interval(*map(float, best))


def l2(products, signs, C):
    """Return the interval of the optimum of F; ``products`` lack the constant for b; C is an array (n,)."""
    signs, C = np.asarray(signs, LONG), np.asarray(C, LONG)
    patterns = np.outer(signs, signs) * (products + 1)
    best = [LONG(0), C.sum()]  # w = 0
    ridged = patterns + np.diag(1 / C)
    unit = 1 / np.diag(ridged).mean()

    def look(shares):
        alphas = shares * unit
        responses = patterns @ alphas
        wrong = _ROUNDING * (np.abs(patterns) @ alphas + 1)
        square = alphas @ responses + alphas @ wrong
        full = square + alphas @ (alphas / C)
        best[0] = max(best[0], alphas.sum() ** 2 / full)  # of the best multiple
        best[1] = min(best[1], least_over_multiples(square, responses - wrong, C)[0])
        return best[1] / best[0] - 1 if best[0] > 0 else LONG(np.inf)

    _interior_point(ridged * unit, np.full(len(signs), LONG(np.inf)), None, look)
    return Interval(*map(float, best))


def least_over_multiples(square, margins, C):
    """Return the least v^2 square + sum_i C_i max(0, 1 - v m_i)^2 over v >= 0, and its v."""

    def value(v):
        return v * v * square + C @ np.square(np.maximum(0, 1 - v * margins))

    ends = np.sort(np.append(1 / margins[margins > 0], LONG(0)))  # between which it is a parabola
    best = (value(LONG(0)), LONG(0))
    for first, last in zip(ends, np.append(ends[1:], LONG(np.inf)), strict=True):
        lossy = C * (1 - (first if last == np.inf else (first + last) / 2) * margins > 0) * margins
        curvature = square + lossy @ margins
        v = min(max(lossy.sum() / curvature, first), last) if curvature > 0 else first
        best = min(best, (value(v), v))
    return best


def _balanced(alphas, signs):
    """Return alphas of which the larger side is scaled down to the sum of the other."""
    sides = [alphas[signs > 0].sum(), alphas[signs < 0].sum()]
    least = min(sides)
    return alphas * np.where(signs > 0, least / sides[0], least / sides[1]) if least > 0 else 0 * alphas


def _best_bias(scores, signs, C):
    """Return the b with the least loss, which has its minimum where an example is on its margin."""
    ends = signs - scores
    losses = [hinge(signs, scores + b, C) for b in ends]
    return ends[int(np.argmin(losses))]


def _interior_point(Q, upper, normal, look):
    """Minimise a'Qa/2 - sum a over 0 <= a <= upper, and normal.a = 0, by a primal-dual method, until the looks end it.

    ``look`` is given every point, and returns how good the best is so far.
    """
    n, bounded = len(Q), np.isfinite(upper)
    a = np.minimum(np.where(bounded, upper, 2) / 2, 1 / max(Q.diagonal().max(), LONG(1e-300)))
    a = a if normal is None else _balanced(a, normal)
    room = np.where(bounded, upper - a, LONG(1))
    z, s, multiplier = np.ones(n, LONG), np.where(bounded, LONG(1), LONG(0)), LONG(0)
    best, since = LONG(np.inf), 0
    for _ in range(_MAX_STEPS):
        quality = look(a)
        best, since = (quality, 0) if quality < 0.9 * best else (min(best, quality), since + 1)
        if best <= _WANTED or since == _PATIENCE:
            return
        mu = (a @ z + room @ s) / (n + bounded.sum())
        gradient = Q @ a - 1 + (0 if normal is None else multiplier * normal)
        factor = _cholesky(Q + np.diag(z / a + s / room))
        if factor is None:
            return

        point = _Point(a, room, z, s, bounded, gradient, normal, factor)
        da, dz, ds, _ = _direction(point, LONG(0), LONG(0))
        length = _longest((a, da), (room, np.where(bounded, -da, 0)), (z, dz), (s, ds))
        ahead = (a + length * da) @ (z + length * dz)
        ahead += (room - length * np.where(bounded, da, 0)) @ (s + length * ds)
        ahead /= n + bounded.sum()
        wanted = max((ahead / mu) ** 3, LONG(1e-6)) * mu
        da, dz, ds, dm = _direction(point, wanted - da * dz, wanted + da * ds)
        length = LONG(0.995) * _longest((a, da), (room, np.where(bounded, -da, 0)), (z, dz), (s, ds))
        a, z, s, multiplier = a + length * da, z + length * dz, s + length * ds, multiplier + length * dm
        room = np.where(bounded, room - length * da, room)
        if not (np.isfinite(a).all() and np.isfinite(z).all() and (a > 0).all() and (room > 0).all()):
            return


class _Point(NamedTuple):
    a: np.ndarray
    room: np.ndarray
    z: np.ndarray
    s: np.ndarray
    bounded: np.ndarray
    gradient: np.ndarray
    normal: np.ndarray | None
    factor: np.ndarray


def _direction(point, left, right):
    """Return the step to where a z = left and room s = right."""
    a, room, z, s, bounded, gradient, normal, factor = point
    da = _solve(factor, left / a - np.where(bounded, right / room, 0) - gradient)
    dm = LONG(0)
    if normal is not None:
        column = _solve(factor, normal)
        dm = (normal @ a + normal @ da) / (normal @ column)
        da = da - dm * column
    return da, left / a - z - z / a * da, np.where(bounded, right / room - s + s / room * da, 0), dm


def _longest(*pairs):
    """Return the longest step, at most 1, that leaves all numbers at 0 or above."""
    length = LONG(1)
    for numbers, changes in pairs:
        falling = changes < 0
        if falling.any():
            length = min(length, (numbers[falling] / -changes[falling]).min())
    return length


def _cholesky(matrix):
    """Return the lower factor; None where there is none. numpy's is in double."""
    rest, factor, n = matrix.copy(), np.zeros_like(matrix), len(matrix)
    least = EPS * matrix.diagonal()
    for k in range(n):
        pivot = rest[k, k]
        if not np.isfinite(pivot):
            return None
        if pivot <= least[k]:  # by rounding alone: this variable stays where it is
            factor[k, k] = LONG(1e30) * max(np.sqrt(matrix[k, k]), LONG(1e-300))
            continue
        column = rest[k:, k] / np.sqrt(pivot)
        factor[k:, k] = column
        rest[k + 1 :, k + 1 :] -= np.outer(column[1:], column[1:])
    return factor


def _solve(factor, right):
    x, n = np.array(right, LONG), len(factor)
    for k in range(n):
        x[k] = x[k] / factor[k, k]
        x[k + 1 :] -= x[k] * factor[k + 1 :, k]
    for k in reversed(range(n)):
        x[k] = (x[k] - factor[k + 1 :, k] @ x[k + 1 :]) / factor[k, k]
    return x
