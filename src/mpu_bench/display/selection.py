"""What is seen of a selection: the table as it grows, the time that is left, and what was chosen at last."""

from __future__ import annotations

import math
import time
from types import TracebackType
from typing import TYPE_CHECKING

from rich.filesize import decimal
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table

from mpu_bench.display.terminal import Terminal, styled

if TYPE_CHECKING:
    from mpu_bench.selection.outcome import Outcome, Row
    from mpu_bench.selection.session import Session

_LINES_A_SECOND = 4
_WIDTH = 40  # of the bar
_LONGEST_REASON = 60


class Display:
    """Shows a selection while it goes on: on a terminal the table and a bar, else a line for each new best model."""

    def __init__(self, console: Terminal, session: Session) -> None:
        self._console, self._session = console, session
        self._live: Live | None = None
        self._outcome = session.outcome
        self._told: set[str] = set()

    def __enter__(self) -> Display:
        if self._console.is_terminal:
            self._live = Live(
                console=self._console, get_renderable=self._shown, refresh_per_second=_LINES_A_SECOND, transient=True
            )
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def show(self, outcome: Outcome) -> None:
        """Take note of something new."""
        self._outcome = outcome
        if self._live is None:
            for each in outcome.rows:
                if each.error is not None and each.name not in self._told:
                    self._told.add(each.name)
                    kind = "balanced error" if outcome.is_rare else "error"
                    self._console.tell(f"{each.name}: {kind} {_error(outcome, each)} %, {decimal(each.size or 0)}")

    def _shown(self) -> Table:
        session = self._session
        total, left = session.seconds + session.compiled, max(session.seconds_left, 0.0)
        bar = ProgressBar(total=total, completed=min(time.monotonic() - session.began, total), width=_WIDTH)
        told = styled(f"at most {left:.0f} s left; Ctrl-C ends it with what is known")
        shown = Table.grid()
        for each in (table(self._outcome), bar, told):
            shown.add_row(each)
        return shown


def table(outcome: Outcome) -> Table:
    """Return the candidates, the best first; while errors on test rows are not known, by those on held-out rows."""
    error = "balanced error, %" if outcome.is_rare else "error, %"
    made = Table(box=None, pad_edge=False)
    for place, heading in enumerate(
        ("learner", error, "held out", "rows", "training s", "prediction", "vectors", "bytes", "settings", "")
    ):
        made.add_column(heading, justify="left" if place in (0, 8, 9) else "right", overflow="fold")
    for row in sorted(outcome.rows, key=lambda each: (outcome.shown_error(each), _or_infinite(each.choosing_error))):
        style = "bold" if row is outcome.chosen else ""
        made.add_row(*(styled(cell, style) for cell in _cells(outcome, row)))
    return made


def _or_infinite(number: float | None) -> float:
    return math.inf if number is None else number


def _cells(outcome: Outcome, row: Row) -> list[str]:
    reason = row.reason if len(row.reason) <= _LONGEST_REASON else f"{row.reason[:_LONGEST_REASON]}..."
    return [
        row.name,
        _error(outcome, row),
        "" if row.choosing_error is None else f"{100 * row.choosing_error:.2f}",
        f"{row.rows:,}" if row.rows else "",
        "" if row.seconds is None else f"{row.seconds:.3g}",
        "" if row.seconds_per_prediction is None else f"{1e6 * row.seconds_per_prediction:.3g} µs",
        f"{row.vectors:,}" if row.vectors else "",
        "" if row.size is None else decimal(row.size),
        row.settings,
        reason,
    ]


def _error(outcome: Outcome, row: Row) -> str:
    error = outcome.shown_error(row)
    if math.isinf(error):
        return ""
    spread = "" if outcome.is_rare or row.standard_error is None else f" ± {100 * row.standard_error:.2f}"
    return f"{100 * error:.2f}{spread}"


def print_outcome(outcome: Outcome, name: str, console: Terminal) -> None:
    """Print the table and what was chosen, in words."""
    console.print(table(outcome))
    for line in sentences(outcome, name):
        console.tell(line)


def _nothing_chosen(outcome: Outcome, name: str) -> str:
    told = f"{name}: nothing was chosen:"
    known = [each for each in outcome.rows if each.choosing_error is not None]
    if not known:
        return f"{told} there was no time to train; give it more --seconds"
    if outcome.known:
        return f"{told} no model of this project is so small; give a larger --memory"
    ahead = min(known, key=lambda each: _or_infinite(each.choosing_error))
    error = f"{100 * _or_infinite(ahead.choosing_error):.2f} %"
    return f"{told} the test rows were not reached; so far {ahead.name} had the least on the rows held out, {error}"


def sentences(outcome: Outcome, name: str) -> list[str]:
    """Return what a selection comes to, in words."""
    chosen = outcome.chosen
    if chosen is None or chosen.error is None or chosen.size is None:
        return [_nothing_chosen(outcome, name)]
    kind = "balanced error" if outcome.is_rare else "error"
    every = " all" if chosen.rows == outcome.all_rows else ""
    choice = (
        f"{name}: take {chosen.name} ({chosen.settings}): {kind} {_error(outcome, chosen)} % on {chosen.tested:,} rows "
        f"that no choice has seen, {decimal(chosen.size)}, trained on{every} {chosen.rows:,} rows in "
        f"{chosen.seconds:.3g} s; it had the least {kind} of this project's learners on the rows held out"
    )
    told = [choice]
    constant, spread = outcome.constant_error, 2 * (chosen.standard_error or 0.0)
    if outcome.shown_error(chosen) > constant - spread:
        told.append(f"that is not clearly less than {100 * constant:.2f} %, the {kind} of always giving one answer")
    test = "paired by class" if outcome.is_rare else "McNemar"
    told += [
        f"{each.name} is better on the test rows, beyond chance ({test}, p = {p:.2g})"
        for each, p in outcome.significantly_better()
    ]
    smaller = [each for each in outcome.front if each.size and 2 * each.size < chosen.size]
    if smaller:
        best = smaller[-1]
        assert best.size is not None
        told.append(
            f"{best.name} is {chosen.size / best.size:,.0f} times smaller ({decimal(best.size)}) with "
            f"{_error(outcome, best)} %"
        )
    return told
