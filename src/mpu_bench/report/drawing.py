"""Figures by matplotlib, at the size they are printed: one column, or two for many panels, with text of 8 points."""

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
from matplotlib.container import BarContainer
from matplotlib.figure import Figure as Drawing
from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.style import context
from matplotlib.transforms import blended_transform_factory

from mpu_bench.report import ranks_drawing, style, ticks
from mpu_bench.report.figure_parts import Figure, Level, Panel, Series

# What a file of each form says of itself: no dates, so that the same results give the same bytes
_METADATA: Any = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {"Software": None}}
ONE_COLUMN, TWO_COLUMNS = 3.3, 6.9  #: widths in inches
TEXT_POINTS = 8
_DPI = 300  # of PNG
_HEIGHTS = {1: 2.2, 2: 2.2, 3: 1.8}  # of a panel in inches, by the number of columns
BEYOND = "\N{UPWARDS ARROW}\N{DOWNWARDS ARROW}: how far curves go beyond the axis"  #: what a note at a panel means
_BAR_HEIGHT = 1.9  # of a panel of bars in inches
_MOST_BARS = 16  # of a panel as wide as a column
_LINE = 0.16  # of words below, in inches
_LETTERS_PER_INCH = 15
_AROUND = 0.5  # inches, of the height of a panel: above and below its axis
_MARKS = 6  # of a line with many points, about
_BARS_WIDTH = 0.8  # of all bars of a category
_BESIDE_BARS = 0.07  # how far a level reaches beyond them on each side
_SHADES = (1.0, 0.8, 0.65, 0.5)  # of bars, by the dashes of lines
_AGAIN: Any = (0, (1, 1.5))  # the line of a curve after the first pass
_AGAIN_WIDTH = 0.9
_MOST_LEGEND = 0.35  # of the height of the panels, beyond which a figure is wider
_POINTS_PER_INCH = 72
_LEVEL_WIDTH = 0.6
_ON_WHITE: Any = {"facecolor": "#ffffff", "alpha": 0.6, "linewidth": 0, "pad": 0.5}
_STYLE: Any = {
    "font.size": TEXT_POINTS,
    **dict.fromkeys(("axes.titlesize", "axes.labelsize", "xtick.labelsize", "ytick.labelsize"), TEXT_POINTS),
    **dict.fromkeys(("legend.fontsize", "figure.titlesize", "figure.labelsize"), TEXT_POINTS),
    "font.family": "DejaVu Sans",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.4,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "legend.frameon": False,
    "legend.handlelength": 2.4,
    "legend.columnspacing": 1.2,
    "lines.linewidth": 1.1,
    "lines.markersize": 3.2,
    "lines.markeredgewidth": 0.8,
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


def files(figure: Figure, forms: Sequence[str]) -> dict[str, bytes]:
    """Return the content of a figure's files, by their forms."""
    with styled():
        return saved(_drawn(figure), forms)


def draw(figure: Figure) -> Drawing:
    """Draw a figure for a program, which may go on with it."""
    with styled():
        return _drawn(figure)


def styled() -> AbstractContextManager[None]:
    """Return the context in which everything is drawn alike, whatever a user has set for matplotlib."""
    return context(["default", _STYLE])


def saved(drawing: Drawing, forms: Sequence[str]) -> dict[str, bytes]:
    """Return the content of a drawing's files, by their forms; to be called in the context in which it was drawn."""
    contents = {}
    for form in forms:
        stream = io.BytesIO()
        drawing.savefig(stream, format=form, metadata=_METADATA[form], dpi=_DPI)
        contents[form] = stream.getvalue()
    return contents


def _drawn(figure: Figure) -> Drawing:
    """Draw a figure, its panels row by row, and one legend below."""
    columns = figure.columns or _columns(len(figure.panels))
    lines = math.ceil(len(figure.panels) / columns)
    width = _width(figure, columns)
    in_lines = [figure.panels[line * columns :][:columns] for line in range(lines)]
    heights = [max(_height(panel, columns) for panel in line) for line in in_lines]
    drawing = _Shown(figsize=(width, sum(heights)), layout="constrained")
    axes = drawing.subplots(lines, columns, squeeze=False, height_ratios=heights).ravel()
    styles = figure.styles()
    for index, (on, panel) in enumerate(zip(axes, figure.panels, strict=False)):
        if panel.names:
            ranks_drawing.draw(on, panel, styles)
        else:
            _draw_panel(on, panel, styles, int(_LETTERS_PER_INCH * (heights[index // columns] - _AROUND)))
            below = figure.panels[index + columns] if index + columns < len(figure.panels) else None
            _share_labels(on, panel, figure.panels[index - 1] if index % columns else None, below)
    for on in axes[len(figure.panels) :]:
        on.set_visible(False)
    if figure.panels[0].names:
        _add_words(drawing, figure.caption.partition("; ")[2], width)
    else:
        _add_legend(drawing, _handles(figure, styles), width)
    return drawing


def _columns(panels: int) -> int:
    return panels if panels <= 3 else 2 if panels == 4 else 3


def _width(figure: Figure, columns: int) -> float:
    """Return a figure's width in inches."""
    bars = max(len(panel.categories) * max(1, len(_bars(panel))) for panel in figure.panels)
    letters = max((len(name) for panel in figure.panels for name in panel.names), default=0)
    names = max(len(panel.names) for panel in figure.panels)
    is_wide = columns > 1 or bars > _MOST_BARS
    is_wide |= letters > ranks_drawing.MOST_LETTERS or names > ranks_drawing.MOST_NAMES
    return TWO_COLUMNS if is_wide else ONE_COLUMN


def _height(panel: Panel, columns: int) -> float:
    if panel.names:
        return ranks_drawing.height(panel)
    return _BAR_HEIGHT if panel.categories else _HEIGHTS.get(columns, _HEIGHTS[3])


def _bars(panel: Panel) -> list[Series]:
    return [series for series in panel.series if not series.published]


def _draw_panel(on: Axes, panel: Panel, styles: Mapping[str, int], letters: int) -> None:
    """Draw a panel; so many letters have room along its vertical axis."""
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
    if panel.limits:
        on.set_ylim(*panel.limits)
    if panel.entry:
        on.set_xlim(left=panel.entry)
    on.autoscale_view()  # now: what is added later changes no limits
    on.set_autoscale_on(False)
    for level in panel.levels:
        _draw_level(on, level)
    ticks.set_ticks(on.yaxis, log=panel.y_log)


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
            drawn = on.bar(centers, heights, width, base, color=look.colour)
            _shade(drawn, look)
            _draw_deviations(on, series, off[series.label])
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


def _shade(bars: BarContainer, look: style.Style) -> None:
    """Make bars of one colour lighter or darker than the next in grey: by their dashes."""
    for bar in bars:
        bar.set_alpha(_SHADES[style.DASHES.index(look.dashes)])


def _draw_deviations(on: Axes, series: Series, off: float) -> None:
    if series.low:
        centers = [x + off for x in series.x]
        on.errorbar(centers, series.y, _deviations(series), fmt="none", ecolor="#000000", elinewidth=0.6)


def _draw_level(on: Axes, level: Level) -> None:
    """Draw a level if it is within what is shown."""
    low, high = on.get_ylim()
    if not low <= level.y <= high:
        return
    if level.category is not None:
        _draw_level_of_bars(on, level, level.category)
        return
    on.axhline(level.y, color=style.GREY, linewidth=_LEVEL_WIDTH, zorder=1.5)
    at_end = blended_transform_factory(on.transAxes, on.transData)
    is_high = level.y > low + 0.85 * (high - low)
    on.annotate(
        level.label, (1.0, level.y), xycoords=at_end, xytext=(0, -1.5 if is_high else 1.5), textcoords="offset points",
        ha="right", va="top" if is_high else "bottom", color=style.GREY, bbox=_ON_WHITE,
    )  # fmt: skip


def _draw_level_of_bars(on: Axes, level: Level, category: int) -> None:
    """Draw a level over the bars of a category, black to be seen on every colour."""
    ends = [category - _BARS_WIDTH / 2 - _BESIDE_BARS, category + _BARS_WIDTH / 2 + _BESIDE_BARS]
    on.plot(ends, [level.y, level.y], color="#000000", linewidth=_LEVEL_WIDTH, zorder=3, label=level.label)


def _handles(figure: Figure, styles: Mapping[str, int]) -> list[Artist]:
    """Return what the legend shows: a sample of each solver, of published numbers, and of bands."""
    every = [(panel, series) for panel in figure.panels for series in panel.series]
    samples = {series.label: (bool(panel.categories), series) for panel, series in every if not series.published}
    shown: list[Artist] = [
        _sample(series, style.of(styles[label]), is_bar=is_bar) for label, (is_bar, series) in samples.items()
    ]
    if any(series.published for _, series in every):
        shown.append(Line2D([], [], linestyle="", marker="x", color="#000000", label="published"))
    if any(series.again for _, series in every):
        dots: Any = {"linestyle": _AGAIN, "linewidth": _AGAIN_WIDTH, "color": style.GREY}
        shown.append(Line2D([], [], label="dotted: after the first pass", **dots))
    if any(panel.note and panel.entry for panel in figure.panels):
        shown.append(Line2D([], [], linestyle="", label=BEYOND))
    levels = [level for panel in figure.panels for level in panel.levels if level.category is not None]
    shown += [Line2D([], [], color="#000000", linewidth=_LEVEL_WIDTH, label=each.label) for each in levels[:1]]
    banded = [series for _, series in every if series.low and not series.published]
    are_bars = any(panel.categories for panel in figure.panels)
    word = "band" if any(each.line for each in banded) and not are_bars else "bar"
    return [*shown, _band(banded, word)] if banded else shown


def _sample(series: Series, look: style.Style, *, is_bar: bool) -> Artist:
    if is_bar:
        return Patch(color=look.colour, alpha=_SHADES[style.DASHES.index(look.dashes)], label=series.label)
    line: Any = _line(look) if series.line else ""
    return Line2D([], [], linestyle=line, marker=look.marker, color=look.colour, label=series.label)


def _band(banded: Sequence[Series], word: str) -> Artist:
    runs = sorted({series.runs for series in banded})
    count = f"{runs[0]}" if len(runs) == 1 else f"{runs[0]} to {runs[-1]}"
    label = f"{word}: one standard deviation of {count} runs"
    if word == "bar":
        return Line2D([], [], linestyle="", marker="|", markersize=7, color="#000000", label=label)
    return Patch(color=style.GREY, alpha=0.3, linewidth=0, label=label)


def _add_legend(drawing: Drawing, handles: Sequence[Artist], width: float) -> None:
    """Add a legend below the panels, of as many columns as fit, and let the figure grow by its height.

    A figure of one column that would be more legend than plot becomes one of two columns.
    """
    renderer = FigureCanvasAgg(drawing).get_renderer()  # type: ignore[no-untyped-call]
    widths = _widths(handles, renderer)
    if width == ONE_COLUMN and _legend_height(widths, width) > _MOST_LEGEND * drawing.get_figheight():
        width = TWO_COLUMNS
        drawing.set_figwidth(width)
    for columns in range(_legend_columns(widths, width), 0, -1):  # as computed, or one less where letters are kerned
        legend = drawing.legend(handles=list(handles), loc="outside lower center", ncols=columns)
        box = legend.get_window_extent(renderer)
        if box.width <= drawing.dpi * width or columns == 1:
            drawing.set_figheight(drawing.get_figheight() + box.height / drawing.dpi)
            return
        legend.remove()


def _widths(handles: Sequence[Artist], renderer: Any) -> list[float]:
    """Return the width in inches of each entry of a legend, with the gap to the next column."""
    of_text = FontProperties(size=TEXT_POINTS)
    gaps = rcParams["legend.handlelength"] + rcParams["legend.handletextpad"] + rcParams["legend.columnspacing"]
    labels = [renderer.get_text_width_height_descent(str(each.get_label()), of_text, False)[0] for each in handles]
    return [label / renderer.dpi + gaps * TEXT_POINTS / _POINTS_PER_INCH for label in labels]


def _legend_columns(widths: Sequence[float], width: float) -> int:
    """Return how many columns of a legend fit; entries fill them one after the other."""
    room = (
        width + (rcParams["legend.columnspacing"] - 2 * rcParams["legend.borderpad"]) * TEXT_POINTS / _POINTS_PER_INCH
    )
    for columns in range(len(widths), 1, -1):
        longest, more = divmod(len(widths), columns)
        ends = list(accumulate(longest + (index < more) for index in range(columns)))
        if sum(max(widths[start:end]) for start, end in zip([0, *ends], ends, strict=False)) <= room:
            return columns
    return 1


def _legend_height(widths: Sequence[float], width: float) -> float:
    return _LINE * math.ceil(len(widths) / _legend_columns(widths, width))


def _add_words(drawing: Drawing, words: str, width: float) -> None:
    lines = textwrap.wrap(words, int(_LETTERS_PER_INCH * width))
    drawing.supxlabel("\n".join(lines))
    drawing.set_figheight(drawing.get_figheight() + _LINE * len(lines))
