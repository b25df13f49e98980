"""The pictures of a selection: quality against the size of models, and the rolling metric along a stream.

Points bear the numbers of a list below, so that it can be read on a phone however many there are.
"""

from __future__ import annotations

import math

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.transforms import Affine2D, Bbox

from mpu_bench.models.evaluation import METRICS
from mpu_bench.report import drawing, ticks
from mpu_bench.report.style import COLOURS, DASHES, GREY, MARKERS
from mpu_bench.selection.online import Stream
from mpu_bench.selection.outcome import Outcome, Row

_KINDS = ("linear", "budgeted", "batch", "reference")
_LOOKS = dict(zip(_KINDS, zip(COLOURS, MARKERS, strict=False), strict=False))
_WIDTH, _HEIGHT, _LINE = 3.6, 2.9, 0.17  # inches, without the list, and of a line of it
_COLUMNS = 2  # of the list
_ROOM = 0.12  # of what an axis shows, at either end
_LETTER, _HIGH, _APART = 0.65, 1.3, 7.0  # of a label: of the size of the text, and points from its marker
_MARKER = 2.0  # half of one, in points


def drawn(outcome: Outcome, name: str) -> dict[str, bytes]:
    """Return the picture as ``front.svg`` and ``front.png``.

    Parameters
    ----------
    outcome : Outcome
        With some models whose score on the test set is known.
    name : str
        Of the dataset.
    """
    with drawing.styled():
        lines = 1 + -(-len(outcome.models) // _COLUMNS) + len(_KINDS) // _COLUMNS
        figure = Figure(figsize=(_WIDTH, _HEIGHT + _LINE * lines), layout="constrained")
        _draw(figure, figure.add_subplot(), outcome, name)
        return {f"front.{form}": content for form, content in drawing.saved(figure, ("svg", "png")).items()}


def _draw(figure: Figure, axes: Axes, outcome: Outcome, name: str) -> None:
    front = outcome.front
    sizes, values = [_size(row) for row in front], [_value(outcome, row) for row in front]
    line = axes.plot(sizes, values, "o-", color=GREY, markersize=9, markerfacecolor="none", linewidth=1, zorder=0,
                     label="Pareto front")  # fmt: skip
    for row in outcome.models:
        colour, marker = _LOOKS[row.kind]
        spread = 100 * row.spread if math.isfinite(row.spread) else 0.0
        axes.errorbar(_size(row), _value(outcome, row), spread, fmt=marker, color=colour, capsize=2)
    _scale(axes, outcome)
    axes.set_xlabel("bytes of the model, in single precision")
    axes.set_ylabel("error, %" if outcome.metric == "accuracy" else f"{METRICS[outcome.metric]}, %")
    axes.set_title(f"{name}: on the test set, ± standard error")
    if (constant := outcome.constant) is not None:
        limits, value = axes.get_ylim(), _value(outcome, constant)
        line += [axes.axhline(value, color=GREY, linestyle=":", linewidth=1, label=f"constant ({value:.1f} %)")]
        axes.set_ylim(limits)  # it may be far from all others
    kinds = [_sample(kind, kind) for kind in _KINDS if any(row.kind == kind for row in outcome.models)]
    figure.legend(handles=[*kinds, *line], loc="outside upper center", ncols=3, handlelength=1.4)  # fmt: skip
    entries = [f"{number} {row.name}{' (chosen)' if row is outcome.chosen else ''}"
               for number, row in enumerate(outcome.models, start=1)]  # fmt: skip
    figure.legend(handles=[_sample(row.kind, entry) for row, entry in zip(outcome.models, entries, strict=True)],
                  loc="outside lower left", ncols=_COLUMNS, handlelength=1)  # fmt: skip
    figure.draw_without_rendering()  # where points are is known then
    for indices in _groups(axes, outcome):
        last = max((outcome.models[index] for index in indices), key=_size)
        chosen = outcome.chosen is not None and outcome.chosen in [outcome.models[index] for index in indices]
        axes.annotate(_label(indices), (_size(last), _value(outcome, last)), xytext=(_APART, 0), va="center",
                      textcoords="offset points", fontweight="bold" if chosen else "normal")  # fmt: skip


def _sample(kind: str, label: str) -> Line2D:
    colour, marker = _LOOKS[kind]
    return Line2D([], [], linestyle="", marker=marker, color=colour, label=label)


def _size(row: Row) -> float:
    return float(max(row.size or 1, 1))


def _value(outcome: Outcome, row: Row) -> float:
    score = outcome.score(row)
    return 100 * (1 - score if outcome.metric == "accuracy" else score)


def _scale(axes: Axes, outcome: Outcome) -> None:
    sizes = [_size(row) for row in outcome.models]
    room = max(max(sizes) / min(sizes), 100.0) ** _ROOM
    axes.set_xscale("log")
    axes.set_xlim(min(sizes) / room, max(sizes) * room**2)  # where labels are
    axes.margins(y=_ROOM)
    ticks.set_ticks(axes.xaxis, log=True)
    ticks.set_ticks(axes.yaxis, log=False)


def _label(indices: list[int]) -> str:
    return ", ".join(str(index + 1) for index in sorted(indices))


def _groups(axes: Axes, outcome: Outcome) -> list[list[int]]:
    """Return the candidates by groups that have one label, so that no label covers another or another's point."""
    text = float(axes.xaxis.label.get_fontsize())
    in_points = axes.transData + axes.figure.dpi_scale_trans.inverted() + Affine2D().scale(72)
    points = [in_points.transform((_size(row), _value(outcome, row))) for row in outcome.models]

    def box(indices: list[int]) -> Bbox:
        """Return where a label is."""
        x, y = points[max(indices, key=lambda index: points[index][0])]
        return Bbox.from_bounds(x + _APART, y - _HIGH * text / 2, _LETTER * text * len(_label(indices)), _HIGH * text)

    def collide(one: list[int], other: list[int]) -> bool:
        return bool(box(one).overlaps(box(other))) or any(
            box(one).padded(_MARKER, 0).contains(*points[index]) for index in other
        )

    groups = [[index] for index in range(len(points))]
    while pair := next(((a, b) for a in groups for b in groups if a is not b and collide(a, b)), None):
        groups = [group for group in groups if group not in pair] + [pair[0] + pair[1]]
    return groups


_MAX_CURVES = 5  # classifiers
_STREAM_WIDTH, _STREAM_HEIGHT, _STREAM_LINE = 3.6, 2.6, 0.17  # inches, without the legend, and of a line of it
_STREAM_COLUMNS = 2  # of the legend


def drawn_stream(stream: Stream, name: str) -> dict[str, bytes]:
    """Return the picture as ``stream.svg`` and ``stream.png``.

    Parameters
    ----------
    stream : Stream
        With some rows judged.
    name : str
        Of the dataset.
    """
    best = sorted(stream.contenders, key=lambda contender: -contender.value(stream.metric))[:_MAX_CURVES]
    with drawing.styled():
        lines = -(-(len(best) + len(stream.references)) // _STREAM_COLUMNS)
        figure = Figure(figsize=(_STREAM_WIDTH, _STREAM_HEIGHT + _STREAM_LINE * lines), layout="constrained")
        axes = figure.add_subplot()
        for index, model in enumerate(best):
            values = 100 * np.array(model.rolling(stream.metric))
            axes.plot(
                stream.ends, values, color=COLOURS[index], linewidth=1 + (model is stream.chosen), label=model.name
            )
        for index, reference in enumerate(stream.references):
            values = 100 * np.array(reference.rolling(stream.metric))
            axes.plot(stream.ends, values, color=GREY, linewidth=1, dashes=DASHES[index + 1], label=reference.name)
        axes.set_xlabel("row")
        axes.set_ylabel(f"{METRICS[stream.metric]}, %")
        axes.set_title(f"{name}: of the last {stream.window:,} rows, each before it is learned")
        ticks.set_ticks(axes.xaxis, log=False)
        ticks.set_ticks(axes.yaxis, log=False)
        figure.legend(loc="outside lower left", ncols=_STREAM_COLUMNS)
        return {f"stream.{form}": content for form, content in drawing.saved(figure, ("svg", "png")).items()}
