"""Checkpoints -> curves, and their means over seeds and splits (curves.csv, mean_curves.csv)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from mpu_bench.columns import Column
from mpu_bench.quantities import CHECKPOINT_COLUMNS, COLUMNS, Record, RunStatus
from mpu_bench.results.means import Summary, moments
from mpu_bench.results.store import Store

_ROUNDING = 1e-9  # of a mean of examples presented

#: what tells the curves of curves.csv apart
IDENTITY = ("dataset", "split", "solver", "parameters", "kernel", "budget_vectors", "seed")

#: what tells the points of mean_curves.csv apart
_MEAN_IDENTITY = (*(name for name in IDENTITY if name not in ("seed", "split")), "presented")
_AVERAGED = tuple(name for name in CHECKPOINT_COLUMNS if name not in _MEAN_IDENTITY)


#: column of mean_curves.csv -> its value from the text of a cell
MEAN_CURVE_TYPES: dict[str, Callable[[str], Any]] = {
    **{name: COLUMNS[name].of_text for name in _MEAN_IDENTITY},
    "count": Column("how many runs", "count", "INTEGER").of_text,
    **{f"{name}_{moment}": Column("", name).of_text for name in _AVERAGED for moment in ("mean", "std")},
}


def curves_of(store: Store) -> list[Record]:
    """Return the rows of curves.csv; none of trials, nor of runs whose result is provisional."""
    records = store.records()
    return [
        replace(point, run_id=run_id, **run.row(IDENTITY))
        for position, run_id, points in store.checkpoints()
        for run in [records[position]]
        if not run.trial and run.status != RunStatus.PROVISIONAL
        for point in points
    ]


def mean_curves(curves: Sequence[Record]) -> list[Summary]:
    """Return the curves' means and standard deviations over seeds and splits, at each checkpoint."""
    groups: dict[tuple[Any, ...], list[Record]] = {}
    for point in curves:
        groups.setdefault(tuple(map(point.value, _MEAN_IDENTITY)), []).append(point)
    return [
        Summary(**dict(zip(_MEAN_IDENTITY, values, strict=True)), count=len(points), **moments(points, _AVERAGED))
        for values, points in groups.items()
    ]


def mean_curve_rows(points: Sequence[Summary]) -> list[dict[str, Any]]:
    """Return the rows of mean_curves.csv."""
    return [point.row(_MEAN_IDENTITY) | {"count": point.count} | point.moments(_AVERAGED) for point in points]


def mean_curve_of(row: dict[str, Any]) -> Summary:
    """Return the point of a row of mean_curves.csv."""
    means, deviations = ({name: row[f"{name}_{moment}"] for name in _AVERAGED} for moment in ("mean", "std"))
    common = {name: row[name] for name in _MEAN_IDENTITY}
    return Summary(**common, count=row["count"], means=means, deviations=deviations)


def along(row: Summary, axis: str) -> float | None:
    """Return where a row of mean_curves.csv stands on an axis.

    On that of inner products a kernel evaluation counts as one, as in sbp-2012.
    """
    position = row.presented if axis == "presented" else row.means.get(axis)
    if axis != "inner_products" or position is None:
        return position
    return position + (row.means.get("kernel_evaluations") or 0.0)


def final_point(points: Sequence[Summary], rows: Sequence[Summary], axis: str) -> list[Summary]:
    """Return the points of a curve; where all stand at one place, only its end (from table.csv, if it has it)."""
    if axis == "presented" or len({along(point, axis) for point in points}) > 1:
        return list(points)
    last = max(points, key=_presented)
    ends = (row for row in rows if curve_identity(row) == curve_identity(last))
    return [next((replace(row, presented=last.presented) for row in ends), last)]


def complete(curves: Sequence[Summary], rows: Sequence[Summary]) -> list[Summary]:
    """Return the points of mean curves that all finished runs of table.csv came to; others average some of them."""
    counts = {curve_identity(row): row.count for row in rows}
    return [point for point in curves if point.count >= counts.get(curve_identity(point), 0)]


def ends(curves: Sequence[Summary], rows: Sequence[Summary]) -> list[Summary]:
    """Return where runs end on average, from table.csv, for each solver whose points in ``curves`` end before.

    Runs of several seeds seldom end at the same checkpoint, so that no point of a mean curve is their end.
    """
    last: dict[tuple[Any, ...], float] = {}
    for point in curves:
        identity = curve_identity(point)
        last[identity] = max(last.get(identity, 0.0), _presented(point))
    presented = ((row, row.means.get("examples") or 0.0) for row in rows if row.count)
    return [
        replace(row, presented=end)  # type: ignore[arg-type]  # a mean is no whole number
        for row, end in presented
        if end > last.get(curve_identity(row), 0.0) * (1.0 + _ROUNDING)
    ]


def _presented(point: Record) -> int:
    return point.presented or 0


def curve_identity(row: Record) -> tuple[Any, ...]:
    """Return what tells a mean curve apart."""
    return row.dataset, row.solver, row.parameters, row.kernel, row.budget_vectors
