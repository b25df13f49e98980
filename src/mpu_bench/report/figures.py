"""Figures by matplotlib: one style, readable in print, in grey and for colour-blind eyes."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mpu_bench.errors import ConfigError, StoreError, nearest
from mpu_bench.files import write_all
from mpu_bench.report import figure_data, style
from mpu_bench.report.figure_data import Figure, Panel, Series
from mpu_bench.results import machines, summary
from mpu_bench.results.folder import open_results

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

FOLDER = "figures"  #: of a results folder
_METADATA: Any = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}  # no dates: the same results, the same bytes
FORMS = tuple(_METADATA)  #: of a figure's files

_COLUMNS = 3  # of panels
_FEW_POINTS = 12  # of a line: only these have markers
_PANEL = (3.6, 2.9)  # inches
_ROW, _LETTER = 0.18, 0.06  # inches, of a name at the side
_STYLE: Any = {
    "font.size": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.5,
    "legend.frameon": False,
    "legend.fontsize": 7,
    "lines.linewidth": 1.4,
    "lines.markersize": 3.5,
    "svg.fonttype": "none",
    "svg.hashsalt": "mpu-bench",
    "pdf.fonttype": 42,
    "text.parse_math": False,  # names are words, whatever dollars they have
}


def plot(results: Path, name: str | None, against: str | None, out: Path | None) -> list[Path]:
    """Draw figures of a results folder as SVG and PDF.

    Parameters
    ----------
    results : Path
    name : str or None
        Which figure; all that the results have data for by default.
    against : str or None
        For curves: the axis.
    out : Path or None
        Where to put them; ``<results>/figures`` by default.

    Returns
    -------
    list of Path
        The files written.

    Raises
    ------
    ConfigError
        If there is no figure or axis of this name.
    StoreError
        If the results have no data for it, or the files cannot be written.
    """
    drawable = figures_of(results, name, against)
    folder = out or results / FOLDER
    files = {f"{figure.name}.{form}": content for figure in drawable for form, content in drawn(figure, FORMS).items()}
    write_all(folder, files)
    return [folder / name for name in files]


def figures_of(results: Path, name: str | None = None, against: str | None = None) -> list[Figure]:
    """Return the figures of a results folder that it has data for, or the one of a name; see `plot`."""
    if name is not None and name not in figure_data.NAMES:
        raise ConfigError(f"no figure '{name}': {nearest(name, figure_data.NAMES)}")
    if against is not None and against not in figure_data.AXES:
        raise ConfigError(f"no axis '{against}': {nearest(against, figure_data.AXES)}")
    with open_results(results) as opened:
        runs = machines.located(opened.records(), opened.environments())
        rows, means = (machines.with_runs(each, runs) for each in (summary.summaries(opened), opened.mean_curves()))
    figures = (figure_data.make(each, rows, means, against) for each in ([name] if name else figure_data.NAMES))
    drawable = [figure for figure in figures if figure is not None]
    if not drawable:
        raise StoreError(f"{results}: has no data for {'a figure' if name is None else f'the figure {name!r}'}")
    return drawable


def drawn(figure: Figure, forms: Sequence[str]) -> dict[str, bytes]:
    """Return the content of a figure's files, by their forms."""
    import matplotlib as mpl

    contents = {}
    with mpl.rc_context(_STYLE):
        drawing = draw(figure)
        for form in forms:
            stream = io.BytesIO()
            drawing.savefig(stream, format=form, metadata=_METADATA[form])
            contents[form] = stream.getvalue()
    return contents


def styled(figure: Figure) -> Drawing:
    """Draw a figure for a program, which may go on with it."""
    import matplotlib as mpl

    with mpl.rc_context(_STYLE):
        return draw(figure)


def draw(figure: Figure) -> Drawing:
    """Draw a figure, a panel per dataset and one legend below."""
    from matplotlib.figure import Figure as Drawing

    wide = any(panel.categories for panel in figure.panels)
    columns = 1 if wide else min(_COLUMNS, len(figure.panels))
    lines = math.ceil(len(figure.panels) / columns)
    width, height = (7.2, 2.6) if wide else _PANEL
    height = max(height, 1.0 + _ROW * max(len(panel.names) for panel in figure.panels))
    width += _LETTER * max(len(name) for panel in figure.panels for name in (*panel.names, ""))
    styles = figure.styles()
    per_line = max(1, int(columns * width / 1.7))
    has_legend = not all(panel.names for panel in figure.panels)
    legend = 0.18 * math.ceil(len(styles) / per_line) + 0.1 if has_legend else 0.0
    drawing = Drawing(figsize=(columns * width, lines * height + legend), layout="constrained")
    axes = drawing.subplots(lines, columns, squeeze=False).ravel()
    for place, panel in zip(axes, figure.panels, strict=False):
        _draw_panel(place, panel, styles)
    for place in axes[len(figure.panels) :]:
        place.set_visible(False)
    if not has_legend:
        return drawing
    handles = {handle.get_label(): handle for place in axes for handle in place.get_legend_handles_labels()[0]}
    drawing.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=per_line)
    return drawing


def _draw_panel(place: Axes, panel: Panel, styles: Mapping[str, int]) -> None:
    place.set_title(panel.title, fontsize=9)
    place.set_xlabel(panel.x_label)
    place.set_ylabel(panel.y_label)
    if panel.x_log:
        place.set_xscale("log")
    if panel.y_log:
        place.set_yscale("log")
    if panel.categories:
        place.set_xticks(range(len(panel.categories)), panel.categories, rotation=45, ha="right")
    if panel.names:
        place.set_yticks(range(len(panel.names)), panel.names)
        place.invert_yaxis()
        place.margins(y=0.5 / len(panel.names))
    for series in panel.series:
        _draw_series(place, series, styles[series.label], [1] if panel.names else None)


def _draw_series(place: Axes, series: Series, number: int, marked: list[int] | None) -> None:
    """Draw a series with markers at some of its points, by default all."""
    colour = style.COLOURS[number % len(style.COLOURS)]
    if series.published:
        place.plot(series.x, series.y, linestyle="", marker="x", color=colour, markersize=6, label=series.label)
        return
    has_markers = not series.line or len(series.x) < _FEW_POINTS
    marker = style.MARKERS[number % len(style.MARKERS)] if has_markers else ""
    dashes = style.DASHES[number % len(style.DASHES)]
    line: Any = ((0, dashes) if dashes and marked is None else "-") if series.line else ""
    place.plot(series.x, series.y, linestyle=line, marker=marker, markevery=marked, color=colour, label=series.label)
    if series.low:
        place.fill_between(series.x, series.low, series.high, color=colour, alpha=0.15, linewidth=0)
