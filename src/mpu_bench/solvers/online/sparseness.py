"""The search for a sparseness eta of the Projectron with which so many vectors are stored at the end.

bpegasos-2010 sets eta so that there are B vectors. Here it is searched by passes over the same examples in the same
order, until one ends with B vectors or at most 1% fewer: which of two near eta stores more is decided by chance.
A pass ends as soon as it is decided: with B + 1 vectors, or where vectors are stored so seldom by then that B are out
of reach. Either way it tells when B + 1 are stored, or would be; from that of two eta the next is interpolated. The
eta taken has been tried to the end. The search is not counted and not timed; what it took is in the run's note.

With narrow kernels and few vectors for a class all squared distances are near K(x, x), and eta is as near as
1 - 1e-11: so the search goes by the odds of 1 - eta to eta.
"""

import math
import time
from collections.abc import Callable
from typing import NamedTuple, Self

import numpy as np

_SMALLEST_ODDS, _LARGEST_ODDS = -690.0, 40.0  # logarithms: 1 - eta from 1e-300, eta down to 4e-18
_FIRST_STEP, _STEP_GROWTH = 2.0, 1.2  # of the logarithm, and of a step to the next
_RESOLUTION = 1e-3  # of the odds' logarithm: of eta, or of 1 - eta where that is smaller, relative
_NEIGHBOURS = 10  # tries on either side of the best
_NEIGHBOUR_GROWTH = 1.5  # of their distance from one to the next
_ENOUGH = 0.99  # of B
_AIM = 0.02  # the logarithm of when B + 1 vectors are wanted to be stored, as a part of all examples: after the end
_MIN_PART = 0.1  # of what is between two numbers, that is between the next and each
_MARKS = 16  # of a pass, where it is asked whether it is decided
_SCATTER = 3.0  # standard deviations of a count, to say that it stays below
_COMPLEMENT_SHOWN = 0.01  # of the largest K(x, x): below, eta is shown as its difference from it


class Sparseness(NamedTuple):
    """eta, and how much less than the largest K(x, x) it is."""

    eta: float
    complement: float  #: largest - eta, without the rounding of this difference
    largest: float  #: of K(x, x) over the training rows

    @classmethod
    def of_odds(cls, odds: float, largest: float) -> Self:
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


class Try(NamedTuple):
    """What presenting the examples with one eta came to."""

    stored: int  #: vectors, or B + 1
    presented: float  #: examples when it was decided, as a part of all
    full: float  #: when B + 1 vectors were stored; or would be at the last rate, above 1: as a part of all examples

    @property
    def whole(self) -> bool:
        """Return whether all examples have been presented."""
        return self.presented == 1.0


def attempt(present: Callable[[float], tuple[int, float]], budget: int, whole: bool) -> Try:
    """Present the examples until it is decided whether more vectors are stored than the budget.

    Parameters
    ----------
    present : function
        Presents the examples up to a part of all, or till more vectors are stored than the budget; returns how many
        are stored, and the part that has been presented.
    budget : int
        B.
    whole : bool
        Whether to go on to the end where B are out of reach.

    Returns
    -------
    Try
    """
    counts = [0]
    for mark in range(1, _MARKS + 1):
        stored, presented = present(mark / _MARKS)
        if stored > budget:
            return Try(stored, presented, presented)
        gain, part = stored - counts[mark // 2], presented - mark // 2 / _MARKS  # since half of what was presented
        expected = stored + (gain + _SCATTER * (math.sqrt(gain) + 1)) / part * (1 - presented)
        if mark > 1 and expected < _ENOUGH * budget and not whole:
            break
        counts.append(stored)
    return Try(stored, presented, max(presented + (budget + 1 - stored) * part / max(gain, 1), 1 + _AIM))


def search(attempted: Callable[[Sparseness, bool], Try], budget: int, largest: float) -> Search | None:
    """Search the eta with which B vectors are stored, or the most below of all that are tried.

    Parameters
    ----------
    attempted : function
        Returns what a sparseness comes to; the second argument tells whether to the end (`attempt`).
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

    def at(odds: float, whole: bool) -> Try:
        came_to = attempted(Sparseness.of_odds(odds, largest), whole)
        passes.append(came_to.presented)
        return came_to

    odds = best_within(at, budget)
    if odds is None:
        return None
    return Search(Sparseness.of_odds(odds, largest), len(passes), sum(passes), time.perf_counter() - began)


def best_within(at: Callable[[float, bool], Try], budget: int) -> float | None:
    """Return a number with which B vectors are stored, at most 1% fewer, or the most below of all that are tried.

    The larger the number, the more vectors are stored, as a rule: two that are as near as can be may still store 95
    and 101. So where the interval between has become small, the numbers around are tried, too.

    Parameters
    ----------
    at : function
        What a number between -690 and 40 comes to; the second argument tells whether to the end.
    budget : int
        B.

    Returns
    -------
    float or None
        None if -690 stores too many.
    """
    tries = _Tries(at, budget)
    below, above = _interval(tries)
    if below is None:
        return None
    while above is not None and not tries.enough and above.number - below.number > _RESOLUTION:
        below, above = tries.narrowed(below, above)
    number, distance = below.number, _RESOLUTION
    while tries.best is None:  # no pass within the budget went to the end
        tries.at(number, whole=True)
        if number == _SMALLEST_ODDS:
            break
        number, distance = max(number - distance, _SMALLEST_ODDS), 2 * distance
    for distance in _RESOLUTION * _NEIGHBOUR_GROWTH ** np.arange(_NEIGHBOURS if above else 0):
        for near in (below.number - distance, below.number + distance):
            if not tries.enough:
                tries.at(near)
    return None if tries.best is None else tries.best[1]


class _Bound(NamedTuple):
    """A number tried, and the logarithm of `Try.full`: above 0 where not more vectors are stored than the budget."""

    number: float
    full: float


class _Tries:
    """Tries of numbers; the best that went to the end within the budget."""

    def __init__(self, at: Callable[[float, bool], Try], budget: int) -> None:
        self._at, self._budget = at, budget
        self.best: tuple[int, float] | None = None  #: vectors, the number
        self._halve = False

    @property
    def enough(self) -> bool:
        """Return whether the best has so many vectors that no other is sought."""
        return self.best is not None and self.best[0] >= _ENOUGH * self._budget

    def at(self, number: float, whole: bool = False) -> _Bound:
        """Try a number."""
        came_to = self._at(number, whole)
        if came_to.whole and came_to.stored <= self._budget and (self.best is None or came_to.stored > self.best[0]):
            self.best = (came_to.stored, number)
        return _Bound(number, math.log(came_to.full))

    def narrowed(self, below: _Bound, above: _Bound) -> tuple[_Bound, _Bound]:
        """Try a number in between: the interpolated one, or the middle where that has not halved the interval."""
        length = above.number - below.number
        part = 0.5 if self._halve else (below.full - _AIM) / (below.full - above.full)
        middle = self.at(below.number + min(max(part, _MIN_PART), 1 - _MIN_PART) * length)
        below, above = (middle, above) if middle.full > 0 else (below, middle)
        self._halve = above.number - below.number > length / 2
        return below, above


def _interval(tries: _Tries) -> tuple[_Bound | None, _Bound | None]:
    """Return the largest number tried that does not store too many, and the smallest that does; None without one.

    It goes down from where nearly everything is stored: too many are soon given up.
    """
    above, step = None, _FIRST_STEP
    tried = tries.at(_LARGEST_ODDS)
    while tried.full <= 0:
        if tried.number == _SMALLEST_ODDS:
            return None, tried
        above, number = tried, max(tried.number - step, _SMALLEST_ODDS)
        tried, step = tries.at(number), _STEP_GROWTH * step
    return tried, above
