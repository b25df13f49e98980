"""Control groups: only where this user may make one."""

from __future__ import annotations

import subprocess
import sys
import uuid

import pytest

from mpu_bench.experiment import cgroup


@pytest.fixture
def group():
    made = cgroup.make(uuid.uuid4().hex)
    if made is None:
        pytest.skip("no control group may be made here")
    yield made
    made.kill()
    made.remove()


def test_what_has_entered_is_ended_with_all_that_it_has_started(group: cgroup.ControlGroup) -> None:
    forks = "import os, sys, time; from mpu_bench.experiment import cgroup; cgroup.enter(sys.argv[1]); "
    forks += "os.fork() or os.setsid(); print('here', flush=True); time.sleep(600)"
    with subprocess.Popen([sys.executable, "-c", forks, str(group.folder)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in range(2)] == [b"here\n"] * 2
        assert len(group.pids()) == 2
        assert process.pid in group.pids()
        group.remove()
        assert group.folder.is_dir()  # as long as it has processes
        group.kill()
    while group.pids():
        pass
    group.remove()
    assert not group.folder.exists()
    assert group.pids() == []


def test_what_was_left_empty_is_removed(group: cgroup.ControlGroup, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cgroup, "_PREFIX", group.folder.name)  # that of no other process
    another = cgroup.make("another")
    assert another is not None
    assert group.folder.exists()
    another.remove()
    monkeypatch.setattr(cgroup, "_SECONDS_TO_ENTER", -1.0)
    another = cgroup.make("another")
    assert another is not None
    assert not group.folder.exists()
    another.remove()


def test_without_a_group_nothing_happens(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cgroup, "_PROC", tmp_path)
    assert cgroup.make("none") is None
    cgroup.enter("")
    cgroup.enter(str(tmp_path / "none"))
