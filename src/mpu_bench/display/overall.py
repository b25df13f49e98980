"""How far an experiment is: each solver's finished, failed and current runs, and about how long the rest takes."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from mpu_bench.experiment.run import Run
from mpu_bench.quantities import Record
from mpu_bench.texts import duration

_WORTH_SHOWING = 10.0  # seconds left at the start; of less, what else a run takes is more, and is not known at first
_NOISE = 0.1  # seconds, below which what runs took says little of how fast this machine is
_OVERDUE = 0.1  # of a run that takes longer than expected, this part of what it has taken is what it still takes


class Group(NamedTuple):
    """The runs that a line is of."""

    dataset: str
    solver: str


@dataclass
class Tally:
    """Counts of runs by outcome; tuning runs are not in the sums of seconds and test errors.

    ``seconds`` are those of training of ``trained`` runs, ``errors`` the test errors of ``measured`` runs.
    """

    total: int = 0
    done: int = 0
    failed: int = 0
    running: int = 0
    seconds: float = 0.0
    trained: int = 0
    errors: float = 0.0
    measured: int = 0

    def add(self, other: Tally) -> None:
        """Count the runs of another tally, too."""
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)


@dataclass
class Alike:
    """Runs that differ in their seed alone, or in what a trial holds out.

    ``expected`` are the seconds that each takes, if that is known beforehand; the ``ended`` ones took ``seconds``.
    """

    expected: float | None
    left: int = 0
    ended: int = 0
    seconds: float = 0.0

    @property
    def is_unknown(self) -> bool:
        """Whether neither an estimate nor a run says how long they take."""
        return self.expected is None and not self.ended and self.left > 0

    def each(self, pace: float) -> float:
        """Return about how long each takes, where runs take ``pace`` times as long as expected."""
        if self.expected is None:
            return self.seconds / max(1, self.ended)
        return (self.seconds + pace * self.expected) / (self.ended + 1)


class UnderWay(NamedTuple):
    """A run under way: its status in words, when it began, and how long runs like it take."""

    group: Group
    words: str
    began: float
    alike: Alike


class Overall:
    """How far the runs of an experiment are.

    The time left is that of runs like those that have ended. Of settings of which no run has ended, it is what was
    expected of them, times how much longer the others took than expected.

    Parameters
    ----------
    runs : sequence of Run
        Those to be made.
    seconds : sequence of float or None
        About how long each takes, where that is known.
    """

    def __init__(self, runs: Sequence[Run], seconds: Sequence[float | None]) -> None:
        self._alike: dict[tuple[object, ...], Alike] = {}
        self._began = time.monotonic()
        self.total, self.ended, self.failed = len(runs), 0, 0
        self.under_way: dict[str, UnderWay] = {}
        self.tallies: dict[Group, Tally] = {}
        for run, each in zip(runs, seconds, strict=True):
            self.tallies.setdefault(_group(run), Tally()).total += 1
            self._alike.setdefault(_settings(run), Alike(each)).left += 1

    def is_at(self, run: Run, name: str, words: str) -> None:
        """Note what a run is at."""
        began = self.under_way[name].began if name in self.under_way else time.monotonic()
        self.under_way[name] = UnderWay(_group(run), words, began, self._alike[_settings(run)])

    def has_compiled(self, name: str, seconds: float) -> None:
        """Note how long a run compiled: no other has to."""
        if name in self.under_way:
            self.under_way[name] = self.under_way[name]._replace(began=self.under_way[name].began + seconds)

    def has_ended(self, run: Run, name: str, record: Record) -> None:
        """Note what has become of a run."""
        trained = record.train_seconds or 0.0
        now = self.under_way.pop(name, None)
        alike, tally = self._alike[_settings(run)], self.tallies[_group(run)]
        alike.left -= 1
        alike.ended += 1
        alike.seconds += trained if now is None else max(trained, time.monotonic() - now.began)
        self.ended += 1
        if not record.is_finished:
            self.failed += 1
            tally.failed += 1
            return
        tally.done += 1
        if record.trial:
            return
        tally.seconds += trained
        tally.trained += 1
        if record.test_error is not None:
            tally.errors += record.test_error
            tally.measured += 1

    def share(self) -> float:
        """Return which part of the work is done, from 0 to 1."""
        done, left = self._work()
        return done / (done + left) if done + left > 0 else self.ended / max(1, self.total)

    def seconds_left(self) -> float | None:
        """Return about how long it still takes; None before it is known of all settings, from estimates or a run."""
        if self.ended == self.total or any(alike.is_unknown for alike in self._alike.values()):
            return None
        _, left = self._work()
        return left / max(1, len(self.under_way)) if self.ended or left >= _WORTH_SHOWING else None

    def _work(self) -> tuple[float, float]:
        """Return about how many seconds all runs have taken, and still take."""
        every = self._alike.values()
        foreseen = [(alike, alike.expected) for alike in every if alike.expected is not None]
        taken, expected = sum(one.seconds for one, _ in foreseen), sum(one.ended * each for one, each in foreseen)
        pace = (taken + _NOISE) / (expected + _NOISE)
        known = [alike.each(pace) for alike in every if not alike.is_unknown]
        typical = sum(known) / len(known) if known else 1.0
        done = sum(alike.seconds for alike in every)
        left = sum(alike.left * (typical if alike.is_unknown else alike.each(pace)) for alike in every)
        for run in [*self.under_way.values()]:
            taken, each = time.monotonic() - run.began, typical if run.alike.is_unknown else run.alike.each(pace)
            done += taken
            left += max(each - taken, _OVERDUE * taken) - each
        return done, left

    def summary(self) -> str:
        """Return in a line what has become of the runs."""
        words = [f"{self.ended - self.failed} done"]
        words += [f"{self.failed} failed"] if self.failed else []
        words += [f"{self.total - self.ended} not run"] if self.ended < self.total else []
        return f"{number_of_runs(self.total)}: {', '.join(words)}, in {duration(time.monotonic() - self._began)}"


def _group(run: Run) -> Group:
    return Group(run.dataset.label, run.solver.name)


def _settings(run: Run) -> tuple[object, ...]:
    """Return the same for runs that take about as long: they differ in their seed, or in what a trial holds out."""
    said = [words for name, words in run.described.items() if name not in ("seed", "trial")]
    return (_group(run), run.trial is None, *said)


def number_of_runs(count: int) -> str:
    """Return a number of runs in words."""
    return "1 run" if count == 1 else f"{count} runs"
