"""Threads that compute a row of the kernel matrix together: each takes the next part until none is left.

The thread that trains puts a row on a board that all of them read, and takes parts as the others do. So nobody waits
for one who sleeps, and who comes late does what is left. A helper looks at the board for a while after its last part,
as a row takes less than a sleeping thread needs to wake, and then sleeps longer and longer.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mpu_bench.core import atomics
from mpu_bench.core.jit import jit

_LINE = 16  # words between two that are written at once: they share no cache line, nor two that are fetched together
_LEFT, _UNDONE, _ROW = 0, _LINE, 2 * _LINE
_SLOT, _PARTS, _LENGTH, _TIMES = _ROW + 1, _ROW + 2, _ROW + 3, _ROW + 4
_SHORTEST_SLEEP, _LONGEST_SLEEP = 5e-5, 2e-3  # seconds


class Team(NamedTuple):
    """The board: which row is wanted, and how far it has come."""

    words: NDArray[np.int64]  #: (3 * _LINE,) the parts left, the parts not done, and the row, its slot and so on
    helpers: NDArray[np.int64]  #: (1,) how many threads look at it


def new_team() -> Team:
    """Return a board that wants nothing and that nobody looks at."""
    return Team(np.zeros(3 * _LINE, np.int64), np.zeros(1, np.int64))


@jit
def want(team, i, slot, parts, length):
    """Ask for row i, which goes into a slot, in so many parts of a length; the row before is complete."""
    words = team.words
    words[_ROW], words[_SLOT], words[_TIMES] = i, slot, words[_TIMES] + 1
    words[_PARTS], words[_LENGTH] = parts, length
    atomics.store(words, _UNDONE, np.int64(parts))
    atomics.store(words, _LEFT, np.int64(parts))


@jit
def take_part(team):
    """Return where a part begins that is to be computed now, the first ones first; -1 where all of them are taken."""
    if atomics.load(team.words, _LEFT) > 0:
        left = atomics.add(team.words, _LEFT, np.int64(-1))
        if left > 0:
            return (team.words[_PARTS] - left) * team.words[_LENGTH]
    return np.int64(-1)


@jit
def wanted(team):
    """Return the row that a part was taken of, its slot, how long parts are, and how many rows have been wanted."""
    return team.words[_ROW], team.words[_SLOT], team.words[_LENGTH], team.words[_TIMES]


@jit
def parts_are_done(team, count):
    """Note that so many parts which were taken are done; the row is not complete before."""
    atomics.add(team.words, _UNDONE, np.int64(-count))


@jit
def wait(team):
    """Return when all parts are done."""
    while atomics.load(team.words, _UNDONE) > 0:
        pass


class Helpers:
    """Threads of this process that help where they are asked to, at one place at a time.

    Parameters
    ----------
    count : int
    """

    def __init__(self, count: int) -> None:
        self._prepare: Callable[[], Callable[[], object]] | None = None
        self._team: Team | None = None
        self._ended = threading.Event()
        self._threads = [threading.Thread(target=self._work, daemon=True) for _ in range(count)]
        for thread in self._threads:
            thread.start()

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self._threads)

    def help(self, team: Team, prepare: Callable[[], Callable[[], object]]) -> None:
        """Help here from now on, and nowhere else.

        Parameters
        ----------
        team : Team
        prepare : function
            Called by each thread once; returns what the thread then calls again and again. That takes parts until none
            has been wanted for a while, and returns whether there were any.
        """
        self.leave()
        self._team, self._prepare = team, prepare
        team.helpers[0] = self.count

    def leave(self) -> None:
        """Help nowhere."""
        if self._team is not None:
            self._team.helpers[0] = 0
        self._team = self._prepare = None

    def end(self) -> None:
        """End the threads, and wait for their end."""
        self.leave()
        self._ended.set()
        for thread in self._threads:
            thread.join()

    def _work(self) -> None:
        seconds, prepared, compute = _SHORTEST_SLEEP, self._prepare, _nothing
        while not self._ended.wait(seconds):
            if prepared is not self._prepare:
                prepared = self._prepare
                compute = _nothing if prepared is None else prepared()
            seconds = _SHORTEST_SLEEP if compute() else min(2 * seconds, _LONGEST_SLEEP)


def _nothing() -> object:
    return False
