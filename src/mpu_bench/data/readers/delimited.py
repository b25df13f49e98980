"""Reading delimited text, with numeric and categorical columns.

Without categorical columns the rows are dense and their numbers are left as they are. With some, each value of a
categorical column gets a column of its own that holds 1 (the card may list the values, else those of the training
part are taken, sorted), numbers are scaled to [0, 1] by the training part if the card asks for it, and the rows are
sparse. The columns stay in the order of the file.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import scipy.sparse
from numpy.typing import NDArray

from mpu_bench.data.cards.parts import MAX_COLUMNS, MAX_FEATURES, DelimitedColumns, is_number
from mpu_bench.data.readers.blocks import Chunk, Labels, SourceFile
from mpu_bench.errors import DataError
from mpu_bench.texts import counted

_TRUTH = re.compile(rb"true|false", re.IGNORECASE)


@dataclass
class ColumnEncoding:
    """How the columns of a file become those of the problem.

    Attributes
    ----------
    layout : DelimitedColumns
        The card's description of the file.
    count : int
        The number of columns in the file.
    scaled : bool
        Whether numbers are scaled to [0, 1].
    max_features : int
        How many columns the problem may have.
    values : dict of int to tuple of str
        The values of each categorical column, by its index.
    low, high : dict of int to float
        The training part's smallest and largest number of each numeric column.
    """

    layout: DelimitedColumns
    count: int
    scaled: bool = False
    max_features: int = MAX_FEATURES
    values: dict[int, tuple[str, ...]] = field(default_factory=dict)
    low: dict[int, float] = field(default_factory=dict)
    high: dict[int, float] = field(default_factory=dict)

    @property
    def used(self) -> list[int]:
        """The indices of the feature columns, counted from 0; those of the card count from 1."""
        skipped = {self.layout.label, *self.layout.skip}
        return [index for index in range(self.count) if index + 1 not in skipped]

    @property
    def categorical(self) -> list[int]:
        """The indices of the categorical columns."""
        return [index for index in self.used if index + 1 in self.layout.categorical]

    @property
    def features(self) -> int:
        """The number of columns of the problem."""
        return sum(len(self.values[index]) if index in self.values else 1 for index in self.used)

    def fit(self, table: pd.DataFrame) -> None:
        """Take further training rows into account."""
        if not len(table):
            return
        for index in self.used:
            if index in self.categorical:
                if index + 1 not in self.layout.categories:
                    self.values[index] = tuple(sorted({*self.values.get(index, ()), *table[index].unique()}))
            elif self.scaled:
                column = table[index]
                self.low[index] = min(float(column.min()), self.low.get(index, math.inf))
                self.high[index] = max(float(column.max()), self.high.get(index, -math.inf))

    def encode(self, table: pd.DataFrame, labels: NDArray[np.int32]) -> Chunk:
        """Turn rows of the file into rows of the problem."""
        if not self.layout.categorical:
            return Chunk(labels, table[self.used].to_numpy(np.float64))
        values = np.ones((len(table), len(self.used)))
        columns = np.empty((len(table), len(self.used)), np.int64)
        first = 0
        for k, index in enumerate(self.used):
            if index in self.values:
                code = pd.Index(self.values[index]).get_indexer(pd.Index(table[index]))
                columns[:, k] = first + code
                values[:, k] = code >= 0
                first += len(self.values[index])
            else:
                columns[:, k] = first
                values[:, k] = self._scale(index, table[index].to_numpy(np.float64))
                first += 1
        nonzero = values != 0
        starts = np.concatenate([[0], np.cumsum(nonzero.sum(axis=1))])
        csr = (values[nonzero], columns[nonzero], starts)
        return Chunk(labels, scipy.sparse.csr_array(csr, (len(table), self.features)))

    def _scale(self, index: int, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        if not self.scaled:
            return numbers
        width = self.high[index] - self.low[index]
        return (numbers - self.low[index]) / width if width > 0 else np.zeros_like(numbers)


def new_encoding(
    file: SourceFile, layout: DelimitedColumns, scaled: bool, max_features: int = MAX_FEATURES
) -> ColumnEncoding:
    """Begin the encoding of files like this one: count its columns, and take the card's lists of values.

    Raises
    ------
    DataError
        If the file is empty or has too many columns, or the card names one that it has not.
    """
    _, block = next(file.blocks(1 << 16), (0, b""))
    first = next((line for line in block.split(b"\n") if line.strip()), None)
    if first is None:
        raise DataError(f"{file.path}: is empty")
    count = len(_cells(first, layout))
    if count > MAX_COLUMNS:
        raise DataError(f"{file.path}: has {count:,} columns, and {MAX_COLUMNS:,} can be read; write it as svmlight")
    named = max(layout.label, *layout.skip, *layout.categorical, 0)
    if named > count:
        raise DataError(f"{file.path}: has {counted(count, 'column')}, but the card names column {named}")
    listed = {column - 1: names for column, names in layout.categories.items()}
    return ColumnEncoding(layout, count, scaled, max_features, listed)


def fit(
    encoding: ColumnEncoding, files: Sequence[SourceFile], in_training: Callable[[int, int], NDArray[np.bool_]]
) -> None:
    """Collect categories and ranges from the training rows, in a pass over the files.

    Parameters
    ----------
    encoding : ColumnEncoding
    files : sequence of SourceFile
    in_training : function
        Called with the number of the first row and the number of rows; returns which are training rows.
    """
    row = 0
    for file in files:
        for line, block in file.blocks():
            table = _table(file, line, block, encoding)
            encoding.fit(table[in_training(row, len(table))])
            if encoding.features > encoding.max_features:
                raise DataError(f"{file.path}: gives more than the expected {encoding.max_features:,} columns")
            row += len(table)


def read_delimited(
    file: SourceFile, encoding: ColumnEncoding, labels: Labels, block_bytes: int | None = None
) -> Iterator[Chunk]:
    """Read a delimited text chunk by chunk.

    Parameters
    ----------
    file : SourceFile
    encoding : ColumnEncoding
        Fitted, if it has categorical columns or scales.
    labels : Labels
    block_bytes : int, optional
        About how much text to parse at once.

    Yields
    ------
    Chunk
        Dense, or sparse if there are categorical columns; values float64.

    Raises
    ------
    DataError
        With file and line: too few or many columns, a number that is none or not finite, a label without a class.
    """
    for line, block in file.blocks(block_bytes):
        table = _table(file, line, block, encoding)
        indices = labels.of_texts(table[encoding.layout.label - 1])
        if len(indices) and indices.min() < 0:
            raise _data_error(file, line, block, encoding, labels)
        if len(table):
            yield encoding.encode(table, indices)


def _table(file: SourceFile, line: int, block: bytes, encoding: ColumnEncoding) -> pd.DataFrame:
    texts = [*encoding.categorical, encoding.layout.label - 1]
    if not block.strip():
        return pd.DataFrame({index: [] for index in range(encoding.count)})
    try:
        table = pd.read_csv(
            io.BytesIO(block),
            header=None,
            names=list(range(encoding.count)),
            index_col=False,
            usecols=sorted([*encoding.used, encoding.layout.label - 1]),
            sep=r"\s+" if encoding.layout.separator == "blank" else encoding.layout.separator,
            skipinitialspace=True,
            dtype={index: "str" if index in texts else "float64" for index in range(encoding.count)},
            na_filter=False,
        )
    except (ValueError, OverflowError) as error:
        raise _data_error(file, line, block, encoding) from error
    numbers = table[[index for index in encoding.used if index not in texts]].to_numpy()
    lines = [line for line in block.split(b"\n") if line.strip()]
    # pandas cuts off the cells that are too many, and fills what lacks
    is_whole = len(lines) == len(table) and {len(_cells(line, encoding.layout)) for line in lines} <= {encoding.count}
    if not np.isfinite(numbers).all() or not is_whole:
        raise _data_error(file, line, block, encoding)
    # and where all numbers of a column are words for true or false, it reads 1 and 0
    if _TRUTH.search(block) and any(_line_error(text, encoding, None) for text in lines):
        raise _data_error(file, line, block, encoding)
    return table


def _cells(line: bytes, layout: DelimitedColumns) -> list[bytes]:
    return line.split() if layout.separator == "blank" else line.split(layout.separator.encode())


def _data_error(
    file: SourceFile, first: int, block: bytes, encoding: ColumnEncoding, labels: Labels | None = None
) -> DataError:
    """Return the error to raise for a block: go through it line by line for what is wrong."""
    for line, text in enumerate(block.split(b"\n"), first):
        if problem := _line_error(text, encoding, labels):
            return DataError(f"{file.path}, line {line}: {problem}")
    return DataError(f"{file.path}, from line {first}: cannot be read as the card says")


def _line_error(line: bytes, encoding: ColumnEncoding, labels: Labels | None) -> str | None:
    if not line.strip():
        return None
    # a cell within quotation marks holds no separator
    fields = [cell.decode("utf-8", "replace").strip().strip('"') for cell in _cells(line, encoding.layout)]
    if len(fields) != encoding.count:
        return f"has {counted(len(fields), 'column')} instead of {encoding.count}"
    for index in encoding.used:
        if index not in encoding.categorical and not is_number(fields[index]):
            return f"column {index + 1}: '{fields[index]}' is not a finite number"
    label = fields[encoding.layout.label - 1]
    if labels is not None and labels.index(label) < 0:
        return f"column {encoding.layout.label}: {labels.unknown(label)}"
    return None
