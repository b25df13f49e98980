"""Records -> runs.csv, table.csv, curves.csv, mean_curves.csv, comparison.csv and environment.json."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from mpu_bench.files import csv_text, write_all
from mpu_bench.quantities import CHECKPOINT_COLUMNS, RECORD_COLUMNS
from mpu_bench.results.curves import IDENTITY
from mpu_bench.results.folder import ResultsFolder
from mpu_bench.results.rows import made_publishable
from mpu_bench.results.summary import Summary, summaries
from mpu_bench.verdict import cells, comparison

#: the files of a results folder that are written from its database
NAMES = ("runs.csv", "table.csv", "curves.csv", "mean_curves.csv", "comparison.csv", "environment.json")


class Tables:
    """The tables of a results folder, each made when it is asked for.

    Parameters
    ----------
    results : ResultsFolder
    """

    def __init__(self, results: ResultsFolder) -> None:
        self._results = results

    @cached_property
    def runs(self) -> list[Summary]:
        """The rows of runs.csv."""
        return self._results.records(earlier=True)

    @cached_property
    def table(self) -> list[Summary]:
        """The rows of table.csv."""
        return summaries(self._results, earlier=True)

    @cached_property
    def curves(self) -> list[Summary]:
        """The rows of curves.csv."""
        return self._results.curves()

    @cached_property
    def mean_curves(self) -> list[Summary]:
        """The rows of mean_curves.csv."""
        return self._results.mean_curves()

    @cached_property
    def comparison(self) -> list[Summary]:
        """The rows of comparison.csv."""
        rows = [row for row in self.table if not row["earlier"]]
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
