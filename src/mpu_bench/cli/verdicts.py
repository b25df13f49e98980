"""Verdicts, overviews and differences in the terminal."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from rich import box
from rich.table import Table

from mpu_bench.display.terminal import Terminal, reason, styled
from mpu_bench.quantities import format_number
from mpu_bench.report import checked
from mpu_bench.report.overview import PaperTable, besides, by_paper, overview_rows
from mpu_bench.verdict import judge
from mpu_bench.verdict.baseline import Check
from mpu_bench.verdict.cells import VERDICTS, Cell
from mpu_bench.verdict.folders import (
    do_not_come_out,
    remark_text,
    solver_text,
    verdict_text,
)
from mpu_bench.verdict.regression import Difference, Results, same_machine

_STYLES = {
    **dict.fromkeys((judge.AGREES, judge.HOLDS), "green"),
    **dict.fromkeys((judge.SAME_ORDER, judge.SO_FAR, judge.UNDECIDED, judge.UNINFORMATIVE), "yellow"),
    **dict.fromkeys((judge.DIFFERS, judge.REFUTED), "bold red"),
    **dict.fromkeys((judge.NOT_JUDGED, judge.NOT_RUN), "dim"),
}
_TO_THE_RIGHT = ("published", "measured", "allowed")  # columns


def print_cells(name: str, cells: Sequence[Cell], everything: bool, console: Terminal) -> None:
    """Print the cells of a table, or an experiment, that differ or are refuted; or all but those of other datasets."""
    chosen = [cell for cell in cells if not cell.is_elsewhere] if everything else do_not_come_out(cells)
    if chosen:
        console.print(_table(name, chosen))


def _table(title: str, cells: Sequence[Cell]) -> Table:
    """Return a table of cells, without the columns that are empty for all."""
    columns: dict[str, list[Any]] = {
        "verdict": [styled(verdict_text(cell), _STYLES[cell.verdict]) for cell in cells],
        "kind": [cell.kind for cell in cells],
        "dataset": [cell.dataset for cell in cells],
        "solver": [solver_text(cell) for cell in cells],
        "what": [cell.what for cell in cells],
        "published": [format_number(cell.published) for cell in cells],
        "measured": [format_number(cell.measured) for cell in cells],
        "allowed": ["" if cell.allowed is None else f"±{cell.allowed:.3g}" for cell in cells],
        "remark": [reason(remark_text(cell)) for cell in cells],
    }
    shown = {heading: texts for heading, texts in columns.items() if any(map(str, texts))}
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in shown:
        table.add_column(
            heading,
            justify="right" if heading in _TO_THE_RIGHT else "left",
            overflow="ellipsis" if heading in _TO_THE_RIGHT else "fold",
        )
    for row in zip(*shown.values(), strict=True):
        table.add_row(*row)
    return table


def print_overview(
    tables: Sequence[PaperTable], console: Terminal, listed: bool = True, everything: bool = False
) -> None:
    """Print how many verdicts there are of each kind, after the cells that differ or are refuted, or all."""
    for each in tables if listed else ():
        print_cells(each.file, each.cells, everything, console)
    rows = [*overview_rows(tables), *by_paper(tables)]
    present = [verdict for verdict in VERDICTS if any(row[verdict] for row in rows)]
    printed = Table("paper", "table", box=box.SIMPLE_HEAD, pad_edge=False)
    for verdict in present:
        printed.add_column(verdict, justify="right")
    for row in rows:
        printed.add_row(row["paper"], row["table"], *(styled(str(row[each] or ""), _STYLES[each]) for each in present))
    console.print(printed)
    if text := besides(tables):
        console.print(text)


def print_differences(left: Results, right: Results, differences: Sequence[Difference], console: Terminal) -> None:
    """Print the runs that differ, and a line on seconds."""
    faulty = [each for each in differences if each.faults]
    if faulty:
        table = Table("run", "differs in", "ratio of seconds", box=box.SIMPLE_HEAD, pad_edge=False)
        for each in faulty:
            words = "; ".join(fault.words("first", "second") for fault in each.faults)
            table.add_row(each.name, reason(words), "" if each.ratio is None else f"{each.ratio:.2f}")
        console.print(table)
    words = (
        "the same instructions and the same versions of libraries: counts and errors of equal runs must be equal"
        if same_machine(left, right)
        else "other instructions or libraries, or not recorded which: counts may differ as far as rounding moves them"
    )
    console.tell(f"{left.folder} and {right.folder}: {words}")
    ratios = [each.ratio for each in differences if each.ratio is not None]
    median = f"; undisturbed seconds are {statistics.median(ratios):.2f} times the second's (median)" if ratios else ""
    console.print(f"{len(differences)} runs in both, {len(faulty)} differ{median}")
    if others := sum(not each.is_same_run for each in differences):
        console.print(
            f"of {others} the settings, such as stop:, the data or the version of the solver are not the same"
        )


def print_changes(checks: Sequence[Check], console: Terminal) -> None:
    """Print what is not as the baseline keeps it: runs, verdicts, seconds; and a line for each experiment."""
    table = Table("experiment", "what", "change", box=box.SIMPLE_HEAD, pad_edge=False)
    for name, what, words, is_fault in (line for each in checks for line in checked.lines(each)):
        table.add_row(name, what, styled(reason(words), _STYLES[judge.DIFFERS] if is_fault else "dim"))
    if table.row_count:
        console.print(table)
    for line in checked.summaries(checks):
        console.tell(line)
