"""Records -> the CSV files of a results folder and DataFrames, and the deletion of what mpu-bench wrote there."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

from mpu_bench.config.drawings import KINDS
from mpu_bench.errors import StoreError
from mpu_bench.files import csv_text, process_lock, write_all
from mpu_bench.quantities import CHECKPOINT_COLUMNS, DECLARED, RECORD_COLUMNS
from mpu_bench.report.figures import FOLDER, FORMS
from mpu_bench.results import saved_models
from mpu_bench.results.folder import ResultsFolder
from mpu_bench.results.means import IDENTITY, Summary, mean_curve_rows
from mpu_bench.results.rows import made_publishable
from mpu_bench.results.store import FILE, LOCK, MATRICES, MATRIX, check_kind
from mpu_bench.results.summary import summaries
from mpu_bench.verdict import cells, comparison

if TYPE_CHECKING:
    import pandas as pd


#: the files of a results folder that are written from its database
NAMES = ("runs.csv", "table.csv", "curves.csv", "mean_curves.csv", "comparison.csv", "environment.json")


class Tables:
    """The tables of a results folder, each made on demand.

    Parameters
    ----------
    results : ResultsFolder
    """

    def __init__(self, results: ResultsFolder) -> None:
        self._results = results

    @property
    def runs(self) -> list[dict[str, Any]]:
        """The rows of runs.csv."""
        return [record.row(COLUMNS["runs"]) for record in self._results.records(earlier=True)]

    @cached_property
    def _summaries(self) -> list[Summary]:
        return summaries(self._results, earlier=True)

    @property
    def table(self) -> list[dict[str, Any]]:
        """The rows of table.csv."""
        return [row.table_row() for row in self._summaries]

    @property
    def curves(self) -> list[dict[str, Any]]:
        """The rows of curves.csv."""
        return [point.row(COLUMNS["curves"]) for point in self._results.curves]

    @property
    def mean_curves(self) -> list[dict[str, Any]]:
        """The rows of mean_curves.csv."""
        return mean_curve_rows(self._results.mean_curves)

    @property
    def comparison(self) -> list[dict[str, Any]]:
        """The rows of comparison.csv."""
        rows = [row for row in self._summaries if not row.earlier]
        return [cell.written() for cell in comparison.of_results(self._results, rows).cells]

    @property
    def environment(self) -> dict[str, Any]:
        """What environment.json holds."""
        return made_publishable({"machines": self._results.environments()})  # type: ignore[no-any-return]


#: table -> its columns; where they are not said, those that its rows have
COLUMNS: dict[str, Sequence[str]] = {
    "runs": tuple(RECORD_COLUMNS),
    "curves": (*IDENTITY, *CHECKPOINT_COLUMNS, "run_id"),
    "comparison": cells.COLUMNS,
}


def write(results: ResultsFolder) -> None:
    """Write every CSV of a results folder, and environment.json, from its database; each file whole or not at all.

    Raises
    ------
    StoreError
        If the folder cannot be written.
    """
    tables = Tables(results)
    texts = {
        f"{name}.csv": csv_text(getattr(tables, name), COLUMNS.get(name))
        for name in ("runs", "table", "curves", "mean_curves", "comparison")
    }
    texts["environment.json"] = json.dumps(tables.environment, indent=2) + "\n"
    write_all(results.folder, texts)


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
    # a word of an enumeration becomes a text like others
    columns = {n: [str(v) if isinstance(v := row.get(n), str) else v for row in rows] for n in names}
    return pd.DataFrame({name: pd.Series(values, dtype=_dtype(table, name)) for name, values in columns.items()})


def _dtype(table: str, name: str) -> Any:
    if name in _CATEGORIES:
        return "category"
    if table == "comparison":
        hint = get_type_hints(cells.Cell)[name]
        kinds = {hint, *get_args(hint)}
        return _DTYPES["TEXT" if str in kinds else "INTEGER" if int in kinds else "REAL"]
    if name in _INTEGERS or (table == "table" and name == "disturbed"):
        return "Int64"
    column = RECORD_COLUMNS.get(name) or DECLARED.get(name)
    return _DTYPES[column.type] if column else "float64"


_WRITTEN = (*NAMES, LOCK, *(f"{FILE}{end}" for end in ("-journal", "-wal", "-shm", "")))
_FIGURES = tuple(f"{name}.{form}" for name in KINDS for form in FORMS)
#: folder in a results folder -> what its files are called; kernel matrices are of a session that was killed
_BELOW = {
    FOLDER: "|".join(map(re.escape, _FIGURES)),
    saved_models.FOLDER: saved_models.NAME,
    MATRICES: MATRIX,
}


def check(folder: Path) -> None:
    """Refuse what is not to be cleaned.

    Raises
    ------
    StoreError
        If the folder is a link, or its database is none of ours.
    """
    if folder.is_symlink():
        raise StoreError(f"{folder}: is a link to {folder.readlink()}; clean that folder, and remove the link yourself")
    check_kind(folder)


def clean(folder: Path) -> list[str]:
    """Delete what mpu-bench has written into a results folder, and the folder if it is empty then.

    Nothing outside the folder is touched: what is a link there is deleted itself, or stays.

    Returns
    -------
    list of str
        What is left, which nobody here has written.

    Raises
    ------
    StoreError
        If it is refused by `check`, is being run into, or cannot be changed.
    """
    check(folder)
    folder = folder.absolute()  # "." cannot be deleted by that name
    busy = StoreError(f"{folder}: another mpu-bench is using this folder; wait for it, or stop it")
    try:
        with process_lock(folder / LOCK, busy, lambda error: _fixed(folder, error)):
            for below, names in _BELOW.items():
                if not (folder / below).is_symlink():
                    _delete(folder / below, names)
            _delete(folder, "|".join(map(re.escape, _WRITTEN)))
    except OSError as error:
        raise _fixed(folder, error) from None
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


def _delete(folder: Path, names: str) -> None:
    """Delete files whose names match, and what is left of them where writing was cut short; then the folder, if empty.

    The database goes last: until then it is a results folder, which can be cleaned again.
    """
    if not folder.is_dir():
        return
    ours = re.compile(rf"(?:{names})|\.(?:{names})\.[0-9a-f]{{8}}")
    for path in sorted(folder.iterdir(), key=lambda path: path.name == FILE):
        if ours.fullmatch(path.name) and (path.is_symlink() or path.is_file()):
            path.unlink()
    if not any(folder.iterdir()):
        folder.rmdir()


def _fixed(folder: Path, error: OSError) -> StoreError:
    return StoreError(f"{folder}: cannot be deleted: {error.strerror}")
