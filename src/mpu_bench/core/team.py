"""Threads that compute a row of the kernel matrix together: each takes the next part until none is left.

The thread that trains puts a row on a board that all of them read, and takes parts as the others do. So nobody waits
for one who sleeps, and who comes late does what is left. A helper looks at the board for a while after its last part,
as a row takes less than a sleeping thread needs to wake, and then sleeps longer and longer.

Words of the board that several threads write are written by atomic operations, each of which is done whole, and in the
order of the program: what a thread has written before `store` or `add` is there for the one that finds the new value by
`load` or `add`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import lower_builtin, type_callable
from numpy.typing import NDArray

from mpu_bench.core.jit import jit

_LINE = 16  # words between two that are written at once: they share no cache line, nor two that are fetched together
_LEFT, _UNDONE, _ROW = 0, _LINE, 2 * _LINE
_SLOT, _PARTS, _LENGTH, _TIMES = _ROW + 1, _ROW + 2, _ROW + 3, _ROW + 4
_WORD_BYTES = 8
_SHORTEST_SLEEP, _LONGEST_SLEEP = 5e-5, 2e-3  # seconds


class Team(NamedTuple):
    """The board: which row is wanted, and how far it has come."""

    words: NDArray[np.int64]  #: (3 * _LINE,) the parts left, the parts not done, and the row, its slot and so on
    helpers: NDArray[np.int64]  #: (1,) how many threads look at it


def new_team() -> Team:
    """Return a board that wants nothing and that nobody looks at."""
    return Team(np.zeros(3 * _LINE, np.int64), np.zeros(1, np.int64))


def load(array: Any, index: Any) -> Any:
    """Return an element of an array of int64."""
    return array[index]


def store(array: Any, index: Any, value: Any) -> None:
    """Set an element of an array of int64."""
    array[index] = value


def add(array: Any, index: Any, value: Any) -> Any:
    """Add to an element of an array of int64, and return what it was."""
    before = array[index]
    array[index] += value
    return before


def _pointer(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    array = context.make_array(signature.args[0])(context, builder, arguments[0])
    return builder.gep(array.data, [arguments[1]])


def _are_words(array: Any, index: Any) -> bool:
    return array == types.int64[::1] and isinstance(index, types.Integer)


@type_callable(load)
def _(_context):
    return lambda array, index: types.int64 if _are_words(array, index) else None


@type_callable(store)
def _(_context):
    return lambda array, index, value: types.void if _are_words(array, index) and value == types.int64 else None


@type_callable(add)
def _(_context):
    return lambda array, index, value: types.int64 if _are_words(array, index) and value == types.int64 else None


@lower_builtin(load, types.Array, types.Integer)
def _(context, builder, signature, arguments):
    return builder.load_atomic(_pointer(context, builder, signature, arguments), "acquire", _WORD_BYTES)


@lower_builtin(store, types.Array, types.Integer, types.Integer)
def _(context, builder, signature, arguments):
    builder.store_atomic(arguments[2], _pointer(context, builder, signature, arguments), "release", _WORD_BYTES)
    return context.get_dummy_value()


@lower_builtin(add, types.Array, types.Integer, types.Integer)
def _(context, builder, signature, arguments):
    return builder.atomic_rmw("add", _pointer(context, builder, signature, arguments), arguments[2], "acq_rel")


@jit
def want(team, i, slot, parts, length):
    """Ask for row i, which goes into a slot, in so many parts of a length; the row before is complete."""
    words = team.words
    words[_ROW], words[_SLOT], words[_TIMES] = i, slot, words[_TIMES] + 1
    words[_PARTS], words[_LENGTH] = parts, length
    store(words, _UNDONE, np.int64(parts))
    store(words, _LEFT, np.int64(parts))


@jit
def take_part(team):
    """Return where a part begins that is to be computed now, the first ones first; -1 where all of them are taken."""
    if load(team.words, _LEFT) > 0:
        left = add(team.words, _LEFT, np.int64(-1))
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
    add(team.words, _UNDONE, np.int64(-count))


@jit
def wait(team):
    """Return when all parts are done."""
    while load(team.words, _UNDONE) > 0:
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
