"""The content of downloaded files: streams that decompress it, and hashes of it."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import lzma
import math
import re
import subprocess
import zlib
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

from mpu_bench.data.download.errors import SourceError
from mpu_bench.files import open_regular

HEAD_BYTES = 512
CHUNK_BYTES = 1 << 20
_BUFFER_BYTES = 1 << 18
_UNPACK, _AS_CSV = "unpack it", "save it as CSV"
#: how a compressed file begins
_KINDS = {
    "gzip": rb"\x1f\x8b\x08",
    "bzip2": rb"(?s)BZh.(1AY&SY|\x17rE8P\x90)",
    "xz": rb"\xfd7zXZ\x00",
    "compress": rb"\x1f\x9d",
}
_PAGE = rb"(?i)[\xef\xbb\xbf\s]*<(!doctype html|html|head|body|script|title)"
#: how files begin that hold no data which can be read, what they are, and what to do
_OTHERS = (
    (_PAGE, "an HTML page", "a login page of the network, a moved file or an error answers so"),
    (rb"(?s)PK\x03\x04.*(\[Content_Types\]\.xml|_rels/|docProps/|xl/)", "an Excel file", _AS_CSV),
    (rb"PK\x03\x04", "a ZIP archive", _UNPACK),
    (rb"(?s).{257}ustar", "a tar archive", _UNPACK),
    (
        rb"version https://git-lfs.github.com/spec/",
        "a Git LFS pointer",
        "git lfs pull brings the file itself",
    ),
    (rb"\xd0\xcf\x11\xe0", "an Excel file", _AS_CSV),
    (rb"7z\xbc\xaf\x27\x1c", "a 7z archive", _UNPACK),
    (rb"Rar!\x1a\x07", "a RAR archive", _UNPACK),
    (rb"\x28\xb5\x2f\xfd", "compressed by zstd", _UNPACK),
    (rb"\x04\x22\x4d\x18", "compressed by lz4", _UNPACK),
    (rb"\x89HDF\r\n\x1a\n", "an HDF5 file", _AS_CSV),
    (rb"\x93NUMPY", "a file of NumPy", _AS_CSV),
    (rb"SQLite format 3\0", "an SQLite database", _AS_CSV),
    (rb"MATLAB 5.0 MAT-file", "a MATLAB file", _AS_CSV),
    (rb"ARROW1", "an Arrow file", "save it as Parquet"),
    (rb"FEA1", "a Feather file", "save it as Parquet"),
    (rb"\x80[\x02-\x05][\x95}\](\x8cc]", "a pickle", _AS_CSV),
    (rb"ORC[\x00-\x1f]", "an ORC file", "save it as Parquet"),
    (rb"Obj\x01", "an Avro file", "save it as Parquet"),
    (rb"RD[AX][23]\n", "an R data file", _AS_CSV),
    (rb"<stata_dta>", "a Stata file", _AS_CSV),
    (rb"%PDF-", "a PDF", _AS_CSV),
)


class OtherFile(NamedTuple):
    """What a file is that holds no data that can be read, and what to do with it."""

    name: str
    fix: str


def compression(head: bytes) -> str | None:
    """Return the compression of a file by its first ten bytes, or None where it is plain."""
    return next((kind for kind, begin in _KINDS.items() if re.match(begin, head)), None)


@contextmanager
def open_content(path: Path) -> Iterator[BinaryIO]:
    """Open a file for reading its content, decompressed if need be.

    Parameters
    ----------
    path : Path
        A plain file, or one written by gzip, bzip2, xz or compress. The first bytes decide, not the ending of the
        name: mirrors recompress files, and servers decompress them on the way.

    Yields
    ------
    binary file
        Buffered.

    Raises
    ------
    SourceError
        If the compressed data are cut short or damaged.
    """
    opener = _OPENERS[compression(head_of(path))]
    try:
        # gzip, bz2 and lzma read lines slowly; a buffer around them makes a parser twice as fast
        with (
            open_regular(path) as raw,
            io.BufferedReader(cast(io.RawIOBase, opener(raw)), _BUFFER_BYTES) as stream,
        ):
            yield stream
    except EOFError as error:
        raise SourceError("the file is cut short: it ends within its compressed data") from error
    except (zlib.error, lzma.LZMAError, ValueError, OSError) as error:
        if isinstance(error, OSError) and error.errno:  # the disk is to blame
            raise
        raise SourceError(f"the compressed data are damaged ({error})") from error


class _Content(io.RawIOBase):
    """What is yielded piece by piece, as a file."""

    def __init__(self, pieces: Generator[bytes]) -> None:
        self._pieces, self._rest = pieces, b""

    def readable(self) -> bool:
        """Return that it can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read into a buffer; return how many bytes."""
        self._rest = self._rest or next(self._pieces, b"")
        size = min(len(buffer), len(self._rest))
        buffer[:size], self._rest = self._rest[:size], self._rest[size:]
        return size

    def close(self) -> None:
        """End what yields, too."""
        self._pieces.close()
        super().close()


def _streams(raw: BinaryIO, new: Callable[[], bz2.BZ2Decompressor | lzma.LZMADecompressor]) -> Generator[bytes]:
    """Decompress one stream after the other, as bzip2 and xz write them.

    Python's own readers take whatever follows a stream and is none for the end: a damaged stream, and all after it,
    would be missing in silence.
    """
    compressed = raw.read(_BUFFER_BYTES)
    while compressed:
        stream = new()
        while not stream.eof:
            if stream.needs_input and not compressed and not (compressed := raw.read(_BUFFER_BYTES)):
                raise EOFError
            if content := stream.decompress(compressed, _BUFFER_BYTES):
                yield content
            compressed = b""
        compressed = stream.unused_data.lstrip(b"\0")  # zeros may fill up a block
        while not compressed and (more := raw.read(_BUFFER_BYTES)):
            compressed = more.lstrip(b"\0")


def _uncompressed(raw: BinaryIO) -> Generator[bytes]:
    """Decompress a file of Unix ``compress``, by the program gzip."""
    with subprocess.Popen(["gzip", "-dc"], stdin=raw, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as gzip:
        content, words = cast(BinaryIO, gzip.stdout), cast(BinaryIO, gzip.stderr)
        while piece := content.read(_BUFFER_BYTES):
            yield piece
        if gzip.wait():
            raise ValueError(words.read().decode(errors="replace").strip())


_OPENERS: dict[str | None, Callable[[BinaryIO], object]] = {
    None: lambda raw: raw,
    "gzip": gzip.open,
    "bzip2": lambda raw: _Content(_streams(raw, bz2.BZ2Decompressor)),
    "xz": lambda raw: _Content(_streams(raw, lzma.LZMADecompressor)),
    "compress": lambda raw: _Content(_uncompressed(raw)),
}


def head_of(path: Path) -> bytes:
    """Read as much of a file as `compression` and `other_file` need."""
    with open_regular(path) as stream:
        return stream.read(HEAD_BYTES)


def other_file(head: bytes) -> OtherFile | None:
    """Return what a file is by its first bytes if it is none of data; None if it may be."""
    return next((OtherFile(name, fix) for begin, name, fix in _OTHERS if re.match(begin, head)), None)


def digest_stream(stream: BinaryIO, advance: Callable[[int], None], limit: float = math.inf) -> tuple[str, int]:
    """Hash a file or its content to the end.

    Parameters
    ----------
    stream : binary file
    advance : function
        Called with the number of bytes of every piece that was read.
    limit : float
        How many bytes there may be.

    Returns
    -------
    sha256 : str
    size : int

    Raises
    ------
    SourceError
        If there are more bytes than ``limit``.
    """
    digest, size = hashlib.sha256(), 0
    while chunk := stream.read(CHUNK_BYTES):
        digest.update(chunk)
        size += len(chunk)
        advance(len(chunk))
        if size > limit:
            raise SourceError(f"the file expands to more than the limit of {limit:,} bytes")
    return digest.hexdigest(), size
