"""Reads ``.Z`` files, as written by Unix ``compress``: adaptive Lempel-Ziv-Welch coding (Welch, Computer 17(6), 1984).

Of the codes, 0..255 are bytes and 256 clears the table in block mode. Codes start 9 bits wide and grow with the
table. They are written in groups of eight; when the width changes, the rest of the group is padding.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

MAGIC = b"\x1f\x9d"
_CLEAR = 256
_FIRST_WIDTH = 9


def decompress(source: BinaryIO, at_least: int = 1 << 16) -> Iterator[bytes]:
    """Decompress a stream in pieces.

    Parameters
    ----------
    source : binary file
        Positioned at its first byte.
    at_least : int
        The size of a piece; the last may be smaller and any may be larger by one table entry.

    Yields
    ------
    bytes
        The content, in order.

    Raises
    ------
    EOFError
        If the stream ends in the middle of a code. The format has no end mark and no checksum, so a cut that
        falls exactly between two codes is found only by comparing the size or the hash of the content.
    ValueError
        If it is not such a stream, or is damaged.
    """
    piece = bytearray()
    for entry in _entries(source):
        piece += entry
        if len(piece) >= at_least:
            yield bytes(piece)
            piece.clear()
    if piece:
        yield bytes(piece)


def _entries(source: BinaryIO) -> Iterator[bytes]:
    """Decode code by code: each adds to the table the entry before it, extended by its own first byte."""
    width_limit, block_mode = _header(source)
    table = _Table(_CLEAR + 1 if block_mode else _CLEAR, 1 << width_limit)
    previous: int | None = None
    first = 0
    for code in (codes := _Codes(source, width_limit)):
        if code == _CLEAR and block_mode:
            table.clear()
            codes.restart()
            previous = None
            continue
        if code > table.size or (code == table.size and previous is None):
            raise ValueError("a code is not in its table")
        if code == table.size and previous is not None:  # the entry that this very code adds
            table.add(previous, first)
            entry = table.entry(code)
        else:
            entry = table.entry(code)
            if previous is not None:
                table.add(previous, entry[0])
        codes.grow(table.size)
        yield entry
        previous, first = code, entry[0]


class _Table:
    """Entries as chains, each a shorter entry and one byte: whole, the entries of a run of zeros would fill 2 GB."""

    def __init__(self, first_free: int, limit: int) -> None:
        self._first_free = first_free
        self._limit = limit
        self.clear()

    def clear(self) -> None:
        """Forget all but the single bytes."""
        self.size = self._first_free
        self._shorter = [0] * self.size
        self._last = list(range(self.size))

    def add(self, shorter: int, last: int) -> None:
        """Add an entry unless the table is full."""
        if self.size < self._limit:
            self._shorter.append(shorter)
            self._last.append(last)
            self.size += 1

    def entry(self, code: int) -> bytes:
        """Write out an entry."""
        backwards = []
        while code >= _CLEAR:
            backwards.append(self._last[code])
            code = self._shorter[code]
        backwards.append(code)
        return bytes(reversed(backwards))


def _header(source: BinaryIO) -> tuple[int, bool]:
    header = source.read(3)
    if len(header) < 3:
        raise EOFError("the header is incomplete")
    width_limit = header[2] & 0x1F
    if header[:2] != MAGIC or not _FIRST_WIDTH <= width_limit <= 16:
        raise ValueError("not a compress (.Z) stream")
    # compress itself widens to ten bits when asked for nine at most
    return max(width_limit, _FIRST_WIDTH + 1), bool(header[2] & 0x80)


class _Codes:
    """The codes of a stream; the width may be changed after any of them."""

    def __init__(self, source: BinaryIO, width_limit: int) -> None:
        self._source = source
        self._width_limit = width_limit
        self._width = _FIRST_WIDTH
        self._padding = False

    def __iter__(self) -> Iterator[int]:
        while group := self._source.read(width := self._width):
            bits, available = int.from_bytes(group, "little"), 8 * len(group)
            self._padding = False
            while available >= width and not self._padding:
                yield bits & ((1 << width) - 1)
                bits >>= width
                available -= width
            # the writer fills up its last byte with zeros, so more than that is the start of a code
            if len(group) < width and (bits or available >= 8) and not self._padding:
                raise EOFError("the stream ends within a code")

    def grow(self, entries: int) -> None:
        """Widen the codes once the table has outgrown them."""
        if entries == 1 << self._width and self._width < self._width_limit:
            self._width += 1
            self._padding = True

    def restart(self) -> None:
        """Return to the first width, because the table was cleared."""
        self._width = _FIRST_WIDTH
        self._padding = True
