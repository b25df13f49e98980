"""The papers' tables as they came out: files for each, and one overview of the verdicts by paper and table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mpu_bench.config.schema import PAPERS
from mpu_bench.errors import StoreError
from mpu_bench.files import as_csv
from mpu_bench.report import export
from mpu_bench.results.store import FILE, Store
from mpu_bench.verdict import baseline, comparison
from mpu_bench.verdict.comparison import NOT_RUN, OUTSIDE, VERDICTS, Cell
from mpu_bench.verdict.folders import solver_text

OVERVIEW = ("overview.md", "overview.csv")
_HEADINGS = ("dataset", "solver", "what", "printed", "measured", "difference", "allowed", "verdict", "reason")
_ELSEWHERE = "the dataset is not part of this run"


@dataclass(frozen=True)
class Judged:
    """The cells of one experiment, and the paper it belongs to."""

    paper: str
    experiment: str
    cells: Sequence[Cell]


@dataclass(frozen=True)
class PaperTable:
    """A printed table, or what a figure claims: its cells, from whatever experiments answer them."""

    paper: str
    name: str
    cells: tuple[Cell, ...]

    @property
    def file(self) -> str:
        """The name of its files, without ending."""
        return f"{self.paper}-{self.name}"


def of_folder(folder: Path) -> Judged:
    """Judge a results folder; of results/baseline, read what was judged when it was kept.

    Raises
    ------
    StoreError
        If it holds no results, or those of another version.
    """
    if (folder / FILE).is_file():
        with Store(folder) as store:
            return Judged(store.fact("paper") or "", store.fact("name") or folder.name, comparison.of_store(store))
    facts = baseline.about(folder)
    return Judged(facts["paper"] or "", facts["name"], baseline.cells(folder))


def gather(judged: Iterable[Judged]) -> list[PaperTable]:
    """Bring the cells of several experiments together by table, in the order of the papers.

    A cell that several experiments could answer is not said to be missing where one of them does answer it. What a
    figure claims goes by the name of its experiment.
    """
    found: dict[tuple[str, str], list[Cell]] = {}
    for each in judged:
        for cell in each.cells:
            found.setdefault((each.paper, table_name(each.experiment, cell)), []).append(cell)
    papers = sorted(found, key=lambda key: (place_of(key[0]), key[1]))
    return [PaperTable(paper, name, tuple(_merged(found[paper, name]))) for paper, name in papers]


def table_name(experiment: str, cell: Cell) -> str:
    """Name the table or figure that a cell belongs to: ``table1``; an experiment of no paper's by its own name."""
    whole = cell.table or experiment.removesuffix("-ci")
    return whole.partition("-")[2] or whole


def place_of(paper: str) -> int:
    """Give a paper's place in the order of the papers; what belongs to none comes last."""
    return PAPERS.index(paper) if paper in PAPERS else len(PAPERS)


def _merged(cells: Sequence[Cell]) -> list[Cell]:
    """Leave out what is not run in one experiment and answered, or better explained, in another."""
    answered = {_place(cell) for cell in cells if cell.verdict != NOT_RUN and cell.kind == "cell"}
    claimed = {(cell.table, cell.row) for cell in cells if cell.kind == "claim" and cell.row}
    kept: dict[Any, Cell] = {}
    for cell in cells:
        if cell.kind == "claim" or cell.verdict != NOT_RUN:
            kept[len(kept)] = cell
        elif not cell.tolerance and (cell.table, cell.row) in claimed:
            continue  # what one experiment has no rule for is what another claims
        elif _place(cell) not in answered and kept.get(_place(cell), cell).reason in (cell.reason, _ELSEWHERE):
            kept[_place(cell)] = cell
    return sorted(kept.values(), key=lambda cell: (cell.kind, cell.row))


def _place(cell: Cell) -> tuple[str, int, str]:
    return cell.table, cell.row, cell.column.partition(" / ")[0]


def write(found: Sequence[PaperTable], out: Path) -> None:
    """Write every table as CSV, Markdown and LaTeX, and the overview as Markdown and CSV.

    Raises
    ------
    StoreError
        If the folder cannot be written.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
        for table in found:
            lines = [list(_HEADINGS), *map(_line, table.cells)]
            (out / f"{table.file}.csv").write_text(as_csv([asdict(cell) for cell in table.cells]), "utf-8")
            (out / f"{table.file}.md").write_text(export.markdown_lines(lines), "utf-8")
            (out / f"{table.file}.tex").write_text(export.latex_lines(lines, "lllrrrlll"), "utf-8")
        (out / OVERVIEW[0]).write_text(markdown(found), "utf-8")
        (out / OVERVIEW[1]).write_text(as_csv(overview_rows(found)), "utf-8")
    except OSError as fault:
        raise StoreError(f"{out}: the tables cannot be written: {fault.strerror}") from None


def _line(cell: Cell) -> list[str]:
    off = cell.relative_deviation
    return [
        cell.dataset, solver_text(cell), cell.column, _short(cell.published), _short(cell.measured),
        "" if off is None else f"{100 * off:+.2g}%", cell.tolerance, cell.verdict, cell.reason,
    ]  # fmt: skip


def _short(number: float | None) -> str:
    return "" if number is None else f"{number:.6g}"


def overview_rows(found: Sequence[PaperTable]) -> list[dict[str, Any]]:
    """Return how many cells of each table have which verdict."""
    return [{"paper": each.paper, "table": each.name} | comparison.counts(each.cells) for each in found]


def markdown(found: Sequence[PaperTable]) -> str:
    """Write the overview in Markdown: how many cells of each table have which verdict."""
    lines = [["paper", "table", *VERDICTS]]
    lines += [[str(row[name] or "") for name in ("paper", "table", *VERDICTS)] for row in overview_rows(found)]
    return export.markdown_lines(lines)


def any_outside(found: Sequence[PaperTable]) -> bool:
    """Tell whether any cell is outside."""
    return any(cell.verdict == OUTSIDE for each in found for cell in each.cells)
