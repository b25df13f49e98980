"""Preparing tables: columns are fitted to the training rows, and every row then becomes what they say."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mpu_bench.core.rows import Rows, to_scipy
from mpu_bench.data.cards.schema import TableCard
from mpu_bench.data.prepare.room import check_memory
from mpu_bench.data.prepare.transforms import InTraining, is_constant
from mpu_bench.data.readers.blocks import Chunk, Labels, SourceFile
from mpu_bench.data.user_files.formats import Form
from mpu_bench.data.user_files.looking import check_same_columns, kept_rows
from mpu_bench.data.user_files.tables import UserFile, open_table
from mpu_bench.errors import DataError
from mpu_bench.preprocessing import (
    CategoricalColumn,
    NumberColumn,
    OmittedColumn,
    Table,
    parsed_numbers,
    texts_of,
    words_of,
)
from mpu_bench.texts import one_line

MAX_WORDS = 100_000  #: of a categorical column
_DENSE_FROM = 0.5  #: the share of features that are not zero from which rows are stored dense
_CELLS_AT_ONCE = 1 << 21  # of features
_LEAVE_OUT = "leave the column out of the file, or write 'omitted' beside it in its dataset card"


@dataclass
class Fitted:
    """What is known of the training rows of a column of numbers: how many, their mean, spread and range."""

    name: str
    keeps: bool = False  #: all of them, for their median
    source: Path = Path()  #: the file, for messages
    numbers: int = 0
    missing: int = 0
    zeros: int = 0
    unit: float = 5e-324  #: of mean and squares, a power of 2: the squares of numbers would overflow, or vanish
    mean: float = 0.0
    squares: float = 0.0
    low: float = math.inf
    high: float = -math.inf
    kept: list[NDArray[np.float64]] = field(default_factory=list)

    def fit(self, numbers: NDArray[np.float64]) -> None:
        """Take further rows into account; NaN is a missing one."""
        here = numbers[~np.isnan(numbers)]
        self.missing += len(numbers) - len(here)
        if not len(here):
            return
        if self.keeps:
            self.kept.append(here)
        self.zeros += int((here == 0).sum())
        self.low, self.high = min(self.low, float(here.min())), max(self.high, float(here.max()))
        largest = max(abs(self.low), abs(self.high))
        if largest and (unit := math.ldexp(1.0, math.frexp(largest)[1] - 1)) > self.unit:
            ratio = self.unit / unit
            self.unit, self.mean, self.squares = unit, self.mean * ratio, self.squares * ratio * ratio
        here = here / self.unit
        mean = float(here.mean())
        self._merge(len(here), mean, float(((here - mean) ** 2).sum()))

    def _merge(self, count: int, mean: float, squares: float) -> None:
        """Combine two sets of numbers by their moments (Chan, Golub and LeVeque, 1979)."""
        total, step = self.numbers + count, mean - self.mean
        self.mean += step * count / total
        self.squares += squares + step * step * self.numbers * count / total
        self.numbers = total

    def column(self, scale: str) -> NumberColumn:
        """Return the column, scaled as it is once the missing ones are filled.

        Raises
        ------
        DataError
            If there is no number at all to take the median of, or they are too large.
        """
        fill = None
        if not self.numbers:
            raise DataError(
                f"{self.source}, column '{self.name}': no training row has a number; draw other training rows by "
                f"another seed, or {_LEAVE_OUT}"
            )
        if self.keeps:
            fill = 2 * float(np.median(np.concatenate(self.kept) / 2))  # the sum of two numbers may overflow
            if self.missing:
                self._merge(self.missing, fill / self.unit, 0.0)
        shift, width = 0.0, 1.0
        if scale != "none" and is_constant(self.low, self.high):
            shift = self.low
        elif scale == "standard":
            shift, width = self.mean * self.unit, math.sqrt(self.squares / self.numbers) * self.unit
        elif scale == "unit-interval":
            shift, width = self.low, self.high - self.low
        if not math.isfinite(width):
            raise DataError(
                f"{self.source}, column '{self.name}': its numbers are too large to be scaled; {_LEAVE_OUT}"
            )
        return NumberColumn(name=self.name, fill=fill, shift=shift, width=width)


@dataclass(frozen=True)
class _Source:
    """The files of a card, opened, and which of their rows are left out."""

    card: TableCard
    files: Mapping[str, UserFile]

    @property
    def numbers(self) -> list[str]:
        return [name for name, kind in self.card.columns.items() if kind == "number"]

    def pieces(self, names: Sequence[str]) -> Iterator[tuple[UserFile, pd.DataFrame]]:
        """Yield pieces of files; rows that are dropped are left out."""
        classes = {word for words in self.card.classes.values() for word in words}
        for name in names:
            for piece in self.files[name].pieces():
                drops = self.card.missing == "drop"
                chosen = piece[kept_rows(piece, self.numbers, self.card.label, classes)] if drops else piece
                if len(chosen):
                    yield self.files[name], chosen


def open_source(card: TableCard, files: Mapping[str, SourceFile]) -> _Source:
    """Open the files of a card.

    Raises
    ------
    DataError
        If one is not what the card says, or has other columns.
    """
    form = Form(card.format, card.separator, card.header)
    opened = {name: open_table(file, form=form) for name, file in files.items()}
    for file in opened.values():
        check_same_columns(file, list(card.columns))
    return _Source(card, opened)


def fit(source: _Source, in_training: InTraining) -> Table:
    """Fit the columns to the training rows, in a pass over them; for medians all their numbers are kept meanwhile.

    Parameters
    ----------
    source
        As `open_source` returns it.
    in_training : function
        Called with the number of the first row and the number of rows; returns which are training rows.

    Raises
    ------
    DataError
        With file, row and column.
    """
    card = source.card
    fills = card.missing == "median"
    path = source.files[card.train[0]].path
    numbers = {name: Fitted(name, keeps=fills, source=path) for name in source.numbers}
    if fills:
        check_memory(24 * (card.expected_rows()[0] or 0) * len(numbers), "the medians of its columns", card.origin)
    words: dict[str, set[str]] = {name: set() for name, kind in card.columns.items() if kind == "categorical"}
    seen = 0
    for file, piece in source.pieces(card.train):
        training = piece[in_training(seen, len(piece))]
        seen += len(piece)
        for name, fitted in numbers.items():
            fitted.fit(_numbers(training, name, file, card))
        for name, met in words.items():
            met.update(words_of(training[name]))
            if len(met) > MAX_WORDS:
                words_are = f"has more than {MAX_WORDS:,} different words; write 'omitted' beside it"
                raise DataError(f"{file.path}, column '{name}': {words_are}")
    columns = [
        numbers[name].column(card.scale)
        if name in numbers
        else CategoricalColumn(name=name, categories=tuple(sorted(words[name])))
        if words.get(name)
        else OmittedColumn(name=name)
        for name in card.columns
    ]
    table = Table(columns=tuple(columns), label=card.label, unit_rows=card.unit_rows)
    return table.model_copy(update={"sparse": _is_sparse(table, numbers, card)})


def _numbers(piece: pd.DataFrame, name: str, file: UserFile, card: TableCard) -> NDArray[np.float64]:
    """Return a column's numbers; what is wrong is told with its row."""
    numbers, missing = parsed_numbers(piece[name])
    wrong = np.isnan(numbers) if card.missing != "median" else np.isnan(numbers) & ~missing
    if not wrong.any():
        return numbers
    index = int(np.flatnonzero(wrong)[0])
    where = f"{file.path}, row {piece.index[index]}, column '{name}'"
    if missing[index]:
        raise DataError(f"{where}: no number; write 'missing: median' or 'missing: drop' into {card.origin}")
    value = one_line(str(piece[name].iloc[index]), 100)
    raise DataError(f"{where}: '{value}' is not a finite number; write 'categorical' or 'omitted' beside the column")


def _is_sparse(table: Table, numbers: Mapping[str, Fitted], card: TableCard) -> bool:
    """Decide how the rows are stored where the card leaves it open."""
    if card.storage in ("dense", "sparse"):
        return card.storage == "sparse"
    filled = 0.0
    for column in table.columns:
        if isinstance(column, NumberColumn):
            fitted = numbers[column.name]
            filled += 1.0 if column.shift or not fitted.numbers else 1.0 - fitted.zeros / fitted.numbers
        elif isinstance(column, CategoricalColumn):
            filled += 1.0
    return filled < _DENSE_FROM * table.features


def read(source: _Source, table: Table, names: Sequence[str]) -> Iterator[Chunk]:
    """Yield the rows of files as their columns were fitted.

    Raises
    ------
    DataError
        With file, row and column: what is no number, or a label that the card does not know.
    """
    card, step = source.card, max(1, _CELLS_AT_ONCE // max(1, table.features))
    labels = Labels(card.classes)
    for file, whole in source.pieces(names):
        for first in range(0, len(whole), step):
            piece = whole.iloc[first : first + step]
            indices = labels.of_texts(texts_of(piece[card.label]))
            if indices.min() < 0:
                index = int(np.flatnonzero(indices < 0)[0])
                where = f"{file.path}, row {piece.index[index]}, column '{card.label}'"
                raise DataError(f"{where}: {labels.unknown(one_line(str(piece[card.label].iloc[index]), 100))}")
            yield Chunk(indices, to_scipy(_rows(source, table, file, piece), table.features))


def _rows(source: _Source, table: Table, file: UserFile, piece: pd.DataFrame) -> Rows:
    try:
        return table.rows(piece, int(piece.index[0]))
    except DataError as error:
        for name in source.numbers:
            _numbers(piece, name, file, source.card)
        if len(ends := np.flatnonzero(np.diff(piece.index) > 1) + 1):  # rows are left out before the one it is about
            for run in np.split(np.arange(len(piece)), ends):
                _rows(source, table, file, piece.iloc[run])
        raise DataError(f"{file.path}, {error}") from None
