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
from mpu_bench.quantities import FINISHED
from mpu_bench.report import figure_data, overview
from mpu_bench.results import curves, naming, summary
from mpu_bench.results.store import Store
from mpu_bench.verdict import comparison
from mpu_bench.verdict.comparison import KNOWN, NOT_RUN, OUTSIDE, VERDICTS
from mpu_bench.verdict.folders import summarize_verdicts

_TEMPLATES = Path(__file__).with_name("templates")
_COPIED = ("page.css", "page.js")
_TITLE = "Perceptron-like and budgeted SVM training: printed and measured"

#: the columns of a table of results: heading and quantity
_COLUMNS = {
    "objective": "objective",
    "deviation": "deviation",
    "gap": "gap",
    "error, %": "test_error_percent",
    "online error, %": "online_error_percent",
    "nu": "nu",
    "margin": "margin",
    "of max, certified": "margin_fraction",
    "of max, promised": "margin_fraction_wanted",
    "updates": "updates",
    "updates, at most": "update_bound",
    "seconds": "train_seconds",
    "kernel evaluations": "kernel_evaluations",
    "inner products": "inner_products",
    "vectors": "support_vectors",
    "passes": "passes",
    "memory, MB": "peak_memory_mb",
}
_DIGITS = 5  # of a figure's numbers

#: what the verdicts mean, in the order of the page
_WORDS = {
    "better": "the measured number beats the printed one by more than the rule allows",
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
    figures: dict[str, Any] = {}
    experiments = sorted(
        (_experiment(folder, figures) for folder in results),
        key=lambda each: (overview.place_of(each["paper"]), each["name"]),
    )
    found = overview.gather(overview.Judged(each["paper"], each["name"], each["judged"]) for each in experiments)
    cells = [cell for table in found for cell in table.cells]
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES), autoescape=True, trim_blocks=True, undefined=jinja2.StrictUndefined
    )
    environment.filters |= {"slug": _slug, "brief": _brief, "percent": _percent}
    text = environment.get_template("index.html").render(
        title=_TITLE,
        version=__version__,
        date=datetime.now(UTC).date().isoformat(),
        verdicts=VERDICTS,
        words=_WORDS,
        headline=headline(cells),
        counts=comparison.counts(cells),
        tables=[_table(table, experiments) for table in found],
        missed=_missed(experiments),
        experiments=experiments,
        figures=Markup(_json(figures)),
    )
    try:
        out.mkdir(parents=True, exist_ok=True)
        for name in _COPIED:
            (out / name).write_bytes((_TEMPLATES / name).read_bytes())
        (out / "index.html").write_text(text, encoding="utf-8")
    except OSError as fault:
        raise StoreError(f"{out}: the page cannot be written: {fault.strerror}") from None
    return out / "index.html"


def headline(cells: Sequence[comparison.Cell]) -> str:
    """Say in a sentence what the verdicts come to."""
    found = comparison.counts(cells)
    measured = len(cells) - found[NOT_RUN]
    if not measured:
        return "None of the printed numbers and claims has been measured."
    out, known, most = found[OUTSIDE], found[KNOWN], measured - found[OUTSIDE] - found[KNOWN]
    words = [f"{most} of the {measured} printed numbers and claims that were measured come out"]
    words += [f"{known} differ{'' if known > 1 else 's'} for reasons that are given"] if known else []
    words += [f"{out} {'do' if out > 1 else 'does'} not"] if out else []
    return ", ".join(words) + "."


def _table(table: overview.PaperTable, experiments: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Give a row of the overview, with the experiments that it is about."""
    about = [
        each for each in experiments if each["paper"] == table.paper
        and any(overview.table_name(each["name"], cell) == table.name for cell in each["judged"])
    ]  # fmt: skip
    return {"paper": table.paper, "name": table.name, "counts": comparison.counts(table.cells), "experiments": about}


def _missed(experiments: Sequence[Mapping[str, Any]]) -> list[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """List the cells that do not come out, with their experiments; first those that are not known."""
    return [
        (each, cell)
        for verdict in (OUTSIDE, KNOWN)
        for each in experiments
        for cell in each["cells"]
        if cell["verdict"] == verdict
    ]


def _json(figures: Mapping[str, Any]) -> str:
    """Write data so that no text in it can end the script element."""
    return json.dumps(figures, separators=(",", ":")).replace("<", "\\u003c")


def _experiment(folder: Path, figures: dict[str, Any]) -> dict[str, Any]:
    with Store(folder) as store:
        records, rows, bands, cells = (
            store.records(),
            summary.summaries(store),
            curves.mean_curves_of(store),
            comparison.of_store(store),
        )
        name, machines = store.fact("name") or folder.name, store.environments()
        repeat = ["mpu-bench", "run", store.fact("config") or name, *(store.fact("options") or [])]
        description, paper = store.fact("description"), store.fact("paper") or ""
    varied = naming.varying(rows)
    kernels = {row["kernel"] for row in rows}
    kernel = rows[0]["kernel"] if len(kernels) == 1 else ""  # said once, not in every row
    shown = {heading: quantity for heading, quantity in _COLUMNS.items() if _known(rows, quantity)}
    if "update_bound" not in shown.values():
        shown.pop("updates", None)
    return {
        "name": name,
        "anchor": f"experiment-{name}",
        "description": description,
        "paper": paper,
        "kernel": kernel,
        "judged": cells,
        "counts": comparison.counts(cells),
        "summary": summarize_verdicts(cells),
        "cells": [vars(cell) | {"name": _cell_name(cell, varied)} for cell in cells],
        "figures": _figures(name, rows, bands, figures),
        "headings": list(shown),
        "rows": [_row(row, shown, varied, repeat, bool(kernel)) for row in rows],
        "finished": sum(record["status"] in FINISHED for record in records),
        "planned": len(records),
        "missing": _missing(records),
        "machines": [{name: _text(value) for name, value in machine.items()} for machine in machines],
    }


def _known(rows: Sequence[Mapping[str, Any]], quantity: str) -> bool:
    return any(row[f"{quantity}_mean"] not in (None, 0) for row in rows)


def _cell_name(cell: comparison.Cell, varied: Mapping[str, set[str]]) -> str:
    """Name a cell's solver, with the parameters that tell its runs apart."""
    if not cell.solver:
        return ""
    told = {solver: names - {"kernel"} for solver, names in varied.items()}
    name = naming.short_text({"solver": cell.solver, "parameters": cell.parameters or "{}"}, told, ("vectors",))
    return f"{name} B={cell.budget}" if cell.budget else name


def _figures(
    experiment: str, rows: Sequence[Mapping[str, Any]], bands: Sequence[Mapping[str, Any]], figures: dict[str, Any]
) -> list[dict[str, Any]]:
    """Collect an experiment's figures, each with every axis it can be drawn against."""
    made = []
    for name in figure_data.figures(rows, bands):
        first = figure_data.make(name, rows, bands)
        assert first is not None
        versions = {first.panels[0].x_label: first}
        for axis in figure_data.AXES if name in figure_data.CURVES else ():
            other = figure_data.make(name, rows, bands, axis)
            if other is not None:
                versions.setdefault(other.panels[0].x_label, other)
        key = f"{experiment}-{name}"
        figures[key] = [_rounded(figure_data.as_data(version)) for version in versions.values()]
        made.append({"id": key, "caption": first.caption, "axes": list(versions)})
    return made


def _rounded(data: Any) -> Any:
    if isinstance(data, float):
        return float(f"{data:.{_DIGITS}g}") if math.isfinite(data) else None
    if isinstance(data, list):
        return [_rounded(each) for each in data]
    return {name: _rounded(each) for name, each in data.items()} if isinstance(data, dict) else data


def _row(
    row: Mapping[str, Any],
    shown: Mapping[str, str],
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
        "numbers": [(row[f"{quantity}_mean"], row[f"{quantity}_std"]) for quantity in shown.values()],
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


def _brief(number: float | None) -> str:
    return "" if number is None else f"{number:.5g}"


def _percent(number: float | None) -> str:
    if number is None:
        return ""
    return f"{100 * number:+.0f}%" if abs(number) >= 1 else f"{100 * number:+.2g}%"
