import time

import numpy as np
import pytest
from numba import njit

from mpu_bench import usage
from mpu_bench.core.clock import COMPILER, GETTING_READY, Clock, untimed
from mpu_bench.core.jit import jit


def spin(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


def test_what_is_untimed_is_left_out_once_however_it_nests():
    clock, began = Clock(), time.perf_counter()
    with clock:
        spin(0.02)
        with untimed():
            spin(0.05)
            with untimed():
                spin(0.05)
    assert 0.02 <= clock.seconds <= time.perf_counter() - began - 0.1
    assert clock.cpu_seconds >= 0


def test_what_disturbs_untimed_work_is_left_out(monkeypatch):
    counted = iter([1.0, 2.0, 10.0, 11.0])  # at the start, where untimed work begins and ends, at the end
    monkeypatch.setattr(usage, "_waiting_seconds", lambda: next(counted))
    monkeypatch.setattr(usage, "_machine", lambda: (0.0, 3.0))
    clock = Clock()
    with clock, untimed():
        spin(0.01)
    assert clock.used.waiting_seconds == pytest.approx(2)
    assert clock.load == pytest.approx(3)


def test_untimed_work_that_fails_is_left_out():
    clock = Clock()

    def fail():
        with clock, untimed():
            spin(0.05)
            raise ValueError("on purpose")

    with pytest.raises(ValueError, match="on purpose"):
        fail()
    assert clock.seconds < 0.05


def test_compiling_is_left_out():
    njit(lambda number: number + 1)(1)  # numba imports its own parts at the first compilation
    compile_here = njit(lambda number: np.sort(np.arange(number)).sum())
    clock, began = Clock(), time.perf_counter()
    with clock:
        compile_here(1)
    assert 0 <= clock.seconds < 0.5 * (time.perf_counter() - began)


@jit
def twice(number):
    return 2 * number


def test_loading_compiled_code_is_left_out_and_compiling_not_twice(monkeypatch):
    twice(1.0)
    monkeypatch.setattr(
        twice.from_python._cache, "load_overload", lambda *_: spin(0.05)
    )  # finds nothing, so that it compiles
    clock, began, before = Clock(), time.perf_counter(), GETTING_READY.seconds
    with clock:
        spin(0.02)
        twice(1)
    elapsed, left_out = time.perf_counter() - began, GETTING_READY.seconds - before
    assert left_out >= 0.05
    assert clock.seconds >= 0.02
    assert clock.seconds + left_out <= elapsed
    with clock:
        twice(1)  # ready
    assert GETTING_READY.seconds - before == left_out


def test_compiling_within_untimed_work_is_left_out_once():
    compile_here, before = njit(lambda number: np.cumsum(np.arange(number)).sum()), COMPILER.seconds
    clock = Clock()
    with clock, untimed():
        compile_here(1)
    assert COMPILER.seconds == before
    assert clock.seconds >= 0


def test_disturbances_are_read_once_for_slices_with_short_pauses_and_not_in_long_ones(monkeypatch):
    looks, waited = [], [0.0]
    monkeypatch.setattr(usage, "_waiting_seconds", lambda: looks.append(waited[0]) or waited[0])
    monkeypatch.setattr("mpu_bench.core.clock._SHORT_PAUSE", 60.0)  # a busy machine makes pauses
    monkeypatch.setattr("mpu_bench.core.clock._MAX_SECONDS_APART", 60.0)
    clock = Clock()
    for _ in range(2):  # the pause before the first is not known to be short
        with clock:
            pass
    assert len(looks) == 3  # nothing is read at the end of the second
    for _ in range(20):
        with clock:
            waited[0] += 1.0
    assert len(looks) == 3
    clock.settle()
    assert clock.used.waiting_seconds == pytest.approx(20)
    assert len(looks) == 4
    waited[0] += 100.0  # in a long pause
    monkeypatch.setattr("mpu_bench.core.clock._SHORT_PAUSE", 0.0)
    with clock:
        waited[0] += 1.0
    assert clock.used.waiting_seconds == pytest.approx(21)
    clock.settle()  # nothing is left to add up
    assert clock.used.waiting_seconds == pytest.approx(21)


def test_what_lasts_longer_is_added_up_as_it_goes_on(monkeypatch):
    waited = [0.0]
    monkeypatch.setattr(usage, "_waiting_seconds", lambda: waited[0])
    clock = Clock()
    for _ in range(4):
        with clock:
            waited[0] += 1.0
            spin(0.011)
    assert clock.used.waiting_seconds == pytest.approx(4)
