"""Reading raw files in bounded chunks: what a chunk is, how text is cut into blocks, labels, and the idx format."""

from __future__ import annotations

import lzma
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mpu_bench.data.cards.schema import ANY_OTHER
from mpu_bench.data.download.compression import fault_of, open_content
from mpu_bench.errors import DataError

BLOCK_BYTES = 4 << 20
_LONGEST_LINE = 1 << 30


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
        """Keep the rows where ``chosen`` (m,) is true."""
        if self.columns is None or self.lengths is None:
            return Chunk(self.labels[chosen], self.values[chosen])
        pairs = np.repeat(chosen, self.lengths)
        return Chunk(self.labels[chosen], self.values[pairs], self.columns[pairs], self.lengths[chosen])

    def dense(self, features: int) -> Chunk:
        """Write the zeros out: shape (m, features), the values' own type."""
        if self.columns is None or self.lengths is None:
            return self
        values = np.zeros((len(self.labels), features), self.values.dtype)
        values[np.repeat(np.arange(len(self.labels)), self.lengths), self.columns] = self.values
        return Chunk(self.labels, values)

    def sparse(self) -> Chunk:
        """Leave the zeros out."""
        if self.columns is not None:
            return self
        kept = self.values != 0
        return Chunk(self.labels, self.values[kept], np.nonzero(kept)[1], kept.sum(axis=1))


@dataclass(frozen=True)
class RawFile:
    """A raw file that is on disk, and whom to tell how much of its content has been read."""

    name: str
    path: Path
    advance: Callable[[int], None] = lambda _count: None

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """Open the content; damage of a compressed file becomes a `DataError`."""
        try:
            with open_content(self.path) as stream:
                yield stream
        except (EOFError, OSError, ValueError, zlib.error, lzma.LZMAError) as error:
            fault = fault_of(error)
            if fault is None:
                raise
            raise DataError(f"{self.path}: {fault}; delete it and fetch it again") from error

    def blocks(self, size: int | None = None) -> Iterator[tuple[int, bytes]]:
        """Cut the text at line ends into blocks of about ``size`` bytes.

        Yields
        ------
        line : int
            The number of the block's first line, from 1.
        block : bytes
            Whole lines; the last of a file may lack its end.
        """
        size = size or BLOCK_BYTES
        line, rest = 1, b""
        with self.open() as stream:
            while piece := stream.read(size):
                self.advance(len(piece))
                end = piece.rfind(b"\n") + 1
                if not end:
                    rest += piece
                    self._check_line(line, len(rest))
                    continue
                block, rest = rest + piece[:end], piece[end:]
                yield line, block
                line += block.count(b"\n")
        if rest:
            yield line, rest

    def _check_line(self, line: int, length: int) -> None:
        if length > _LONGEST_LINE:
            raise DataError(f"{self.path}:{line}: a line of more than {_LONGEST_LINE:,} bytes; this is not such a text")


class Labels:
    """Turns the labels of a file into class indices.

    Numbers are compared as numbers: ``-1``, ``-1.0`` and ``-1.`` are one label, as are ``1`` and ``+1``.

    Parameters
    ----------
    classes : mapping of str to tuple of str
        The labels of each class, in the order of the indices. ``*`` stands for every other label.
    """

    def __init__(self, classes: Mapping[str, tuple[str, ...]]) -> None:
        self.classes = classes
        self._by_text = {_plain(label): i for i, labels in enumerate(classes.values()) for label in labels}
        self._other = self._by_text.pop(ANY_OTHER, -1)

    def index(self, label: str) -> int:
        """Give the class of one label, or -1 if it has none."""
        return self._by_text.get(_plain(label), self._other)

    def of_texts(self, labels: Any) -> NDArray[np.int32]:
        """Give the classes of many labels written as text, shape (m,); -1 where there is none."""
        import pandas as pd

        codes, distinct = pd.factorize(pd.Index(labels), use_na_sentinel=False)
        indices = np.array([self.index(str(label)) for label in distinct], np.int32)
        return indices[codes]

    def of_numbers(self, labels: NDArray[np.float64]) -> NDArray[np.int32]:
        """Give the classes of many numeric labels, shape (m,); -1 where there is none."""
        numbers, classes = self._by_number
        place = np.minimum(np.searchsorted(numbers, labels), max(len(numbers) - 1, 0))
        known = numbers[place] == labels if len(numbers) else np.zeros(len(labels), bool)
        return np.where(known, classes[place] if len(numbers) else self._other, self._other).astype(np.int32)

    def unknown(self, label: str) -> str:
        """Say that a label belongs to no class."""
        known = ", ".join(sorted(self._by_text)[:30])
        return f"the label '{label}' is none of the card's classes ({known})"

    @cached_property
    def _by_number(self) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        pairs = sorted((float(text), i) for text, i in self._by_text.items() if _is_number(text))
        return np.array([number for number, _ in pairs], float), np.array([i for _, i in pairs], np.int32)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _plain(label: str) -> str:
    """Write a label that is a number in the shortest way."""
    text = label.strip()
    return f"{float(text):.17g}" if _is_number(text) else text


def read_idx(images: RawFile, labels: RawFile, classes: Labels, chunk_rows: int = 4096) -> Iterator[Chunk]:
    """Read images and their labels in the idx format of MNIST.

    Parameters
    ----------
    images, labels : RawFile
        Unsigned bytes with three dimensions (number, height, width) and with one.
    classes : Labels
    chunk_rows : int
        How many images to hand out at once.

    Yields
    ------
    Chunk
        Dense, the pixels 0..255 as they are, row by row.

    Raises
    ------
    DataError
        If a header is of another kind, a file is shorter or longer than its header says, the two disagree, or a
        label has no class.
    """
    with images.open() as pixels, labels.open() as digits:
        count, *shape = _idx_header(images, pixels, 3)
        (labelled,) = _idx_header(labels, digits, 1)
        if count != labelled:
            raise DataError(f"{labels.path}: holds {labelled} labels for the {count} images of {images.name}")
        width = int(np.prod(shape))
        for first in range(0, count, chunk_rows):
            m = min(chunk_rows, count - first)
            values = _idx_bytes(images, pixels, m * width).reshape(m, width)
            yield Chunk(_idx_labels(labels, _idx_bytes(labels, digits, m), classes, first), values)
        for file, stream in ((images, pixels), (labels, digits)):
            if stream.read(1):
                raise DataError(f"{file.path}: is longer than its header says; fetch it again")


def _idx_header(file: RawFile, stream: BinaryIO, dimensions: int) -> tuple[int, ...]:
    head = stream.read(4 + 4 * dimensions)
    if len(head) < 4 + 4 * dimensions or head[:4] != bytes((0, 0, 8, dimensions)):
        raise DataError(f"{file.path}: is not an idx file of unsigned bytes with {dimensions} dimension(s)")
    return struct.unpack(f">{dimensions}I", head[4:])


def _idx_bytes(file: RawFile, stream: BinaryIO, count: int) -> NDArray[np.uint8]:
    read = stream.read(count)
    file.advance(len(read))
    if len(read) < count:
        raise DataError(f"{file.path}: is shorter than its header says; fetch it again")
    return np.frombuffer(read, np.uint8)


def _idx_labels(file: RawFile, read: NDArray[np.uint8], classes: Labels, first: int) -> NDArray[np.int32]:
    indices = classes.of_numbers(read.astype(float))
    bad = np.flatnonzero(indices < 0)
    if len(bad):
        raise DataError(f"{file.path}: example {first + bad[0] + 1}: {classes.unknown(str(read[bad[0]]))}")
    return indices
