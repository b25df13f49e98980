"""Array files that grow chunk by chunk, the parts of a dataset made of them, and their memory-mapped reading."""

from __future__ import annotations

import contextlib
import io
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray

from mpu_bench.data.readers.blocks import Chunk
from mpu_bench.errors import DataError
from mpu_bench.files import open_regular

MAX_PAIRS = 2**32 - 1
PIECE_BYTES = 4 << 20  #: how much of an array is worked on at once
_HEADER_BYTES = 128  #: what numpy writes for any shape up to 10^14 rows: it leaves room to grow
_SAMPLES, _SAMPLE_BYTES = 64, 1 << 16


class ArrayFile:
    """A ``.npy`` file that is appended to; its header is written when it is closed.

    Parameters
    ----------
    path : Path
    dtype : dtype
    width : int or None
        The number of columns, or None for a one-dimensional array.
    """

    def __init__(self, path: Path, dtype: DTypeLike, width: int | None = None) -> None:
        self.path = path
        self.dtype = np.dtype(dtype)
        self.width = width
        self.length = 0
        self._stream = path.open("wb")
        self._stream.write(bytes(_HEADER_BYTES))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.abandon()

    def append(self, array: NDArray[Any]) -> None:
        """Write further entries, or rows."""
        self._stream.write(np.ascontiguousarray(array, self.dtype).data)
        self.length += len(array)

    def close(self) -> None:
        """Complete the file and bring it to the disk."""
        shape = (self.length,) if self.width is None else (self.length, self.width)
        described = {"descr": np.lib.format.dtype_to_descr(self.dtype), "fortran_order": False, "shape": shape}
        self._stream.seek(0)
        np.lib.format.write_array_header_1_0(self._stream, described)
        self._stream.flush()
        os.fsync(self._stream.fileno())
        self._stream.close()

    def abandon(self) -> None:
        """Close the file as it is, whatever that leaves; nothing if it is closed."""
        with contextlib.suppress(OSError):  # a full disk is complained of elsewhere
            self._stream.close()

    def discard(self) -> None:
        """Close and remove the file."""
        self.abandon()
        self.path.unlink(missing_ok=True)


class PartWriter:
    """Writes the rows and labels of one part, ``train`` or ``test``, into a folder.

    Parameters
    ----------
    folder : Path
    part : str
    classes : int
        The number of classes.
    dense : int or None
        The number of columns if the rows are stored dense.
    """

    def __init__(self, folder: Path, part: str, classes: int, dense: int | None) -> None:
        self.folder, self.part = folder, part
        self.counts = np.zeros(classes, np.int64)
        self.only_ones = True
        self._labels = ArrayFile(folder / f"{part}-labels.npy", np.int32)
        self._values = ArrayFile(folder / f"{part}-values.npy", np.float32, dense)
        self._dense = dense
        self._files = [self._labels, self._values]
        if dense is None:
            self._columns = ArrayFile(folder / f"{part}-indices.npy", np.uint32)
            self._starts = ArrayFile(folder / f"{part}-starts.npy", np.uint32)
            self._files += [self._columns, self._starts]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        for file in self._files:
            file.abandon()

    @property
    def rows(self) -> int:
        """The number of rows so far."""
        return self._labels.length

    @property
    def pairs(self) -> int:
        """The number of stored values so far."""
        return self._values.length * (self._dense or 1)

    def append(self, chunk: Chunk) -> None:
        """Write further rows."""
        with np.errstate(over="ignore"):
            values = chunk.values.astype(np.float32, copy=False)
        if not np.isfinite(values).all():
            bad = int(np.flatnonzero(~np.isfinite(values))[0])
            lengths = np.full(len(chunk.labels), self._dense) if chunk.lengths is None else chunk.lengths
            row = self.rows + int(np.searchsorted(np.cumsum(lengths), bad, "right")) + 1
            raise DataError(
                f"row {row:,} of the {self.part} part holds a value that is no number or too large for float32"
            )
        if self._dense is None:
            self._append_sparse(chunk, values)
        else:
            self._values.append(values)
            self.only_ones = False
        self._labels.append(chunk.labels)
        self.counts += np.bincount(chunk.labels, minlength=len(self.counts))

    def _append_sparse(self, chunk: Chunk, values: NDArray[np.float32]) -> None:
        assert chunk.columns is not None
        assert chunk.lengths is not None
        ends = self._values.length + np.cumsum(chunk.lengths)
        if len(ends) and ends[-1] > MAX_PAIRS:
            raise DataError(f"the rows hold more than {MAX_PAIRS:,} values, the most that can be stored")
        self.only_ones = self.only_ones and bool((values == 1).all())
        self._values.append(values)
        self._columns.append(chunk.columns)
        self._starts.append(ends - chunk.lengths)

    def close(self, keep_values: bool = True) -> None:
        """Complete the files; ``keep_values`` is False for rows whose every value is one."""
        if self._dense is None:
            self._starts.append(np.array([self._values.length]))
        for file in self._files:
            if file is self._values and not keep_values:
                file.discard()
            else:
                file.close()


def make_dense(folder: Path, part: str, features: int) -> None:
    """Rewrite the sparse rows of a part as dense ones."""
    values, columns, starts = (open_array(folder / f"{part}-{name}.npy") for name in ("values", "indices", "starts"))
    with ArrayFile(folder / "dense.npy", np.float32, features) as written:
        for first, last in pieces(len(starts) - 1, 4 * features):
            bounds = starts[first : last + 1].astype(np.int64)
            pairs = slice(bounds[0], bounds[-1])
            labels = np.zeros(last - first, np.int32)
            chunk = Chunk(labels, values[pairs], columns[pairs].astype(np.int64), bounds[1:] - bounds[:-1])
            written.append(chunk.dense(features).values)
        written.close()
    del values, columns, starts
    for name in ("indices", "starts"):
        (folder / f"{part}-{name}.npy").unlink()
    written.path.replace(folder / f"{part}-values.npy")


def pieces(rows: int, row_bytes: int) -> Iterator[tuple[int, int]]:
    """Cut ``rows`` into ranges of at most `PIECE_BYTES`, but one row at least."""
    step = max(1, PIECE_BYTES // max(row_bytes, 1))
    for first in range(0, rows, step):
        yield first, min(first + step, rows)


def open_array(path: Path, mode: Literal["c", "r+"] = "c") -> NDArray[Any]:
    """Map an array into memory as a plain, writable array; ``"c"`` never changes the file, ``"r+"`` does."""
    with open_regular(path) as stream:
        if stream.seek(0, io.SEEK_END) <= _HEADER_BYTES:  # nothing to map
            return np.asarray(np.load(path))
    return np.asarray(np.load(path, mmap_mode=mode))


def checksum(path: Path) -> int:
    """Return a CRC of a file: of all of it up to 4 MiB, of a larger one as much, in 64 samples spread evenly."""
    size = path.stat().st_size
    with open_regular(path) as stream:
        if size <= _SAMPLES * _SAMPLE_BYTES:
            return zlib.crc32(stream.read())
        total = 0
        for k in range(_SAMPLES):
            stream.seek(k * (size - _SAMPLE_BYTES) // (_SAMPLES - 1))
            total = zlib.crc32(stream.read(_SAMPLE_BYTES), total)
        return total
