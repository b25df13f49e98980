"""What is done to raw rows before a solver sees them: kept with a model, so that new rows are treated as the old ones.

Two kinds of raw rows are known: a table with named columns of numbers and of words, and vectors, such as svmlight text
or an array. Either is described by plain data, which `from_json` checks as strictly as a config.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Annotated, Any, Literal, Self

import numpy as np
import pandas as pd
import scipy.sparse
from numpy.typing import NDArray
from pydantic import Field, TypeAdapter, ValidationError, model_validator

from mpu_bench.core.rows import Dense, Rows, Sparse, to_scipy, with_constant
from mpu_bench.document import Strict, first_error
from mpu_bench.errors import DataError
from mpu_bench.texts import counted, listed, number_in, one_line

#: texts that stand for a value that is not there
MISSING_WORDS = (
    "", "?", "NA", "N/A", "na", "n/a", "#N/A", "#N/A N/A", "#NA", "<NA>", "NaN", "nan", "-NaN", "-nan", "NULL", "null",
    "None", "none", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN",
)  # fmt: skip
MISSING = ""  #: the word that all of them become in a categorical column
_MISSING_WORDS = frozenset(MISSING_WORDS)
_MAX_SHOWN_BYTES = 100
_LARGEST_WHOLE = 1e15
_LARGEST = float(np.finfo(np.float32).max)
_INTEGER = re.compile(r"[+-]?[0-9]{1,300}")
_WHOLE = re.compile(r"([+-]?[0-9]+)\.0*")  # as pandas writes whole numbers of a column that lacks some

Finite = Annotated[float, Field(allow_inf_nan=False)]
Width = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Constant = Annotated[float, Field(gt=0, le=_LARGEST)]  # of a feature in single precision


class NumberColumn(Strict):
    """A column of numbers, which become ``(number - shift) / width``.

    ``fill`` stands for a number that is missing; without it, such a row is refused.
    """

    kind: Literal["number"] = "number"
    name: str
    fill: Finite | None = None
    shift: Finite = 0.0
    width: Width = 1.0

    @property
    def features(self) -> int:
        """One."""
        return 1

    def values(self, texts: pd.Series[Any], first_row: int) -> NDArray[np.float64]:
        """Return the numbers of a column of texts, shape (n,), as a solver sees them.

        Raises
        ------
        DataError
            With row and column: what is not a finite number, too large, or missing without a ``fill``.
        """
        numbers = numbers_of(texts, self.name, first_row)
        if (missing := np.isnan(numbers)).any():
            if self.fill is None:
                row = first_row + int(np.flatnonzero(missing)[0])
                raise DataError(f"row {row}, column '{self.name}': no number")
            numbers = np.where(missing, self.fill, numbers)
        with np.errstate(over="ignore"):
            scaled = (numbers - self.shift) / self.width
        if (large := np.abs(scaled) > _LARGEST).any():
            row = first_row + int(np.flatnonzero(large)[0])
            raise DataError(f"row {row}, column '{self.name}': the number is too large for float32")
        return scaled


class CategoricalColumn(Strict):
    """A column of words: one feature for each of ``categories``, 1 where it is that word; none for any other word.

    With ``exact`` a word is taken with its blanks, and one such as ``?`` does not stand for one that is missing.
    """

    kind: Literal["categorical"] = "categorical"
    name: str
    categories: Annotated[tuple[str, ...], Field(min_length=1)]
    exact: bool = False

    @model_validator(mode="after")
    def _names_each_once(self) -> Self:
        if len(set(self.categories)) < len(self.categories):
            raise ValueError(f"column '{self.name}' has a category twice")
        return self

    @property
    def features(self) -> int:
        """The number of words."""
        return len(self.categories)

    def codes(self, texts: pd.Series[Any]) -> NDArray[np.intp]:
        """Return the index of every word among the categories, shape (n,); -1 for one that is not among them."""
        if isinstance(texts.dtype, pd.CategoricalDtype):
            return self.codes(_categories(texts))[texts.cat.codes.to_numpy()]
        cells = texts.to_list()
        words = [str(cell) for cell in cells] if self.exact else texts_of(texts).tolist()
        indices = {word: index for index, word in enumerate(self.categories)}
        absent = -1 if self.exact else indices.get(MISSING, -1)
        codes = np.array([indices.get(word, absent if word in _MISSING_WORDS else -1) for word in words], np.intp)
        known = indices if self.exact else indices | _by_value(self.categories)
        for row in np.flatnonzero(codes < 0):
            if not (self.exact and isinstance(cells[row], str)):
                others = _other_words(cells[row], self.categories)
                codes[row] = next((known[word] for word in others if word in known), -1)
        return codes


def _by_value(words: Sequence[str]) -> dict[str, int]:
    """Return the index of the word that has a value; -1 where several have it: they are told apart to the letter."""
    times = Counter(map(_value_of, words))
    return {value: index if times[value] == 1 else -1 for index, value in enumerate(map(_value_of, words))}


def _value_of(word: str) -> str:
    """Return what a word is however a program writes it: 1 for 1.0, and true for True; 007 and 1.10 are themselves."""
    lower, whole = word.lower(), _WHOLE.fullmatch(word)
    return whole[1] if whole else lower if lower in ("true", "false") else word


def _other_words(cell: Any, words: Sequence[str]) -> Iterator[str]:
    """Yield how a file may have written what a cell is: true for True, 1.0 for 1."""
    if isinstance(cell, str):
        yield _value_of(cell.strip())
    elif isinstance(cell, bool | np.bool_):
        yield from ("true", "TRUE", "1") if cell else ("false", "FALSE", "0")
    elif isinstance(cell, float | np.floating):  # perhaps of single precision
        numbers = np.array([*map(number_in, words)])
        with np.errstate(over="ignore"):
            singles = numbers.astype(np.float32).astype(np.float64)
        yield from itertools.compress(words, (numbers == float(cell)) | (singles == float(cell)))
    elif isinstance(cell, int | np.integer):  # perhaps beyond 2**53
        yield from (word for word in words if number_in(word) == cell and label_key(word) == str(cell))


class OmittedColumn(Strict):
    """A column that is in the file and that no solver sees: the label, an identifier."""

    kind: Literal["omitted"] = "omitted"
    name: str

    @property
    def features(self) -> int:
        """None."""
        return 0


Column = Annotated[NumberColumn | CategoricalColumn | OmittedColumn, Field(discriminator="kind")]


class Table(Strict):
    """Rows of a table: its columns in the order of the file, and which of them, if any, holds the label.

    ``sparse`` says how the rows are stored; ``unit_rows`` divides each by its Euclidean norm; ``augment`` appends a
    constant feature at last.
    """

    kind: Literal["table"] = "table"
    columns: Annotated[tuple[Column, ...], Field(min_length=1)]
    label: str | None = None
    sparse: bool = False
    unit_rows: bool = False
    augment: Constant | None = None

    @model_validator(mode="after")
    def _has_its_label(self) -> Self:
        names = [column.name for column in self.columns]
        if len(set(names)) < len(names):
            raise ValueError("two columns have the same name")
        if self.label is not None and OmittedColumn(name=self.label) not in self.columns:
            raise ValueError(f"the label '{self.label}' must be one of the columns, and omitted")
        return self

    @property
    def features(self) -> int:
        """The number of features, d."""
        return sum(column.features for column in self.columns) + (self.augment is not None)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The name of every feature: that of its column, and ``column=word`` for a word."""
        names: list[str] = []
        for column in self.columns:
            if isinstance(column, CategoricalColumn):
                names += [f"{column.name}={word}" for word in column.categories]
            elif isinstance(column, NumberColumn):
                names.append(column.name)
        return (*names, "constant") if self.augment is not None else tuple(names)

    @property
    def seen_columns(self) -> tuple[str, ...]:
        """The names of the columns that features are made of."""
        return tuple(column.name for column in self.columns if not isinstance(column, OmittedColumn))

    def ordered(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return a table with its columns as they are here, whatever their order; the label may be left out.

        Raises
        ------
        DataError
            If one is missing, there twice or too many.
        """
        present = [str(name) for name in table.columns]
        expected = [column.name for column in self.columns if column.name != self.label or self.label in present]
        if present == expected:
            return table
        missing = [name for name in expected if name not in present]
        extra = [name for name in present if name not in expected or present.count(name) > 1]
        problems = [f"{words} {_listed(names)}" for words, names in (("lacks", missing), ("also has", extra)) if names]
        if problems:
            raise DataError(f"{' and '.join(problems)}; the columns of the model are: {_listed(expected, 50)}")
        return table.iloc[:, [present.index(name) for name in expected]]

    def rows(self, table: pd.DataFrame, first_row: int = 1) -> Rows:
        """Return the rows of a table, as a solver sees them, in single precision.

        Parameters
        ----------
        table : DataFrame of texts or numbers, shape (n, columns)
        first_row : int
            The number of its first row, for messages.

        Raises
        ------
        DataError
            As of `ordered`; with row and column, where a number is none.
        """
        table = self.ordered(table)
        present = {str(name) for name in table.columns}
        parts: list[Any] = []
        for i, column in enumerate(column for column in self.columns if column.name in present):
            texts = table.iloc[:, i]
            if isinstance(column, NumberColumn):
                parts.append(column.values(texts, first_row)[:, np.newaxis])
            elif isinstance(column, CategoricalColumn):
                parts.append(_one_hot(column.codes(texts), column.features))
        matrix = _beside(parts, len(table), self.sparse)
        if self.unit_rows:
            matrix = _unit_rows(matrix)
        rows = rows_of_matrix(matrix, self.sparse)
        return rows if self.augment is None else with_constant(rows, matrix.shape[1], self.augment)


class Vectors(Strict):
    """Rows that are vectors of numbers already: svmlight text, or an array.

    The steps are taken in the order of the fields; ``features`` counts the columns of the raw rows.
    """

    kind: Literal["vectors"] = "vectors"
    features_in: Annotated[int, Field(ge=1, lt=2**31)]
    first_index: Literal[0, 1] = 1  #: of svmlight text
    multiply_by: Finite = 1.0
    divide_by: Width = 1.0
    unit_rows: bool = False
    kept: tuple[Annotated[int, Field(ge=0)], ...] | None = None
    shift: tuple[Finite, ...] | None = None
    width: tuple[Width, ...] | None = None
    augment: Constant | None = None
    sparse: bool = False

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.kept is not None and any(a >= b for a, b in itertools.pairwise((-1, *self.kept, self.features_in))):
            raise ValueError("the columns that are kept must rise and be among those that are there")
        if self.multiply_by == 0:
            raise ValueError("multiply_by must not be 0, which would leave nothing of the rows")
        left = self.features_in if self.kept is None else len(self.kept)
        if any(scale is not None and len(scale) != left for scale in (self.shift, self.width)):
            raise ValueError(f"shift and width must have one number for each of the {left} columns")
        return self

    @property
    def features(self) -> int:
        """The number of features, d."""
        return (self.features_in if self.kept is None else len(self.kept)) + (self.augment is not None)

    def rows(self, matrix: Any) -> Rows:
        """Return rows as a solver sees them, in single precision.

        Parameters
        ----------
        matrix : array, CSR matrix or Rows, shape (n, features_in)

        Raises
        ------
        DataError
            If it has another number of columns.
        """
        raw: Any = to_scipy(matrix, self.features_in) if isinstance(matrix, Rows) else matrix
        values: Any = scipy.sparse.csr_array(raw, dtype=np.float64)
        if values.shape[1] != self.features_in:
            raise DataError(f"has {counted(values.shape[1], 'column')}, where the model takes {self.features_in:,}")
        values = values * self.multiply_by / self.divide_by
        if self.unit_rows:
            values = _unit_rows(values)
        if self.kept is not None:
            values = values[:, np.array(self.kept, np.int64)]
        if self.shift is not None or self.width is not None:
            dense = values.astype(np.float32).toarray().astype(np.float64)  # as they were when they were measured
            shift = np.zeros(1) if self.shift is None else np.array(self.shift)
            width = np.ones(1) if self.width is None else np.array(self.width)
            values = scipy.sparse.csr_array((dense - shift) / width)
        rows = rows_of_matrix(values, self.sparse)
        return rows if self.augment is None else with_constant(rows, values.shape[1], self.augment)


Preprocessing = Table | Vectors
_ANY: TypeAdapter[Preprocessing] = TypeAdapter(Annotated[Preprocessing, Field(discriminator="kind")])


def from_json(data: Mapping[str, Any], source: str) -> Preprocessing:
    """Return what `to_json` has made into plain data.

    Raises
    ------
    DataError
        If it is not that.
    """
    try:
        return _ANY.validate_json(json.dumps(data))  # in which a list may stand for a tuple
    except ValidationError as error:
        raise DataError(f"{source}: its preprocessing is damaged: {first_error(error)}") from None


def to_json(preprocessing: Preprocessing) -> dict[str, Any]:
    """Return a description as plain data."""
    return preprocessing.model_dump(mode="json", exclude_none=True)


def numbers_of(texts: pd.Series[Any], name: str, first_row: int = 1) -> NDArray[np.float64]:
    """Return a column as numbers, shape (n,); NaN where one is missing.

    Raises
    ------
    DataError
        With row and column: what is not a finite number.
    """
    numbers, missing = parsed_numbers(texts)
    if (wrong := np.isnan(numbers) & ~missing).any():
        index = int(np.flatnonzero(wrong)[0])
        cell = one_line(str(texts.iloc[index]), _MAX_SHOWN_BYTES)
        raise DataError(f"row {first_row + index}, column '{name}': '{cell}' is not a finite number")
    return numbers


def parsed_numbers(texts: pd.Series[Any]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return a column as numbers, NaN where there is no finite one, and where a value is missing; shape (n,) each."""
    if pd.api.types.is_numeric_dtype(texts) and not pd.api.types.is_complex_dtype(texts):
        numbers = texts.to_numpy(np.float64, na_value=np.nan)
        return np.where(np.isfinite(numbers), numbers, np.nan), np.isnan(numbers)
    if isinstance(texts.dtype, pd.CategoricalDtype):  # as files are read: a word is parsed once
        numbers, missing = parsed_numbers(_categories(texts))
        codes = texts.cat.codes.to_numpy()
        return numbers[codes], missing[codes]
    cells = texts.to_list()
    with suppress(TypeError, ValueError):  # where a cell is missing, or no number
        if (together := "".join(cells)).isascii() and "_" not in together:  # no number of Python alone, such as 1_000
            numbers = np.fromiter(map(float, cells), np.float64, len(cells))
            if np.isfinite(numbers).all():
                return numbers, np.zeros(len(cells), bool)
    words = plain_words(cells)
    return np.array([*map(number_in, words)], np.float64), np.array([word == MISSING for word in words], bool)


def words_of(texts: pd.Series[Any]) -> NDArray[Any]:
    """Return a column as words without blanks around them, 1 for 1.0, shape (n,); `MISSING` where one is missing."""
    return np.array(plain_words(texts_of(texts)), object)


def texts_of(texts: pd.Series[Any]) -> NDArray[Any]:
    """Return a column as `words_of` does, with words such as NA as they stand there, shape (n,)."""
    if pd.api.types.is_integer_dtype(texts):
        return np.array([MISSING if cell is pd.NA else str(cell) for cell in texts.to_list()], object)
    if pd.api.types.is_numeric_dtype(texts) and not pd.api.types.is_bool_dtype(texts):
        dtype: Any = texts.dtype
        numbers = texts.to_numpy(getattr(dtype, "numpy_dtype", dtype), na_value=np.nan)
        return np.array([MISSING if np.isnan(number) else plain_number(number) for number in numbers], object)
    if isinstance(texts.dtype, pd.CategoricalDtype):
        return texts_of(_categories(texts))[texts.cat.codes.to_numpy()]
    return np.array([_text(cell) for cell in texts.to_list()], object)


def _categories(texts: pd.Series[Any]) -> pd.Series[Any]:
    """Return what a categorical column may hold, and at last None, whose code is -1."""
    return pd.Series([*texts.cat.categories.tolist(), None], dtype=object)


def plain_words(cells: Iterable[Any]) -> list[str]:
    """Return cells as words without blanks around them; `MISSING` where one is missing."""
    return [MISSING if word in _MISSING_WORDS else word for word in map(_text, cells)]


def _text(cell: Any) -> str:
    if cell is None or cell is pd.NA:
        return MISSING
    if isinstance(cell, float | np.floating) and np.isfinite(cell):
        return plain_number(cell)
    return str(cell).strip()


def label_key(word: str) -> str:
    """Return what two texts of one label have in common: ``1`` for 1.0 and +1 to the last digit, true for True."""
    if _INTEGER.fullmatch(word := word.strip()):
        return str(int(word))
    number = number_in(word)
    return _value_of(word) if math.isnan(number) else str(int(number)) if number.is_integer() else repr(number)


def plain_number(number: float | np.floating[Any]) -> str:
    """Return a number as short as it can be written in its precision: ``1`` for 1.0."""
    number = float(str(number))
    return str(int(number)) if number.is_integer() and abs(number) < _LARGEST_WHOLE else repr(number)


def rows_of_matrix(matrix: Any, sparse: bool) -> Rows:
    """Return a CSR matrix as rows in single precision."""
    if not sparse:
        values: Any = matrix if isinstance(matrix, np.ndarray) else matrix.toarray()
        return Dense(np.ascontiguousarray(_single(values)))
    matrix = scipy.sparse.csr_array(matrix, copy=True)
    matrix.sum_duplicates()
    csr = scipy.sparse.csr_array((_single(matrix.data), matrix.indices, matrix.indptr), matrix.shape)
    csr.eliminate_zeros()
    return Sparse(csr.data, csr.indices.astype(np.uint32), csr.indptr.astype(np.uint32))


def _single(values: NDArray[Any]) -> NDArray[np.float32]:
    with np.errstate(over="ignore"):
        single: NDArray[np.float32] = values.astype(np.float32)
    if not np.isfinite(single).all():
        raise DataError("a row holds a value that is not a number, or too large for float32")
    return single


def _one_hot(codes: NDArray[np.intp], size: int) -> Any:
    known = codes >= 0
    starts = np.concatenate([[0], np.cumsum(known)])
    return scipy.sparse.csr_array((np.ones(int(starts[-1])), codes[known], starts), (len(codes), size))


def _beside(parts: Sequence[Any], rows: int, sparse: bool) -> Any:
    """Set the features of columns beside each other."""
    if sparse:
        matrices: Any = [scipy.sparse.csr_array(part) for part in parts]
        return scipy.sparse.hstack(matrices, format="csr") if parts else scipy.sparse.csr_array((rows, 0))
    dense = [part if isinstance(part, np.ndarray) else part.toarray() for part in parts]
    return np.hstack([np.zeros((rows, 0)), *dense])


def _unit_rows(matrix: Any) -> Any:
    if isinstance(matrix, np.ndarray):
        norms = np.sqrt((matrix**2).sum(axis=1, keepdims=True))
        return matrix / np.where(norms > 0, norms, 1.0)
    norms = np.sqrt(matrix.multiply(matrix).sum(axis=1))
    return scipy.sparse.diags_array(1.0 / np.where(norms > 0, norms, 1.0)) @ matrix


def _listed(names: Sequence[str], limit: int = 5) -> str:
    return listed([f"'{name}'" for name in names], limit)
