"""The disk cache of compiled code.

Numba notices a change of the file that holds a jitted function, but not of the files whose functions it inlines; so
the cache lives in a folder named after the text of *all* jitted sources, and stale machine code can never be loaded.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import tempfile
import time
import warnings
from contextlib import suppress
from functools import cache
from pathlib import Path

import platformdirs

_SOURCES = Path(__file__).resolve().parents[1]
_KEPT_FOLDERS = 4
_IN_USE_SECONDS = 86_400.0  # for which a folder is taken to be in use, perhaps by another process


class CacheWarning(RuntimeWarning):
    """Compiled code cannot be kept, or was damaged: everything works, but compiling takes its time again."""


@cache
def source_hash() -> str:
    """Return a hash of the text of every file that may hold jitted code (``core``, ``kernels`` and ``solvers``)."""
    digest = hashlib.sha256()
    for folder in ("core", "kernels", "solvers"):
        for path in sorted((_SOURCES / folder).rglob("*.py")):
            digest.update(str(path.relative_to(_SOURCES)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def cache_folder() -> Path:
    """Return where compiled code is kept: in ``NUMBA_CACHE_DIR`` or the user's cache, in a folder of these sources."""
    if chosen := os.environ.get("NUMBA_CACHE_DIR"):
        return Path(chosen) / f"mpu-bench-{source_hash()}"
    return Path(platformdirs.user_cache_dir("mpu-bench", appauthor=False)) / "compiled" / source_hash()


@cache
def use_cache() -> bool:
    """Point numba at `cache_folder`, once; return whether compiled code can be kept at all.

    Where that folder cannot be written, a temporary one does for this process and those it starts, with a warning:
    numba's own next choice, beside the sources, does not notice a change of an inlined function.
    """
    from numba.core import config

    folder = cache_folder()
    if not _is_writable(folder):
        try:
            temporary = tempfile.mkdtemp(prefix="mpu-bench-")
        except OSError:
            temporary = ""
        lasts = "until this command ends" if temporary else "nowhere"
        warnings.warn(
            f"{folder} is not writable; compiled code is kept {lasts}. Set NUMBA_CACHE_DIR to a writable folder.",
            CacheWarning,
            stacklevel=2,
        )
        if not temporary:
            return False
        atexit.register(_remove, temporary, os.getpid())
        os.environ["NUMBA_CACHE_DIR"] = temporary
        folder = cache_folder()
    config.CACHE_DIR = str(folder)  # type: ignore[attr-defined]
    return True


@cache
def warn_of_damage() -> None:
    """Warn, once a process, that some compiled code cannot be read."""
    warnings.warn(f"{cache_folder()}: damaged compiled code is compiled again", CacheWarning, stacklevel=2)


def _is_writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _remove(folder: str, owner: int) -> None:
    if os.getpid() == owner:  # and not a process that it forked
        shutil.rmtree(folder, ignore_errors=True)


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
