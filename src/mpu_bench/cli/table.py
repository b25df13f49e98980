"""The table of an experiment in the terminal: a block per dataset, means ± deviations, published numbers beside."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table

from mpu_bench.quantities import FINISHED, QUANTITIES, Quantity, RunStatus, format_number
from mpu_bench.results import naming
from mpu_bench.results.summary import Summary, disturbed_remark, summarize


class _Column(NamedTuple):
    """A column: which quantity, and when it is left out.

    Where the screen is too narrow, the columns of the highest ``rank`` go first; those of rank 0 stay.
    """

    name: str
    rank: int
    has_spread: bool = False  #: its standard deviation is shown
    goes_with: str = ""  #: shown only where this quantity is known too

    @property
    def quantity(self) -> Quantity:
        return QUANTITIES[self.name]


_COLUMNS = (
    _Column("objective", 1, has_spread=True),
    _Column("suboptimality", 2),
    _Column("gap", 3),
    _Column("test_error_percent", 0, has_spread=True),
    _Column("online_error_percent", 3, has_spread=True),
    _Column("train_seconds", 0),
    _Column("margin", 9, goes_with="margin_fraction"),
    _Column("margin_fraction", 1),
    _Column("margin_fraction_wanted", 2),
    _Column("updates", 8, goes_with="update_bound"),
    _Column("update_bound", 8),
    _Column("nu", 2),
    _Column("passes", 6),
    _Column("kernel_evaluations", 5),
    _Column("support_vectors", 4),
)
_ABSENT_IF_ZERO = ("kernel_evaluations", "support_vectors")  # a linear solver has none
_HEADING_WIDTH = 9  # letters, beyond which a heading goes on in the next line
_EVERYTHING = 1000  # letters, wider than any table


def print_table(records: Sequence[Mapping[str, Any]], published: Sequence[str], console: Console) -> None:
    """Print a block per dataset, leaving out columns that the screen has no room for."""
    rows = summarize(records, published)
    varying = naming.varying(rows)
    left_out: set[str] = set()
    for dataset in dict.fromkeys(row["dataset"] for row in rows):
        block = [row for row in rows if row["dataset"] == dataset]
        columns = [column for column in _COLUMNS if _any(block, f"{column.goes_with or column.name}_mean")]
        table = _block(block, columns, varying)
        while any(column.rank for column in columns) and not _fits(table, console):
            last = max(columns, key=lambda column: column.rank)
            left_out.add(last.quantity.heading)
            columns.remove(last)
            table = _block(block, columns, varying)
        console.print(table)
    if left_out:
        names = "; ".join(sorted(left_out))
        console.print(f"no room here for {names}: see table.csv", style="dim", highlight=False)


def _fits(table: Table, console: Console) -> bool:
    return Measurement.get(console, console.options.update(max_width=_EVERYTHING), table).maximum <= console.width


def _block(rows: Sequence[Summary], columns: Sequence[_Column], varying: Mapping[str, set[str]]) -> Table:
    several = any(row["planned"] > 1 or not row["count"] for row in rows)
    table = Table(title=_title(rows[0]), box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.title_justify, table.title_style = "left", "bold"
    table.add_column("solver", overflow="fold")
    if several:
        table.add_column("runs", justify="right")
    for column in columns:
        table.add_column(_heading(column.quantity), justify="right", overflow="fold")
        if _any(rows, f"published_{column.name}"):
            table.add_column("published", justify="right", style="dim", overflow="fold")
    for row in rows:
        names = [naming.solver_text(row, varying), *([_runs_text(row)] if several else [])]
        table.add_row(*names, *_cells(row, rows, columns))
    return table


def _heading(quantity: Quantity) -> str:
    """Return a quantity's title in short lines; its unit stays with the last word."""
    lines = textwrap.wrap(quantity.heading.replace(", ", ",\u00a0"), _HEADING_WIDTH, break_long_words=False)
    return "\n".join(lines).replace("\u00a0", " ")


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
        mean, deviation = row[f"{column.name}_mean"], row[f"{column.name}_std"]
        is_absent = mean == 0 and column.name in _ABSENT_IF_ZERO
        text = "" if is_absent else column.quantity.text(mean)
        cells.append(text + (column.quantity.spread(deviation) if column.has_spread else ""))
        if _any(rows, f"published_{column.name}"):
            cells.append(format_number(row.get(f"published_{column.name}")))
    return cells


def remarks(
    records: Sequence[Mapping[str, Any]], machines: Sequence[Mapping[str, Any]], published: Sequence[str]
) -> list[str]:
    """Return what a reader of the table must know: what did not finish and why, whether seconds may be compared."""
    failed = [record for record in records if record["status"] not in (*FINISHED, RunStatus.NOT_RUN)]
    lines = [
        f"{each['dataset']} {each['solver']} seed={each['seed']}: {each['status']}: {each['reason']}" for each in failed
    ]
    done = [record for record in records if record["status"] == RunStatus.DONE and record["reason"]]
    lines += dict.fromkeys(f"{each['dataset']} {each['solver']}: {each['reason']}" for each in done)
    lines += dict.fromkeys(map(_tuning_remark, filter(None, (record["tuned"] for record in records))))
    if missing := sum(record["status"] == RunStatus.NOT_RUN for record in records):
        lines.append(f"{missing} of {len(records)} runs are not done yet")
    if len({json.dumps([each["processor"], each["cores"], each["threads"]]) for each in machines}) > 1:
        lines.append("these runs used different machines or numbers of threads: do not compare their seconds")
    if remark := disturbed_remark(records):
        lines.append(f"{remark}; run them again with --force when the machine is quiet")
    if published and any(record["status"] in FINISHED for record in records):
        lines.append(f"published: the numbers of {', '.join(published)}; their seconds are those of the paper's machine")
    return lines


def _tuning_remark(tuned: str) -> str:
    chosen = f"chosen: the best of {tuned}"
    if tuned.endswith("on test set"):
        return f"{chosen}: CHOSEN ON THE TEST SET ITSELF, so these errors are too low"
    return f"{chosen}; the seconds of tuning are not in these, but in tune_seconds of table.csv"
