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

from mpu_bench.core.jit import jit
from mpu_bench.core.rng import randint

_SORTED_RESPONSES = 1024  # near the levels: where more were sorted, fewer are next time
_RESPONSES_NEAR = 128  # on either side of a level, that are sorted next time
_WIDENING_FACTOR = 8.0  # of the reach, where the answer is not within it
_VECTORISED = {"reassoc", "contract", "nsz"}  # lets the compiler sum in vectors

#: the water levels of two basins, and how far from them the next ones are looked for first
LEVELS = np.dtype([("plus", "f8"), ("minus", "f8"), ("reach", "f8")])


@jit(fastmath=_VECTORISED)
def _pour(responses, level):
    """Return how many responses the water covers at a level, and its volume."""
    covered, volume = 0, 0.0
    for i in range(len(responses)):
        depth = level - responses[i]
        covered += depth > 0.0
        volume += max(depth, 0.0)
    return covered, volume


@jit
def one_level(responses, volume, guess):
    """Return the water level of one basin.

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
        level = _lowest(responses) + volume
        covered, filled = _pour(responses, level)
    falling = False  # from the first step on, by convexity
    while covered > 0:
        level -= (filled - volume) / covered
        before = covered
        covered, filled = _pour(responses, level)
        if covered == before or (falling and covered > before):  # the same set; or rounding
            return level - (filled - volume) / max(covered, 1)  # rid of the rounding of a far guess
        falling = True
    return _lowest(responses)


@jit
def _lowest(responses):
    lowest = np.inf
    for i in range(len(responses)):
        lowest = min(lowest, responses[i])
    return lowest


@jit
def _sort_near(responses, low, high, near):
    """Copy the responses from low to high, sorted; return how many they are, and number and sum of those below."""
    count, lower, total = 0, 0, 0.0
    for i in range(len(responses)):
        c = responses[i]
        if c < low:
            lower += 1
            total += c
        elif c <= high:
            near[count] = c
            count += 1
    _sort(near[:count])
    return count, lower, total


@jit(allocates=True)
def _sort(numbers):
    numbers.sort()


@jit
def _covered(plus, minus, count, lower, total, volume):
    """Return how many are covered in each class, with their sum; -1 where more responses near are needed."""
    k = max(lower[0], lower[1])
    for i in range(min(k - lower[0], len(plus))):
        total += plus[i]
    for j in range(min(k - lower[1], len(minus))):
        total += minus[j]
    certain = -1  # only if one more is covered than are certain to be
    while k < lower[0] + count[0] and k < lower[1] + count[1]:
        pair = plus[k - lower[0]] + minus[k - lower[1]]
        if k > 0 and pair >= (volume + total) / k:
            return certain, total
        total += pair
        k += 1
        certain = k
    return certain if k in (len(plus), len(minus)) else -1, total


@jit
def two_levels(plus, minus, volume, levels, scratch):
    """Return the water levels of two basins with a free bias.

    Parameters
    ----------
    plus, minus : array of float64, shape (n+,) and (n-,)
        The responses of either class, not empty.
    volume : float
        n nu, at least 0.
    levels : record of `LEVELS`
        The last levels, and how far from them the new ones are looked for first (infinite: anywhere). Changed to the
        new ones. The levels found do not depend on it, but for rounding.
    scratch : array of float64, shape (n+ + n-,)
        Overwritten.

    Returns
    -------
    (float, float)
        gamma+ and gamma-: the level is half their sum, the bias half of gamma- - gamma+.
    """
    near_plus, near_minus = scratch[: len(plus)], scratch[len(plus) :]
    first, k, count, lower, total = levels.reach, -1, (0, 0), (0, 0), 0.0
    for reach in (first, _WIDENING_FACTOR * first, _WIDENING_FACTOR**2 * first, np.inf):
        levels.reach = reach
        count_plus, lower_plus, sum_plus = _sort_near(plus, levels.plus - reach, levels.plus + reach, near_plus)
        count_minus, lower_minus, sum_minus = _sort_near(minus, levels.minus - reach, levels.minus + reach, near_minus)
        count, lower = (count_plus, count_minus), (lower_plus, lower_minus)
        k, total = _covered(near_plus, near_minus, count, lower, sum_plus + sum_minus, volume)
        if k >= 0 and _next_is_known(k, lower_plus + count_plus, len(plus), lower_minus + count_minus, len(minus)):
            break
    if k < 1:  # only where responses are not finite
        levels.plus = levels.minus = np.nan
        return levels.plus, levels.minus
    i, j = k - 1 - lower[0], k - 1 - lower[1]  # the last that are covered
    slack = max((volume + total) / k - near_plus[i] - near_minus[j], 0.0)  # line 39
    left_plus = slack if k == len(plus) else min(slack, near_plus[i + 1] - near_plus[i])  # line 40
    left_minus = slack if k == len(minus) else min(slack, near_minus[j + 1] - near_minus[j])  # line 41
    levels.plus = near_plus[i] + 0.5 * max(slack + left_plus - left_minus, 0.0)  # line 42
    levels.minus = near_minus[j] + 0.5 * max(slack - left_plus + left_minus, 0.0)
    if levels.reach == np.inf or count[0] + count[1] > _SORTED_RESPONSES:
        reach_plus, reach_minus = (
            _reach(near_plus, count[0], i, levels.plus),
            _reach(near_minus, count[1], j, levels.minus),
        )
        levels.reach = max(reach_plus, reach_minus)
    return levels.plus, levels.minus


@jit
def _next_is_known(k, known_plus, n_plus, known_minus, n_minus):
    """Return whether the first examples that are not covered are among those near, where there are any."""
    return (k < known_plus or k == n_plus) and (k < known_minus or k == n_minus)


@jit
def _reach(near, count, last_covered, level):
    """Return how far from the level the responses some positions before and after the last one covered are."""
    upper, lower = min(last_covered + _RESPONSES_NEAR, count - 1), max(last_covered - _RESPONSES_NEAR, 0)
    return max(abs(near[upper] - level), abs(level - near[lower]))


@jit
def draw_covered(responses, level, generator):
    """Return an index drawn uniformly from those below the level, or at it where none is below; O(n).

    It is -1 where all are above the level, as where numbers are not finite.

    Parameters
    ----------
    responses : array of float64, shape (n,)
    level : float
    generator : array of uint64, shape (1,)
    """
    covered = _count_below(responses, level)
    if covered == 0:
        level = np.nextafter(level, np.inf)
        covered = _count_below(responses, level)
    if covered == 0:
        return -1
    left = randint(generator, np.uint32(covered)) + 1
    for i in range(len(responses)):
        left -= responses[i] < level
        if left == 0:
            return i
    return -1


@jit
def _count_below(responses, level):
    covered = 0
    for i in range(len(responses)):
        covered += responses[i] < level
    return covered
