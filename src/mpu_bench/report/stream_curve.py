"""The picture of a stream: the rolling metric of the best classifiers and of the references, along its rows."""

from __future__ import annotations

import numpy as np

from mpu_bench.models.evaluation import METRICS
from mpu_bench.report.style import COLOURS, DASHES, GREY
from mpu_bench.selection.online import Stream

_MOST = 5  # classifiers
_WIDTH, _HEIGHT, _LINE = 3.6, 2.6, 0.17  # inches, without the legend, and of a line of it
_COLUMNS = 2  # of the legend


def drawn(stream: Stream, name: str) -> dict[str, bytes]:
    """Return the picture as ``stream.svg`` and ``stream.png``.

    Parameters
    ----------
    stream : Stream
        With some rows judged.
    name : str
        Of the dataset.
    """
    from matplotlib.figure import Figure

    from mpu_bench.report import drawing, ticks

    best = sorted(stream.contenders, key=lambda each: -each.value(stream.metric))[:_MOST]
    with drawing.styled():
        lines = -(-(len(best) + len(stream.references)) // _COLUMNS)
        figure = Figure(figsize=(_WIDTH, _HEIGHT + _LINE * lines), layout="constrained")
        axes = figure.add_subplot()
        for index, each in enumerate(best):
            values = 100 * np.array(each.rolling(stream.metric))
            axes.plot(stream.ends, values, color=COLOURS[index], linewidth=1 + (each is stream.chosen), label=each.name)
        for index, reference in enumerate(stream.references):
            values = 100 * np.array(reference.rolling(stream.metric))
            axes.plot(stream.ends, values, color=GREY, linewidth=1, dashes=DASHES[index + 1], label=reference.name)
        axes.set_xlabel("row")
        axes.set_ylabel(f"{METRICS[stream.metric]}, %")
        axes.set_title(f"{name}: of the last {stream.window:,} rows, each before it is learned")
        ticks.set_ticks(axes.xaxis, log=False)
        ticks.set_ticks(axes.yaxis, log=False)
        figure.legend(loc="outside lower left", ncols=_COLUMNS)
        return {f"stream.{form}": content for form, content in drawing.saved(figure, ("svg", "png")).items()}
