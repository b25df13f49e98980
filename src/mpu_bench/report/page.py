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
from mpu_bench.config.sentences import sentences
from mpu_bench.files import write_all
from mpu_bench.quantities import FINISHED, format_number
from mpu_bench.report import figure_data, overview, style
from mpu_bench.results import machines, naming, problems, summary
from mpu_bench.results.folder import open_results
from mpu_bench.results.problems import Shown
from mpu_bench.texts import publishable
from mpu_bench.verdict import comparison, judge
from mpu_bench.verdict.cells import CLAIM, VERDICTS, Cell, count_verdicts
from mpu_bench.verdict.folders import summarize_verdicts, verdict_text
from mpu_bench.verdict.judge import AGREES, DIFFERS, HOLDS, NOT_RUN, REFUTED, SO_FAR

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

#: what the verdicts mean
_WORDS = {
    AGREES: "as near as print and scatter allow",
    judge.SAME_ORDER: "a ratio of seconds between two and five times off",
    HOLDS: "a sentence that no point it ranges over contradicts, and all are measured",
    SO_FAR: "the same, and part of its points are measured",
    DIFFERS: "a number that is off by more than that, beyond chance",
    REFUTED: "a sentence that a point it ranges over contradicts beyond noise",
    judge.UNDECIDED: "the runs are too few to tell",
    judge.UNINFORMATIVE: "a constant answer is as good as the number",
    judge.NOT_JUDGED: "seconds that something disturbed, or of which it is not known, or those of two machines",
    NOT_RUN: "there is no measured number, and the reason is given",
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
    tables = overview.by_table(each["judged"] for each in experiments)
    cells = [cell for table in tables for cell in table.cells]
    nothing = count_verdicts([])
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        undefined=jinja2.StrictUndefined,
        finalize=_publishable,
    )
    environment.filters |= {"slug": _slug, "number": format_number}
    text = environment.get_template("index.html").render(
        title=_TITLE,
        version=__version__,
        date=datetime.now(UTC).date().isoformat(),
        verdicts=VERDICTS,
        words=_WORDS,
        headline=headline(cells),
        besides=overview.besides(tables),
        counts=count_verdicts(cells),
        papers=overview.by_paper(tables),
        refuted=_rows(_claims(tables, refuted=True)),
        sentences=_rows(_claims(tables, refuted=False)),
        tables=[_table(table, experiments) for table in tables if count_verdicts(table.cells) != nothing],
        missed=_missed(experiments),
        experiments=experiments,
        colours=style.COLOURS,
        dark_colours=style.DARK_COLOURS,
        figures=Markup(_json({name: data for each in experiments for name, data in each["drawn"].items()})),
    )
    write_all(out, {name: (_TEMPLATES / name).read_text("utf-8") for name in _COPIED} | {"index.html": text})
    return out / "index.html"


def headline(cells: Sequence[Cell]) -> str:
    """Return in two sentences what the verdicts come to."""
    said = []
    for kinds, what in ((("value", "ratio"), "printed number"), ((CLAIM,), "sentence")):
        counts = count_verdicts(cells, kinds)
        total = sum(counts.values()) - counts[NOT_RUN] - counts[judge.NOT_JUDGED]
        if total:
            present = [(counts[verdict], verbs) for verdict, verbs in _VERBS.items() if counts[verdict]]
            found = [f"{count} {verbs[count > 1]}" for count, verbs in present]
            if explained := sum(cell.kind in kinds and bool(cell.explained) for cell in cells):
                found[-1] += f" ({explained} explained)"  # what differs or is refuted is said last
            of = f"Of {total} {what}s that were judged, " if total > 1 else f"1 {what} was judged: "
            said.append(f"{of}{', '.join(found)}.")
    return " ".join(said) or "None of the published numbers and sentences has been measured."


#: verdicts in a sentence about one, and about several; what may be explained is said last
_VERBS = {
    AGREES: ("agrees", "agree"),
    judge.SAME_ORDER: ("is of the same order", "are of the same order"),
    HOLDS: ("holds", "hold"),
    SO_FAR: ("holds so far", "hold so far"),
    judge.UNDECIDED: ("is undecided", "are undecided"),
    judge.UNINFORMATIVE: ("is uninformative", "are uninformative"),
    DIFFERS: ("differs", "differ"),
    REFUTED: ("is refuted", "are refuted"),
}


def _claims(tables: Sequence[overview.PaperTable], refuted: bool) -> list[tuple[str, Cell]]:
    """Return the sentences of the papers, each with its paper: those that are refuted, or all others."""
    return [
        (table.paper, cell)
        for table in tables
        for cell in table.cells
        if cell.sentence and cell.kind == CLAIM and (cell.verdict == REFUTED) == refuted
    ]


def _rows(claims: Sequence[tuple[str, Cell]]) -> list[dict[str, Any]]:
    """Return what the page shows of sentences: with the words of the paper, and where they stand."""
    quoted = {each.name: each for paper in {paper for paper, _ in claims} for each in sentences(paper)}
    return [
        vars(cell)
        | {"paper": paper, "quote": quoted[cell.sentence].quote, "at": quoted[cell.sentence].at}
        | {"text": verdict_text(cell)}
        for paper, cell in claims
    ]


def _table(table: overview.PaperTable, experiments: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return a row of the overview, with the experiments that it is about."""
    about = [each for each in experiments if each["paper"] == table.paper and table.name in each["tables"]]
    return {"paper": table.paper, "name": table.name, "counts": count_verdicts(table.cells), "experiments": about}


def _missed(experiments: Sequence[Mapping[str, Any]]) -> list[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Return the numbers that do not come out, with their experiments; first those that nothing explains."""
    found = [
        (each, row)
        for each in experiments
        for row in each["cells"]
        if row["kind"] in ("value", "ratio") and row["verdict"] == DIFFERS
    ]
    return sorted(found, key=lambda pair: bool(pair[1]["explained"]))


def _publishable(value: Any) -> Any:
    """Return what the page shows of a value: of a text, what may be published."""
    return publishable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _json(figures: Mapping[str, Any]) -> str:
    """Return data as JSON that no text in it can make end the script element."""
    return json.dumps(figures, separators=(",", ":")).replace("<", "\\u003c")


def _experiment(folder: Path) -> dict[str, Any]:
    """Return what the page shows of a results folder."""
    with open_results(folder) as results:
        records, every = results.records(), summary.summaries(results, earlier=True)
        rows, means = [row for row in every if not row["earlier"]], results.mean_curves()
        disturbed = summary.disturbed_remark(results.records(earlier=True))
        cells = comparison.of_rows(results, rows)
        judged = overview.of_results(results, cells)
        facts = {name: results.fact(name) or "" for name in ("config", "description", "paper")}
        environments, options, name = results.environments(), results.fact("options") or [], results.name
        given = results.fact("given")  # by a program: no command repeats it
    runs = machines.located(records, environments)
    rows, means = machines.with_runs(rows, runs), machines.with_runs(means, runs)
    varied = naming.varying(every)
    kernels = {row["kernel"] for row in every}
    kernel = every[0]["kernel"] if len(kernels) == 1 else ""  # said once, not in every row
    columns = _columns(every)
    repeat = [] if given else ["mpu-bench", "run", facts["config"] or name, *options]
    figures = {f"{name}-{figure.name}": figure for figure in figure_data.figures(rows, means)}
    versions = {key: figure_data.versions(figure, rows, means) for key, figure in figures.items()}
    return facts | {
        "name": name,
        "anchor": f"experiment-{name}",
        "kernel": kernel,
        "judged": judged,
        "tables": {overview.table_name(name, cell) for cell in cells},
        "counts": count_verdicts(cells),
        "summary": summarize_verdicts(cells),
        "cells": [vars(cell) | {"name": _cell_name(cell, varied), "text": verdict_text(cell)} for cell in cells],
        "figures": [
            {"id": key, "caption": figure.caption, "axes": list(versions[key])} for key, figure in figures.items()
        ],
        "drawn": {key: [_figure_data(figure) for figure in each.values()] for key, each in versions.items()},
        "headings": [column.heading for column in columns],
        "rows": [_row(row, columns, varied, repeat, bool(kernel)) for row in every],
        "finished": sum(record["status"] in FINISHED for record in records),
        "planned": len(records),
        "several_machines": machines.remark(records, environments),
        "disturbed": disturbed,
        "missing": _missing(records),
        "machines": [{name: _text(value) for name, value in machine.items()} for machine in environments],
    }


def _columns(rows: Sequence[Mapping[str, Any]]) -> list[Shown]:
    """Return the columns that say something of these rows; updates matter only where a margin is sought."""
    columns = [column for column in problems.columns(rows, _COLUMNS) if column.says_something(rows)]
    sought = any(column.quantity.name == "margin_fraction" for column in columns)
    return [column for column in columns if "update" not in column.quantity.name or sought]


def _cell_name(cell: Cell, varied: Mapping[str, set[str]]) -> str:
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
    columns: Sequence[Shown],
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
            (column.text(row, spread=False), column.quantity.spread(column.value(row, "{}_std"))) for column in columns
        ],
        "changed": row["overridden"] or "",
        "command": "" if row["earlier"] or not repeat else shlex.join(map(str, command)),
    }


def _missing(records: Sequence[Mapping[str, Any]]) -> list[str]:
    lines = [
        f"{each['dataset']} {each['solver']}: {naming.without_result(each)}"
        for each in records
        if each["status"] not in FINISHED
    ]
    return list(dict.fromkeys(lines))


def _text(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else "" if value is None else str(value)


def _slug(words: str) -> str:
    return words.replace(" ", "-")
