"""The papers' tables as they came out: files for each, and one overview of the verdicts by paper and table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mpu_bench.config.schema import PAPERS
from mpu_bench.errors import StoreError
from mpu_bench.files import csv_text, write_text
from mpu_bench.quantities import format_number
from mpu_bench.report import export
from mpu_bench.results.folder import open_results
from mpu_bench.verdict import comparison
from mpu_bench.verdict.comparison import NOT_PART_OF_RUN, NOT_RUN, OUTSIDE, VERDICTS, Cell
from mpu_bench.verdict.folders import solver_text

OVERVIEW = ("overview.md", "overview.csv")
_HEADINGS = ("dataset", "solver", "what", "published", "measured", "difference", "allowed", "verdict", "reason")


@dataclass(frozen=True)
class ExperimentCells:
    """The cells of one experiment, and the paper it belongs to."""

    paper: str
    experiment: str
    cells: Sequence[Cell]


@dataclass(frozen=True)
class PaperTable:
    """A published table, or what a figure claims: its cells, from whatever experiments answer them."""

    paper: str
    name: str
    cells: tuple[Cell, ...]

    @property
    def file(self) -> str:
        """The name of its files, without ending."""
        return f"{self.paper}-{self.name}"


def of_folder(folder: Path) -> ExperimentCells:
    """Return the cells of a results folder, judged by today's rules.

    Raises
    ------
    StoreError
        If it holds no results, or those of another version.
    """
    with open_results(folder) as results:
        return ExperimentCells(results.fact("paper") or "", results.name, comparison.of_results(results))


def by_table(experiments: Iterable[ExperimentCells]) -> list[PaperTable]:
    """Return the cells of several experiments by table, in the order of the papers.

    A cell that several experiments could answer is not said to be missing where one of them does answer it. What a
    figure claims goes by the name of its experiment.
    """
    cells: dict[tuple[str, str], list[Cell]] = {}
    for experiment in experiments:
        for cell in experiment.cells:
            cells.setdefault((experiment.paper, table_name(experiment.experiment, cell)), []).append(cell)
    keys = sorted(cells, key=lambda key: (paper_order(key[0]), key[1]))
    return [PaperTable(paper, name, tuple(_merged(cells[paper, name]))) for paper, name in keys]


def table_name(experiment: str, cell: Cell) -> str:
    """Return the table or figure that a cell belongs to: ``table1``; the name of an experiment that is no paper's."""
    whole = cell.table or experiment.removesuffix("-ci")
    return whole.partition("-")[2] or whole


def paper_order(paper: str) -> int:
    """Return a paper's place in the order of the papers; what belongs to none comes last."""
    return PAPERS.index(paper) if paper in PAPERS else len(PAPERS)


def _merged(cells: Sequence[Cell]) -> list[Cell]:
    """Return cells without what is not run in one experiment and answered, or better explained, in another."""
    answered = {_printed_at(cell) for cell in cells if cell.verdict != NOT_RUN and cell.kind == "cell"}
    claimed = {(cell.table, cell.row) for cell in cells if cell.kind == "claim" and cell.row}
    kept: dict[Any, Cell] = {}
    for cell in cells:
        if cell.kind == "claim" or cell.verdict != NOT_RUN:
            kept[len(kept)] = cell
        elif not cell.tolerance and (cell.table, cell.row) in claimed:
            continue  # what one experiment has no rule for is what another claims
        elif _printed_at(cell) not in answered and kept.get(_printed_at(cell), cell).reason in (
            cell.reason,
            NOT_PART_OF_RUN,
        ):
            kept[_printed_at(cell)] = cell
    return sorted(kept.values(), key=lambda cell: (cell.kind, cell.row))


def _printed_at(cell: Cell) -> tuple[str, int, str]:
    return cell.table, cell.row, cell.column.partition(" / ")[0]


def write(tables: Sequence[PaperTable], out: Path) -> None:
    """Write every table as CSV, Markdown and LaTeX, and the overview as Markdown and CSV.

    Raises
    ------
    StoreError
        If the folder cannot be written.
    """
    texts = dict(zip(OVERVIEW, (markdown(tables), csv_text(overview_rows(tables))), strict=True))
    for table in tables:
        lines = [_HEADINGS, *map(_line, table.cells)]
        texts[f"{table.file}.csv"] = csv_text([asdict(cell) for cell in table.cells])
        texts[f"{table.file}.md"] = export.markdown_lines(lines)
        texts[f"{table.file}.tex"] = export.latex_lines(lines, "lllrrrlll")
    try:
        out.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            write_text(out / name, text)
    except OSError as error:
        raise StoreError(f"{out}: the tables cannot be written: {error.strerror}") from None


def _line(cell: Cell) -> export.Line:
    relative = cell.relative_difference
    difference = "" if relative is None else f"{100 * relative:+.2g}%"
    numbers = format_number(cell.published), format_number(cell.measured), difference
    return cell.dataset, solver_text(cell), cell.column, *numbers, cell.tolerance, cell.verdict, cell.reason


def overview_rows(tables: Sequence[PaperTable]) -> list[dict[str, Any]]:
    """Return how many cells of each table have which verdict."""
    return [{"paper": each.paper, "table": each.name} | comparison.counts(each.cells) for each in tables]


def markdown(tables: Sequence[PaperTable]) -> str:
    """Return the overview in Markdown: how many cells of each table have which verdict."""
    headings = ["paper", "table", *VERDICTS]
    return export.markdown_lines(
        [headings, *([str(row[name] or "") for name in headings] for row in overview_rows(tables))]
    )


def any_outside(tables: Sequence[PaperTable]) -> bool:
    """Return whether any cell is outside."""
    return any(cell.verdict == OUTSIDE for table in tables for cell in table.cells)
