"""The one way to print: whatever is printed is words, never markup and nothing that a terminal obeys."""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions
from rich.table import Table as Grid
from rich.text import Text

from mpu_bench.texts import one_line, plain

if TYPE_CHECKING:
    from mpu_bench.report.tables import Table

LONGEST_REASON = 1000  #: bytes of a reason in a line for people; runs.csv has the whole
_COLUMNS_OF_A_FILE = 200
_UNBOUNDED = sys.maxsize
_WHOLE_WORDS: Final[Any] = {"break_long_words": False, "break_on_hyphens": False}  # where lines break
_GAP = 2  # letters between columns; of framed ones one more
_HEADING_WIDTH = 9  # letters, beyond which the heading of numbers goes on in the next line


class Terminal(Console):
    r"""A console that takes every text for words: in a line, a cell, a title, a heading, a style's text.

    Square brackets, colons and numbers are no markup, no emoji and no highlight, and control characters are written as
    ``\x1b`` or the like. A text with a style of its own is made by `styled`.
    """

    def __init__(self, **options: Any) -> None:
        # in a notebook rich would show everything as an output of its own, even what goes to a file
        super().__init__(**options, markup=False, emoji=False, highlight=False, force_jupyter=False)

    def render_str(self, text: str, **options: Any) -> Text:
        """Return a text as words; rich asks for every text that it prints."""
        layout = {name: options[name] for name in ("style", "justify", "overflow") if name in options}
        return Text(plain(text, _UNBOUNDED), **layout)

    def tell(self, text: str, style: str | None = None) -> None:
        """Print a line: to a file whole, on a terminal broken between words, none of which is broken itself."""
        if self.is_terminal:
            text = "\n".join(textwrap.fill(line, self.width, **_WHOLE_WORDS) for line in text.split("\n"))
        self.print(text, style=style, soft_wrap=True)


def terminal(*, stderr: bool = False) -> Terminal:
    """Return a console for a terminal, or for a file or a pipe, which is as wide as COLUMNS says, or else wide."""
    if not os.environ.get("COLUMNS", "1").strip("0"):  # a terminal that does not know its width: rich prints nothing
        del os.environ["COLUMNS"]
    console = Terminal(stderr=stderr)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = _COLUMNS_OF_A_FILE
    return console


def styled(text: str, style: str = "") -> Text:
    """Return words with a style, for a cell or the line of what goes on."""
    return Text(plain(text, _UNBOUNDED), style)


_with_screen: list[Terminal] = []  # what shows a screen that changes now, the last one on top


@contextmanager
def screen_on(console: Terminal) -> Iterator[None]:
    """Let messages go above a screen that a console shows meanwhile, and not across it."""
    _with_screen.append(console)
    try:
        yield
    finally:
        _with_screen.remove(console)


def say(message: str) -> None:
    """Print a message beside the output, on stderr."""
    (_with_screen[-1] if _with_screen else terminal(stderr=True)).tell(message)


def confirmed(question: str) -> bool:
    """Return whether a person says yes to a question; an end of the input is a no."""
    shown = terminal(stderr=True)
    shown.print(question, "[y/N]: ", end="", soft_wrap=True)
    with suppress(EOFError, UnicodeDecodeError):
        return input().strip().lower() in ("y", "yes")
    return False


def reason(text: str) -> str:
    """Return a reason as people read it in a line."""
    return one_line(text, LONGEST_REASON)


class Drawn:
    """A table as a terminal shows it: in columns of whole words, or where these find no room, row by row.

    Parameters
    ----------
    table : Table
    framed : bool
        With a line below the headings, and headings of numbers in several lines.
    """

    def __init__(self, table: Table, *, framed: bool = True) -> None:
        self._table, self._framed = table, framed
        headings = [
            _in_lines(heading) if framed and side == "r" else heading
            for heading, side in zip(table.headings, table.sides, strict=True)
        ]
        lines = [[cell if isinstance(cell, Text) else styled(str(cell)) for cell in line] for line in table.rows]
        self._lines = [[*map(styled, headings)], *([*line, *[Text()] * (len(headings) - len(line))] for line in lines)]
        self._gaps = (len(headings) - 1) * (_GAP + framed)

    @property
    def width(self) -> int:
        """How wide it is with every cell in one line."""
        return sum(self._widths("\n")) + self._gaps

    def _widths(self, separator: str | None) -> list[int]:
        """Return how wide the columns are with cells that break at a separator; None: at all spaces."""
        return [
            max(cell_len(part) for cell in column for part in (cell.plain.split(separator) or [""]))
            for column in zip(*self._lines, strict=True)
        ]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Grid | Text]:
        """Yield what a terminal of a width shows."""
        if self._table.title:
            yield styled(self._table.title, "bold")
        widths, room = self._widths(None), options.max_width - self._gaps - sum(self._widths(None))
        if room < 0:
            yield from (self._paragraph(line, options.max_width) for line in self._lines[1:])
            return
        wishes = [widest - least for widest, least in zip(self._widths("\n"), widths, strict=True)]
        for count, index in enumerate(sorted(range(len(widths)), key=wishes.__getitem__)):
            more = min(wishes[index], room // (len(widths) - count))
            widths[index], room = widths[index] + more, room - more
        yield self._columns(widths)

    def _columns(self, widths: Sequence[int]) -> Grid:
        grid = Grid(box=box.SIMPLE_HEAD if self._framed else None, pad_edge=False, show_edge=False)
        grid.show_header = any(self._table.headings)
        for index, (heading, width) in enumerate(zip(self._lines[0], widths, strict=True)):
            style, side = "dim" if index in self._table.faint else "", self._table.sides[index]
            grid.add_column(heading, justify="right" if side == "r" else "left", width=width, style=style)
        for line in self._lines[1:]:
            grid.add_row(*line)
        return grid

    def _paragraph(self, line: Sequence[Text], width: int) -> Text:
        """Return a row in words: what it is of, then every other cell that is not empty after its heading."""
        first = max(1, self._table.sides.find("r"))
        name = " ".join(filter(None, (cell.plain for cell in line[:first])))
        rest = zip(self._table.headings[first:], line[first:], strict=True)
        words = "; ".join(f"{heading} {cell.plain}".strip() for heading, cell in rest if cell)
        text = f"{name}: {words}" if words else name
        paragraph = styled(textwrap.fill(text, width, subsequent_indent="  ", **_WHOLE_WORDS))
        paragraph.stylize(line[0].style or "bold", 0, len(name))
        return paragraph


def _in_lines(heading: str) -> str:
    """Return a column's title in short lines; its unit stays with the last word."""
    lines = textwrap.wrap(heading.replace(", ", ",\u00a0"), _HEADING_WIDTH, break_long_words=False)
    return "\n".join(lines).replace("\u00a0", " ")
