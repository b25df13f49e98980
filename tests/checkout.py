"""Copies of the checkout, for tests that change its sources, and programs that run with them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
_READ = ("configs", "datasets", "results", "scripts")


def copied(to: Path, *changed: str) -> Path:
    """Copy the sources and the folders that are changed, and let links stand for the others that are read.

    What Python has compiled of the sources comes along: each copy would compile them again.

    Returns
    -------
    Path
        Where the package is then.
    """
    for name in ("src", *changed):
        ignored = shutil.ignore_patterns("_shipped") if name == "src" else None
        shutil.copytree(ROOT / name, to / name, ignore=ignored)
    for name in _READ:
        if name not in changed:
            (to / name).symlink_to(ROOT / name)
    return to / "src" / "mpu_bench"


def add(path: Path, before: str, text: str) -> None:
    """Add text before some that a file has once."""
    content = path.read_text("utf-8")
    assert content.count(before) == 1
    path.write_text(content.replace(before, text + before), encoding="utf-8")


def called(
    sources: Path, place: Path, *arguments: str, timeout: float = 300.0, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Call Python in a folder, with the package of these sources; solvers are not compiled, unless a variable says."""
    paths = f"{sources}{os.pathsep}{sources.parent / 'scripts'}"
    own = {"PYTHONPATH": paths, "COLUMNS": "200", "NUMBA_DISABLE_JIT": "1"}
    return subprocess.run(
        [sys.executable, *arguments], cwd=place, env=os.environ | own | variables,
        capture_output=True, text=True, check=False, timeout=timeout,
    )  # fmt: skip


def call(place: Path, *arguments: str, code: int = 0, command: tuple[str, ...] = ("-m", "mpu_bench")) -> str:
    """Call the command line of the copy in a folder, or another program in it, and return what it prints."""
    done = called(place / "src", place, *command, *arguments)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout
