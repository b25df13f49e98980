"""Figures of the rows of table.csv: against the budget, the length or a parameter, bars by dataset, average ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from mpu_bench.errors import StoreError
from mpu_bench.quantities import DECLARED
from mpu_bench.report import figure_parts as parts
from mpu_bench.report.figure_parts import Figure, Level, Panel, Series, figure
from mpu_bench.results.means import Summary as Row
from mpu_bench.results.means import by_dataset, grouped
from mpu_bench.scaled import parameters_in
from mpu_bench.verdict import rank_tests
from mpu_bench.verdict.pairs import has_no_budget

#: what solvers are ranked in over datasets, and the titles of the panels
_RANKED = {"comparable_seconds": "seconds", "test_accuracy_percent": "accuracy", "online_error": "online error"}
_MIN_RANKED, _MIN_COMMON = 3, 2  # of ranks that say more than a number for each
_MAX_SOLVERS = 16  # of a diagram that can be read
_DIAGRAM = f"{_MIN_RANKED} to {_MAX_SOLVERS} settings of solvers, measured on the same {_MIN_COMMON} datasets or more"


@figure("ranks", needs=_DIAGRAM)
def ranks(rows: Sequence[Row], _curves: Sequence[Row], _against: str | None) -> Figure:
    """Return average ranks over datasets, with Nemenyi's critical difference."""
    rows = parts.contestants(rows)
    varied = parts.varying(rows)
    styles = {parts.label(row, varied): parts.style_name(row) for row in rows}
    named = [replace(row, solver=parts.label(row, varied)) for row in rows]
    drawn = (_rank_panel(quantity, title, named, styles) for quantity, title in _RANKED.items())
    panels = tuple(panel for panel in drawn if panel is not None)
    joined = f"solvers that a bar joins are not told apart at {rank_tests.LEVEL:g} (Nemenyi)"
    note = "; ".join([joined, *(panel.note for panel in panels if panel.note)])
    return Figure("", "average ranks", panels, columns=1, note=note)


def _rank_panel(quantity: str, title: str, rows: Sequence[Row], styles: Mapping[str, str]) -> Panel | None:
    measured = parts.on_one_machine(quantity, [row for row in rows if row.means.get(quantity) is not None])
    solvers = _ranked_solvers(measured)
    if not 0 < len(solvers) <= _MAX_SOLVERS:
        return None
    table = [{"dataset": row.dataset, "solver": row.solver, quantity: row.means[quantity]} for row in measured]
    try:
        values = rank_tests.matched(table, quantity, solvers)
    except StoreError:  # which of several rows is a solver's is not said
        return None
    outcome = rank_tests.friedman(values, "highest" if DECLARED[quantity].better == "higher" else "lowest")
    difference = rank_tests.critical_difference(len(solvers), outcome.datasets)
    ranked = sorted(zip(outcome.average_ranks, solvers, strict=True))
    partial = {row.solver for row in measured if row.count < row.planned}
    series = tuple(
        Series(
            name, (rank - difference / 2, rank, rank + difference / 2), (float(index),) * 3, solver=styles[name],
            is_partial=name in partial,
        )
        for index, (rank, name) in enumerate(ranked)
    )  # fmt: skip
    left = ", ".join(dict.fromkeys(row.solver for row in measured if row.solver not in solvers))
    return Panel(
        f"{title}, Friedman p = {outcome.p_value:.2g}",
        f"average rank over {outcome.datasets} datasets (1 is best)",
        "",
        series,
        x_log=False,
        names=tuple(name for _, name in ranked),
        note=f"without value on some datasets, and in no rank of {title}: {left}" if left else "",
        critical_difference=difference,
        groups=rank_tests.indistinguishable(outcome),
    )


def _ranked_solvers(rows: Sequence[Row]) -> list[str]:
    """Return the solvers of the largest table without holes, found by leaving out who has the fewest datasets."""
    of_solvers = grouped(rows, lambda row: row.solver)
    datasets = {solver: {row.dataset for row in of_solver} for solver, of_solver in of_solvers.items()}
    left, best, most_values = list(datasets), list[str](), 0
    while len(left) >= _MIN_RANKED:
        common = len(set.intersection(*(datasets[solver] for solver in left)))
        if common >= _MIN_COMMON and common * len(left) > most_values:
            best, most_values = list(left), common * len(left)
        left.remove(min(reversed(left), key=lambda solver: len(datasets[solver])))
    return best


_MIN_LENGTHS = 3  # of the data, that seconds can be drawn against
_LENGTHS = f"comparable values at {_MIN_LENGTHS} lengths of the same data or more"
_PARAMETER = f"one parameter that varies, with {_MIN_LENGTHS} values or more of every solver on every dataset"
_MIN_DATASETS, _MIN_SOLVERS = 3, 2  # of bars that say more than a table
_MAX_BARS = 16  # of a dataset, which colours and shades still tell apart
_BARS = f"{_MIN_SOLVERS} solvers or more on {_MIN_DATASETS} datasets or more, in {_MAX_BARS} settings at most"
_SPEED_UPS = f"the seconds of one setting of the first solver on {_MIN_DATASETS} datasets or more"


@figure("budget", needs="2 budgets or more", quantity="test_error")
@figure("online-budget", needs="2 budgets or more", quantity="online_error")
def against_budget(rows: Sequence[Row], _curves: Sequence[Row], _against: str | None, quantity: str) -> Figure | None:
    """Return the figure of an error against the budget."""
    known = [row for row in rows if row.means.get(quantity) is not None]
    with_budget = [row for row in known if row.budget_vectors]
    if len({row.budget_vectors for row in with_budget}) < 2:
        return None
    measured = [row for row in known if row.budget_vectors or has_no_budget(row)]
    left = ", ".join(dict.fromkeys(row.solver for row in known if row not in measured))
    note = f"not drawn, for its budget was tuned: {left}" if left else ""
    varied = {solver: names - {parts.BUDGET} for solver, names in parts.varying(measured).items()}
    panels = tuple(
        _budget_panel(dataset, [row for row in measured if row.dataset == dataset], quantity, varied)
        for dataset in by_dataset(with_budget)
    )
    return Figure("", f"{parts.words(quantity)} against the budget", panels, note=note)


def _budget_panel(dataset: str, rows: Sequence[Row], quantity: str, varied: Mapping[str, set[str]]) -> Panel:
    sizes = sorted({float(row.budget_vectors) for row in rows if row.budget_vectors})
    groups = grouped(rows, lambda row: (parts.label(row, varied), bool(row.budget_vectors)))
    series = []
    for (label, has_budget), points in groups.items():
        name = label if has_budget or (label, True) not in groups else f"{label} without a budget"
        series += _budget_series(name, points, sizes, quantity)
    levels = parts.constant_level(rows, dataset) if quantity == "test_error" else []
    highest = max(number for curve in series for number in curve.y)
    shown = tuple(level for level in levels if level.y <= highest)
    return Panel(dataset, "budget, vectors", DECLARED[quantity].heading, tuple(series), x_log=False, levels=shown)


def _budget_series(label: str, points: Sequence[Row], sizes: Sequence[float], quantity: str) -> list[Series]:
    """Return what one solver came to at every budget, and beside it what is published."""
    solver = parts.style_name(points[0])
    if not points[0].budget_vectors:  # without a budget: the same at every size
        level = parts.with_means(Series(label, (sizes[0], sizes[-1]), (), solver=solver), points[:1], quantity)
        return [replace(level, y=2 * level.y)]
    rising = sorted(points, key=_budget)
    x = tuple(map(_budget, rising))
    series = parts.with_band(Series(label, x, (), solver=solver), rising, quantity)
    errors = [(_budget(row), error) for row in rising if (error := parts.published_error(row)) is not None]
    return [series, parts.published_points(series, errors)] if errors and quantity == "test_error" else [series]


def _budget(row: Row) -> float:
    return float(row.budget_vectors or 0)


@figure("length", needs=_LENGTHS, quantity="train_seconds")
@figure("length-vectors", needs=_LENGTHS, quantity="support_vectors")
def against_length(
    rows: Sequence[Row], _curves: Sequence[Row], _against: str | None, quantity: str, title: str = ""
) -> Figure:
    """Return the figure of a quantity against the number of examples: the same data at several lengths.

    Datasets with as many features and classes are taken for such a series, whatever their labels say.
    """
    title = title or DECLARED[quantity].heading
    panels = [_length_panel(group, quantity, title, parts.varying(rows)) for group in _same_data(rows)]
    return Figure("", f"{title} against the length of the data", tuple(panel for panel in panels if panel))


def _same_data(rows: Sequence[Row]) -> list[list[Row]]:
    """Return the rows by groups of datasets with as many features and classes, shortest first."""
    same_data = grouped(sorted((row for row in rows if row.n), key=_length), lambda row: (row.d, row.classes))
    indices = {id(row): index for index, row in enumerate(rows)}
    return sorted(same_data.values(), key=lambda group: min(indices[id(row)] for row in group))


def _length_panel(rows: Sequence[Row], quantity: str, title: str, varied: Mapping[str, set[str]]) -> Panel | None:
    rows = [row for row in rows if row.means.get(quantity)]
    groups = grouped(rows, lambda row: parts.label(row, varied))
    is_long = any(len({row.n for row in points}) >= _MIN_LENGTHS for points in groups.values())
    if not is_long or not parts.is_comparable(quantity, rows):
        return None
    series = tuple(curve for name, points in groups.items() for curve in _length_series(name, points, quantity))
    datasets = list(by_dataset(rows))
    words = f"{datasets[0]} to {datasets[-1]}" if len(datasets) > 1 else datasets[0]
    is_accuracy = quantity == "test_accuracy_percent"
    return Panel(words, "training examples", title, series, y_log=not is_accuracy)


def _length_series(name: str, points: Sequence[Row], quantity: str) -> list[Series]:
    x = tuple(map(_length, points))
    series = Series(name, x, (), line=len(x) > 1, solver=parts.style_name(points[0]))
    series = parts.of_curve(series, points, quantity)
    published = [(_length(row), row.published[quantity]) for row in points if row.published.get(quantity)]
    return [series, parts.published_points(series, published)] if published else [series]


def _length(row: Row) -> float:
    return float(row.n or 0)


def with_speed_ups(rows: Sequence[Row]) -> tuple[str, list[Row]]:
    """Return the first solver, and the rows of the others with how many times as fast as it they are."""
    rows = parts.contestants(rows)
    first = rows[0].solver if rows else ""
    alike = by_dataset(row for row in rows if row.solver == first)
    return first, [
        _with_speed_up(row, *alike[row.dataset])
        for row in rows
        if row.solver != first and len(alike.get(row.dataset, ())) == 1
        if parts.is_comparable("train_seconds", [row, *alike[row.dataset]])
    ]


def _with_speed_up(row: Row, other: Row) -> Row:
    """Return a row with how many times as fast as another it is; of seconds that were disturbed none."""
    quantity = "comparable_seconds" if row.disturbed_runs or other.disturbed_runs else "train_seconds"
    measured, published = (
        {"speed_up": theirs / ours} if (theirs := of_other.get(seconds)) and (ours := of.get(seconds)) else {}
        for of_other, of, seconds in (
            (other.means, row.means, quantity), (other.published, row.published, "train_seconds")
        )
    )  # fmt: skip
    return replace(row, means={**row.means, "speed_up": None, **measured}, published=published)


@figure("speed-up", needs=_LENGTHS)
def speed_up(rows: Sequence[Row], curves: Sequence[Row], against: str | None) -> Figure | None:
    """Return how many times as fast as the first solver the others are, against the length of the data."""
    first, ratios = with_speed_ups(rows)
    return against_length(ratios, curves, against, "speed_up", f"speed-up over {first}")


@figure("scaling", needs=_LENGTHS, on_demand=True)
def scaling(rows: Sequence[Row], _curves: Sequence[Row], _against: str | None) -> Figure | None:
    """Return accuracy, speed-up, seconds and vectors against the length of the data: a column for each series."""
    first, ratios = with_speed_ups(rows)
    quantities = [
        (rows, "test_accuracy_percent", ""), (ratios, "speed_up", f"speed-up over {first}"),
        (rows, "train_seconds", ""), (rows, "support_vectors", ""),
    ]  # fmt: skip
    groups = [_keys(group) for group in _same_data(rows)]
    lines = [
        [
            _length_panel(
                [row for group in _same_data(measured) for row in group if _keys([row]) == keys],
                quantity, title or DECLARED[quantity].heading, parts.varying(measured),
            )
            for keys in groups
        ]
        for measured, quantity, title in quantities
    ]  # fmt: skip
    return _grid("accuracy, speed-up, seconds and vectors against the length of the data", lines)


def _keys(rows: Sequence[Row]) -> tuple[Any, Any]:
    return rows[0].d, rows[0].classes


def _grid(caption: str, lines: Sequence[Sequence[Panel | None]]) -> Figure:
    """Return a figure of rows of panels, in columns where none is missing."""
    columns = [column for column in zip(*lines, strict=True) if any(column)]
    panels = [panel for line in zip(*columns, strict=True) for panel in line]
    drawn = tuple(panel for panel in panels if panel is not None)
    return Figure("", caption, drawn, len(columns) if len(drawn) == len(panels) else 0)


@figure("parameter", needs=_PARAMETER)
def against_parameter(rows: Sequence[Row], _curves: Sequence[Row], _against: str | None) -> Figure | None:
    """Return accuracy, or the margin, and seconds against a parameter of which every solver has tried several."""
    rows = parts.contestants(rows)
    has_margin = any(row.means.get("margin_fraction") for row in rows)
    quantity = "margin_fraction" if has_margin else "test_accuracy_percent"
    measured = [row for row in rows if row.means.get(quantity) is not None and not row.budget_vectors]
    names = {name for row in measured for name in parameters_in(row.parameters)}
    swept = [name for name in sorted(names) if _is_swept(measured, name)]
    if len(swept) != 1:
        return None
    blocks = by_dataset(measured).values()
    lines = [
        [_parameter_panel(block, swept[0], shown) if parts.is_comparable(shown, block) else None for block in blocks]
        for shown in (quantity, "train_seconds")
    ]
    return _grid(f"{'margin' if has_margin else 'accuracy'} and seconds against {swept[0]}", lines)


def _is_swept(rows: Sequence[Row], name: str) -> bool:
    every = [(row.dataset, row.solver, parameters_in(row.parameters).get(name)) for row in rows]
    if any(isinstance(number, bool) or not isinstance(number, int | float) for *_, number in every):
        return False
    tried = grouped(set(every), lambda entry: entry[:2])
    return bool(tried) and all(len(numbers) >= _MIN_LENGTHS for numbers in tried.values())


def _parameter_panel(rows: Sequence[Row], name: str, quantity: str) -> Panel:
    varied = parts.varying(rows)
    rising = sorted(rows, key=lambda row: parameters_in(row.parameters)[name])
    groups = grouped(rising, lambda row: parts.label(row, varied, name))
    series = []
    for label in dict.fromkeys(parts.label(row, varied, name) for row in rows):
        x = tuple(parameters_in(row.parameters)[name] for row in groups[label])
        drawn = Series(label, x, (), solver=parts.style_name(groups[label][0]))
        series.append(parts.with_band(drawn, groups[label], quantity))
    x_log = all(x > 0 for curve in series for x in curve.x)
    heading, y_log = DECLARED[quantity].heading, quantity == "train_seconds"
    return Panel(rows[0].dataset, name, heading, tuple(series), x_log, y_log)


@figure("bars", needs=_BARS)
def bars(rows: Sequence[Row], _curves: Sequence[Row], _against: str | None) -> Figure | None:
    """Return accuracies and seconds side by side, by dataset; of a sweep over many settings, none."""
    measured = _with_accuracy(rows)
    datasets = tuple(by_dataset(measured))
    settings = {(row.solver, row.parameters, row.kernel) for row in measured}
    few = len(datasets) < _MIN_DATASETS or len({row.solver for row in measured}) < _MIN_SOLVERS
    if few or len(settings) > _MAX_BARS:
        return None
    panels = [_accuracy_bars(measured, datasets)]
    timed = parts.on_one_machine("train_seconds", measured)
    if timed:
        heading = DECLARED["train_seconds"].heading
        panels.append(_bar_panel("seconds", heading, timed, datasets, "train_seconds"))
    return Figure("", "accuracy and seconds by dataset", tuple(panels), columns=1)


@figure("speed-up-bars", needs=_SPEED_UPS, on_demand=True)
def speed_up_bars(rows: Sequence[Row], _curves: Sequence[Row], _against: str | None) -> Figure | None:
    """Return accuracies, and how many times as fast as the first solver the others are, by dataset."""
    measured = _with_accuracy(rows)
    datasets = tuple(by_dataset(measured))
    first, ratios = with_speed_ups(measured)
    ratios = [row for row in ratios if row.means["speed_up"]]
    if len(datasets) < _MIN_DATASETS or not ratios:
        return None
    panel = _bar_panel("speed-up", f"speed-up over {first}", ratios, datasets, "speed_up")
    panel = replace(panel, levels=(Level(f"as fast as {first}", 1.0),))
    return Figure("", f"accuracy and speed-up over {first} by dataset", (_accuracy_bars(measured, datasets), panel), 1)


def _with_accuracy(rows: Sequence[Row]) -> list[Row]:
    rows = parts.contestants(rows)
    return [row for row in rows if row.means.get("test_accuracy_percent") is not None and not row.budget_vectors]


def _accuracy_bars(rows: Sequence[Row], datasets: Sequence[str]) -> Panel:
    quantity = "test_accuracy_percent"
    panel = _bar_panel("accuracy", DECLARED[quantity].heading, rows, datasets, quantity)
    numbers = [number for series in panel.series for number in (*series.y, *series.low)]
    lowest = max(0.0, 10 * ((min(numbers) - 2) // 10))
    note = f"axis from {lowest:.0f}" if lowest else ""
    constant = [
        replace(level, category=index)
        for index, dataset in enumerate(datasets)
        for level in parts.constant_level(rows, dataset, accuracy=True)
    ]
    levels = tuple(level for level in constant if level.y >= lowest)
    return replace(panel, note=note, y_log=False, limits=(lowest, 100 + 0.03 * (100 - lowest)), levels=levels)


def _bar_panel(title: str, label: str, rows: Sequence[Row], datasets: Sequence[str], quantity: str) -> Panel:
    varied = parts.varying(rows)
    groups = grouped(rows, lambda row: parts.label(row, varied))
    points = {name: {datasets.index(row.dataset): row for row in of_label} for name, of_label in groups.items()}
    series = [drawn for name in points for drawn in _bars_of(name, points[name], quantity)]
    return Panel(title, "", label, tuple(series), x_log=False, y_log=True, categories=tuple(datasets))


def _bars_of(name: str, points: Mapping[int, Row], quantity: str) -> list[Series]:
    x = tuple(sorted(points))
    rows = [points[index] for index in x]
    series = Series(name, x, (), line=False, solver=parts.style_name(rows[0]))
    series = parts.with_band(series, rows, quantity)
    numbers = [(index, points[index].published[quantity]) for index in x if quantity in points[index].published]
    if not numbers or quantity == "train_seconds":  # another machine's seconds say nothing beside these
        return [series]
    return [series, parts.published_points(series, numbers)]
