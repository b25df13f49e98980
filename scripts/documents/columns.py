"""docs/results.md: what every column of the results means, from mpu_bench/quantities.py."""

from __future__ import annotations

from dataclasses import fields

from mpu_bench.columns import Column, Quantity
from mpu_bench.quantities import DECLARED, RECORD_COLUMNS
from mpu_bench.report.tables import markdown_table
from mpu_bench.verdict.cells import COLUMNS, Cell

HEAD = """# What the results files hold

This page is written by `scripts/document.py` from `src/mpu_bench/quantities.py`.

A results folder holds one row a run in `runs.csv`, one row a checkpoint of a run in `curves.csv`, and means over seeds
and splits in `table.csv` and `mean_curves.csv`: there, a quantity `x` is the columns `x_mean` and `x_std` (the sample
standard deviation; empty for one run), `published_x` is the number of the reported table beside it, and `disturbed`
says how many of its runs were. An empty cell means that the number does not exist for this solver, or was not measured.
A text that a spreadsheet would take for a formula stands behind a `'`; a control character is written as `\\x1b` or the
like, and the home folder as `~`.

`mpu_bench.read(folder)` has the same tables as pandas DataFrames (`.runs`, `.table`, `.curves`, `.mean_curves`,
`.comparison`), with the same columns: integers as `Int64`, numbers as `float64`, texts as `string`, or as `category`
where few differ.
"""


#: of table.csv, besides the columns that name its runs, their means and the reported numbers
OF_TABLE = {
    "count": ("integer", "how many of its runs have a result, and are in the means"),
    "planned": ("integer", "how many runs there are in the plan"),
    "largest_pair": ("integer", "the training rows of the two largest classes, of a dataset of several"),
    "smallest_pair": ("integer", "those of the two smallest"),
}

#: of comparison.csv, a row for each reported number and each claim
OF_COMPARISON = {
    "kind": "value, ratio (of seconds), claim, fact (the size of a dataset), set (by the config) or recomputed",
    "table": "the reported table; empty for a claim that cites none",
    "row": "the row of that table, from 1; 0 where there is none",
    "dataset": "the dataset; empty where a claim covers several",
    "solver": "the solver",
    "budget": "the budget as it is reported",
    "parameters": "those of the measured runs, as JSON",
    "column": "the column of the reported table; of a claim, its words",
    "sentence": "the name of the paper's sentence that a claim states",
    "published": "the reported number; of ratios, that of both reported seconds",
    "published_std": "its standard deviation over runs, where one is reported",
    "published_runs": "how many runs the paper took the mean of, where it says",
    "measured": "the mean of this project's runs",
    "measured_std": "their sample standard deviation",
    "count": "how many runs there are",
    "difference": "measured - published",
    "allowed": "by how much both may differ and agree",
    "p_value": "that chance alone makes such a difference",
    "verdict": "see [Reproduce the papers and read a verdict](verdicts.md)",
    "direction": "of what differs: higher or lower",
    "judged": "of what differs, where that has a meaning: better or worse",
    "remark": "how the verdict came about, or why there is none",
    "explained": "why a number or claim is not reproduced, where it is known; it changes no verdict",
    "evidence": "what shows that: a config, the paper itself, or a computation; or what was tried",
    "points": "of a claim: over how many points it ranges",
    "points_measured": "how many of them are measured",
    "contradicted": "how many contradict it",
    "timed": "1 where a claim is about seconds",
}


def pages() -> dict[str, str]:
    """Return the page."""
    return {"results.md": _text()}


def _text() -> str:
    describing = [column for column in RECORD_COLUMNS.values() if not isinstance(column, Quantity)]
    columns = [("column", "type", "meaning"), *((f"`{each.name}`", _type(each), each.help) for each in describing)]
    headings = ("quantity", "type", "unit", "in", "meaning")
    quantities = [headings, *map(_quantity_line, DECLARED.values())]
    types = {"int": "integer", "float": "number", "str": "text", "Verdict": "text"}
    kinds = {each.name: types[str(each.type).partition(" ")[0]] for each in fields(Cell) if each.name in COLUMNS}
    judged = [("column", "type", "meaning"), *((f"`{name}`", kinds[name], OF_COMPARISON[name]) for name in COLUMNS)]
    own = [("column", "type", "meaning"), *((f"`{name}`", *told) for name, told in OF_TABLE.items())]
    return "\n".join([
        *(HEAD, "## Which run it is, and what became of it", "", markdown_table(columns)),
        *("## What is measured", "", markdown_table(quantities)),
        *("## What table.csv has besides", "", markdown_table(own)),
        *("## What comparison.csv holds", "", "A row for each reported value and each claim.", ""),
        markdown_table(judged),
    ]).rstrip() + "\n"  # fmt: skip


def _type(column: Column) -> str:
    return {"TEXT": "text", "INTEGER": "integer", "REAL": "number"}[column.type]


def _quantity_line(quantity: Quantity) -> tuple[str, ...]:
    files = {"runs": quantity.in_runs, "curves": quantity.in_curves, "table": quantity.averaged}
    names = ", ".join(name for name, has_it in files.items() if has_it)
    return f"`{quantity.name}`", _type(quantity), quantity.unit, names, quantity.help
