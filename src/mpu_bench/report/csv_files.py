"""Records -> runs.csv, table.csv, curves.csv, mean_curves.csv, comparison.csv and environment.json."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from mpu_bench.files import csv_text, write_all
from mpu_bench.quantities import CHECKPOINT_COLUMNS, RECORD_COLUMNS
from mpu_bench.results.curves import IDENTITY, mean_curve_rows
from mpu_bench.results.folder import ResultsFolder
from mpu_bench.results.means import Summary
from mpu_bench.results.rows import made_publishable
from mpu_bench.results.summary import summaries
from mpu_bench.verdict import cells, comparison

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
        return [point.row(COLUMNS["curves"]) for point in self._results.curves()]

    @property
    def mean_curves(self) -> list[dict[str, Any]]:
        """The rows of mean_curves.csv."""
        return mean_curve_rows(self._results.mean_curves())

    @property
    def comparison(self) -> list[dict[str, Any]]:
        """The rows of comparison.csv."""
        rows = [row for row in self._summaries if not row.earlier]
        evidence = comparison.evidence_of(self._results)
        return [cell.written() for cell in comparison.of_rows(self._results, rows, evidence)]

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
