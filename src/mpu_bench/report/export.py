"""A table of results in the forms that others read: CSV, Markdown, LaTeX, HTML, Parquet."""

from __future__ import annotations

import io
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

from mpu_bench.errors import ConfigError, check_known
from mpu_bench.files import as_store_error, csv_text, written_whole
from mpu_bench.installed import extra
from mpu_bench.quantities import ON_PAGE, QUANTITIES, format_number
from mpu_bench.report import figure_parts as parts
from mpu_bench.report import tables
from mpu_bench.report.tables import Best, Table
from mpu_bench.results import machines, naming, summary
from mpu_bench.results.folder import open_results
from mpu_bench.results.means import Summary, by_dataset

#: what a table for people holds
_SHOWN = tuple(quantity.name for quantity in ON_PAGE if quantity.in_exports)
ROWS = ("datasets", "solvers")  #: either may be the rows, and the other is columns then


@dataclass(frozen=True)
class Shape:
    """How a table for people looks.

    Attributes
    ----------
    columns : sequence of str
        The quantities that it shows.
    rows : {"", "datasets", "solvers"}
        What a row is; of each quantity the others are columns. Empty: a row is a solver on a dataset.
    caption, label : str
        Of the table in LaTeX and HTML.
    bold_best : bool
        Whether the best of each dataset are in bold.
    """

    columns: Sequence[str] = _SHOWN
    rows: str = ""
    caption: str = ""
    label: str = ""
    bold_best: bool = False


_AS_ALWAYS = Shape()
_ALL = tuple(field.name for field in fields(Shape))
#: form -> what of its shape can be chosen
FORMS: dict[str, Collection[str]] = {
    "csv": ("columns", "rows"), "md": ("columns", "rows", "bold_best"), "tex": _ALL, "html": _ALL, "parquet": (),
}  # fmt: skip


def export(results: Path, form: str, out: Path | None, shape: Shape = _AS_ALWAYS) -> str | None:
    """Return a results folder's table in another form.

    Parameters
    ----------
    results : Path
    form : str
        One of `FORMS`. Parquet, and CSV whose shape is as always, hold every column of table.csv.
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
        If there is no such form, column or kind of rows, or the form cannot have this shape; if Parquet has no file to
        go to, or its package is not installed.
    StoreError
        If the folder holds no results, or the file cannot be written.
    """
    _check(form, shape)
    if form == "parquet" and out is None:
        raise ConfigError("--to parquet: is not text; name a file with --out")
    with open_results(results) as opened:
        runs = machines.located(opened.records(), opened.environments())
        rows = machines.with_runs(summary.summaries(opened, earlier=not shape.rows), runs)
    content = _parquet(rows) if form == "parquet" else _text(rows, form, shape).encode()
    if out is None:
        return content.decode()
    with as_store_error(out), written_whole(out) as stream:
        stream.write(content)
    return None


def _check(form: str, shape: Shape) -> None:
    named: list[tuple[str, str, Collection[str]]] = [("columns", name, QUANTITIES) for name in shape.columns]
    for option, name, valid in [("to", form, FORMS), ("rows", shape.rows or ROWS[0], ROWS), *named]:
        check_known(name, valid, f"--{option} {name}")
    for option in _ALL:
        if getattr(shape, option) != getattr(_AS_ALWAYS, option) and option not in FORMS[form]:
            able = ", ".join(other for other, options in FORMS.items() if option in options)
            raise ConfigError(f"--to {form}: has no --{option.replace('_', '-')}; {able} have it")


def _text(rows: Sequence[Summary], form: str, shape: Shape) -> str:
    if form == "csv" and shape == _AS_ALWAYS:
        return csv_text([row.table_row() for row in rows])
    shaped = _crossed(rows, shape) if shape.rows else _table(rows, shape)
    writers = {"csv": tables.csv, "md": tables.markdown, "tex": tables.latex, "html": tables.html}
    return writers[form](replace(shaped, title=shape.caption, name=shape.label))


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
        [_heading("solver", rows), *(naming.solver_text(row, varied) for row in rows)],
    ]
    for column in naming.columns(rows, map(QUANTITIES.__getitem__, shape.columns)):
        if column.says_something(rows):
            columns.append([column.heading, *_cells(column, rows, shape)])
        if column.is_published(rows):
            columns.append([f"{column.heading}, published", *map(format_number, map(column.published, rows))])
    headings, *lines = zip(*columns, strict=True)
    return Table(headings, lines, "ll" + "r" * (len(headings) - 2))


def _crossed(rows: Sequence[Summary], shape: Shape) -> Table:
    """Return a table of datasets by solvers, or the reverse, below each quantity; without what has no result."""
    named = list(_named(rows))
    rows = [row for row, _ in named]
    pairs = [(row.dataset, name) if shape.rows == "datasets" else (name, row.dataset) for row, name in named]
    lines = {first: [first] for first, _ in pairs}
    headings, groups, marked = [], [("", 1)], []
    for column in naming.columns(rows, map(QUANTITIES.__getitem__, shape.columns)):
        cells = dict(zip(pairs, _cells(column, rows, shape), strict=True))
        shown = list(dict.fromkeys(second for (_, second), cell in cells.items() if cell))
        if column.says_something(rows):
            groups.append((column.heading, len(shown)))
            headings += shown
            marked += rows if column.quantity.is_seconds else []
            for first, line in lines.items():
                line += [cells.get((first, second), "") for second in shown]
    corner = _heading(shape.rows.removesuffix("s"), marked)
    return Table([corner, *headings], list(lines.values()), "l" + "r" * len(headings), groups=groups)


def _named(rows: Sequence[Summary]) -> Iterator[tuple[Summary, str]]:
    """Yield rows with a result and what tells the solvers of a dataset apart, but for solvers that find the optimum."""
    finished = [row for row in parts.contestants(rows) if row.count]
    varied = parts.varying(finished)
    for block in by_dataset(finished).values():
        yield from zip(block, naming.numbered([naming.run_text(row, varied) for row in block]), strict=True)


def _cells(column: naming.Shown, rows: Sequence[Summary], shape: Shape) -> list[str]:
    """Return the means with their deviations, `Best` where they are, and of how many runs where some have no result.

    Where rows are no runs, disturbed seconds are marked.
    """
    best = {name: _best(column, block) for name, block in by_dataset(rows).items()} if shape.bold_best else {}
    cells = []
    for row in rows:
        text = column.text(row)
        is_best = text == best.get(row.dataset) and row in _competing([row])
        is_marked = text and shape.rows and column.quantity.is_seconds and row.disturbed_runs
        partly = f" ({row.count} of {row.planned} runs)" if row.count < row.planned else ""
        cell = text and text + column.spread(row) + partly + (f" {naming.DISTURBED}" if is_marked else "")
        cells.append(Best(cell) if text and is_best else cell)
    return cells


def _best(column: naming.Shown, rows: Sequence[Summary]) -> str:
    """Return the best mean of a dataset as it is written; empty for a single one, and where they do not compare."""
    measured = [row for row in _competing(rows) if column.mean(row) is not None]
    means = [mean for row in measured if (mean := column.mean(row)) is not None]
    is_open = column.quantity.is_seconds and any(row.disturbed_runs for row in rows)
    is_open |= not parts.is_comparable(column.quantity.name, measured)
    is_open |= column.quantity.name == "objective" and len(set(map(naming.function_of, measured))) > 1
    ways = {naming.better_way(column.quantity.name, row) for row in measured}  # of the rows of its problem
    best = {"lower": min, "higher": max}.get(ways.pop()) if len(ways) == 1 else None
    return column.quantity.text(best(means)) if best and len(means) > 1 and not is_open else ""


def _competing(rows: Sequence[Summary]) -> list[Summary]:
    """Return the rows of which one may be the best: means of other runs, or of some of them, do not compare."""
    return [row for row in parts.contestants(rows) if row.count == row.planned and not row.earlier]


def _heading(word: str, rows: Sequence[Summary]) -> str:
    return f"{word} ({naming.DISTURBED}: disturbed)" if any(row.disturbed_runs for row in rows) else word
