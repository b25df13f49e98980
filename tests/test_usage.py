"""What the system counts: as it is here, and as a made-up Linux would say it."""

from __future__ import annotations

import math
import mmap
import os
import time
from pathlib import Path

import pytest

from mpu_bench import usage
from mpu_bench.usage import Usage

STAT = """cpu  100 2 30 400 5 0 6 {steal} 0 0
cpu0 100 2 30 400 5 0 6 {steal} 0 0
intr 12345 0 0
ctxt 999
procs_running {running}
procs_blocked 1
"""


def spin(seconds: float) -> None:
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def test_counters_go_on() -> None:
    before = usage.at_start().used
    spin(0.02)
    used = usage.at_end().used.minus(before)
    assert used.seconds >= used.cpu_seconds >= 0.02
    assert all(count >= 0 or math.isnan(count) for count in used)


def test_the_system_takes_its_seconds_for_memory_that_is_touched_first() -> None:
    before = usage.at_start().used
    with mmap.mmap(-1, 1 << 28) as memory:  # never used before
        for start in range(0, 1 << 28, mmap.PAGESIZE):
            memory[start] = 1
    used = usage.at_end().used.minus(before)
    assert math.isnan(used.system_seconds) or 0.005 < used.system_seconds <= used.cpu_seconds + 0.02


def test_counters_add_up() -> None:
    assert Usage(1, 2, 3, 4, 5, 6).plus(Usage(*[1] * 6)).minus(Usage(*[2] * 6)) == Usage(0, 1, 2, 3, 4, 5)


@pytest.fixture
def linux(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of a made-up /proc."""
    monkeypatch.setattr(usage, "_MACHINE", str(tmp_path / "stat"))
    monkeypatch.setattr(usage, "_TASKS", str(tmp_path / "task"))
    return tmp_path


def test_what_linux_says(linux: Path) -> None:
    (linux / "stat").write_text(STAT.format(steal=2 * usage.TICKS_PER_SECOND, running=4))
    for thread, line in {"7": "900 250000000 3", "8": "100 500000000 1"}.items():
        (linux / "task" / thread).mkdir(parents=True)
        (linux / "task" / thread / "schedstat").write_text(line + "\n")
    (linux / "task" / "9").mkdir()  # a thread that has just ended
    counted, others = usage.at_end()
    assert (counted.waiting_seconds, counted.steal_seconds) == (0.75, 2.0)
    assert others == usage.others_running() == 3


def test_what_is_not_counted_is_no_number(linux: Path) -> None:
    def unknown() -> list[bool]:
        counted, others = usage.at_start()
        return [math.isnan(each) for each in (counted.waiting_seconds, counted.steal_seconds, others)]

    assert unknown() == [True] * 3
    (linux / "stat").write_text("cpu  1 2 3\n")
    (linux / "task" / "7").mkdir(parents=True)
    (linux / "task" / "7" / "schedstat").write_text("0 0 0\n")  # a kernel that counts no delays
    assert unknown() == [True] * 3


@pytest.mark.skipif(not Path("/proc/stat").exists(), reason="not Linux")
def test_a_machine_has_others_or_none() -> None:
    assert 0 <= usage.others_running() < 1e6
    assert os.sysconf("SC_CLK_TCK") == usage.TICKS_PER_SECOND
