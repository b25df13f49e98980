"""Figures of curves: a quantity along the way of each solver, against evaluations, seconds or examples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import quantiles
from typing import Any

from mpu_bench.config.drawings import AXES
from mpu_bench.quantities import DECLARED
from mpu_bench.report import figure_parts as parts
from mpu_bench.report.figure_parts import OPTIMA, Figure, Level, Panel, Series, figure
from mpu_bench.results.means import Summary as Row
from mpu_bench.results.means import along, by_dataset, complete, ends, final_point, grouped

_MARGIN, _MAX_ABOVE = 0.35, 5.0  # of how far the curves' ends lie apart: shown above the highest end
_MIN_APART, _MIN_POINTS = 0.05, 0.2  # of the highest end, and percentage points: nearer ends count as so far apart
_MIN_POINTS_ALONE = 5  # of a curve without another
_MIN_CUT = 0.25  # of the height of all data; less is not worth a cut


def axes(curves: Sequence[Row]) -> list[str]:
    """Return the axes that all these curves can be drawn against: something is counted on it for every solver.

    Seconds only where those of each dataset are of one machine. Examples presented are passes on another scale: they
    are drawn against where it is asked for.
    """
    solvers = {row.solver for row in curves}

    def counted(axis: str) -> set[Any]:
        return {row.solver for row in curves if (along(row, axis) or 0) > 0}

    has_inner_products = any(row.means.get("inner_products") for row in curves)  # else both axes would be the same
    usable = [axis for axis in AXES if axis != "presented" and (axis != "inner_products" or has_inner_products)]
    usable = [axis for axis in usable if parts.on_one_machine(axis, curves) == list(curves)]
    return [axis for axis in usable if solvers and counted(axis) == solvers]


@figure("test-error", along_axis=True, quantity="test_error")
@figure("online-error", along_axis=True, quantity="online_error")
@figure("objective", along_axis=True, quantity="suboptimality")
@figure("gap", along_axis=True, quantity="gap")
@figure("seconds", on_demand=True, along_axis=True, quantity="train_seconds", first="presented")
def curves_of(
    rows: Sequence[Row], curves: Sequence[Row], against: str | None, quantity: str, first: str | None = None
) -> Figure | None:
    """Return the figure of a quantity, by default against the axis ``first``."""
    against = against or first
    known = complete(curves, rows)
    measured = [row for row in (*known, *ends(known, rows)) if row.means.get(quantity) is not None]
    measured = parts.contestants(parts.on_one_machine(quantity, measured))
    usable = [row for row in measured if DECLARED[quantity].is_in_percent or (row.means[quantity] or 0) > 0]
    fitting = axes(usable)
    if not fitting or len({row.presented for row in usable}) < 2:
        return None
    axis = against if against in (*fitting, "presented") else fitting[0]
    varied = _distinguishing(usable)
    panels = [_panel(dataset, usable, rows, quantity, axis, varied[dataset]) for dataset in varied]
    panels = [panel for panel in panels if _is_curve(panel)]
    left = len(measured) - len(usable)
    note = f"points at or below 0, which a logarithmic axis has no room for: {left}" if left else ""
    return Figure("", f"{parts.words(quantity)} against {DECLARED[axis].heading}", tuple(panels), note=note)


def _is_curve(panel: Panel) -> bool:
    """Return whether there is something to see: several curves, or a single one that is long enough."""
    lengths = [len(series.x) for series in panel.series if not series.published]
    longest = max(lengths, default=0)
    return longest >= _MIN_POINTS_ALONE or (longest > 1 and len(lengths) > 1)


@figure("test-accuracy", on_demand=True, along_axis=True)
def accuracies(rows: Sequence[Row], curves: Sequence[Row], against: str | None) -> Figure | None:
    """Return the figure of test errors as one of accuracies."""
    errors = curves_of(rows, curves, against, "test_error")
    if errors is None:
        return None
    caption = errors.caption.replace("test error", "test accuracy")
    return replace(errors, caption=caption, panels=tuple(map(_turned, errors.panels)))


def _turned(panel: Panel) -> Panel:
    """Return a panel of errors in percent as one of accuracies."""
    series = tuple(
        replace(curve, y=_rest(curve.y), low=_rest(curve.high), high=_rest(curve.low)) for curve in panel.series
    )
    levels = tuple(Level(level.label, 100 - level.y) for level in panel.levels)
    title = DECLARED["test_accuracy_percent"].heading
    note = _note(tuple(number for curve in panel.series for number in curve.y), panel.limits, accuracy=True)
    return replace(panel, y_label=title, series=series, levels=levels, limits=_rest(panel.limits)[::-1], note=note)


def _rest(percents: Sequence[float]) -> tuple[float, ...]:
    return tuple(100 - percent for percent in percents)


def _distinguishing(rows: Sequence[Row]) -> dict[str, dict[str, set[str]]]:
    """Return for each dataset what tells its curves apart: the same for all, unless that makes more names."""
    datasets = by_dataset(rows)
    everywhere = dict.fromkeys(datasets, parts.varying(rows))
    here = {name: parts.varying([row for row in rows if row.dataset == name]) for name in datasets}
    return min(everywhere, here, key=lambda varied: len({parts.label(row, varied[row.dataset]) for row in rows}))


def _panel(
    dataset: str, curves: Sequence[Row], rows: Sequence[Row], quantity: str, axis: str, varied: Mapping[str, set[str]]
) -> Panel:
    here = [row for row in curves if row.dataset == dataset and (along(row, axis) or 0) > 0]
    groups = grouped(here, lambda row: parts.label(row, varied))
    if axis == "inner_products":
        groups = _join_points(groups, rows)
    series = [_curve(label, points, quantity, axis) for label, points in groups.items()]
    titles = DECLARED[axis].heading, DECLARED[quantity].heading
    budgets = {row.budget_vectors for points in groups.values() for row in points if row.budget_vectors}
    title = f"{dataset}, B = {budgets.pop():.0f}" if len(budgets) == 1 else dataset
    if not DECLARED[quantity].is_in_percent:
        return Panel(title, *titles, tuple(series), y_log=True)
    of_dataset = [row for row in rows if row.dataset == dataset]
    errors = {parts.label(row, varied): parts.published_error(row) for row in of_dataset}
    published = [  # at the end of the curves that they are about
        parts.published_points(curve, [(curve.x[-1], error)])
        for curve in series
        if quantity == "test_error" and (error := errors.get(curve.label)) is not None
    ]
    levels = _levels(of_dataset, dataset) if quantity == "test_error" else []
    limits = _limits(series, [*published, *levels[:-1]])
    note = _note(tuple(number for curve in series for number in curve.y), limits)
    shown = tuple(level for level in levels if not limits or limits[0] <= level.y <= limits[1])
    drawn = (*series, *published)
    entry = _entry(drawn, limits) if limits else 0.0
    return Panel(title, *titles, drawn, limits=limits, entry=entry, note=note, levels=shown)


def _entry(series: Sequence[Series], limits: Sequence[float]) -> float:
    """Return where the first curve enters what is shown."""
    points = [point for curve in series for point in zip(curve.x, curve.y, strict=True)]
    shown = min(x for x, y in points if limits[0] <= y <= limits[1])
    return max((x for x, _ in points if x < shown), default=shown)


def _join_points(groups: Mapping[str, list[Row]], rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Join runs of one point each, such as those with more and more random features, to one curve."""
    joined: dict[str, list[Row]] = {}
    for label, points in groups.items():
        left = final_point(points, rows)
        joined.setdefault(left[0].solver if len(left) == 1 else label, []).extend(left)
    return joined


def _curve(label: str, points: Sequence[Row], quantity: str, axis: str) -> Series:
    points = sorted(points, key=lambda point: along(point, axis) or 0.0)
    x = tuple(along(point, axis) or 0.0 for point in points)
    series = Series(label, x, (), line=len(points) > 1, solver=parts.style_name(points[0]), again=_again(points))
    return parts.of_curve(series, points, quantity, axis)


def _again(points: Sequence[Row]) -> int:
    """Return at which point an online algorithm, which counts its errors on the way, ends its first pass; or 0."""
    if all(point.means.get("online_error") is None for point in points):
        return 0
    ended = (index for index, point in enumerate(points) if (point.means.get("passes") or 0.0) >= 1)
    index = next(ended, 0)
    return index if index < len(points) - 1 else 0


def _levels(rows: Sequence[Row], dataset: str) -> list[Level]:
    """Return the errors that curves are seen against: that of the optimum, and last that of the best constant."""
    optima = [row for row in rows if row.solver in OPTIMA and row.means.get("test_error") is not None]
    level = [Level("optimum", 100 * (optima[0].means["test_error"] or 0.0))] if len(optima) == 1 else []
    return level + parts.constant_level(rows, dataset)


def _limits(series: Sequence[Series], beside: Sequence[Series | Level]) -> tuple[float, ...]:
    """Return the lowest and highest percentage to be shown; nothing where all are.

    A long way down from a bad start must not flatten the rest: what is shown above the ends of the curves is a few
    times what they differ by, and curves enter from above.
    """
    if len(series) < 2:
        return ()
    every = [number for curve in series for number in (*curve.y, *curve.low[-1:], *curve.high)]
    added = [number for item in beside for number in ([item.y] if isinstance(item, Level) else item.y)]
    ends = [curve.high[-1] if curve.high else curve.y[-1] for curve in series]
    low, high, highest = min([*every, *added]), max([*ends, *added]), max([*every, *added])
    apart = max(high - low, _MIN_APART * high, _MIN_POINTS)
    three_quarters = quantiles([number for curve in series for number in curve.y], n=4)[-1]
    top = max(high + _MARGIN * apart, min(three_quarters, high + _MAX_ABOVE * apart))
    if highest - top < _MIN_CUT * (highest - low):
        return ()
    return max(low - 0.05 * (top - low), min(low, 0.0)), top


def _note(numbers: Sequence[float], limits: Sequence[float], *, accuracy: bool = False) -> str:
    """Return what lies beyond the limits of errors in percent."""
    if not limits or max(numbers) <= limits[1]:
        return ""
    return (
        f"\N{DOWNWARDS ARROW} from {100 - max(numbers):.0f}" if accuracy else f"\N{UPWARDS ARROW} to {max(numbers):.0f}"
    )
