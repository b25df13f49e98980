"""A table of results in the forms that others read: CSV, Markdown, LaTeX, Parquet."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mpu_bench.errors import ConfigError, StoreError, nearest
from mpu_bench.files import as_csv
from mpu_bench.results import naming, summary
from mpu_bench.results.store import Store

if TYPE_CHECKING:
    import pandas as pd

FORMS = ("csv", "md", "tex", "parquet")

#: what a table for people holds: heading, quantity, and how it is written
_SHOWN = (
    ("objective", "objective", "{:.7g}"),
    ("error, %", "test_error_percent", "{:.2f}"),
    ("online error, %", "online_error_percent", "{:.2f}"),
    ("nu", "nu", "{:.4g}"),
    ("seconds", "train_seconds", "{:.3g}"),
    ("kernel evaluations", "kernel_evaluations", "{:.3g}"),
    ("vectors", "support_vectors", "{:.0f}"),
)


def export(results: Path, form: str, out: Path | None) -> str | None:
    """Give a results folder's table in another form.

    Parameters
    ----------
    results : Path
    form : str
        One of `FORMS`. CSV and Parquet hold every column of table.csv, Markdown and LaTeX those for people.
    out : Path or None
        The file to write; Parquet needs one.

    Returns
    -------
    str or None
        The text, where no file was asked for.

    Raises
    ------
    ConfigError
        If there is no such form, Parquet has no file to go to, or its package is not installed.
    StoreError
        If the folder holds no results, or the file cannot be written.
    """
    if form not in FORMS:
        raise ConfigError(f"--to {form}: {nearest(form, FORMS)}")
    with Store(results) as store:
        rows = summary.summaries(store)
    try:
        if form == "parquet":
            _to_parquet(rows, out)
            return None
        text = as_csv(rows) if form == "csv" else markdown(rows) if form == "md" else latex(rows)
        if out is None:
            return text
        out.write_text(text, encoding="utf-8")
    except OSError as fault:
        raise StoreError(f"{out}: cannot be written: {fault.strerror or fault}") from None
    return None


def _to_parquet(rows: Sequence[summary.Summary], out: Path | None) -> None:
    if out is None:
        raise ConfigError("--to parquet: is not text; name a file with --out")
    import pandas as pd

    try:
        pd.DataFrame(rows).to_parquet(out)
    except ImportError:
        raise ConfigError("--to parquet: needs the package pyarrow: pip install pyarrow") from None


def _for_people(rows: Sequence[summary.Summary]) -> pd.DataFrame:
    """Choose the columns that say something, with deviations and the printed numbers."""
    import pandas as pd

    varied = naming.varying(rows)
    columns: dict[str, list[str]] = {
        "dataset": [row["dataset"] for row in rows],
        "solver": [naming.solver_text(row, varied) for row in rows],
    }
    for heading, quantity, form in _SHOWN:
        if any(row[f"{quantity}_mean"] not in (None, 0) for row in rows):
            columns[heading] = [_number(row, quantity, form) for row in rows]
        if any(row.get(f"published_{quantity}") is not None for row in rows):
            columns[f"{heading}, printed"] = [_printed(row.get(f"published_{quantity}")) for row in rows]
    return pd.DataFrame(columns)


def _number(row: summary.Summary, quantity: str, form: str) -> str:
    mean, deviation = row[f"{quantity}_mean"], row[f"{quantity}_std"]
    if mean is None:
        return ""
    return form.format(mean) + (f" ± {deviation:.2g}" if deviation else "")


def _printed(value: Any) -> str:
    return "" if value is None else f"{value:g}"


def markdown(rows: Sequence[summary.Summary]) -> str:
    """Write the table for people in Markdown."""
    table = _for_people(rows)
    return markdown_lines([list(table.columns), *table.to_numpy().tolist()])


def markdown_lines(lines: Sequence[Sequence[object]]) -> str:
    """Write lines of cells, the first of them headings, as a table in Markdown."""
    ruled = [lines[0], ["---"] * len(lines[0]), *lines[1:]]
    return "".join(f"| {' | '.join(str(each).replace('|', '/') for each in line)} |\n" for line in ruled)


def latex(rows: Sequence[summary.Summary]) -> str:
    """Write the table for people in LaTeX, for the package booktabs."""
    table = _for_people(rows)
    return latex_lines([list(table.columns), *table.to_numpy().tolist()], "ll" + "r" * (len(table.columns) - 2))


def latex_lines(lines: Sequence[Sequence[object]], columns: str) -> str:
    """Write lines of cells, the first of them headings, in LaTeX; ``columns`` says how they stand: ``"llr"``."""
    written = [_latex_line(lines[0]), r"\midrule", *map(_latex_line, lines[1:])]
    return "\n".join([rf"\begin{{tabular}}{{{columns}}}", r"\toprule", *written, r"\bottomrule", r"\end{tabular}", ""])


_ESCAPES = str.maketrans(
    {character: f"\\{character}" for character in "&%$#_{}"} | {"±": r"$\pm$", "\\": r"\textbackslash{}", "^": r"\^{}",
                                                               "~": r"\~{}"}
)  # fmt: skip


def _latex_line(cells: Sequence[object]) -> str:
    return " & ".join(str(cell).translate(_ESCAPES) for cell in cells) + r" \\"
