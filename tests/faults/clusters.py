"""An experiment on a cluster of which a worker, the scheduler or the client is killed at some moment."""

from __future__ import annotations

import csv
import random
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil

from command_line import COMMAND, environment
from faults.campaign import TRACEBACK, Fault, References
from machines import Machines

PLUGIN = Path(__file__).parents[1] / "plugins" / "slow.py"
SEEDS = 10
SECONDS_TO_WAIT = 120.0
WORKERS = ("one", "two", "three")
VICTIMS = ("worker", "scheduler", "client")
_COMPARED = ("solver", "seed", "status", "test_error", "updates", "passes", "kernel_evaluations")
_MAX_SECONDS = 0.6  # of a moment after a run has begun
_lock = threading.Lock()

Rows = list[dict[str, str]]


class Client:
    """The command in a process of its own, which makes ten runs of about half a second."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.log = place / "begun.txt"
        (place / "slow.yaml").write_text(
            f"name: slow\nplugins: [{PLUGIN}]\ndataset: {{checkerboard: {{rows: 300, test_rows: 50}}}}\n"
            f"repeats: {SEEDS}\nsolvers:\n  - slow: {{passes: 3, nap: 0.01, log: {self.log}}}\n",
            encoding="utf-8",
        )

    def start(self, *options: str) -> subprocess.Popen[str]:
        """Start the command."""
        return subprocess.Popen(
            [*COMMAND, "run", "slow.yaml", *options], cwd=self.place, env=environment(MPU_BENCH_DATA="data"),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip

    def run(self, *options: str) -> str:
        """Run to the end, and return what was said."""
        process = self.start(*options)
        _, said = process.communicate(timeout=SECONDS_TO_WAIT)
        assert process.returncode == 0, said
        return said

    def begun(self) -> int:
        """Return how many runs have begun, with those that were begun again."""
        return len(self.log.read_text(encoding="utf-8").split()) if self.log.exists() else 0

    def rows(self, results: str = "results") -> Rows:
        """Return the rows, without what differs from time to time."""
        with (self.place / results / "slow" / "runs.csv").open(newline="", encoding="utf-8") as file:
            return [{name: row[name] for name in _COMPARED} for row in csv.DictReader(file)]


@cache
def _alone() -> Rows:
    with TemporaryDirectory() as folder:
        local = Client(Path(folder))
        local.run("--jobs", "2")
        return local.rows()


def alone() -> Rows:
    """Return the rows that this machine alone makes."""
    with _lock:
        return _alone()


def lives(process: psutil.Process) -> bool:
    """Return whether a process runs; one that has ended may wait for a parent to ask how."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def wait_until(holds: Callable[[], object], what: str) -> None:
    """Wait until something holds."""
    end = time.monotonic() + SECONDS_TO_WAIT
    while not holds():
        assert time.monotonic() < end, what
        time.sleep(0.02)


def campaign(seed: int, place: Path, _references: References) -> list[Fault]:
    """Kill one of them at a random moment, let the same command go on, and compare with what is made undisturbed."""
    chance = random.Random(seed)
    victim, runs, seconds = VICTIMS[seed % 3], chance.randrange(SEEDS), chance.uniform(0, _MAX_SECONDS)
    fault = Fault("cluster", seed, f"{victim}, {seconds:.2f} s after run {runs} has begun")
    children: list[psutil.Process] = []
    client = Client(place)
    try:
        with Machines(place / "machines") as machines:
            machines.start_scheduler()
            for name in WORKERS:
                machines.start_worker(name)
            process = client.start("--cluster", machines.address)
            wait_until(lambda: client.begun() >= runs, f"{runs} runs have begun")
            time.sleep(seconds)
            _kill(victim, machines, process, chance)
            _, said = process.communicate(timeout=SECONDS_TO_WAIT)
            fault.problems += ["traceback: " + said[-500:]] if TRACEBACK in said else []
            allowed = {"worker": (0,), "scheduler": (0, 2), "client": (0, -signal.SIGKILL)}[victim]
            if process.returncode not in allowed:
                fault.problems.append(f"exit code: {process.returncode}: {said[-500:]}")
            if victim == "scheduler":
                machines.start_scheduler()
                machines.start_worker("four")
            client.run("--cluster", machines.address)
            for worker in machines.workers:
                if worker.poll() is None:
                    children += psutil.Process(worker.pid).children(recursive=True)
        fault.problems += _differences(client.rows())
        wait_until(lambda: not any(map(lives, children)), "what the workers started has ended")
    except (AssertionError, subprocess.TimeoutExpired, OSError) as raised:
        fault.problems.append(f"hang: {raised}")
    return [fault]


def _kill(victim: str, machines: Machines, client: subprocess.Popen[str], chance: random.Random) -> None:
    if victim == "client":
        client.send_signal(signal.SIGKILL)
        return
    assert machines.scheduler is not None
    machines.kill(chance.choice(machines.workers) if victim == "worker" else machines.scheduler)


def _differences(rows: Rows) -> list[str]:
    found = [f"differs: {row}" for row, same in zip(rows, alone(), strict=False) if row != same]
    if len(rows) != SEEDS:
        found.append(f"{'lost' if len(rows) < SEEDS else 'doubled'}: there are {len(rows)} rows")
    return found
