"""Reading source files in bounded memory: the chunks of rows that come out, and the blocks of text that go in."""

from __future__ import annotations

import codecs
import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from mpu_bench.data.download.compression import HEAD_BYTES, open_content, other_file
from mpu_bench.data.download.errors import SourceError
from mpu_bench.errors import DataError
from mpu_bench.files import open_regular

BLOCK_BYTES = 4 << 20
_LONGEST_LINE_BYTES = 1 << 27


class Chunk(NamedTuple):
    """Some consecutive examples.

    ``values`` (m, d) with ``columns`` and ``lengths`` None, or ``values`` (pairs,), ``columns`` (pairs,) rising within
    a row, and ``lengths`` (m,) the pairs of each row. ``labels`` (m,) int32 are class indices.
    """

    labels: NDArray[np.int32]
    values: NDArray[Any]
    columns: NDArray[np.int64] | None = None
    lengths: NDArray[np.int64] | None = None

    def take(self, chosen: NDArray[np.bool_]) -> Chunk:
        """Return the rows where ``chosen`` (m,) is true."""
        if self.columns is None or self.lengths is None:
            return Chunk(self.labels[chosen], self.values[chosen])
        pairs = np.repeat(chosen, self.lengths)
        return Chunk(self.labels[chosen], self.values[pairs], self.columns[pairs], self.lengths[chosen])

    def dense(self, features: int) -> Chunk:
        """Return the rows with their zeros: shape (m, features), the values' own type."""
        if self.columns is None or self.lengths is None:
            return self
        values = np.zeros((len(self.labels), features), self.values.dtype)
        values[np.repeat(np.arange(len(self.labels)), self.lengths), self.columns] = self.values
        return Chunk(self.labels, values)

    def dense_pieces(self, features: int) -> Iterator[Chunk]:
        """Cut the rows into pieces of about `BLOCK_BYTES`, one row at least, and yield them with their zeros."""
        if self.columns is None or self.lengths is None:
            yield self
            return
        step = max(1, BLOCK_BYTES // (8 * features))
        starts = np.concatenate([[0], np.cumsum(self.lengths)])
        for first in range(0, len(self.labels), step):
            rows = slice(first, first + step)
            pairs = slice(starts[first], starts[min(first + step, len(self.labels))])
            yield Chunk(self.labels[rows], self.values[pairs], self.columns[pairs], self.lengths[rows]).dense(features)

    def sparse(self) -> Chunk:
        """Return the rows without their zeros."""
        if self.columns is not None:
            return self
        kept = self.values != 0
        return Chunk(self.labels, self.values[kept], np.nonzero(kept)[1], kept.sum(axis=1))


@dataclass(frozen=True)
class SourceFile:
    """A file of a dataset that is on disk, whom to tell how much of its content has been read, and what mends it."""

    name: str
    path: Path
    advance: Callable[[int], None] = lambda _count: None
    fix: str = "delete it and fetch it again"

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """Open the content; damage of a compressed file, and what holds no data, becomes a `DataError`."""
        try:
            open_regular(self.path).close()
        except OSError as error:
            raise DataError(f"{self.path}: cannot be read: {error.strerror}") from None
        try:
            with open_content(self.path) as stream:
                if other := other_file(cast(io.BufferedReader, stream).peek(HEAD_BYTES)[:HEAD_BYTES]):
                    raise DataError(f"{self.path}: is {other.name}; {other.fix}")
                yield stream
        except SourceError as error:
            raise DataError(f"{self.path}: {error}; {self.fix}") from error

    def blocks(self, size: int | None = None) -> Iterator[tuple[int, bytes]]:
        """Cut the text at line ends into blocks of about ``size`` bytes, without a byte order mark at its beginning.

        Yields
        ------
        line : int
            The number of the block's first line, from 1.
        block : bytes
            Whole lines; the last of a file may lack its end.
        """
        size = size or BLOCK_BYTES
        line, rest, held = 1, [b""], 0  # the beginning of a line, in pieces
        with self.open() as stream:
            begin = stream.read(len(codecs.BOM_UTF8))
            self.advance(len(begin))
            begin = begin.removeprefix(codecs.BOM_UTF8)
            while piece := begin + stream.read(size):
                self.advance(len(piece) - len(begin))
                begin = b""
                end = piece.rfind(b"\n") + 1
                if not end:
                    rest.append(piece)
                    held += len(piece)
                    if held > _LONGEST_LINE_BYTES:
                        raise DataError(
                            f"{self.path}, line {line}: has more than {_LONGEST_LINE_BYTES:,} bytes; "
                            "this is not a text of examples"
                        )
                    continue
                block = b"".join([*rest, piece[:end]])
                rest, held = [piece[end:]], len(piece) - end
                yield line, block
                line += block.count(b"\n")
        if held:
            yield line, b"".join(rest)
