"""The one way to print: whatever is printed is words, never markup and nothing that a terminal obeys."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.table import Table as Drawn
from rich.text import Text

from mpu_bench.texts import one_line, plain

if TYPE_CHECKING:
    from mpu_bench.report.tables import Table

LONGEST_REASON = 1000  #: bytes of a reason in a line for people; runs.csv has the whole
_COLUMNS_OF_A_FILE = 200
_UNBOUNDED = sys.maxsize
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
            text = "\n".join(
                textwrap.fill(line, self.width, break_long_words=False, break_on_hyphens=False)
                for line in text.split("\n")
            )
        self.print(text, style=style, soft_wrap=True)


def terminal(*, stderr: bool = False) -> Terminal:
    """Return a console for a terminal, or for a file or a pipe, which has no edge to wrap at."""
    made = Terminal(stderr=stderr)
    if not made.is_terminal:
        made.width = _COLUMNS_OF_A_FILE
    return made


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


def drawn(table: Table, *, framed: bool = True) -> Drawn:
    """Return a table as a terminal shows it; with a line below its headings, if it is framed."""
    made = Drawn(title=table.title or None, box=box.SIMPLE_HEAD if framed else None, pad_edge=False, show_edge=False)
    made.title_justify, made.title_style = "left", "bold"
    for index, (heading, side) in enumerate(zip(table.headings, table.sides, strict=True)):
        style = "dim" if index in table.faint else ""
        if side == "r":
            made.add_column(_in_lines(heading) if framed else heading, justify="right", overflow="fold", style=style)
        else:
            made.add_column(heading, overflow="fold", style=style)
    for row in table.rows:
        made.add_row(*row)
    return made


def _in_lines(heading: str) -> str:
    """Return a column's title in short lines; its unit stays with the last word."""
    lines = textwrap.wrap(heading.replace(", ", ",\u00a0"), _HEADING_WIDTH, break_long_words=False)
    return "\n".join(lines).replace("\u00a0", " ")
