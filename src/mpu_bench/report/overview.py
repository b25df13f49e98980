"""The papers' tables as they came out: files for each, and one overview of the verdicts by paper and table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mpu_bench import published
from mpu_bench.config.schema import PAPERS
from mpu_bench.config.sentences import sentences
from mpu_bench.files import csv_text, write_all
from mpu_bench.quantities import format_number
from mpu_bench.report import printed
from mpu_bench.report import tables as tables_
from mpu_bench.report.tables import Line, Table
from mpu_bench.results.folder import open_results
from mpu_bench.results.means import grouped
from mpu_bench.verdict import comparison
from mpu_bench.verdict.cells import (
    CLAIM,
    COLUMNS,
    COUNTED,
    FACT,
    RECOMPUTED,
    SET,
    Cell,
    count_verdicts,
    remark_text,
    solver_text,
    verdict_text,
)
from mpu_bench.verdict.claims import of_sentences
from mpu_bench.verdict.comparison import ExperimentCells
from mpu_bench.verdict.points import Evidence
from mpu_bench.verdict.verdict import Verdict

OVERVIEW = ("overview.md", "overview.csv")
_HEADINGS = ("kind", "dataset", "solver", "what", "published", "measured", "difference", "allowed", "verdict", "remark")
SENTENCES = "sentences"  #: the table of what a paper says in words
_BESIDES = {  # what says nothing of a paper, in words
    FACT: "sizes of datasets ({reproduced} of {all} reproduced)",
    SET: "numbers that the configs set ({all})",
    RECOMPUTED: "tests recomputed from reported numbers ({reproduced} of {all} reproduced)",
}


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
        return comparison.of_results(results)


def by_table(experiments: Iterable[ExperimentCells]) -> list[PaperTable]:
    """Return the cells of several experiments by table, in the order of the papers.

    A printed number counts once: where several experiments measure it, for the one that is named as its table, and for
    full runs before those of a profile; of two folders of one experiment, for the first. What one of them answers is
    not said to be missing in another. A config of no paper, which explains a number, neither answers it nor leaves it
    out where one of the paper has it. The sentences of a paper are a table of their own, each with the points of all
    experiments that answer it.
    """
    cells: dict[tuple[str, str], list[Cell]] = {}
    whole = sorted(experiments, key=lambda entry: (entry.config not in published.names(), entry.name != entry.config))
    measured: dict[tuple[str, int, str], int] = {}
    first: dict[str, int] = {}
    of_papers = {_printed_at(cell) for entry in whole if entry.paper for cell in entry.cells if cell.table}
    for index, experiment in enumerate(whole):
        is_first = first.setdefault(experiment.config or experiment.name, index) == index  # folder of the config
        for cell in experiment.cells:
            if cell.sentence or (not experiment.paper and _printed_at(cell) in of_papers):
                continue
            if cell.verdict == Verdict.NOT_RUN:
                counts = bool(experiment.paper)
            elif cell.kind in (CLAIM, RECOMPUTED):
                counts = is_first
            else:
                counts = measured.setdefault(_printed_at(cell), index) == index
            if counts:
                cells.setdefault((experiment.paper, table_name(experiment, cell)), []).append(cell)
    for paper in {entry.paper for entry in whole}:
        if of_paper := _sentences(paper, [entry for entry in whole if entry.paper == paper]):
            cells[paper, SENTENCES] = of_paper
    keys = sorted(cells, key=lambda key: (paper_order(key[0]), key[1]))
    return [PaperTable(*key, tuple(_merged(cells[key]))) for key in keys]


def table_name(experiment: ExperimentCells, cell: Cell) -> str:
    """Return the table that a cell belongs to: ``table1``, ``sentences``; the name of an experiment of no paper."""
    if cell.sentence:
        return SENTENCES
    whole = cell.table or experiment.config or experiment.name
    return whole.partition("-")[2] or whole


def paper_order(paper: str) -> int:
    """Return a paper's position in the order of the papers; what belongs to none comes last."""
    return PAPERS.index(paper) if paper in PAPERS else len(PAPERS)


def _merged(cells: Sequence[Cell]) -> list[Cell]:
    """Return cells without what is not run in one experiment and answered, or better explained, in another."""
    answered = {_printed_at(cell) for cell in cells if cell.verdict != Verdict.NOT_RUN}
    merged: dict[Any, Cell] = {}
    for cell in cells:
        if cell.kind == CLAIM or cell.verdict != Verdict.NOT_RUN:
            merged[len(merged)] = cell
        elif _printed_at(cell) not in answered:
            before = merged.get(_printed_at(cell), cell)
            merged[_printed_at(cell)] = cell if before.is_elsewhere or before.remark == cell.remark else before
    order = (*COUNTED, RECOMPUTED, SET, FACT)
    return sorted(merged.values(), key=lambda cell: (order.index(cell.kind), cell.row))


def _sentences(paper: str, experiments: Sequence[ExperimentCells]) -> list[Cell]:
    """Return the cells of a paper's sentences, each judged by the runs of all experiments that answer it."""
    present = {experiment.config for experiment in experiments}
    meant = [claim for claim in sentences(paper) if present & set(claim.experiments)]
    evidence = sum(
        {experiment.config: experiment.evidence for experiment in reversed(experiments)}.values(), Evidence()
    )  # full runs
    return of_sentences(meant, evidence, [entry for experiment in experiments for entry in experiment.explained])


def _printed_at(cell: Cell) -> tuple[str, int, str]:
    return cell.table, cell.row, cell.column


def write(tables: Sequence[PaperTable], out: Path) -> None:
    """Write every table as CSV, Markdown and LaTeX, and the overview as Markdown and CSV.

    In LaTeX a published table looks as it is printed; the other files have a line for each number.

    Raises
    ------
    StoreError
        If the folder cannot be written.
    """
    texts = dict(zip(OVERVIEW, (markdown(tables), csv_text(overview_rows(tables))), strict=True))
    for table in tables:
        lines = Table(_HEADINGS, list(map(_line, table.cells)), "llllrrrrll")
        texts[f"{table.file}.csv"] = csv_text([cell.written() for cell in table.cells], COLUMNS)
        texts[f"{table.file}.md"] = tables_.markdown(lines)
        texts[f"{table.file}.tex"] = tables_.latex(_as_printed(table) or lines)
    write_all(out, texts)


def _as_printed(table: PaperTable) -> Table | None:
    """Return a table as it is printed; None for what is no published table, as the sentences of a paper."""
    name = "" if table.name == SENTENCES else next((cell.table for cell in table.cells if cell.table), "")
    shaped = printed.table(name, table.cells) if name else None
    return shaped and replace(shaped, title="", name="")  # others include it under a caption of theirs


def _line(cell: Cell) -> Line:
    difference = "" if cell.difference is None else f"{cell.difference:+.3g}"
    allowed = "" if cell.allowed is None else f"{cell.allowed:.3g}"
    numbers = format_number(cell.published), format_number(cell.measured), difference, allowed
    return cell.kind, cell.dataset, solver_text(cell), cell.what, *numbers, verdict_text(cell), remark_text(cell)


def overview_rows(tables: Sequence[PaperTable]) -> list[dict[str, Any]]:
    """Return how many values, ratios and claims of each table have which verdict, and how many are explained."""
    return [
        {"paper": table.paper, "table": table.name}
        | count_verdicts(table.cells)
        | {"explained": sum(bool(cell.explained) for cell in table.cells if cell.kind in COUNTED)}
        for table in tables
        if any(cell.kind in COUNTED for cell in table.cells)
    ]


def by_paper(tables: Sequence[PaperTable]) -> list[dict[str, Any]]:
    """Return the same for each paper as a whole, and for all together."""
    rows = overview_rows(tables)
    of_papers = grouped(rows, lambda row: row["paper"]) | ({"all": rows} if rows else {})
    return [
        {"paper": paper, "table": "all"} | {name: sum(row[name] for row in group) for name in (*Verdict, "explained")}
        for paper, group in of_papers.items()
    ]


def besides(tables: Sequence[PaperTable]) -> str:
    """Return in a sentence what was compared and says nothing of the papers."""
    run = (cell for table in tables for cell in table.cells if cell.verdict != Verdict.NOT_RUN)
    of_kinds = grouped(run, lambda cell: cell.kind)
    words = [
        text.format(all=len(cells), reproduced=sum(cell.verdict == Verdict.REPRODUCED for cell in cells))
        for kind, text in _BESIDES.items()
        if (cells := of_kinds.get(kind))
    ]
    return f"Counted apart: {', '.join(words)}." if words else ""


def markdown(tables: Sequence[PaperTable]) -> str:
    """Return the overview in Markdown: how many values, ratios and claims of each table have which verdict."""
    names = ["paper", "table", *Verdict, "explained"]
    headings = ["paper", "table", *(verdict.word for verdict in Verdict), "explained"]
    rows = [*overview_rows(tables), *by_paper(tables)]
    text = tables_.markdown(Table(headings, [[str(row[name] or "") for name in names] for row in rows], ""))
    apart = besides(tables)
    return f"{text}\n{apart}\n" if apart else text
