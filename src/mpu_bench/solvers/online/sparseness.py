"""The search for a sparseness eta of the Projectron with which so many vectors are stored at the end.

bpegasos-2010 sets eta so that there are B vectors. Here it is searched by whole passes over the same examples in the
same order, each given up as soon as it stores B + 1. The search is not counted and not timed; what it took is in the
run's note.

With narrow kernels and few vectors for a class all squared distances are near K(x, x), and eta is as near as
1 - 1e-11: so the search goes by the odds of 1 - eta to eta.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

_SMALLEST_ODDS, _LARGEST_ODDS = -690.0, 40.0  # logarithms: 1 - eta from 1e-300, eta down to 4e-18
_FIRST_STEP, _STEP_GROWTH = 2.0, 1.2  # of the logarithm, and of a step to the next
_RESOLUTION = 1e-3  # of the odds' logarithm: of eta, or of 1 - eta where that is smaller, relative
_NEIGHBOURS = 10  # tries on either side of the best
_NEIGHBOUR_GROWTH = 1.5  # of their distance from one to the next
_COMPLEMENT_SHOWN = 0.01  # of the largest K(x, x): below, eta is shown as its difference from it


class Sparseness(NamedTuple):
    """eta, and how much less than the largest K(x, x) it is."""

    eta: float
    complement: float  #: largest - eta, without the rounding of this difference
    largest: float  #: of K(x, x) over the training rows

    @classmethod
    def of_odds(cls, odds: float, largest: float) -> Sparseness:
        """Return the eta with ``log((largest - eta) / eta) = odds``."""
        return cls(largest / (1 + math.exp(odds)), largest / (1 + math.exp(-odds)), largest)


class Search(NamedTuple):
    """What a search has found, and what it has cost."""

    sparseness: Sparseness
    tried: int  #: values of eta
    passes: float
    seconds: float

    def note(self, budget: int) -> str:
        """Return the eta found for so many vectors, and the cost."""
        eta, complement, largest = self.sparseness
        shown = f"eta {eta:.6g}" if complement > _COMPLEMENT_SHOWN * largest else f"eta {largest:g} - {complement:.6g}"
        cost = f"{self.tried} tries, {self.passes:.3g} passes, {self.seconds:.3g} s, not counted"
        return f"{shown} for {budget} vectors found by {cost}"


def search(attempt: Callable[[Sparseness], tuple[int, float]], budget: int, largest: float) -> Search | None:
    """Search the eta with which as many vectors as possible are stored, but no more than the budget.

    Parameters
    ----------
    attempt : function
        Returns how many vectors a sparseness stores, or something above the budget, and the passes that it took.
    budget : int
        B.
    largest : float
        Of K(x, x).

    Returns
    -------
    Search or None
        None if every eta stores too many.
    """
    began, passes = time.perf_counter(), []

    def stored(odds: float) -> int:
        count, taken = attempt(Sparseness.of_odds(odds, largest))
        passes.append(taken)
        return count

    odds = largest_within(stored, budget)
    if odds is None:
        return None
    return Search(Sparseness.of_odds(odds, largest), len(passes), sum(passes), time.perf_counter() - began)


def largest_within(stored: Callable[[float], int], budget: int) -> float | None:
    """Return a number with which as many vectors as possible are stored, but no more than the budget.

    The larger the number, the more vectors are stored, as a rule: where two bisected numbers are as near as can be,
    they may still store 99 and 101. So bisection ends early, and the numbers around are tried, too.

    Parameters
    ----------
    stored : function
        How many vectors a number between -690 and 40 stores, or something above the budget.
    budget : int

    Returns
    -------
    float or None
        None if -690 stores too many.
    """
    low, high, step = _LARGEST_ODDS, math.inf, _FIRST_STEP
    while (count := stored(low)) > budget:  # down from where nearly everything is stored: too many are soon given up
        if low == _SMALLEST_ODDS:
            return None
        low, high, step = max(low - step, _SMALLEST_ODDS), low, _STEP_GROWTH * step
    best = (count, low)
    if math.isinf(high):
        return low
    while best[0] < budget and high - low > _RESOLUTION:
        middle = (low + high) / 2
        count = stored(middle)
        low, high = (middle, high) if count <= budget else (low, middle)
        best = _better(best, (count, middle), budget)
    for distance in _RESOLUTION * _NEIGHBOUR_GROWTH ** np.arange(_NEIGHBOURS):
        for near in (low - distance, low + distance):
            if best[0] < budget:
                best = _better(best, (stored(near), near), budget)
    return best[1]


def _better(best: tuple[int, float], found: tuple[int, float], budget: int) -> tuple[int, float]:
    return found if best[0] < found[0] <= budget else best
