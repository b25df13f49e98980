"""What figures are made of: panels of series, and what every figure does with the rows of table.csv."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple, TypeVar

from mpu_bench.quantities import DECLARED, is_seconds
from mpu_bench.report import style
from mpu_bench.results import naming
from mpu_bench.results.machines import comparable, runs_of
from mpu_bench.results.means import Summary as Row
from mpu_bench.results.means import by_dataset, curve_identity
from mpu_bench.scaled import parameters_in

_Make = TypeVar("_Make", bound=Callable[..., "Figure | None"])
BUDGET = "budget_vectors"  #: among what varies
OPTIMA = ("optimum", "kernel-optimum")  #: solvers that others are measured by: no contestants
BEYOND = "\N{UPWARDS ARROW}\N{DOWNWARDS ARROW}: how far curves go beyond the axis"  #: what a note at a panel means


@dataclass(frozen=True)
class Series:
    """A line, or single points where ``line`` is False; ``low`` and ``high`` bound its band, if it has one.

    From the point number ``again`` on, if that is above 0, an online algorithm sees examples that it has seen before.
    """

    label: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    line: bool = True
    published: bool = False  #: not measured
    about: str = ""  #: of published numbers: the label of the series of measured ones; its own by default
    solver: str = ""  #: by whose name it has its style; its label by default
    runs: int = 0  #: of which its band is one standard deviation
    again: int = 0
    timed: int = 0  #: runs whose seconds it shows
    disturbed: int = 0  #: how many of these were
    is_partial: bool = False  #: whether runs without a result are left out of its means


@dataclass(frozen=True)
class Level:
    """A thin grey line with a word: what series are to be seen against, all or those of one category."""

    label: str
    y: float
    category: int | None = None  #: the index of the bars that it stands beside; across the panel without


@dataclass(frozen=True)
class Panel:
    """One pair of axes.

    Attributes
    ----------
    categories : tuple of str
        What stands at x = 0, 1, ... where x is no number: its series are bars.
    names : tuple of str
        What stands at y = 0, 1, ... from the top, where y is no number: its series are average ranks.
    limits : tuple of float
        The lowest and the highest y to be shown; empty for all.
    entry : float
        Where the first curve enters what is shown, and so a logarithmic x begins; 0 where everything is shown.
    note : str
        What lies outside the limits.
    levels : tuple of Level
    critical_difference : float
        Of average ranks.
    groups : tuple of tuple of int
        The indices in ``names`` of the first and the last of solvers that are not told apart.
    """

    title: str
    x_label: str
    y_label: str
    series: tuple[Series, ...]
    x_log: bool = True
    y_log: bool = False
    categories: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    limits: tuple[float, ...] = ()
    entry: float = 0.0
    note: str = ""
    levels: tuple[Level, ...] = ()
    critical_difference: float = 0.0
    groups: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class Figure:
    """A figure: its name, what it shows, and its panels row by row; ``columns`` is 0 where any number will do.

    ``note`` is what must be known to read it.
    """

    name: str
    caption: str
    panels: tuple[Panel, ...]
    columns: int = 0
    note: str = ""

    def styles(self) -> dict[str, int]:
        """Return the number of the style of each label; published numbers have that of the measured ones."""
        every = [series for panel in self.panels for series in panel.series]
        names = {series.about or series.label: series.solver or series.about or series.label for series in every}
        numbers = style.numbers(names)
        return {series.label: numbers[series.about or series.label] for series in every}

    def remarks(self) -> list[str]:
        """Return what must be known to read it, beyond its legend."""
        every = [series for panel in self.panels for series in panel.series]
        runs = sorted({series.runs for series in every if series.low and not series.published})
        are_lines = any(series.line for series in every) and not any(panel.categories for panel in self.panels)
        count = f"{runs[0]}" if len(runs) == 1 else f"{runs[0]} to {runs[-1]}" if runs else ""
        disturbed, timed = sum(series.disturbed for series in every), sum(series.timed for series in every)
        partial = ", ".join(dict.fromkeys(series.label for series in every if series.is_partial))
        return list(filter(None, [
            self.note,
            f"{'band' if are_lines else 'bar'}: one standard deviation of {count} runs" if any(runs) else "",
            "dotted: after the first pass" if any(series.again for series in every) else "",
            BEYOND if any(panel.note and panel.entry for panel in self.panels) else "",
            f"{naming.DISTURBED} seconds of {disturbed} of {timed} runs were disturbed" if disturbed else "",
            f"left out of means: runs without a result (of {partial})" if partial else "",
        ]))  # fmt: skip


class Declared(NamedTuple):
    """What makes a figure of the rows of table.csv and of mean_curves.csv, against an axis if one is chosen."""

    make: Callable[[Sequence[Row], Sequence[Row], str | None], Figure | None]
    needs: str
    on_demand: bool
    along_axis: bool


FIGURES: dict[str, Declared] = {}  #: by name


def figure(
    name: str,
    *,
    needs: str = "curves of 2 checkpoints or more",
    on_demand: bool = False,
    along_axis: bool = False,
    **settings: str,
) -> Callable[[_Make], _Make]:
    """Declare that a function makes a figure; configs, ``plot`` and the page know it by this name.

    Parameters
    ----------
    name : str
    needs : str
        What results must hold for it, in words for whom they do not.
    on_demand : bool
        It is drawn only where a config or a user asks for it: it shows what another shows, too.
    along_axis : bool
        It is of curves, whose axis ``against`` may choose.
    **settings
        Further arguments of the function, which may make several figures.
    """

    def declare(make: _Make) -> _Make:
        FIGURES[name] = Declared(partial(make, **settings), needs, on_demand, along_axis)
        return make

    return declare


def on_one_machine(quantity: str, rows: Sequence[Row]) -> list[Row]:
    """Return the rows of those datasets on which a quantity of all may be set against each other."""
    datasets = {dataset for dataset, block in by_dataset(rows).items() if is_comparable(quantity, block)}
    return [row for row in rows if row.dataset in datasets]


def is_comparable(quantity: str, rows: Sequence[Row]) -> bool:
    """Return whether a quantity of all these rows may be set against each other."""
    return comparable(quantity, *({curve_identity(row): row.runs for row in rows}.values()))


def words(quantity: str) -> str:
    """Return a quantity's title for a caption."""
    return DECLARED[quantity].heading.removesuffix(", %")


def contestants(rows: Sequence[Row]) -> list[Row]:
    """Return the rows of the solvers that are compared: without those that find the optimum."""
    return [row for row in rows if row.solver not in OPTIMA]


def varying(rows: Sequence[Row]) -> dict[str, set[str]]:
    """Return the parameters that tell series of one dataset apart; what differs only between datasets does not.

    Nor does a kernel that goes with the parameters.
    """
    varied: dict[str, set[str]] = {}
    for here in by_dataset(rows).values():
        for solver, names in naming.varying(here).items():
            solver_rows = [row for row in here if row.solver == solver]
            of_solver = {(row.parameters, row.kernel) for row in solver_rows}
            identities = set(map(curve_identity, solver_rows))
            named = len({parameters for parameters, _ in of_solver}) == len(of_solver)
            tuned = len({identity[:-1] for identity in identities}) < len(identities)
            varied.setdefault(solver, set()).update(
                names - {"kernel"} if named else names, [naming.TUNED] if tuned else []
            )
    if len({row.budget_vectors for row in rows if row.budget_vectors}) > 1:
        varied = {solver: names | {BUDGET} for solver, names in varied.items()}
    return varied


def label(row: Row, varied: Mapping[str, set[str]], *leave_out: str) -> str:
    """Return what a solver is called in a legend, with its budget and its kernel where there are several."""
    names = varied.get(row.solver, ())
    words = [naming.short_text(row, varied, ("vectors", *leave_out))]
    words += [f"B={row.budget_vectors:.0f}"] if row.budget_vectors and BUDGET in names else []
    return " ".join([*words, row.kernel] if "kernel" in names else words)


def style_name(row: Row) -> str:
    """Return the name by which a row's solver has its style."""
    return style.name_of(row.solver, parameters_in(row.parameters))


def with_means(series: Series, points: Sequence[Row], quantity: str, axis: str = "") -> Series:
    """Return a series with the means of a quantity, against an axis, and what is to be said of the runs."""
    sides = list({curve_identity(point): point for point in points}.values())
    runs = runs_of(sides) if is_seconds(quantity) or is_seconds(axis) else []
    return replace(
        series,
        y=tuple(_scale(quantity) * (point.means[quantity] or 0.0) for point in points),
        timed=len(runs),
        disturbed=sum(bool(run.disturbed) for run in runs),
        is_partial=any(side.count < side.planned for side in sides),
    )


def with_band(series: Series, points: Sequence[Row], quantity: str, axis: str = "") -> Series:
    """Return the same with a band of one standard deviation, where it has one."""
    series = with_means(series, points, quantity, axis)
    y, off = series.y, [_scale(quantity) * (point.deviations.get(quantity) or 0.0) for point in points]
    if not any(off):
        return series
    most = 100.0 if quantity in DECLARED and DECLARED[quantity].is_share else math.inf
    low, high = [[min(max(a + sign * b, 0.0), most) for a, b in zip(y, off, strict=True)] for sign in (-1, 1)]
    runs = max(point.count for point in points)
    return replace(series, low=tuple(low), high=tuple(high), runs=runs)


def of_curve(series: Series, points: Sequence[Row], quantity: str, axis: str = "") -> Series:
    """Return the same of a curve: a band of percentages alone, for other quantities have logarithmic axes."""
    has_band = quantity in DECLARED and DECLARED[quantity].is_in_percent
    return (with_band if has_band else with_means)(series, points, quantity, axis)


def _scale(quantity: str) -> float:
    return DECLARED[quantity].scale if quantity in DECLARED else 1.0


def published_error(row: Row) -> float | None:
    """Return a row's published test error in percent, or None."""
    accuracy = row.published.get("test_accuracy_percent")
    return row.published.get("test_error_percent", None if accuracy is None else 100 - accuracy)


def published_points(series: Series, numbers: Sequence[tuple[float, float]]) -> Series:
    """Return published numbers as points beside a series."""
    x, y = zip(*numbers, strict=True)
    solver = series.solver or series.label
    label = f"{series.label}, reported"
    return Series(label, x, y, line=False, published=True, about=series.label, solver=solver)


def constant_level(rows: Sequence[Row], dataset: str, *, accuracy: bool = False) -> list[Level]:
    """Return the test error, or accuracy, of the best constant classifier of a dataset, in percent."""
    of_dataset = (row.means.get("constant_error") for row in rows if row.dataset == dataset)
    errors = [error for error in of_dataset if error is not None]
    return [Level("best constant", 100 * (1 - errors[0] if accuracy else errors[0]))] if errors else []
