"""What is seen of a selection: the table as it grows, the time that is left, and what was chosen at last."""

from __future__ import annotations

import math
from types import TracebackType
from typing import TYPE_CHECKING

from rich.filesize import decimal
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table as Grid

from mpu_bench.display.terminal import Drawn, Terminal, styled
from mpu_bench.models.evaluation import METRICS
from mpu_bench.report.tables import Table

if TYPE_CHECKING:
    from mpu_bench.models.export.footprint import Footprint
    from mpu_bench.selection.outcome import Outcome, Row
    from mpu_bench.selection.session import Session
    from mpu_bench.selection.target import Target

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
                if each.metrics and each.name not in self._told:
                    self._told.add(each.name)
                    self._console.tell(f"{each.name}: {_scored(outcome, each)}, {decimal(each.size or 0)}")

    def _shown(self) -> Grid:
        session = self._session
        total, left = session.seconds + session.preparing, max(session.seconds_left, 0.0)
        bar = ProgressBar(total=total, completed=min(session.seconds_spent, total), width=_WIDTH)
        told = styled(f"at most {left:.0f} s left; Ctrl-C ends it with what is known")
        shown = Grid.grid()
        for each in (table(self._outcome), bar, told):
            shown.add_row(each)
        return shown


def table(outcome: Outcome) -> Drawn:
    """Return the candidates, the best on the test set first; while that is not known, on the validation set."""
    words = METRICS[outcome.metric]
    headings = ["classifier", *_measured(outcome, f"{words}, %", "error, %"), f"validation {words}, %", "rows",
                "training s", "prediction", "support vectors", "bytes", *_on_device(outcome), "settings",
                ""]  # fmt: skip
    best_first = sorted(outcome.rows, key=lambda each: (-outcome.score(each), _or_infinite(each.choosing_error)))
    rows = [
        [styled(cell, "bold" if row is outcome.chosen else "") for cell in _cells(outcome, row)] for row in best_first
    ]
    sides = "".join("l" if heading in ("classifier", "settings", "") else "r" for heading in headings)
    return Drawn(Table(headings, rows, sides), framed=False)


def _measured(outcome: Outcome, score: str, error: str) -> list[str]:
    """Return both, or the error alone where accuracy chooses."""
    return [error] if outcome.metric == "accuracy" else [score, error]


def _on_device(outcome: Outcome) -> list[str]:
    return [] if outcome.target is None else ["flash", "RAM", "instructions"]


def _or_infinite(number: float | None) -> float:
    return math.inf if number is None else number


def _cells(outcome: Outcome, row: Row) -> list[str]:
    reason = row.reason if len(row.reason) <= _LONGEST_REASON else f"{row.reason[:_LONGEST_REASON]}..."
    return [
        row.name,
        *_measured(outcome, _score(outcome, row), _error(row)),
        "" if row.choosing_error is None else f"{100 * (1 - row.choosing_error):.2f}",
        f"{row.rows:,}" if row.rows else "",
        "" if row.seconds is None else f"{row.seconds:.3g}",
        "" if row.seconds_per_prediction is None else f"{1e6 * row.seconds_per_prediction:.3g} µs",
        f"{row.vectors:,}" if row.vectors else "",
        "" if row.size is None else decimal(row.size),
        *(f"{getattr(row.footprint, each.lower(), ''):,}" if row.footprint else "" for each in _on_device(outcome)),
        row.settings,
        reason,
    ]


def _score(outcome: Outcome, row: Row) -> str:
    score = outcome.score(row)
    return "" if math.isinf(score) else f"{100 * score:.2f} ± {100 * row.spread:.2f}"


def _error(row: Row) -> str:
    return "" if row.error is None else f"{100 * row.error:.2f} ± {100 * (row.standard_error or 0.0):.2f}"


def _scored(outcome: Outcome, row: Row) -> str:
    """Return what a candidate comes to on the test set, in words."""
    other = "" if outcome.metric == "accuracy" else f"{METRICS[outcome.metric]} {_score(outcome, row)} %, "
    return f"{other}error {_error(row)} %"


def print_outcome(outcome: Outcome, name: str, console: Terminal) -> None:
    """Print the table and what was chosen, in words."""
    console.print(table(outcome))
    for line in sentences(outcome, name):
        console.tell(line)


def _nothing_chosen(outcome: Outcome, name: str) -> list[str]:
    told = f"{name}: nothing was chosen, and no model is saved:"
    known = [each for each in outcome.rows if each.choosing_error is not None]
    if (refused := outcome.refused) is not None:
        words = METRICS[outcome.metric]
        others = ", ".join(f"--metric {each}" for each in METRICS if each != outcome.metric)
        best = (
            f"{told} the best, {refused.name}, is not better than a constant beyond chance: {words} "
            f"{_score(outcome, refused)} % on {refused.tested:,} test rows, where always the same answer has "
            f"{100 * refused.constant:.2f} %"
        )
        advice = (
            "the columns may not tell the classes apart: give more rows or other columns, check which column is the "
            f"label (--label), give more --seconds, or choose by another metric ({others})"
        )
        return [best, advice]
    if not known:
        return [f"{told} there was no time to train; give it more --seconds"]
    if outcome.known and outcome.target is not None:
        return [_too_large(outcome, outcome.target, told)]
    if outcome.known:
        return [f"{told} no model of this project is so small; give a larger --memory"]
    ahead = min(known, key=lambda each: _or_infinite(each.choosing_error))
    score = f"{METRICS[outcome.metric]} {100 * (1 - _or_infinite(ahead.choosing_error)):.2f} %"
    return [f"{told} the test set was not reached; so far {ahead.name} is the best on the validation set, {score}"]


def _fitting(found: Footprint, target: Target) -> str:
    """Return what the choice takes of its device, and how that is known."""
    known = (
        f"all of this is an estimate from a table of measured models ({found.estimated})"
        if found.estimated
        else f"compiled, and run in qemu: {found.rows - found.differ} of {found.rows} labels agree"
    )
    return (
        f"it fits {target.words}: {found.flash:,} and {found.ram:,} bytes, {found.instructions:,} instructions a "
        f"prediction, {found.duration(target.device)}; {known}"
    )


def _too_large(outcome: Outcome, target: Target, told: str) -> str:
    told = f"{told} none fits {target.words}"
    known = [(each.footprint.flash, each.footprint.ram, each.name) for each in outcome.rows if each.footprint]
    if known:
        flash, ram, name = min(known)
        told += f": the smallest, {name}, takes {flash:,} bytes of flash and {ram:,} of RAM"
    return f"{told}; give a smaller --budget or fewer columns, or a larger device (--flash, --ram)"


def sentences(outcome: Outcome, name: str) -> list[str]:
    """Return what a selection comes to, in words."""
    chosen, words = outcome.chosen, METRICS[outcome.metric]
    if chosen is None or chosen.size is None:
        return _nothing_chosen(outcome, name)
    is_whole = chosen.rows == outcome.all_rows
    rows = f"all {chosen.rows:,} rows" if is_whole else f"{chosen.rows:,} of {outcome.all_rows:,} rows"
    choice = (
        f"{name}: take {chosen.name} ({chosen.settings}): {_scored(outcome, chosen)} on {chosen.tested:,} test rows, "
        f"where always the same answer has {words} {100 * chosen.constant:.2f} %; {decimal(chosen.size)}, trained on "
        f"{rows} in {chosen.seconds:.3g} s; its validation {words} is the best of this project's classifiers"
    )
    told = [choice]
    if outcome.target is not None and chosen.footprint is not None:
        told.append(_fitting(chosen.footprint, outcome.target))
    if not is_whole:
        told.append(f"{chosen.name} was not trained on all rows: {outcome.note or 'you ended it before'}")
    test = "McNemar" if outcome.metric == "accuracy" else "paired by class"
    told += [
        f"{each.name} is better on the test set, beyond chance ({test}, p = {p:.2g})"
        for each, p in outcome.significantly_better()
    ]
    smaller = [each for each in outcome.front if each.size and 2 * each.size < chosen.size]
    if smaller:
        best = smaller[-1]
        assert best.size is not None
        told.append(
            f"{best.name} is {chosen.size / best.size:,.0f} times smaller ({decimal(best.size)}) with "
            f"{_scored(outcome, best)}"
        )
    return told
