"""The faults that ``make soak`` injects by the hundred, a few of each kind with fixed seeds."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import pytest

from faults import company, databases, disks, kills
from faults.campaign import Campaign, References

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc and is told of files by inotify")

PARTS: dict[str, tuple[Campaign, int]] = {
    "mpu-bench is killed at random moments": (partial(kills.parent, kills=2), 1),
    "mpu-bench is killed in transactions and while it writes": (partial(kills.moment, kills=2), 2),
    "mpu-bench is killed while it downloads": (partial(kills.download, kills=1), 3),
    "workers are killed": (partial(kills.worker, kills=3), 4),
    "readers are killed": (partial(kills.writing, kills=1), 5),
    "the disk is full": (disks.full, 6),
    "the clock is set": (company.clock, 7),
    "others run at the same time": (company.together, 8),
    "the database is damaged": (databases.database, 9),
    "the database is damaged otherwise": (databases.database, 10),
}


@pytest.fixture(scope="module")
def references(tmp_path_factory: pytest.TempPathFactory) -> References:
    return References(tmp_path_factory.mktemp("undisturbed"), ("tuned",))


@pytest.mark.timeout(3000)  # a dozen processes, one after the other
@pytest.mark.parametrize("part", PARTS)
def test_nothing_is_lost_doubled_or_left(tmp_path: Path, references: References, part: str) -> None:
    campaign, seed = PARTS[part]
    faults = campaign(seed, tmp_path, references)
    if any(fault.moment.startswith("skipped") for fault in faults):
        pytest.skip(faults[0].moment)
    assert [(fault.moment, fault.problems) for fault in faults if fault.problems] == []
