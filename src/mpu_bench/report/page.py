"""The report page: a folder that opens from disk without a network, made from results folders."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from mpu_bench import __version__
from mpu_bench.errors import StoreError
from mpu_bench.files import write_text
from mpu_bench.quantities import FINISHED, QUANTITIES, Quantity, format_number
from mpu_bench.report import figure_data, overview, style
from mpu_bench.results import naming, summary
from mpu_bench.results.folder import open_results
from mpu_bench.verdict import comparison
from mpu_bench.verdict.comparison import KNOWN, NOT_RUN, OUTSIDE, VERDICTS
from mpu_bench.verdict.folders import summarize_verdicts

_TEMPLATES = Path(__file__).with_name("templates")
_COPIED = ("page.css", "page.js")
_TITLE = "Perceptron-like and budgeted SVM training: published and measured"

#: the columns of a table of results
_COLUMNS = (
    *("objective", "suboptimality", "gap", "test_error_percent", "online_error_percent", "nu", "margin"),
    *("margin_fraction", "margin_fraction_wanted", "updates", "update_bound", "train_seconds", "kernel_evaluations"),
    *("inner_products", "support_vectors", "passes", "peak_memory_mb"),
)
_DIGITS = 5  # of a figure's numbers
_LINE_WIDTH = 1.6  # of a figure's lines, in its units

#: what the verdicts mean, in the order of the page
_WORDS = {
    "better": "the measured number beats the published one by more than the rule allows",
    "within": "as near as the rule asks",
    "differs-known": "does not come out, which is known; the evidence is given, and the number is where it was",
    "outside": "does not come out, and it is not known why",
    "not run": "there is no measured number, and the reason is given",
}


def write(results: Sequence[Path], out: Path) -> Path:
    """Write the page of some results folders.

    Parameters
    ----------
    results : sequence of Path
    out : Path
        The page's folder; made if need be, its files of an earlier page are replaced.

    Returns
    -------
    Path
        Its ``index.html``.

    Raises
    ------
    StoreError
        If a folder holds no results, or the page cannot be written.
    """
    experiments = sorted(
        map(_experiment, results), key=lambda each: (overview.paper_order(each["paper"]), each["name"])
    )
    tables = overview.by_table(
        overview.ExperimentCells(each["paper"], each["name"], each["judged"]) for each in experiments
    )
    cells = [cell for table in tables for cell in table.cells]
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES), autoescape=True, trim_blocks=True, undefined=jinja2.StrictUndefined
    )
    environment.filters |= {"slug": _slug, "number": format_number, "percent": _percent}
    text = environment.get_template("index.html").render(
        title=_TITLE,
        version=__version__,
        date=datetime.now(UTC).date().isoformat(),
        verdicts=VERDICTS,
        words=_WORDS,
        headline=headline(cells),
        counts=comparison.counts(cells),
        tables=[_table(table, experiments) for table in tables],
        missed=_missed(experiments),
        experiments=experiments,
        colours=style.COLOURS,
        dark_colours=style.DARK_COLOURS,
        figures=Markup(_json({name: data for each in experiments for name, data in each["drawn"].items()})),
    )
    try:
        out.mkdir(parents=True, exist_ok=True)
        for name in _COPIED:
            write_text(out / name, (_TEMPLATES / name).read_text("utf-8"))
        write_text(out / "index.html", text)
    except OSError as error:
        raise StoreError(f"{out}: the page cannot be written: {error.strerror}") from None
    return out / "index.html"


def headline(cells: Sequence[comparison.Cell]) -> str:
    """Return in a sentence what the verdicts come to."""
    counts = comparison.counts(cells)
    measured = len(cells) - counts[NOT_RUN]
    if not measured:
        return "None of the published numbers and claims has been measured."
    outside, known = counts[OUTSIDE], counts[KNOWN]
    words = [f"{measured - outside - known} of the {measured} published numbers and claims that were measured come out"]
    words += [f"{known} differ{'' if known > 1 else 's'} for reasons that are given"] if known else []
    words += [f"{outside} {'do' if outside > 1 else 'does'} not"] if outside else []
    return ", ".join(words) + "."


def _table(table: overview.PaperTable, experiments: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return a row of the overview, with the experiments that it is about."""
    about = [each for each in experiments if each["paper"] == table.paper and table.name in each["tables"]]
    return {"paper": table.paper, "name": table.name, "counts": comparison.counts(table.cells), "experiments": about}


def _missed(experiments: Sequence[Mapping[str, Any]]) -> list[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Return the cells that do not come out, with their experiments; first those that are not known."""
    return [
        (each, cell)
        for verdict in (OUTSIDE, KNOWN)
        for each in experiments
        for cell in each["cells"]
        if cell["verdict"] == verdict
    ]


def _json(figures: Mapping[str, Any]) -> str:
    """Return data as JSON that no text in it can make end the script element."""
    return json.dumps(figures, separators=(",", ":")).replace("<", "\\u003c")


def _experiment(folder: Path) -> dict[str, Any]:
    """Return what the page shows of a results folder."""
    with open_results(folder) as results:
        records, rows, means = results.records(), summary.summaries(results), results.mean_curves()
        cells = comparison.of_rows(results, rows, means)
        facts = {name: results.fact(name) or "" for name in ("config", "description", "paper")}
        machines, options, name = results.environments(), results.fact("options") or [], results.name
    varied = naming.varying(rows)
    kernels = {row["kernel"] for row in rows}
    kernel = rows[0]["kernel"] if len(kernels) == 1 else ""  # said once, not in every row
    columns = _columns(rows)
    repeat = ["mpu-bench", "run", facts["config"] or name, *options]
    figures = {f"{name}-{figure.name}": figure for figure in figure_data.figures(rows, means)}
    versions = {key: figure_data.versions(figure, rows, means) for key, figure in figures.items()}
    return facts | {
        "name": name,
        "anchor": f"experiment-{name}",
        "kernel": kernel,
        "judged": cells,
        "tables": {overview.table_name(name, cell) for cell in cells},
        "counts": comparison.counts(cells),
        "summary": summarize_verdicts(cells),
        "cells": [vars(cell) | {"name": _cell_name(cell, varied)} for cell in cells],
        "figures": [
            {"id": key, "caption": figure.caption, "axes": list(versions[key])} for key, figure in figures.items()
        ],
        "drawn": {key: [_figure_data(figure) for figure in each.values()] for key, each in versions.items()},
        "headings": [quantity.heading for quantity in columns],
        "rows": [_row(row, columns, varied, repeat, bool(kernel)) for row in rows],
        "finished": sum(record["status"] in FINISHED for record in records),
        "planned": len(records),
        "missing": _missing(records),
        "machines": [{name: _text(value) for name, value in machine.items()} for machine in machines],
    }


def _columns(rows: Sequence[Mapping[str, Any]]) -> list[Quantity]:
    """Return the quantities that say something of these rows; updates matter only where a margin is sought."""
    names = [name for name in _COLUMNS if any(row[f"{name}_mean"] not in (None, 0) for row in rows)]
    return [QUANTITIES[name] for name in names if "update" not in name or "margin_fraction" in names]


def _cell_name(cell: comparison.Cell, varied: Mapping[str, set[str]]) -> str:
    """Return a cell's solver, with the parameters that tell its runs apart."""
    if not cell.solver:
        return ""
    told_apart = {solver: names - {"kernel"} for solver, names in varied.items()}
    name = naming.short_text({"solver": cell.solver, "parameters": cell.parameters or "{}"}, told_apart, ("vectors",))
    return f"{name} B={cell.budget}" if cell.budget else name


def _figure_data(figure: figure_data.Figure) -> Any:
    """Return a figure for the page's script, each series with its colour and its dashes."""
    data, styles = _rounded(figure_data.as_data(figure)), figure.styles()
    for series in (series for panel in data["panels"] for series in panel["series"]):
        number = styles[series["label"]]
        dashes = style.DASHES[number % len(style.DASHES)]
        series["colour"] = f"var(--s{number % len(style.COLOURS)})"
        series["dash"] = " ".join(f"{_LINE_WIDTH * length:g}" for length in dashes)
    return data


def _rounded(data: Any) -> Any:
    if isinstance(data, float):
        return float(f"{data:.{_DIGITS}g}") if math.isfinite(data) else None
    if isinstance(data, list):
        return [_rounded(each) for each in data]
    return {name: _rounded(each) for name, each in data.items()} if isinstance(data, dict) else data


def _row(
    row: Mapping[str, Any],
    columns: Sequence[Quantity],
    varied: Mapping[str, set[str]],
    repeat: Sequence[str],
    one_kernel: bool,
) -> dict[str, Any]:
    only = [f"dataset={row['dataset']}", f"solver={row['solver']}"]
    only += [f"budget={row['budget_vectors']}"] if row["budget_vectors"] else []
    command = [*repeat, *(word for each in only for word in ("--only", each))]
    return {
        "dataset": row["dataset"],
        "name": naming.solver_text({**row, "kernel": "linear"} if one_kernel else row, varied),
        "count": row["count"],
        "runs": str(row["count"]) if row["count"] == row["planned"] else f"{row['count']} of {row['planned']}",
        "numbers": [
            (quantity.text(row[f"{quantity.name}_mean"]), quantity.spread(row[f"{quantity.name}_std"]))
            for quantity in columns
        ],
        "command": shlex.join(map(str, command)),
    }


def _missing(records: Sequence[Mapping[str, Any]]) -> list[str]:
    lines = [
        f"{each['dataset']} {each['solver']}: {each['status']}{': ' if each['reason'] else ''}{each['reason']}"
        for each in records
        if each["status"] not in FINISHED
    ]
    return list(dict.fromkeys(lines))


def _text(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else "" if value is None else str(value)


def _slug(words: str) -> str:
    return words.replace(" ", "-")


def _percent(number: float | None) -> str:
    if number is None:
        return ""
    return f"{100 * number:+.0f}%" if abs(number) >= 1 else f"{100 * number:+.2g}%"
