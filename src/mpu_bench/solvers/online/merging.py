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

The paper chooses h otherwise, by the sum of the classes, each by its own sum of coefficients (18 to 21):

    max_h  A b + C a,   A = sum_i alpha_pi / (alpha_pi + alpha_ni),   C = sum_i alpha_ni / (alpha_pi + alpha_ni).

That is the same for two classes, and not for more. A class whose coefficients add up to nothing adds nothing; where
that is so of all, h = 1/2. `best_as_published` does so, and takes the partner of the least loss at these h.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mpu_bench.core import sparse_vectors
from mpu_bench.core.counters import KERNEL_COMPUTED, KERNEL_EVALUATIONS
from mpu_bench.core.exp import exp_double, exp_single, expm1_double
from mpu_bench.core.jit import jit, jit_dispatch
from mpu_bench.core.numeric import order
from mpu_bench.core.vectors import padded, put_between, squared_distances
from mpu_bench.solvers.online.expansion import (
    Expansion,
    change_squared_norm,
    least,
    remove,
    smallest,
    squared_coefficients,
    stamp,
)
from mpu_bench.solvers.online.leaving import maintain

_LARGEST_DISTANCE = 700.0  # gamma ||x_p - x_n||^2: exp(-700) is still a normal number
#: ||alpha_p||^2 of a vector that is merged, whose ratios else overflow; what is less is removed, or of an average, in
#: which it may count for more, merged as if it were so much
_MIN_SQUARED_NORM = 1e-280
_LARGEST_SQUARED_NORM = 1e30  # ||alpha_n||^2 in units of ||alpha_p||^2 where `bound` computes in single precision
_BOUND_FACTOR = 1.0 + 1e-3  # of a loss: `bound` is in single precision
_FAR_SQUARED_NORM = 4.5  # ||alpha_n||^2 in units of ||alpha_p||^2 from where h > -1: above 4
_TIE_FACTOR = 1.0 + 1e-9  # of a loss: no worse than it
_SOLVED_CANDIDATES = 4  # at most, without screening them
_NO_SUM = 1e-9  # coefficients of a class cancel whose sum is no more than this part of them
_FARTHEST = 1e6  # h and -h, at most: beyond, of two vectors that are all but equal nothing is left but rounding
_MAX_STEPS = 100  # for one partner; halving alone needs no more
_STEP_TOLERANCE = 1e-15  # relative change of h that ends them


class Candidates(NamedTuple):
    """Scratch to choose among partners."""

    slots: NDArray[np.int64]  #: (capacity,) where they are
    distances: NDArray[np.float64]  #: (capacity,)
    products: NDArray[np.float64]  #: (capacity,)
    norms: NDArray[np.float64]  #: (capacity,)
    bounds: NDArray[np.float64]  #: (capacity,) what the loss of each is at least
    losses: NDArray[np.float64]  #: (capacity,)
    shares: NDArray[np.float64]  #: (capacity,) where to merge with them, h


class Merging(NamedTuple):
    """Scratch to merge."""

    distances: NDArray[np.floating[Any]]  #: (2, capacity) gamma ||x_p - x_j||^2 and gamma ||x_n - x_j||^2
    values: NDArray[np.floating[Any]]  #: (3, capacity) K(x_p, x_j), K(x_n, x_j), K(z, x_j)
    products: NDArray[np.float64]  #: (capacity,) coefficients_p . coefficients_j
    candidates: Candidates
    gram: NDArray[np.float64]  #: (capacity, capacity) x_i . x_j where vectors are kept sparse, else (0, 0)
    gamma: float
    as_published: bool  #: whether h is that of (21)


def new_candidates(capacity: int) -> Candidates:
    """Return scratch for so many partners."""
    return Candidates(np.zeros(capacity, np.int64), *(np.zeros(capacity) for _ in range(6)))


def new_merging(w: Expansion, gamma: float, as_published: bool = False) -> Merging:
    """Return scratch to merge the vectors of w."""
    capacity, dtype = len(w.norms), w.f.vectors.squared_norms.dtype
    scratch = np.zeros((2, capacity), dtype), np.zeros((3, capacity), dtype), np.zeros(capacity)
    known = capacity if len(w.f.vectors.entries.spread) else 0
    return Merging(*scratch, new_candidates(capacity), np.zeros((known, known)), gamma, as_published)


@maintain.register(Merging)
def _(merging, w, _kernel, budget, counters):
    """Merge the smallest vector with the partner that loses least.

    What the sum of squares loses is known, but the sum of products of w with the change needs the rows of x_p, x_n
    and z. That of z follows from the others: ||z - x||^2 = h ||x_p - x||^2 + (1 - h) ||x_n - x||^2 - h (1 - h)
    ||x_p - x_n||^2.
    """
    m, gram = w.f.vectors.size[0], merging.gram
    _remember_products(gram, w.f.vectors, m - 1)
    if m <= budget:
        return
    counters[KERNEL_EVALUATIONS] += 3 * m
    counters[KERNEL_COMPUTED] += 3 * m
    norms, inserted_at, vectors, average = w.norms, w.inserted_at, w.f.vectors, w.average
    p = smallest(norms, inserted_at, m)
    if average.shape[1] > 0:
        norms[p] = max(norms[p], _MIN_SQUARED_NORM)
    unit = norms[p]
    if unit >= _MIN_SQUARED_NORM:
        coefficients, distances, values = w.f.coefficients, merging.distances, merging.values
        _distances(vectors, gram, m, merging.gamma, p, distances[0])
        _products(coefficients, p, padded(m), merging.products)
        if merging.as_published:
            n, h, loss = best_as_published(coefficients, distances[0], merging.products, norms, inserted_at, p, m)
        else:
            n, h, loss = best_partner(distances[0], merging.products, norms, inserted_at, p, m, merging.candidates)
        _distances(vectors, gram, m, merging.gamma, n, distances[1])
        g = np.float64(distances[0, n])
        _fill(values, distances, h, h * (1.0 - h) * g, padded(m))
        a, b, overlap = np.exp(-g * h * h), np.exp(-g * (1.0 - h) ** 2), 0.0
        for c in range(len(coefficients)):
            alpha_p, alpha_n = coefficients[c, p], coefficients[c, n]
            alpha_z = b * alpha_p + a * alpha_n  # (22)
            of_p, of_n, of_z = _weighted_sums(coefficients, c, values, padded(m))
            overlap += alpha_z * of_z - alpha_p * of_p - alpha_n * of_n
            if average.shape[1] > 0:
                average[c, n] = b * average[c, p] + a * average[c, n]
            coefficients[c, n] = alpha_z
        change_squared_norm(w, 2.0 * overlap + loss * unit)
        put_between(vectors, n, p, h)  # (20)
        _put_products_between(gram, n, p, h)
        norms[n] = squared_coefficients(coefficients, n)
        stamp(inserted_at, n, w.scalars[0])
    remove(w, p)
    _move_products(gram, m - 1, p)


@jit
def _remember_products(gram, vectors, slot):
    """Note the inner products of the example at hand, which is in the last slot, with all vectors."""
    if len(gram) > 0:
        entries, m = vectors.entries, slot + 1
        count = sparse_vectors.read(entries, slot, vectors.indices, vectors.values)
        sparse_vectors.inner_products(entries, m, vectors.indices, vectors.values, count, 0, m, gram[slot])
        for j in range(m):
            gram[j, slot] = gram[slot, j]


@jit
def _put_products_between(gram, slot, other, share):
    """Note the inner products of ``(1 - share) x_slot + share x_other``: they follow from those of the two."""
    for j in range(len(gram)):
        gram[slot, j] = (1.0 - share) * gram[slot, j] + share * gram[other, j]
    for j in range(len(gram)):
        gram[j, slot] = (1.0 - share) * gram[j, slot] + share * gram[j, other]


@jit
def _move_products(gram, source, target):
    for j in range(len(gram)):
        gram[target, j] = gram[source, j]
    for j in range(len(gram)):
        gram[j, target] = gram[j, source]


@jit(fastmath={"contract"})
def _distances(vectors, gram, m, gamma, slot, out):
    if len(gram) == 0:
        squared_distances(vectors.columns, padded(m), slot, out)
    for j in range(min(len(gram), m)):
        out[j] = max(gram[slot, slot] + gram[j, j] - 2.0 * gram[slot, j], 0.0)
    factor = out.dtype.type(gamma)
    for j in range(np.uint64(0), np.uint64(padded(m))):
        out[j] *= factor


@jit(fastmath={"contract"})
def _products(coefficients, p, m, out):
    out[:m] = 0.0
    for c in range(len(coefficients)):
        here = coefficients[c, p]
        for j in range(np.uint64(0), np.uint64(m)):
            out[j] += here * coefficients[c, j]


@jit_dispatch(fastmath={"contract"})
def _fill(values, distances, h, less, m):
    """Compute the rows of x_p, x_n and z = h x_p + (1 - h) x_n; ``less`` is h (1 - h) times their distance."""


@_fill.register(np.float32)
def _(values, distances, h, less, m):
    h, less, zero = np.float32(h), np.float32(less), np.float32(0.0)
    rest = np.float32(1.0) - h
    for j in range(np.uint64(0), np.uint64(m)):
        of_p, of_n = distances[0, j], distances[1, j]
        values[0, j], values[1, j] = exp_single(-of_p), exp_single(-of_n)
        values[2, j] = exp_single(-max(h * of_p + rest * of_n - less, zero))


@_fill.register(np.float64)
def _(values, distances, h, less, m):
    for j in range(np.uint64(0), np.uint64(m)):
        of_p, of_n = distances[0, j], distances[1, j]
        values[0, j], values[1, j] = exp_double(-of_p), exp_double(-of_n)
        values[2, j] = exp_double(-max(h * of_p + (1.0 - h) * of_n - less, 0.0))


@jit(fastmath={"reassoc", "contract"})
def _weighted_sums(coefficients, c, values, m):
    """Return f_c of the three rows, at scale 1."""
    of_p, of_n, of_z = 0.0, 0.0, 0.0
    for j in range(np.uint64(0), np.uint64(m)):
        here = coefficients[c, j]
        of_p += here * np.float64(values[0, j])
        of_n += here * np.float64(values[1, j])
        of_z += here * np.float64(values[2, j])
    return of_p, of_n, of_z


@jit(forceinline=True, error_model="numpy", fastmath={"contract"})
def _fixed_point(g, q, v, h):
    """Return M(h), its derivative and the denominator."""
    r = exp_double(-g * (1.0 - 2.0 * h))
    denominator = max(r * r + 2.0 * q * r + v, 1e-300)
    inverse = 1.0 / denominator
    there = (r * r + q * r) * inverse
    slope = 2.0 * g * (2.0 * r * r + q * r - there * (2.0 * r * r + 2.0 * q * r)) * inverse
    return there, slope, denominator


@jit(forceinline=True, error_model="numpy", fastmath={"contract"})
def _loss(g, q, v, h):
    """Return the loss at h: all three arguments of expm1 are <= 0. Where it is next to 0 it may round to less."""
    both = 2.0 * g * h * (1.0 - h)  # a b = exp(both - g)
    product = exp_double(max(both, 0.0) - g) * expm1_double(-abs(both))
    product = product if both <= 0.0 else -product
    return -expm1_double(-2.0 * g * (1.0 - h) * (1.0 - h)) - v * expm1_double(-2.0 * g * h * h) - 2.0 * q * product


@jit(error_model="numpy")
def solve(g, q, v):
    """Return the best point to merge at, and the loss there.

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
    g = min(g, _LARGEST_DISTANCE)
    low, high = -1.0, 0.5
    if q < 0.0 and v < _FAR_SQUARED_NORM:
        while low >= _fixed_point(g, q, v, low)[0] and low > -_FARTHEST:
            low, high = 2.0 * low, low
    h = min(max(_fixed_point(g, q, v, 0.0)[0], low), high)
    for _ in range(_MAX_STEPS):
        there, slope, _ = _fixed_point(g, q, v, h)
        if h < there:
            low = h
        else:
            high = h
        further = h - (h - there) / (1.0 - slope) if slope < 1.0 else low - 1.0
        if not low <= further <= high:
            further = 0.5 * (low + high)
        done = abs(further - h) <= _STEP_TOLERANCE * abs(further)
        h = further
        if done:
            break
    return h, _loss(g, q, v, h)


@jit(error_model="numpy", fastmath={"contract"})
def screen(distances, products, norms, unit, m, bounds, losses):
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
    bounds, losses : array of float64
        Get the lower and the upper number, in units of ||alpha_p||^2.
    """
    inverse = 1.0 / unit
    for j in range(np.uint64(0), np.uint64(m)):
        g = min(np.float64(distances[j]), _LARGEST_DISTANCE)
        q, v = products[j] * inverse, max(norms[j] * inverse, 1.0)
        h = min(_fixed_point(g, q, v, 0.0)[0], 0.5)
        h, _ = _newton(g, q, v, h)
        h, _ = _newton(g, q, v, h)
        h, gain = _newton(g, q, v, h)
        losses[j] = _loss(g, q, v, h)
        bounds[j] = losses[j] - gain


@jit(forceinline=True, error_model="numpy", fastmath={"contract"})
def _newton(g, q, v, h):
    """Return where a step from h leads, and more than F can gain: four times its second order, if that says much."""
    there, slope, denominator = _fixed_point(g, q, v, h)
    away = h - there
    near = (slope < 0.9) & (1.0 + 2.0 * q + v > min(g, 0.1))  # else the two almost cancel, and h is far off
    step = away / (1.0 - slope) if near else away
    return min(h - step, 0.5), 8.0 * g * denominator * abs(away * step) if near else np.inf


@jit(error_model="numpy", fastmath={"contract"})
def bound(distances, products, norms, unit, m, bounds):
    """Compute a number that the loss of every partner exceeds, as `screen` gives it, but for rounding to single.

    With c the cosine of alpha_p and alpha_n the loss is 1 - exp(-2 g) (1 + 2 g c^2) for v -> infinity, and never less
    than v / (sqrt(v) + 1)^2 of that.
    """
    inverse = 1.0 / unit
    one, least_number = np.float32(1.0), np.float32(1e-30)
    for j in range(np.uint64(0), np.uint64(m)):
        g2 = np.float32(2.0) * min(np.float32(distances[j]), np.float32(_LARGEST_DISTANCE))
        # the units are taken in double: in single 1 / unit may be infinite; a smaller v only lowers the bound
        v = np.float32(min(max(norms[j] * inverse, 1.0), _LARGEST_SQUARED_NORM))
        q = np.float32(products[j] * inverse)
        off = max(v - q * q - np.float32(1e-6) * v, np.float32(0.0))  # v (1 - c^2), no more
        k2 = exp_single(-g2)
        # 1 - exp(-y) (1 + y), by its series where it would cancel
        series = np.float32(0.5) * g2 * g2 * (one - g2 * (np.float32(2.0 / 3.0) - np.float32(0.25) * g2))
        along = one - k2 * (one + g2) if g2 > np.float32(0.05) else series
        root = np.sqrt(v) + one
        bounds[j] = max((along * v + off * g2 * k2) / (root * root), least_number) - least_number


@jit(inline="always")
def best_partner(distances, products, norms, inserted_at, p, m, work):
    """Return the partner of p with the least loss; of those within 1e-9 of it, the oldest.

    Parameters
    ----------
    distances, products, norms : array
        As for `screen`; those of p itself do not matter but for ``norms[p] > 0``, the least of all.
    inserted_at : array of int64
        The oldest has the least.
    p, m : int
    work : Candidates

    Returns
    -------
    partner : int
    h, loss : float
        Where to merge, and the loss in units of ||alpha_p||^2.
    """
    unit, slots, bounds, losses, shares = norms[p], work.slots, work.bounds, work.losses, work.shares
    bound(distances, products, norms, unit, padded(m), bounds)
    bounds[p] = np.inf
    nearest = _first_smallest(bounds, m)
    h, loss = solve(np.float64(distances[nearest]), products[nearest] / unit, max(norms[nearest] / unit, 1.0))
    limit = loss * _BOUND_FACTOR
    if _within(bounds, limit, m) <= 1:
        return nearest, h, loss
    slots[0], count = nearest, np.int64(1)
    for j in range(m):
        if j != nearest and bounds[j] <= limit:
            slots[count] = j
            count += 1
    if count > _SOLVED_CANDIDATES:
        count = _screened(work, distances, products, norms, unit, count)
    smallest_loss = np.inf
    for k in range(count):
        j = slots[k]
        shares[k], losses[k] = solve(np.float64(distances[j]), products[j] / unit, max(norms[j] / unit, 1.0))
        smallest_loss = min(smallest_loss, losses[k])
    smallest_loss, chosen = max(smallest_loss, 0.0), np.int64(-1)
    for k in range(count):
        oldest = chosen < 0 or inserted_at[slots[k]] < inserted_at[slots[chosen]]
        if losses[k] <= smallest_loss * _TIE_FACTOR and oldest:
            chosen = np.int64(k)
    return slots[chosen], shares[chosen], losses[chosen]


@jit(error_model="numpy")
def best_as_published(coefficients, distances, products, norms, inserted_at, p, m):
    """Return the partner of p with the least loss, each at the h of (21), as `best_partner` does."""
    unit, partner, share, smallest_loss = norms[p], np.int64(-1), 0.5, np.inf
    for n in range(m):
        if n == p:
            continue
        of_p, of_n = _class_sums(coefficients, p, n)
        g = min(np.float64(distances[n]), _LARGEST_DISTANCE)
        h = solve_as_published(g, of_p, of_n)
        loss = _loss(g, products[n] / unit, max(norms[n] / unit, 1.0), h)
        ties = partner >= 0 and loss <= smallest_loss * _TIE_FACTOR and inserted_at[n] < inserted_at[partner]
        if ties or loss * _TIE_FACTOR < smallest_loss:
            partner, share, smallest_loss = np.int64(n), h, loss
    return partner, share, smallest_loss


@jit(error_model="numpy")
def _class_sums(coefficients, p, n):
    """Return A and C of (21)."""
    of_p, of_n = 0.0, 0.0
    for c in range(len(coefficients)):
        alpha_p, alpha_n = coefficients[c, p], coefficients[c, n]
        both = alpha_p + alpha_n
        if abs(both) > _NO_SUM * (abs(alpha_p) + abs(alpha_n)):
            of_p += alpha_p / both
            of_n += alpha_n / both
    return of_p, of_n


@jit(error_model="numpy")
def solve_as_published(g, of_p, of_n):
    """Return the h that maximises (21), ``of_p exp(-g (1 - h)^2) + of_n exp(-g h^2)``; the sum of the two is >= 0.

    With the larger of the two as A, and h on its side, (21) rises as long as A (1 - h) exp(-g (1 - 2 h)) > C h: up to
    one h between 1/2 and 1 where C >= 0, beyond 1 where C < 0. Of two that are as good it is the one below 1/2.
    """
    larger, other = max(of_p, of_n), min(of_p, of_n)
    low, high = (0.5, 1.0) if other >= 0.0 else (1.0, 2.0)
    while high < _FARTHEST and larger * (1.0 - high) * np.exp(-g * (1.0 - 2.0 * high)) > other * high:
        low, high = high, 2.0 * high
    for _ in range(_MAX_STEPS):
        h = 0.5 * (low + high)
        if not low < h < high:
            break
        if larger * (1.0 - h) * np.exp(-g * (1.0 - 2.0 * h)) > other * h:
            low = h
        else:
            high = h
    return high if of_p > of_n else 1.0 - high


@jit
def _first_smallest(numbers, m):
    """Return the index of the smallest of numbers that are not negative, the first of equal ones."""
    smallest_number, first = order(least(numbers, m)), m
    for j in range(m):
        first = min(first, j if order(numbers[j]) == smallest_number else m)
    return first


@jit
def _within(numbers, limit, m):
    """Return how many numbers are no larger than a limit."""
    count = np.int64(0)
    for j in range(np.int64(m)):
        count += numbers[j] <= limit
    return count


@jit(inline="always")
def _screened(work, distances, products, norms, unit, count):
    """Keep the candidates that `screen` leaves; returns how many."""
    slots, bounds, losses = work.slots, work.bounds, work.losses
    own_distances, own_products, own_norms = work.distances, work.products, work.norms
    for k in range(count):
        j = slots[k]
        own_distances[k], own_products[k], own_norms[k] = distances[j], products[j], norms[j]
    screen(own_distances, own_products, own_norms, unit, (count + 7) // 8 * 8, bounds, losses)
    loss = np.inf
    for k in range(count):
        loss = min(loss, losses[k])
    loss, left = max(loss, 0.0), 0
    for k in range(count):
        if not bounds[k] > loss * _TIE_FACTOR * _TIE_FACTOR:
            slots[left] = slots[k]
            left += 1
    return left
