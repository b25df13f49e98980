"""Ticks of matplotlib's axes: as many as there is room for, on logarithmic axes whatever they span."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.axis import Axis, XAxis
from matplotlib.ticker import Formatter, Locator, LogLocator, MaxNLocator, NullFormatter, NullLocator

_MIN, _MAX = 2, 8  # ticks of an axis
_LETTERS = 5.0  # of a label beside the next one, in sizes of the text
_LINES = 2.0  # of labels above each other, in sizes of the text
_PLAIN = (1e-3, 1e4)  # numbers between these are written in full
_MAX_DECADES = 7  # with ticks between
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_DIGITS = ((1, 2, 5), (1, 3))  # of ticks within decades


def set_ticks(axis: Axis, *, log: bool) -> None:
    """Set where the ticks of an axis are, and their labels."""
    axis.set_major_locator(Ticks(log=log))
    axis.set_major_formatter(Labels())
    axis.set_minor_formatter(NullFormatter())
    if log:
        low, high = sorted(axis.get_view_interval())
        is_short = low > 0 and math.log10(high / low) <= _MAX_DECADES
        axis.set_minor_locator(LogLocator(subs=range(2, 10)) if is_short else NullLocator())


def log_ticks(low: float, high: float, limit: int) -> list[float]:
    """Return at most ``limit`` ticks between two positive numbers: powers of ten, or what lies between few of them.

    Parameters
    ----------
    low, high : float
        Positive.
    limit : int
        At least two.
    """
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    if last - first >= _MIN:
        every = math.ceil((last - first + 1) / limit)
        return [10.0**power for power in range(first, last + 1) if power % every == 0]
    for digits in _DIGITS:
        ticks = [digit * 10.0**power for power in range(first - 1, last + 1) for digit in digits]
        ticks = [tick for tick in ticks if low * (1 - 1e-9) <= tick <= high * (1 + 1e-9)]
        if min(_MIN + 1, limit) <= len(ticks) <= limit:
            return ticks
    if last - first == 1:
        return [10.0**first, 10.0**last]
    return [tick for tick in linear_ticks(low, high, limit) if tick > 0]


def linear_ticks(low: float, high: float, limit: int) -> list[float]:
    """Return at most ``limit`` round numbers between two."""
    room = 1e-9 * (high - low)
    for intervals in range(limit, 4 * limit):
        ticks = np.asarray(MaxNLocator(intervals, steps=[1, 2, 5, 10]).tick_values(low, high))
        inside = [float(tick) for tick in ticks if low - room <= tick <= high + room]
        if len(inside) >= _MIN:
            break
    return inside[:: math.ceil(len(inside) / limit)]


def written(values: Sequence[float]) -> list[str]:
    """Return the labels of an axis's ticks, all in full or all with powers of ten."""
    if all(value == 0 or _PLAIN[0] <= abs(value) <= _PLAIN[1] for value in values):
        return [f"{value:.6g}" for value in values]
    return [_raised(value) for value in values]


def _raised(value: float) -> str:
    """Return a number such as 3×10⁵."""
    if value == 0:
        return "0"
    digits, _, exponent = f"{value:.3e}".partition("e")
    power = f"10{str(int(exponent)).translate(_RAISED)}"
    return power if float(digits) == 1 else f"{float(digits):g}×{power}"


class Ticks(Locator):
    """As many ticks as the labels of an axis leave room for."""

    def __init__(self, *, log: bool) -> None:
        self._log = log

    def __call__(self) -> list[float]:
        """Return the ticks of what the axis shows."""
        low, high = self.axis.get_view_interval()  # type: ignore[union-attr]
        return self.tick_values(low, high)

    def tick_values(self, vmin: float, vmax: float) -> list[float]:
        """Return the ticks between two numbers."""
        low, high = sorted((vmin, vmax))
        return (log_ticks if self._log and low > 0 else linear_ticks)(low, high, self._room())

    def _room(self) -> int:
        """Return how many labels have room on the axis."""
        axis = self.axis
        box = axis.axes.get_window_extent()  # type: ignore[union-attr]
        points = 72 / axis.axes.figure.dpi  # type: ignore[union-attr]
        length = points * (box.width if isinstance(axis, XAxis) else box.height)
        size: float = axis.majorTicks[0].label1.get_fontsize()  # type: ignore[union-attr,assignment]
        return int(min(_MAX, max(_MIN, length / size // (_LETTERS if isinstance(axis, XAxis) else _LINES))))


class Labels(Formatter):
    """Numbers in full or with powers of ten, the same way for the whole axis."""

    def __call__(self, x: float, pos: int | None = None) -> str:  # noqa: ARG002 - matplotlib's
        """Return the label of a tick."""
        return written([x])[0]

    def format_ticks(self, values: Sequence[float]) -> list[str]:
        """Return the labels of all ticks of an axis."""
        return written(list(values))
