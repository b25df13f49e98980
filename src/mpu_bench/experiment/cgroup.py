"""A control group (cgroup v2, Linux) for a worker and all that it starts: nothing leaves it but by leave of the system.

There is one where this user may make one, below the group of this process, as in a container or a session that systemd
has delegated; without one, workers are held by their supervisors alone.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

_PREFIX = "mpu-bench-"
_SECONDS_TO_ENTER = 60.0  # a group as young as this may only be empty still
_PROC = Path("/proc/self")


class ControlGroup:
    """A group of processes.

    Parameters
    ----------
    folder : Path
        Where the system shows it.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def pids(self) -> list[int]:
        """Return its processes; none if it has gone."""
        with suppress(OSError, ValueError):
            return list(map(int, (self.folder / "cgroup.procs").read_bytes().split()))
        return []

    def kill(self) -> None:
        """End all of its processes at once."""
        with suppress(OSError):
            (self.folder / "cgroup.kill").write_text("1", encoding="ascii")

    def remove(self) -> None:
        """Remove it, once its processes have ended."""
        with suppress(OSError):
            self.folder.rmdir()


def make(name: str) -> ControlGroup | None:
    """Return a new group, or None where none may be made; those that killed processes have left empty are removed."""
    parent = _own_folder()
    if parent is None:
        return None
    for left in parent.glob(f"{_PREFIX}*"):
        with suppress(OSError):
            if time.time() - left.stat().st_mtime > _SECONDS_TO_ENTER:
                left.rmdir()  # which it refuses if there are processes in it
    group = ControlGroup(parent / f"{_PREFIX}{name}")
    try:
        group.folder.mkdir()
    except OSError:
        return None
    return group


def enter(folder: str) -> None:
    """Put this process into a group, and with it whatever it starts from now on; it stays out where that fails."""
    if folder:
        with suppress(OSError):
            Path(folder, "cgroup.procs").write_text(str(os.getpid()), encoding="ascii")


def _own_folder() -> Path | None:
    """Return the folder of this process's own group; None where there is no cgroup v2."""
    try:
        groups = dict(line.split(":", 2)[::2] for line in (_PROC / "cgroup").read_text("utf-8").splitlines())
        mounts = [line.split() for line in (_PROC / "mountinfo").read_text("utf-8").splitlines()]
    except (OSError, ValueError):
        return None
    for mount in mounts:
        root, point = mount[3], mount[4]
        if mount[mount.index("-") + 1] == "cgroup2" and "0" in groups:
            with suppress(ValueError):
                return Path(point) / Path(groups["0"]).relative_to(root)
    return None
