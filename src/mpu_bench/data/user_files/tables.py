"""Reading a user file piece by piece, in bounded memory, whatever its format."""

from __future__ import annotations

import csv
import itertools
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse
from numpy.typing import NDArray

from mpu_bench.data.cards.parts import MOST_FEATURES
from mpu_bench.data.readers.blocks import SourceFile
from mpu_bench.data.user_files import parquet
from mpu_bench.data.user_files.blocks import plain_frame
from mpu_bench.data.user_files.formats import Form, Format, form_of
from mpu_bench.errors import DataError
from mpu_bench.texts import one_line, plain

MOST_COLUMNS = 10_000  #: of a table; a wider one is better svmlight
_MOST_NAME_CHARACTERS = 200
_PIECE_CELLS, _LEAST_ROWS = 1_000_000, 200  # of a piece: that of a wide table has more cells
_MOST_CELL_CHARACTERS = 1 << 17  # csv's own bound
_FIX = "write it again"


class Vectors(NamedTuple):
    """Examples of svmlight text: their labels, (m,) float64, and their values as a CSR array of shape (m, columns)."""

    labels: NDArray[np.float64]
    rows: Any


@dataclass(frozen=True)
class OwnFile:
    """A file of the user's own.

    Attributes
    ----------
    file : SourceFile
    format : str
        ``"svmlight"``, ``"delimited"`` or ``"parquet"``.
    separator : str
        Between the cells of a delimited text.
    header : bool
        Whether the first line of a delimited text names its columns.
    columns : tuple of str
        The names of the columns of a table: ``column 1`` and so on where there are none. Empty for svmlight.
    """

    file: SourceFile
    format: Format
    separator: str = ","
    header: bool = False
    columns: tuple[str, ...] = ()

    @property
    def path(self) -> Path:
        """Where it is."""
        return self.file.path

    def pieces(self, rows: int | None = None, only: Sequence[str] = ()) -> Iterator[pd.DataFrame]:
        """Yield the rows of a table piece by piece.

        Parameters
        ----------
        rows : int, optional
            How many to read at once, at most.
        only : sequence of str
            The columns that are looked at, if not all; others may be left out.

        Yields
        ------
        DataFrame
            Texts as they stand in the file, mostly as categories; of Parquet, numbers as float64, all else as texts.

        Raises
        ------
        DataError
            With file and line: too few or many cells, quotation marks that do not fit, what is not UTF-8.
        """
        rows = rows or max(_LEAST_ROWS, _PIECE_CELLS // max(1, len(self.columns)))
        if self.format == "parquet":
            yield from parquet.pieces(self.file, self.columns, rows)
            return
        blocks, header = self.file.blocks(), self.header
        for first, block in blocks:
            frame = plain_frame(block, self.separator, self.columns, header, only)
            if frame is None:  # the rest record by record, since a quotation may go on for longer than a block
                records = _records(self.path, itertools.chain([(first, block)], blocks), self.separator)
                if header:
                    next(records, None)
                yield from _frames(self.path, records, self.columns, rows)
                return
            header = header and not block.strip()
            for begin in range(0, len(frame), rows):
                yield frame.iloc[begin : begin + rows].reset_index(drop=True)

    def vectors(self, columns: int = MOST_FEATURES, first_index: int = 1) -> Iterator[Vectors]:
        """Yield the examples of svmlight text piece by piece.

        Parameters
        ----------
        columns : int
            The most there may be; a larger index is an error.
        first_index : int
            The index of the first column, 1 or 0.

        Raises
        ------
        DataError
            With file and line.
        """
        from mpu_bench.data.readers.svmlight import Rules, read_svmlight

        met = MetLabels()
        for chunk in read_svmlight(self.file, Rules(met, columns, first_index)):
            assert chunk.columns is not None
            assert chunk.lengths is not None
            starts = np.concatenate([[0], np.cumsum(chunk.lengths)])
            values = scipy.sparse.csr_array((chunk.values, chunk.columns, starts), (len(starts) - 1, columns))  # noqa: PD011
            yield Vectors(np.array(met.numbers)[chunk.labels], values)


@dataclass
class MetLabels:
    """Takes any number for a label, and gives each an index in the order they are met."""

    numbers: list[float] = field(default_factory=list)

    def of_numbers(self, labels: NDArray[np.float64]) -> NDArray[np.int32]:
        """Return the index of each label among ``numbers``, -1 for what is none or as large as to merge with others."""
        distinct, codes = np.unique(labels, return_inverse=True)
        self.numbers += [number for number in distinct.tolist() if abs(number) < 2**53 and number not in self.numbers]
        indices = {number: index for index, number in enumerate(self.numbers)}
        return np.array([indices.get(number, -1) for number in distinct.tolist()], np.int32)[codes]

    def unknown(self, label: str) -> str:
        """Return a message that a label is none."""
        return f"the label '{label}' is not a finite number below 2**53"


def open_table(
    path: Path | SourceFile,
    *,
    separator: str | None = None,
    header: bool | None = None,
    form: Form | None = None,
    known: Collection[str] = (),
) -> OwnFile:
    """Find out what a file is, and the names of its columns.

    Parameters
    ----------
    path : Path or SourceFile
        svmlight, or a table as CSV, TSV or Parquet; text may be compressed by gzip, bzip2 or xz. Its content decides
        what it is, by the rules of `mpu_bench.data.user_files.formats`, not its name.
    separator : str, optional
        One character that overrides what is found.
    header : bool, optional
        Whether the first line names the columns; overrides what is found.
    form : Form, optional
        What it is, where that is known.
    known : collection of str
        Names of the columns, where they are known: a first line of them is a header.

    Returns
    -------
    OwnFile

    Raises
    ------
    DataError
        With the file, the line and what is wrong: it cannot be read, is empty, is no text, two columns have one name.
    """
    file = path if isinstance(path, SourceFile) else SourceFile(path.name, path, fix=_FIX)
    found = form or form_of(file, separator, header, known)
    if found.format == "svmlight":
        return OwnFile(file, "svmlight")
    if found.format == "parquet":
        names: Sequence[str] = parquet.columns(file)
    else:
        first = next(_records(file.path, file.blocks(), found.separator), None)
        if first is None:
            raise DataError(f"{file.path}: is empty")
        names = [name.strip() for name in first[1]] if found.header else [""] * len(first[1])
    return OwnFile(file, found.format, found.separator, found.header, _checked_names(file.path, names))


def _checked_names(path: Path, names: Sequence[str]) -> tuple[str, ...]:
    """Return names in one line each, made up where there are none; refuse those that cannot be told apart."""
    if len(names) > MOST_COLUMNS:
        raise DataError(f"{path}: has {len(names):,} columns, and {MOST_COLUMNS:,} can be read; write it as svmlight")
    known: dict[str, int] = {}
    for number, given in enumerate(names, 1):
        name = " ".join(given.split()) or f"column {number}"
        if len(name) > _MOST_NAME_CHARACTERS or plain(name) != name:
            words = f"has more than {_MOST_NAME_CHARACTERS} characters, or one that cannot be shown"
            raise DataError(f"{path}: the name of column {number} {words}: {one_line(name, 50)}")
        if name in known:
            raise DataError(f"{path}: columns {known[name]} and {number} are both called '{name}'; rename one")
        known[name] = number
    return tuple(known)


def _records(path: Path, blocks: Iterator[tuple[int, bytes]], separator: str) -> Iterator[tuple[int, list[str]]]:
    """Cut blocks of text into cells; yields the number of the line that each record begins on."""
    first = next(blocks, None)
    if first is None:
        return
    lines = _lines(path, itertools.chain([first], blocks))
    if separator == " ":
        lines = (f"{line.rstrip()}\n" for line in lines)
    reader = csv.reader(lines, delimiter=separator, skipinitialspace=True, strict=True)
    while True:
        began = reader.line_num + first[0]
        try:
            record = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise DataError(f"{path}, line {began}: {_explained(str(error))}") from None
        if any(record) and (len(record) > 1 or record[0].strip()):
            yield began, record


def _explained(error: str) -> str:
    """Return what csv finds wrong, in words that name the fix."""
    if "field larger" in error or "unexpected end" in error:
        words = f"a quotation mark is not closed, or a cell has more than {_MOST_CELL_CHARACTERS:,} characters"
    elif "new-line" in error:
        words = "a line ends in CR alone; write line ends as LF or CRLF"
    else:
        words = "a quotation mark stands within a cell; write it twice, in a cell that is within quotation marks"
    return words


def _lines(path: Path, blocks: Iterator[tuple[int, bytes]]) -> Iterator[str]:
    for first, block in blocks:
        for number, line in enumerate(block.splitlines(keepends=True) if b"\r" not in block else _cut(block), first):
            try:
                text = line.decode()
            except UnicodeDecodeError as error:
                byte = line[error.start]
                raise DataError(
                    f"{path}, line {number}: is not UTF-8 text (byte 0x{byte:02x}); convert it, such as by "
                    "iconv -f latin1 -t utf-8"
                ) from None
            if "\0" in text:
                raise DataError(f"{path}, line {number}: holds a NUL; this is not a text")
            yield text


def _cut(block: bytes) -> Iterable[bytes]:
    """Cut at LF alone, as the numbers of lines are counted."""
    lines = block.split(b"\n")
    yield from (line + b"\n" for line in lines[:-1])
    if lines[-1]:
        yield lines[-1]


def _frames(
    path: Path, records: Iterator[tuple[int, list[str]]], columns: tuple[str, ...], rows: int
) -> Iterator[pd.DataFrame]:
    gathered: list[list[str]] = []
    for line, record in records:
        if len(record) != len(columns):
            raise DataError(f"{path}, line {line}: has {len(record)} cells, where there are {len(columns)} columns")
        gathered.append(record)
        if len(gathered) == rows:
            yield _frame(gathered, columns)
            gathered = []
    if gathered:
        yield _frame(gathered, columns)


def _frame(records: Sequence[Sequence[str]], columns: tuple[str, ...]) -> pd.DataFrame:
    return pd.DataFrame(records, columns=pd.Index(columns, dtype=object), dtype=object)
