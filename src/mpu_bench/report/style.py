"""How series are drawn, by matplotlib and on the page: colours, dashes and markers, distinct also in grey.

A style is a number: its colour, dashes and marker are those at the number modulo the length of each list. A solver has
the same one in every figure, unless another before it has its colour there.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

#: told apart by colour-blind eyes, and dark enough to be read as text on white
COLOURS = ("#1a6fe8", "#b06000", "#00685a", "#b04fa8", "#4a3200", "#3a1ce6", "#0a1460", "#646f3d", "#430a2a")
#: the same on a dark page
DARK_COLOURS = ("#47d8ff", "#d3a125", "#21a863", "#c06fa0", "#fff04a", "#7f92ff", "#ccffba", "#ffffa0", "#e6d0d4")
#: lengths of dashes and gaps in turn, in widths of the line, one for each marker; none is a solid line, and none has
#: dots alone: those mark what is after the first epoch
DASHES = (
    (), (4, 2), (4, 1.5, 1, 1.5), (8, 2),
    (4, 1.25, 1, 1.25, 1, 1.25), (8, 1.5, 3, 1.5), (8, 1.5, 1, 1.5), (4, 1.25, 4, 1.25, 1, 1.25),
)  # fmt: skip
#: as matplotlib names them
MARKERS = "os^vDPX*"
GREY = "#6b6b6b"  #: of what is no solver, such as the error of the best constant

#: solver, with its choice of words where each is drawn as a solver of its own -> indices of its colour and marker.
#: Those that meet in a figure of a paper differ in both.
_PLACES = {
    "mpu": (0, 0), "dcd": (1, 1), "svmperf": (2, 2), "pegasos": (3, 3), "liblinear": (5, 4),
    "margin-perceptron": (8, 5), "perceptron": (6, 6),
    "forgetron": (8, 0), "cks": (7, 1), "perceptron-oldest": (2, 5), "perceptron-random": (5, 3),
    "bpegasos merging": (0, 1), "bpegasos projection": (1, 2), "bpegasos smallest": (2, 0), "bpegasos random": (5, 5),
    "bpa-s": (2, 7), "fogd": (5, 6), "bpegasos": (0, 7), "pegasos-multiclass": (3, 4), "projectron++": (4, 3),
    "sbp": (0, 4), "smo": (1, 5), "sdca": (2, 3), "pegasos-kernel": (3, 7), "libsvm": (4, 0), "rff": (5, 1),
    "cvm": (2, 4), "fw": (0, 2), "mfw": (1, 3),
    "sgd": (4, 1), "snapml-svm": (6, 3), "onedal-svc": (8, 6), "nystroem": (7, 5),
    "optimum": (7, 7), "kernel-optimum": (7, 3),
}  # fmt: skip
_COUNT = len(COLOURS) * len(MARKERS)  # of styles: the two lengths have no divisor in common


class Format(NamedTuple):
    """How large figures are drawn."""

    text: float  #: in points
    widths: tuple[float, float]  #: of a figure of one column, and of a wide one, in inches
    columns: int  #: of panels, at most
    heights: tuple[float, ...]  #: of a panel in inches, by the number of columns

    @property
    def size(self) -> float:
        """How much larger than in print everything is."""
        return self.text / FORMATS["paper"].text


#: by name: for a column of print, and for a slide of 16 by 9 cm, on which the same text is twice as large
FORMATS = {
    "paper": Format(8, (3.3, 6.9), 3, (2.2, 2.2, 1.8)),
    "slides": Format(11, (6.0, 6.0), 2, (2.6, 2.1)),
}


class Style(NamedTuple):
    """How a series is drawn."""

    colour: str
    dashes: tuple[float, ...]
    marker: str


def of(number: int) -> Style:
    """Return the style of a number."""
    return Style(COLOURS[number % len(COLOURS)], DASHES[number % len(DASHES)], MARKERS[number % len(MARKERS)])


def number_of(name: str) -> int:
    """Return the number of a solver's style: a fixed one, or for a user's own solver one that follows from its name."""
    if name in _PLACES:
        return _number(*_PLACES[name])
    return zlib.crc32(name.encode()) % _COUNT


def name_of(solver: str, parameters: Mapping[str, Any]) -> str:
    """Return the name by which a solver has its style: with the choice of words that makes it one of its own."""
    choices = (f"{solver} {value}" for value in parameters.values() if isinstance(value, str))
    return next((choice for choice in choices if choice in _PLACES), solver)


def numbers(names: Mapping[str, str]) -> dict[str, int]:
    """Return the number of the style of each label of a figure.

    A second series of a solver has its colour with other dashes and another marker; after eight, a colour of no other
    series in the figure, if there is one. Up to eight solvers differ in colour, dashes and marker: where another has
    the one or the other in this figure, a solver takes the next that is free; a user's own last.

    Parameters
    ----------
    names : mapping
        The label of each series, in order -> the name by which its solver has its style.
    """
    first: dict[str, int] = {}
    for name in sorted(dict.fromkeys(names.values()), key=lambda name: name not in _PLACES):
        first[name] = _free(name, list(first.values()))
    numbers: dict[str, int] = {}
    seen: Counter[str] = Counter()
    colours: dict[tuple[str, int], int] = {}  # of a solver's first eight series, of its next eight, ...
    taken = {number % len(COLOURS) for number in first.values()}
    for label, name in names.items():
        turn = seen[name] // len(MARKERS)
        further = [(first[name] + turn + more) % len(COLOURS) for more in range(len(COLOURS) if turn else 1)]
        colour = colours.setdefault((name, turn), next((each for each in further if each not in taken), further[0]))
        taken.add(colour)
        numbers[label] = _number(colour, (first[name] + seen[name]) % len(MARKERS))
        seen[name] += 1
    return numbers


def _free(name: str, taken: Sequence[int]) -> int:
    """Return the number of a solver's style, or one whose colour and marker are not taken, its own if they are free."""
    number = number_of(name)
    colours, markers = ({other % len(many) for other in taken} for many in (COLOURS, MARKERS))

    def free(other: int) -> tuple[bool, ...]:
        colour, marker = other % len(COLOURS), other % len(MARKERS)
        return colour not in colours, marker not in markers, colour == number % len(COLOURS)

    return max(((number + more) % _COUNT for more in range(_COUNT)), key=free)


def _number(colour: int, marker: int) -> int:
    """Return the number of which these are the indices of the colour and of the marker."""
    return next(
        number for number in range(_COUNT)
        if (number - colour) % len(COLOURS) == 0 and (number - marker) % len(MARKERS) == 0
    )  # fmt: skip
