"""Checkpoints -> curves, and their means over seeds and splits (curves.csv, mean_curves.csv)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mpu_bench.quantities import CHECKPOINT_COLUMNS, RECORD_COLUMNS, Column, RunStatus
from mpu_bench.results.store import Store
from mpu_bench.results.summary import Summary, moments

Row = Mapping[str, Any]

_ROUNDING = 1e-9  # of a mean of examples presented

#: what tells the curves of curves.csv apart
IDENTITY = ("dataset", "split", "solver", "parameters", "kernel", "budget_vectors", "seed")

#: what tells the points of mean_curves.csv apart
_MEAN_IDENTITY = (*(name for name in IDENTITY if name not in ("seed", "split")), "presented")
_AVERAGED = tuple(name for name in CHECKPOINT_COLUMNS if name not in _MEAN_IDENTITY)


#: column of mean_curves.csv -> its value from the text of a cell
MEAN_CURVE_TYPES: dict[str, Callable[[str], Any]] = {
    **{name: (RECORD_COLUMNS.get(name) or CHECKPOINT_COLUMNS[name]).typed for name in _MEAN_IDENTITY},
    "count": Column("count", "INTEGER", "how many runs").typed,
    **{f"{name}_{moment}": Column(name, "REAL", "").typed for name in _AVERAGED for moment in ("mean", "std")},
}


def curves_of(store: Store) -> list[Summary]:
    """Return the rows of curves.csv; none of trials, nor of runs whose result is provisional."""
    records = store.records()
    left_out = {place for place, each in enumerate(records) if each["trial"] or each["status"] == RunStatus.PROVISIONAL}
    points = (point for point in store.checkpoints() if point["position"] not in left_out)
    return [{name: records[point["position"]][name] for name in IDENTITY} | point for point in points]


def mean_curves(curves: Sequence[Row]) -> list[Summary]:
    """Return the curves' means and standard deviations over seeds and splits, at each checkpoint."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for point in curves:
        groups.setdefault(tuple(point[name] for name in _MEAN_IDENTITY), []).append(point)
    return [
        dict(zip(_MEAN_IDENTITY, values, strict=True)) | {"count": len(points)} | moments(points, _AVERAGED)
        for values, points in groups.items()
    ]


def along(row: Row, axis: str) -> float | None:
    """Return where a row of mean_curves.csv stands on an axis.

    On that of inner products a kernel evaluation counts as one, as in sbp-2012.
    """
    position: float | None = row.get("presented" if axis == "presented" else f"{axis}_mean")
    if axis != "inner_products" or position is None:
        return position
    return position + (row.get("kernel_evaluations_mean") or 0.0)


def final_point(points: Sequence[Row], rows: Sequence[Row], axis: str) -> list[Row]:
    """Return the points of a curve; where all stand at one place, only its end (from table.csv, if it has it)."""
    if axis == "presented" or len({along(point, axis) for point in points}) > 1:
        return list(points)
    last = max(points, key=lambda point: point["presented"])
    ends = (row for row in rows if curve_identity(row) == curve_identity(last))
    return [next((row | {"presented": last["presented"]} for row in ends), last)]  # type: ignore[operator]


def complete(curves: Sequence[Row], rows: Sequence[Row]) -> list[Row]:
    """Return the points of mean curves that all finished runs of table.csv came to; others average some of them."""
    counts = {curve_identity(row): row["count"] for row in rows}
    return [point for point in curves if point.get("count", 1) >= counts.get(curve_identity(point), 0)]


def ends(curves: Sequence[Row], rows: Sequence[Row]) -> list[Row]:
    """Return where runs end on average, from table.csv, for each solver whose points in ``curves`` end before.

    Runs of several seeds seldom end at the same checkpoint, so that no point of a mean curve is their end.
    """
    last: dict[tuple[Any, ...], float] = {}
    for point in curves:
        identity = curve_identity(point)
        last[identity] = max(last.get(identity, 0.0), point["presented"])
    presented = ((row, row.get("examples_mean") or 0.0) for row in rows if row.get("count"))
    return [
        {**row, "presented": end}
        for row, end in presented
        if end > last.get(curve_identity(row), 0.0) * (1.0 + _ROUNDING)
    ]


def curve_identity(row: Row) -> tuple[Any, ...]:
    """Return what tells a mean curve apart."""
    return tuple(row.get(name) for name in ("dataset", "solver", "parameters", "kernel", "budget_vectors"))
