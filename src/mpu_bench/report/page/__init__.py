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
from mpu_bench.experiment.store import FINISHED, Store
from mpu_bench.report import comparison, naming, series, tables

_TEMPLATES = Path(__file__).parent
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
    "seconds": "train_seconds",
    "kernel evaluations": "kernel_evaluations",
    "inner products": "inner_products",
    "vectors": "support_vectors",
    "passes": "passes",
    "memory, MB": "peak_memory_mb",
}
_DIGITS = 5  # of a figure's numbers


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
    experiments = [_experiment(folder, figures) for folder in results]
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES), autoescape=True, trim_blocks=True, undefined=jinja2.StrictUndefined
    )
    environment.filters |= {"slug": _slug, "brief": _brief, "percent": _percent}
    text = environment.get_template("index.html").render(
        title=_TITLE,
        version=__version__,
        date=datetime.now(UTC).date().isoformat(),
        verdicts=comparison.VERDICTS,
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


def _json(figures: Mapping[str, Any]) -> str:
    """Write data so that no text in it can end the script element."""
    return json.dumps(figures, separators=(",", ":")).replace("<", "\\u003c")


def _experiment(folder: Path, figures: dict[str, Any]) -> dict[str, Any]:
    with Store(folder) as store:
        records, rows, bands, cells = (
            store.records(),
            tables.summaries(store),
            tables.averaged(store),
            tables.judge(store),
        )
        name, machines = store.fact("name") or folder.name, store.environments()
        repeat = ["mpu-bench", "run", store.fact("config") or name, *(store.fact("options") or [])]
        description = store.fact("description")
    varied = naming.varying(rows)
    shown = {heading: quantity for heading, quantity in _COLUMNS.items() if _known(rows, quantity)}
    return {
        "name": name,
        "anchor": f"experiment-{name}",
        "description": description,
        "counts": comparison.counts(cells),
        "cells": [vars(cell) | {"name": _cell_name(cell)} for cell in cells],
        "figures": _figures(name, rows, bands, figures),
        "headings": list(shown),
        "rows": [_row(row, shown, varied, repeat) for row in rows],
        "finished": sum(record["status"] in FINISHED for record in records),
        "planned": len(records),
        "missing": _missing(records),
        "machines": [{name: _text(value) for name, value in machine.items()} for machine in machines],
    }


def _known(rows: Sequence[Mapping[str, Any]], quantity: str) -> bool:
    return any(row[f"{quantity}_mean"] not in (None, 0) for row in rows)


def _cell_name(cell: comparison.Cell) -> str:
    parameters = json.loads(cell.parameters) if cell.parameters else {}
    words = [str(parameters[name]) for name in ("maintenance", "margin") if name in parameters]
    return " ".join([cell.solver, *words, *([f"B={cell.budget}"] if cell.budget else [])])


def _figures(
    experiment: str, rows: Sequence[Mapping[str, Any]], bands: Sequence[Mapping[str, Any]], figures: dict[str, Any]
) -> list[dict[str, Any]]:
    """Collect an experiment's figures, each with every axis it can be drawn against."""
    made = []
    for name in series.figures(rows, bands):
        first = series.make(name, rows, bands)
        assert first is not None
        versions = {first.panels[0].x_label: first}
        for axis in series.AXES if name in series.CURVES else ():
            other = series.make(name, rows, bands, axis)
            if other is not None:
                versions.setdefault(other.panels[0].x_label, other)
        key = f"{experiment}-{name}"
        figures[key] = [_rounded(series.as_data(version)) for version in versions.values()]
        made.append({"id": key, "caption": first.caption, "axes": list(versions)})
    return made


def _rounded(data: Any) -> Any:
    if isinstance(data, float):
        return float(f"{data:.{_DIGITS}g}") if math.isfinite(data) else None
    if isinstance(data, list):
        return [_rounded(each) for each in data]
    return {name: _rounded(each) for name, each in data.items()} if isinstance(data, dict) else data


def _row(
    row: Mapping[str, Any], shown: Mapping[str, str], varied: Mapping[str, set[str]], repeat: Sequence[str]
) -> dict[str, Any]:
    only = [f"dataset={row['dataset']}", f"solver={row['solver']}"]
    only += [f"budget={row['budget_vectors']}"] if row["budget_vectors"] else []
    command = [*repeat, *(word for each in only for word in ("--only", each))]
    return {
        "dataset": row["dataset"],
        "name": naming.solver_text(row, varied),
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
    return "" if number is None else f"{100 * number:+.2g}%"
