"""The command line in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import mpu_bench

COMMAND = [sys.executable, "-m", "mpu_bench"]
Called = Callable[..., subprocess.CompletedProcess[str]]


def environment(**more: str) -> dict[str, str]:
    """Return the environment of such a process: it imports the package that the tests import, wherever it starts."""
    sources = str(Path(mpu_bench.__file__).parents[1])
    return {**os.environ, "PYTHONPATH": sources, "PYTHONWARNINGS": "default", **more}
