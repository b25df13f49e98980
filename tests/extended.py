"""A copy of the project that a test adds something to, and its command line."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def copied(place: Path) -> Path:
    """Copy the project into a folder, what is only read as links, and return the folder of the package."""
    for name in ("configs", "datasets", "results"):
        (place / name).symlink_to(ROOT / name)
    for name in ("src", "scripts"):
        shutil.copytree(ROOT / name, place / name, ignore=shutil.ignore_patterns("__pycache__"))
    return place / "src" / "mpu_bench"


def add(path: Path, before: str, text: str) -> None:
    """Add text before some that a file has once."""
    content = path.read_text("utf-8")
    assert content.count(before) == 1
    path.write_text(content.replace(before, text + before), encoding="utf-8")


def call(place: Path, *arguments: str, code: int = 0, command: tuple[str, ...] = ("-m", "mpu_bench")) -> str:
    """Call the command line of the copy, or another program in it, and return what it prints."""
    variables = os.environ | {
        "PYTHONPATH": f"{place / 'src'}{os.pathsep}{place / 'scripts'}",
        "COLUMNS": "200",
        "NUMBA_DISABLE_JIT": "1",
    }
    done = subprocess.run(
        [sys.executable, *command, *arguments], cwd=place, env=variables, check=False, capture_output=True, text=True,
        timeout=300,
    )  # fmt: skip
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout
