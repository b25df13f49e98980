"""Records -> runs.csv, table.csv, curves.csv, mean_curves.csv, comparison.csv and environment.json."""

from __future__ import annotations

import json
from dataclasses import asdict

from mpu_bench.files import csv_text, write_all
from mpu_bench.quantities import CHECKPOINT_COLUMNS, RECORD_COLUMNS
from mpu_bench.results.curves import IDENTITY
from mpu_bench.results.folder import ResultsFolder
from mpu_bench.results.rows import made_publishable
from mpu_bench.results.summary import summaries
from mpu_bench.verdict import comparison
from mpu_bench.verdict.cells import COLUMNS

#: the files of a results folder that are written from its database
NAMES = ("runs.csv", "table.csv", "curves.csv", "mean_curves.csv", "comparison.csv", "environment.json")


def write(results: ResultsFolder) -> None:
    """Write every CSV of a results folder, and environment.json, from its database; each file whole or not at all.

    Raises
    ------
    StoreError
        If the folder cannot be written.
    """
    rows, means = summaries(results, earlier=True), results.mean_curves()
    cells = comparison.of_rows(results, [row for row in rows if not row["earlier"]])
    texts = (
        csv_text(results.records(earlier=True), RECORD_COLUMNS),
        csv_text(rows),
        csv_text(results.curves(), [*IDENTITY, *CHECKPOINT_COLUMNS, "run_id"]),
        csv_text(means),
        csv_text([asdict(cell) for cell in cells], COLUMNS),
        json.dumps(made_publishable({"machines": results.environments()}), indent=2) + "\n",
    )
    write_all(results.folder, dict(zip(NAMES, texts, strict=True)))
