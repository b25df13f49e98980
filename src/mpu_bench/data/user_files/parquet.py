"""Reading Parquet, by the extra ``parquet``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pandas as pd

from mpu_bench.data.readers.blocks import SourceFile
from mpu_bench.errors import DataError
from mpu_bench.installed import extra
from mpu_bench.texts import one_line


def columns(file: SourceFile) -> list[str]:
    """Return the names of the columns.

    Raises
    ------
    DataError
        If it is damaged, a column is neither of numbers nor of words, or the package that reads it is not installed.
    """
    with _opened(file) as opened:
        for field in opened.schema_arrow:
            _kind(file, field)
        return [str(field.name) for field in opened.schema_arrow]


def pieces(file: SourceFile, names: Sequence[str], rows: int) -> Iterator[pd.DataFrame]:
    """Yield so many rows at a time, the columns called ``names``.

    Numbers are float64, NaN where one is missing, whole ones Int64; all else is text, or None.
    """
    with _opened(file) as opened:
        for batch in opened.iter_batches(rows):
            found = {
                i: _column(array, _kind(file, field))
                for i, (field, array) in enumerate(zip(opened.schema_arrow, batch.columns, strict=True))
            }
            table = pd.DataFrame(found)
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
            with pyarrow.parquet.ParquetFile(stream) as opened:
                yield opened
        except (pyarrow.ArrowException, OSError, OverflowError) as error:
            raise DataError(f"{file.path}: cannot be read as Parquet: {one_line(str(error), 300)}") from None


def _kind(file: SourceFile, field: Any) -> str:
    from pyarrow import types

    kind = field.type.value_type if types.is_dictionary(field.type) else field.type
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        return "number"
    words = (types.is_string, types.is_large_string, types.is_boolean, types.is_temporal, types.is_null)
    if any(is_word(kind) for is_word in words):
        return "word"
    raise DataError(f"{file.path}, column '{field.name}': is of type {kind}, neither numbers nor words")


def _column(array: Any, kind: str) -> Any:
    import pyarrow

    if isinstance(array, pyarrow.DictionaryArray):
        array = array.dictionary_decode()
    if pyarrow.types.is_integer(array.type):  # which float64 would round beyond 2**53
        missing = array.is_null().to_numpy(zero_copy_only=False)
        return pd.arrays.IntegerArray(array.fill_null(0).to_numpy(zero_copy_only=False).copy(), missing)
    if kind == "number":
        return array.cast(pyarrow.float64(), safe=False).to_numpy(zero_copy_only=False)
    return pd.Series(array.cast(pyarrow.large_string()).to_pylist(), dtype=object)
