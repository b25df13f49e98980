"""The command line as a process that is watched: what it leaves behind, and whom."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

import mpu_bench

COMMAND = [sys.executable, "-m", "mpu_bench"]
_MARK = "MPU_BENCH_TEST_MARK"
#: after which a process that has not ended hangs, and one that is left is an orphan; machines may be 25 times slower
HANG_SECONDS, ORPHAN_SECONDS = 300.0, 60.0


@dataclass(frozen=True)
class Ended:
    """What a process has come to; negative codes are signals."""

    code: int
    out: str
    err: str

    @property
    def text(self) -> str:
        return self.out + self.err


@dataclass
class Started:
    """A process of the command line, in a session of its own, that all its descendants can be told by.

    A descendant that leaves the session, or whose parent is gone, still has the mark in the environment it began with.
    """

    arguments: tuple[str, ...]
    place: Path
    variables: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.mark = secrets.token_hex(8)
        sources = str(Path(mpu_bench.__file__).parents[1])
        paths = [path for path in (self.variables.get("PYTHONPATH"), sources) if path]
        environment = {
            **os.environ, "NUMBA_NUM_THREADS": "1", "MPU_BENCH_DATA": str(self.place / "home"), "MPU_BENCH_MIRROR": "",
            **self.variables, "PYTHONPATH": os.pathsep.join(paths), _MARK: self.mark,
        }  # fmt: skip
        # files, not pipes: an orphan that holds a pipe would keep its reader waiting
        self._out, self._err = (self.place / f".{name}.{self.mark}" for name in ("out", "err"))
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self.process = subprocess.Popen(
                [*COMMAND, *self.arguments], cwd=self.place, env=environment, start_new_session=True,
                stdin=subprocess.DEVNULL, stdout=out, stderr=err,
            )  # fmt: skip

    def ended(self, seconds: float = HANG_SECONDS) -> Ended:
        """Wait for the end.

        Raises
        ------
        subprocess.TimeoutExpired
            If it does not come, and nothing is printed for so long; everything is killed then.
        """
        printed, code = -1, None
        while code is None:
            try:
                code = self.process.wait(seconds)
            except subprocess.TimeoutExpired:
                before, printed = printed, sum(path.stat().st_size for path in (self._out, self._err))
                if printed == before:
                    self.kill_all()
                    raise
        texts = [path.read_text(encoding="utf-8", errors="replace") for path in (self._out, self._err)]
        for path in (self._out, self._err):
            path.unlink(missing_ok=True)
        return Ended(code, *texts)

    def send(self, number: signal.Signals, to_all: bool = False) -> bool:
        """Send a signal, to the process or as a terminal does to all of its group; return whether it was there."""
        if self.process.poll() is not None:
            return False
        if to_all:
            os.killpg(self.process.pid, number)
        else:
            self.process.send_signal(number)
        return True

    def descendants(self) -> list[psutil.Process]:
        """List the living processes that come from this one, itself excepted."""
        return [each for each in marked(self.mark) if each.pid != self.process.pid]

    def orphans(self, seconds: float = ORPHAN_SECONDS) -> list[str]:
        """List what is left of its descendants once they have had time to end, and kill it."""
        until = time.monotonic() + seconds
        while (left := self.descendants()) and time.monotonic() < until:
            time.sleep(0.02)
        named = [_name_of(each) for each in left]
        for each in left:
            with suppress(psutil.Error):
                each.kill()
        return named

    def kill_all(self) -> None:
        """Kill it and whatever comes from it."""
        self.process.kill()
        self.process.wait()
        for each in self.descendants():
            with suppress(psutil.Error):
                each.kill()


def marked(mark: str) -> list[psutil.Process]:
    """List the living processes that began with a mark in their environment."""
    found = []
    wanted = f"{_MARK}={mark}".encode()
    for place in Path("/proc").iterdir():
        if not place.name.isdecimal():
            continue
        with suppress(OSError, psutil.Error):
            if wanted in (place / "environ").read_bytes():
                process = psutil.Process(int(place.name))
                if process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
    return found


def _name_of(process: psutil.Process) -> str:
    with suppress(psutil.Error):
        return f"{process.pid} {' '.join(process.cmdline())[:200]}"
    return str(process.pid)


@contextmanager
def started(place: Path, *arguments: str, **variables: str) -> Iterator[Started]:
    """Start the command line in a folder; whatever happens, nothing of it outlives the context."""
    process = Started(arguments, place, variables)
    try:
        yield process
    finally:
        process.kill_all()


def call(place: Path, *arguments: str, **variables: str) -> Ended:
    """Call the command line in a folder, and wait for its end."""
    with started(place, *arguments, **variables) as process:
        return process.ended()
