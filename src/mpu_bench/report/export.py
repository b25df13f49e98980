"""A table of results in the forms that others read: CSV, Markdown, LaTeX, Parquet."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from mpu_bench.errors import ConfigError, nearest
from mpu_bench.files import csv_text, told_if_unwritable, written_whole
from mpu_bench.installed import extra
from mpu_bench.quantities import ON_PAGE, QUANTITIES, format_number
from mpu_bench.report import tables
from mpu_bench.report.tables import Best, Table
from mpu_bench.results import naming, problems, summary
from mpu_bench.results.folder import open_results
from mpu_bench.results.means import Summary

#: what a table for people holds
_SHOWN = tuple(quantity.name for quantity in ON_PAGE if quantity.in_exports)


@dataclass(frozen=True)
class Shape:
    """How a table for people looks: its quantities, in LaTeX its caption and label, whether the best are in bold."""

    columns: Sequence[str] = _SHOWN
    caption: str = ""
    label: str = ""
    bold: bool = False


_AS_ALWAYS = Shape()


def export(results: Path, form: str, out: Path | None, shape: Shape = _AS_ALWAYS) -> str | None:
    """Return a results folder's table in another form.

    Parameters
    ----------
    results : Path
    form : str
        csv, md, tex or parquet. CSV and Parquet hold every column of table.csv, Markdown and LaTeX those for people.
    out : Path or None
        The file to write; Parquet needs one.
    shape : Shape
        Of a table for people.

    Returns
    -------
    str or None
        The text, where no file was asked for.

    Raises
    ------
    ConfigError
        If there is no such form, or no such column, or the form is not for people and a shape is given; if Parquet has
        no file to go to, or its package is not installed.
    StoreError
        If the folder holds no results, or the file cannot be written.
    """
    writers: dict[str, Callable[[Sequence[Summary]], str]] = {
        "csv": _csv, "md": partial(markdown, shape=shape), "tex": partial(latex, shape=shape),
    }  # fmt: skip
    for name in shape.columns:
        if name not in QUANTITIES:
            raise ConfigError(f"--columns {name}: {nearest(name, QUANTITIES)}")
    if form in ("csv", "parquet") and shape != _AS_ALWAYS:
        raise ConfigError(
            f"--to {form}: holds every column; --columns, --caption, --label and --bold are of md and tex"
        )
    if form not in (*writers, "parquet"):
        raise ConfigError(f"--to {form}: {nearest(form, [*writers, 'parquet'])}")
    if form == "parquet" and out is None:
        raise ConfigError("--to parquet: is not text; name a file with --out")
    with open_results(results) as opened:
        rows = summary.summaries(opened, earlier=True)
    if out is None:
        return writers[form](rows)
    content = _parquet(rows) if form == "parquet" else writers[form](rows).encode()
    with told_if_unwritable(out), written_whole(out) as stream:
        stream.write(content)
    return None


def _csv(rows: Sequence[Summary]) -> str:
    return csv_text([row.table_row() for row in rows])


def _parquet(rows: Sequence[Summary]) -> bytes:
    import pandas as pd

    stream = io.BytesIO()
    try:
        pd.DataFrame([row.table_row() for row in rows]).to_parquet(stream)
    except ImportError:
        raise ConfigError(f"--to parquet: needs the package pyarrow: {extra('parquet')}") from None
    return stream.getvalue()


def _table(rows: Sequence[Summary], shape: Shape) -> Table:
    """Return the columns that say something, with standard deviations and the reported values."""
    varied = naming.varying(rows)
    columns = [
        ["dataset", *(row.dataset for row in rows)],
        [_solver_heading(rows), *(naming.solver_text(row, varied) for row in rows)],
    ]
    for column in problems.columns(rows, map(QUANTITIES.__getitem__, shape.columns)):
        if column.says_something(rows):
            best = _best(column, rows) if shape.bold else {}
            columns.append(
                [column.heading, *(best.get(id(row), str)(column.text(row) + column.spread(row)) for row in rows)]
            )
        if column.is_published(rows):
            columns.append([f"{column.heading}, published", *map(format_number, map(column.published, rows))])
    headings, *lines = zip(*columns, strict=True)
    return Table(headings, lines, "ll" + "r" * (len(headings) - 2))


def _best(column: problems.Shown, rows: Sequence[Summary]) -> dict[int, type[str]]:
    """Return `Best` by the identity of the rows that none of their dataset beats; no disturbed seconds beat others."""
    quantity, found = column.quantity, dict[int, type[str]]()
    for dataset in dict.fromkeys(row.dataset for row in rows):
        those = [(row, mean) for row in rows if row.dataset == dataset and (mean := column.mean(row)) is not None]
        if not quantity.better or (quantity.is_seconds and any(row.disturbed_runs for row, _ in those)):
            continue
        of_better = {"lower": min, "higher": max}
        means = [mean for _, mean in those]
        found |= {
            id(row): Best for row, mean in those if mean == of_better[problems.better_way(quantity.name, row)](means)
        }
    return found


def _solver_heading(rows: Sequence[Summary]) -> str:
    return f"solver ({naming.DISTURBED}: disturbed)" if any(row.disturbed_runs for row in rows) else "solver"


def markdown(rows: Sequence[Summary], shape: Shape = _AS_ALWAYS) -> str:
    """Return the table for people in Markdown."""
    return tables.markdown(_table(rows, shape))


def latex(rows: Sequence[Summary], shape: Shape = _AS_ALWAYS) -> str:
    """Return the table for people in LaTeX, for the packages array, booktabs and longtable."""
    text = tables.latex(_table(rows, shape))
    named = rf"\caption{{{tables.latex_text(shape.caption)}}}" if shape.caption else ""
    named += rf"\label{{{shape.label}}}" if shape.label else ""
    if not named:
        return text
    if r"\endhead" in text:
        return text.replace("\n", f"\n{named} \\\\\n", 1)
    return f"\\begin{{table}}\n\\centering\n{named}\n{text}\\end{{table}}\n"
