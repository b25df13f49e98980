"""Records -> runs.csv, table.csv, curves.csv, bands.csv, comparison.csv and environment.json."""

from __future__ import annotations

import json
from dataclasses import asdict

from mpu_bench.errors import StoreError
from mpu_bench.files import columns_of, csv_text, write_text
from mpu_bench.quantities import CHECKPOINT_COLUMNS, RECORD_COLUMNS
from mpu_bench.results.curves import IDENTITY, curves_of, mean_curves
from mpu_bench.results.store import Store
from mpu_bench.results.summary import summaries
from mpu_bench.verdict import comparison


def write(store: Store) -> None:
    """Write every CSV of a results folder, and environment.json, from its store; each file whole or not at all.

    Raises
    ------
    StoreError
        If the folder cannot be written.
    """
    records = store.records()
    rows = summaries(store)
    curves = curves_of(store)
    bands = mean_curves(curves)
    cells = comparison.of_rows(store, rows, bands)
    texts = {
        "runs.csv": csv_text(list(RECORD_COLUMNS), records),
        "table.csv": csv_text(columns_of(rows), rows),
        "curves.csv": csv_text([*IDENTITY, *CHECKPOINT_COLUMNS, "run_id"], curves),
        "bands.csv": csv_text(columns_of(bands), bands),
        "comparison.csv": csv_text(comparison.COLUMNS, [asdict(cell) for cell in cells]),
        "environment.json": json.dumps({"machines": store.environments()}, indent=2) + "\n",
    }
    try:
        for name, text in texts.items():
            write_text(store.folder / name, text)
    except OSError as fault:
        raise StoreError(f"{store.folder}: the tables cannot be written: {fault.strerror}") from None
