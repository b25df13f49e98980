"""Who is trained next, on how many rows: each candidate on more and more of them, with fewer and fewer settings.

Every setting of a candidate is tried on a few rows; the best third of them on four times as many, and so on; the best
alone on all. A step is not begun where its seconds, foreseen from those of the step before, are more than are left;
nor where the candidate cannot win: were its error to fall with every step as it did with the last, it would be above
that of the best that is small enough, beyond the confidence bounds of both. The shortest steps come first: what is
small and fast is known on all rows before what is not. No fit may take the seconds of all: it has twice its share of
those that are left, or some times as many as are foreseen. What seconds are left then are for values beside the best
ones of the best candidates, but not of those that are both larger and worse than another.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mpu_bench.selection.candidates import Candidate

_FIRST, _MORE = 1000, 4  # rows of the first step, and by how many times the next has more
_KEPT = 3  # one setting of so many
_SHORT = 1.0  # seconds
_SHARES, _TIMES_FORESEEN = 2, 4  # that a fit may take: of the seconds left for each candidate, or of its own
_BOUND = 2.0  # standard errors
_REFINED = 3  # candidates of the Pareto front, those with the smallest errors
_FACTORS = (2.0, 1.4, 1.2)  # of the values tried beside the best ones


@dataclass(frozen=True)
class Fit:
    """A setting of a candidate to be trained on so many rows, within so many seconds.

    ``threshold`` is that of its score; None where the rows that choose give it.
    """

    candidate: Candidate
    setting: dict[str, Any]
    rows: int
    seconds: float
    number: int = 0  #: by which its model is kept
    threshold: float | None = None


@dataclass(frozen=True)
class Fitted:
    """What came of it: 1 - the metric that chooses, the seconds of training, or why there is no model.

    ``drawn`` are values of that metric on resamples of the rows, ``threshold`` the score with which it is the best,
    ``chance`` the p that it is no better than a constant's, and ``size`` the bytes of the model.
    """

    fit: Fit
    error: float = math.inf
    seconds: float = 0.0
    spent: float = 0.0  #: seconds with those of predicting the rows that choose
    reason: str = ""  #: why there is none
    is_cut: bool = False  #: whether training the model that is kept was ended by its seconds
    drawn: tuple[float, ...] = ()
    threshold: float = 0.0
    chance: float = 1.0
    size: int = 0

    @property
    def spread(self) -> float:
        """The standard error of the metric."""
        return float(np.std(self.drawn, ddof=1)) if self.drawn else math.inf


def sizes(rows: int) -> list[int]:
    """Return the numbers of rows of the steps, the last of them all."""
    steps = [rows]
    while steps[0] > _MORE / 2 * _FIRST:
        steps.insert(0, max(steps[0] // _MORE, _FIRST))
    return steps


@dataclass
class Course:
    """How far a candidate is."""

    candidate: Candidate
    sizes: Sequence[int]
    step: int = 0
    waiting: list[dict[str, Any]] = field(default_factory=list)
    under_way: int = 0
    here: list[Fitted] = field(default_factory=list)  #: of this step
    best: Fitted | None = None  #: of the last step that has a model
    ended: str = ""  #: why it goes no further, if it has not come to all rows
    refined: int = 0  #: how often values beside the best ones have been tried
    errors: list[float] = field(default_factory=list)  #: the smallest of every step that is done

    def __post_init__(self) -> None:
        self.waiting, self.ended = self.candidate.settings(), self.candidate.left_out

    @property
    def is_done(self) -> bool:
        """Whether nothing more is tried of it."""
        return bool(self.ended) or self.step == len(self.sizes)

    @property
    def foreseen(self) -> float:
        """The seconds that the next fit will take; 0 where nothing is known."""
        if self.best is None:
            return 0.0
        more = self.sizes[self.step] / self.best.fit.rows
        return self.best.spent * float(more**self.candidate.growth)

    @property
    def at_best(self) -> float:
        """The error on all rows, at best: it falls as it did with the last step, and the bound is on its side."""
        if len(self.errors) < 2 or self.best is None:
            return -math.inf
        fell = max(self.errors[-2] - self.errors[-1], 0.0)
        return self.errors[-1] - (len(self.sizes) - len(self.errors)) * fell - _BOUND * self.best.spread

    def learn(self, fitted: Fitted) -> None:
        """Take a result into account."""
        self.under_way -= 1
        if fitted.reason:
            self.stop(fitted.reason)
            return
        self.here.append(fitted)
        if self.best is None or (fitted.fit.rows, -fitted.error) > (self.best.fit.rows, -self.best.error):
            self.best = fitted
        if not self.waiting and not self.under_way and not self.is_done:
            self._go_on()

    def give_up(self) -> None:
        """Try nothing more, because there are not the seconds for it."""
        rows, best = self.sizes[self.step], self.best
        if best is None or best.fit.rows == rows:
            self.stop(f"no seconds were left for {len(self.waiting)} of its settings")
        else:
            self.stop(f"{rows:,} rows would take too long: {best.fit.rows:,} took {best.spent:.1f} s")

    def stop(self, reason: str) -> None:
        """Go no further; one that has come to all rows before, and was being refined, is done without a reason."""
        self.waiting.clear()
        if self.refined:
            self.step = len(self.sizes)
        else:
            self.ended = self.ended or reason

    def refine(self) -> None:
        """Try values beside the best ones, on all rows."""
        assert self.best is not None
        factor, best = _FACTORS[self.refined], self.best.fit.setting
        self.refined, self.here, self.step = self.refined + 1, [], len(self.sizes) - 1
        self.waiting = [{**best, key: value * by} for key, value in best.items() for by in (factor, 1 / factor)]

    def _go_on(self) -> None:
        self.here.sort(key=lambda fitted: fitted.error)
        self.errors.append(self.here[0].error)
        self.step += 1
        if self.step < len(self.sizes):
            self.waiting = [fitted.fit.setting for fitted in self.here[: math.ceil(len(self.here) / _KEPT)]]
            if self.step == len(self.sizes) - 1:
                self.waiting = self.waiting[:1]
            self.here = []


class Schedule:
    """The candidates on their way.

    Parameters
    ----------
    candidates : sequence of Candidate
    rows : int
        To learn from.
    with_references : bool
        Whether references may be chosen, too.
    max_bytes : float
        Of a model that may be chosen.
    """

    def __init__(
        self,
        candidates: Sequence[Candidate],
        rows: int,
        *,
        with_references: bool = False,
        max_bytes: float = math.inf,
    ) -> None:
        self.courses = {candidate.name: Course(candidate, sizes(rows)) for candidate in candidates}
        self._choosable = [course for course in self.courses.values() if with_references or course.candidate.is_own]
        self._max_bytes = max_bytes
        self.fits = 0  #: how many settings have been trained, each step of one anew

    def next(self, seconds_left: float) -> Fit | None:
        """Return what is to be trained next, within the seconds that are left; None if there is nothing now.

        A candidate that was never trained is, on a few rows, though none are left.
        """
        for course in self.courses.values():
            if not course.is_done and course.waiting and course.best is not None and course.foreseen > seconds_left:
                course.give_up()
        if self.is_done:
            self._refine(seconds_left)
        ready = [course for course in self.courses.values() if course.waiting and not course.is_done]
        if seconds_left <= 0:
            ready = [course for course in ready if course.best is None and not course.under_way]
        if not ready:
            return None
        chosen = min(ready, key=self._rank)
        seconds = self._max_seconds(chosen, seconds_left)
        chosen.under_way += 1
        self.fits += 1
        return Fit(chosen.candidate, chosen.waiting.pop(0), chosen.sizes[chosen.step], seconds, self.fits)

    def _max_seconds(self, chosen: Course, seconds_left: float) -> float:
        """Return what a fit may take, so that one that does not end leaves seconds for the other candidates."""
        on_the_way = sum(not course.is_done for course in self.courses.values())
        limit = max(_SHARES * seconds_left / on_the_way, _TIMES_FORESEEN * chosen.foreseen, _SHORT)
        return min(seconds_left, limit) if seconds_left > 0 else _SHORT

    def _refine(self, seconds_left: float) -> None:
        """Let the best candidates that have come to all rows go on, where their seconds fit."""
        complete = [(best, course) for best, course in self._fitting if course.candidate.is_own and not course.ended]
        front, smallest = list[tuple[Fitted, Course]](), math.inf
        for best, course in sorted(complete, key=lambda pair: (pair[0].error, pair[0].size)):
            if best.size < smallest:
                front.append((best, course))
                smallest = best.size
        for best, course in front[:_REFINED]:
            can_win = best.error - _BOUND * best.spread <= self._reached()
            if can_win and course.refined < len(_FACTORS) and best.spent < seconds_left:
                course.refine()

    @staticmethod
    def _rank(course: Course) -> tuple[Any, ...]:
        if course.best is None or course.foreseen < _SHORT:
            return 0, course.step, course.foreseen, course.under_way  # the last: two processes begin with two of them
        return 1, course.foreseen, course.best.error

    def learn(self, fitted: Fitted) -> None:
        """Take a result into account."""
        self.courses[fitted.fit.candidate.name].learn(fitted)
        reached = self._reached()
        for course in self._choosable:
            if not course.is_done and not course.refined and course.at_best > reached:
                course.stop(f"cannot become the best any more: {100 * (1 - course.at_best):.1f} % at best")

    @property
    def _fitting(self) -> list[tuple[Fitted, Course]]:
        """The best models by now of those that may be chosen and are small enough."""
        known = [(course.best, course) for course in self._choosable if course.best is not None]
        return [(best, course) for best, course in known if best.size <= self._max_bytes]

    def _reached(self) -> float:
        """Return the error that the best candidate has at most; infinite while there is none."""
        best = min((best for best, _ in self._fitting), key=lambda fitted: fitted.error, default=None)
        return math.inf if best is None else best.error + _BOUND * best.spread

    @property
    def is_sampled(self) -> bool:
        """Whether all candidates have been trained once, or cannot be."""
        return all(course.best is not None or course.is_done for course in self.courses.values())

    @property
    def is_done(self) -> bool:
        """Whether all candidates have come to all rows, or to their end, and nothing is under way."""
        return all(course.is_done and not course.under_way for course in self.courses.values())
