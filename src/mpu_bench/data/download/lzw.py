"""Reads files of Unix ``compress`` (``.Z``) piece by piece: one of 100 kB may hold gigabytes.

Only the table of words is in memory: 2 GB where a file was made to make it large, else a few megabytes. Codes are
packed from the lowest bit on, in groups of eight. With each bit that they grow by, and after the code that clears the
table, the rest of a group is empty.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any, BinaryIO, cast

MAGIC = b"\x1f\x9d"
_MOST_BITS, _CLEARS, _UNKNOWN = 0x1F, 0x80, 0x60  # of the third byte
_FEWEST_BITS = 9
_CLEAR = 256


class LzwFile(io.RawIOBase):
    """The content of a file of Unix ``compress``.

    Parameters
    ----------
    raw : binary file
        The packed file, at its begin; closed with this.

    Raises
    ------
    ValueError
        While reading, if the file is damaged.
    EOFError
        While reading, if it is cut short.
    """

    def __init__(self, raw: BinaryIO) -> None:
        self._packed = io.BufferedReader(cast(io.RawIOBase, raw))
        self._pieces = _pieces(self._packed)
        self._left = memoryview(b"")

    def readable(self) -> bool:
        """Return that it can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read into a buffer; return how many bytes."""
        while not self._left:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._left = memoryview(piece)
        size = min(len(buffer), len(self._left))
        buffer[:size] = self._left[:size]
        self._left = self._left[size:]
        return size

    def close(self) -> None:
        """Close the packed file, too."""
        self._packed.close()
        super().close()


def _pieces(raw: BinaryIO) -> Iterator[bytes]:
    """Unpack, a group of codes at a time."""
    flags = raw.read(3)
    if len(flags) < 3 or not flags.startswith(MAGIC) or flags[2] & _UNKNOWN:
        raise ValueError("Invalid header")
    most_bits, clears = flags[2] & _MOST_BITS, bool(flags[2] & _CLEARS)
    if not _FEWEST_BITS <= most_bits <= 16:
        raise ValueError("Invalid header: codes of 9 to 16 bits are possible")
    most_bits = max(most_bits, 10)  # compress never meant 9
    words, bits, last = _first_words(clears), _FEWEST_BITS, b""
    while group := raw.read(bits):
        packed, count = int.from_bytes(group, "little"), len(group) * 8 // bits
        if len(group) * 8 - count * bits >= 8:
            raise EOFError("it ends within a code")
        piece = []
        for _ in range(count):
            code, packed = packed & ((1 << bits) - 1), packed >> bits
            if clears and code == _CLEAR:
                words, bits, last = _first_words(clears), _FEWEST_BITS, b""
                break
            if code < len(words):
                word = words[code]
            elif code == len(words) and last:  # the word that is about to be added
                word = last + last[:1]
            else:
                raise ValueError("Invalid code")
            if not word:
                raise ValueError("Invalid code")
            piece.append(word)
            if last and len(words) < 1 << most_bits:
                words.append(last + word[:1])
            last = word
            if len(words) >= 1 << bits and bits < most_bits:
                bits += 1
                break
        yield b"".join(piece)


def _first_words(clears: bool) -> list[bytes]:
    """Return the words of one letter, and the place of the code that clears, which stands for none."""
    return [bytes([letter]) for letter in range(256)] + ([b""] if clears else [])
