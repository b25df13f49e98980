"""The disk cache of compiled code.

Numba notices a change of the file that holds a jitted function, but not of the files whose functions it inlines; so
the cache lives in a folder named after the text of *all* jitted sources, and stale machine code can never be loaded.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from contextlib import suppress
from functools import cache
from pathlib import Path

import platformdirs

_SOURCES = Path(__file__).resolve().parents[1]
_KEPT_FOLDERS = 4
_IN_USE_SECONDS = 86_400.0  # for which a folder is taken to be in use, perhaps by another process


@cache
def source_hash() -> str:
    """Return a hash of the text of every file that may hold jitted code (``core`` and ``solvers``)."""
    digest = hashlib.sha256()
    for folder in ("core", "solvers"):
        for path in sorted((_SOURCES / folder).rglob("*.py")):
            digest.update(str(path.relative_to(_SOURCES)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def cache_folder() -> Path:
    """Return where compiled code is kept: a folder named after the sources, unless ``NUMBA_CACHE_DIR`` names one."""
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    if chosen:
        return Path(chosen)
    return Path(platformdirs.user_cache_dir("mpu-bench", appauthor=False)) / "compiled" / source_hash()


def use_cache() -> None:
    """Point numba at `cache_folder`; numba makes it, and falls back to a choice of its own where it cannot."""
    from numba.core import config

    config.CACHE_DIR = str(cache_folder())  # type: ignore[attr-defined]


def prune() -> None:
    """Remove the folders of earlier sources, but for the newest few and those that may be in use."""
    folder = cache_folder()
    if os.environ.get("NUMBA_CACHE_DIR") or not folder.is_dir():
        return
    with suppress(OSError):  # a read-only home, or another process removes the same
        os.utime(folder)
        by_age = sorted((path for path in folder.parent.iterdir() if path.is_dir()), key=_modified)
        for old in by_age[:-_KEPT_FOLDERS]:
            if time.time() - _modified(old) > _IN_USE_SECONDS:
                shutil.rmtree(old, ignore_errors=True)


def _modified(path: Path) -> float:
    return path.stat().st_mtime
