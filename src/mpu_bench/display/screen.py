"""The screen of an experiment under way: a line for each dataset and solver, and below how far all of it is.

It is never higher than the terminal: where there are too many lines, there is one for each solver, and at last one for
all solvers that find no room.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from rich.progress_bar import ProgressBar
from rich.table import Table

from mpu_bench.display.overall import Group, Overall, Tally
from mpu_bench.display.terminal import Terminal, styled
from mpu_bench.texts import duration

_LINES_BESIDES = 4  # the headings, two lines below, and the one of the cursor
_NARROW = 60  # letters, below which there are fewer columns
_BAR = 20  # letters of the bar


def screen(overall: Overall, console: Terminal) -> Table:
    """Return what a terminal shows of an experiment at this moment."""
    lines = _fitting(_tallies(overall), console.height - _LINES_BESIDES)
    shown = _lines()
    if lines:
        shown.add_row(_table(lines, console.width))
    shown.add_row(_how_far(overall, console.width))
    shown.add_row(_now(overall))
    return shown


def _tallies(overall: Overall) -> dict[Group, Tally]:
    tallies = {group: replace(tally) for group, tally in overall.tallies.items()}
    for each in [*overall.under_way.values()]:
        tallies[each.group].running += 1
    return tallies


def _fitting(tallies: Mapping[Group, Tally], room: int) -> dict[Group, Tally]:
    """Return as many lines as there is room for, by leaving out datasets first."""
    if len(tallies) <= room:
        return dict(tallies)
    lines: dict[Group, Tally] = {}
    for group, tally in tallies.items():
        lines.setdefault(Group("", group.solver), Tally()).add(tally)
    if room < 1:
        return {}
    if len(lines) <= room:
        return lines
    busiest = sorted(lines, key=lambda group: (not lines[group].running, lines[group].done == lines[group].total))
    kept, rest = busiest[: room - 1], Tally()
    for group in busiest[room - 1 :]:
        rest.add(lines[group])
    last = f"{len(lines) - len(kept)} more" if kept else "all solvers"
    return {group: lines[group] for group in kept} | {Group("", last): rest}


def _table(lines: Mapping[Group, Tally], width: int) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    has_datasets = len({group.dataset for group in lines}) > 1
    names = ["dataset", "solver"] if has_datasets else ["solver"]
    for heading in names:
        table.add_column(heading, no_wrap=True, overflow="ellipsis")
    numbers = (
        ["done", "failed"] if width < _NARROW else ["done", "running", "failed", "training seconds", "test error, %"]
    )
    for heading in numbers:
        table.add_column(heading, justify="right", no_wrap=True)
    for group, tally in lines.items():
        style = "bold" if tally.running else ""
        cells = [*group[2 - len(names) :], *(_cell(heading, tally) for heading in numbers)]
        table.add_row(*(styled(cell, style) for cell in cells))
    return table


def _cell(heading: str, tally: Tally) -> str:
    match heading:
        case "done":
            return f"{tally.done}/{tally.total}"
        case "running":
            return str(tally.running or "")
        case "failed":
            return str(len(tally.records) - tally.done or "")
        case "training seconds":
            return "" if (seconds := tally.mean("train_seconds")) is None else f"{seconds:.3g}"
        case _:
            return "" if (error := tally.mean("test_error")) is None else f"{100 * error:.2f}"


def _how_far(overall: Overall, width: int) -> Table:
    share = overall.share()
    words = [f"{100 * share:.0f} %", f"{overall.ended} of {overall.total} runs"]
    words += [f"{overall.failed} failed"] if overall.failed else []
    if (seconds := overall.seconds_left()) is not None:
        words.append(f"about {duration(seconds)} left")
    has_bar = width >= _NARROW
    line = _lines(_BAR if has_bar else None)
    line.add_row(*([ProgressBar(total=1.0, completed=share)] if has_bar else []), ", ".join(words))
    return line


def _now(overall: Overall) -> str:
    now = [f"{name}: {each.words}" for name, each in [*overall.under_way.items()]]
    more = [f"and {len(now) - 1} more"] if len(now) > 1 else []
    return ", ".join([*now[:1], *more])


def _lines(bar: int | None = None) -> Table:
    """Return an empty stack of lines that end at the edge of the screen, after a bar if it has a width."""
    lines = Table.grid(padding=(0, 1))
    if bar is not None:
        lines.add_column(width=bar)
    lines.add_column(no_wrap=True, overflow="ellipsis")
    return lines
