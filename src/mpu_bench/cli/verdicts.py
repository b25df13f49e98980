"""The verdicts and the overview in the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table

from mpu_bench.report.overview import PaperTable, overview_rows
from mpu_bench.verdict.comparison import KNOWN, NOT_RUN, OUTSIDE, VERDICTS, Cell
from mpu_bench.verdict.folders import Judged, solver_text, summarize_verdicts

_STYLES = {"better": "green", "within": "green", "differs-known": "yellow", "outside": "bold red", "not run": "dim"}


def print_cells(judged: Judged, everything: bool, console: Console, counted: bool = True) -> None:
    """Print the cells that are outside or known to differ, or all, and a line of counts per experiment."""
    for experiment, cells in judged.items():
        told = [cell for cell in cells if everything or cell.verdict in (OUTSIDE, KNOWN)]
        if told:
            console.print(_table(experiment, told))
    for experiment, cells in judged.items() if counted else ():
        console.print(f"{experiment}: {summarize_verdicts(cells)}", markup=False, highlight=False)


def _table(title: str, cells: Sequence[Cell]) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("verdict", "dataset", "solver", "what"):
        table.add_column(heading, overflow="fold")
    for heading in ("published", "measured"):
        table.add_column(heading, justify="right")
    for heading in ("allowed", "reason"):
        table.add_column(heading, overflow="fold")
    for cell in cells:
        table.add_row(
            f"[{_STYLES[cell.verdict]}]{cell.verdict}[/]", cell.dataset, solver_text(cell), cell.column,
            _short(cell.published), _short(cell.measured), cell.tolerance,
            cell.reason if cell.verdict != NOT_RUN else f"[dim]{cell.reason}[/]",
        )  # fmt: skip
    return table


def _short(number: float | None) -> str:
    return "" if number is None else f"{number:.5g}"


def print_overview(found: Sequence[PaperTable], console: Console) -> None:
    """Print the overview, after the cells that are outside or known to differ."""
    print_cells({each.file: each.cells for each in found}, everything=False, console=console, counted=False)
    table = Table("paper", "table", box=box.SIMPLE_HEAD, pad_edge=False)
    for verdict in VERDICTS:
        table.add_column(verdict, justify="right")
    for row in overview_rows(found):
        numbers = [str(row[verdict] or "") for verdict in VERDICTS]
        numbers = [
            f"[bold red]{number}[/]" if number and verdict == OUTSIDE
            else f"[yellow]{number}[/]" if number and verdict == KNOWN else number
            for verdict, number in zip(VERDICTS, numbers, strict=True)
        ]  # fmt: skip
        table.add_row(row["paper"], row["table"], *numbers)
    console.print(table)
