"""A Dask cluster on loopback: a scheduler and workers as processes of their own, each worker a machine of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

from command_line import environment

_SECONDS_TO_START = 60.0


@dataclass
class Machines:
    """A scheduler and its workers; each worker with a data directory, and so a machine, of its own."""

    folder: Path
    scheduler: subprocess.Popen[bytes] | None = None
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def file(self) -> Path:
        """The file that the scheduler writes its address to."""
        return self.folder / "scheduler.json"

    @property
    def address(self) -> str:
        """The scheduler's address."""
        return str(json.loads(self.file.read_text(encoding="utf-8"))["address"])

    def start_scheduler(self, port: int = 0) -> None:
        """Start a scheduler, on a port of its own choice by default."""
        self.file.unlink(missing_ok=True)
        self.scheduler = self._start(
            "scheduler",
            "--host",
            "127.0.0.1",
            "--port",
            str(port),
            "--no-dashboard",
            "--scheduler-file",
            str(self.file),
        )
        until = time.monotonic() + _SECONDS_TO_START
        while not (self.file.exists() and self.file.stat().st_size):
            assert self.scheduler.poll() is None, (self.folder / "scheduler.log").read_text()
            assert time.monotonic() < until
            time.sleep(0.02)

    def start_worker(self, name: str, **more: str) -> subprocess.Popen[bytes]:
        """Start a worker with a data directory of its own."""
        home = {"MPU_BENCH_DATA": str(self.folder / name)}
        worker = self._start(
            "worker", self.address, "--no-nanny", "--nthreads", "1", "--no-dashboard", "--name", name,
            "--local-directory", str(self.folder / "scratch"), log=name, **(home | more),
        )  # fmt: skip
        self.workers.append(worker)
        return worker

    def _start(self, kind: str, *arguments: str, log: str = "", **more: str) -> subprocess.Popen[bytes]:
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / f"{log or kind}.log").open("wb") as output:
            return subprocess.Popen(
                [sys.executable, "-m", "distributed.cli.dask_" + kind, *arguments],
                env=environment(PYTHONWARNINGS="ignore", **more), stdout=output, stderr=output, start_new_session=True,
            )  # fmt: skip

    def kill(self, process: subprocess.Popen[bytes]) -> None:
        """End a process as a fault does."""
        os.kill(process.pid, signal.SIGKILL)
        process.wait()

    def __enter__(self) -> Machines:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _value: BaseException | None, _at: TracebackType | None
    ) -> None:
        for process in [*self.workers, *filter(None, [self.scheduler])]:
            if process.poll() is None:
                self.kill(process)
