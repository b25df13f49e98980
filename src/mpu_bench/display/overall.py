"""How far an experiment is: each solver's finished, failed and current runs, and about how long the rest takes."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
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
    """The runs of a line: how many there are, how many run now, and the records of those that have ended."""

    total: int = 0
    running: int = 0
    records: list[Record] = field(default_factory=list)

    @property
    def done(self) -> int:
        """How many have a result."""
        return sum(record.is_finished for record in self.records)

    def mean(self, quantity: str) -> float | None:
        """Return the mean of a quantity as the final table has it: without tuning runs, and those without a value."""
        of_table = (record.value(quantity) for record in self.records if record.is_finished and not record.trial)
        known = [value for value in of_table if value is not None]
        return statistics.fmean(known) if known else None

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

    def has_ended(self, run: Run, name: str, record: Record, compiled: float = 0.0) -> None:
        """Note what has become of a run, and how many seconds it compiled, which no other run has to."""
        trained = record.train_seconds or 0.0
        now = self.under_way.pop(name, None)
        alike = self._alike[_settings(run)]
        alike.left -= 1
        if record.is_finished or alike.expected is None:  # what failed says nothing of how fast this machine is
            alike.ended += 1
            alike.seconds += trained if now is None else max(trained, time.monotonic() - now.began - compiled)
        self.ended += 1
        self.failed += not record.is_finished
        self.tallies[_group(run)].records.append(record)

    def share(self) -> float:
        """Return which part of the work is done, from 0 to 1."""
        done, left = self._work() or (self.ended, self.total - self.ended)
        return done / (done + left) if done + left > 0 else 0.0

    def seconds_left(self) -> float | None:
        """Return about how long it still takes; None before it is known of all settings, from estimates or a run."""
        _, left = self._work() or (0.0, None)
        if left is None or self.ended == self.total or (not self.ended and left < _WORTH_SHOWING):
            return None
        return left / max(1, len(self.under_way))

    def _work(self) -> tuple[float, float] | None:
        """Return about how many seconds all runs have taken, and still take; None before that is known of all."""
        every = self._alike.values()
        if any(alike.is_unknown for alike in every):
            return None
        foreseen = [(alike, alike.expected) for alike in every if alike.expected is not None]
        expected = sum(alike.ended * each for alike, each in foreseen)
        pace = (sum(alike.seconds for alike, _ in foreseen) + _NOISE) / (expected + _NOISE)
        done, left = sum(alike.seconds for alike in every), sum(alike.left * alike.each(pace) for alike in every)
        for run in [*self.under_way.values()]:
            taken, each = time.monotonic() - run.began, run.alike.each(pace)
            done, left = done + taken, left + max(each - taken, _OVERDUE * taken) - each
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
