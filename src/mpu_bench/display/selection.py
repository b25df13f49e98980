"""What is seen of a selection while it goes on: the table as it grows, and the time that is left."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING

from rich.filesize import decimal
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table as Grid

from mpu_bench.display.terminal import Drawn, Terminal, styled
from mpu_bench.report import choice
from mpu_bench.report.tables import Table

if TYPE_CHECKING:
    from mpu_bench.selection.outcome import Outcome
    from mpu_bench.selection.session import Session

_LINES_A_SECOND = 4
_WIDTH = 40  # of the bar


class Display:
    """Shows a selection while it goes on: on a terminal the table and a bar, else a line for each new best model."""

    def __init__(self, console: Terminal, session: Session) -> None:
        self._console, self._session = console, session
        self._live: Live | None = None
        self._outcome = session.outcome
        self._announced: set[str] = set()

    def __enter__(self) -> Display:
        if self._console.is_terminal:
            self._live = Live(
                console=self._console, get_renderable=self._shown, refresh_per_second=_LINES_A_SECOND, transient=True
            )
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def show(self, outcome: Outcome) -> None:
        """Take note of something new."""
        self._outcome = outcome
        if self._live is None:
            for row in outcome.rows:
                if row.metrics and row.name not in self._announced:
                    self._announced.add(row.name)
                    self._console.tell(f"{row.name}: {choice.scored(outcome, row)}, {decimal(row.size or 0)}")

    def _shown(self) -> Grid:
        session = self._session
        total, left = session.seconds + session.preparing, max(session.seconds_left, 0.0)
        bar = ProgressBar(total=total, completed=min(session.seconds_spent, total), width=_WIDTH)
        remaining = styled(f"at most {left:.0f} s left; Ctrl-C ends it with what is known")
        shown = Grid.grid()
        for part in (shown_table(self._outcome), bar, remaining):
            shown.add_row(part)
        return shown


def shown_table(outcome: Outcome) -> Drawn:
    """Return the table for the terminal, the choice in bold."""
    shaped = choice.table(outcome)
    styles = ["bold" if row is outcome.chosen else "" for row in choice.best_first(outcome)]
    rows = [[styled(cell, style) for cell in row] for row, style in zip(shaped.rows, styles, strict=True)]
    return Drawn(Table(shaped.headings, rows, shaped.sides), framed=False)
