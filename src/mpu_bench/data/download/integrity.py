"""What a file holds, whether it is the file it should be, and what is remembered of it beside it.

User files are read where they are, never copied or deleted, and hashed again when they have changed. A small one is
hashed each time. A larger one counts as unchanged while its size, its times of modification and of change and its
inode are the same: the second of these times no program can set.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Annotated, Any, TypeVar

from annotated_types import Ge, Len
from pydantic import TypeAdapter

from mpu_bench.data.download.cache import DataDirectory, RemoteFile, shown
from mpu_bench.data.download.compression import (
    compression,
    digest_stream,
    head_of,
    open_content,
    other_file,
)
from mpu_bench.data.download.errors import SourceError, WrongFileError, disk_error, on_disk
from mpu_bench.data.download.progress import SILENT, Progress
from mpu_bench.errors import FetchError
from mpu_bench.files import open_regular, read_beginning, write_text
from mpu_bench.texts import one_line

MAX_BYTES = 1 << 16

_Note = TypeVar("_Note")


def read_note(path: Path, kind: type[_Note], max_bytes: int = MAX_BYTES) -> _Note:
    """Return what a note holds.

    Parameters
    ----------
    path : Path
    kind : type
        A dataclass or a `TypedDict`.
    max_bytes : int
        Of its text.

    Raises
    ------
    ValueError
        If it is not one of this kind.
    OSError
        If it cannot be read; `FileNotFoundError` if there is none.
    """
    with open_regular(path) as stream:
        content = read_beginning(stream, max_bytes)  # of a longer one, text that is cut and none of this kind
    note: _Note = _adapter(kind).validate_json(content, strict=True)
    return note


_adapter: Callable[[Any], TypeAdapter[Any]] = cache(TypeAdapter)


Identity = tuple[int, int, int, int]


def identity(state: os.stat_result) -> Identity:
    """Return what changes whenever a file is written to or replaced."""
    return state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_ino


@dataclass(frozen=True)
class Digest:
    """What a file holds, and what is remembered of one that was right.

    Where a card knows no hash, the one that is pinned at first use decides from then on.

    Attributes
    ----------
    sha256, content_sha256 : str
        Hashes of the file and of its decompressed content; equal where it is not compressed.
    bytes, content_bytes : int
        The sizes of both.
    origin : str
        The address it came from.
    time : str
        When it was right, in UTC, ISO 8601.
    modified : int
        The file's time of modification then, in nanoseconds. With the size it decides whether to hash again.
    changed, inode : int
        The time of its last change and its number then, which decide for a user file, too.
    """

    sha256: Annotated[str, Len(64, 64)]
    content_sha256: Annotated[str, Len(64, 64)]
    bytes: Annotated[int, Ge(0)]
    content_bytes: Annotated[int, Ge(0)]
    origin: str = ""
    time: str = ""
    modified: int = 0
    changed: int = 0
    inode: int = 0

    @property
    def identity(self) -> Identity:
        """What `identity` returned of the file then."""
        return self.bytes, self.modified, self.changed, self.inode

    def pinned(self, origin: str, state: os.stat_result) -> Digest:
        """Return what to remember of the file, which came from ``origin`` and is in this ``state``."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        _size, modified, changed, inode = identity(state)
        return replace(self, origin=origin, time=now, modified=modified, changed=changed, inode=inode)


def read_pin(file: RemoteFile, home: DataDirectory) -> Digest | None:
    """Return what is remembered of a file; None if nothing is.

    Raises
    ------
    FetchError
        If it cannot be read.
    """
    path = home.pin_path(file)
    try:
        return read_note(path, Digest)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise disk_error(error, path) from error
    except ValueError as error:
        raise FetchError(
            f"{path}: should hold the pinned hashes of {file.name}, but cannot be read "
            f"({one_line(str(error), 300)}). Delete it; the file is then checked and pinned anew."
        ) from error


def write_pin(file: RemoteFile, home: DataDirectory, pin: Digest) -> None:
    """Remember a file."""
    path = home.pin_path(file)
    with on_disk(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, json.dumps(asdict(pin), indent=1))


LARGEST_EXPANSION = 200
"""A file whose content has neither a stated size nor a known hash may expand by this factor (KDD99 needs 41) ..."""
SMALL_CONTENT_BYTES = 64 * 1024**2
"""... and up to this many bytes in any case."""

_COMPRESSIONS = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".Z": "compress"}


def digest_file(path: Path, file: RemoteFile, progress: Progress) -> Digest:
    """Hash a file and its content, within bounds; what a user file holds is looked at by its reader.

    Parameters
    ----------
    path : Path
        Where it is.
    file : RemoteFile
        What it should be.
    progress : Progress
        Shown while hashing.

    Raises
    ------
    SourceError
        If it is an HTML page or an archive, is cut short or damaged, or expands beyond its stated size.
    OSError
        If the disk cannot be read.
    """
    head, size = head_of(path), path.stat().st_size
    if file.path is None and (other := other_file(head)):
        raise SourceError(f"this is {other.name} instead of data; {other.fix}")
    with progress.transfer(f"check {file.name}", size) as advance, open_regular(path) as stream:
        sha256, size = digest_stream(stream, advance)
    if compression(head) is None:
        return Digest(sha256, sha256, size, size)
    if sha256 in file.sha256 and file.content_sha256 and file.content_bytes is not None:
        return Digest(sha256, file.content_sha256, size, file.content_bytes)  # known: not unpacked for it
    label = f"check the content of {file.name}"
    with progress.transfer(label, file.content_bytes) as advance, open_content(path) as content:
        content_sha256, content_size = digest_stream(content, advance, _limit(file, size, sha256))
    return Digest(sha256, content_sha256, size, content_size)


def _limit(file: RemoteFile, size: int, sha256: str) -> float:
    if file.content_bytes is not None:
        return file.content_bytes
    is_known = file.path is not None or sha256 in file.sha256
    return math.inf if is_known else max(LARGEST_EXPANSION * size, SMALL_CONTENT_BYTES)


def verify_digest(file: RemoteFile, home: DataDirectory, digest: Digest) -> None:
    """Refuse a file that is not the right one.

    The hashes of the dataset's card decide. Where it has none, what was pinned at first use does. At first use
    the file must at least be what its name says, and have the stated sizes.

    Raises
    ------
    SourceError
        With what was expected and what was found.
    """
    if is_accepted(file, digest):
        return
    if file.hashes:
        content = f" (of its content {digest.content_sha256})" if digest.content_sha256 != digest.sha256 else ""
        wanted = " or ".join(sorted(file.hashes))
        raise SourceError(f"wrong hash: sha256 {digest.sha256}{content} where {wanted} is expected")
    if (pin := read_pin(file, home)) is None:
        _verify_form(file, digest)
    elif {pin.sha256, pin.content_sha256}.isdisjoint({digest.sha256, digest.content_sha256}):
        raise SourceError(
            f"wrong hash: sha256 {digest.sha256} where {pin.sha256} was pinned at first use "
            f"({one_line(pin.time, 100)}, from {shown(pin.origin)}); "
            f"to accept another file deliberately, delete {home.pin_path(file)}"
        )


def is_accepted(file: RemoteFile, digest: Digest) -> bool:
    """Return whether the card knows the hash of a file, or of its content."""
    return not file.hashes.isdisjoint({digest.sha256, digest.content_sha256})


def _verify_form(file: RemoteFile, digest: Digest) -> None:
    promised = _COMPRESSIONS.get(Path(file.name).suffix)
    if digest.bytes == 0:
        raise SourceError("the file is empty")
    if promised and digest.content_sha256 == digest.sha256:
        raise SourceError(f"the file does not begin like one that {promised} wrote; it is damaged, or not the file")
    expected = file.bytes if file.content_bytes is None and not promised else file.content_bytes
    if expected not in (None, digest.content_bytes):
        raise SourceError(f"the content has {digest.content_bytes:,} bytes where {expected:,} are expected")


SMALL_BYTES = 16 << 20  #: what is hashed within some hundredths of a second


def hashes_of(
    file: RemoteFile, home: DataDirectory, progress: Progress = SILENT, *, anew: bool = False, keep: bool = False
) -> Digest | None:
    """Return the hashes of a file as it is now; None where it is not in the data directory.

    Parameters
    ----------
    file : RemoteFile
    home : DataDirectory
    progress : Progress
        Shown while hashing.
    anew : bool
        Whether to hash it whatever is remembered.
    keep : bool
        Whether to remember what was found.

    Raises
    ------
    WrongFileError
        If it is there and wrong.
    FetchError
        If it cannot be read, or is a user file that is not there or damaged.
    """
    path, pin, state = home.path(file), read_pin(file, home), _state(file, home)
    if state is None:
        return None
    if pin and not anew and _is_unchanged(file, pin, state):
        return pin
    with on_disk(path):
        try:
            digest = digest_file(path, file, progress)
            if file.path is None:
                verify_digest(file, home, digest)
        except SourceError as error:
            if file.path is not None:
                raise FetchError(f"{path}: {error}; write it again") from error
            raise WrongFileError(
                f"{path} is not usable as {file.label}: {error}. "
                "Move it away to have it fetched again, or put the right file there."
            ) from error
        by_hand = "put there by hand" if file.path is None else str(path)
        found = digest.pinned(pin.origin if pin and pin.sha256 == digest.sha256 else by_hand, state)
        if keep and (pin is None or replace(pin, time=found.time) != found):
            write_pin(file, home, found)
    return found


def _state(file: RemoteFile, home: DataDirectory) -> os.stat_result | None:
    path = home.path(file)
    try:
        with open_regular(path) as stream:
            return os.fstat(stream.fileno())
    except OSError as error:
        if file.path is not None:
            raise FetchError(
                f"{path}: cannot be read ({error.strerror}); a dataset reads this file where it is: "
                "put it back, or give the new path with mpu-bench data add FILE --name NAME --force"
            ) from None
        if isinstance(error, FileNotFoundError):
            return None
        raise disk_error(error, path) from error


def _is_unchanged(file: RemoteFile, pin: Digest, state: os.stat_result) -> bool:
    """Return whether a file is as it was when it was found right, as far as can be seen without reading it."""
    if file.path is not None:
        return pin.bytes > SMALL_BYTES and pin.identity == identity(state)
    return pin.identity[:2] == identity(state)[:2] and (not file.hashes or is_accepted(file, pin))


def check_unchanged(file: RemoteFile, home: DataDirectory, sha256: str) -> None:
    """Refuse a user file that has changed since it was hashed, by this process or by another one.

    Raises
    ------
    FetchError
        If it is another, or was written to since.
    """
    pin, state = read_pin(file, home), _state(file, home)
    if pin and state and (pin.sha256 != sha256 or identity(state) != pin.identity):
        raise FetchError(f"{file.path}: changed while it was read; run the same command again")
