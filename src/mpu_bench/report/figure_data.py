"""The data of figures: panels of series, made from the tables of an experiment; drawn by figures.py and by the page."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, is_dataclass, replace
from typing import Any

from mpu_bench.errors import StoreError
from mpu_bench.quantities import DECLARED
from mpu_bench.results import naming
from mpu_bench.results.curves import Row, along, complete, curve_identity, final_point
from mpu_bench.results.machines import comparable
from mpu_bench.texts import publishable
from mpu_bench.verdict import rank_tests

#: the quantities a curve can be drawn against
AXES = ("kernel_evaluations", "train_seconds", "inner_products", "passes")
PUBLISHED = ", published"  #: ends the label of a series of published numbers
_LEAST_LENGTHS = 3  # of the data, that seconds can be drawn against


@dataclass(frozen=True)
class Series:
    """A line, or single points where ``line`` is False; ``low`` and ``high`` bound its band, if it has one."""

    label: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    line: bool = True
    published: bool = False  #: not measured


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
    names: tuple[str, ...] = ()  #: what stands at y = 0, 1, ... from the top, where y is no number


@dataclass(frozen=True)
class Figure:
    """A figure: its name, what it shows, and its panels, one per dataset."""

    name: str
    caption: str
    panels: tuple[Panel, ...]

    def styles(self) -> dict[str, int]:
        """Return the number of the style of each label; published numbers have that of the measured ones."""
        labels = dict.fromkeys(series.label for panel in self.panels for series in panel.series)
        solvers = list(dict.fromkeys(label.removesuffix(PUBLISHED) for label in labels))
        return {label: solvers.index(label.removesuffix(PUBLISHED)) for label in labels}


def figures(rows: Sequence[Row], curves: Sequence[Row]) -> list[Figure]:
    """Return the figures that these results have data for."""
    made = (make(name, rows, curves) for name in NAMES)
    return [figure for figure in made if figure is not None]


def make(name: str, rows: Sequence[Row], curves: Sequence[Row], against: str | None = None) -> Figure | None:
    """Return a figure's data; None where the results hold none for it.

    Parameters
    ----------
    name : str
        One of `NAMES`.
    rows, curves : sequence of mapping
        The rows of table.csv and of mean_curves.csv; with their ``runs``, seconds are drawn where they are comparable.
    against : str, optional
        For curves: one of `AXES`; the first that fits by default.
    """
    figure = _MAKERS[name](rows, curves, against)
    return _as_words(replace(figure, name=name)) if figure is not None and figure.panels else None


def _as_words(part: Any) -> Any:
    """Return a figure, or a part of one, with every text in it as it may be published."""
    if isinstance(part, str):
        return publishable(part)
    if isinstance(part, tuple):
        return tuple(map(_as_words, part))
    if not is_dataclass(part):
        return part
    return replace(part, **{field.name: _as_words(getattr(part, field.name)) for field in fields(part)})  # type: ignore[type-var]


def versions(figure: Figure, rows: Sequence[Row], curves: Sequence[Row]) -> dict[str, Figure]:
    """Return a figure by the label of its x axis: the figure itself, and against every other axis that fits."""
    others = [make(figure.name, rows, curves, axis) for axis in AXES if figure.name in CURVES]
    return {each.panels[0].x_label: each for each in (*others, figure) if each is not None}


def axes(curves: Sequence[Row]) -> list[str]:
    """Return the axes that all these curves can be drawn against: something is counted on it for every solver.

    Seconds only where those of each dataset are of one machine.
    """
    solvers = {row["solver"] for row in curves}

    def counted(axis: str) -> set[Any]:
        return {row["solver"] for row in curves if (along(row, axis) or 0) > 0}

    has_inner_products = any(row.get("inner_products_mean") for row in curves)  # else both axes would be the same
    usable = [axis for axis in AXES if axis != "inner_products" or has_inner_products]
    usable = [axis for axis in usable if _on_one_machine(axis, curves) == list(curves)]
    return [axis for axis in usable if solvers and counted(axis) == solvers]


def _on_one_machine(quantity: str, rows: Sequence[Row]) -> list[Row]:
    """Return the rows of those datasets on which a quantity of all may be set against each other."""
    kept = {
        dataset for dataset in _datasets(rows) if _comparable(quantity, [r for r in rows if r["dataset"] == dataset])
    }
    return [row for row in rows if row["dataset"] in kept]


def _comparable(quantity: str, rows: Sequence[Row]) -> bool:
    return comparable(quantity, *({curve_identity(row): row.get("runs", ()) for row in rows}.values()))


def _is_percent(quantity: str) -> bool:
    return DECLARED[quantity].scale == 100


def _words(quantity: str) -> str:
    """Return a quantity's title for a caption."""
    return DECLARED[quantity].heading.removesuffix(", %")


def _curves(quantity: str) -> Callable[..., Figure | None]:
    def figure(rows: Sequence[Row], curves: Sequence[Row], against: str | None) -> Figure | None:
        usable = [row for row in complete(curves, rows) if _is_drawable(row.get(f"{quantity}_mean"), quantity)]
        fitting = axes(usable)
        if not fitting or len({row["presented"] for row in usable}) < 2:
            return None
        axis = against if against in fitting else fitting[0]
        varied = _varying(usable)
        panels = [_curve_panel(dataset, usable, rows, quantity, axis, varied) for dataset in _datasets(usable)]
        panels = [panel for panel in panels if any(series.line for series in panel.series)]
        return Figure("", f"{_words(quantity)} against {DECLARED[axis].heading}", tuple(panels))

    return figure


def _varying(rows: Sequence[Row]) -> dict[str, set[str]]:
    """Return the parameters that tell curves of one dataset apart; what differs only between datasets does not."""
    varied: dict[str, set[str]] = {}
    for dataset in _datasets(rows):
        for solver, names in naming.varying([row for row in rows if row["dataset"] == dataset]).items():
            varied[solver] = varied.get(solver, set()) | names
    return varied


def _is_drawable(value: Any, quantity: str) -> bool:
    return value is not None and (_is_percent(quantity) or value > 0)


def _datasets(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(row["dataset"] for row in rows))


def _curve_panel(
    dataset: str, curves: Sequence[Row], rows: Sequence[Row], quantity: str, axis: str, varied: Mapping[str, set[str]]
) -> Panel:
    groups: dict[str, list[Row]] = {}
    for row in curves:
        if row["dataset"] == dataset and (along(row, axis) or 0) > 0:
            groups.setdefault(_label(row, varied), []).append(row)
    if axis == "inner_products":
        groups = _join_points(groups, rows)
    series = [_curve(label, points, quantity, axis) for label, points in groups.items()]
    series += _published_errors(dataset, rows, quantity, series)
    titles = DECLARED[axis].heading, DECLARED[quantity].heading
    return Panel(dataset, *titles, tuple(series), y_log=not _is_percent(quantity))


def _label(row: Row, varied: Mapping[str, set[str]]) -> str:
    """Return what a solver is called in a legend, with its budget."""
    budget = f" B={row['budget_vectors']:.0f}" if row["budget_vectors"] else ""
    return naming.short_text(row, varied, ("vectors",)) + budget


def _join_points(groups: Mapping[str, list[Row]], rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Join runs that stand at one place each, such as those with more and more random features, to one curve."""
    joined: dict[str, list[Row]] = {}
    for label, points in groups.items():
        ends = final_point(points, rows, "inner_products")
        joined.setdefault(ends[0]["solver"] if len(ends) == 1 else label, []).extend(ends)
    return joined


def _curve(label: str, points: Sequence[Row], quantity: str, axis: str) -> Series:
    points = sorted(points, key=lambda point: along(point, axis) or 0.0)
    x = tuple(along(point, axis) or 0.0 for point in points)
    return _with_band(Series(label, x, (), line=len(points) > 1), points, quantity)


def _with_band(series: Series, points: Sequence[Row], quantity: str) -> Series:
    """Return a series with the means of a quantity; those in percent have a band of one standard deviation."""
    scale = DECLARED[quantity].scale
    y = [scale * point[f"{quantity}_mean"] for point in points]
    off = [scale * (point.get(f"{quantity}_std") or 0.0) for point in points]
    if not any(off) or not _is_percent(quantity):
        return replace(series, y=tuple(y))
    low, high = [a - b for a, b in zip(y, off, strict=True)], [a + b for a, b in zip(y, off, strict=True)]
    return replace(series, y=tuple(y), low=tuple(low), high=tuple(high))


def _published_errors(dataset: str, rows: Sequence[Row], quantity: str, drawn: Sequence[Series]) -> list[Series]:
    """Mark published errors at the end of the axis."""
    if quantity != "test_error" or not drawn:
        return []
    last = max(max(series.x) for series in drawn)
    return [
        _points(row["solver"], [(last, _published_error(row))])
        for row in rows
        if row["dataset"] == dataset and _published_error(row) is not None
    ]


def _published_error(row: Row) -> Any:
    if row.get("published_test_error_percent") is not None:
        return row["published_test_error_percent"]
    accuracy = row.get("published_test_accuracy_percent")
    return None if accuracy is None else 100 - accuracy


def _points(label: str, numbers: Sequence[tuple[float, float]]) -> Series:
    """Return published numbers as points beside the series of this label."""
    x, y = zip(*numbers, strict=True)
    return Series(f"{label}{PUBLISHED}", x, y, line=False, published=True)


def _by_budget(quantity: str) -> Callable[..., Figure | None]:
    def figure(rows: Sequence[Row], _curves: Sequence[Row], _against: str | None) -> Figure | None:
        measured = [row for row in rows if row.get(f"{quantity}_mean") is not None]
        with_budget = [row for row in measured if row["budget_vectors"]]
        if len({row["budget_vectors"] for row in with_budget}) < 2:
            return None
        varied = _varying(measured)
        panels = tuple(
            _budget_panel(dataset, [row for row in measured if row["dataset"] == dataset], quantity, varied)
            for dataset in _datasets(with_budget)
        )
        return Figure("", f"{_words(quantity)} against the budget", panels)

    return figure


def _budget_panel(dataset: str, rows: Sequence[Row], quantity: str, varied: Mapping[str, set[str]]) -> Panel:
    sizes = sorted({row["budget_vectors"] for row in rows if row["budget_vectors"]})
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(naming.short_text(row, varied, ("vectors",)), []).append(row)
    series = []
    for label, points in groups.items():
        if not points[0]["budget_vectors"]:  # without a budget: the same at every size
            level = DECLARED[quantity].scale * points[0][f"{quantity}_mean"]
            series.append(Series(label, (sizes[0], sizes[-1]), (level, level)))
            continue
        rising = sorted(points, key=lambda row: row["budget_vectors"])
        x = tuple(float(row["budget_vectors"]) for row in rising)
        series.append(_with_band(Series(label, x, ()), rising, quantity))
        errors = [(row["budget_vectors"], _published_error(row)) for row in rising]
        errors = [(size, error) for size, error in errors if error is not None]
        if errors and quantity == "test_error":
            series.append(_points(label, errors))
    return Panel(dataset, "budget, vectors", DECLARED[quantity].heading, tuple(series), x_log=False)


def _against_length(quantity: str, title: str = "") -> Callable[..., Figure | None]:
    """Make the figure of a quantity against the number of examples: the same data at several lengths.

    Datasets with as many features and classes are taken for such a series, whatever their labels say.
    """
    title = title or DECLARED[quantity].heading

    def figure(rows: Sequence[Row], _curves: Sequence[Row], _against: str | None) -> Figure | None:
        varied = {solver: names - {"C"} for solver, names in _varying(rows).items()}
        same_data: dict[tuple[Any, Any], list[Row]] = {}
        for row in rows:
            if row["n"] and row.get(f"{quantity}_mean"):
                same_data.setdefault((row.get("d"), row.get("classes")), []).append(row)
        panels = [_length_panel(group, quantity, title, varied) for group in same_data.values()]
        return Figure("", f"{title} against the length of the data", tuple(panel for panel in panels if panel))

    return figure


def _length_panel(rows: Sequence[Row], quantity: str, title: str, varied: Mapping[str, set[str]]) -> Panel | None:
    rows = sorted(rows, key=lambda row: row["n"])
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(_label(row, varied), []).append(row)
    is_long = any(len({row["n"] for row in points}) >= _LEAST_LENGTHS for points in groups.values())
    if not is_long or not _comparable(quantity, rows):
        return None
    series = []
    for name, points in groups.items():
        x, y = tuple(float(row["n"]) for row in points), tuple(row[f"{quantity}_mean"] for row in points)
        series.append(Series(name, x, y, line=len(x) > 1))
        published = [(row["n"], row[f"published_{quantity}"]) for row in points if row.get(f"published_{quantity}")]
        if published:
            series.append(_points(name, published))
    datasets = _datasets(rows)
    words = f"{datasets[0]} to {datasets[-1]}" if len(datasets) > 1 else datasets[0]
    return Panel(words, "training examples", title, tuple(series), y_log=True)


def _speed_up(rows: Sequence[Row], curves: Sequence[Row], against: str | None) -> Figure | None:
    """Return how many times as fast as the first solver the others are, against the length of the data."""
    first = rows[0]["solver"] if rows else ""
    peers: dict[str, list[Row]] = {}
    for row in rows:
        if row["solver"] == first:
            peers.setdefault(row["dataset"], []).append(row)
    ratios = [
        _with_speed_up(row, *peers[row["dataset"]])
        for row in rows
        if row["solver"] != first and len(peers.get(row["dataset"], ())) == 1
        if _comparable("train_seconds", [row, *peers[row["dataset"]]])
    ]
    return _against_length("speed_up", f"speed-up over {first}")(ratios, curves, against)


def _with_speed_up(row: Row, peer: Row) -> Row:
    columns = {"train_seconds_mean": "speed_up_mean", "published_train_seconds": "published_speed_up"}
    kept = {name: value for name, value in row.items() if not name.startswith("published_")}
    return kept | {new: peer[name] / row[name] for name, new in columns.items() if peer.get(name) and row.get(name)}


def _against_parameter(rows: Sequence[Row], _curves: Sequence[Row], _against: str | None) -> Figure | None:
    """Return accuracy, or the margin, and seconds against a parameter of which every solver has tried several."""
    has_margin = any(row.get("margin_fraction_mean") for row in rows)
    quantity = "margin_fraction" if has_margin else "test_accuracy_percent"
    measured = [row for row in rows if row.get(f"{quantity}_mean") is not None and not row["budget_vectors"]]
    names = {name for row in measured for name in json.loads(row["parameters"])}
    swept = [name for name in sorted(names) if _is_swept(measured, name)]
    if len(swept) != 1:
        return None
    panels = [
        _parameter_panel(dataset, [row for row in measured if row["dataset"] == dataset], swept[0], each)
        for dataset in _datasets(measured)
        for each in (quantity, "train_seconds")
        if _comparable(each, [row for row in measured if row["dataset"] == dataset])
    ]
    words = f"{'margin' if has_margin else 'accuracy'} and seconds against {swept[0]}"
    return Figure("", words, tuple(panels))


def _is_swept(rows: Sequence[Row], name: str) -> bool:
    numbers: dict[tuple[str, str], set[float]] = {}
    for row in rows:
        number = json.loads(row["parameters"]).get(name)
        if isinstance(number, bool) or not isinstance(number, int | float):
            return False
        numbers.setdefault((row["dataset"], row["solver"]), set()).add(number)
    return bool(numbers) and all(len(tried) >= _LEAST_LENGTHS for tried in numbers.values())


def _parameter_panel(dataset: str, rows: Sequence[Row], name: str, quantity: str) -> Panel:
    varied = _varying(rows)
    groups: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        point = json.loads(row["parameters"])[name], row[f"{quantity}_mean"]
        groups.setdefault(naming.short_text(row, varied, (name,)), []).append(point)
    series = []
    for solver, points in groups.items():
        x, y = zip(*sorted(points), strict=True)
        series.append(Series(solver, x, y))
    return Panel(dataset, name, DECLARED[quantity].heading, tuple(series), y_log=quantity == "train_seconds")


#: what solvers are compared in over datasets, and the titles of the panels
_COMPARED = {"train_seconds": "seconds", "test_accuracy_percent": "accuracy"}


#: what solvers are ranked in over datasets, and the titles of the panels
_RANKED = {"comparable_seconds": "seconds", "test_accuracy_percent": "accuracy", "online_error": "online error"}
_LEAST_SOLVERS, _LEAST_DATASETS = 3, 2  # of ranks that say more than a number for each


def _ranks(rows: Sequence[Row], _curves: Sequence[Row], _against: str | None) -> Figure | None:
    """Return average ranks over datasets, with Nemenyi's critical difference."""
    varied = _varying(rows)
    named = [{**row, "solver": _entrant(row, varied)} for row in rows]
    panels = [_rank_panel(quantity, title, named) for quantity, title in _RANKED.items()]
    words = f"average ranks; solvers whose bars do not meet differ at {rank_tests.LEVEL:g} (Nemenyi)"
    return Figure("", words, tuple(panel for panel in panels if panel is not None))


def _entrant(row: Row, varied: Mapping[str, set[str]]) -> str:
    """Return what a solver is called that is ranked: one with another parameter, budget or kernel is another."""
    return " ".join([_label(row, varied), *([row["kernel"]] if "kernel" in varied.get(row["solver"], ()) else [])])


def _rank_panel(quantity: str, title: str, rows: Sequence[Row]) -> Panel | None:
    measured = _on_one_machine(quantity, [row for row in rows if row.get(f"{quantity}_mean") is not None])
    solvers = _ranked_solvers(measured)
    if not solvers:
        return None
    try:
        values = rank_tests.matched(measured, f"{quantity}_mean", solvers)
    except StoreError:  # which of several rows is a solver's is not said
        return None
    outcome = rank_tests.friedman(values, "highest" if DECLARED[quantity].better == "higher" else "lowest")
    half = rank_tests.critical_difference(len(solvers), outcome.datasets) / 2
    ranked = sorted(zip(outcome.average_ranks, solvers, strict=True))
    series = tuple(
        Series(solver, (rank - half, rank, rank + half), (float(place),) * 3)
        for place, (rank, solver) in enumerate(ranked)
    )
    label = f"average rank over {outcome.datasets} datasets (1 is best)"
    names = tuple(solver for _, solver in ranked)
    return Panel(f"{title}, Friedman p = {outcome.p_value:.2g}", label, "", series, x_log=False, names=names)


def _ranked_solvers(rows: Sequence[Row]) -> list[str]:
    """Return the solvers of the largest table without holes, found by leaving out who has the fewest datasets."""
    datasets: dict[str, set[str]] = {}
    for row in rows:
        datasets.setdefault(row["solver"], set()).add(row["dataset"])
    left, best, most = list(datasets), list[str](), 0
    while len(left) >= _LEAST_SOLVERS:
        common = len(set.intersection(*(datasets[solver] for solver in left)))
        if common >= _LEAST_DATASETS and common * len(left) > most:
            best, most = list(left), common * len(left)
        left.remove(min(reversed(left), key=lambda solver: len(datasets[solver])))
    return best


def _bars(rows: Sequence[Row], _curves: Sequence[Row], _against: str | None) -> Figure | None:
    """Return accuracies and seconds side by side, by dataset."""
    measured = [row for row in rows if row.get("test_accuracy_percent_mean") is not None and not row["budget_vectors"]]
    datasets = tuple(_datasets(measured))
    if len(datasets) < 3:
        return None
    varied = {solver: names - {"C", "kernel"} for solver, names in _varying(measured).items()}
    panels = []
    for quantity, title in reversed(_COMPARED.items()):
        series = _bar_series(_on_one_machine(quantity, measured), datasets, quantity, varied)
        if not series:
            continue
        label, is_log = DECLARED[quantity].heading, quantity == "train_seconds"
        panels.append(Panel(title, "", label, series, x_log=False, y_log=is_log, categories=datasets))
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
        numbers = {place: points[place].get(f"published_{quantity}") for place in x}
        published = [(place, number) for place, number in numbers.items() if number is not None]
        if published and quantity != "train_seconds":  # another machine's seconds say nothing beside these
            series.append(_points(label, published))
    return tuple(series)


_MAKERS: dict[str, Callable[..., Figure | None]] = {
    "test-error": _curves("test_error"),
    "online-error": _curves("online_error"),
    "objective": _curves("suboptimality"),
    "gap": _curves("gap"),
    "budget": _by_budget("test_error"),
    "online-budget": _by_budget("online_error"),
    "length": _against_length("train_seconds"),
    "speed-up": _speed_up,
    "length-vectors": _against_length("support_vectors"),
    "parameter": _against_parameter,
    "ranks": _ranks,
    "bars": _bars,
}
NAMES = tuple(_MAKERS)
CURVES = ("test-error", "online-error", "objective", "gap")


def as_data(figure: Figure) -> Any:
    """Return a figure as plain lists and mappings, for JSON."""
    return json.loads(json.dumps(asdict(figure)))
