"""Critical-difference diagrams by matplotlib, as in Demšar (2006): the best at the left."""

from __future__ import annotations

import math
from collections.abc import Mapping

from matplotlib.axes import Axes

from mpu_bench.report import style
from mpu_bench.report.figure_parts import Panel

MOST_LETTERS, MOST_NAMES = 9, 8  #: of a name, and names, in a diagram of one column's width
_LINE = 0.16  # inches, of a name
_ABOVE = 2.2  # lines: the numbers of the axis, and the critical difference
_TITLE = 0.45  # inches
_LETTER, _RANK_LETTERS, _AXIS = (
    0.062,
    6,
    1.2,
)  # inches of a letter; letters of a rank beside a name; inches between names
_GROUP = 0.45  # lines, of a bar that joins solvers
_PAD = 0.03  # of the axis, between a line and its name


def height(panel: Panel) -> float:
    """Return the height of a diagram in inches."""
    return _TITLE + _LINE * (_ABOVE + _below(panel))


def least_width(letters: int) -> float:
    """Return how wide a diagram must be in inches, of whose names the longest has so many letters."""
    return 2 * _LETTER * (letters + _RANK_LETTERS) + _AXIS if letters else 0.0


def draw(on: Axes, panel: Panel, styles: Mapping[str, int]) -> None:
    """Draw a diagram: solvers at their average ranks, joined by bars where they are not told apart."""
    on.set_axis_off()
    on.set_title(f"{panel.title}\n{panel.x_label}")
    count = len(panel.names)
    end = max(float(count), 1 + panel.critical_difference)
    on.set_xlim(1, end)
    on.set_ylim(-_below(panel), _ABOVE)
    _draw_axis(on, count)
    _draw_length(on, panel.critical_difference)
    for index, series in enumerate(panel.series):
        _draw_name(on, panel, index, style.of(styles[series.label]).colour)
    for index, (first, last) in enumerate(panel.groups):
        y = -_GROUP * (index + 1)
        left, right = panel.series[first].x[1], panel.series[last].x[1]
        on.plot([left, right], [y, y], color="#000000", linewidth=2.4, solid_capstyle="round", gid="group")


def _below(panel: Panel) -> float:
    """Return how many lines there are below the axis."""
    return _GROUP * (len(panel.groups) + 1) + math.ceil(len(panel.names) / 2) + 0.3


def _draw_axis(on: Axes, count: int) -> None:
    on.plot([1, count], [0, 0], color="#000000", linewidth=0.8)
    every = math.ceil(count / 12)
    for rank in range(1, count + 1):
        on.plot([rank, rank], [0, 0.25], color="#000000", linewidth=0.8)
        if (rank - 1) % every == 0:
            on.text(rank, 0.35, str(rank), ha="center", va="bottom")


def _draw_length(on: Axes, difference: float) -> None:
    """Draw how long the critical difference is."""
    y = _ABOVE - 0.5
    on.plot([1, 1 + difference], [y, y], color="#000000", linewidth=0.8, marker="|", markersize=5)
    on.annotate(f"critical difference {difference:.2f}", (1 + difference, y), xytext=(4, 0), va="center",
                textcoords="offset points")  # fmt: skip


def _draw_name(on: Axes, panel: Panel, index: int, colour: str) -> None:
    """Draw a line from a solver's rank to its name: at the left for the better half, at the right for the others."""
    count, rank = len(panel.names), panel.series[index].x[1]
    is_left = index < math.ceil(count / 2)
    below = index if is_left else count - 1 - index
    y = -_GROUP * (len(panel.groups) + 1) - below - 0.5
    low, high = on.get_xlim()
    side = low if is_left else high
    pad = _PAD * (high - low) * (-1 if is_left else 1)
    on.plot([rank, rank, side], [0, y, y], color=colour, linewidth=0.9)
    words = f"{panel.names[index]} {rank:.2f}" if is_left else f"{rank:.2f} {panel.names[index]}"
    on.text(side + pad, y, words, ha="right" if is_left else "left", va="center", color=colour)
