"""Looking at a user file: what each column is, which is the label, and how many rows there are.

A column is **numbers** if every value that is not missing is one, however few different ones there are: what are codes
of categories is written ``categorical`` into the card by hand. Otherwise it is **categorical**, unless it has more
than 1,000 different words, or more than 20 and nearly one a row (9 in 10): then it is an identifier, and **omitted**.
So are a column without any value and an index of pandas, which CSV has as a first column that alone has no name.
(Of more than 1,000 columns, words are counted up to fewer: a million in all.)
A column that is numbers in nine of ten cells, as they are read or in another written form (``1,5``, ``12 %``), is
refused with the first cell that is none; so is one that is numbers in the training file alone.

The **label**, unless it is named, is the column called label, class, target or y, else the last one. Where all labels
are numbers, and none is written like a code (``007``), they are one class if they are equal: 1 and 1.0. Many different
numbers are those of a regression, and refused, as are nearly as many classes as rows.

Of svmlight text, its columns are counted, and the index of the first one is found.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mpu_bench.data.cards.parts import MAX_CLASSES, Kind, MissingRule, in_usual_order, is_number
from mpu_bench.data.user_files.formats import LABELS, written
from mpu_bench.data.user_files.tables import UserFile
from mpu_bench.errors import DataError, nearest
from mpu_bench.preprocessing import (
    MISSING,
    MISSING_WORDS,
    label_key,
    parsed_numbers,
    plain_number,
    plain_words,
    texts_of,
)
from mpu_bench.texts import counted, listed, one_line

MAX_WORDS = 1000  #: of a categorical column

_MAX_WORDS_IN_ALL = 1_000_000
_FEW_WORDS = 20
_MAX_NUMBERS_AS_CLASSES = 100
_SHOWN, _MAX_NAMED = 60, 20
_TRUTHS = ("true", "false", "yes", "no")
_CODE = re.compile(r"[+-]?0\d")
_INDEX_OF_PANDAS = re.compile(r"__index_level_\d+__|Unnamed: 0")  # of Parquet, and of CSV written, read and written


@dataclass
class ColumnSummary:
    """What was seen of a column.

    ``words`` are the different ones, as long as they are few; ``odd`` is the first value that is no number, and
    ``first_missing`` the first row without a value, with its file. ``low`` and ``high`` are those of its numbers.
    ``written`` counts numbers in another form, and ``bounds`` such as <1. Once a test file is looked at, ``trained``
    are the words of the training file, and ``shared`` counts those that the test file has, too, once or more.
    """

    name: str
    limit: int
    is_index: bool = False  #: of pandas
    words: set[str] | None = field(default_factory=set)
    values: int = 0
    missing: int = 0
    numbers: int = 0
    written: int = 0
    bounds: int = 0
    odd: str | None = None
    source: str = ""  #: the file of ``odd``
    first_missing: str = ""
    low: float = np.inf
    high: float = -np.inf
    trained: frozenset[str] = frozenset()
    shared: int = 0

    @property
    def kind(self) -> Kind:
        """What it is taken for, if it is not the label."""
        if not self.values or self.is_index:
            return "omitted"
        if self.odd is None:
            return "number"
        if self.words is None or (len(self.words) > _FEW_WORDS and 10 * len(self.words) > 9 * self.values):
            return "omitted"
        return "categorical"

    @property
    def different(self) -> str:
        """How many different values there are, in words."""
        return f"{len(self.words):,}" if self.words is not None else f"more than {self.limit:,}"

    def see(self, texts: pd.Series[Any], source: Path) -> None:
        """Take further rows of a file into account, whose numbers are their index."""
        numbers, missing = parsed_numbers(texts)
        here = ~np.isnan(numbers)
        count, absent = int(here.sum()), int(missing.sum())
        if absent and not self.missing:
            self.first_missing = f"{source}, row {texts.index[missing][0]}"
        if count + absent < len(texts):
            self._see_odd(texts[~here & ~missing], source)
        self.values += len(texts) - absent
        self.missing += absent
        self.numbers += count
        if count:
            self.low, self.high = min(self.low, float(np.nanmin(numbers))), max(self.high, float(np.nanmax(numbers)))
        if self.words is not None:
            met = _different(texts, numbers[here], self.limit)
            if self.trained:
                self.shared += len(self.trained.intersection(map(label_key, met)))
            self.words = met if len(met := met | self.words) <= self.limit else None

    def _see_odd(self, texts: pd.Series[Any], source: Path) -> None:
        """Take into account what is no number."""
        if self.odd is None:
            text = str(texts.iloc[0])
            form, self.source = written(text.strip()), str(source)
            self.odd = f"row {texts.index[0]:,} holds '{one_line(text, _SHOWN)}'" + (f", {form.how}" if form else "")
        for cell, times in texts.value_counts(sort=False).items():
            form = written(str(cell).strip())
            if form is not None and form.is_bound:
                self.bounds += times
            elif form is not None:
                self.written += times

    @property
    def numeric(self) -> int:
        """How many values are numbers, in whatever form; bounds alone may be names of groups."""
        return self.numbers + self.written + (self.bounds if self.numbers else 0)

    def check_numbers(self, training: Path) -> None:
        """Refuse a column of numbers that would be taken for words because of a few cells, or of their form.

        So would one that is numbers in the training file, and not in the test file.

        Raises
        ------
        DataError
            With file, row, column and cell.
        """
        mostly = 2 * self.numeric > self.values and self.kind == "omitted"
        if self.odd and not self.is_index and (10 * self.numeric >= 9 * self.values or mostly):
            fix = (
                "write numbers as 1234.5, in the whole column"
                if self.written
                else "write a number, or leave the cell empty and give --missing median or --missing drop"
            )
            raise DataError(
                f"{self.source}, column '{self.name}': {self.odd}, where {self.numeric:,} of {self.values:,} cells "
                f"are numbers; {fix}"
            )
        if self.odd and not self.is_index and self.numbers and self.source != str(training):
            raise DataError(
                f"{self.source}, column '{self.name}': {self.odd}, where {training} holds numbers alone; write both "
                "files alike, codes of categories as words, such as c1"
            )

    def why(self) -> str:
        """Return what is worth knowing of how it was taken; empty if nothing is."""
        if not self.values:
            return "has no value"
        if self.is_index:
            return "the index of a table of pandas"
        if self.odd and self.numbers * 2 > self.values:
            return f"mostly numbers, but {self.odd}"
        if self.kind == "omitted":
            return "an identifier: nearly every row has a word of its own" if self.words else "too many different words"
        return "few whole numbers; if they are codes, write categorical into the card" if self._may_be_codes() else ""

    def _may_be_codes(self) -> bool:
        few = self.words is not None and 2 < len(self.words) <= _FEW_WORDS and 10 * len(self.words) <= self.values
        return few and self.odd is None and all(word.lstrip("+-").isdecimal() for word in self.words or ())


def _different(texts: pd.Series[Any], numbers: Any, limit: int) -> set[str]:
    """Return the different words of a column, or of a column of numbers a few more than ``limit``."""
    if pd.api.types.is_numeric_dtype(texts):
        return set(map(plain_number, np.unique(numbers)[: limit + 1].tolist()))
    return set(plain_words(pd.unique(texts).tolist())) - {MISSING}


@dataclass(frozen=True)
class Counted:
    """How many rows there are of each label, by part."""

    train: Mapping[str, int]
    test: Mapping[str, int] | None = None

    @property
    def classes(self) -> list[str]:
        """The labels, sorted: as numbers if all are."""
        return in_usual_order({*self.train, *(self.test or ())})


def look_at_columns(files: Sequence[UserFile]) -> list[ColumnSummary]:
    """Look at every column of a table, and of the test file if it has one, in a pass over both.

    Raises
    ------
    DataError
        If the files cannot be read, have no rows, or have not the same columns.
    """
    names = files[0].columns
    limit = min(MAX_WORDS, max(_FEW_WORDS, _MAX_WORDS_IN_ALL // len(names)))
    looked = [ColumnSummary(name, limit, _is_index(name, names)) for name in names]
    for file in files:
        check_same_columns(file, names)
        rows = 0
        for column in looked:
            column.trained = frozenset(map(label_key, column.words or ()))
        for piece in file.pieces():
            for i, column in enumerate(looked):
                column.see(piece.iloc[:, i], file.path)
            rows += len(piece)
        if not rows:
            raise DataError(f"{file.path}: has no rows")
    return looked


def _is_index(name: str, columns: Sequence[str]) -> bool:
    """Return whether a column is an index of pandas, which CSV holds as a first column without name."""
    is_first_without_name = name == columns[0] == "column 1" and columns[1:2] != ("column 2",)
    return is_first_without_name or _INDEX_OF_PANDAS.fullmatch(name) is not None


def check_same_columns(file: UserFile, names: Sequence[str]) -> None:
    """Refuse a file that has other columns, or the same in another order."""
    if file.columns == tuple(names):
        return
    problem = f"has {counted(len(file.columns), 'column')} instead of {len(names)}"
    if len(file.columns) == len(names):
        index = next(i for i, name in enumerate(file.columns) if name != names[i])
        problem = f"column {index + 1} is called '{file.columns[index]}' instead of '{names[index]}'"
    raise DataError(
        f"{file.path}: {problem}; needed are, in this order, {listed(names, _MAX_NAMED)}, and the separator and header "
        "of the training file"
    )


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
        if re.fullmatch("[0-9]{1,9}", named) and 1 <= int(named) <= len(columns):
            return columns[int(named) - 1], "named by its number"
        raise DataError(f"{source}: has no column '{named}'; {nearest(named, columns[:100])}")
    lower = [name.lower() for name in columns]
    for name in LABELS:
        if name in lower:
            return columns[lower.index(name)], "by its name"
    return next((name for name in reversed(columns) if not _is_index(name, columns)), ""), "the last column"


def kept_rows(piece: pd.DataFrame, numbers: Collection[str], label: str, classes: Collection[str] = ()) -> Any:
    """Return which rows of a piece miss neither a number nor the label, shape (n,); a word of ``classes`` is one."""
    complete = ~_lacking(texts_of(piece[label]), classes)
    for name in numbers:
        complete &= ~parsed_numbers(piece[name])[1]
    return complete


def _lacking(words: Any, classes: Collection[str]) -> Any:
    return np.isin(words.astype(str), [word for word in MISSING_WORDS if word not in classes])


def count_labels(
    files: Sequence[UserFile], label: str, numbers: Collection[str], missing: MissingRule, missing_words: bool = True
) -> Counted:
    """Count the rows of each label, in a pass over the training file and the test file, if there is one.

    Parameters
    ----------
    files : sequence of UserFile
    label : str
    numbers : collection of str
        The columns of numbers; if ``missing`` is ``"drop"``, rows that miss one of them do not count.
    missing : str
    missing_words : bool
        Whether words such as NA stand for a label that is missing; otherwise they are classes.

    Raises
    ------
    DataError
        If a label is missing.
    """
    known = () if missing_words else MISSING_WORDS[1:]
    parts: list[Counter[str]] = []
    for file in files:
        counts: Counter[str] = Counter()
        for piece in file.pieces(only=[*(numbers if missing == "drop" else ()), label]):
            chosen = piece[kept_rows(piece, numbers, label, known)] if missing == "drop" else piece
            words = texts_of(chosen[label])
            if (lacks := _lacking(words, known)).any():
                index = int(np.flatnonzero(lacks)[0])
                where = f"{file.path}, row {chosen.index[index]}, column '{label}'"
                raise DataError(f"{where}: {_missing_label(words[index])}")
            counts.update(words.tolist())
        parts.append(counts)
    called = class_names({word for counts in parts for word in counts})
    return Counted(*(Counter(called[word] for word in counts.elements()) for counts in parts))


def _missing_label(word: str) -> str:
    if word == MISSING:
        return "there is no label; name another column by --label, or leave such rows out by --missing drop"
    return (
        f"'{word}' stands for a label that is missing; if it is a class, give --no-missing-words (missing_words: false "
        "in a config), else leave such rows out by --missing drop"
    )


def class_names(words: Collection[str]) -> dict[str, str]:
    """Return what the class of each label is called: as it is written, a number as short as it can be.

    Labels are numbers if all of them are, and none is a code such as 007.
    """
    are_numbers = all(is_number(word) and not _CODE.match(word) for word in words)
    return {word: label_key(word) if are_numbers else word for word in words}


def check_classes(classes: Sequence[str], rows: int, source: str, fix: str) -> None:
    """Refuse labels that are none of a classification; ``fix`` says where others may be."""
    if len(classes) < 2:
        every = "its only row is" if rows == 1 else f"all {rows:,} rows are"
        problem = f"{every} of the class '{classes[0]}'" if classes else "no row is left"
        raise DataError(f"{source}: {problem}; two classes are needed: {fix}")
    truths = [name for name in classes if name.lower() in _TRUTHS]
    if len({name.lower() for name in truths}) < len(truths):
        raise DataError(f"{source}: holds {', '.join(truths)}: {len(truths)} classes as they stand; write them alike")
    numbers = [label_key(name) for name in classes if is_number(name)]
    fractions = any("." in name or "e" in name for name in numbers)
    limit = _FEW_WORDS if fractions else _MAX_NUMBERS_AS_CLASSES
    if len(numbers) == len(classes) > limit and (fractions or len(classes) * 10 > rows or len(classes) > MAX_CLASSES):
        raise DataError(
            f"{source}: its {len(classes):,} different numbers suggest regression, but labels must be classes; "
            f"{fix}, or write classes into the file, such as low and high"
        )
    if (len(classes) > 2 and 10 * len(classes) > 9 * rows) or (len(classes) > _FEW_WORDS and 2 * len(classes) > rows):
        raise DataError(f"{source}: {rows:,} rows have {len(classes):,} different labels, nearly one each; {fix}")
    if len(classes) > MAX_CLASSES:
        raise DataError(
            f"{source}: holds {len(classes):,} different labels, and {MAX_CLASSES:,} classes are the limit; {fix}"
        )


_MAX_MEASURED = 10_000_000  # columns


@dataclass(frozen=True)
class ExamplesSummary:
    """What was seen: how many columns there are, the index of the first one, the labels, and how far scales differ.

    ``spread`` is the largest of the columns' largest absolute values by the smallest, among columns that most rows
    have, and 1 where that is not known; ``filled`` is the share of values that are written.
    """

    features: int
    first_index: Literal[0, 1]
    counted: Counted
    spread: float = 1.0
    filled: float = 0.0


def look_at_examples(files: Sequence[UserFile], first_index: Literal[0, 1] | None = None) -> ExamplesSummary:
    """Look at svmlight text, and at the test file if there is one, in one pass.

    Parameters
    ----------
    files : sequence of UserFile
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
    for file in files:
        met: list[int] = []
        counts: Counter[float] = Counter()
        for labels, rows in file.vectors(first_index=first_index or 0):
            counts.update(labels.tolist())
            if rows.nnz:
                indices = rows.indices + (first_index or 0)
                met = [min([int(indices.min()), *met]), max([int(indices.max()), *met])]
            rows.eliminate_zeros()
            largest, filled = _measured(largest, filled, rows)
        if not counts:
            raise DataError(f"{file.path}: has no rows")
        parts.append({plain_number(label): count for label, count in counts.items()})
        ends.append(met or ends[0] if ends else met)
    if not ends[0]:
        raise DataError(f"{files[0].path}: has no values: every row is a label alone")
    if first_index is None and len(ends) > 1:
        _check_ends(files, ends)
    counted = Counted(*parts)
    rows_in_all = sum(sum(part.values()) for part in parts)
    check_classes(counted.classes, rows_in_all, f"{files[0].path}: the labels", "they are the first word of each line")
    lowest, highest = min(end[0] for end in ends), max(end[1] for end in ends)
    first: Literal[0, 1] = first_index if first_index is not None else 0 if lowest == 0 else 1
    features, used = highest + 1 - first, largest[2 * filled > rows_in_all]
    spread = float(used.max() / used.min()) if len(used) else 1.0
    return ExamplesSummary(features, first, counted, spread, float(filled.sum() / (features * rows_in_all)))


def _measured(
    largest: NDArray[np.float64], filled: NDArray[np.int64], rows: Any
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the largest absolute value of each column and in how many rows it stands, of further rows, too."""
    width = min(int(rows.indices.max(initial=-1)) + 1, _MAX_MEASURED)
    more = max(0, width - len(largest))
    largest, filled = np.append(largest, np.zeros(more)), np.append(filled, np.zeros(more, np.int64))
    near = rows.indices < _MAX_MEASURED
    np.maximum.at(largest, rows.indices[near], np.abs(rows.data[near]))
    filled += np.bincount(rows.indices[near], minlength=len(filled))
    return largest, filled


def _check_ends(files: Sequence[UserFile], ends: Sequence[Sequence[int]]) -> None:
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
