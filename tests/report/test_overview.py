from __future__ import annotations

from dataclasses import replace

import pytest

from mpu_bench.report import overview
from mpu_bench.verdict.cells import Cell
from mpu_bench.verdict.comparison import ExperimentCells
from mpu_bench.verdict.verdict import Verdict

RATIO = Cell(
    "ratio", "mpu-table1", 1, "adult", "mpu", column="seconds", over="dcd", verdict=Verdict.REPRODUCED, count=1
)
NOT_RUN = Cell("ratio", "mpu-table1", 2, "web", "mpu", column="seconds", remark="not here", is_elsewhere=True)


def of(paper: str, name: str, *cells: Cell) -> ExperimentCells:
    config = "sbp-figure9" if name == "sbp-figure9-ci" else ""
    return ExperimentCells(paper, name, cells, config)


def test_cells_of_several_experiments_come_together() -> None:
    found = overview.by_table([
        of("sbp-2012", "sbp-figure9-ci", Cell("claim", column="SBP is below", verdict=Verdict.CONTRADICTED)),
        of("mpu-2010", "mpu-table1", RATIO, NOT_RUN),
        of("mpu-2010", "mpu-else", replace(NOT_RUN, row=1), replace(NOT_RUN, remark="timeout")),
    ])  # fmt: skip
    assert [each.file for each in found] == ["mpu-2010-table1", "sbp-2012-figure9"]
    assert [(each.row, each.verdict, each.remark) for each in found[0].cells] == [
        (1, "agrees", ""),
        (2, "not run", "timeout"),
    ]
    rows = {(row["paper"], row["table"]): row for row in overview.overview_rows(found)}
    assert rows["sbp-2012", "figure9"]["refuted"] == 1
    assert (rows["mpu-2010", "table1"]["agrees"], rows["mpu-2010", "table1"]["not run"]) == (1, 1)


def test_what_says_nothing_of_a_paper_is_counted_apart() -> None:
    tables = overview.by_table([
        of("mpu-2010", "mpu-table1", replace(RATIO, kind="fact"), replace(RATIO, kind="set", row=2), RATIO)
    ])  # fmt: skip
    assert overview.overview_rows(tables)[0]["agrees"] == 1
    assert "sizes of datasets (1 of 1 reproduced), numbers that the configs set (1)" in overview.besides(tables)


@pytest.mark.parametrize("verdict", [Verdict.NOT_RUN, Verdict.NOT_REPRODUCED])
def test_a_number_of_a_paper_counts_for_no_config_that_explains_it(verdict):
    cell = Cell("value", "bpegasos-table1", 1, "usps", "bpegasos", column="accuracy_percent", published=83.5,
                measured=83.4, count=5, verdict=Verdict.REPRODUCED)  # fmt: skip
    tables = overview.by_table([
        ExperimentCells("", "bpegasos-half", [cell], "bpegasos-half"),
        ExperimentCells("bpegasos-2010", "bpegasos-figure1", [replace(cell, verdict=verdict)], "bpegasos-figure1"),
    ])  # fmt: skip
    values = [(table.paper, each.verdict) for table in tables for each in table.cells if each.kind == "value"]
    assert values == [("bpegasos-2010", verdict)]


def test_a_printed_number_counts_once_for_the_experiment_of_its_table():
    cell = Cell("value", "fw-table2", 1, "a1a", "cvm", column="accuracy_percent", published=83.5, measured=83.4,
                count=5, verdict=Verdict.REPRODUCED)  # fmt: skip
    tuned = replace(cell, measured=80.0, verdict=Verdict.NOT_REPRODUCED)
    tables = overview.by_table([
        ExperimentCells("frank-wolfe-2012", "fw-tuning", [tuned], "fw-tuning"),
        ExperimentCells("frank-wolfe-2012", "fw-table2", [cell], "fw-table2"),
    ])  # fmt: skip
    assert [each.verdict for table in tables for each in table.cells if each.kind == "value"] == ["agrees"]
