"""Whether a C file answers as Python does, on rows at hand."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpu_bench.core.models import labels_of
from mpu_bench.models.export import compiler
from mpu_bench.models.export.c_fixed_machines import FixedPoint
from mpu_bench.models.export.c_float import Source
from mpu_bench.models.export.portable import Portable


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
    given: NDArray[Any] = rows.features if rows.numbers is None else rows.numbers
    if how is not None:
        given = how.features(rows.features) if rows.numbers is None else how.rows(rows.numbers)
    with tempfile.TemporaryDirectory() as folder:
        labels, scores = compiler.answers(source, given, model.scores, model.machines, Path(folder), prepared)
    differ = int(np.count_nonzero(labels != labels_of(rows.scores)))
    largest = float(np.abs(scores - rows.scores).max(initial=0.0)) if how is None else None
    return Agreement(len(given), differ, largest)
