"""When a run's seconds may not be compared: the rule on recorded numbers, and a real disturbance."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import time
from typing import Any

import pytest

from mpu_bench.core.clock import Clock
from mpu_bench.experiment import disturbance
from mpu_bench.experiment.disturbance import Probe, load_of_others, only_delays, warning, why
from mpu_bench.quantities import Record

FASTEST = 0.016
TICK = 1 / 100

pytestmark = pytest.mark.usefixtures("ticks")


@pytest.fixture
def ticks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mpu_bench.usage.TICKS_PER_SECOND", 100)


def run(seconds: float, **values: Any) -> Record:
    """Return a run of one thread that was not disturbed, but for what is given."""
    quiet = {"waiting_seconds": 0.0, "steal_seconds": 0.0, "load": 0.0, "probe_seconds": 1.1 * FASTEST}
    return Record(**{"threads": 1, "train_seconds": seconds, "cpu_seconds": seconds, **quiet, **values})


@pytest.mark.parametrize(
    "row",
    [
        run(10.0),
        run(10.0, load=8.0),  # others are elsewhere
        run(10.0, waiting_seconds=1.5, cpu_seconds=8.5),
        run(10.0, steal_seconds=1.0, cpu_seconds=9.0),
        run(10.0, steal_seconds=8.0, load=7.0),  # seven others have lost most of it
        run(0.005, waiting_seconds=0.004, cpu_seconds=0.001),  # one turn of another process
        run(0.005, steal_seconds=TICK, cpu_seconds=0.001),  # one tick, of whatever length
        run(10.0, threads=4, cpu_seconds=15.0, waiting_seconds=4.0),  # one second each; they idle by themselves
        run(10.0, probe_seconds=1.45 * FASTEST),
        run(10.0, waiting_seconds=math.nan, steal_seconds=None, load=math.nan, probe_seconds=math.nan),
    ],
)  # fmt: skip
def test_a_run_that_little_has_disturbed(row: Record) -> None:
    assert why(row, FASTEST) == ""


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (run(10.0, waiting_seconds=6.0, cpu_seconds=4.0), True),
        (run(10.0, cpu_seconds=5.0), True),  # it stood still, as for a disk
        (run(10.0, waiting_seconds=7.0, cpu_seconds=3.0), False),  # beside three others
        (run(10.0, waiting_seconds=6.0, cpu_seconds=4.0, threads=2), False),  # its wall seconds are compared
        (run(10.0, waiting_seconds=6.0, cpu_seconds=4.0, probe_seconds=1.6 * FASTEST), False),
        (run(10.0, steal_seconds=3.0, cpu_seconds=10.0), False),
    ],
)  # fmt: skip
def test_a_run_that_only_waited_keeps_its_processor_seconds(row: Record, expected: bool) -> None:
    assert only_delays(row, FASTEST) is expected


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (run(10.0, waiting_seconds=3.1, cpu_seconds=6.9), "waited 31% of its wall seconds"),
        (run(0.1, waiting_seconds=0.03, cpu_seconds=0.07), "waited 30% of its wall seconds"),
        (run(0.003, waiting_seconds=0.2, cpu_seconds=0.003), "waited longer than it trained"),  # around a short step
        (run(10.0, threads=4, waiting_seconds=12.0, cpu_seconds=28.0), "waited 30% of its wall seconds"),
        (run(10.0, steal_seconds=2.5), "lost 25% of its wall seconds to other machines of the host"),
        (
            run(10.0, waiting_seconds=1.5, steal_seconds=2.0, load=1.0),
            "waited 15% of its wall seconds; lost 10% of its wall seconds to other machines of the host",
        ),
        (run(10.0, waiting_seconds=math.nan, cpu_seconds=6.0), "was stopped for 40% of its wall seconds"),
        (run(10.0, probe_seconds=2 * FASTEST), "the processor was 2.0 times slower than at its fastest"),
    ],
)
def test_what_disturbed_a_run_is_said(row: Record, words: str) -> None:
    assert why(row, FASTEST) == words


HOG = "import os; os.sched_setaffinity(0, {%d}); print(flush=True)\nwhile True: pass"


@pytest.mark.skipif(sys.platform != "linux", reason="pins processes to a processor")
def test_a_busy_process_on_the_same_processor_disturbs() -> None:
    allowed = os.sched_getaffinity(0)
    processor = min(allowed)
    hog = subprocess.Popen([sys.executable, "-c", HOG % processor], stdout=subprocess.PIPE)
    clock = Clock()
    try:
        os.sched_setaffinity(0, {processor})
        hog.stdout.readline()
        with clock:
            until = time.process_time() + 0.3
            while time.process_time() < until:
                pass
    finally:
        os.sched_setaffinity(0, allowed)
        hog.kill()
        hog.communicate()
    used = {name: value for name, value in clock.used._asdict().items() if name != "seconds"}
    measured = Record(**used, train_seconds=clock.seconds, threads=1, load=clock.load, probe_seconds=math.nan)
    reason = why(measured, math.inf)
    assert "wall seconds" in reason  # waited, or lost them to the host
    assert measured.load >= 1 or math.isnan(measured.load)


def test_a_probe_takes_some_milliseconds_and_knows_the_fastest() -> None:
    probe = Probe()
    first = probe.measure()
    assert 1e-3 < first < 1
    assert probe.fastest == first
    second = probe.measure()
    assert probe.fastest == min(first, second)


def test_runs_that_follow_at_once_share_a_probe(monkeypatch: pytest.MonkeyPatch) -> None:
    now, left, probe = [100.0], [0.016, 0.017, 0.018], Probe(FASTEST)
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(probe, "_once", lambda: left.pop(0))
    found = []
    for later in (0.0, 0.1, 0.14, 0.02, 3.0):
        now[0] += later
        found.append(probe.measure())
    assert found == [0.016, 0.016, 0.016, 0.017, 0.018]


def probed(monkeypatch: pytest.MonkeyPatch, fastest: float, seconds: list[float]) -> tuple[float, list[float]]:
    """Return what a probe with made-up seconds measures, and the seconds that are left."""
    probe, left = Probe(fastest), list(seconds)
    monkeypatch.setattr(probe, "_once", lambda: left.pop(0))
    return probe.measure(), left


def test_a_slow_probe_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    assert probed(monkeypatch, FASTEST, [0.017, 0.016]) == (0.017, [0.016])
    assert probed(monkeypatch, FASTEST, [0.031, 0.018, 0.016]) == (0.018, [0.016])
    assert probed(monkeypatch, FASTEST, [0.031, 0.030, 0.032, 0.016]) == (0.030, [0.016])
    assert probed(monkeypatch, math.inf, [0.031, 0.016, 0.020]) == (0.016, [])  # nothing to go by yet


def test_a_coarse_clock_times_no_probe(monkeypatch: pytest.MonkeyPatch) -> None:
    coarse = time.get_clock_info("process_time")
    coarse.resolution = 0.0156
    monkeypatch.setattr(disturbance.time, "get_clock_info", lambda _name: coarse)
    assert math.isnan(Probe().measure())


def test_a_busy_machine_is_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    assert warning(3.0, wanted=1) == ""
    assert warning(math.nan, wanted=1) == ""
    assert warning(0.0, wanted=8) == ""
    assert "3 other threads want its 4 processors, and the runs need 2" in warning(3.2, wanted=2)
    assert "1 other thread wants its 4 processors, and the runs need 4" in warning(0.4, wanted=4)
    assert "2 other threads want its 4 processors, and the runs need 3" in warning(1.2, wanted=3)  # beside 1 they fit
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    assert "1 other thread wants its 1 processor, and the runs need 1" in warning(0.4, wanted=1)


def test_others_are_looked_at_a_few_times(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = iter([0.0, 1.0, 2.0, 1.0, 1.0])
    monkeypatch.setattr("mpu_bench.usage.others_running", lambda: next(looks))
    assert load_of_others() == 1.0
