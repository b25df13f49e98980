"""Reading a user file piece by piece, in bounded memory, whatever its format; Parquet by the extra ``parquet``."""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mpu_bench.data.cards.parts import MAX_FEATURES
from mpu_bench.data.readers.blocks import WRITE_AGAIN, SourceFile
from mpu_bench.data.user_files.formats import Form, Format, form_of
from mpu_bench.errors import DataError
from mpu_bench.installed import extra
from mpu_bench.texts import counted, one_line, plain


def parquet_columns(file: SourceFile) -> list[str]:
    """Return the names of the parquet_columns.

    Raises
    ------
    DataError
        If it is damaged, a column is neither of numbers nor of words, or the package that reads it is not installed.
    """
    with _opened(file) as opened:
        for field in opened.schema_arrow:
            _parquet_kind(file, field)
        return [str(field.name) for field in opened.schema_arrow]


def parquet_pieces(file: SourceFile, names: Sequence[str], rows: int) -> Iterator[pd.DataFrame]:
    """Yield so many rows at a time, the parquet_columns called ``names``.

    Numbers are floats, NaN where one is missing, whole ones Int64; all else is text, or None.
    """
    with _opened(file) as opened:
        for batch in opened.iter_batches(rows):
            columns = {
                i: _parquet_column(array, _parquet_kind(file, field))
                for i, (field, array) in enumerate(zip(opened.schema_arrow, batch.columns, strict=True))
            }
            table = pd.DataFrame(columns)
            table.columns = pd.Index(names, dtype=object)
            file.advance(batch.nbytes)
            yield table


@contextmanager
def _opened(file: SourceFile) -> Iterator[Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise DataError(f"{file.path}: is Parquet; to read it, {extra('parquet')}") from None
    with file.open() as stream:
        try:
            whole = stream if stream.seekable() else io.BytesIO(stream.read())  # it is read from its end
            with pyarrow.parquet.ParquetFile(whole) as opened:
                yield opened
        except (pyarrow.ArrowException, OSError, OverflowError) as error:
            raise DataError(f"{file.path}: cannot be read as Parquet: {one_line(str(error), 300)}") from None


def _parquet_kind(file: SourceFile, field: Any) -> str:
    from pyarrow import types

    kind = field.type.value_type if types.is_dictionary(field.type) else field.type
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        return "number"
    texts = types.is_string, types.is_large_string, types.is_string_view
    if any(is_word(kind) for is_word in (*texts, types.is_boolean, types.is_temporal, types.is_null)):
        return "word"
    raise DataError(f"{file.path}, column '{field.name}': is of type {kind}, neither numbers nor words; leave it out")


def _parquet_column(array: Any, kind: str) -> Any:
    import pyarrow

    if isinstance(array, pyarrow.DictionaryArray):
        array = array.dictionary_decode()
    if pyarrow.types.is_integer(array.type):  # which float64 would round beyond 2**53
        missing = array.is_null().to_numpy(zero_copy_only=False)
        return pd.arrays.IntegerArray(array.fill_null(0).to_numpy(zero_copy_only=False).copy(), missing)
    is_decimal = pyarrow.types.is_decimal(array.type)
    if kind == "number" and not (is_decimal and array.type.scale <= 0):  # whole ones, to the last digit, are text
        # by their text, to the nearest number: a cast alone makes 7.000000000000001 of 7.00000
        array = array.cast(pyarrow.large_string()).cast(pyarrow.float64()) if is_decimal else array
        return array.to_numpy(zero_copy_only=False)
    if pyarrow.types.is_boolean(array.type):  # as text files have them
        return pd.Series([None if value is None else str(value) for value in array.to_pylist()], dtype=object)
    return pd.Series(array.cast(pyarrow.large_string()).to_pylist(), dtype=object)


MAX_COLUMNS = 10_000  #: of a table; a wider one is better svmlight
_MAX_NAME_CHARACTERS = 200
_PIECE_CELLS, _MIN_ROWS = 1_000_000, 200  # of a piece: that of a wide table has more cells
_MAX_CELL_CHARACTERS = 1 << 17  # csv's own bound


@dataclass(frozen=True)
class UserFile:
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
            Texts as they stand in the file; of Parquet, numbers as numbers, all else as texts. Its index is the number
            of the row in the file, from 1.

        Raises
        ------
        DataError
            With file and line: too few or many cells, quotation marks that do not fit, what is not UTF-8.
        """
        rows = rows or max(_MIN_ROWS, _PIECE_CELLS // max(1, len(self.columns)))
        is_text, first = self.format == "delimited", 1
        for piece in self._text(rows, only) if is_text else parquet_pieces(self.file, self.columns, rows):
            piece.index = pd.RangeIndex(first, first + len(piece))
            first += len(piece)
            yield piece

    def _text(self, rows: int, only: Sequence[str]) -> Iterator[pd.DataFrame]:
        records = _records(self.path, self.file.blocks(), self.separator)
        if self.header:
            next(records, None)
        return _frames(self.path, records, self.columns, rows, only or self.columns)

    def vectors(self, columns: int = MAX_FEATURES, first_index: int = 1) -> Iterator[tuple[NDArray[np.float64], Any]]:
        """Yield the examples of svmlight text piece by piece.

        Parameters
        ----------
        columns : int
            The most there may be; a larger index is an error.
        first_index : int
            The index of the first column, 1 or 0.

        Yields
        ------
        labels : array of float64, shape (m,)
        rows : CSR array, shape (m, columns)
            With the zeros that are written.

        Raises
        ------
        DataError
            With file and line.
        """
        from mpu_bench.data.readers.svmlight import Rules, read_svmlight

        met = MetLabels()
        for chunk in read_svmlight(self.file, Rules(met, columns, first_index, keeps_zeros=True)):
            yield met.numbers[chunk.labels], chunk.rows


@dataclass
class MetLabels:
    """Takes any number for a label: its index is that among ``numbers``, the labels that were met last."""

    numbers: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))

    def of_numbers(self, labels: NDArray[np.float64]) -> NDArray[np.int32]:
        """Return the index of each label among ``numbers``, -1 for what is none or as large as to merge with others."""
        self.numbers, codes = np.unique(labels, return_inverse=True)
        return np.where(np.abs(labels) < 2**53, codes, -1).astype(np.int32)

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
) -> UserFile:
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
        Names of the columns, where they are known: a first line of them is a header. Blanks around them do not count.

    Returns
    -------
    UserFile

    Raises
    ------
    DataError
        With the file, the line and what is wrong: it cannot be read, is empty, is no text, two columns have one name.
    """
    file = path if isinstance(path, SourceFile) else SourceFile(path.name, path, fix=WRITE_AGAIN)
    spelled = {_in_one_line(name): name for name in known}
    file_form = form or form_of(file, separator, header, spelled)
    if file_form.format == "svmlight":
        return UserFile(file, "svmlight")
    if file_form.format == "parquet":
        names: Sequence[str] = parquet_columns(file)
    else:
        first = next(_records(file.path, file.blocks(), file_form.separator), None)
        if first is None:
            raise DataError(f"{file.path}: is empty")
        names = [name.strip() for name in first[1]] if file_form.header else [""] * len(first[1])
    checked = tuple(spelled.get(name, name) for name in _checked_names(file.path, names))
    return UserFile(file, file_form.format, file_form.separator, file_form.header, checked)


def _in_one_line(name: str) -> str:
    return " ".join(name.split())


def _checked_names(path: Path, names: Sequence[str]) -> tuple[str, ...]:
    """Return names in one line each, made up where there are none; refuse those that cannot be told apart."""
    if not 0 < len(names) <= MAX_COLUMNS:
        fix = "write it as svmlight" if names else "write the table again, with its columns"
        raise DataError(f"{path}: has {len(names):,} columns, and 1 to {MAX_COLUMNS:,} can be read; {fix}")
    known: dict[str, int] = {}
    for number, raw_name in enumerate(names, 1):
        name = _in_one_line(raw_name) or f"column {number}"
        if len(name) > _MAX_NAME_CHARACTERS or plain(name) != name:
            words = f"has more than {_MAX_NAME_CHARACTERS} characters, or one that cannot be shown"
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
    empty: list[tuple[int, list[str]]] = []
    is_begun = False
    while True:
        began = reader.line_num + first[0]
        try:
            record = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise DataError(f"{path}, line {began}: {_explained(str(error))}") from None
        if any(record) and (len(record) > 1 or record[0].strip()):
            yield from empty
            yield began, record
            empty, is_begun = [], True
        elif is_begun and len(record) > 1:  # a row whose cells are all missing, but for those that spreadsheets append
            empty.append((began, record))


def _explained(error: str) -> str:
    """Return what csv finds wrong, in words that name the fix."""
    if "field larger" in error or "unexpected end" in error:
        return f"a quotation mark is not closed, or a cell has more than {_MAX_CELL_CHARACTERS:,} characters"
    if "new-line" in error:
        return "a line ends in CR alone; write line ends as LF or CRLF"
    return "a quotation mark stands within a cell; write it twice, in a cell that is within quotation marks"


def _lines(path: Path, blocks: Iterator[tuple[int, bytes]]) -> Iterator[str]:
    for first, block in blocks:
        for number, line in enumerate(io.BytesIO(block), first):
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


def _frames(
    path: Path, records: Iterator[tuple[int, list[str]]], columns: Sequence[str], rows: int, only: Collection[str]
) -> Iterator[pd.DataFrame]:
    """Yield so many records at a time as texts, of the columns that are named."""
    indices = [index for index, name in enumerate(columns) if name in only]
    names = pd.Index([columns[index] for index in indices], dtype=object)
    while block := list(itertools.islice(records, rows)):
        for line, record in block:
            if len(record) != len(columns):
                cells = counted(len(record), "cell")
                raise DataError(f"{path}, line {line}: has {cells}, where there are {len(columns)} columns")
        yield pd.DataFrame([[record[index] for index in indices] for _, record in block], columns=names, dtype=object)
