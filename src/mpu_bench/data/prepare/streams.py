"""Generated datasets whose training part is never stored: every block is made again whenever it is presented.

What is made is bit for bit what would be stored without ``stream``. Scaling needs statistics of the whole part; they
are taken when the dataset is prepared, by going through the stream piece by piece, and kept in ``meta.json``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mpu_bench.core.problem import Problem, StreamedProblem
from mpu_bench.core.rows import Dense, Rows, with_constant
from mpu_bench.data.cards.schema import GeneratedCard
from mpu_bench.data.prepare import generators, transforms
from mpu_bench.data.prepare.npy import PIECE_BYTES
from mpu_bench.data.readers.blocks import Chunk


@dataclass(frozen=True)
class Streamed:
    """The training part of a card with ``stream``, before ``positive`` and ``augment``.

    Attributes
    ----------
    card : GeneratedCard
    scaling : Scaling or None
        What is still to be done with the rows, if anything.
    """

    card: GeneratedCard
    scaling: transforms.Scaling | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """The rows and columns."""
        return self.card.rows, self.card.features

    @property
    def block_rows(self) -> int:
        """The rows of a block."""
        return generators.GENERATORS[self.card.content].block_rows

    def block(self, number: int) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
        """Make a block's rows and labels."""
        card = self.card
        drawn, labels = generators.block(card.content, "train", number, self.shape[0], dict(card))
        values = transforms.transform_chunk(Chunk(labels, drawn), card).values.astype(np.float32, copy=False)
        return values if self.scaling is None else self.scaling(values), labels

    def counts(self) -> list[int]:
        """Count the examples of every class."""
        blocks = range(-(-self.shape[0] // self.block_rows))
        counts = [np.bincount(self.block(number)[1], minlength=len(self.card.classes)) for number in blocks]
        return [int(count) for count in np.sum(counts, axis=0)]

    def pieces(self) -> Iterator[NDArray[np.float32]]:
        """Hand out all rows, cut like those of a stored part: sums are then equal to the last bit."""
        (n, d), buffer = self.shape, np.empty((0, self.shape[1]), np.float32)
        size = max(1, PIECE_BYTES // (8 * d))
        for number in range(-(-n // self.block_rows)):
            buffer = np.concatenate([buffer, self.block(number)[0]])
            while len(buffer) >= size:
                yield buffer[:size]
                buffer = buffer[size:]
        if len(buffer):
            yield buffer


def measure(card: GeneratedCard) -> dict[str, list[float]]:
    """Go through the stream for what `problem` must know of the whole.

    Returns
    -------
    dict
        ``shift`` and ``width``, which scale columns, and ``deviation``, those of the scaled columns; (d,) each.
    """
    streamed = Streamed(card)
    shift, deviation = transforms.moments(streamed.pieces, streamed.shape)
    width = np.where(deviation > 0, deviation, 1.0)
    if card.scale == "none":
        shift, width = np.zeros(card.features), np.ones(card.features)
    elif card.scale != "standard":
        shift, width = transforms.scaling(streamed.pieces, streamed.shape, card.scale)
    return {"shift": shift.tolist(), "width": width.tolist(), "deviation": (deviation / width).tolist()}


def scaling(card: GeneratedCard, measured: Mapping[str, list[float]]) -> transforms.Scaling | None:
    """Make the scaling of what was measured."""
    if card.scale == "none":
        return None
    return transforms.Scaling(np.array(measured["shift"]), np.array(measured["width"]))


def problem(
    whole: Problem,
    card: GeneratedCard,
    measured: Mapping[str, list[float]],
    counts: list[int],
) -> StreamedProblem:
    """Make a stream of a problem that has everything but training rows.

    Parameters
    ----------
    whole : Problem
        As the stream is to be, but for ``train`` and ``labels``.
    card : GeneratedCard
    measured : mapping
        What `measure` returned.
    counts : list of int
        The examples of every class of the card.
    """
    streamed, classes = Streamed(card, scaling(card, measured)), np.array(card.merged, np.int32)

    def make(number: int) -> tuple[Rows, NDArray[np.int32]]:
        values, labels = streamed.block(number)
        rows = Dense(values)
        return rows if card.augment is None else with_constant(rows, card.features, card.augment), classes[labels]

    train, labels = make(0)
    return StreamedProblem(
        **(vars(whole) | {"train": train, "labels": labels}),
        length=streamed.shape[0],
        block_rows=streamed.block_rows,
        make=make,
        counts=tuple(int(count) for count in np.bincount(classes, counts, len(whole.classes))),
        mean_squared_distance=2 * float(np.sum(np.square(measured["deviation"]))),
    )
