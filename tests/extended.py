"""A copy of the project that a test adds something to, and its command line."""

from __future__ import annotations

from pathlib import Path

import checkout
from checkout import ROOT


def copied(place: Path) -> Path:
    """Copy the project into a folder, what is only read as links, and return the folder of the package."""
    for name in ("configs", "datasets", "results"):
        (place / name).symlink_to(ROOT / name)
    return checkout.copied(place, "scripts")


def add(path: Path, before: str, text: str) -> None:
    """Add text before some that a file has once."""
    content = path.read_text("utf-8")
    assert content.count(before) == 1
    path.write_text(content.replace(before, text + before), encoding="utf-8")


def call(place: Path, *arguments: str, code: int = 0, command: tuple[str, ...] = ("-m", "mpu_bench")) -> str:
    """Call the command line of the copy, or another program in it, and return what it prints."""
    done = checkout.called_in_plain_python(place / "src", place, *command, *arguments)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout
