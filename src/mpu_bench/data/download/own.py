"""Files of the user's own: read where they are, never copied or deleted, and hashed again when they have changed."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from mpu_bench.data.download.cache import DataHome
from mpu_bench.data.download.compression import digest_stream, open_content
from mpu_bench.data.download.disk import on_disk
from mpu_bench.data.download.errors import SourceError
from mpu_bench.data.download.pins import PinnedHash, read_pin, write_pin
from mpu_bench.data.download.progress import SILENT, Progress
from mpu_bench.data.download.remote_file import RemoteFile
from mpu_bench.errors import FetchError
from mpu_bench.files import NotRegularError, open_regular


def hashes_of(
    file: RemoteFile, home: DataHome, progress: Progress = SILENT, *, anew: bool = False, keep: bool = False
) -> PinnedHash:
    """Return the hashes of a file as it is now.

    Those that are remembered hold as long as its size and its time of modification stay the same.

    Parameters
    ----------
    file : RemoteFile
        With a ``path``.
    home : DataHome
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
    known, (size, modified) = read_pin(file, home), _stat(file.path)
    if not anew and known and (known.bytes, known.modified) == (size, modified):
        return known
    found = _hashed(file, file.path, modified, progress)
    if keep:
        with on_disk(home.folder):
            home.pin_path(file).parent.mkdir(parents=True, exist_ok=True)
        write_pin(file, home, found)
    return found


def check_unchanged(file: RemoteFile, known: PinnedHash) -> None:
    """Refuse a file that has changed since it was hashed.

    Raises
    ------
    FetchError
        If its size or its time of modification is another.
    """
    assert file.path is not None
    if _stat(file.path) != (known.bytes, known.modified):
        raise FetchError(f"{file.path}: has changed while it was read; run the same command again")


def _stat(path: Path) -> tuple[int, int]:
    try:
        with open_regular(path):
            state = path.stat()
    except OSError as error:
        raise _unreadable(path, error) from None
    return state.st_size, state.st_mtime_ns


def _unreadable(path: Path, error: OSError) -> FetchError:
    cannot = "" if isinstance(error, NotRegularError) else "cannot be read: "
    return FetchError(
        f"{path}: {cannot}{error.strerror or error}; a dataset reads this file "
        "where it is: put it back, or name the new place with mpu-bench data add FILE --name NAME --force"
    )


def _hashed(file: RemoteFile, path: Path, modified: int, progress: Progress) -> PinnedHash:
    try:
        with open_regular(path) as stream, progress.transfer(f"check {file.name}", path.stat().st_size) as advance:
            sha256, size = digest_stream(stream, advance)
        with open_content(path) as content:
            content_sha256, content_bytes = digest_stream(content, lambda _count: None)
    except SourceError as error:
        raise FetchError(f"{path}: {error}; write it again") from None
    except OSError as error:
        raise _unreadable(path, error) from None
    time = datetime.now(UTC).isoformat(timespec="seconds")
    return PinnedHash(sha256, content_sha256, size, content_bytes, str(path), time, modified)
