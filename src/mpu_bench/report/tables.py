"""Records -> runs.csv, table.csv, curves.csv, environment.json, and the table in the terminal."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import statistics
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from rich import box
from rich.table import Table

from mpu_bench.errors import StoreError
from mpu_bench.experiment.store import FINISHED, RECORD_COLUMNS, Store
from mpu_bench.experiment.trace import CHECKPOINT_COLUMNS
from mpu_bench.report import published
from mpu_bench.schema import short

GROUP = ("dataset", "n", "d", "n_test", "classes", "solver", "parameters", "kernel", "budget_vectors")

#: what table.csv gives the mean, deviation and count over seeds of
QUANTITIES = (
    "train_seconds",
    "cpu_seconds",
    "compile_seconds",
    "kernel_evaluations",
    "kernel_computed",
    "inner_products",
    "updates",
    "passes",
    "support_vectors",
    "objective",
    "dual_objective",
    "gap",
    "train_error",
    "test_error",
    "test_error_percent",
    "test_accuracy_percent",
    "online_error",
    "margin",
    "peak_memory_mb",
)

Summary = dict[str, Any]


def summarize(records: Sequence[Mapping[str, Any]], published_table: str | None) -> list[Summary]:
    """Make one row per dataset, solver, parameters, kernel and budget, over the seeds.

    Parameters
    ----------
    records : sequence of mapping
        Rows as `Store.records` gives them.
    published_table : str or None
        Whose numbers to put beside the measured ones.

    Returns
    -------
    list of dict
        The keys of `GROUP`; ``count`` finished of ``planned`` runs; ``<quantity>_mean`` and ``_std`` (the sample
        deviation, None for one run) for `QUANTITIES`; ``published_<quantity>``; ``status`` and ``reason`` of what
        did not finish.
    """
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for record in records:
        groups.setdefault(tuple(record[name] for name in GROUP), []).append(record)
    return [_summary(dict(zip(GROUP, key, strict=True)), runs, published_table) for key, runs in groups.items()]


def _summary(group: dict[str, Any], runs: Sequence[Mapping[str, Any]], published_table: str | None) -> Summary:
    finished = [_with_percents(run) for run in runs if run["status"] in FINISHED]
    failed = [run for run in runs if run["status"] not in FINISHED]
    summary: Summary = group | {"count": len(finished), "planned": len(runs)}
    summary["status"] = ", ".join(dict.fromkeys(run["status"] for run in (failed or runs)))
    summary["reason"] = "; ".join(dict.fromkeys(run["reason"] for run in runs if run["reason"]))
    for name in QUANTITIES:
        values = [run[name] for run in finished if run[name] is not None]
        summary[f"{name}_mean"] = statistics.fmean(values) if values else None
        summary[f"{name}_std"] = statistics.stdev(values) if len(values) > 1 else None
    key = group | {"parameters": json.loads(group["parameters"])}
    printed = published.beside(published_table, key)
    return summary | {f"published_{name}": value for name, value in printed.items()}


def _with_percents(run: Mapping[str, Any]) -> dict[str, Any]:
    error = run["test_error"]
    percents = {
        "test_error_percent": None if error is None else 100 * error,
        "test_accuracy_percent": None if error is None else 100 * (1 - error),
    }
    return {**run, **percents}


def write(store: Store) -> None:
    """Write every CSV of a results folder, and environment.json, from its store; each file whole or not at all.

    Raises
    ------
    StoreError
        If the folder cannot be written.
    """
    records = store.records()
    rows = summarize(records, store.fact("published"))
    columns = list(dict.fromkeys(name for row in rows for name in row))
    identity = {record["run_id"]: record for record in records}
    curves = [
        {name: identity[point["run_id"]][name] for name in ("dataset", "solver", "parameters", "kernel", "seed")}
        | point
        for point in store.checkpoints()
    ]
    curve_columns = ["dataset", "solver", "parameters", "kernel", "seed", *CHECKPOINT_COLUMNS, "run_id"]
    try:
        _write_text(store.folder / "runs.csv", _csv_text(list(RECORD_COLUMNS), records))
        _write_text(store.folder / "table.csv", _csv_text(columns, rows))
        _write_text(store.folder / "curves.csv", _csv_text(curve_columns, curves))
        _write_text(store.folder / "environment.json", _environment_text(store))
    except OSError as fault:
        raise StoreError(f"{store.folder}: the tables cannot be written: {fault.strerror}") from None


def _environment_text(store: Store) -> str:
    return json.dumps({"machines": store.environments()}, indent=2) + "\n"


def _csv_text(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, restval="", extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _cell(value) for name, value in row.items()} for row in rows)
    return text.getvalue()


def _cell(value: Any) -> Any:
    return "" if value is None else value


def _write_text(path: Path, text: str) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise


#: columns of the terminal's table: heading -> quantity, how to write it, the paper's quantity beside it
_SHOWN = {
    "objective": ("objective", "{:.7g}"),
    "gap": ("gap", "{:.1e}"),
    "error %": ("test_error_percent", "{:.2f}"),
    "online error": ("online_error", "{:.4f}"),
    "seconds": ("train_seconds", "{:.3g}"),
    "passes": ("passes", "{:.1f}"),
    "kernel evaluations": ("kernel_evaluations", "{:.3g}"),
    "vectors": ("support_vectors", "{:.0f}"),
}


def terminal_table(records: Sequence[Mapping[str, Any]], published_table: str | None, title: str) -> Table:
    """Lay out the summary for people: what varies, means with deviations, the paper's numbers beside ours."""
    rows = summarize(records, published_table)
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    for heading in ("dataset", "solver", "runs"):
        table.add_column(heading, justify="right" if heading == "runs" else "left", no_wrap=True)
    shown = {heading: spec for heading, spec in _SHOWN.items() if _any(rows, f"{spec[0]}_mean")}
    for heading, (quantity, _) in shown.items():
        table.add_column(heading, justify="right", no_wrap=True)
        if _any(rows, f"published_{quantity}"):
            table.add_column("paper", justify="right", style="dim", no_wrap=True)
    varying = _varying(rows)
    for row in rows:
        table.add_row(*_cells(row, rows, shown, varying))
    return table


def remarks(
    records: Sequence[Mapping[str, Any]], machines: Sequence[Mapping[str, Any]], published_table: str | None
) -> list[str]:
    """Say what a reader of the table must know: what did not finish and why, and whether seconds may be compared."""
    failed = [record for record in records if record["status"] not in (*FINISHED, "not run")]
    lines = [
        f"{each['dataset']} {each['solver']} seed={each['seed']}: {each['status']}: {each['reason']}" for each in failed
    ]
    if missing := sum(record["status"] == "not run" for record in records):
        lines.append(f"{missing} of {len(records)} runs are not done yet")
    if len({json.dumps([each["processor"], each["cores"], each["threads"]]) for each in machines}) > 1:
        lines.append(
            "these runs were made on different machines or with different threads: do not compare their seconds"
        )
    if published_table is not None and any(record["status"] in FINISHED for record in records):
        lines.append(
            f"paper: the numbers of {published_table} as printed; its seconds are those of the paper's machine"
        )
    return lines


def _any(rows: Sequence[Summary], name: str) -> bool:
    return any(row.get(name) not in (None, 0) for row in rows)


def _cells(
    row: Summary, rows: Sequence[Summary], shown: Mapping[str, tuple[str, str]], varying: Mapping[str, set[str]]
) -> list[str]:
    runs = str(row["count"]) if row["count"] == row["planned"] else f"{row['count']} of {row['planned']}"
    cells = [row["dataset"], _solver_text(row, varying), runs]
    if not row["count"]:
        return [*cells, row["status"]]
    for quantity, form in shown.values():
        cells.append(_number(row[f"{quantity}_mean"], row[f"{quantity}_std"], form))
        if _any(rows, f"published_{quantity}"):
            printed = row.get(f"published_{quantity}")
            cells.append("" if printed is None else f"{printed:g}")
    return cells


def _varying(rows: Sequence[Summary]) -> dict[str, set[str]]:
    """Find, for each solver, the parameters that do not have one value throughout."""
    values: dict[str, dict[str, set[str]]] = {}
    for row in rows:
        named = json.loads(row["parameters"]) | {"kernel": row["kernel"]}
        for name, value in named.items():
            values.setdefault(row["solver"], {}).setdefault(name, set()).add(json.dumps(value))
    return {solver: {name for name, found in each.items() if len(found) > 1} for solver, each in values.items()}


def _solver_text(row: Summary, varying: Mapping[str, set[str]]) -> str:
    named = json.loads(row["parameters"])
    words = [f"{name}={short(value)}" for name, value in named.items() if name in varying[row["solver"]]]
    if row["kernel"] != "linear":
        words.append(row["kernel"])
    return " ".join([row["solver"], *words])


def _number(mean: float | None, deviation: float | None, form: str) -> str:
    if mean is None:
        return ""
    text = form.format(mean)
    if deviation is None or math.isclose(deviation, 0, abs_tol=1e-9 * abs(mean)):
        return text
    return f"{text} ± {deviation:.2g}"
