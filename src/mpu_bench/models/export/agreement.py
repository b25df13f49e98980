"""A model as a C file for rows at hand, and whether it answers on them as Python does."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpu_bench.core.models import labels_of
from mpu_bench.core.rows import Dense, with_constant
from mpu_bench.errors import ConfigError
from mpu_bench.models.export import c_fixed, compiler
from mpu_bench.models.export.c_fixed_machines import FixedPoint
from mpu_bench.models.export.c_float import Source, float_source
from mpu_bench.models.export.footprint import raw_rows
from mpu_bench.models.export.portable import Portable, dense_features

MIN_AGREEMENT = 0.99  #: of the labels, below which nothing is written


@dataclass(frozen=True, eq=False)
class RowsAtHand:
    """Rows that a C file is compared on.

    Attributes
    ----------
    numbers : array of float32 or float64, shape (n, columns), or None
        Raw rows as a device gets them; None where only their features are known.
    features : array of float32, shape (n, d)
        What the machines are evaluated on.
    scores : array, shape (n, c)
        What Python answers.
    whole : bool
        Whether there are no more than these.
    """

    numbers: NDArray[np.floating[Any]] | None
    features: NDArray[np.float32]
    scores: NDArray[np.float64]
    whole: bool = True


@dataclass(frozen=True)
class Agreement:
    """How many rows were compared, how many labels differ, and by how much a score at most; None in fixed point."""

    rows: int
    differ: int
    largest_difference: float | None

    @property
    def share(self) -> float:
        """The share of rows with the same label."""
        return 1.0 - self.differ / max(self.rows, 1)


def raw_at_hand(model: Portable, features: NDArray[np.float32]) -> RowsAtHand:
    """Return rows at hand by the features of the data, shape (n, d), without the constant that a model appends.

    Raw rows are made of them: they are those of the data but for rounding.
    """
    rows, saved = Dense(features), model.saved
    if saved.constant is not None:
        rows = with_constant(rows, saved.raw_features, saved.constant)  # type: ignore[assignment]
    whole = dense_features(rows, model.features)
    return RowsAtHand(raw_rows(model, whole), whole, saved.scores_of(rows))


def sourced(model: Portable, name: str, rows: RowsAtHand | None, bits: int | None) -> tuple[Source, FixedPoint | None]:
    """Return a model as C: in single precision, or in integers of so many bits, and then how rows become integers.

    Raises
    ------
    ConfigError
        If there are no rows to know the ranges of the columns by.
    DataError
        If numbers cannot be held.
    """
    if bits is None:
        return float_source(model, name), None
    if rows is None:
        raise ConfigError("--fixed-point needs rows to find the range of each column: name a file with --check DATA")
    how = c_fixed.fixed_point(model, rows.features, bits)
    return c_fixed.fixed_source(model, how, rows.features, name), how


def compared(model: Portable, source: Source, rows: RowsAtHand, how: FixedPoint | None = None) -> Agreement:
    """Compile a C file and compare what it answers with what Python does.

    Parameters
    ----------
    model : Portable
    source : Source
    rows : RowsAtHand
    how : FixedPoint or None
        How rows become integers, if the file is in fixed point.

    Raises
    ------
    DataError
        If there is no compiler, or the file does not compile.
    """
    prepared = rows.numbers is None
    inputs: NDArray[Any] = rows.features if rows.numbers is None else rows.numbers
    if how is not None:
        inputs = how.features(rows.features) if rows.numbers is None else how.rows(rows.numbers)
    with tempfile.TemporaryDirectory() as folder:
        labels, scores = compiler.answers(source, inputs, model.scores, model.machines, Path(folder), prepared)
    differ = int(np.count_nonzero(labels != labels_of(rows.scores)))
    largest = float(np.abs(scores - rows.scores).max(initial=0.0)) if how is None else None
    return Agreement(len(inputs), differ, largest)
