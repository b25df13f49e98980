"""The data of figures: panels of series, made from the tables of an experiment; drawn by figures.py and by the page."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from mpu_bench.report import naming

Row = Mapping[str, Any]

#: the axes a curve can be drawn against
AXES = {
    "kernel_evaluations": "kernel evaluations",
    "train_seconds": "training seconds",
    "inner_products": "inner products",
    "passes": "passes over the data",
}
_PERCENT = {"test_error": "test error, %", "online_error": "online error, %", "train_error": "training error, %"}
_LENGTHS = 3  #: of the data, that seconds can be drawn against
_CURVES = _PERCENT | {"deviation": "relative deviation of the objective", "gap": "relative duality gap"}


@dataclass(frozen=True)
class Series:
    """A line, or single points where ``line`` is False; ``low`` and ``high`` bound its band, if it has one."""

    label: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    line: bool = True
    printed: bool = False  #: printed in the paper, not measured


@dataclass(frozen=True)
class Panel:
    """One pair of axes."""

    title: str
    x_label: str
    y_label: str
    series: tuple[Series, ...]
    x_log: bool = True
    y_log: bool = False
    categories: tuple[str, ...] = ()  #: what stands at x = 0, 1, ... where x is no number


@dataclass(frozen=True)
class Figure:
    """A figure: its name, what it shows, and its panels, one per dataset."""

    name: str
    caption: str
    panels: tuple[Panel, ...]


def figures(rows: Sequence[Row], bands: Sequence[Row]) -> list[str]:
    """Name the figures that these results have data for."""
    return [name for name in NAMES if make(name, rows, bands) is not None]


def make(name: str, rows: Sequence[Row], bands: Sequence[Row], against: str | None = None) -> Figure | None:
    """Make a figure's data; None where the results hold none for it.

    Parameters
    ----------
    name : str
        One of `NAMES`.
    rows, bands : sequence of mapping
        The rows of table.csv and of bands.csv.
    against : str, optional
        For curves: one of `AXES`; the first that fits by default.
    """
    found = _MAKERS[name](rows, bands, against)
    return replace(found, name=name) if found is not None and found.panels else None


def axes(bands: Sequence[Row]) -> list[str]:
    """Name the axes that all these curves can be drawn against: something is counted on it for every solver."""
    solvers = {row["solver"] for row in bands}

    def counted(axis: str) -> set[Any]:
        return {row["solver"] for row in bands if (row.get(f"{axis}_mean") or 0) > 0}

    return [axis for axis in AXES if solvers and counted(axis) == solvers]


def _curves(quantity: str) -> Callable[..., Figure | None]:
    def curves(rows: Sequence[Row], bands: Sequence[Row], against: str | None) -> Figure | None:
        there = [row for row in bands if _is_drawable(row.get(f"{quantity}_mean"), quantity)]
        fitting = axes(there)
        if not fitting or len({row["presented"] for row in there}) < 2:
            return None
        axis = against if against in fitting else fitting[0]
        varied = naming.varying(there)
        panels = tuple(_curve_panel(dataset, there, rows, quantity, axis, varied) for dataset in _datasets(there))
        words = f"{_CURVES[quantity].removesuffix(', %')} against {AXES[axis]}"
        return Figure("", words, panels)

    return curves


def _is_drawable(value: Any, quantity: str) -> bool:
    return value is not None and (quantity in _PERCENT or value > 0)


def _datasets(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(row["dataset"] for row in rows))


def _curve_panel(
    dataset: str, bands: Sequence[Row], rows: Sequence[Row], quantity: str, axis: str, varied: Mapping[str, set[str]]
) -> Panel:
    groups: dict[str, list[Row]] = {}
    for row in bands:
        if row["dataset"] == dataset and (row[f"{axis}_mean"] or 0) > 0:
            budget = "" if row["budget_vectors"] in (None, "") else f" B={row['budget_vectors']:.0f}"
            label = naming.short_text(row, varied, ("vectors",)) + budget
            groups.setdefault(label, []).append(row)
    series = [_curve(label, points, quantity, axis) for label, points in groups.items()]
    return Panel(dataset, AXES[axis], _CURVES[quantity], (*series, *_printed_error(dataset, rows, quantity, series)),
                 y_log=quantity not in _PERCENT)  # fmt: skip


def _curve(label: str, points: Sequence[Row], quantity: str, axis: str) -> Series:
    times = 100.0 if quantity in _PERCENT else 1.0
    points = sorted(points, key=lambda point: point[f"{axis}_mean"])
    y = [times * point[f"{quantity}_mean"] for point in points]
    off = [times * (point.get(f"{quantity}_std") or 0.0) for point in points]
    banded = any(off) and quantity in _PERCENT
    return Series(
        label,
        tuple(point[f"{axis}_mean"] for point in points),
        tuple(y),
        tuple(a - b for a, b in zip(y, off, strict=True)) if banded else (),
        tuple(a + b for a, b in zip(y, off, strict=True)) if banded else (),
        line=len(points) > 1,
    )


def _printed_error(dataset: str, rows: Sequence[Row], quantity: str, drawn: Sequence[Series]) -> list[Series]:
    """Mark printed errors at the end of the axis."""
    if quantity != "test_error" or not drawn:
        return []
    last = max(max(series.x) for series in drawn)
    return [
        Series(f"{row['solver']}, printed", (last,), (_printed(row),), line=False, printed=True)
        for row in rows
        if row["dataset"] == dataset and _printed(row) is not None
    ]


def _printed(row: Row) -> Any:
    if row.get("published_test_error_percent") is not None:
        return row["published_test_error_percent"]
    accuracy = row.get("published_test_accuracy_percent")
    return None if accuracy is None else 100 - accuracy


def _by_budget(quantity: str) -> Callable[..., Figure | None]:
    def budgets(rows: Sequence[Row], _bands: Sequence[Row], _against: str | None) -> Figure | None:
        there = [row for row in rows if row.get(f"{quantity}_mean") is not None]
        sizes = {row["budget_vectors"] for row in there if row["budget_vectors"]}
        if len(sizes) < 2:
            return None
        varied = naming.varying(there)
        panels = tuple(
            _budget_panel(dataset, [row for row in there if row["dataset"] == dataset], quantity, varied)
            for dataset in _datasets([row for row in there if row["budget_vectors"]])
        )
        return Figure("", f"{_CURVES[quantity].removesuffix(', %')} against the budget", panels)

    return budgets


def _budget_panel(dataset: str, rows: Sequence[Row], quantity: str, varied: Mapping[str, set[str]]) -> Panel:
    sizes = sorted({row["budget_vectors"] for row in rows if row["budget_vectors"]})
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(naming.short_text(row, varied, ("vectors",)), []).append(row)
    series = []
    for label, points in groups.items():
        if not points[0]["budget_vectors"]:  # without a budget: the same at every size
            level = 100 * points[0][f"{quantity}_mean"]
            series.append(Series(label, (sizes[0], sizes[-1]), (level, level)))
            continue
        points = sorted(points, key=lambda row: row["budget_vectors"])  # noqa: PLW2901
        y, off = _percents(points, quantity)
        low, high = [a - b for a, b in zip(y, off, strict=True)], [a + b for a, b in zip(y, off, strict=True)]
        x = tuple(float(row["budget_vectors"]) for row in points)
        series.append(Series(label, x, tuple(y), tuple(low) if any(off) else (), tuple(high) if any(off) else ()))
        printed = [(row["budget_vectors"], _printed(row)) for row in points if _printed(row) is not None]
        if printed and quantity == "test_error":
            series.append(_points(f"{label}, printed", printed))
    return Panel(dataset, "budget, vectors", _CURVES[quantity], tuple(series), x_log=False)


def _points(label: str, printed: Sequence[tuple[float, float]]) -> Series:
    return Series(label, tuple(x for x, _ in printed), tuple(y for _, y in printed), line=False, printed=True)


def _percents(points: Sequence[Row], quantity: str) -> tuple[list[float], list[float]]:
    return [100 * row[f"{quantity}_mean"] for row in points], [
        100 * (row.get(f"{quantity}_std") or 0) for row in points
    ]


def _length(rows: Sequence[Row], _bands: Sequence[Row], _against: str | None) -> Figure | None:
    """Seconds against the number of examples: the same data at several lengths, whatever the labels say."""
    there = [row for row in rows if row.get("train_seconds_mean") and row["n"]]
    varied = naming.varying(there)
    groups: dict[str, list[Row]] = {}
    for row in there:
        budget = f" B={row['budget_vectors']:.0f}" if row["budget_vectors"] else ""
        groups.setdefault(naming.short_text(row, varied, ("vectors",)) + budget, []).append(row)
    if not any(len({row["n"] for row in points}) >= _LENGTHS for points in groups.values()):
        return None
    series = []
    for label, points in groups.items():
        ordered = sorted(points, key=lambda row: row["n"])
        x, y = tuple(float(row["n"]) for row in ordered), tuple(row["train_seconds_mean"] for row in ordered)
        series.append(Series(label, x, y, line=len(x) > 1))
        printed = [(row["n"], row["published_train_seconds"]) for row in ordered if row.get("published_train_seconds")]
        if printed:
            series.append(_points(f"{label}, printed", printed))
    panel = Panel("", "training examples", "training seconds", tuple(series), y_log=True)
    return Figure("", "training seconds against the length of the data", (panel,))


def _bars(rows: Sequence[Row], _bands: Sequence[Row], _against: str | None) -> Figure | None:
    """Accuracies and seconds side by side, by dataset."""
    there = [row for row in rows if row.get("test_accuracy_percent_mean") is not None and not row["budget_vectors"]]
    datasets = tuple(_datasets(there))
    if len(datasets) < 3:
        return None
    varied = {solver: names - {"C", "kernel"} for solver, names in naming.varying(there).items()}
    found = (
        ("accuracy", "test_accuracy_percent", "accuracy, %", False),
        ("seconds", "train_seconds", "training seconds", True),
    )
    panels = []
    for title, quantity, label, log in found:
        panels.append(Panel(title, "", label, _bar_series(there, datasets, quantity, varied), x_log=False, y_log=log,
                            categories=datasets))  # fmt: skip
    return Figure("", "accuracy and seconds by dataset", tuple(panels))


def _bar_series(
    rows: Sequence[Row], datasets: Sequence[str], quantity: str, varied: Mapping[str, set[str]]
) -> tuple[Series, ...]:
    groups: dict[str, dict[int, Row]] = {}
    for row in rows:
        groups.setdefault(naming.short_text(row, varied), {})[datasets.index(row["dataset"])] = row
    series = []
    for label, points in groups.items():
        x = tuple(sorted(points))
        series.append(Series(label, x, tuple(points[place][f"{quantity}_mean"] for place in x), line=False))
        printed = [(place, points[place][f"published_{quantity}"]) for place in x
                   if points[place].get(f"published_{quantity}") is not None]  # fmt: skip
        if printed and quantity != "train_seconds":  # another machine's seconds say nothing beside these
            series.append(_points(f"{label}, printed", printed))
    return tuple(series)


_MAKERS: dict[str, Callable[..., Figure | None]] = {
    "test-error": _curves("test_error"),
    "online-error": _curves("online_error"),
    "objective": _curves("deviation"),
    "gap": _curves("gap"),
    "budget": _by_budget("test_error"),
    "online-budget": _by_budget("online_error"),
    "length": _length,
    "bars": _bars,
}
NAMES = tuple(_MAKERS)
CURVES = ("test-error", "online-error", "objective", "gap")


def as_data(figure: Figure) -> Any:
    """Give a figure as plain lists and mappings, for JSON."""
    return json.loads(json.dumps(asdict(figure)))
