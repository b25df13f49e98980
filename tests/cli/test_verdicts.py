from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

from mpu_bench.cli import verdicts
from mpu_bench.display.terminal import Terminal
from mpu_bench.report.overview import PaperTable
from mpu_bench.verdict.baseline import Change, Check
from mpu_bench.verdict.cells import Cell, remark_text, summarize_verdicts
from mpu_bench.verdict.regression import Difference, Mismatch
from mpu_bench.verdict.verdict import Verdict

CELL = Cell("value", "mpu-table1", 1, "adult", "mpu", column="objective", published=0.4, measured=0.2, count=1)


def printed(function, *arguments: object) -> str:
    text = io.StringIO()
    function(*arguments, Terminal(file=text, width=150))
    return text.getvalue()


def test_only_what_does_not_come_out_is_listed_unless_all_is_asked_for() -> None:
    cells = [replace(CELL, verdict=verdict) for verdict in map(Verdict, ("agrees", "differs", "not run"))]
    assert printed(verdicts.print_cells, "mpu-table1", cells, False).count("adult") == 1
    assert summarize_verdicts(cells) == "reproduced 1, not reproduced 1, not run 1"
    assert printed(verdicts.print_cells, "mpu-table1", cells, True).count("adult") == 3


def test_numbers_of_datasets_that_a_config_does_not_have_are_a_count() -> None:
    cells = [replace(CELL, verdict=Verdict.REPRODUCED), replace(CELL, dataset="web", is_elsewhere=True)]
    assert summarize_verdicts(cells) == "reproduced 1, of other datasets 1"
    assert "web" not in printed(verdicts.print_cells, "mpu-table1", cells, True)


def test_what_is_counted_apart_is_told_where_there_is_nothing_else() -> None:
    cells = [
        replace(CELL, kind="recomputed", verdict=verdict) for verdict in map(Verdict, ("agrees", "agrees", "differs"))
    ]
    counts = "no value, ratio or claim; recomputed reproduced 2, recomputed not reproduced 1"
    assert summarize_verdicts(cells) == counts
    assert summarize_verdicts([]) == "nothing reported to compare with"


def test_an_explanation_is_told_as_one() -> None:
    cell = replace(CELL, verdict=Verdict.NOT_REPRODUCED, remark="a single run", explained="why", evidence="adult")
    assert remark_text(cell) == "a single run; explained: why (adult)"
    assert "explained: why (adult)" in printed(verdicts.print_cells, "mpu-table1", [cell], False)


def test_the_overview_counts_verdicts_by_table() -> None:
    table = PaperTable(
        "mpu-2010", "table1", (replace(CELL, verdict=Verdict.REPRODUCED), replace(CELL, verdict=Verdict.NOT_REPRODUCED))
    )
    lines = printed(verdicts.print_overview, [table]).splitlines()
    assert ["mpu-2010", "table1", "1", "1"] in [line.split() for line in lines]


def test_what_has_changed_from_the_baseline_is_listed() -> None:
    run = Difference("adult mpu seed=0", {}, (Mismatch("updates", "5", "6", "-16.7%"),), 1.0, is_other=True)
    changes = [Change(CELL, "now not reproduced, baseline reproduced", True), Change(CELL, "by rounding", False)]
    kept, slower = Path("kept/tried"), [("a", "slower")]
    kept_with = {"baseline": kept, "runs": [run], "changes": changes, "slower": slower}
    check = Check("", "tried", [CELL], folder=Path("results/tried"), **kept_with)
    text = printed(verdicts.print_changes, [check, Check("", "new", [], folder=Path("results/new"))])
    for words in (
        "updates: now 5, baseline 6, -16.7%",
        "now not reproduced, baseline reproduced",
        "by rounding",
        "slower",
        "(processors or library versions differ, or are not recorded): 1 run and 1 verdict changed",
        "not in the baseline: new",
    ):
        assert words in text
