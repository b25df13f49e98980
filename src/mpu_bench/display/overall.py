"""How far an experiment is: what has become of each solver's runs, what runs now, and about how long it takes."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from mpu_bench.experiment.run import Run
from mpu_bench.quantities import Record
from mpu_bench.texts import duration

_FEWEST_TO_ESTIMATE = 3  # runs that have ended
_WORTH_TELLING = 10.0  # seconds of training; of less, what else a run takes is more, and is not known at first


class Group(NamedTuple):
    """The runs that a line is of."""

    dataset: str
    solver: str


@dataclass
class Tally:
    """What has become of runs; trials for others have no part in the sums of seconds and of test errors.

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


class UnderWay(NamedTuple):
    """A run under way: what it is at, in words, and how many seconds it has trained."""

    group: Group
    words: str
    seconds: float


class Overall:
    """How far the runs of an experiment are.

    Parameters
    ----------
    runs : sequence of Run
        Those to be made.
    seconds : sequence of float or None
        About how long each trains, where that is known.
    """

    def __init__(self, runs: Sequence[Run], seconds: Sequence[float | None]) -> None:
        known = [each for each in seconds if each is not None]
        typical = sum(known) / len(known) if known and any(known) else 1.0
        self._expected = {id(run): typical if each is None else each for run, each in zip(runs, seconds, strict=True)}
        self._unknown: dict[Group, list[int]] = {}
        self._left, self._ended_part = sum(self._expected.values()), 0.0
        self._began = time.monotonic()
        self._trained = 0.0
        self.total, self.ended, self.failed = len(runs), 0, 0
        self.under_way: dict[str, UnderWay] = {}
        self.tallies: dict[Group, Tally] = {}
        for run, each in zip(runs, seconds, strict=True):
            self.tallies.setdefault(_group(run), Tally()).total += 1
            if each is None:
                self._unknown.setdefault(_group(run), []).append(id(run))

    def is_at(self, run: Run, name: str, words: str, seconds: float = 0.0) -> None:
        """Note what a run is at."""
        self.under_way[name] = UnderWay(_group(run), words, seconds)

    def has_ended(self, run: Run, name: str, record: Record) -> None:
        """Note what has become of a run."""
        self.under_way.pop(name, None)
        trained = record.train_seconds or 0.0
        if record.is_finished:
            for unknown in self._unknown.pop(_group(run), ()):  # all take about as long as the first of them
                self._left += trained - self._expected[unknown]
                self._expected[unknown] = trained
        expected, tally = self._expected.pop(id(run), 0.0), self.tallies[_group(run)]
        self._left -= expected
        self._ended_part += expected
        self.ended += 1
        if not record.is_finished:
            self._unknown.pop(_group(run), None)
            self.failed += 1
            tally.failed += 1
            return
        tally.done += 1
        self._trained += trained
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
        """Return about how long it still takes; None as long as neither earlier runs nor these tell of each solver."""
        done, left = self._work()
        if self.ended == self.total or self._unknown:
            return None
        if self.ended < _FEWEST_TO_ESTIMATE:
            return left if left >= _WORTH_TELLING else None
        return (time.monotonic() - self._began) * left / done if done > 0 else None

    def _work(self) -> tuple[float, float]:
        """Return how much is done and left: training as expected, and what else every ended run has taken."""
        running = min(sum(each.seconds for each in [*self.under_way.values()]), self._left)
        elsewhere = 0.0
        if self.ended >= _FEWEST_TO_ESTIMATE:
            elsewhere = max(0.0, time.monotonic() - self._began - self._trained - running) / self.ended
        return (
            self._ended_part + running + elsewhere * self.ended,
            max(0.0, self._left - running) + elsewhere * (self.total - self.ended),
        )

    def summary(self) -> str:
        """Return in a line what has become of the runs."""
        words = [f"{self.ended - self.failed} done"]
        words += [f"{self.failed} failed"] if self.failed else []
        words += [f"{self.total - self.ended} not made"] if self.ended < self.total else []
        return f"{number_of_runs(self.total)}: {', '.join(words)}, in {duration(time.monotonic() - self._began)}"


def _group(run: Run) -> Group:
    return Group(run.dataset.label, run.solver.name)


def number_of_runs(count: int) -> str:
    """Return a number of runs in words."""
    return "1 run" if count == 1 else f"{count} runs"
