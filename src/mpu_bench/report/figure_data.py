"""The data of figures: panels of series, made from the tables of an experiment; drawn by figures.py and by the page."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from mpu_bench.errors import StoreError
from mpu_bench.results import naming
from mpu_bench.results.curves import Row, along, complete, final_point
from mpu_bench.verdict import rank_tests

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
        return {row["solver"] for row in bands if (along(row, axis) or 0) > 0}

    asked = any(row.get("inner_products_mean") for row in bands)  # else the axis is that of kernel evaluations again
    return [axis for axis in AXES if solvers and counted(axis) == solvers and (axis != "inner_products" or asked)]


def _curves(quantity: str) -> Callable[..., Figure | None]:
    def curves(rows: Sequence[Row], bands: Sequence[Row], against: str | None) -> Figure | None:
        there = [row for row in complete(bands, rows) if _is_drawable(row.get(f"{quantity}_mean"), quantity)]
        fitting = axes(there)
        if not fitting or len({row["presented"] for row in there}) < 2:
            return None
        axis = against if against in fitting else fitting[0]
        varied = _varying(there)
        panels = [_curve_panel(dataset, there, rows, quantity, axis, varied) for dataset in _datasets(there)]
        panels = [panel for panel in panels if any(each.line for each in panel.series)]
        words = f"{_CURVES[quantity].removesuffix(', %')} against {AXES[axis]}"
        return Figure("", words, tuple(panels))

    return curves


def _varying(rows: Sequence[Row]) -> dict[str, set[str]]:
    """Name the parameters that tell curves of one dataset apart; what differs only between datasets does not."""
    found: dict[str, set[str]] = {}
    for dataset in _datasets(rows):
        for solver, names in naming.varying([row for row in rows if row["dataset"] == dataset]).items():
            found[solver] = found.get(solver, set()) | names
    return found


def _is_drawable(value: Any, quantity: str) -> bool:
    return value is not None and (quantity in _PERCENT or value > 0)


def _datasets(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(row["dataset"] for row in rows))


def _curve_panel(
    dataset: str, bands: Sequence[Row], rows: Sequence[Row], quantity: str, axis: str, varied: Mapping[str, set[str]]
) -> Panel:
    groups: dict[str, list[Row]] = {}
    for row in bands:
        if row["dataset"] == dataset and (along(row, axis) or 0) > 0:
            budget = "" if row["budget_vectors"] in (None, "") else f" B={row['budget_vectors']:.0f}"
            label = naming.short_text(row, varied, ("vectors",)) + budget
            groups.setdefault(label, []).append(row)
    if axis == "inner_products":
        groups = _strung(groups, rows)
    series = [_curve(label, points, quantity, axis) for label, points in groups.items()]
    return Panel(dataset, AXES[axis], _CURVES[quantity], (*series, *_printed_error(dataset, rows, quantity, series)),
                 y_log=quantity not in _PERCENT)  # fmt: skip


def _strung(groups: Mapping[str, list[Row]], rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Join runs that stand at one place each, such as those with more and more random features, to one curve."""
    strung: dict[str, list[Row]] = {}
    for label, points in groups.items():
        ends = final_point(points, rows, "inner_products")
        strung.setdefault(ends[0]["solver"] if len(ends) == 1 else label, []).extend(ends)
    return strung


def _curve(label: str, points: Sequence[Row], quantity: str, axis: str) -> Series:
    times = 100.0 if quantity in _PERCENT else 1.0
    points = sorted(points, key=lambda point: along(point, axis) or 0.0)
    y = [times * point[f"{quantity}_mean"] for point in points]
    off = [times * (point.get(f"{quantity}_std") or 0.0) for point in points]
    banded = any(off) and quantity in _PERCENT
    return Series(
        label,
        tuple(along(point, axis) or 0.0 for point in points),
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
        varied = _varying(there)
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


def _against_length(quantity: str, label: str, log: bool) -> Callable[..., Figure | None]:
    """Make the figure of a quantity against the number of examples: the same data at several lengths.

    Datasets with as many features and classes are taken for such a series, whatever their labels say.
    """

    def lengths(rows: Sequence[Row], _bands: Sequence[Row], _against: str | None) -> Figure | None:
        varied = {solver: names - {"C"} for solver, names in _varying(rows).items()}
        kinds: dict[tuple[Any, Any], list[Row]] = {}
        for row in rows:
            if row["n"] and row.get(f"{quantity}_mean"):
                kinds.setdefault((row.get("d"), row.get("classes")), []).append(row)
        panels = [_length_panel(alike, quantity, label, log, varied) for alike in kinds.values()]
        drawn = tuple(panel for panel in panels if panel is not None)
        return Figure("", f"{label} against the length of the data", drawn) if drawn else None

    return lengths


def _length_panel(
    rows: Sequence[Row], quantity: str, label: str, log: bool, varied: Mapping[str, set[str]]
) -> Panel | None:
    groups: dict[str, list[Row]] = {}
    for row in sorted(rows, key=lambda row: row["n"]):
        budget = f" B={row['budget_vectors']:.0f}" if row["budget_vectors"] else ""
        groups.setdefault(naming.short_text(row, varied, ("vectors",)) + budget, []).append(row)
    if not any(len({row["n"] for row in points}) >= _LENGTHS for points in groups.values()):
        return None
    series = []
    for name, points in groups.items():
        x, y = tuple(float(row["n"]) for row in points), tuple(row[f"{quantity}_mean"] for row in points)
        series.append(Series(name, x, y, line=len(x) > 1))
        printed = [(row["n"], row[f"published_{quantity}"]) for row in points if row.get(f"published_{quantity}")]
        if printed:
            series.append(_points(f"{name}, printed", printed))
    datasets = _datasets(sorted(rows, key=lambda row: row["n"]))
    title = f"{datasets[0]} to {datasets[-1]}" if len(datasets) > 1 else datasets[0]
    return Panel(title, "training examples", label, tuple(series), y_log=log)


def _speed_up(rows: Sequence[Row], bands: Sequence[Row], against: str | None) -> Figure | None:
    """How many times as fast as the first solver the others are, against the length of the data."""
    first = rows[0]["solver"] if rows else ""
    seconds: dict[str, list[Row]] = {}
    for row in rows:
        if row["solver"] == first:
            seconds.setdefault(row["dataset"], []).append(row)
    ratios = [
        {name: value for name, value in row.items() if not name.startswith("published_")}
        | {f"{kind}speed_up{end}": seconds[row["dataset"]][0][name] / row[name]
           for kind, name, end in (("", "train_seconds_mean", "_mean"), ("published_", "published_train_seconds", ""))
           if seconds[row["dataset"]][0].get(name) and row.get(name)}
        for row in rows
        if row["solver"] != first and len(seconds.get(row["dataset"], ())) == 1
    ]  # fmt: skip
    return _against_length("speed_up", f"speed-up over {first}", log=True)(ratios, bands, against)


def _against_parameter(rows: Sequence[Row], _bands: Sequence[Row], _against: str | None) -> Figure | None:
    """Accuracy, or the margin, and seconds against a parameter of which every solver has tried several numbers."""
    margin = any(row.get("margin_fraction_mean") for row in rows)
    best = ("margin_fraction", "certified part of the maximum margin", False)
    found = (best if margin else ("test_accuracy_percent", "accuracy, %", False),
             ("train_seconds", "training seconds", True))  # fmt: skip
    there = [row for row in rows if row.get(f"{found[0][0]}_mean") is not None and not row["budget_vectors"]]
    names = {name for row in there for name in json.loads(row["parameters"])}
    swept = [name for name in sorted(names) if _is_swept(there, name)]
    if len(swept) != 1:
        return None
    panels = [
        _parameter_panel(dataset, [row for row in there if row["dataset"] == dataset], swept[0], *quantity)
        for dataset in _datasets(there)
        for quantity in found
    ]
    return Figure("", f"{'margin' if margin else 'accuracy'} and seconds against {swept[0]}", tuple(panels))


def _is_swept(rows: Sequence[Row], name: str) -> bool:
    numbers: dict[tuple[str, str], set[float]] = {}
    for row in rows:
        number = json.loads(row["parameters"]).get(name)
        if isinstance(number, bool) or not isinstance(number, int | float):
            return False
        numbers.setdefault((row["dataset"], row["solver"]), set()).add(number)
    return bool(numbers) and all(len(each) >= _LENGTHS for each in numbers.values())


def _parameter_panel(dataset: str, rows: Sequence[Row], name: str, quantity: str, label: str, log: bool) -> Panel:
    varied = _varying(rows)
    groups: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        point = json.loads(row["parameters"])[name], row[f"{quantity}_mean"]
        groups.setdefault(naming.short_text(row, varied, (name,)), []).append(point)
    series = []
    for solver, points in groups.items():
        x, y = zip(*sorted(points), strict=True)
        series.append(Series(solver, x, y))
    return Panel(dataset, name, label, tuple(series), y_log=log)


def _ranks(rows: Sequence[Row], _bands: Sequence[Row], _against: str | None) -> Figure | None:
    """Average ranks over datasets; two solvers differ by Nemenyi's test where their intervals do not meet."""
    there = [row for row in rows if not row["budget_vectors"]]
    solvers = list(dict.fromkeys(row["solver"] for row in there))
    found = (("train_seconds", "seconds", "lowest"), ("test_accuracy_percent", "accuracy", "highest"))
    panels = []
    for quantity, title, best in found:
        try:
            values = rank_tests.matched(there, f"{quantity}_mean", solvers)
            outcome = rank_tests.friedman(values, best)  # type: ignore[arg-type]
        except StoreError:
            continue
        if len(solvers) >= _LENGTHS and outcome.datasets >= _LENGTHS:
            panels.append(_rank_panel(title, solvers, outcome))
    words = f"average ranks; intervals that do not meet differ at {rank_tests.LEVEL:g} (Nemenyi)"
    return Figure("", words, tuple(panels)) if panels else None


def _rank_panel(title: str, solvers: Sequence[str], outcome: rank_tests.Friedman) -> Panel:
    half = rank_tests.critical_difference(len(solvers), outcome.datasets) / 2
    places = {
        solver: place for place, (_, solver) in enumerate(sorted(zip(outcome.average_ranks, solvers, strict=True)))
    }
    series = tuple(
        Series(solver, (rank - half, rank, rank + half), (places[solver] + 1.0,) * 3)
        for solver, rank in zip(solvers, outcome.average_ranks, strict=True)
    )
    label = f"average rank over {outcome.datasets} datasets, 1 is best"
    return Panel(f"{title}, F = {outcome.statistic:.3f}", label, "order", series, x_log=False)


def _bars(rows: Sequence[Row], _bands: Sequence[Row], _against: str | None) -> Figure | None:
    """Accuracies and seconds side by side, by dataset."""
    there = [row for row in rows if row.get("test_accuracy_percent_mean") is not None and not row["budget_vectors"]]
    datasets = tuple(_datasets(there))
    if len(datasets) < 3:
        return None
    varied = {solver: names - {"C", "kernel"} for solver, names in _varying(there).items()}
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
    "length": _against_length("train_seconds", "training seconds", log=True),
    "speed-up": _speed_up,
    "length-vectors": _against_length("support_vectors", "vectors", log=True),
    "parameter": _against_parameter,
    "ranks": _ranks,
    "bars": _bars,
}
NAMES = tuple(_MAKERS)
CURVES = ("test-error", "online-error", "objective", "gap")


def as_data(figure: Figure) -> Any:
    """Give a figure as plain lists and mappings, for JSON."""
    return json.loads(json.dumps(asdict(figure)))
