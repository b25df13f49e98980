"""Means of runs that differ in seed and split alone: rows of table.csv, points of mean_curves.csv; and curves."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from mpu_bench.columns import Column
from mpu_bench.quantities import CHECKPOINT_COLUMNS, COLUMNS, QUANTITIES, Record, RunStatus

#: what runs have in common that one row of table.csv is of
GROUP = (
    *("dataset", "n", "d", "n_test", "classes", "solver", "parameters", "kernel", "budget_vectors", "tuned"),
    *("problem", "as_published", "overridden", "earlier"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary(Record):
    """What runs that differ in seed and split alone have in common, and the means of what is measured.

    Attributes
    ----------
    count, planned : int
        How many of the planned runs have a result, and are in the means.
    statuses : str
        Of the runs that did not finish, or of all.
    disturbed_runs : int or None
        How many were; None where it is not recorded.
    means, deviations, published : mapping
        By quantity: the mean, the sample standard deviation (None for one run), the published number beside it.
    largest_pair, smallest_pair : int or None
        Training rows of the largest and of the smallest pair of classes, of a dataset of several.
    runs : sequence of Record
        Those with a result, where `machines.with_runs` has found them.
    """

    count: int = 1
    planned: int = 1
    statuses: str = ""
    disturbed_runs: int | None = None
    means: Mapping[str, float | None] = field(default_factory=dict)
    deviations: Mapping[str, float | None] = field(default_factory=dict)
    published: Mapping[str, float] = field(default_factory=dict)
    largest_pair: int | None = None
    smallest_pair: int | None = None
    runs: Sequence[Record] = ()

    def moments(self, names: Iterable[str]) -> dict[str, float | None]:
        """Return ``<name>_mean`` and ``<name>_std``, as the columns of CSV files are called."""
        both = (("mean", self.means), ("std", self.deviations))
        return {f"{name}_{moment}": values[name] for name in names for moment, values in both}

    def table_row(self) -> dict[str, Any]:
        """Return the row of table.csv."""
        pairs = {"largest_pair": self.largest_pair, "smallest_pair": self.smallest_pair}
        return {
            **self.row(GROUP),
            "count": self.count,
            "planned": self.planned,
            "status": self.statuses,
            "chosen": self.chosen,
            "reason": self.reason,
            "disturbed": self.disturbed_runs,
            **self.moments(QUANTITIES),
            "maximised": self.maximised,
            **{f"published_{name}": value for name, value in self.published.items()},
            **{name: value for name, value in pairs.items() if value is not None},
        }


_Item = TypeVar("_Item")
_Key = TypeVar("_Key")


def by_dataset(rows: Iterable[Summary]) -> dict[str, list[Summary]]:
    """Return the rows of each dataset, in order."""
    return grouped(rows, lambda row: row.dataset)


def grouped(items: Iterable[_Item], key: Callable[[_Item], _Key]) -> dict[_Key, list[_Item]]:
    """Return the items of each key, in order."""
    groups: dict[_Key, list[_Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def moments(runs: Sequence[Record], names: Iterable[str]) -> dict[str, Any]:
    """Return the ``means`` and ``deviations`` of quantities, None where there is no value, or only one."""
    known = {name: [value for run in runs if (value := run.value(name)) is not None] for name in names}
    return {
        "means": {name: statistics.fmean(values) if values else None for name, values in known.items()},
        "deviations": {name: statistics.stdev(values) if len(values) > 1 else None for name, values in known.items()},
    }


_ROUNDING = 1e-9  # of a mean of examples presented

#: what tells the curves of curves.csv apart
IDENTITY = ("dataset", "split", "solver", "parameters", "kernel", "budget_vectors", "tuned", "seed")

#: what tells the points of mean_curves.csv apart
_MEAN_IDENTITY = (*(name for name in IDENTITY if name not in ("seed", "split")), "presented")
_AVERAGED = tuple(name for name in CHECKPOINT_COLUMNS if name not in _MEAN_IDENTITY)


#: column of mean_curves.csv -> its value from the text of a cell
MEAN_CURVE_TYPES: dict[str, Callable[[str], Any]] = {
    **{name: COLUMNS[name].of_text for name in _MEAN_IDENTITY},
    "count": Column("how many runs", "count", "INTEGER").of_text,
    **{f"{name}_{moment}": Column("", name).of_text for name in _AVERAGED for moment in ("mean", "std")},
}


def curves_of(runs: Iterable[Record], points: Mapping[str, Sequence[Record]]) -> list[Record]:
    """Return the rows of curves.csv; none of trials, nor of runs whose result is provisional.

    Parameters
    ----------
    runs : iterable of Record
        The planned ones.
    points : mapping
        The checkpoints of runs by key, among them those of runs that have ended since ``runs`` were read: without them.
    """
    return [
        replace(point, run_id=run.run_id, **run.row(IDENTITY))
        for run in runs
        if not run.trial and run.status not in (RunStatus.PROVISIONAL, RunStatus.NOT_RUN)
        for point in points.get(run.run_id or "", ())
    ]


def mean_curves(curves: Sequence[Record]) -> list[Summary]:
    """Return the curves' means and standard deviations over seeds and splits, at each checkpoint."""
    groups = grouped(curves, lambda point: tuple(map(point.value, _MEAN_IDENTITY)))
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
    return _position(axis, row.presented, row.means.get)


def end_along(run: Record, axis: str) -> float | None:
    """Return where a run ended on an axis."""
    return _position(axis, run.examples, run.value)


def _position(axis: str, presented: float | None, value: Callable[[str], float | None]) -> float | None:
    position = presented if axis == "presented" else value(axis)
    if axis != "inner_products" or position is None:
        return position
    return position + (value("kernel_evaluations") or 0.0)


def final_point(points: Sequence[Summary], rows: Sequence[Summary]) -> list[Summary]:
    """Return the points of a curve; where all have as many inner products, only its end (of table.csv, if there)."""
    if len({along(point, "inner_products") for point in points}) > 1:
        return list(points)
    last = max(points, key=_presented)
    ends = (row for row in rows if curve_identity(row) == curve_identity(last))
    return [next((replace(row, presented=last.presented) for row in ends), last)]


def complete(curves: Sequence[Summary], rows: Sequence[Summary]) -> list[Summary]:
    """Return the points of mean curves that all finished runs of table.csv came to; others average some of them."""
    known = {curve_identity(row): row for row in rows}
    pairs = ((point, known.get(curve_identity(point), point)) for point in curves)
    return [replace(point, planned=row.planned) for point, row in pairs if point.count >= row.count]


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
    """Return what tells a mean curve apart; what was tuned is last."""
    return row.dataset, row.solver, row.parameters, row.kernel, row.budget_vectors, row.tuned
