"""Disks that are full or read-only, and files that may not grow; then there is room, and the results are whole.

Small and read-only file systems are mounted, which root may on Linux; elsewhere these faults are skipped with a word.
"""

from __future__ import annotations

import os
import random
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from faults import experiments
from faults.campaign import Fault, References, check, completed, serving, wait_for
from faults.processes import started


@cache
def can_mount() -> bool:
    """Return whether this process may mount file systems."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return False
    with TemporaryDirectory() as folder:
        if subprocess.run(["mount", "-t", "tmpfs", "none", folder], check=False, capture_output=True).returncode:
            return False
        subprocess.run(["umount", folder], check=True)
    return True


@contextmanager
def mounted(folder: Path, *options: str) -> Iterator[None]:
    """Mount something on a folder, which is made."""
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", *options, str(folder)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def full(seed: int, place: Path, references: References) -> list[Fault]:
    """Fill the disk of the results, or of the data, once or twice, and then enlarge it."""
    chance = random.Random(f"full {seed}")
    name, folder = chance.choice(references.names), chance.choice(("results", "home"))
    sizes = [chance.randint(8, 400) if folder == "results" else chance.randint(8, 200) for _ in range(2)]
    if not can_mount():
        return [Fault("full", seed, "skipped: needs root on Linux")]
    faults = []
    with serving() as server, mounted(place / folder, "-t", "tmpfs", "-o", "size=4k", "none"):
        experiments.write(place, name, server.address)
        for size in sorted(sizes):
            fault = Fault("full", seed, f"{name}: {folder} on a disk of {size} kB")
            _enlarge(place / folder, f"{size}k")
            with started(place, "run", f"{name}.yaml") as process:
                ended, fault.problems = wait_for(process, (0, 1, 2))
            if ended is not None and ended.code == 2 and "full" not in ended.text and "space" not in ended.text:
                fault.problems.append(f"message of a full disk: {ended.err[-500:]}")
            if ended is not None and "move the file away" in ended.err:
                fault.problems.append(f"message of a full disk gives wrong advice: {ended.err[-500:]}")
            faults.append(fault)
        _enlarge(place / folder, "100m")
        faults[-1].problems += completed(place, name, references)
    return faults


def _enlarge(folder: Path, size: str) -> None:
    subprocess.run(["mount", "-o", f"remount,size={size}", str(folder)], check=True)


def read_only(seed: int, place: Path, references: References) -> list[Fault]:
    """Make the results, or the data, read-only; every verb says so or does what it can."""
    chance = random.Random(f"read-only {seed}")
    name = chance.choice(references.names)
    if not can_mount():
        return [Fault("read-only", seed, "skipped: needs root on Linux")]
    results, home = Fault("read-only", seed, f"{name}: results"), Fault("read-only", seed, f"{name}: home")
    with serving() as server:
        experiments.write(place, name, server.address)
        home.problems += check(place, "data", "fetch", *_datasets(name), "--data", "home") if _datasets(name) else []
        home.problems += completed(place, name, references)
        with _protected(place / "home"):
            home.problems += check(place, "run", f"{name}.yaml", "--results", "others", codes=(0,))
        with _protected(place / "results"):
            folder = f"results/{name}"
            results.problems += check(place, "run", f"{name}.yaml", codes=(2,), words="ead-only")
            results.problems += check(place, "clean", folder, "-y", codes=(2,), words="ead-only")
            results.problems += check(place, "plot", folder, codes=(2,), words="ead-only")
            results.problems += check(place, "report", folder, "--out", "results/page", codes=(2,), words="ead-only")
            results.problems += check(place, "export", folder, "--out", f"{folder}/x.csv", codes=(2,), words="ead-only")
            results.problems += check(place, "show", folder)
            results.problems += check(place, "compare", folder, folder, codes=(0, 1, 2))
        results.problems += completed(place, name, references)
    return [results, home]


def _datasets(name: str) -> list[str]:
    return ["first", "second", "third"] if name == "fetched" else []


@contextmanager
def _protected(folder: Path) -> Iterator[None]:
    with mounted(folder, "--bind", str(folder)):
        subprocess.run(["mount", "-o", "remount,ro,bind", str(folder)], check=True)
        yield


def file_size(seed: int, place: Path, references: References) -> list[Fault]:
    """Let no file grow beyond some bytes, and then any."""
    chance = random.Random(f"file-size {seed}")
    name, most = chance.choice(references.names), 1024 * chance.randint(1, 120)
    fault = Fault("file-size", seed, f"{name}: files of {most} bytes at most")
    with serving() as server:
        experiments.write(place, name, server.address)
        with started(place, "run", f"{name}.yaml") as process:
            resource.prlimit(process.process.pid, resource.RLIMIT_FSIZE, (most, most))
            _, fault.problems = wait_for(process, (0, 1, 2))
        fault.problems += completed(place, name, references)
    return [fault]
