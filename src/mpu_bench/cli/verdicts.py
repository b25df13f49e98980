"""The verdicts of several results folders, for people and for scripts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

from mpu_bench.errors import StoreError
from mpu_bench.results import summary
from mpu_bench.results.store import FILE, Store
from mpu_bench.verdict.comparison import KNOWN, NOT_RUN, OUTSIDE, VERDICTS, Cell, counts

Judged = Mapping[str, Sequence[Cell]]  #: experiment -> its cells

_STYLES = {"better": "green", "within": "green", "differs-known": "yellow", "outside": "bold red", "not run": "dim"}


def folders(below: Path) -> list[Path]:
    """Find the results folders below a folder.

    Raises
    ------
    StoreError
        If there is none.
    """
    found = sorted(path.parent for path in below.glob(f"*/{FILE}"))
    if not found:
        raise StoreError(f"{below}: holds no results; run a config first: mpu-bench run CONFIG")
    return found


def of_folders(results: Sequence[Path]) -> dict[str, list[Cell]]:
    """Judge each results folder by what its config says.

    Raises
    ------
    StoreError
        If a folder holds no results, or those of another version.
    """
    judged = {}
    for folder in results:
        with Store(folder) as store:
            judged[store.fact("name") or folder.name] = summary.judge(store)
    return judged


def any_outside(judged: Judged) -> bool:
    """Tell whether any cell is outside."""
    return any(cell.verdict == OUTSIDE for cells in judged.values() for cell in cells)


def print_cells(judged: Judged, everything: bool, console: Console, counted: bool = True) -> None:
    """Print the cells that are outside or known to differ, or all, and a line of counts per experiment."""
    for experiment, cells in judged.items():
        told = [cell for cell in cells if everything or cell.verdict in (OUTSIDE, KNOWN)]
        if told:
            console.print(_table(experiment, told))
    for experiment, cells in judged.items() if counted else ():
        console.print(f"{experiment}: {summarize_verdicts(cells)}", markup=False, highlight=False)


def summarize_verdicts(cells: Sequence[Cell]) -> str:
    """Count the verdicts in words."""
    found = counts(cells)
    if not cells:
        return "its config compares nothing"
    return ", ".join(f"{found[verdict]} {verdict}" for verdict in VERDICTS if found[verdict])


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


def solver_text(cell: Cell) -> str:
    """Name a cell's solver, with what tells it apart."""
    parameters = json.loads(cell.parameters) if cell.parameters else {}
    words = [str(parameters[name]) for name in ("maintenance",) if name in parameters]
    return " ".join([cell.solver, *words, *([f"B={cell.budget}"] if cell.budget else [])])


def _short(number: float | None) -> str:
    return "" if number is None else f"{number:.5g}"
