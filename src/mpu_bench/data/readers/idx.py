"""Reading images and their labels in the idx format of MNIST."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from mpu_bench.data.readers.blocks import BLOCK_BYTES, Chunk, Labels, SourceFile
from mpu_bench.errors import DataError
from mpu_bench.files import read_beginning


def read_idx(
    images: SourceFile, labels: SourceFile, classes: Labels, features: int, chunk_rows: int = 4096
) -> Iterator[Chunk]:
    """Read images and their labels in the idx format of MNIST.

    Parameters
    ----------
    images, labels : SourceFile
        Unsigned bytes with three dimensions (number, height, width) and with one.
    classes : Labels
    features : int
        The number of pixels of an image.
    chunk_rows : int
        How many images to hand out at once, at most.

    Yields
    ------
    Chunk
        Dense, the pixels 0..255 as they are, row by row.

    Raises
    ------
    DataError
        If a header is of another kind or tells other pixels, a file is shorter or longer than its header says, the two
        disagree, or a label has no class.
    """
    with images.open() as pixels, labels.open() as digits:
        count, *shape = _read_header(images, pixels, 3)
        (labelled,) = _read_header(labels, digits, 1)
        if count != labelled:
            raise DataError(f"{labels.path}: holds {labelled} labels for the {count} images of {images.name}")
        width = math.prod(shape)
        if width != features:
            raise DataError(f"{images.path}: has {width:,} pixels instead of {features:,}")
        step = max(1, min(chunk_rows, BLOCK_BYTES // width))
        for first in range(0, count, step):
            m = min(step, count - first)
            values = _read_bytes(images, pixels, m * width).reshape(m, width)
            yield Chunk(_class_indices(labels, _read_bytes(labels, digits, m), classes, first), values)
        for file, stream in ((images, pixels), (labels, digits)):
            if stream.read(1):
                raise DataError(f"{file.path}: is longer than its header says; fetch it again")


def _read_header(file: SourceFile, stream: BinaryIO, dimensions: int) -> tuple[int, ...]:
    head = stream.read(4 + 4 * dimensions)
    if len(head) < 4 + 4 * dimensions or head[:4] != bytes((0, 0, 8, dimensions)):
        raise DataError(f"{file.path}: is not an idx file of unsigned bytes with {dimensions} dimension(s)")
    return struct.unpack(f">{dimensions}I", head[4:])


def _read_bytes(file: SourceFile, stream: BinaryIO, count: int) -> NDArray[np.uint8]:
    content = read_beginning(stream, count)
    file.advance(len(content))
    if len(content) < count:
        raise DataError(f"{file.path}: is shorter than its header says; fetch it again")
    return np.frombuffer(content, np.uint8)


def _class_indices(file: SourceFile, read: NDArray[np.uint8], classes: Labels, first: int) -> NDArray[np.int32]:
    indices = classes.of_numbers(read.astype(float))
    bad = np.flatnonzero(indices < 0)
    if len(bad):
        raise DataError(f"{file.path}: example {first + bad[0] + 1}: {classes.unknown(str(read[bad[0]]))}")
    return indices
