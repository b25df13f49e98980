"""Water levels: how far a volume of slack lifts the smallest responses.

One basin of responses c_1..c_n and a volume V = n nu: the level is the gamma with

    sum_i max(0, gamma - c_i) = V,   which is   min_k (V + sum of the k smallest c) / k

Two basins, when the bias b is free: the positive examples' c + b and the negative ones' c - b are filled to a common
level gamma, of all b by the one that makes gamma largest. With gamma+ = gamma - b and gamma- = gamma + b,

    gamma+ + gamma- = min_k (V + sum of the k smallest c of each class) / k

and as many examples are covered in one class as in the other. Only the sum is determined; as in Algorithm 3, lines 39
to 43, b is the middle of those possible.

Cotter, Shalev-Shwartz, Srebro: "The Kernelized Stochastic Batch Perceptron", ICML 2012, Algorithms 2 and 3. They find
the levels from nothing, by divide and conquer. Here the responses change little from one call to the next, and so do
the levels, from which the search starts. One basin: Newton's method on the volume, a convex and piecewise linear
function of the level, which ends at the exact level after finitely many steps (two or three passes over the responses
here). Two basins: only the responses near both last levels are sorted, the others are counted and summed; where the
answer is not among those near, more are taken, at last all.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from mpu_bench.core.rng import below

_MANY = 1024  # responses near the levels that are more than needed
_NEAR = 128  # places around the levels that are near
_WIDER = 8.0
_VECTORS = {"reassoc", "contract", "nsz"}  # let the compiler sum in vectors


@njit(cache=True, nogil=True, fastmath=_VECTORS)
def _pour(responses, level):
    """Count the responses below the level, and sum the volume between."""
    covered, volume = 0, 0.0
    for i in range(len(responses)):
        depth = level - responses[i]
        covered += depth > 0.0
        volume += max(depth, 0.0)
    return covered, volume


@njit(cache=True, nogil=True)
def one_level(responses, volume, guess):
    """Find the water level of one basin.

    Parameters
    ----------
    responses : array of float64, shape (n,)
    volume : float
        n nu, at least 0.
    guess : float
        Where the search starts; the level found does not depend on it, but for rounding.

    Returns
    -------
    float
        The level; the smallest response where the volume is 0.
    """
    level = guess
    covered, filled = _pour(responses, level)
    if covered == 0:  # below the bottom: start above the answer
        level = responses.min() + volume
        covered, filled = _pour(responses, level)
    falling = False  # from the first step on, by convexity
    while covered > 0:
        level -= (filled - volume) / covered
        before = covered
        covered, filled = _pour(responses, level)
        if covered == before or (falling and covered > before):  # the same set; or rounding
            return level - (filled - volume) / max(covered, 1)  # rid of the rounding of a far guess
        falling = True
    return responses.min()


@njit(cache=True, nogil=True)
def _near(responses, low, high, room):
    """Copy the responses from low to high, sorted; gives their number, and number and sum of those below."""
    found, lower, total = 0, 0, 0.0
    for i in range(len(responses)):
        c = responses[i]
        if c < low:
            lower += 1
            total += c
        elif c <= high:
            room[found] = c
            found += 1
    room[:found].sort()
    return found, lower, total


@njit(cache=True, nogil=True)
def _covered(plus, minus, found, lower, total, volume):
    """Count the examples covered in each class, given the responses near; -1 where more of them are needed."""
    k = max(lower[0], lower[1])
    for i in range(min(k - lower[0], len(plus))):
        total += plus[i]
    for j in range(min(k - lower[1], len(minus))):
        total += minus[j]
    certain = -1  # only if one more is covered than are certain to be
    while k < lower[0] + found[0] and k < lower[1] + found[1]:
        pair = plus[k - lower[0]] + minus[k - lower[1]]
        if k > 0 and pair >= (volume + total) / k:
            return certain, total
        total += pair
        k += 1
        certain = k
    return certain if k in (len(plus), len(minus)) else -1, total


@njit(cache=True, nogil=True)
def two_levels(plus, minus, volume, guess, room):
    """Find the water levels of two basins with a free bias.

    Parameters
    ----------
    plus, minus : array of float64, shape (n+,) and (n-,)
        The responses of either class, not empty.
    volume : float
        n nu, at least 0.
    guess : array of float64, shape (3,)
        The last levels, and how far from them the new ones are looked for first (infinite: anywhere). Changed to the
        new ones. The levels found do not depend on it, but for rounding.
    room : array of float64, shape (n+ + n-,)
        Overwritten.

    Returns
    -------
    (float, float)
        gamma+ and gamma-: the level is half their sum, the bias half of gamma- - gamma+.
    """
    near_plus, near_minus = room[: len(plus)], room[len(plus) :]
    width, k, found, lower, total = guess[2], -1, (0, 0), (0, 0), 0.0
    for width in (guess[2], _WIDER * guess[2], _WIDER**2 * guess[2], np.inf):
        found_plus, lower_plus, sum_plus = _near(plus, guess[0] - width, guess[0] + width, near_plus)
        found_minus, lower_minus, sum_minus = _near(minus, guess[1] - width, guess[1] + width, near_minus)
        found, lower = (found_plus, found_minus), (lower_plus, lower_minus)
        k, total = _covered(near_plus, near_minus, found, lower, sum_plus + sum_minus, volume)
        if k >= 0 and _next_is_known(k, lower_plus + found_plus, len(plus), lower_minus + found_minus, len(minus)):
            break
    i, j = k - 1 - lower[0], k - 1 - lower[1]  # the last that are covered
    room_left = max((volume + total) / k - near_plus[i] - near_minus[j], 0.0)  # line 39
    left_plus = room_left if k == len(plus) else min(room_left, near_plus[i + 1] - near_plus[i])  # line 40
    left_minus = room_left if k == len(minus) else min(room_left, near_minus[j + 1] - near_minus[j])  # line 41
    guess[0] = near_plus[i] + 0.5 * max(room_left + left_plus - left_minus, 0.0)  # line 42
    guess[1] = near_minus[j] + 0.5 * max(room_left - left_plus + left_minus, 0.0)
    if width == np.inf or found[0] + found[1] > _MANY:
        width = max(_reach(near_plus, found[0], i, guess[0]), _reach(near_minus, found[1], j, guess[1]))
    guess[2] = width
    return guess[0], guess[1]


@njit(cache=True, nogil=True)
def _next_is_known(k, known_plus, n_plus, known_minus, n_minus):
    """Tell whether the first examples that are not covered are among those near, where there are any."""
    return (k < known_plus or k == n_plus) and (k < known_minus or k == n_minus)


@njit(cache=True, nogil=True)
def _reach(near, found, place, level):
    """Measure how far from the level the responses some places before and after the given one are."""
    return max(abs(near[min(place + _NEAR, found - 1)] - level), abs(level - near[max(place - _NEAR, 0)]))


@njit(cache=True, nogil=True)
def draw_covered(responses, level, generator):
    """Draw an index uniformly from those below the level, or at it where none is below; O(n).

    Parameters
    ----------
    responses : array of float64, shape (n,)
        One of them at least is not above the level.
    level : float
    generator : array of uint64, shape (1,)
    """
    covered = _count_below(responses, level)
    if covered == 0:
        level = np.nextafter(level, np.inf)
        covered = _count_below(responses, level)
    left = below(generator, np.uint32(covered)) + 1
    i = -1
    while left > 0:
        i += 1
        left -= responses[i] < level
    return i


@njit(cache=True, nogil=True)
def _count_below(responses, level):
    covered = 0
    for i in range(len(responses)):
        covered += responses[i] < level
    return covered
