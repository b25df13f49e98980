"""Looking at svmlight text of the user's own: its columns, how they are counted, and its labels."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from mpu_bench.data.readers.blocks import SourceFile
from mpu_bench.data.user_files.looking import Counted, check_classes
from mpu_bench.data.user_files.tables import OwnFile
from mpu_bench.errors import DataError
from mpu_bench.preprocessing import plain_number

_MOST_MEASURED = 10_000_000  # columns
_COMMENT = re.compile(rb"#[^\n]*")
_INDEX = re.compile(rb"\s\+?(\d+):")


@dataclass(frozen=True)
class LookedExamples:
    """What was seen: how many columns there are, the index of the first one, the labels, and how far scales differ.

    ``spread`` is the largest of the columns' largest absolute values by the smallest, among columns that most rows
    have, and 1 where that is not known; ``filled`` is the share of values that are written.
    """

    features: int
    first_index: Literal[0, 1]
    counted: Counted
    spread: float = 1.0
    filled: float = 0.0


@dataclass(frozen=True)
class _Indexed(SourceFile):
    """A file that remembers the smallest and the largest index of the text that is read."""

    met: list[int] = field(default_factory=list)

    def blocks(self, size: int | None = None) -> Iterator[tuple[int, bytes]]:
        """Cut the text as `SourceFile` does."""
        for line, block in super().blocks(size):
            yield line, block
            found = [int(index) for index in _INDEX.findall(_COMMENT.sub(b"", block))]
            if found:
                self.met[:] = [min(found + self.met), max(found + self.met)]


def look_at_examples(files: Sequence[OwnFile], first_index: Literal[0, 1] | None = None) -> LookedExamples:
    """Look at svmlight text, and at the test file if there is one, in one pass.

    Parameters
    ----------
    files : sequence of OwnFile
    first_index : int, optional
        The index of the first column, where the user says so.

    Raises
    ------
    DataError
        If the files cannot be read, have no rows or no values, the labels are none of a classification, or one file
        seems to count its columns from 0 and the other from 1.
    """
    ends: list[list[int]] = []
    parts: list[dict[str, int]] = []
    largest, filled = np.zeros(0), np.zeros(0, np.int64)
    for own in files:
        met: list[int] = []
        counts: dict[str, int] = {}
        file = own.file
        indexed = _Indexed(file.name, file.path, file.advance, file.fix, met)
        for labels, rows in replace(own, file=indexed).vectors(first_index=first_index or 0):
            found, times = np.unique(labels, return_counts=True)
            for label, count in zip(map(plain_number, found.tolist()), times.tolist(), strict=True):
                counts[label] = counts.get(label, 0) + count
            largest, filled = _measured(largest, filled, rows)
        if not counts:
            raise DataError(f"{own.path}: has no rows")
        parts.append(counts)
        ends.append(met or ends[0] if ends else met)
    if not ends[0]:
        raise DataError(f"{files[0].path}: has no values: every row is a label alone")
    if first_index is None and len(ends) > 1:
        _check_ends(files, ends)
    counted = Counted(parts[0], parts[1] if len(parts) > 1 else None)
    rows_in_all = sum(sum(part.values()) for part in parts)
    check_classes(counted.classes, rows_in_all, f"{files[0].path}: the labels", "they are the first word of each line")
    lowest, highest = min(end[0] for end in ends), max(end[1] for end in ends)
    first: Literal[0, 1] = first_index if first_index is not None else 0 if lowest == 0 else 1
    features, used = highest + 1 - first, largest[2 * filled > rows_in_all]
    spread = float(used.max() / used.min()) if len(used) else 1.0
    return LookedExamples(features, first, counted, spread, float(filled.sum() / (features * rows_in_all)))


def _measured(
    largest: NDArray[np.float64], filled: NDArray[np.int64], rows: Any
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the largest absolute value of each column and in how many rows it stands, of further rows, too."""
    width = min(int(rows.indices.max(initial=-1)) + 1, _MOST_MEASURED)
    more = max(0, width - len(largest))
    largest, filled = np.append(largest, np.zeros(more)), np.append(filled, np.zeros(more, np.int64))
    near = rows.indices < _MOST_MEASURED
    np.maximum.at(largest, rows.indices[near], np.abs(rows.data[near]))
    filled += np.bincount(rows.indices[near], minlength=len(filled))
    return largest, filled


def _check_ends(files: Sequence[OwnFile], ends: Sequence[Sequence[int]]) -> None:
    """Refuse files of which one seems to count from 0 and the other from 1."""
    (low, high), (other_low, other_high) = ends
    if (low == 0) != (other_low == 0) and (low > 0 or other_high > high):
        paths = " and ".join(
            f"{file.path} has indices {end[0]} to {end[1]}" for file, end in zip(files, ends, strict=True)
        )
        raise DataError(
            f"{paths}: is one counted from 0 and the other from 1? say what the first column of both is by "
            "--first-index 0 or 1, or write both alike"
        )
