"""The picture of a selection: error against the size of the model, with those that nothing beats in both."""

from __future__ import annotations

import io
import math

from mpu_bench.report.style import COLOURS, MARKERS
from mpu_bench.selection.outcome import Outcome

_KINDS = ("linear", "budgeted", "batch", "scikit-learn")
_INCHES = (7.0, 4.6)
_DPI = 130


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

    figure = Figure(figsize=_INCHES, layout="constrained")
    axes = figure.add_subplot()
    for kind, colour, marker in zip(_KINDS, COLOURS, MARKERS, strict=False):
        rows = [row for row in outcome.known if row.kind == kind]
        if not rows:
            continue
        spreads = [0.0 if outcome.is_rare else 100 * (row.standard_error or 0.0) for row in rows]
        sizes, errors = [float(row.size or 1) for row in rows], [100 * outcome.shown_error(row) for row in rows]
        axes.errorbar(sizes, errors, spreads, fmt=marker, color=colour, label=kind, capsize=2, linestyle="none")
    front = outcome.front
    axes.plot(
        [float(row.size or 1) for row in front], [100 * outcome.shown_error(row) for row in front],
        drawstyle="steps-post", color="#888888", linewidth=1, zorder=0, label="nothing smaller is better",
    )  # fmt: skip
    for row in outcome.known:
        weight = "bold" if outcome.chosen is not None and row.name == outcome.chosen.name else "normal"
        axes.annotate(
            row.name, (float(row.size or 1), 100 * outcome.shown_error(row)), xytext=(5, 4),
            textcoords="offset points", fontsize=8, fontweight=weight,
        )  # fmt: skip
    _finish(axes, outcome, name)
    return {f"front.{form}": _saved(figure, form) for form in ("svg", "png")}


def _finish(axes: object, outcome: Outcome, name: str) -> None:
    from matplotlib.axes import Axes

    assert isinstance(axes, Axes)
    axes.set_xscale("log")
    largest = max(100 * outcome.shown_error(row) for row in outcome.known)
    axes.set_ylim(0, math.ceil(largest * 1.1) or 1)
    axes.set_xlabel("bytes of the model, in single precision")
    axes.set_ylabel("balanced error, %" if outcome.is_rare else "error, %")
    axes.set_title(f"{name}: error on rows that no choice has seen", fontsize=10)
    axes.legend(fontsize=8)
    axes.grid(alpha=0.3)


def _saved(figure: object, form: str) -> bytes:
    from matplotlib.figure import Figure

    assert isinstance(figure, Figure)
    written = io.BytesIO()
    figure.savefig(written, format=form, dpi=_DPI)
    return written.getvalue()
