"""docs/results.md: what every column of the results means, from mpu_bench/quantities.py."""

from __future__ import annotations

from mpu_bench.quantities import DECLARED, RECORD_COLUMNS, Column, Quantity
from mpu_bench.report.export import markdown_table

HEAD = """# What the results files hold

This page is written by `scripts/document.py` from `src/mpu_bench/quantities.py`.

A results folder holds one row a run in `runs.csv`, one row a checkpoint of a run in `curves.csv`, and means over seeds
and splits in `table.csv` and `mean_curves.csv`: there, a quantity `x` is the columns `x_mean` and `x_std` (the sample
standard deviation; empty for one run), `published_x` is the number of the published table beside it, and `disturbed`
says how many of its runs were. An empty cell means that the number does not exist for this solver, or was not measured.
A text that a spreadsheet would take for a formula stands behind a `'`; a control character is written as `\\x1b` or the
like, and the home folder as `~`.

`mpu_bench.read(folder)` has the same tables as pandas DataFrames (`.runs`, `.table`, `.curves`, `.mean_curves`,
`.comparison`), with the same columns: integers as `Int64`, numbers as `float64`, texts as `string`, or as `category`
where few differ.
"""


def pages() -> dict[str, str]:
    """Return the page."""
    return {"results.md": _text()}


def _text() -> str:
    describing = [column for column in RECORD_COLUMNS.values() if not isinstance(column, Quantity)]
    columns = [("column", "type", "meaning"), *((f"`{each.name}`", _type(each), each.help) for each in describing)]
    headings = ("quantity", "type", "unit", "in", "meaning")
    quantities = [headings, *map(_quantity_line, DECLARED.values())]
    return "\n".join([
        *(HEAD, "## Which run it is, and what became of it", "", markdown_table(columns)),
        *("## What is measured", "", markdown_table(quantities)),
    ]).rstrip() + "\n"  # fmt: skip


def _type(column: Column) -> str:
    return {"TEXT": "text", "INTEGER": "integer", "REAL": "number"}[column.type]


def _quantity_line(quantity: Quantity) -> tuple[str, ...]:
    files = {"runs": quantity.in_runs, "curves": quantity.in_curves, "table": quantity.averaged}
    names = ", ".join(name for name, has_it in files.items() if has_it)
    return f"`{quantity.name}`", _type(quantity), quantity.unit, names, quantity.help
