"""What the pages of a report show of one results folder."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from mpu_bench.config.drawings import Drawing
from mpu_bench.quantities import Record
from mpu_bench.report import figure_data, overview, printed, style
from mpu_bench.report.figure_parts import Figure
from mpu_bench.results import machines, naming, problems, summary
from mpu_bench.results.folder import open_results
from mpu_bench.results.means import Summary
from mpu_bench.results.problems import Shown
from mpu_bench.verdict.cells import Cell, count_verdicts
from mpu_bench.verdict.folders import summarize_verdicts, verdict_text

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
        rows, means = [row for row in every if not row.earlier], results.mean_curves()
        disturbed = summary.disturbed_remark(results.records(earlier=True))
        judged = overview.of_results(results, rows)
        cells = judged.cells
        facts = {name: results.fact(name) or "" for name in ("config", "description", "paper")}
        environments, options, name = results.environments(), results.fact("options") or [], results.name
        given = results.fact("given")  # by a program: no command repeats it
        date = results.fact("date") or ""  # of kept results
        drawings = [Drawing.model_validate(each) for each in results.fact("figures") or ()]
    runs = machines.located(records, environments)
    rows, means = machines.with_runs(rows, runs), machines.with_runs(means, runs)
    varied, of_runs = naming.varying(every), naming.varying(records)
    kernels = {row.kernel for row in every}
    kernel = every[0].kernel if len(kernels) == 1 else ""  # said once, not in every row
    columns = problems.on_page(every)
    repeat = [] if given else ["mpu-bench", "run", facts["config"] or name, *options]
    figures = {each.name: each for each in figure_data.figures(rows, means, drawings, every=True)}
    meant: dict[str, Drawing] = {drawing.draw: drawing for drawing in drawings}
    versions = {key: _versions(figure, meant.get(figure.name), rows, means) for key, figure in figures.items()}
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
            for key, figure in figures.items()
        ],
        "drawn": {key: [_figure_data(figure) for figure in each.values()] for key, each in versions.items()},
        "headings": [column.heading for column in columns],
        "rows": [_row(row, columns, varied, repeat, bool(kernel)) for row in every],
        "finished": sum(record.is_finished for record in records),
        "planned": len(records),
        "seconds": machines.remarks(records, environments),
        "disturbed": disturbed,
        "missing": list(
            dict.fromkeys(
                f"{each.dataset} {naming.run_text(each, of_runs)}: {naming.without_result(each)}"
                for each in records
                if not each.is_finished
            )
        ),
        "machines": [{name: _text(value) for name, value in machine.items()} for machine in environments],
    }


def _cell_name(cell: Cell, varied: Mapping[str, set[str]]) -> str:
    """Return a cell's solver, with the parameters that tell its runs apart."""
    if not cell.solver:
        return ""
    told_apart = {solver: names - {"kernel"} for solver, names in varied.items()}
    name = naming.short_text(Record(solver=cell.solver, parameters=cell.parameters or "{}"), told_apart, ("vectors",))
    return f"{name} B={cell.budget}" if cell.budget else name


def _versions(
    figure: Figure, drawing: Drawing | None, rows: Sequence[Summary], curves: Sequence[Summary]
) -> dict[str, Figure]:
    """Return a figure against every axis that fits, with the datasets that the config names."""
    if drawing is not None and drawing.datasets is not None:
        rows, curves = ([row for row in each if row.dataset in drawing.datasets] for each in (rows, curves))
    return figure_data.versions(figure, rows, curves)


def _figure_data(figure: Figure) -> Any:
    """Return a figure for the page's script, each series with its colour and its dashes."""
    data, styles = _rounded(asdict(figure)), figure.styles()
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
        return [_rounded(each) for each in data]
    return {name: _rounded(each) for name, each in data.items()} if isinstance(data, dict) else data


def _row(
    row: Summary,
    columns: Sequence[Shown],
    varied: Mapping[str, set[str]],
    repeat: Sequence[str],
    one_kernel: bool,
) -> dict[str, Any]:
    only = [f"dataset={row.dataset}", f"solver={row.solver}"]
    only += [f"budget={row.budget_vectors}"] if row.budget_vectors else []
    command = [*repeat, *(word for each in only for word in ("--only", each))]
    return {
        "dataset": row.dataset,
        "name": naming.solver_text(replace(row, kernel="linear") if one_kernel else row, varied),
        "count": row.count,
        "runs": str(row.count) if row.count == row.planned else f"{row.count} of {row.planned}",
        "numbers": [(column.text(row), column.spread(row)) for column in columns],
        "changed": row.overridden or "",
        "command": "" if row.earlier or not repeat else shlex.join(map(str, command)),
    }


def _text(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else "" if value is None else str(value)
