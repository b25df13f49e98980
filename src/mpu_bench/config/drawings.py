"""The keys of ``figures``: which figures a config draws, and how."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Annotated, Literal, get_args

from pydantic import Field

from mpu_bench.config.bounds import MAX_ENTRIES
from mpu_bench.document import Node, Strict

Axis = Literal["kernel_evaluations", "train_seconds", "inner_products", "passes", "presented"]
AXES: tuple[str, ...] = get_args(Axis)  #: the quantities that a curve can be drawn against
_DECLARED = [  # names of figures as report/figures_*.py declare them, which are not imported here
    declared
    for path in sorted((Path(__file__).parents[1] / "report").glob("figures_*.py"))
    for declared in re.findall(r'^@figure\("([a-z-]+)"(.*, along_axis=True)?', path.read_text("utf-8"), re.MULTILINE)
]
KINDS = tuple(name for name, _ in _DECLARED)  #: what figures there are
CURVES = tuple(name for name, is_curve in _DECLARED if is_curve)  #: those whose axis ``against`` chooses


class Drawing(Strict):
    """A figure that a config draws.

    ``of`` is the printed figure that it is, such as ``Figure 2``; ``datasets`` those it shows, by default all.
    """

    draw: Literal[KINDS]  # type: ignore[valid-type]
    against: Axis | None = None
    datasets: Annotated[list[str], Field(min_length=1, max_length=MAX_ENTRIES)] | None = None
    of: Annotated[str, Field(max_length=100)] = ""


def check_drawings(drawings: Sequence[Drawing], node: Node, labels: Collection[str] | None) -> None:
    """Reject what cannot be drawn: a dataset that does not exist, an axis where none is chosen, one figure twice.

    Parameters
    ----------
    drawings : sequence of Drawing
    node : Node
        The list in its document.
    labels : collection of str or None
        The datasets' names in tables, those of every profile; None where they are not known.

    Raises
    ------
    UserError
        Of the node's type.
    """
    drawn = [drawing.draw for drawing in drawings]
    for position, drawing in enumerate(drawings):
        below = node[position]
        if drawing.draw in drawn[:position]:
            raise below["draw"].error(f"'{drawing.draw}' is drawn twice; give one entry with all its datasets")
        if drawing.against is not None and drawing.draw not in CURVES:
            raise below["against"].error(f"only curves are drawn against an axis of choice: {', '.join(CURVES)}")
        below["datasets"].check_names("dataset", labels)
