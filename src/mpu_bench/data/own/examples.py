"""Looking at svmlight text of the user's own: its columns, how they are counted, and its labels."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from mpu_bench.data.own.looking import Counted, check_classes
from mpu_bench.data.own.tables import OwnFile
from mpu_bench.data.readers.blocks import SourceFile
from mpu_bench.errors import DataError
from mpu_bench.preprocessing import plain_number

_COMMENT = re.compile(rb"#[^\n]*")
_INDEX = re.compile(rb"\s\+?(\d+):")


@dataclass(frozen=True)
class LookedExamples:
    """What was seen: how many columns there are, the index of the first one, and the labels."""

    features: int
    first_index: Literal[0, 1]
    counted: Counted


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


def look_at_examples(files: Sequence[OwnFile]) -> LookedExamples:
    """Look at svmlight text, and at the test file if there is one, in one pass.

    Raises
    ------
    DataError
        If the files cannot be read, have no rows or no values, or the labels are none of a classification.
    """
    met: list[int] = []
    parts: list[dict[str, int]] = []
    for own in files:
        counts: dict[str, int] = {}
        file = own.file
        indexed = _Indexed(file.name, file.path, file.advance, file.fix, met)
        for labels, _ in replace(own, file=indexed).vectors(first_index=0):
            found, times = np.unique(labels, return_counts=True)
            for label, count in zip(map(plain_number, found.tolist()), times.tolist(), strict=True):
                counts[label] = counts.get(label, 0) + count
        if not counts:
            raise DataError(f"{own.path}: has no rows")
        parts.append(counts)
    if not met:
        raise DataError(f"{files[0].path}: has no values: every row is a label alone")
    counted = Counted(parts[0], parts[1] if len(parts) > 1 else None)
    check_classes(counted.classes, sum(sum(part.values()) for part in parts), f"{files[0].path}: the labels")
    first: Literal[0, 1] = 0 if met[0] == 0 else 1
    return LookedExamples(met[1] + 1 - first, first, counted)
