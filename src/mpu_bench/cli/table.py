"""The table of an experiment for people: a block per dataset, means with deviations, the paper's numbers beside."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table

from mpu_bench.quantities import FINISHED
from mpu_bench.results import naming
from mpu_bench.results.summary import Summary, summarize


class _Column(NamedTuple):
    """A column: which quantity, how it is written, whether its deviation is shown, and when it is left out.

    Where the screen is too narrow, the columns of the highest ``rank`` go first; those of rank 0 stay.
    """

    heading: str
    quantity: str
    form: str
    rank: int
    deviation: bool = False
    goes_with: str = ""  #: shown only where this quantity is known too


_COLUMNS = (
    _Column("objective", "objective", "{:.7g}", 1, deviation=True),
    _Column("deviation", "deviation", "{:.1e}", 2),
    _Column("gap", "gap", "{:.1e}", 3),
    _Column("error %", "test_error_percent", "{:.2f}", 0, deviation=True),
    _Column("online %", "online_error_percent", "{:.2f}", 3, deviation=True),
    _Column("seconds", "train_seconds", "{:.3g}", 0),
    _Column("margin", "margin", "{:.4g}", 9, goes_with="margin_fraction"),
    _Column("of max ≥", "margin_fraction", "{:.4f}", 1),
    _Column("wanted", "margin_fraction_wanted", "{:.4f}", 2),
    _Column("updates", "updates", "{:.3g}", 8, goes_with="update_bound"),
    _Column("at most", "update_bound", "{:.3g}", 8),
    _Column("nu", "nu", "{:.4g}", 2),
    _Column("passes", "passes", "{:.3g}", 6),
    _Column("evaluations", "kernel_evaluations", "{:.2e}", 5),
    _Column("vectors", "support_vectors", "{:.0f}", 4),
)
_ABSENT_IF_ZERO = ("kernel_evaluations", "support_vectors")  # a linear solver has none


def print_table(records: Sequence[Mapping[str, Any]], published_table: str | None, console: Console) -> None:
    """Print a block per dataset, leaving out columns that the screen has no room for."""
    rows = summarize(records, published_table)
    varying = naming.varying(rows)
    left_out: set[str] = set()
    for dataset in dict.fromkeys(row["dataset"] for row in rows):
        block = [row for row in rows if row["dataset"] == dataset]
        columns = [column for column in _COLUMNS if _any(block, f"{column.goes_with or column.quantity}_mean")]
        table = _block(block, columns, varying)
        while any(column.rank for column in columns) and not _fits(table, console):
            last = max(columns, key=lambda column: column.rank)
            left_out.add(last.heading)
            columns.remove(last)
            table = _block(block, columns, varying)
        console.print(table)
    if left_out:
        console.print(f"no room here for {', '.join(sorted(left_out))}: see table.csv", style="dim", highlight=False)


def _fits(table: Table, console: Console) -> bool:
    return Measurement.get(console, console.options.update(max_width=1000), table).maximum <= console.width


def _block(rows: Sequence[Summary], columns: Sequence[_Column], varying: Mapping[str, set[str]]) -> Table:
    several = any(row["planned"] > 1 or not row["count"] for row in rows)
    table = Table(
        title=_title(rows[0]), title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False,
        show_edge=False,
    )  # fmt: skip
    table.add_column("solver", overflow="fold")
    if several:
        table.add_column("runs", justify="right")
    for column in columns:
        table.add_column(column.heading, justify="right", overflow="fold")
        if _any(rows, f"published_{column.quantity}"):
            table.add_column("paper", justify="right", style="dim", overflow="fold")
    for row in rows:
        named = [naming.solver_text(row, varying), *([_runs_text(row)] if several else [])]
        table.add_row(*named, *_cells(row, rows, columns))
    return table


def _runs_text(row: Summary) -> str:
    if not row["count"]:
        return str(row["status"])
    return str(row["count"]) if row["count"] == row["planned"] else f"{row['count']} of {row['planned']}"


def _title(row: Summary) -> str:
    if row["n"] is None:
        return str(row["dataset"])
    test = f", {row['n_test']} test rows" if row["n_test"] else ""
    return f"\n{row['dataset']}: {row['n']} x {row['d']}{test}"


def _any(rows: Sequence[Summary], name: str) -> bool:
    return any(row.get(name) not in (None, 0) for row in rows)


def _cells(row: Summary, rows: Sequence[Summary], columns: Sequence[_Column]) -> list[str]:
    if not row["count"]:
        return []
    cells = []
    for column in columns:
        mean, deviation = row[f"{column.quantity}_mean"], row[f"{column.quantity}_std"]
        text = "" if mean is None or (mean == 0 and column.quantity in _ABSENT_IF_ZERO) else column.form.format(mean)
        cells.append(f"{text} ±{deviation:.1g}" if column.deviation and deviation else text)
        if _any(rows, f"published_{column.quantity}"):
            printed = row.get(f"published_{column.quantity}")
            cells.append("" if printed is None else f"{printed:g}")
    return cells


def remarks(
    records: Sequence[Mapping[str, Any]], machines: Sequence[Mapping[str, Any]], published_table: str | None
) -> list[str]:
    """Say what a reader of the table must know: what did not finish and why, and whether seconds may be compared."""
    failed = [record for record in records if record["status"] not in (*FINISHED, "not run")]
    lines = [
        f"{each['dataset']} {each['solver']} seed={each['seed']}: {each['status']}: {each['reason']}" for each in failed
    ]
    done = [record for record in records if record["status"] == "done" and record["reason"]]
    lines += dict.fromkeys(f"{each['dataset']} {each['solver']}: {each['reason']}" for each in done)
    lines += dict.fromkeys(map(_tuned_text, filter(None, (record["tuned"] for record in records))))
    if missing := sum(record["status"] == "not run" for record in records):
        lines.append(f"{missing} of {len(records)} runs are not done yet")
    if len({json.dumps([each["processor"], each["cores"], each["threads"]]) for each in machines}) > 1:
        lines.append(
            "these runs were made on different machines or with different threads: do not compare their seconds"
        )
    if published_table is not None and any(record["status"] in FINISHED for record in records):
        lines.append(
            f"paper: the numbers of {published_table} as printed; its seconds are those of the paper's machine"
        )
    return lines


def _tuned_text(tuned: str) -> str:
    chosen = f"chosen: the best of {tuned}"
    if tuned.endswith("on test set"):
        return f"{chosen}: CHOSEN BY THE TEST ROWS THEMSELVES, these errors are too good"
    return f"{chosen}; what that cost is not in seconds but in tune_seconds of table.csv"
