"""Array files that grow chunk by chunk, the parts of a dataset made of them, and their memory-mapped reading."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import scipy.sparse
from numpy.typing import DTypeLike, NDArray

from mpu_bench.data.readers.blocks import Chunk
from mpu_bench.errors import DataError
from mpu_bench.files import open_regular

MAX_PAIRS = 2**32 - 1
PIECE_BYTES = 4 << 20  #: how much of an array is worked on at once
_SAMPLES, _SAMPLE_BYTES = 64, 1 << 16


class ArrayFile:
    """A ``.npy`` file that is appended to; its header, in which numpy leaves room for this, is completed at the end.

    It is written, and not mapped: a map of a file on a full disk would end the process instead of raising.

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
        self.length = 0
        self._columns = () if width is None else (width,)
        self._stream = path.open("wb")
        self._write_header()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        with self._stream:
            self._stream.seek(0)
            self._write_header()
            self._stream.flush()
            os.fsync(self._stream.fileno())

    def append(self, array: NDArray[Any]) -> None:
        """Write further entries, or rows."""
        self._stream.write(np.ascontiguousarray(array, self.dtype).data)
        self.length += len(array)

    def _write_header(self) -> None:
        descr, shape = np.lib.format.dtype_to_descr(self.dtype), (self.length, *self._columns)
        header = {"descr": descr, "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(self._stream, header)


class PartWriter(ExitStack):
    """Writes the rows and labels of one part, ``train`` or ``test``, into a folder; complete when it is left.

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
        super().__init__()
        self.part = part
        self.counts = np.zeros(classes, np.int64)
        self.only_ones = True
        self._dense = dense
        self._labels = self.enter_context(ArrayFile(folder / f"{part}-labels.npy", np.int32))
        self._values = self.enter_context(ArrayFile(folder / f"{part}-values.npy", np.float32, dense))
        if dense is None:
            self._columns = self.enter_context(ArrayFile(folder / f"{part}-indices.npy", np.uint32))
            self._starts = self.enter_context(ArrayFile(folder / f"{part}-starts.npy", np.uint32))
            self.callback(lambda: self._starts.append(np.array([self._values.length])))

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
            before = bad // self._dense if self._dense else int(np.searchsorted(chunk.rows.indptr, bad, "right")) - 1
            row = self.rows + before + 1
            raise DataError(
                f"row {row:,} of the {self.part} part holds a value that is not a number, or too large for float32"
            )
        if self._dense is None:
            self._append_sparse(chunk, values)
        else:
            self.only_ones = False
        self._values.append(values)
        self._labels.append(chunk.labels)
        self.counts += np.bincount(chunk.labels, minlength=len(self.counts))

    def _append_sparse(self, chunk: Chunk, values: NDArray[np.float32]) -> None:
        starts = self._values.length + chunk.rows.indptr.astype(np.int64)
        if starts[-1] > MAX_PAIRS:
            raise DataError(f"the rows have more than the limit of {MAX_PAIRS:,} values")
        self.only_ones = self.only_ones and bool((values == 1).all())
        self._columns.append(chunk.rows.indices)
        self._starts.append(starts[:-1])


def make_dense(folder: Path, part: str, features: int) -> None:
    """Rewrite the sparse rows of a part as dense ones."""
    values, columns, starts = (open_array(folder / f"{part}-{name}.npy") for name in ("values", "indices", "starts"))
    with ArrayFile(folder / "dense.npy", np.float32, features) as written:
        for first, last in pieces(len(starts) - 1, 4 * features):
            bounds = starts[first : last + 1].astype(np.int64)
            pairs = slice(bounds[0], bounds[-1])
            csr = (values[pairs], columns[pairs].astype(np.int32), bounds - bounds[0])
            written.append(scipy.sparse.csr_array(csr, (last - first, features)).toarray())
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
