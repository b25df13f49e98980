"""Figures by matplotlib: one style, readable in print, in grey and for colour-blind eyes."""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mpu_bench.errors import ConfigError, StoreError, nearest
from mpu_bench.report import figure_data
from mpu_bench.report.figure_data import Figure, Panel, Series
from mpu_bench.results import curves, summary
from mpu_bench.results.store import Store

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

#: Okabe and Ito's colours, which colour-blind eyes tell apart; lines and markers vary with them for print in grey
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999933", "#882255")
_LINES = ("-", "--", "-.", ":")
_MARKERS = "os^vDPX*<"
_COLUMNS = 3
_PANEL = (3.6, 2.9)  # inches
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
        If the results have no data for it.
    """
    if name is not None and name not in figure_data.NAMES:
        raise ConfigError(f"no figure '{name}': {nearest(name, figure_data.NAMES)}")
    if against is not None and against not in figure_data.AXES:
        raise ConfigError(f"no axis '{against}': {nearest(against, figure_data.AXES)}")
    with Store(results) as store:
        rows, bands = summary.summaries(store), curves.mean_curves_of(store)
    names = [name] if name is not None else figure_data.figures(rows, bands)
    made = [figure for each in names if (figure := figure_data.make(each, rows, bands, against)) is not None]
    if not made:
        raise StoreError(f"{results}: has no data for {'a figure' if name is None else f'the figure {name!r}'}")
    folder = out or results / "figures"
    folder.mkdir(parents=True, exist_ok=True)
    return [path for figure in made for path in _save(figure, folder)]


def _save(figure: Figure, folder: Path) -> list[Path]:
    import matplotlib as mpl

    paths = [folder / f"{figure.name}.{form}" for form in ("svg", "pdf")]
    with mpl.rc_context(_STYLE):
        drawing = draw(figure)
        for path in paths:
            handle, temporary = tempfile.mkstemp(dir=folder, suffix=path.suffix)
            os.close(handle)
            drawing.savefig(temporary, metadata={"Date": None} if path.suffix == ".svg" else {"CreationDate": None})
            Path(temporary).chmod(0o644)
            Path(temporary).replace(path)
    return paths


def draw(figure: Figure) -> Drawing:
    """Draw a figure, a panel per dataset and one legend below."""
    from matplotlib.figure import Figure as Drawing

    wide = any(panel.categories for panel in figure.panels)
    columns = 1 if wide else min(_COLUMNS, len(figure.panels))
    lines = math.ceil(len(figure.panels) / columns)
    width, height = (7.2, 2.6) if wide else _PANEL
    labels = list(dict.fromkeys(each.label for panel in figure.panels for each in panel.series))
    per_line = max(1, int(columns * width / 1.7))
    legend = 0.18 * math.ceil(len(labels) / per_line) + 0.1
    drawing = Drawing(figsize=(columns * width, lines * height + legend), layout="constrained")
    axes = drawing.subplots(lines, columns, squeeze=False).ravel()
    for place, panel in zip(axes, figure.panels, strict=False):
        _draw_panel(place, panel, labels)
    for place in axes[len(figure.panels) :]:
        place.set_visible(False)
    handles = {handle.get_label(): handle for place in axes for handle in place.get_legend_handles_labels()[0]}
    drawing.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=per_line)
    return drawing


def _draw_panel(place: Axes, panel: Panel, labels: Sequence[str]) -> None:
    place.set_title(panel.title, fontsize=9)
    place.set_xlabel(panel.x_label)
    place.set_ylabel(panel.y_label)
    if panel.x_log:
        place.set_xscale("log")
    if panel.y_log:
        place.set_yscale("log")
    if panel.categories:
        place.set_xticks(range(len(panel.categories)), panel.categories, rotation=45, ha="right")
    measured = [label for label in labels if not label.endswith(", printed")]
    for each in panel.series:
        _draw_series(place, each, measured.index(each.label.removesuffix(", printed"))
                     if each.label.removesuffix(", printed") in measured else len(measured))  # fmt: skip


def _draw_series(place: Axes, each: Series, number: int) -> None:
    colour = _COLOURS[number % len(_COLOURS)]
    if each.printed:
        place.plot(each.x, each.y, linestyle="", marker="x", color=colour, markersize=6, label=each.label)
        return
    marker = _MARKERS[number % len(_MARKERS)] if not each.line or len(each.x) < 12 else ""
    line = _LINES[number % len(_LINES)]
    place.plot(each.x, each.y, linestyle=line if each.line else "", marker=marker, color=colour, label=each.label)
    if each.low:
        place.fill_between(each.x, each.low, each.high, color=colour, alpha=0.15, linewidth=0)
