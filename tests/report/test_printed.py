"""The papers' tables as they are printed: every number of print has its place, once."""

import re
from dataclasses import replace

import pytest

from mpu_bench import published
from mpu_bench.report import printed, tables
from mpu_bench.report.tables import Measured
from mpu_bench.verdict.cells import Cell
from mpu_bench.verdict.verdict import Verdict

VALUE = Cell("value", "bpegasos-table1", 2, "usps", "projectron++", "100", column="accuracy_percent", published=81.1,
             measured=80.44, measured_std=1.234, count=5, verdict=Verdict.REPRODUCED)  # fmt: skip


def numbers(text):
    return re.sub(r" ±.*", "", text)


@pytest.mark.parametrize("name", published.names())
def test_every_number_of_print_stands_in_its_table_once(name):
    """Facts of a dataset are named in every row of the CSV, and stand in one line of the table."""
    layout = printed.layouts()[name]
    table = printed.table(name, [replace(VALUE, table=name, row=0)])
    shown = [str(cell) for row in table.rows for cell in row if cell.rows]
    for column in (each if isinstance(each, str) else each.column for each in layout.numbers):
        for row in published.table(name):
            of = next((each.of for each in layout.numbers if not isinstance(each, str) and each.column == column), None)
            if row[column] and (of is None or row[layout.across] in of):
                assert printed._printed(row, column) in shown
    width = sum(span for _, span in table.groups)
    assert len(table.headings) == width
    assert all(len(row) == width for row in table.rows)
    for place in range(width):  # what spans several lines leaves as much room below
        column = [row[place] for row in table.rows]
        assert sum(cell.rows for cell in column) == len(column)


def test_a_cell_has_the_measured_number_with_its_verdict():
    other = replace(VALUE, measured=70.0, verdict=Verdict.NOT_REPRODUCED)
    table = printed.table("bpegasos-table1", [VALUE], [("tuned", other)])
    entry = next(cell for cell in table.rows[0] if cell == "81.1 ±3.2")
    assert [(each.text, each.verdict, each.experiment) for each in entry.measured] == [
        ("80.44 ±1.23", Verdict.REPRODUCED, ""),
        ("70 ±1.23", Verdict.NOT_REPRODUCED, "tuned"),
    ]


def test_seconds_stand_beside_their_ratio():
    ratio = Cell("ratio", "mpu-table2", 1, "adult", "mpu", column="seconds", over="dcd", published=0.5, measured=0.94,
                 count=5, verdict=Verdict.REPRODUCED, seconds="0.021")  # fmt: skip
    table = printed.table("mpu-table2", [ratio])
    assert table.rows[0][1].measured == (
        Measured("0.021", Verdict.REPRODUCED, "reproduced: 0.94 of dcd's, reported 0.5"),
    )


@pytest.mark.parametrize("name", published.names())
def test_latex_has_as_many_cells_in_every_line(name):
    table = printed.table(name, [replace(VALUE, table=name, row=0)])
    text = tables.latex(table)
    lines = [line for line in text.splitlines() if "&" in line]
    for line in lines:
        spans = sum(int(span) - 1 for span in re.findall(r"multicolumn\{(\d+)\}", line))
        assert len(re.findall(r"(?<!\\)&", line)) + 1 + spans == len(table.headings)
    assert text.count(r"\midrule") == 1


def test_a_table_without_any_cell_is_not_shown():
    assert printed.table("mpu-table1", [VALUE]) is None
