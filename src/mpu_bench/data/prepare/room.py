"""Whether this machine has room for a dataset: asked before anything large is made."""

from __future__ import annotations

import shutil
from pathlib import Path

import psutil
from rich.filesize import decimal

from mpu_bench.errors import DataError


def check_memory(needed: int, what: str, source: str) -> None:
    """Refuse what needs more memory than the machine has.

    Parameters
    ----------
    needed : int
        Bytes.
    what : str
        What needs them, for the message: ``"a dense row of 10 columns"``.
    source : str
        Where it is asked for, such as the card.

    Raises
    ------
    DataError
        Which says how much it would be.
    """
    _check(needed, psutil.virtual_memory().total, "of memory, and this machine has", what, source)


def check_disk(needed: int, folder: Path, what: str, source: str) -> None:
    """Refuse what needs more bytes on a folder's disk than are free; otherwise as `check_memory`."""
    _check(needed, shutil.disk_usage(folder).free, f"on the disk of {folder.parent}, where there are", what, source)


def _check(needed: int, there: int, words: str, what: str, source: str) -> None:
    if needed > there:
        raise DataError(f"{source}: {what} would need {decimal(needed)} {words} {decimal(there)}")
