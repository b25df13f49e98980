"""What has made SQLite fail: what the file holds, another program that holds it, or the disk; and what to say of it."""

from __future__ import annotations

import os
import shutil
import sqlite3
from pathlib import Path

from mpu_bench.errors import StoreError

#: of SQLite; the second where its message holds bytes of a damaged file that are no text
ERRORS = (sqlite3.Error, UnicodeError)

#: codes of SQLite: the file is held by another program; whatever it is, it is not what the file holds
_HELD, _UNCLEAR = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED), (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN)
_HELD_BY_ANOTHER = "another program holds it; close that program and try again"

_SMALLEST_ROOM = 2**17  # bytes on a disk: with less it is full, whatever SQLite calls that


def _code(error: Exception) -> int:
    return (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF  # without its details


def is_held(error: Exception) -> bool:
    """Return whether another program holds the file."""
    return _code(error) in _HELD


def has_moved(error: Exception) -> bool:
    """Return whether the file is no longer where it was opened."""
    return getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_READONLY_DBMOVED


def unreadable(path: Path, error: Exception) -> StoreError:
    """Return what to tell of a database that cannot be read; only a damaged one is to be moved away."""
    if is_held(error):
        return StoreError(f"{path}: {_HELD_BY_ANOTHER}")
    advice = "; move the file away and run again" if is_of_the_file(error) else ""
    return StoreError(f"{path}: cannot be read ({error}){advice}")


def is_of_the_file(error: Exception) -> bool:
    """Return whether what the file holds has made SQLite fail: no lock, no disk and no right to open it."""
    return _code(error) not in (*_HELD, *_UNCLEAR, sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_NOMEM)


def of_the_disk(error: Exception, folder: Path) -> str:
    """Return what beside the file's content has made SQLite fail; nothing where it was not that."""
    code, unclear = _code(error), _code(error) in _UNCLEAR
    if code in _HELD:
        return _HELD_BY_ANOTHER
    if code == sqlite3.SQLITE_FULL or (unclear and _room(folder) < _SMALLEST_ROOM):
        return "the disk is full"
    if code == sqlite3.SQLITE_READONLY or (unclear and not os.access(folder, os.W_OK)):
        return "it is read-only"
    limits = " (perhaps a quota, or the limit of ulimit -f, is reached)" if code == sqlite3.SQLITE_IOERR else ""
    return f"{error}{limits}" if unclear else ""


def _room(folder: Path) -> int:
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return _SMALLEST_ROOM
