"""Copies of the checkout, for tests that change its sources."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def copied(to: Path, *folders: str) -> Path:
    """Copy folders of the checkout, the sources among them; return where the package is then."""
    for name in ("src", *folders):
        shutil.copytree(ROOT / name, to / name, ignore=shutil.ignore_patterns("__pycache__", "_shipped"))
    return to / "src" / "mpu_bench"


def called_in_plain_python(
    sources: Path, place: Path, *arguments: str, timeout: float = 300.0
) -> subprocess.CompletedProcess[str]:
    """Call Python in a folder, with the package of these sources; solvers are not compiled."""
    paths = f"{sources}{os.pathsep}{sources.parent / 'scripts'}"
    variables = {"PYTHONPATH": paths, "COLUMNS": "200", "NUMBA_DISABLE_JIT": "1"}
    return subprocess.run(
        [sys.executable, *arguments], cwd=place, env=os.environ | variables,
        capture_output=True, text=True, check=False, timeout=timeout,
    )  # fmt: skip
