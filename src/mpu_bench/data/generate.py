"""The generated datasets, as streams of any length: checkerboard and waveform.

A stream is made of blocks of 65,536 rows, each from its own generator seeded by (seed, dataset and part, number of
the block). So its content does not depend on how it is cut into chunks, a longer stream begins with the shorter
one, and never more than a chunk is held.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mpu_bench.errors import DataError, nearest

BLOCK_ROWS = 65_536

Block = tuple[NDArray[np.float32], NDArray[np.int32]]


class Generator(NamedTuple):
    """A generated dataset: its columns, its classes, and what makes a block of it."""

    features: int
    classes: int
    block: Callable[[np.random.Generator, int], Block]


def chunks(
    name: str, rows: int, seed: int, chunk_rows: int = BLOCK_ROWS, part: Literal["train", "test"] = "train"
) -> Iterator[Block]:
    """Generate a dataset chunk by chunk.

    Parameters
    ----------
    name : str
        ``"checkerboard"`` or ``"waveform"``.
    rows : int
        The length of the whole stream.
    seed : int
        Not negative; different seeds give independent streams.
    chunk_rows : int
        How many rows to hand out at once.
    part : str
        ``"train"`` and ``"test"`` are independent streams.

    Yields
    ------
    values : array of float32, shape (m, d)
    labels : array of int32, shape (m,)

    Raises
    ------
    DataError
        If there is no such generator.
    """
    if name not in GENERATORS:
        raise DataError(f"nothing generates '{name}'; {nearest(name, GENERATORS)}")
    held: list[Block] = []
    waiting = 0
    for block in _blocks(name, rows, seed, part):
        held.append(block)
        waiting += len(block[1])
        while waiting >= chunk_rows:
            chunk, held = _cut(held, chunk_rows)
            waiting -= chunk_rows
            yield chunk
    if waiting:
        yield _joined(held)


def _blocks(name: str, rows: int, seed: int, part: str) -> Iterator[Block]:
    for number, first in enumerate(range(0, rows, BLOCK_ROWS)):
        entropy = [seed, *f"{name} {part}".encode(), number]
        random = np.random.Generator(np.random.PCG64(np.random.SeedSequence(entropy)))
        values, labels = GENERATORS[name].block(random, BLOCK_ROWS)
        kept = min(BLOCK_ROWS, rows - first)
        yield values[:kept], labels[:kept]


def _joined(held: list[Block]) -> Block:
    if len(held) == 1:
        return held[0]
    return np.concatenate([values for values, _ in held]), np.concatenate([labels for _, labels in held])


def _cut(held: list[Block], count: int) -> tuple[Block, list[Block]]:
    values, labels = _joined(held)
    rest = [(values[count:], labels[count:])] if len(labels) > count else []
    return (values[:count], labels[:count]), rest


def _checkerboard(random: np.random.Generator, rows: int) -> Block:
    """Draw points uniform on the unit square, cut into 4 x 4 squares whose colours alternate."""
    values = random.random((rows, 2), dtype=np.float32)
    squares = (4 * values).astype(np.int32)
    return values, (squares.sum(axis=1) & 1).astype(np.int32)


def _waveform(random: np.random.Generator, rows: int) -> Block:
    """Mix two of three triangles (Breiman et al. 1984, p. 49) at random and add N(0, 1) to each of the 21 inputs."""
    labels = random.integers(0, 3, rows, dtype=np.int32)
    share = random.random((rows, 1), dtype=np.float32)
    values = random.standard_normal((rows, 21), dtype=np.float32)
    values += share * _FIRST[labels] + (1 - share) * _SECOND[labels]
    return values, labels


_TRIANGLES = np.maximum(6 - np.abs(np.arange(1, 22) - np.array([[11], [15], [7]])), 0).astype(np.float32)
_FIRST: NDArray[Any] = _TRIANGLES[[0, 0, 1]]  #: of each class
_SECOND: NDArray[Any] = _TRIANGLES[[1, 2, 2]]

GENERATORS = {"checkerboard": Generator(2, 2, _checkerboard), "waveform": Generator(21, 3, _waveform)}
