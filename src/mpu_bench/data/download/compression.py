"""The content of downloaded files: streams that decompress it, and hashes of it."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import lzma
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, cast

from mpu_bench.data.download.errors import SourceError

HEAD_BYTES = 512
_CHUNK_BYTES = 1 << 20
_BUFFER_BYTES = 1 << 18
_COMPRESS_MAGIC = b"\x1f\x9d"
_PAGE_STARTS = (b"<!doctype html", b"<html", b"<head", b"<body", b"<script", b"<title")


def compression(head: bytes) -> str | None:
    """Return the compression of a file by its first ten bytes, or None where it is plain."""
    if head.startswith(b"\x1f\x8b\x08"):
        return "gzip"
    if head[:3] == b"BZh" and head[4:10] in (b"1AY&SY", b"\x17rE8P\x90"):
        return "bzip2"
    if head.startswith(b"\xfd7zXZ\x00"):
        return "xz"
    return "compress" if head.startswith(_COMPRESS_MAGIC) else None


def open_content(path: Path) -> BinaryIO:
    """Open a file for reading its content, decompressed if need be.

    Parameters
    ----------
    path : Path
        A plain file, or one written by gzip, bzip2, xz or compress. The first bytes decide, not the ending of the
        name: mirrors recompress files, and servers decompress them on the way.

    Returns
    -------
    binary file
        Buffered, to be closed by the caller; reading it may raise the errors `fault_of` explains.
    """
    with path.open("rb") as plain:
        kind = compression(plain.read(10))
    if kind is None:
        return path.open("rb", buffering=_BUFFER_BYTES)
    # gzip, bz2 and lzma read lines slowly; a buffer around them makes a parser twice as fast
    return io.BufferedReader(cast(io.RawIOBase, _OPENERS[kind](path)), _BUFFER_BYTES)


def _open_compress(path: Path) -> BinaryIO:
    """Open a ``.Z`` file, whose content is held in memory: only small and old files are packed so."""
    from unlzw3 import unlzw

    return io.BytesIO(unlzw(path.read_bytes()))


_OPENERS: dict[str, Callable[[Path], object]] = {
    "gzip": gzip.open,
    "bzip2": bz2.open,
    "xz": lzma.open,
    "compress": _open_compress,
}


def fault_of(error: Exception) -> str | None:
    """Return what is wrong with a compressed file whose reading raised ``error``; None if the disk is to blame."""
    if isinstance(error, EOFError):
        return "the file is cut short: it ends within its compressed data"
    if isinstance(error, zlib.error | lzma.LZMAError | ValueError) or (isinstance(error, OSError) and not error.errno):
        return f"the compressed data are damaged ({error})"
    return None


def head_of(path: Path) -> bytes:
    """Read as much of a file as `compression` and `looks_like_a_page` need."""
    with path.open("rb") as stream:
        return stream.read(HEAD_BYTES)


def looks_like_a_page(head: bytes) -> bool:
    """Return whether the first bytes are those of an HTML page."""
    return head.lstrip(b"\xef\xbb\xbf \t\r\n").lower().startswith(_PAGE_STARTS)


def file_sha256(path: Path, advance: Callable[[int], None] = lambda _count: None) -> str:
    """Hash a file as it is."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        for chunk in chunks_of(stream):
            digest.update(chunk)
            advance(len(chunk))
    return digest.hexdigest()


def content_digest(path: Path, limit: int, advance: Callable[[int], None]) -> tuple[str, int]:
    """Hash the content of a file.

    Parameters
    ----------
    path : Path
        A file `open_content` can open.
    limit : int
        How many bytes the content may have.
    advance : function
        Called with the number of bytes of every piece of content.

    Returns
    -------
    sha256 : str
    size : int

    Raises
    ------
    SourceError
        If the content is larger than ``limit``, cut short or damaged.
    """
    digest, size = hashlib.sha256(), 0
    try:
        with open_content(path) as stream:
            for chunk in chunks_of(stream):
                digest.update(chunk)
                size += len(chunk)
                advance(len(chunk))
                if size > limit:
                    raise SourceError(f"the file expands beyond {limit:,} bytes, the most its content may have")
    except (EOFError, OSError, zlib.error, lzma.LZMAError, ValueError) as error:
        if (fault := fault_of(error)) is None:
            raise
        raise SourceError(fault) from error
    return digest.hexdigest(), size


def chunks_of(stream: BinaryIO) -> Iterator[bytes]:
    """Read a stream to its end."""
    while chunk := stream.read(_CHUNK_BYTES):
        yield chunk
