"""Copies of the checkout, for tests that change its sources, and programs that run with them."""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

from copies import Copies

ROOT = Path(__file__).parents[1]
#: what most commands need: they are few for each copy
_IMPORTED = ("mpu_bench.cli.run", "mpu_bench.experiment.run", "mpu_bench.report.page", "mpu_bench.solvers.linear.dcd")
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
    return subprocess.run(
        [sys.executable, *arguments], cwd=place, env=_environment(sources) | variables,
        capture_output=True, text=True, check=False, timeout=timeout,
    )  # fmt: skip


def _environment(sources: Path) -> dict[str, str]:
    paths = f"{sources}{os.pathsep}{sources.parent / 'scripts'}"
    return os.environ | {"PYTHONPATH": paths, "COLUMNS": "200", "NUMBA_DISABLE_JIT": "1"}


@cache
def _process(sources: Path) -> Copies:
    """Return a process that has imported the package of these sources, which are not changed from now on."""
    made = Copies(_environment(sources), _IMPORTED)
    atexit.register(made.close)
    return made


def command(place: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Call the command line of the copy in a folder."""
    sources = place / "src"
    return _process(sources).call(arguments, place, _environment(sources))


def call(place: Path, *arguments: str, code: int = 0, program: str = "") -> str:
    """Call the command line of the copy in a folder, or a program in it, and return what it prints."""
    done = called(place / "src", place, "-c", program) if program else command(place, *arguments)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout
