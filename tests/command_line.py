"""The command line in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable

COMMAND = [sys.executable, "-m", "mpu_bench"]
Called = Callable[..., subprocess.CompletedProcess[str]]


def environment(**more: str) -> dict[str, str]:
    """Return the environment of such a process."""
    return {**os.environ, "PYTHONWARNINGS": "default", **more}
