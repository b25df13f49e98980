"""The picture of a selection: error against the size of the model, with those that nothing beats in both."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mpu_bench.report.style import COLOURS, GREY, MARKERS
from mpu_bench.selection.outcome import Outcome, Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_KINDS = ("linear", "budgeted", "batch", "scikit-learn")
_INCHES = (6.9, 4.2)
_NEAR = (0.08, 0.04)  # parts of the width and the height, within which names stand in one line
_ROOM_FOR_NAMES = 0.3  # of the width, at the right


def drawn(outcome: Outcome, name: str) -> dict[str, bytes]:
    """Return the picture as ``front.svg`` and ``front.png``.

    Parameters
    ----------
    outcome : Outcome
        With some errors on test rows.
    name : str
        Of the dataset.
    """
    from matplotlib.figure import Figure

    from mpu_bench.report import drawing

    with drawing.styled():
        figure = Figure(figsize=_INCHES, layout="constrained")
        _draw(figure.add_subplot(), outcome, name)
        return {f"front.{form}": content for form, content in drawing.saved(figure, ("svg", "png")).items()}


def _draw(axes: Axes, outcome: Outcome, name: str) -> None:
    _scale(axes, outcome)
    front = outcome.front
    axes.plot(
        [_size(row) for row in front], [_error(outcome, row) for row in front], "o-", color=GREY, markersize=12,
        markerfacecolor="none", linewidth=1, zorder=0, label="nothing is smaller and better",
    )  # fmt: skip
    for kind, colour, marker in zip(_KINDS, COLOURS, MARKERS, strict=False):
        rows = [row for row in outcome.known if row.kind == kind]
        if rows:
            spreads = [0.0 if outcome.is_rare else 100 * (row.standard_error or 0.0) for row in rows]
            errors = [_error(outcome, row) for row in rows]
            axes.errorbar(
                [_size(row) for row in rows], errors, spreads, fmt=marker, color=colour, label=kind, capsize=2
            )
    for group in _groups(axes, outcome):
        _write_names(axes, outcome, group)
    axes.set_xlabel("bytes of the model, in single precision")
    axes.set_ylabel("balanced error, %" if outcome.is_rare else "error, %")
    axes.set_title(f"{name}: error on rows that no choice has seen")
    axes.legend()


def _size(row: Row) -> float:
    return float(max(row.size or 1, 1))


def _error(outcome: Outcome, row: Row) -> float:
    return 100 * outcome.shown_error(row)


def _scale(axes: Axes, outcome: Outcome) -> None:
    sizes = [_size(row) for row in outcome.known]
    spread = max(max(sizes) / min(sizes), 100.0)
    axes.set_xscale("log")
    axes.set_xlim(min(sizes) / spread**0.05, max(sizes) * spread**_ROOM_FOR_NAMES)
    axes.set_ylim(0, math.ceil(1.15 * max(_error(outcome, row) for row in outcome.known)) or 1)


def _place(axes: Axes, outcome: Outcome, row: Row) -> tuple[float, float]:
    """Return where a point is, in parts of the width and the height."""
    low, high = map(math.log, axes.get_xlim())
    return (math.log(_size(row)) - low) / (high - low), _error(outcome, row) / axes.get_ylim()[1]


def _groups(axes: Axes, outcome: Outcome) -> list[list[Row]]:
    """Return the candidates by groups whose points are so near each other that their names stand in one line."""
    groups: list[list[Row]] = []
    for row in outcome.known:
        x, y = _place(axes, outcome, row)
        for group in groups:
            first = _place(axes, outcome, group[0])
            if abs(first[0] - x) < _NEAR[0] and abs(first[1] - y) < _NEAR[1]:
                group.append(row)
                break
        else:
            groups.append([row])
    return groups


def _write_names(axes: Axes, outcome: Outcome, group: Sequence[Row]) -> None:
    """Write the names of near points to the right of them, bold where the choice is among them."""
    chosen = "" if outcome.chosen is None else outcome.chosen.name
    names = ", ".join(f"{row.name} (chosen)" if row.name == chosen else row.name for row in group)
    last = max(group, key=_size)
    weight = "bold" if chosen in [row.name for row in group] else "normal"
    point = _size(last), _error(outcome, last)
    axes.annotate(names, point, xytext=(8, 4), textcoords="offset points", fontweight=weight)
