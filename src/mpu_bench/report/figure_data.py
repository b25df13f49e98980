"""The data of figures: panels of series, made from the tables of an experiment; drawn by figures.py and by the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

from mpu_bench.config.drawings import AXES, KINDS, Drawing
from mpu_bench.report import figures_along, figures_by_row, figures_of_ranks  # noqa: F401  which declare figures
from mpu_bench.report.figure_parts import FIGURES, Figure
from mpu_bench.results.means import Summary as Row
from mpu_bench.texts import publishable


def figures(
    rows: Sequence[Row],
    curves: Sequence[Row],
    drawings: Sequence[Drawing] = (),
    *,
    every: bool = False,
    against: str | None = None,
) -> list[Figure]:
    """Return the figures that these results have data for.

    Parameters
    ----------
    rows, curves : sequence of mapping
        As for `make`.
    drawings : sequence of Drawing
        What the config is meant to draw; where there is none, or no data for any, all there are.
    every : bool
        Whether the others follow.
    against : str, optional
        For curves: one of `AXES`, instead of that which the config names.
    """
    meant = [figure for drawing in drawings if (figure := meant_by(drawing, rows, curves, against)) is not None]
    if meant and not every:
        return meant
    left = [name for name in KINDS if not FIGURES[name].on_demand and name not in [figure.name for figure in meant]]
    return meant + [figure for name in left if (figure := make(name, rows, curves, against)) is not None]


def meant_by(drawing: Drawing, rows: Sequence[Row], curves: Sequence[Row], against: str | None = None) -> Figure | None:
    """Return the figure that a config is meant to draw, or None without data for it; see `make`."""
    if drawing.datasets is not None:
        rows, curves = ([row for row in each if row.dataset in drawing.datasets] for each in (rows, curves))
    figure = make(drawing.draw, rows, curves, against or drawing.against)
    if figure is None or not drawing.of:
        return figure
    return replace(figure, caption=f"{publishable(drawing.of)}: {figure.caption}")


def make(name: str, rows: Sequence[Row], curves: Sequence[Row], against: str | None = None) -> Figure | None:
    """Return a figure's data; None where the results hold none for it.

    Parameters
    ----------
    name : str
        One of `KINDS`.
    rows, curves : sequence of mapping
        The rows of table.csv and of mean_curves.csv; with their ``runs``, seconds are drawn where they are comparable.
    against : str, optional
        For curves: one of `AXES`; the first that fits by default.
    """
    figure = FIGURES[name].make(rows, curves, against)
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
    others = [make(figure.name, rows, curves, axis) for axis in AXES[:-1] if FIGURES[figure.name].along_axis]
    return {each.panels[0].x_label: each for each in (*others, figure) if each is not None}
