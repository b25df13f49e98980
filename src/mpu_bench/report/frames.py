"""The tables of a results folder as pandas DataFrames, each column of its type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

from mpu_bench.quantities import DECLARED, RECORD_COLUMNS
from mpu_bench.report.csv_files import COLUMNS
from mpu_bench.verdict.cells import Cell

if TYPE_CHECKING:
    import pandas as pd

#: texts of which a table has few different ones, many times
_CATEGORIES = (
    *("experiment", "dataset", "split", "solver", "parameters", "kernel", "problem", "status", "machine", "trial"),
    *("kind", "table", "column", "sentence", "verdict", "direction", "judged"),
)
_INTEGERS = ("count", "planned", "largest_pair", "smallest_pair")
_DTYPES = {"TEXT": "string", "INTEGER": "Int64", "REAL": "float64"}


def frame(table: str, rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Return rows as a DataFrame with the columns of the CSV file of the same name.

    Numbers are ``float64``, whole numbers ``Int64`` (which knows missing values), texts ``string``, and texts by which
    rows are told apart ``category``.

    Parameters
    ----------
    table : {"runs", "table", "curves", "mean_curves", "comparison"}
    rows : sequence of mapping
    """
    import pandas as pd

    names = COLUMNS.get(table) or tuple(dict.fromkeys(name for row in rows for name in row))
    columns = {name: [_plain(row.get(name)) for row in rows] for name in names}
    return pd.DataFrame({name: pd.Series(values, dtype=_dtype(table, name)) for name, values in columns.items()})


def _plain(value: Any) -> Any:
    """Return a word of an enumeration as a text like others."""
    return str(value) if isinstance(value, str) else value


def _dtype(table: str, name: str) -> Any:
    if name in _CATEGORIES:
        return "category"
    if table == "comparison":
        hint = get_type_hints(Cell)[name]
        kinds = {hint, *get_args(hint)}
        return _DTYPES["TEXT" if str in kinds else "INTEGER" if int in kinds else "REAL"]
    if name in _INTEGERS or (table == "table" and name == "disturbed"):
        return "Int64"
    column = RECORD_COLUMNS.get(name) or DECLARED.get(name)
    return _DTYPES[column.type] if column else "float64"
