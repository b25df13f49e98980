"""Figures by matplotlib, at the size they are printed or shown: one column, or a wide one for many panels.

Critical-difference diagrams are drawn as in Demšar (2006), the best at the left.
"""

from __future__ import annotations

import io
import math
import textwrap
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import accumulate
from typing import Any

from matplotlib import rcParams
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Drawing
from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.style import context

from mpu_bench.report import style, ticks
from mpu_bench.report.figure_parts import Figure, Level, Panel, Series
from mpu_bench.report.style import FORMATS, Format

MAX_LETTERS, MAX_NAMES = 9, 8  #: of a name, and names, in a diagram of one column's width
_RANK_LINE = 0.16  # inches, of a name
_ABOVE = 2.2  # lines: the numbers of the axis, and the critical difference
_TITLE = 0.45  # inches
_RANK_LETTER, _RANK_LETTERS, _AXIS = (
    0.062,
    6,
    1.2,
)  # inches of a letter; letters of a rank beside a name; inches between names
_GROUP = 0.45  # lines, of a bar that joins solvers
_PAD = 0.03  # of the axis, between a line and its name


def _draw_ranks(on: Axes, panel: Panel, styles: Mapping[str, int]) -> None:
    """Draw a diagram: solvers at their average ranks, joined by bars where they are not told apart."""
    on.set_axis_off()
    on.set_title(f"{panel.title}\n{panel.x_label}")
    count = len(panel.names)
    end = max(float(count), 1 + panel.critical_difference)
    on.set_xlim(1, end)
    on.set_ylim(-_below(panel), _ABOVE)
    _draw_axis(on, count)
    length, y = panel.critical_difference, _ABOVE - 0.5
    on.plot([1, 1 + length], [y, y], color="#000000", linewidth=0.8, marker="|", markersize=5)
    on.annotate(f"critical difference {length:.2f}", (1 + length, y), xytext=(4, 0), va="center",
                textcoords="offset points")  # fmt: skip
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


# What a file of each form says of itself: no dates, so that the same results give the same bytes
_METADATA: Any = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {"Software": None}}
_DPI = 300  # of PNG
_POINTS_PER_INCH = 72
_EM = FORMATS["paper"].text / _POINTS_PER_INCH  # inches of print, in which the next four are measured
_BAR_HEIGHT = 17 * _EM  # of a panel of bars
_LINE = 1.44 * _EM  # of words below
_LETTER = 0.56 * _EM
_AROUND = 4.5 * _EM  # of the height of a panel: above and below its axis
_MAX_BARS = 16  # of a panel as wide as a column
_MARKS = 6  # of a line with many points, about
_BARS_WIDTH = 0.8  # of all bars of a category
_BESIDE_BARS = 0.07  # how far a level reaches beyond them on each side
_SHADES = (1.0, 0.8, 0.65, 0.5, 0.9, 0.72, 0.57, 0.42)  # of bars, by the dashes of lines
_FOOT = 0.5  # of the smallest number: where bars on a logarithmic axis begin
_FLAT = 0.005  # of a number: what a linear axis shows above and below, where all are the same
_AGAIN: Any = (0, (1, 1.5))  # the line of a curve after the first pass
_AGAIN_WIDTH = 0.9
_MAX_LEGEND = 0.35  # of the height of the panels, beyond which a figure is wider
_LEVELS: Any = ("-", (0, (8, 3)))  # the lines of levels, in turn
_LEVEL_WIDTH = 0.8


def _settings(form: Format) -> Any:
    """Return matplotlib's settings, with lines and markers as large as the text asks for."""
    return {
        "font.size": form.text,
        **dict.fromkeys(("axes.titlesize", "axes.labelsize", "xtick.labelsize", "ytick.labelsize"), form.text),
        **dict.fromkeys(("legend.fontsize", "figure.titlesize", "figure.labelsize"), form.text),
        "font.family": "DejaVu Sans",
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.linewidth": 0.6 * form.size,
        "axes.grid": True,
        "axes.axisbelow": True,
        "grid.color": "#dddddd",
        "grid.linewidth": 0.4 * form.size,
        "xtick.major.width": 0.6 * form.size,
        "ytick.major.width": 0.6 * form.size,
        "legend.frameon": False,
        "legend.handlelength": 3.0,
        "legend.columnspacing": 1.2,
        "lines.linewidth": 1.1 * form.size,
        "lines.markersize": 3.2 * form.size,
        "lines.markeredgewidth": 0.8 * form.size,
        "figure.constrained_layout.h_pad": 0.03,
        "figure.constrained_layout.w_pad": 0.03,
        "svg.fonttype": "none",
        "svg.hashsalt": "mpu-bench",
        "pdf.fonttype": 42,
        "text.parse_math": False,  # names are words, whatever dollars they have
    }


class _Shown(Drawing):
    """A figure that a notebook shows, whether or not a backend of matplotlib is at work there."""

    def _repr_svg_(self) -> str:
        with styled():
            return saved(self, ["svg"])["svg"].decode()


def files(figure: Figure, forms: Sequence[str], style_name: str = "paper") -> dict[str, bytes]:
    """Return the content of a figure's files, by their forms, drawn in a style of `style.FORMATS`."""
    with styled(style_name):
        return saved(_drawn(figure, FORMATS[style_name]), forms)


def draw(figure: Figure, style_name: str = "paper") -> Drawing:
    """Draw a figure for a program, which may go on with it."""
    with styled(style_name):
        return _drawn(figure, FORMATS[style_name])


def styled(style_name: str = "paper") -> AbstractContextManager[None]:
    """Return the context in which everything is drawn alike, whatever a user has set for matplotlib."""
    return context(["default", _settings(FORMATS[style_name])])


def saved(drawing: Drawing, forms: Sequence[str]) -> dict[str, bytes]:
    """Return the content of a drawing's files, by their forms; to be called in the context in which it was drawn."""
    contents = {}
    for form in forms:
        stream = io.BytesIO()
        drawing.savefig(stream, format=form, metadata=_METADATA[form], dpi=_DPI)
        contents[form] = stream.getvalue()
    return contents


def _drawn(figure: Figure, form: Format) -> Drawing:
    """Draw a figure: one legend, below it the panels row by row, and what must be known of them."""
    count = len(figure.panels)
    columns = figure.columns or min(count if count <= 3 else 2 if count == 4 else 3, form.columns)
    lines = math.ceil(len(figure.panels) / columns)
    in_lines = [figure.panels[line * columns :][:columns] for line in range(lines)]
    heights = [max(_height(panel, columns, form) for panel in line) for line in in_lines]
    drawing = _Shown(figsize=(_width(figure, columns, form), sum(heights)), layout="constrained")
    axes = drawing.subplots(lines, columns, squeeze=False, height_ratios=heights).ravel()
    styles, levels = figure.styles(), _levels(figure)
    for index, (on, panel) in enumerate(zip(axes, figure.panels, strict=False)):
        if panel.names:
            _draw_ranks(on, panel, styles)
        else:
            letters = int((heights[index // columns] - _AROUND * form.size) / (_LETTER * form.size))
            _draw_panel(on, panel, styles, levels, letters)
            below = figure.panels[index + columns] if index + columns < len(figure.panels) else None
            _share_labels(on, panel, figure.panels[index - 1] if index % columns else None, below)
    for on in axes[len(figure.panels) :]:
        on.set_visible(False)
    words = figure.remarks()
    if not figure.panels[0].names:
        drawn = {line.get_label() for on in axes for line in on.get_lines()}
        shown = [sample for label, sample in levels.items() if label in drawn]
        _add_legend(drawing, [*_handles(figure, styles), *shown], form)
    if words:
        wrapped = textwrap.wrap("; ".join(words), int(drawing.get_figwidth() / (_LETTER * form.size)))
        drawing.supxlabel("\n".join(wrapped), color=style.GREY)
        drawing.set_figheight(drawing.get_figheight() + _LINE * form.size * len(wrapped))
    return drawing


def _width(figure: Figure, columns: int, form: Format) -> float:
    """Return a figure's width in inches."""
    bars = max(len(panel.categories) * max(1, len(_bars(panel))) for panel in figure.panels)
    letters = max((len(name) for panel in figure.panels for name in panel.names), default=0)
    names = max(len(panel.names) for panel in figure.panels)
    is_wide = columns > 1 or bars > _MAX_BARS
    is_wide |= letters > MAX_LETTERS or names > MAX_NAMES
    least = 2 * _RANK_LETTER * (letters + _RANK_LETTERS) + _AXIS if letters else 0.0  # of a diagram of ranks
    return max(form.widths[is_wide], least * form.size)


def _height(panel: Panel, columns: int, form: Format) -> float:
    if panel.names:
        return (_TITLE + _RANK_LINE * (_ABOVE + _below(panel))) * form.size
    return _BAR_HEIGHT * form.size if panel.categories else form.heights[min(columns, len(form.heights)) - 1]


def _bars(panel: Panel) -> list[Series]:
    return [series for series in panel.series if not series.published]


def _draw_panel(on: Axes, panel: Panel, styles: Mapping[str, int], levels: Mapping[str, Line2D], letters: int) -> None:
    """Draw a panel, with room for a number of letters along its vertical axis."""
    on.set_title(panel.title, loc="left")
    if panel.note:
        on.set_title(panel.note, loc="right", color=style.GREY)
    on.set_xlabel(panel.x_label)
    on.set_ylabel("\n".join(textwrap.wrap(panel.y_label, letters)))
    on.set_xscale("log" if panel.x_log else "linear")
    on.set_yscale("log" if panel.y_log else "linear")
    if panel.categories:
        _draw_bars(on, panel, styles)
    else:
        for index, series in enumerate(panel.series):
            _draw_series(on, series, style.of(styles[series.label]), index)
        ticks.set_ticks(on.xaxis, log=panel.x_log)
    limits = panel.limits or _limits(panel)
    if limits:
        on.set_ylim(*limits)
    if panel.entry:
        on.set_xlim(left=panel.entry)
    on.autoscale_view()  # now: what is added later changes no limits
    on.set_autoscale_on(False)
    for level in panel.levels:
        _draw_level(on, level, levels)
    ticks.set_ticks(on.yaxis, log=panel.y_log)


def _limits(panel: Panel) -> tuple[float | None, ...]:
    """Return what an axis shows that has no limits: room around equal numbers, and the foot of bars."""
    numbers = [y for series in panel.series for y in series.y]
    if panel.categories:
        return (_FOOT * min(numbers), None) if panel.y_log and not panel.levels else ()
    if panel.y_log or len({*numbers, *(y for series in panel.series for y in (*series.low, *series.high))}) > 1:
        return ()
    room = _FLAT * abs(numbers[0]) or 1.0
    return numbers[0] - room, numbers[0] + room


def _share_labels(on: Axes, panel: Panel, left: Panel | None, below: Panel | None) -> None:
    """Name an axis once where panels beside or below each other have the same."""
    if below is not None and below.x_label == panel.x_label:
        on.set_xlabel("")
    if below is not None and panel.categories and below.categories == panel.categories:
        on.tick_params(axis="x", labelbottom=False)
    if left is not None and left.y_label == panel.y_label:
        on.set_ylabel("")


def _draw_series(on: Axes, series: Series, look: style.Style, index: int) -> None:
    if series.published:
        on.plot(series.x, series.y, "x", color=look.colour, markersize=5, markeredgewidth=1.2, zorder=4)
        return
    every = max(1, len(series.x) // _MARKS)
    first = slice(series.again + 1 if series.again else None)
    on.plot(
        series.x[first], series.y[first], linestyle=_line(look) if series.line else "", marker=look.marker,
        color=look.colour, markevery=(index * every // 4 % every, every), label=series.label,
    )  # fmt: skip
    if series.again:
        on.plot(
            series.x[series.again :], series.y[series.again :], linestyle=_AGAIN, linewidth=_AGAIN_WIDTH,
            marker=look.marker, color=look.colour, markevery=(every, every),
        )  # fmt: skip
    if series.low and series.line:
        on.fill_between(series.x, series.low, series.high, color=look.colour, alpha=0.13, linewidth=0)
    elif series.low:
        on.errorbar(series.x, series.y, _deviations(series), fmt="none", ecolor=look.colour, capsize=1.5)


def _line(look: style.Style) -> Any:
    return (0, look.dashes) if look.dashes else "-"


def _deviations(series: Series) -> list[list[float]]:
    below = [y - low for y, low in zip(series.y, series.low, strict=True)]
    return [below, [high - y for y, high in zip(series.y, series.high, strict=True)]]


def _draw_bars(on: Axes, panel: Panel, styles: Mapping[str, int]) -> None:
    """Draw a group of bars for each category, and published numbers on the bars they are about."""
    measured = _bars(panel)
    width = _BARS_WIDTH / len(measured)
    base = panel.levels[0].y if panel.y_log and panel.levels else 0.0
    off = {series.label: (index - (len(measured) - 1) / 2) * width for index, series in enumerate(measured)}
    for series in panel.series:
        look = style.of(styles[series.label])
        if not series.published:
            centers, heights = [x + off[series.label] for x in series.x], [y - base for y in series.y]
            on.bar(centers, heights, width, base, color=look.colour, alpha=_SHADES[style.DASHES.index(look.dashes)])
            if series.low:
                on.errorbar(centers, series.y, _deviations(series), fmt="none", ecolor="#000000", elinewidth=0.6)
    for series in panel.series:
        if series.published and series.about in off:
            on.plot(
                [x + off[series.about] for x in series.x], series.y, "x", color="#000000", markersize=3.2,
                markeredgewidth=0.8, zorder=4,
            )  # fmt: skip
    on.set_xticks(range(len(panel.categories)), panel.categories, rotation=45, ha="right", rotation_mode="anchor")
    on.tick_params(axis="x", length=0)
    on.set_xlim(-0.6, len(panel.categories) - 0.4)
    on.grid(visible=False, axis="x")


def _draw_level(on: Axes, level: Level, levels: Mapping[str, Line2D]) -> None:
    """Draw a level across a panel, or over the bars of a category, if it is within what is shown."""
    low, high = on.get_ylim()
    if low <= level.y <= high:
        ends = on.get_xlim()
        if level.category is not None:
            half = _BARS_WIDTH / 2 + _BESIDE_BARS
            ends = level.category - half, level.category + half
        line = Line2D(ends, (level.y, level.y), zorder=1.5 if level.category is None else 3)
        line.update_from(levels[level.label])
        on.add_line(line)


def _levels(figure: Figure) -> dict[str, Line2D]:
    """Return a sample of the line of each level, by its label: black over bars, to be seen on every colour."""
    over_bars = {level.label: level.category is not None for panel in figure.panels for level in panel.levels}
    return {
        label: Line2D([], [], color="#000000" if is_over_bars else style.GREY, linestyle=_LEVELS[index % len(_LEVELS)],
                      linewidth=_LEVEL_WIDTH, label=label)
        for index, (label, is_over_bars) in enumerate(over_bars.items())
    }  # fmt: skip


def _handles(figure: Figure, styles: Mapping[str, int]) -> list[Artist]:
    """Return a sample of each solver for the legend, and of reported numbers."""
    every = [(panel, series) for panel in figure.panels for series in panel.series]
    samples = {series.label: (bool(panel.categories), series) for panel, series in every if not series.published}
    shown: list[Artist] = [
        _sample(series, style.of(styles[label]), is_bar=is_bar) for label, (is_bar, series) in samples.items()
    ]
    if any(series.published for _, series in every):
        shown.append(Line2D([], [], linestyle="", marker="x", color="#000000", label="reported"))
    return shown


def _sample(series: Series, look: style.Style, *, is_bar: bool) -> Artist:
    if is_bar:
        return Patch(color=look.colour, alpha=_SHADES[style.DASHES.index(look.dashes)], label=series.label)
    line: Any = _line(look) if series.line else ""
    return Line2D([], [], linestyle=line, marker=look.marker, color=look.colour, label=series.label)


def _add_legend(drawing: Drawing, handles: Sequence[Artist], form: Format) -> None:
    """Add a legend above the panels, of as many columns as fit, and let the figure grow by its height.

    A figure of one column that would be more legend than plot becomes a wide one.
    """
    renderer = FigureCanvasAgg(drawing).get_renderer()  # type: ignore[no-untyped-call]
    widths = _widths(handles, renderer)
    lines = math.ceil(len(widths) / _legend_columns(widths, drawing.get_figwidth()))
    if _LINE * form.size * lines > _MAX_LEGEND * drawing.get_figheight():
        drawing.set_figwidth(form.widths[1])
    width = drawing.get_figwidth()
    for columns in range(_legend_columns(widths, width), 0, -1):  # as computed, or one less where letters are kerned
        legend = drawing.legend(handles=list(handles), loc="outside upper center", ncols=columns)
        box = legend.get_window_extent(renderer)
        if box.width <= drawing.dpi * width or columns == 1:
            height = box.height / drawing.dpi
            drawing.set_figheight(max(drawing.get_figheight(), height + 1.5 * _AROUND * form.size) + height)
            return
        legend.remove()


def _widths(handles: Sequence[Artist], renderer: Any) -> list[float]:
    """Return the width in inches of each entry of a legend, with the gap to the next column."""
    text = rcParams["legend.fontsize"]
    of_text = FontProperties(size=text)
    gaps = rcParams["legend.handlelength"] + rcParams["legend.handletextpad"] + rcParams["legend.columnspacing"]
    labels = [renderer.get_text_width_height_descent(str(handle.get_label()), of_text, False)[0] for handle in handles]
    return [label / renderer.dpi + gaps * text / _POINTS_PER_INCH for label in labels]


def _legend_columns(widths: Sequence[float], width: float) -> int:
    """Return how many columns of a legend fit; entries fill them one after the other."""
    beside = rcParams["legend.columnspacing"] - 2 * rcParams["legend.borderpad"]
    room = width + beside * rcParams["legend.fontsize"] / _POINTS_PER_INCH
    for columns in range(len(widths), 1, -1):
        longest, more = divmod(len(widths), columns)
        ends = list(accumulate(longest + (index < more) for index in range(columns)))
        if sum(max(widths[start:end]) for start, end in zip([0, *ends], ends, strict=False)) <= room:
            return columns
    return 1
