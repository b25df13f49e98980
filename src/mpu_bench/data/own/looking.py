"""Looking at a file of the user's own: what each column is, which is the label, and how many rows there are.

A column is **numbers** if every value that is not missing is one, however few different ones there are: what are codes
of categories is written ``categorical`` into the card by hand. Otherwise it is **categorical**, unless it has more
than 1,000 different words, or more than 20 and nearly one a row (9 in 10): then it is an identifier, and **omitted**.
So is a column without any value. (Of more than 1,000 columns, words are counted up to fewer: a million in all.)

The **label**, unless it is named, is the column called label, class, target or y, else the last one. Labels that are
numbers are one class if they are equal: 1 and 1.0. Many different numbers are those of a regression, and refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from mpu_bench.data.cards.parts import Kind
from mpu_bench.data.cards.schema import MOST_CLASSES
from mpu_bench.data.own.tables import OwnFile
from mpu_bench.errors import DataError, nearest
from mpu_bench.preprocessing import MISSING, parsed_numbers, plain_number, plain_words, words_of
from mpu_bench.texts import one_line

MOST_WORDS = 1000  #: of a categorical column
LABELS = ("label", "class", "target", "y")  #: names of the column that is taken for the label
Missing = Literal["refuse", "median", "drop"]

_MOST_WORDS_IN_ALL = 1_000_000
_FEW_WORDS = 20
_MOST_NUMBERS_AS_CLASSES = 100
_SHOWN = 60


@dataclass
class Looked:
    """What was seen of a column.

    ``words`` are the different ones, as long as they are few; ``odd`` is the first value that is no number, and
    ``first_missing`` the first row without a value, with its file. ``low`` and ``high`` are those of its numbers.
    """

    name: str
    most: int
    words: set[str] | None = field(default_factory=set)
    values: int = 0
    missing: int = 0
    numbers: int = 0
    odd: str | None = None
    first_missing: str = ""
    low: float = np.inf
    high: float = -np.inf

    @property
    def kind(self) -> Kind:
        """What it is taken for, if it is not the label."""
        if not self.values:
            return "omitted"
        if self.odd is None:
            return "number"
        if self.words is None or (len(self.words) > _FEW_WORDS and 10 * len(self.words) > 9 * self.values):
            return "omitted"
        return "categorical"

    @property
    def different(self) -> str:
        """How many different values there are, in words."""
        return f"{len(self.words):,}" if self.words is not None else f"more than {self.most:,}"

    def see(self, texts: pd.Series[Any], first_row: int, source: Path) -> None:
        """Take further rows of a file into account."""
        numbers, missing = parsed_numbers(texts)
        here = ~np.isnan(numbers)
        count, absent = int(here.sum()), int(missing.sum())
        if absent and not self.missing:
            self.first_missing = f"{source}, row {first_row + int(np.flatnonzero(missing)[0])}"
        if self.odd is None and count + absent < len(texts):
            place = int(np.flatnonzero(~here & ~missing)[0])
            self.odd = f"row {first_row + place:,} holds '{one_line(str(texts.iloc[place]), _SHOWN)}'"
        self.values += len(texts) - absent
        self.missing += absent
        self.numbers += count
        if count:
            self.low, self.high = min(self.low, float(np.nanmin(numbers))), max(self.high, float(np.nanmax(numbers)))
        if self.words is not None:
            self.words |= _different(texts, numbers[here], self.most)
            self.words = self.words if len(self.words) <= self.most else None

    def why(self) -> str:
        """Return what is worth knowing of how it was taken; empty if nothing is."""
        if not self.values:
            return "has no value"
        if self.odd and self.numbers * 2 > self.values:
            return f"mostly numbers, but {self.odd}"
        if self.kind == "omitted":
            return "an identifier: nearly every row has a word of its own" if self.words else "too many different words"
        return "few whole numbers; if they are codes, write categorical into the card" if self._may_be_codes() else ""

    def _may_be_codes(self) -> bool:
        few = self.words is not None and 2 < len(self.words) <= _FEW_WORDS and 10 * len(self.words) <= self.values
        return few and self.odd is None and all(word.lstrip("+-").isdecimal() for word in self.words or ())


def _different(texts: pd.Series[Any], numbers: Any, most: int) -> set[str]:
    """Return the different words of a column, or of a column of numbers a few more than ``most``."""
    if pd.api.types.is_numeric_dtype(texts):
        return set(map(plain_number, np.unique(numbers)[: most + 1].tolist()))
    return set(plain_words(pd.unique(texts).tolist())) - {MISSING}


@dataclass(frozen=True)
class Counted:
    """How many rows there are of each label, by part."""

    train: Mapping[str, int]
    test: Mapping[str, int] | None

    @property
    def classes(self) -> list[str]:
        """The labels, sorted: as numbers if all are."""
        found = {*self.train, *(self.test or ())}
        try:
            return sorted(found, key=float)
        except ValueError:
            return sorted(found)


def look_at_columns(files: Sequence[OwnFile]) -> list[Looked]:
    """Look at every column of a table, and of the test file if it has one, in a pass over both.

    Raises
    ------
    DataError
        If the files cannot be read, have no rows, or have not the same columns.
    """
    names = files[0].columns
    most = min(MOST_WORDS, max(_FEW_WORDS, _MOST_WORDS_IN_ALL // len(names)))
    looked = [Looked(name, most) for name in names]
    for file in files:
        check_same_columns(file, names)
        rows = 0
        for piece in file.pieces():
            for i, column in enumerate(looked):
                column.see(piece.iloc[:, i], rows + 1, file.path)
            rows += len(piece)
        if not rows:
            raise DataError(f"{file.path}: has no rows")
    return looked


def check_same_columns(file: OwnFile, names: Sequence[str]) -> None:
    """Refuse a file that has other columns, or the same in another order."""
    if file.columns == tuple(names):
        return
    if len(file.columns) != len(names):
        raise DataError(f"{file.path}: has {len(file.columns)} columns instead of {len(names)}")
    place = next(i for i, name in enumerate(file.columns) if name != names[i])
    raise DataError(f"{file.path}: column {place + 1} is called '{file.columns[place]}' instead of '{names[place]}'")


def label_among(columns: Sequence[str], named: str | None, source: Path) -> tuple[str, str]:
    """Return the name of the label's column, and why it was taken for that.

    Raises
    ------
    DataError
        If there is none of the name, or number, that is given.
    """
    if named is not None:
        if named in columns:
            return named, "named"
        if named.isdecimal() and 1 <= int(named) <= len(columns):
            return columns[int(named) - 1], "named by its number"
        raise DataError(f"{source}: has no column '{named}'; {nearest(named, columns[:100])}")
    lower = [name.lower() for name in columns]
    for name in LABELS:
        if name in lower:
            return columns[lower.index(name)], "by its name"
    return columns[-1], "the last column"


def kept_rows(piece: pd.DataFrame, numbers: Collection[str], label: str) -> Any:
    """Return which rows of a piece miss neither a number nor the label, shape (n,)."""
    kept = words_of(piece[label]) != MISSING
    for name in numbers:
        kept &= ~parsed_numbers(piece[name])[1]
    return kept


def count_labels(files: Sequence[OwnFile], label: str, numbers: Collection[str], missing: Missing) -> Counted:
    """Count the rows of each label, in a pass over the training file and the test file, if there is one.

    Parameters
    ----------
    files : sequence of OwnFile
    label : str
    numbers : collection of str
        The columns of numbers; if ``missing`` is ``"drop"``, rows that miss one of them do not count.
    missing : str

    Raises
    ------
    DataError
        If a label is missing, there is but one class, or there are as many as of a regression.
    """
    parts: list[dict[str, int]] = []
    for file in files:
        counts: dict[str, int] = {}
        rows = 0
        for piece in file.pieces(only=[*(numbers if missing == "drop" else ()), label]):
            chosen = piece[kept_rows(piece, numbers, label)] if missing == "drop" else piece
            for word, count in labels_in(chosen[label], rows, file.path):
                counts[word] = counts.get(word, 0) + count
            rows += len(piece)
        parts.append(counts)
    counted = Counted(parts[0], parts[1] if len(parts) > 1 else None)
    check_classes(
        counted.classes, sum(map(sum, (part.values() for part in parts))), f"{files[0].path}, column '{label}'"
    )
    return counted


def labels_in(texts: pd.Series[Any], rows: int, source: Path) -> Iterator[tuple[str, int]]:
    """Yield the labels in a piece, whole numbers written so, and how often each stands there."""
    words = words_of(texts)
    if (words == MISSING).any():
        row = rows + 1 + int(np.flatnonzero(words == MISSING)[0])
        raise DataError(
            f"{source}, row {row}, column '{texts.name}': there is no label; name another column by --label, or leave "
            "such rows out by --missing drop"
        )
    for word, count in Counter(words.tolist()).items():
        yield plain_label(word), count


def plain_label(word: str) -> str:
    """Return a label as it is called: a number as short as it can be written."""
    try:
        number = float(word)
    except ValueError:
        return word
    return plain_number(number) if np.isfinite(number) else word


def check_classes(classes: Sequence[str], rows: int, source: str) -> None:
    """Refuse labels that are none of a classification."""
    if len(classes) < 2:
        held = f"all {rows:,} rows are of the class '{classes[0]}'" if classes else "no row is left"
        raise DataError(f"{source}: {held}; two classes are needed: name another label by --label")
    numbers = [plain_label(name) for name in classes if _is_number(name)]
    fractions = any("." in name or "e" in name for name in numbers)
    most = _FEW_WORDS if fractions else _MOST_NUMBERS_AS_CLASSES
    if len(numbers) == len(classes) > most and (fractions or len(classes) * 10 > rows or len(classes) > MOST_CLASSES):
        raise DataError(
            f"{source}: its {len(classes):,} different numbers are those of a regression, and classes are separated "
            "here; name another label by --label, or write classes into the file, such as low and high"
        )
    if len(classes) > MOST_CLASSES:
        raise DataError(
            f"{source}: holds {len(classes):,} different labels, and {MOST_CLASSES:,} classes can be told apart"
        )


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
