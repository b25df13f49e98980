"""Records -> runs.csv, table.csv, curves.csv, bands.csv, comparison.csv and environment.json."""

from __future__ import annotations

import csv
import io
import json
import os
import statistics
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from mpu_bench import published
from mpu_bench.config.rules import QUANTITIES, Judging
from mpu_bench.errors import StoreError
from mpu_bench.experiment.trace import CHECKPOINT_COLUMNS
from mpu_bench.results.store import FINISHED, RECORD_COLUMNS, Store
from mpu_bench.verdict import comparison

GROUP = ("dataset", "n", "d", "n_test", "classes", "solver", "parameters", "kernel", "budget_vectors", "tuned")

#: what tells the curves of curves.csv apart
IDENTITY = ("dataset", "split", "solver", "parameters", "kernel", "budget_vectors", "seed")

Summary = dict[str, Any]


def summarize(records: Sequence[Mapping[str, Any]], published_table: str | None) -> list[Summary]:
    """Make one row per dataset, solver, parameters, kernel and budget, over seeds and splits; none of trials.

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
        if not record["trial"]:
            groups.setdefault(tuple(record[name] for name in GROUP), []).append(record)
    return [_summary(dict(zip(GROUP, key, strict=True)), runs, published_table) for key, runs in groups.items()]


def _summary(group: dict[str, Any], runs: Sequence[Mapping[str, Any]], published_table: str | None) -> Summary:
    finished = [_with_derived(run) for run in runs if run["status"] in FINISHED]
    failed = [run for run in runs if run["status"] not in FINISHED]
    summary: Summary = group | {"count": len(finished), "planned": len(runs)}
    summary["status"] = ", ".join(dict.fromkeys(run["status"] for run in (failed or runs)))
    summary["chosen"] = " or ".join(dict.fromkeys(run["chosen"] for run in finished if run["chosen"]))
    summary["reason"] = "; ".join(dict.fromkeys(run["reason"] for run in runs if run["reason"]))
    summary |= _moments(finished, QUANTITIES)
    key = group | {"parameters": json.loads(group["parameters"])}
    printed = published.beside(published_table, key)
    return summary | {f"published_{name}": value for name, value in printed.items()}


def _with_derived(run: Mapping[str, Any]) -> dict[str, Any]:
    error = run["test_error"]
    online = run["online_error"]
    derived = {
        "examples": None if run["passes"] is None or run["n"] is None else run["passes"] * run["n"],
        "online_error_percent": None if online is None else 100 * online,
        "test_error_percent": None if error is None else 100 * error,
        "test_accuracy_percent": None if error is None else 100 * (1 - error),
    }
    return {**run, **derived}


def write(store: Store) -> None:
    """Write every CSV of a results folder, and environment.json, from its store; each file whole or not at all.

    Raises
    ------
    StoreError
        If the folder cannot be written.
    """
    records = store.records()
    rows = summaries(store)
    curves = _curves(store)
    bands = averaged_curves(curves)
    texts = {
        "runs.csv": _csv_text(list(RECORD_COLUMNS), records),
        "table.csv": _csv_text(_columns(rows), rows),
        "curves.csv": _csv_text([*IDENTITY, *CHECKPOINT_COLUMNS, "run_id"], curves),
        "bands.csv": _csv_text(_columns(bands), bands),
        "comparison.csv": _csv_text(comparison.COLUMNS, [asdict(cell) for cell in _judged(store, rows, bands)]),
        "environment.json": json.dumps({"machines": store.environments()}, indent=2) + "\n",
    }
    try:
        for name, text in texts.items():
            _write_text(store.folder / name, text)
    except OSError as fault:
        raise StoreError(f"{store.folder}: the tables cannot be written: {fault.strerror}") from None


def judge(store: Store) -> list[comparison.Cell]:
    """Set the results of a store against what its config says they answer."""
    return _judged(store, summaries(store), averaged(store))


def summaries(store: Store) -> list[Summary]:
    """Give the rows of table.csv, with the sizes of the datasets' largest and smallest pairs of classes."""
    pairs = store.fact("pairs") or {}
    return [
        row | dict(zip(("largest_pair", "smallest_pair"), pairs.get(row["dataset"], ()), strict=False))
        for row in summarize(store.records(), store.fact("published"))
    ]


def averaged(store: Store) -> list[Summary]:
    """Give the rows of bands.csv."""
    return averaged_curves(_curves(store))


def _judged(store: Store, rows: Sequence[Summary], bands: Sequence[Summary]) -> list[comparison.Cell]:
    return comparison.compare(rows, bands, Judging.model_validate(store.fact("judging") or {}))


def _curves(store: Store) -> list[Summary]:
    records = store.records()
    points = (point for point in store.checkpoints() if not records[point["place"]]["trial"])
    return [{name: records[point["place"]][name] for name in IDENTITY} | point for point in points]


def _columns(rows: Sequence[Summary]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row))


def averaged_curves(curves: Sequence[Mapping[str, Any]]) -> list[Summary]:
    """Average the curves over seeds and splits, at the checkpoints that every run has: mean and sample deviation."""
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    key = [name for name in IDENTITY if name not in ("seed", "split")] + ["presented"]
    for point in curves:
        groups.setdefault(tuple(point[name] for name in key), []).append(point)
    averaged = [name for name in CHECKPOINT_COLUMNS if name not in key]
    return [
        dict(zip(key, values, strict=True)) | {"count": len(points)} | _moments(points, averaged)
        for values, points in groups.items()
    ]


def _moments(rows: Sequence[Mapping[str, Any]], names: Iterable[str]) -> Summary:
    """Give ``<name>_mean`` and ``<name>_std``, None where there is no value, or only one."""
    moments: Summary = {}
    for name in names:
        values = [row[name] for row in rows if row[name] is not None]
        moments[f"{name}_mean"] = statistics.fmean(values) if values else None
        moments[f"{name}_std"] = statistics.stdev(values) if len(values) > 1 else None
    return moments


def as_csv(rows: Sequence[Summary]) -> str:
    """Write rows with whatever columns they have."""
    return _csv_text(_columns(rows), rows)


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
