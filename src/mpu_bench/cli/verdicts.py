"""Verdicts, overviews and differences in the terminal."""

from __future__ import annotations

import os
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mpu_bench.cli.options import console, write
from mpu_bench.display.terminal import Drawn, Terminal, reason, styled
from mpu_bench.errors import StoreError
from mpu_bench.files import as_store_error, is_folder
from mpu_bench.quantities import format_number
from mpu_bench.report import checked, overview
from mpu_bench.report.overview import SENTENCES, PaperTable, besides, by_paper, overview_rows
from mpu_bench.report.tables import Table
from mpu_bench.results.folder import results_folders
from mpu_bench.texts import command, counted
from mpu_bench.verdict import cells
from mpu_bench.verdict.baseline import Check
from mpu_bench.verdict.baseline import check as check_folder
from mpu_bench.verdict.cells import (
    Cell,
    do_not_come_out,
    remark_text,
    solver_text,
    verdict_text,
)
from mpu_bench.verdict.regression import Difference, Results, same_machine
from mpu_bench.verdict.verdict import Finding, Verdict

_BASELINE = Path("results/baseline")
_NAMES = {SENTENCES: "claims", "all": ""}  # of the tables of papers
_TO_THE_RIGHT = ("reported", "measured", "allowed")  # columns


def check(results: Sequence[Path], baseline: Path | None, *, strict: bool, everything: bool, form: str) -> bool:
    """Print what `mpu-bench check` reports, and return whether nothing has changed; the parameters are the options."""
    if baseline is not None and not is_folder(baseline):
        raise StoreError(f"--baseline {baseline}: no such folder")
    against = baseline or (_BASELINE if _BASELINE.is_dir() else None)
    checks = [check_folder(folder, against) for folder in results or results_folders(Path("results"))]
    if form == "table":
        _print(checks, bool(results) or everything, everything, console())
    elif form == "github":
        write(checked.github_text(checks, strict))
        _summarize(checked.markdown_summary(checks, strict))
    else:
        write((checked.json_text(checks) if form == "json" else checked.junit_text(checks, strict)) + "\n")
    return not any(result.has_changed or (strict and result.differs) for result in checks)


def _summarize(text: str) -> None:
    """Append Markdown to the summary of a job of GitHub's, which it names a file for; elsewhere print it."""
    if name := os.environ.get("GITHUB_STEP_SUMMARY"):
        with as_store_error(path := Path(name)), path.open("a", encoding="utf-8") as file:
            file.write(text)
    else:
        write(text)


def _print(checks: Sequence[Check], listed: bool, everything: bool, terminal: Terminal) -> None:
    if len(checks) == 1:
        (check,) = checks
        print_cells(check.name, check.cells, everything, terminal)
        terminal.tell(f"{check.name}: {cells.summarize_verdicts(check.cells)}")
    else:
        names = {check.name for check in checks}
        whole = [check for check in checks if check.config == check.name or check.config not in names]
        print_overview(overview.by_table(whole), terminal, listed, everything)
        if not listed:
            terminal.tell(
                f"details of an experiment: {command('check', checks[0].folder)}; of all: mpu-bench check --all"
            )
    print_changes(checks, terminal)


def print_cells(name: str, cells: Sequence[Cell], everything: bool, console: Terminal) -> None:
    """Print the cells of a table, or experiment, that speak against a paper; or all but those of other datasets."""
    chosen = [cell for cell in cells if not cell.is_elsewhere] if everything else do_not_come_out(cells)
    if chosen:
        console.print(Drawn(_table(name, chosen)))


def _table(title: str, cells: Sequence[Cell]) -> Table:
    """Return a table of cells, without the columns that are empty for all."""
    columns: dict[str, list[Any]] = {
        "verdict": [styled(verdict_text(cell), cell.verdict.finding.terminal) for cell in cells],
        "kind": [cell.kind for cell in cells],
        "dataset": [cell.dataset for cell in cells],
        "solver": [solver_text(cell) for cell in cells],
        "what": [cell.what for cell in cells],
        "reported": [format_number(cell.published) for cell in cells],
        "measured": [format_number(cell.measured) for cell in cells],
        "allowed": ["" if cell.allowed is None else f"±{cell.allowed:.3g}" for cell in cells],
        "remark": [reason(remark_text(cell)) for cell in cells],
    }
    shown = {heading: texts for heading, texts in columns.items() if any(map(str, texts))}
    sides = "".join("r" if heading in _TO_THE_RIGHT else "l" for heading in shown)
    return Table(list(shown), list(zip(*shown.values(), strict=True)), sides, title)


def print_overview(
    tables: Sequence[PaperTable], console: Terminal, listed: bool = True, everything: bool = False
) -> None:
    """Print how many verdicts there are of each kind, after the cells that speak against a paper, or all."""
    for table in tables if listed else ():
        print_cells(table.file, table.cells, everything, console)
    rows = [*overview_rows(tables), *by_paper(tables)[-1:]]
    present = [verdict for verdict in Verdict if any(row[verdict] for row in rows)]
    headings = ["paper", "table", *(verdict.word for verdict in present)]
    lines = [
        [
            row["paper"],
            _NAMES.get(row["table"], row["table"]),
            *(styled(str(row[verdict] or ""), verdict.finding.terminal) for verdict in present),
        ]
        for row in rows
    ]
    console.print(Drawn(Table(headings, lines, "ll" + "r" * len(present))))
    if text := besides(tables):
        console.tell(text)


def print_differences(left: Results, right: Results, differences: Sequence[Difference], console: Terminal) -> None:
    """Print the runs that differ, and a line on seconds."""
    faulty = [difference for difference in differences if difference.mismatches]
    if faulty:
        rows = [
            (
                difference.name,
                reason("; ".join(change.words("first", "second") for change in difference.mismatches)),
                "" if difference.ratio is None else f"{difference.ratio:.2f}",
            )
            for difference in faulty
        ]
        console.print(Drawn(Table(("run", "differs in", "ratio of seconds"), rows, "lll")))
    words = (
        "same processor features and library versions: counts and errors of equal runs must be equal"
        if same_machine(left, right)
        else "processors or library versions differ, or are not recorded: counts may differ by rounding"
    )
    console.tell(f"{left.folder} and {right.folder}: {words}")
    ratios = [difference.ratio for difference in differences if difference.ratio is not None]
    median = (
        f"; undisturbed runs take {statistics.median(ratios):.2f} times the second's seconds (median)" if ratios else ""
    )
    console.tell(f"{counted(len(differences), 'run')} in both, {len(faulty)} differ{median}")
    if others := sum(not difference.is_same_run for difference in differences):
        console.tell(f"{others} of them differ in settings such as stop:, in the data, or in the version of the solver")


def print_changes(checks: Sequence[Check], console: Terminal) -> None:
    """Print the runs, verdicts and seconds that have changed from the baseline, and a summary."""
    rows = [
        (name, what, styled(reason(words), (Finding.AGAINST if is_fault else Finding.NOTHING).terminal))
        for result in checks
        for name, what, words, is_fault in checked.lines(result)
    ]
    if rows:
        console.print(Drawn(Table(("experiment", "what", "change"), rows, "lll")))
    for line in checked.summaries(checks):
        console.tell(line)
