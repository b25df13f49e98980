"""Nothing is lost where several threads write the same word, and what was written before it is there."""

import threading

import numpy as np
import pytest

from mpu_bench.core import team
from mpu_bench.core.jit import jit

TIMES = 200_000


@jit
def add_often(words, times):
    for _ in range(times):
        team.add(words, 1, np.int64(2))


@jit
def send(words, values, times):
    """Write value after value, each when the one before was taken."""
    for k in range(1, times):
        values[0] = 3 * k
        team.store(words, 0, np.int64(k))
        while team.load(words, 1) != k:
            pass


@jit
def receive(words, values, times):
    """Return how many values were not there when the word said so."""
    wrong = 0
    for k in range(1, times):
        while team.load(words, 0) != k:
            pass
        wrong += values[0] != 3 * k
        team.store(words, 1, np.int64(k))
    return wrong


def in_threads(*calls):
    """Call functions at the same time, and return what they return."""
    found = {}
    threads = [
        threading.Thread(target=lambda k=k, call=call: found.setdefault(k, call())) for k, call in enumerate(calls)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [found[k] for k in range(len(calls))]


def test_no_addition_is_lost():
    words = np.zeros(3, np.int64)
    add_often(words, 0)  # compiles
    in_threads(*[lambda: add_often(words, TIMES)] * 3)
    assert words.tolist() == [0, 6 * TIMES, 0]


def test_what_was_written_before_a_word_is_there_with_it():
    words, values = np.zeros(2, np.int64), np.zeros(1, np.int64)
    send(words, values, 0), receive(words, values, 0)  # compiles
    rounds = 300  # where both share a processor each takes a turn of it
    assert in_threads(lambda: send(words, values, rounds), lambda: receive(words, values, rounds))[1] == 0


@pytest.mark.parametrize("compiled", [True, False])
def test_the_old_value_is_returned(compiled):
    def program(words):
        team.store(words, 1, np.int64(5))
        before = team.add(words, 1, np.int64(-7))
        return before, team.load(words, 1)

    words = np.zeros(2, np.int64)
    assert (jit(program) if compiled else program)(words) == (5, -2)
    assert words.tolist() == [0, -2]
