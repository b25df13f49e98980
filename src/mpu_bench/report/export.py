"""A table of results in the forms that others read: CSV, Markdown, LaTeX, Parquet."""

from __future__ import annotations

import io
import re
import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from mpu_bench.errors import ConfigError, nearest
from mpu_bench.files import csv_text, told_if_unwritable, written_whole
from mpu_bench.installed import extra
from mpu_bench.quantities import ON_PAGE, QUANTITIES, format_number
from mpu_bench.results import naming, problems, summary
from mpu_bench.results.folder import open_results
from mpu_bench.results.means import Summary
from mpu_bench.texts import one_line, publishable

#: what a table for people holds
_SHOWN = tuple(quantity.name for quantity in ON_PAGE if quantity.in_exports)

Line = Sequence[str]  #: the cells of a line of a table; the first line holds the headings


class Best(str):
    """A cell that is the best of its dataset in its column, to be set in bold."""

    __slots__ = ()


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


def _lines(rows: Sequence[Summary], shape: Shape) -> list[Line]:
    """Return the columns that say something, with standard deviations and the published numbers."""
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
    return list(zip(*columns, strict=True))


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
    return markdown_lines(_lines(rows, shape))


def markdown_lines(lines: Sequence[Line]) -> str:
    """Return lines of cells, whose words are words, as a table in Markdown."""
    return markdown_table(list(map(_markdown_cells, lines)))


def markdown_table(lines: Sequence[Line]) -> str:
    """Return lines of cells, each of them Markdown, as a table."""
    ruled = [lines[0], ["---"] * len(lines[0]), *lines[1:]]
    return "".join(f"| {' | '.join(line)} |\n" for line in ruled)


def _markdown_cells(line: Line) -> list[str]:
    """Return cells whose words are words: no tag, no link, no emphasis and no edge of a cell."""
    escaped = [_MARKDOWN.sub(r"\\\g<0>", publishable(one_line(cell, _LONGEST_CELL)).translate(_TAGS)) for cell in line]
    return [f"**{text}**" if isinstance(cell, Best) else text for cell, text in zip(line, escaped, strict=True)]


def latex(rows: Sequence[Summary], shape: Shape = _AS_ALWAYS) -> str:
    """Return the table for people in LaTeX, for the packages array, booktabs and longtable."""
    lines = _lines(rows, shape)
    text = latex_lines(lines, "ll" + "r" * (len(lines[0]) - 2))
    named = rf"\caption{{{latex_text(shape.caption)}}}" if shape.caption else ""
    named += rf"\label{{{shape.label}}}" if shape.label else ""
    if not named:
        return text
    if r"\endhead" in text:
        return text.replace("\n", f"\n{named} \\\\\n", 1)
    return f"\\begin{{table}}\n\\centering\n{named}\n{text}\\end{{table}}\n"


def latex_lines(lines: Sequence[Line], columns: str) -> str:
    """Return lines of cells in LaTeX, without empty columns; ``columns`` says how they are aligned: ``"llr"``."""
    kept = [(*column, side) for *column, side in zip(*lines, columns, strict=True) if any(column[1:]) or not lines[1:]]
    *full, sides = zip(*kept, strict=True)
    widest = [max(map(len, column[1:-1]), default=0) for column in kept]
    body = [" & ".join(map(latex_text, line)) for line in full[1:]]
    rows = sum(1 + max(map(len, line), default=0) // _LONGEST_WORDS for line in full[1:])
    return latex_table(latex_headings(full[0], widest, sides), body, _wrapped(widest, sides), rows)


def _wrapped(widest: Sequence[int], sides: Sequence[str]) -> str:
    """Return how columns are aligned where those of many letters are paragraphs that share most of the page."""
    count = sum(width > _LONGEST_WORDS for width in widest)
    share = f"{min(0.28, 0.66 / max(count, 1)):.2g}"
    paragraph = rf">{{\raggedright\arraybackslash}}p{{{share}\linewidth}}"
    return "".join(paragraph if width > _LONGEST_WORDS else side for width, side in zip(widest, sides, strict=True))


def latex_table(headings: str, body: Sequence[str], columns: str, rows: int) -> str:
    """Return lines of LaTeX, without the breaks behind them, as a table; of more than a page as one that is broken."""
    lines = [rf"{line} \\" for line in body]
    head = [r"\toprule", rf"{headings} \\", r"\midrule"]
    name = "tabular"
    if rows > _LONGEST_TABLE:
        name, head = "longtable", [*head, r"\endhead"]
    return "\n".join([rf"\begin{{{name}}}{{{columns}}}", *head, *lines, r"\bottomrule", rf"\end{{{name}}}", ""])


def latex_headings(headings: Line, widest: Sequence[int], sides: Iterable[str]) -> str:
    """Return headings in LaTeX, each in so many rows that it widens no column whose cells have ``widest`` letters."""
    stacked = []
    for heading, width, side in zip(headings, widest, sides, strict=True):
        tied = heading.replace(" %", f"{_TIE}%")
        longest = max(width, *map(len, tied.split(" ")), 1)
        rows = textwrap.wrap(tied, longest, break_on_hyphens=False)
        words = r" \\ ".join(latex_text(row.replace(_TIE, " ")) for row in rows)
        stacked.append(rf"\shortstack[{side}]{{{words}}}" if len(rows) > 1 else words)
    return " & ".join(stacked)


#: what HTML, then what Markdown would take for more than a word; an underscore within a word is one
_TAGS = {ord("&"): "&amp;", ord("<"): "&lt;", ord(">"): "&gt;"}
_MARKDOWN = re.compile(r"[\\`*\[\]|]|(?<!\w)_|_(?!\w)")
_LONGEST_CELL = 1000  # bytes; CSV files have the whole
_TIE = "\0"  # stands for a blank at which no row ends
_LONGEST_TABLE = 45  # rows of text in LaTeX; more of them do not stand on a page
_LONGEST_WORDS = 30  # letters of a column in LaTeX that stand beside each other

_POWER = re.compile(r"e([+-]?\d+)")
_NUMBER = re.compile(r"-?[\d.]+(e[+-]?\d+)?( ±[\d.]+(e[+-]?\d+)?)?")
_PLUS_MINUS = r"\pm "

_ESCAPES = str.maketrans(
    {character: f"\\{character}" for character in "&%$#_{}"}
    | {"±": r"$\pm$", naming.DISTURBED: r"\dag{}", "\\": r"\textbackslash{}", "^": r"\^{}", "~": r"\~{}"}
    | {"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", "[": "{[}", "*": "{*}"}  # \\[ would be a skip
)


def latex_text(cell: str) -> str:
    """Return a cell whose words are words, in LaTeX."""
    text = publishable(one_line(cell, _LONGEST_CELL)).translate(_ESCAPES)
    if "e" in cell and _NUMBER.fullmatch(cell):
        text = f"${_POWER.sub(_times_power, cell).replace('±', _PLUS_MINUS)}$"
    return rf"{{\boldmath\textbf{{{text}}}}}" if isinstance(cell, Best) else text


def _times_power(exponent: re.Match[str]) -> str:
    return rf" \times 10^{{{int(exponent[1])}}}"
