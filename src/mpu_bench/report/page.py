"""The pages of a report: a folder that opens from disk without a network, made from results folders."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from mpu_bench import __version__, published
from mpu_bench.config.drawings import Drawing
from mpu_bench.config.sentences import sentences
from mpu_bench.files import write_all
from mpu_bench.quantities import Record, format_number, quantity_of
from mpu_bench.report import figures, overview, printed, style
from mpu_bench.report.figure_parts import Figure
from mpu_bench.report.tables import Table, html_text
from mpu_bench.results import machines, naming, summary
from mpu_bench.results.folder import open_results
from mpu_bench.results.means import Summary
from mpu_bench.results.naming import Shown
from mpu_bench.texts import publishable
from mpu_bench.verdict import comparison
from mpu_bench.verdict.cells import (
    COUNTED,
    RATIO,
    VALUE,
    Cell,
    count_verdicts,
    solver_text,
    summarize_verdicts,
    verdict_text,
)
from mpu_bench.verdict.verdict import Verdict

_DIGITS = 5  # of a figure's numbers
_LINE_WIDTH = 1.6  # of a figure's lines, in its units


def shown(folder: Path) -> dict[str, Any]:
    """Return what the pages show of a results folder.

    Raises
    ------
    StoreError
        If it holds no results.
    """
    with open_results(folder) as results:
        records, every = results.records(), summary.summaries(results, earlier=True)
        rows, means = [row for row in every if not row.earlier], results.mean_curves
        disturbed = summary.disturbed_remark(results.records(earlier=True))
        judged = comparison.of_results(results, rows)
        cells = judged.cells
        facts = {name: results.fact(name) or "" for name in ("config", "description", "paper")}
        environments, options, name = results.environments(), results.fact("options") or [], results.name
        by_program = results.fact("given")  # by a program: no command repeats it
        date = results.fact("date") or ""  # of the baseline
        drawings = [Drawing.model_validate(entry) for entry in results.fact("figures") or ()]
    runs = machines.located(records, environments)
    rows, means = machines.with_runs(rows, runs), machines.with_runs(means, runs)
    varied, of_runs = naming.varying(every), naming.varying(records)
    kernels = {row.kernel for row in every}
    kernel = every[0].kernel if len(kernels) == 1 else ""  # said once, not in every row
    columns = naming.on_page(every)
    repeat = [] if by_program else ["mpu-bench", "run", facts["config"] or name, *options]
    by_name = {figure.name: figure for figure in figures.figures(rows, means, drawings, every=True)}
    meant: dict[str, Drawing] = {drawing.draw: drawing for drawing in drawings}
    versions = {key: _versions(figure, meant.get(figure.name), rows, means) for key, figure in by_name.items()}
    return facts | {
        "name": name,
        "date": date,
        "kernel": kernel,
        "judged": judged,
        "tables": {overview.table_name(judged, cell) for cell in cells},
        "counts": count_verdicts(cells),
        "summary": summarize_verdicts(cells),
        "cells": [
            vars(cell)
            | {
                "name": _cell_name(cell, varied),
                "text": verdict_text(cell),
                "what": printed.heading(cell.column) + (f" / {cell.over}'s" if cell.over else ""),
            }
            for cell in cells
        ],
        "figures": [
            {
                "name": key,
                "caption": figure.caption,
                "axes": list(versions[key]),
                "axis": figure.panels[0].x_label,
                "is_meant": not meant or key in meant,
                "is_first": bool(facts["paper"]) and key in meant,
            }
            for key, figure in by_name.items()
        ],
        "drawn": {key: [_figure_data(figure) for figure in by_axis.values()] for key, by_axis in versions.items()},
        "headings": [column.heading for column in columns],
        "rows": [_table_row(row, columns, varied, repeat, bool(kernel)) for row in every],
        "finished": sum(record.is_finished for record in records),
        "planned": len(records),
        "seconds": machines.remarks(records, environments),
        "disturbed": disturbed,
        "missing": list(
            dict.fromkeys(
                f"{record.dataset} {naming.run_text(record, of_runs)}: {naming.without_result(record)}"
                for record in records
                if not record.is_finished
            )
        ),
        "machines": [
            {_MACHINE_WORDS.get(name, name.replace("_", " ")): _machine_text(value) for name, value in machine.items()}
            for machine in environments
        ],
    }


def _cell_name(cell: Cell, varied: Mapping[str, set[str]]) -> str:
    """Return a cell's solver, with the parameters that tell its runs apart."""
    if not cell.solver:
        return ""
    distinguishing = {solver: names - {"kernel"} for solver, names in varied.items()}
    name = naming.short_text(
        Record(solver=cell.solver, parameters=cell.parameters or "{}"), distinguishing, ("vectors",)
    )
    return f"{name} B={cell.budget}" if cell.budget else name


def _versions(
    figure: Figure, drawing: Drawing | None, rows: Sequence[Summary], curves: Sequence[Summary]
) -> dict[str, Figure]:
    """Return a figure against every axis that fits, with the datasets that the config names."""
    if drawing is not None and drawing.datasets is not None:
        rows, curves = ([row for row in group if row.dataset in drawing.datasets] for group in (rows, curves))
    return figures.versions(figure, rows, curves)


def _figure_data(figure: Figure) -> Any:
    """Return a figure for the page's script, each series with its colour and its dashes."""
    data, styles = _rounded(asdict(figure)) | {"remarks": "; ".join(figure.remarks())}, figure.styles()
    for series in (series for panel in data["panels"] for series in panel["series"]):
        number = styles[series["label"]]
        dashes = style.DASHES[number % len(style.DASHES)]
        series["colour"] = f"var(--s{number % len(style.COLOURS)})"
        series["dash"] = " ".join(f"{_LINE_WIDTH * length:g}" for length in dashes)
    return data


def _rounded(data: Any) -> Any:
    if isinstance(data, float):
        return float(f"{data:.{_DIGITS}g}") if math.isfinite(data) else None
    if isinstance(data, list | tuple):
        return [_rounded(value) for value in data]
    return {name: _rounded(value) for name, value in data.items()} if isinstance(data, dict) else data


def _table_row(
    row: Summary,
    columns: Sequence[Shown],
    varied: Mapping[str, set[str]],
    repeat: Sequence[str],
    one_kernel: bool,
) -> dict[str, Any]:
    only = [f"dataset={row.dataset}", f"solver={row.solver}"]
    only += [f"budget={row.budget_vectors}"] if row.budget_vectors else []
    command = [*repeat, *(word for choice in only for word in ("--only", choice))]
    return {
        "dataset": row.dataset,
        "name": naming.solver_text(replace(row, kernel="linear") if one_kernel else row, varied),
        "count": row.count,
        "runs": str(row.count) if row.count == row.planned else f"{row.count} of {row.planned}",
        "numbers": [(column.text(row), column.spread(row)) for column in columns],
        "changed": row.overridden or "",
        "command": "" if row.earlier or not repeat else shlex.join(map(str, command)),
    }


_MACHINE_WORDS = {"memory_gb": "memory, GiB", "peers": "external solvers"}


def _machine_text(value: Any) -> str:
    value = [f"{name} {version}" for name, version in value.items()] if isinstance(value, dict) else value
    return ", ".join(map(str, value)) if isinstance(value, list) else "" if value is None else str(value)


TEMPLATES = Path(__file__).with_name("templates")
_COPIED = ("page.css", "page.js", "uPlot.css", "uPlot.js")
_TITLE = "Perceptron-like and budgeted SVM training: reported and measured"
_ERRORS, _RATIOS, _OTHERS = "test error, %", "seconds relative to another solver's", "other values"  # panels of a chart
_OWN = "other-experiments"  #: the page of what belongs to no paper


def write(results: Sequence[Path], out: Path, documentation: str = "") -> Path:
    """Write the pages of some results folders: one for each paper, and the first, which has what came out.

    Parameters
    ----------
    results : sequence of Path
        Where all are of one paper, or of none, there is the first page alone.
    out : Path
        The pages' folder; made if need be, its files of earlier pages are replaced.
    documentation : str
        The address of the documentation, to which the pages link; empty for none.

    Returns
    -------
    Path
        The first page, ``index.html``.

    Raises
    ------
    StoreError
        If a folder holds no results, or the pages cannot be written.
    """
    experiments = [shown(folder) for folder in results]
    experiments.sort(key=lambda entry: (overview.paper_order(entry["paper"]), entry["name"]))
    for experiment, name in zip(experiments, naming.numbered([entry["name"] for entry in experiments]), strict=True):
        slug = name.replace(" ", "")  # unlike the name of any other experiment
        experiment |= {"name": name, "slug": slug, "anchor": f"experiment-{slug}"}
    tables = overview.by_table(entry["judged"] for entry in experiments)
    papers = list(dict.fromkeys(entry["paper"] for entry in experiments))
    pages = {paper: _page(paper, experiments, tables) for paper in papers}
    names = {paper: f"{paper or _OWN}.html" if len(papers) > 1 else "index.html" for paper in papers}
    common = _common(experiments, tables) | {"names": names, "pages": pages, "documentation": documentation}
    cells = [cell for table in tables for cell in table.cells]
    counted = {"counts": count_verdicts(cells), "compared": _compared(cells)}
    overall = {"overall": counted, "besides": overview.besides(tables), "rows": overview.by_paper(tables)}
    templates = environment()
    texts = {"index.html": templates.get_template("index.html").render(**common, **overall, alone=len(papers) == 1)}
    if len(papers) > 1:
        template = templates.get_template("paper.html")
        texts |= {names[paper]: template.render(**common, page=page, alone=False) for paper, page in pages.items()}
    write_all(out, {name: (TEMPLATES / name).read_text("utf-8") for name in _COPIED} | texts)
    return out / "index.html"


def _common(experiments: Sequence[Mapping[str, Any]], tables: Sequence[overview.PaperTable]) -> dict[str, Any]:
    """Return what all pages show."""
    names, dates = [experiment["name"] for experiment in experiments], [entry["date"] for entry in experiments]
    reported = any(table.paper or any(cell.table for cell in table.cells) for table in tables)
    return {
        "title": _TITLE if reported else f"Results of {', '.join(names[:3])}{' and others' * (len(names) > 3)}",
        "judged": bool(tables),
        "reported": reported,
        "version": __version__,
        # that of the results where all are of the baseline, for equal pages of equal results
        "date": max(dates) if dates and all(dates) else datetime.now(UTC).date().isoformat(),
        "verdicts": list(Verdict),
        "colours": style.COLOURS,
        "dark_colours": style.DARK_COLOURS,
    }


def environment() -> jinja2.Environment:
    """Return what makes pages of the templates."""
    templates = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        finalize=html_text,
    )
    templates.filters["number"] = format_number
    return templates


def _page(paper: str, every: Sequence[Mapping[str, Any]], tables: Sequence[overview.PaperTable]) -> dict[str, Any]:
    """Return what the page of a paper shows: its experiments and tables, of all."""
    experiments = [experiment for experiment in every if experiment["paper"] == paper]
    tables = [table for table in tables if table.paper == paper]
    cells = [cell for table in tables for cell in table.cells]
    drawn = {
        f"{experiment['slug']}/{name}": data for experiment in experiments for name, data in experiment["drawn"].items()
    }
    claims = [cell for cell in cells if cell.sentence and cell.kind in COUNTED]
    return {
        "counts": count_verdicts(cells),
        "compared": _compared(cells),
        "paper": paper,
        "reference": published.reference(paper),
        "printed": _printed(experiments, tables),
        "contradicted": _rows(paper, [cell for cell in claims if cell.is_against]),
        "claims": _rows(paper, [cell for cell in claims if not cell.is_against]),
        "missed": _missed(experiments, cells),
        "tables": [
            {
                "name": table.name,
                "counts": counts,
                "experiments": [experiment for experiment in experiments if table.name in experiment["tables"]],
            }
            for table in tables
            if any((counts := count_verdicts(table.cells)).values())
        ],
        "experiments": experiments,
        "figures": Markup(json.dumps(drawn, separators=(",", ":")).replace("<", "\\u003c")),  # ends no script element
    }


def _printed(experiments: Sequence[Mapping[str, Any]], tables: Sequence[overview.PaperTable]) -> list[Table]:
    """Return the tables of a paper as they are printed, with what other experiments measured of them beside."""
    cells = [cell for table in tables for cell in table.cells]
    counted = set(map(id, cells))
    others = [
        (experiment["name"], cell)
        for experiment in experiments
        for cell in experiment["judged"].cells
        if cell.kind == VALUE and not cell.sentence and cell.verdict != Verdict.NOT_RUN and id(cell) not in counted
    ]
    shaped = (printed.table(name, cells, others) for name in printed.layouts())
    return [table for table in shaped if table is not None]


def _compared(cells: Sequence[Cell]) -> list[dict[str, Any]]:
    """Return reported and measured values by panel of a chart that has a mark for each; accuracies are errors there."""
    panels: dict[str, list[Any]] = {}
    for cell in cells:
        if cell.kind in (VALUE, RATIO) and cell.published is not None and cell.measured is not None:
            quantity, pair = quantity_of(cell.column), [cell.published, cell.measured]
            better = quantity.better if quantity is not None and quantity.is_in_percent else ""
            pair = [100 - value for value in pair] if better == "higher" else pair
            name = _RATIOS if cell.kind == RATIO else _ERRORS if better else _OTHERS
            numbers = f"reported {format_number(cell.published)}, measured {format_number(cell.measured)}"
            words = f"{cell.table} {cell.dataset} {solver_text(cell)}: {cell.what}: {numbers}: {verdict_text(cell)}"
            panels.setdefault(name, []).append([*pair, cell.verdict.finding.page, publishable(words)])
    charts = [_chart(name, panels[name]) for name in (_ERRORS, _RATIOS, _OTHERS) if name in panels]
    return [chart for chart in charts if chart["points"]]


def _chart(name: str, points: Sequence[Sequence[Any]]) -> dict[str, Any]:
    """Return a panel of the chart, whose axes are logarithmic: what has no mark there is counted."""
    shown = [point for point in points if min(point[:2]) > 0]
    left = len(points) - len(shown)
    return {"title": f"{name} (not drawn: {left} at or below 0)" if left else name, "points": shown}


def _rows(paper: str, claims: Sequence[Cell]) -> list[dict[str, Any]]:
    """Return what a page shows of claims: with the words of the paper, and where they stand."""
    quoted = {claim.name: claim for claim in sentences(paper)} if claims else {}
    return [
        vars(cell) | {"quote": quoted[cell.sentence].quote, "at": quoted[cell.sentence].at, "text": verdict_text(cell)}
        for cell in claims
    ]


def _missed(
    experiments: Sequence[Mapping[str, Any]], cells: Sequence[Cell]
) -> list[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Return the values that count and are not reproduced, with their experiments; first those not explained."""
    counted = {id(cell) for cell in cells if cell.kind in ("value", "ratio") and cell.is_against}
    missed = [
        (experiment, row)
        for experiment in experiments
        for cell, row in zip(experiment["judged"].cells, experiment["cells"], strict=True)
        if id(cell) in counted
    ]
    return sorted(missed, key=lambda pair: bool(pair[1]["explained"]))
