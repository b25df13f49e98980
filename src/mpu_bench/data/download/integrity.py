"""What a file holds, and whether it is the file it should be."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from mpu_bench.data.download.address import shown
from mpu_bench.data.download.compression import (
    compression,
    digest_stream,
    head_of,
    open_content,
    other_file,
)
from mpu_bench.data.download.disk import on_disk
from mpu_bench.data.download.errors import SourceError, UnpinnedError
from mpu_bench.data.download.pins import PinnedHash
from mpu_bench.data.download.progress import Progress
from mpu_bench.data.download.remote_file import RemoteFile
from mpu_bench.files import open_regular
from mpu_bench.texts import one_line

LARGEST_EXPANSION = 200
"""A file whose content has neither a stated size nor a known hash may expand by this factor (KDD99 needs 41) ..."""
SMALL_CONTENT_BYTES = 64 * 1024**2
"""... and up to this many bytes in any case."""

_COMPRESSIONS = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".Z": "compress"}


@dataclass(frozen=True)
class Digest:
    """What a file holds.

    Attributes
    ----------
    sha256, content_sha256 : str
        Of the file as it is, and of its decompressed content; equal where it is not compressed.
    bytes, content_bytes : int
        The sizes of both.
    compression : str or None
        By its first bytes.
    """

    sha256: str
    content_sha256: str
    bytes: int
    content_bytes: int
    compression: str | None

    def pinned(self, origin: str, state: os.stat_result) -> PinnedHash:
        """Return what to remember of the file, which came from ``origin`` and is in this ``state``."""
        hashes, sizes = (self.sha256, self.content_sha256), (self.bytes, self.content_bytes)
        now = datetime.now(UTC).isoformat(timespec="seconds")
        return PinnedHash(*hashes, *sizes, origin, now, state.st_mtime_ns, state.st_ctime_ns, state.st_ino)


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
    FetchError
        If the disk cannot be read.
    FileNotFoundError
        If there is no such file.
    """
    with on_disk(path, may_miss=True):
        head, size = head_of(path), path.stat().st_size
        if file.path is None and (other := other_file(head)):
            raise SourceError(f"this is {other.name} instead of data; {other.fix}")
        with progress.transfer(f"check {file.name}", size) as advance, open_regular(path) as stream:
            sha256, size = digest_stream(stream, advance)
        kind = compression(head)
        if kind is None:
            return Digest(sha256, sha256, size, size, None)
        label = f"check the content of {file.name}"
        with progress.transfer(label, file.content_bytes) as advance, open_content(path) as content:
            content_sha256, content_size = digest_stream(content, advance, _limit(file, size, sha256))
    return Digest(sha256, content_sha256, size, content_size, kind)


def _limit(file: RemoteFile, size: int, sha256: str) -> float:
    if file.content_bytes is not None:
        return file.content_bytes
    is_known = file.path is not None or sha256 in file.sha256
    return math.inf if is_known else max(LARGEST_EXPANSION * size, SMALL_CONTENT_BYTES)


def verify_digest(file: RemoteFile, digest: Digest, pin: PinnedHash | None) -> None:
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
    if expected := file.hashes:
        content = f" (of its content {digest.content_sha256})" if digest.compression else ""
        wanted = " or ".join(sorted(expected))
        raise SourceError(f"wrong hash: sha256 {digest.sha256}{content} where {wanted} is expected")
    if pin and {pin.sha256, pin.content_sha256}.isdisjoint({digest.sha256, digest.content_sha256}):
        raise UnpinnedError(
            f"wrong hash: sha256 {digest.sha256} where {pin.sha256} was pinned "
            f"at first use ({one_line(pin.time, 100)}, from {shown(pin.origin)})"
        )
    if pin is None:
        _verify_form(file, digest)


def is_accepted(file: RemoteFile, digest: Digest | PinnedHash) -> bool:
    """Return whether the card knows the hash of a file, or of its content."""
    return not file.hashes.isdisjoint({digest.sha256, digest.content_sha256})


def _verify_form(file: RemoteFile, digest: Digest) -> None:
    promised = _COMPRESSIONS.get(Path(file.name).suffix)
    if digest.bytes == 0:
        raise SourceError("the file is empty")
    if promised and digest.compression is None:
        raise SourceError(f"the file does not begin like one that {promised} wrote; it is damaged, or not the file")
    if file.content_bytes not in (None, digest.content_bytes):
        raise SourceError(f"the content has {digest.content_bytes:,} bytes where {file.content_bytes:,} are expected")
