"""Merging two vectors of a Gaussian expansion into one: which partner, where, and at what loss.

The vector p is merged with a partner n into z = h x_p + (1 - h) x_n, with the coefficients that fit best,

    alpha_zi = alpha_pi K(x_p, z) + alpha_ni K(x_n, z)   for every class i.

With g = gamma ||x_p - x_n||^2, a = exp(-g h^2) = K(x_n, z), b = exp(-g (1 - h)^2) = K(x_p, z) and, in units of
||alpha_p||^2, q = alpha_p.alpha_n and v = ||alpha_n||^2 >= 1, the best h maximises ||alpha_z||^2 and the loss is what
is missing of the squared norm:

    F(h) = b^2 + 2 q a b + v a^2,     L = 1 + v + 2 q exp(-g) - max F.

So classes enter by q alone. F' vanishes where h = M(h),

    M(h) = (r^2 + q r) / (r^2 + 2 q r + v),   r = b / a = exp(-g (1 - 2 h)),

and as v >= 1 the maximum is at h <= 1/2, below 0 where the two work against each other; F' > 0 where h < M(h).

v grows to 1e6 and more on long streams: the loss must not be computed as a difference of numbers of that size. In

    L = (1 - b^2) + v (1 - a^2) - 2 q (a b - exp(-g))

each bracket is an expm1. Of all partners one Newton step after the other is taken in vector registers, which also
says how much F could still gain; only those whose loss could then be the smallest are solved to the last digit.
(Wang, Crammer, Vucetic: "Multi-Class Pegasos on a Budget", ICML 2010, section 4.3, (20) to (22).)
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mpu_bench.core.exp import exp_double, exp_single, expm1_double
from mpu_bench.core.jit import jit
from mpu_bench.core.vectors import padded, put_between, squared_distances
from mpu_bench.solvers.online.expansion import Expansion, change_squared_norm, forget, give_age, refresh_norm, smallest

_FARTHEST = 700.0  # exp(-700) is still a normal number
_SINGLE = 1.0 + 1e-3  # `bound` is in single precision
_TIED = 1.0 + 1e-9
_FEW = 4  # candidates that are solved at once
_MOST_STEPS = 100  # for one partner; halving alone needs no more
_EXACT = 1e-15  # relative change of h that ends them


class Candidates(NamedTuple):
    """Room to choose among partners."""

    places: NDArray[np.int64]  #: (room,) where they are
    distances: NDArray[np.float64]  #: (room,)
    products: NDArray[np.float64]  #: (room,)
    norms: NDArray[np.float64]  #: (room,)
    least: NDArray[np.float64]  #: (room,)
    losses: NDArray[np.float64]  #: (room,)
    shares: NDArray[np.float64]  #: (room,) where to merge with them, h


class Merging(NamedTuple):
    """The rule, and the room it works in."""

    distances: NDArray[np.floating[Any]]  #: (2, room) gamma ||x_p - x_j||^2 and gamma ||x_n - x_j||^2
    values: NDArray[np.floating[Any]]  #: (3, room) K(x_p, x_j), K(x_n, x_j), K(z, x_j)
    products: NDArray[np.float64]  #: (room,) coefficients_p . coefficients_j
    candidates: Candidates


def new_candidates(room: int) -> Candidates:
    """Make room for so many partners."""
    return Candidates(np.zeros(room, np.int64), *(np.zeros(room) for _ in range(6)))


def new_merging(w: Expansion) -> Merging:
    """Make room to merge the vectors of w."""
    room, dtype = len(w.norms), w.vectors.squared_norms.dtype
    return Merging(np.zeros((2, room), dtype), np.zeros((3, room), dtype), np.zeros(room), new_candidates(room))


@jit
def merge(work, w, kernel):
    """Merge the smallest vector with the partner that loses least.

    What the sum of squares loses is known, but the sum of products of w with the change needs the rows of x_p, x_n
    and z. That of z follows from the others: ||z - x||^2 = h ||x_p - x||^2 + (1 - h) ||x_n - x||^2 - h (1 - h)
    ||x_p - x_n||^2.
    """
    p, m = smallest(w), w.vectors.size[0]
    if w.norms[p] == 0.0:
        forget(w, p)
        return
    _distances(w.vectors, kernel.gamma, p, work.distances[0])
    _products(w.coefficients, p, padded(m), work.products)
    n, h, loss = best_partner(work.distances[0], work.products, w.norms, w.ages, p, m, work.candidates)
    _distances(w.vectors, kernel.gamma, n, work.distances[1])
    g = np.float64(work.distances[0, n])
    _values(work.distances, h, h * (1.0 - h) * g, padded(m), work.values)
    a, b, overlap = np.exp(-g * h * h), np.exp(-g * (1.0 - h) ** 2), 0.0
    for c in range(len(w.scores)):
        alpha_p, alpha_n = w.coefficients[c, p], w.coefficients[c, n]
        alpha_z = b * alpha_p + a * alpha_n  # (22)
        of_p, of_n, of_z = _weighted_sums(w.coefficients, c, work.values, padded(m))
        overlap += alpha_z * of_z - alpha_p * of_p - alpha_n * of_n
        if w.average.shape[1] > 0:
            w.average[c, n] = b * w.average[c, p] + a * w.average[c, n]
        w.coefficients[c, n] = alpha_z
    change_squared_norm(w, 2.0 * overlap + loss * w.norms[p])
    put_between(w.vectors, n, p, n, h)  # (20)
    refresh_norm(w, n, 1.0)
    give_age(w, n)
    forget(w, p)


@jit
def _distances(vectors, gamma, place, out):
    squared_distances(vectors, place, out)
    factor = out.dtype.type(gamma)
    for j in range(np.uint64(0), np.uint64(padded(vectors.size[0]))):
        out[j] *= factor


@jit(fastmath={"contract"})
def _products(coefficients, p, m, out):
    out[:m] = 0.0
    for c in range(len(coefficients)):
        here = coefficients[c, p]
        for j in range(np.uint64(0), np.uint64(m)):
            out[j] += here * coefficients[c, j]


@jit
def _values(distances, h, less, m, out):
    """Compute the rows of x_p, x_n and z = h x_p + (1 - h) x_n; ``less`` is h (1 - h) times their distance."""
    if out.itemsize == 4:
        _singles(distances, np.float32(h), np.float32(less), m, out)
    else:
        _doubles(distances, h, less, m, out)


@jit(fastmath={"contract"})
def _singles(distances, h, less, m, out):
    rest, zero = np.float32(1.0) - h, np.float32(0.0)
    for j in range(np.uint64(0), np.uint64(m)):
        of_p, of_n = distances[0, j], distances[1, j]
        out[0, j], out[1, j] = exp_single(-of_p), exp_single(-of_n)
        out[2, j] = exp_single(-max(h * of_p + rest * of_n - less, zero))


@jit(fastmath={"contract"})
def _doubles(distances, h, less, m, out):
    for j in range(np.uint64(0), np.uint64(m)):
        of_p, of_n = distances[0, j], distances[1, j]
        out[0, j], out[1, j] = exp_double(-of_p), exp_double(-of_n)
        out[2, j] = exp_double(-max(h * of_p + (1.0 - h) * of_n - less, 0.0))


@jit(fastmath={"reassoc", "contract"})
def _weighted_sums(coefficients, c, values, m):
    """Compute f_c of the three rows, at scale 1."""
    of_p, of_n, of_z = 0.0, 0.0, 0.0
    for j in range(np.uint64(0), np.uint64(m)):
        here = coefficients[c, j]
        of_p += here * np.float64(values[0, j])
        of_n += here * np.float64(values[1, j])
        of_z += here * np.float64(values[2, j])
    return of_p, of_n, of_z


@jit(forceinline=True, error_model="numpy", fastmath={"contract"})
def _fixed_point(g, q, v, h):
    """Compute M(h), its derivative and the denominator."""
    r = exp_double(-g * (1.0 - 2.0 * h))
    denominator = max(r * r + 2.0 * q * r + v, 1e-300)
    inverse = 1.0 / denominator
    there = (r * r + q * r) * inverse
    slope = 2.0 * g * (2.0 * r * r + q * r - there * (2.0 * r * r + 2.0 * q * r)) * inverse
    return there, slope, denominator


@jit(forceinline=True, error_model="numpy", fastmath={"contract"})
def _loss(g, q, v, h):
    """Compute the loss at h: all three arguments of expm1 are <= 0."""
    both = 2.0 * g * h * (1.0 - h)  # a b = exp(both - g)
    product = exp_double(max(both, 0.0) - g) * expm1_double(-abs(both))
    product = product if both <= 0.0 else -product
    return -expm1_double(-2.0 * g * (1.0 - h) * (1.0 - h)) - v * expm1_double(-2.0 * g * h * h) - 2.0 * q * product


@jit(error_model="numpy")
def solve(g, q, v):
    """Find the best place to merge at.

    Parameters
    ----------
    g : float
        gamma ||x_p - x_n||^2, not negative.
    q, v : float
        alpha_p.alpha_n and ||alpha_n||^2 >= 1 in units of ||alpha_p||^2.

    Returns
    -------
    h, loss : float
        The loss in units of ||alpha_p||^2.
    """
    g = min(g, _FARTHEST)
    low, high = -1.0, 0.5
    while low >= _fixed_point(g, q, v, low)[0] and low > -1e150:
        low, high = 2.0 * low, low
    h = min(max(_fixed_point(g, q, v, 0.0)[0], low), high)
    for _ in range(_MOST_STEPS):
        there, slope, _ = _fixed_point(g, q, v, h)
        if h < there:
            low = h
        else:
            high = h
        further = h - (h - there) / (1.0 - slope) if slope < 1.0 else low - 1.0
        if not low <= further <= high:
            further = 0.5 * (low + high)
        done = abs(further - h) <= _EXACT * abs(further)
        h = further
        if done:
            break
    return h, _loss(g, q, v, h)


@jit(error_model="numpy", fastmath={"contract"})
def screen(distances, products, norms, unit, m, least, losses):
    """Compute for every partner a loss that merging has at most, and one that it has at least, or almost so.

    Parameters
    ----------
    distances : array
        g of every partner.
    products, norms : array
        alpha_p.alpha_n and ||alpha_n||^2.
    unit : float
        ||alpha_p||^2 > 0.
    m : int
        How many there are.
    least, losses : array of float64
        Get the lower and the upper number, in units of ||alpha_p||^2.
    """
    inverse = 1.0 / unit
    for j in range(np.uint64(0), np.uint64(m)):
        g = min(np.float64(distances[j]), _FARTHEST)
        q, v = products[j] * inverse, max(norms[j] * inverse, 1.0)
        h = min(_fixed_point(g, q, v, 0.0)[0], 0.5)
        h, _ = _newton(g, q, v, h)
        h, _ = _newton(g, q, v, h)
        h, gain = _newton(g, q, v, h)
        losses[j] = _loss(g, q, v, h)
        least[j] = losses[j] - gain


@jit(forceinline=True, error_model="numpy", fastmath={"contract"})
def _newton(g, q, v, h):
    """Take a step from h; also gives more than F can gain: four times its second order, if that says much."""
    there, slope, denominator = _fixed_point(g, q, v, h)
    away = h - there
    near = (slope < 0.9) & (1.0 + 2.0 * q + v > min(g, 0.1))  # else the two almost cancel, and h is far off
    step = away / (1.0 - slope) if near else away
    return min(h - step, 0.5), 8.0 * g * denominator * abs(away * step) if near else np.inf


@jit(error_model="numpy", fastmath={"contract"})
def bound(distances, products, norms, unit, m, least):
    """Compute a number that the loss of every partner exceeds, as `screen` gives it, but for rounding to single.

    With c the cosine of alpha_p and alpha_n the loss is 1 - exp(-2 g) (1 + 2 g c^2) for v -> infinity, and never less
    than v / (sqrt(v) + 1)^2 of that.
    """
    inverse = np.float32(1.0 / unit)
    one, least_number = np.float32(1.0), np.float32(1e-30)
    for j in range(np.uint64(0), np.uint64(m)):
        g2 = np.float32(2.0) * min(np.float32(distances[j]), np.float32(_FARTHEST))
        v = max(np.float32(norms[j]) * inverse, one)
        q = np.float32(products[j]) * inverse
        off = max(one - q * q / v - np.float32(1e-6), np.float32(0.0))  # 1 - c^2, no more
        k2 = exp_single(-g2)
        # 1 - exp(-y) (1 + y), by its series where it would cancel
        series = np.float32(0.5) * g2 * g2 * (one - g2 * (np.float32(2.0 / 3.0) - np.float32(0.25) * g2))
        along = one - k2 * (one + g2) if g2 > np.float32(0.05) else series
        root = np.sqrt(v) + one
        least[j] = max((along + off * g2 * k2) * v / (root * root), least_number) - least_number


@jit
def best_partner(distances, products, norms, ages, p, m, work):
    """Choose the partner of p with the least loss; of those within 1e-9 of it, the oldest.

    Parameters
    ----------
    distances, products, norms : array
        As for `screen`; those of p itself do not matter but for ``norms[p] > 0``, the least of all.
    ages : array of int64
        The oldest has the least.
    p, m : int
    work : Candidates

    Returns
    -------
    partner : int
    h, loss : float
        Where to merge, and the loss in units of ||alpha_p||^2.
    """
    unit = norms[p]
    bound(distances, products, norms, unit, padded(m), work.least)
    work.least[p] = np.inf
    nearest = _first_least(work.least, m)
    _, loss = solve(np.float64(distances[nearest]), products[nearest] / unit, max(norms[nearest] / unit, 1.0))
    work.places[0], count = nearest, 1
    for j in range(m):
        if j != nearest and work.least[j] <= loss * _SINGLE:
            work.places[count] = j
            count += 1
    if count > _FEW:
        count = _fewer(work, distances, products, norms, unit, count)
    least = np.inf
    for k in range(count):
        j = work.places[k]
        work.shares[k], work.losses[k] = solve(np.float64(distances[j]), products[j] / unit, max(norms[j] / unit, 1.0))
        least = min(least, work.losses[k])
    chosen = np.int64(-1)
    for k in range(count):
        oldest = chosen < 0 or ages[work.places[k]] < ages[work.places[chosen]]
        if work.losses[k] <= least * _TIED and oldest:
            chosen = np.int64(k)
    return work.places[chosen], work.shares[chosen], work.losses[chosen]


@jit
def _first_least(numbers, m):
    place = np.int64(0)
    for j in range(1, m):
        if numbers[j] < numbers[place]:
            place = np.int64(j)
    return place


@jit
def _fewer(work, distances, products, norms, unit, count):
    """Keep the candidates that `screen` leaves."""
    for k in range(count):
        j = work.places[k]
        work.distances[k], work.products[k], work.norms[k] = distances[j], products[j], norms[j]
    screen(work.distances, work.products, work.norms, unit, (count + 7) // 8 * 8, work.least, work.losses)
    loss = np.inf
    for k in range(count):
        loss = min(loss, work.losses[k])
    left = 0
    for k in range(count):
        if not work.least[k] > loss * _TIED * _TIED:
            work.places[left] = work.places[k]
            left += 1
    return left
