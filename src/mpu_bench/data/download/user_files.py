"""User files: read where they are, never copied or deleted, and hashed again when they have changed.

A small file is hashed each time. A larger one counts as unchanged while its size, its times of modification and of
change and its inode are the same: the second of these times no program can set.
"""

from __future__ import annotations

import os
from pathlib import Path

from mpu_bench.data.download.cache import DataDirectory
from mpu_bench.data.download.errors import SourceError
from mpu_bench.data.download.integrity import digest_file
from mpu_bench.data.download.pins import PinnedHash, read_pin, write_pin
from mpu_bench.data.download.progress import SILENT, Progress
from mpu_bench.data.download.remote_file import RemoteFile
from mpu_bench.errors import FetchError
from mpu_bench.files import NotRegularError, open_regular

SMALL_BYTES = 16 << 20  #: what is hashed within some hundredths of a second

Identity = tuple[int, int, int, int]


def hashes_of(
    file: RemoteFile, home: DataDirectory, progress: Progress = SILENT, *, anew: bool = False, keep: bool = False
) -> PinnedHash:
    """Return the hashes of a file as it is now.

    Parameters
    ----------
    file : RemoteFile
        With a ``path``.
    home : DataDirectory
    progress : Progress
        Shown while hashing.
    anew : bool
        Whether to hash it whatever is remembered.
    keep : bool
        Whether to remember what was found.

    Raises
    ------
    FetchError
        If it cannot be read.
    """
    assert file.path is not None
    known, state = read_pin(file, home), _stat(file.path)
    is_unchanged = known is not None and _remembered(known) == identity(state)
    if known and is_unchanged and not anew and known.bytes > SMALL_BYTES:
        return known
    try:
        digest = digest_file(file.path, file, progress)
    except SourceError as error:
        raise FetchError(f"{file.path}: {error}; write it again") from None
    if known and is_unchanged and known.sha256 == digest.sha256:
        return known
    found = digest.pinned(str(file.path), state)
    if keep:
        write_pin(file, home, found)
    return found


def check_unchanged(file: RemoteFile, known: PinnedHash) -> None:
    """Refuse a file that has changed since it was hashed.

    Raises
    ------
    FetchError
        If it is another, or was written to since.
    """
    assert file.path is not None
    if identity(_stat(file.path)) != _remembered(known):
        raise FetchError(f"{file.path}: changed while it was read; run the same command again")


def identity(state: os.stat_result) -> Identity:
    """Return what changes whenever a file is written to or replaced."""
    return state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_ino


def _remembered(known: PinnedHash) -> Identity:
    return known.bytes, known.modified, known.changed, known.inode


def _stat(path: Path) -> os.stat_result:
    try:
        with open_regular(path) as stream:
            return os.fstat(stream.fileno())
    except OSError as error:
        cannot = "" if isinstance(error, NotRegularError) else "cannot be read: "
        raise FetchError(
            f"{path}: {cannot}{error.strerror or error}; a dataset reads this file "
            "where it is: put it back, or give the new path with mpu-bench data add FILE --name NAME --force"
        ) from None
