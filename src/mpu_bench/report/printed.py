"""The papers' tables as they are printed, with the measured number and its verdict in every cell.

Which columns of a published table name its lines and which spread across, configs/published/layouts.yaml says.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import groupby

from mpu_bench import published, resources, yaml_text
from mpu_bench.document import Strict
from mpu_bench.errors import ConfigError
from mpu_bench.quantities import is_seconds, quantity_of
from mpu_bench.report.tables import Measured, Reported, Table
from mpu_bench.results.means import grouped
from mpu_bench.verdict.cells import COUNTED, FACT, RATIO, RECOMPUTED, Cell, number_in, remark_text, verdict_text
from mpu_bench.verdict.judge import check_tables
from mpu_bench.verdict.verdict import Verdict

FILE = "layouts.yaml"


class Number(Strict):
    """A printed number that only some solvers have."""

    column: str
    of: list[str]


class Layout(Strict):
    """How a published table looks.

    ``lines``: the columns of its CSV that name a line; ``facts`` and ``words`` stand beside them; ``across``: the
    column whose values have columns of their own; ``numbers``: what is printed in each of these; ``note``: what the
    printed numbers had a hand in.
    """

    heading: str
    about: str
    lines: list[str]
    facts: list[str] = []
    across: str = ""
    words: list[str] = []
    numbers: list[str | Number]
    note: str = ""


@cache
def layouts() -> dict[str, Layout]:
    """Return how every published table looks.

    Raises
    ------
    ConfigError
        If the file cannot be read, or does not speak of every published table, of its columns, and of nothing else.
    """
    file = yaml_text.read(resources.bundled("configs/published") / FILE, ConfigError)
    read: dict[str, Layout] = file.root.validated(dict[str, Layout])
    check_tables(file.root)
    for name, layout in read.items():
        columns = list(published.table(name)[0])
        numbers = [number if isinstance(number, str) else number.column for number in layout.numbers]
        for column in filter(None, [*layout.lines, *layout.facts, layout.across, *layout.words, *numbers]):
            if column not in columns:
                raise file[name].unknown("column", column, columns)
    return read


def table(name: str, cells: Sequence[Cell], others: Sequence[tuple[str, Cell]] = ()) -> Table | None:
    """Return a published table with what was measured; None where none of its numbers has a cell.

    Parameters
    ----------
    name : str
        One of `published.names`.
    cells : sequence of Cell
        Of the paper, all that were judged.
    others : sequence of tuple
        Cells that count elsewhere, each with its experiment: they stand beside those that count, named.
    """
    of_table = [("", cell) for cell in cells if cell.table == name]
    if not of_table:
        return None
    of_table += [(experiment, cell) for experiment, cell in others if cell.table == name]
    layout, rows = layouts()[name], list(enumerate(published.table(name), start=1))
    lines = grouped(rows, lambda numbered: _entry_names(numbered[1], layout, rows))
    across = _across(layout, rows)
    shown = [_line(entry_names, inside, layout, across, of_table) for entry_names, inside in lines.items()]
    sides = [*layout.lines, *layout.facts, *layout.words]
    numbers = [words for solver, columns in across.items() for words in columns]
    groups = [("", len(sides)), *((solver, len(columns)) for solver, columns in across.items() if columns)]
    names, facts = len(layout.lines), len(layout.facts) if layout.numbers else 0
    return Table(
        headings=tuple(map(heading, [*sides, *numbers])),
        rows=tuple(_spanned(shown, names, len(layout.facts))),
        sides="l" * names + "r" * (len(sides) + len(numbers) - names),
        title=layout.heading,
        faint=frozenset(range(names, names + facts)),
        groups=groups,
        name=name,
        about=layout.about,
        note=layout.note,
    )


def _entry_names(
    row: Mapping[str, str], layout: Layout, rows: Sequence[tuple[int, Mapping[str, str]]]
) -> tuple[str, ...]:
    """Return what names a row's line; a row without a part of the name stands in the first line that has the others."""
    wanted = {name: row[name] for name in layout.lines if row[name]}
    for _, other in rows:
        names = tuple(other[name] for name in layout.lines)
        if all(names) and all(other[name] == value for name, value in wanted.items()):
            return names
    return tuple(row[name] for name in layout.lines)


def _across(layout: Layout, rows: Sequence[tuple[int, Mapping[str, str]]]) -> dict[str, list[str]]:
    """Return the columns of each solver, or of the table where nothing spreads: those of them that it prints."""
    columns: dict[str, list[str]] = {}
    for solver in dict.fromkeys(row[layout.across] if layout.across else "" for _, row in rows):
        of_solver = [row for _, row in rows if not layout.across or row[layout.across] == solver]
        named = [
            number if isinstance(number, str) else number.column
            for number in layout.numbers
            if isinstance(number, str) or solver in number.of
        ]
        columns[solver] = [column for column in named if any(row[column] for row in of_solver)]
    return columns


def _line(
    entry_names: tuple[str, ...],
    inside: Sequence[tuple[int, Mapping[str, str]]],
    layout: Layout,
    across: Mapping[str, Sequence[str]],
    cells: Sequence[tuple[str, Cell]],
) -> list[Reported]:
    number, first = inside[0]
    entries = [Reported(name) for name in entry_names]
    entries += [_entry(number, first, column, cells) for column in layout.facts]
    entries += [Reported(first[column]) for column in layout.words]
    for solver, columns in across.items():
        of_solver = next(((n, row) for n, row in inside if not layout.across or row[layout.across] == solver), None)
        has_all = of_solver is not None and all(of_solver[1][name] for name in layout.lines)
        for column in columns:
            entry = Reported() if of_solver is None else _entry(*of_solver, column, cells)
            is_whole = has_all or not entry
            entries.append(entry if is_whole else Reported(entry, entry.measured, rows=0))
    return entries


def _spanned(lines: Sequence[Sequence[Reported]], names: int, facts: int) -> Iterator[tuple[Reported, ...]]:
    """Yield lines in which what is the same for lines of one first name that stand together stands once."""
    for _, together in groupby(lines, key=lambda line: line[0]):
        group = list(together)
        once = {0, *range(names, names + facts)} if names > 1 else set()
        once |= {column for line in group for column, entry in enumerate(line) if entry.rows == 0}
        yield tuple(
            Reported(entry, entry.measured, len(group) if column in once else 1)
            for column, entry in enumerate(group[0])
        )
        for line in group[1:]:
            yield tuple(Reported(rows=0) if column in once else entry for column, entry in enumerate(line))


def _entry(number: int, row: Mapping[str, str], column: str, cells: Sequence[tuple[str, Cell]]) -> Reported:
    if number_in(row[column]) is None:
        return Reported(row[column])
    decimals = len(row[column].partition(".")[2]) + 1 if "e" not in row[column] else None
    measured = [
        replace(_measured(cell, decimals), experiment=experiment)
        for experiment, cell in cells
        if _is_about(cell, number, row, column)
    ]
    return Reported(_printed(row, column), tuple(measured))


def _is_about(cell: Cell, number: int, row: Mapping[str, str], column: str) -> bool:
    if cell.kind == FACT:
        return cell.column == column and cell.dataset == row.get("dataset")
    if cell.row != number:
        return False
    return cell.column == column or (cell.column not in row and cell.published == number_in(row[column]))


def _printed(row: Mapping[str, str], column: str) -> str:
    """Return a number as it is printed, with its deviation; thousands are written out."""
    deviation = published.deviation(row, column)
    value = number_in(row[column])
    text = f"{value:.0f}" if value is not None and "e" in row[column] and value >= 1 else row[column]
    return f"{text} ±{deviation}" if deviation else text


def _measured(cell: Cell, decimals: int | None) -> Measured:
    remark = "; ".join(filter(None, [remark_text(cell), cell.explained]))
    named = "" if cell.kind != RECOMPUTED else f"{cell.column}: "
    if cell.kind == FACT and cell.verdict == Verdict.NOT_RUN:
        return Measured("", remark=remark)
    if is_seconds(cell.column):
        return Measured(cell.seconds, cell.verdict if cell.kind == RATIO else None, _ratio(cell), remark)
    text = _rounded(cell.measured, decimals)
    if cell.measured_std and cell.kind in COUNTED:
        text += f" ±{_rounded(cell.measured_std, decimals)}"
    is_judged = cell.kind in (*COUNTED, FACT, RECOMPUTED)
    return Measured(text, cell.verdict if is_judged else None, named + verdict_text(cell) if is_judged else "", remark)


def _rounded(value: float | None, decimals: int | None) -> str:
    """Return a number with one decimal more than is printed, a whole or a small one with what it needs."""
    if value is None:
        return ""
    if value == int(value):
        return f"{value:.0f}"
    if decimals is None:
        return f"{value:.1f}" if abs(value) >= 1 else f"{value:.4g}"
    return f"{value:.{decimals}f}" if abs(value) >= 10**-decimals else f"{value:.2g}"


def _ratio(cell: Cell) -> str:
    """Return how seconds are judged: the verdict, and both ratios to those of the solver that they are set against."""
    if cell.kind != RATIO:
        return ""
    if cell.measured is None or cell.published is None:
        return verdict_text(cell)
    ratios = f"{cell.measured:.3g} of {cell.over}'s, reported {cell.published:.3g}"
    return f"{verdict_text(cell)}: {ratios}"


def heading(column: str) -> str:
    """Return what a column of a published table is called."""
    quantity = quantity_of(column)
    return quantity.heading if quantity is not None else _WORDS.get(column, column.replace("_", " "))


_WORDS = {"n_test": "test rows", "largest_pair": "largest pair", "smallest_pair": "smallest pair", "p_value": "p"}
