"""Reading source files in bounded memory: blocks of text in, chunks of rows out, and the class of each label."""

from __future__ import annotations

import codecs
import io
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from mpu_bench.data.cards.parts import ANY_OTHER
from mpu_bench.data.download.compression import HEAD_BYTES, open_content, other_file
from mpu_bench.data.download.errors import SourceError
from mpu_bench.errors import DataError
from mpu_bench.files import open_regular
from mpu_bench.preprocessing import MISSING_WORDS, label_key

BLOCK_BYTES = 4 << 20
_LONGEST_LINE_BYTES = 1 << 27
FETCH_AGAIN, WRITE_AGAIN = "delete it and fetch it again", "write it again"  #: what mends a file, a user's


class Chunk(NamedTuple):
    """Some consecutive examples: their class indices, (m,) int32, and their rows, (m, d), an array or a CSR array."""

    labels: NDArray[np.int32]
    rows: Any

    @property
    def values(self) -> NDArray[Any]:
        """The values of the rows; of a CSR array those that are stored, (pairs,)."""
        values: NDArray[Any] = self.rows if isinstance(self.rows, np.ndarray) else self.rows.data
        return values

    def with_values(self, values: NDArray[Any]) -> Chunk:
        """Return the rows with other values where they have some."""
        if isinstance(self.rows, np.ndarray):
            return self._replace(rows=values)
        rows = scipy.sparse.csr_array((values, self.rows.indices, self.rows.indptr), self.rows.shape)
        return self._replace(rows=rows)

    def take(self, chosen: Any) -> Chunk:
        """Return the rows where ``chosen`` (m,) is true, or of a slice."""
        return Chunk(self.labels[chosen], self.rows[chosen])

    def dense_pieces(self) -> Iterator[Chunk]:
        """Cut the rows into pieces of about `BLOCK_BYTES`, one row at least, and yield them with their zeros."""
        step = max(1, BLOCK_BYTES // (8 * self.rows.shape[1]))
        for first in range(0, len(self.labels), step):
            piece = self.take(slice(first, first + step))
            yield piece if isinstance(piece.rows, np.ndarray) else piece._replace(rows=piece.rows.toarray())

    def sparse(self) -> Chunk:
        """Return the rows without their zeros."""
        return self._replace(rows=scipy.sparse.csr_array(self.rows))


@dataclass(frozen=True)
class SourceFile:
    """A file of a dataset that is on disk, whom to tell how much of its content has been read, and what mends it."""

    name: str
    path: Path
    advance: Callable[[int], None] = lambda _count: None
    fix: str = FETCH_AGAIN

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
        line = 1
        with self.open() as stream:
            while block := stream.read(size or BLOCK_BYTES) + (rest := stream.readline(_LONGEST_LINE_BYTES + 1)):
                following = line + block.count(b"\n")
                if len(rest) > _LONGEST_LINE_BYTES:
                    words = f"has more than {_LONGEST_LINE_BYTES:,} bytes; this is not a text of examples"
                    raise DataError(f"{self.path}, line {following}: {words}")
                self.advance(len(block))
                yield line, block.removeprefix(codecs.BOM_UTF8) if line == 1 else block
                line = following


class Labels:
    """Turns the labels of a file into class indices.

    Numbers are compared as numbers: ``-1``, ``-1.0`` and ``-1.`` are one label, as are ``1`` and ``+1``. A label that
    is a class to the letter is that class: ``01`` where there are the classes ``01`` and ``1``.

    Parameters
    ----------
    classes : mapping of str to tuple of str
        The labels of each class, in the order of the indices. ``*`` stands for every other label that is not missing.
    """

    def __init__(self, classes: Mapping[str, tuple[str, ...]]) -> None:
        self.classes = classes
        self._exact = {label.strip(): i for i, labels in enumerate(classes.values()) for label in labels}
        self._other = self._exact.pop(ANY_OTHER, -1)
        self._alike: dict[str, set[int]] = {}
        for label, i in self._exact.items():
            self._alike.setdefault(label_key(label), set()).add(i)

    def index(self, label: str) -> int:
        """Return the class of one label, or -1 if it has none."""
        word = label.strip()
        alike = self._alike.get(label_key(word), set())
        other = -1 if word in MISSING_WORDS else self._other
        return self._exact.get(word, min(alike) if len(alike) == 1 else other)

    def of_texts(self, labels: Any) -> NDArray[np.int32]:
        """Return the classes of many labels written as text, shape (m,); -1 where there is none."""
        import pandas as pd

        codes, distinct = pd.factorize(pd.Index(labels), use_na_sentinel=False)
        return self._of_distinct(distinct)[codes]

    def of_numbers(self, labels: NDArray[np.float64]) -> NDArray[np.int32]:
        """Return the classes of many numeric labels, shape (m,); -1 where there is none."""
        distinct, codes = np.unique(labels, return_inverse=True)
        return self._of_distinct(distinct)[codes]

    def _of_distinct(self, labels: Iterable[Any]) -> NDArray[np.int32]:
        return np.array([self.index(str(label)) for label in labels], np.int32)

    def unknown(self, label: str) -> str:
        """Return a message that a label belongs to no class."""
        known = ", ".join([*self._exact][:30])
        return f"the label '{label}' is none of the card's classes ({known})"
