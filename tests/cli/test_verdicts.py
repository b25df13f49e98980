from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from mpu_bench.cli import verdicts
from mpu_bench.report.overview import PaperTable
from mpu_bench.verdict import baseline
from mpu_bench.verdict.comparison import Cell
from oracles import made_up

CELL = Cell("cell", "mpu-table1", "adult", "mpu", "", "", "seconds", published=0.4, measured=0.2, count=1)


def printed(function, *arguments: object) -> str:
    text = io.StringIO()
    function(*arguments, Console(file=text, width=150))
    return text.getvalue()


def test_only_what_does_not_come_out_is_listed_unless_all_is_asked_for() -> None:
    cells = [replace(CELL, verdict=verdict) for verdict in ("within", "outside", "not run")]
    text = printed(verdicts.print_cells, {"mpu-table1": cells}, False)
    assert text.count("adult") == 1
    assert "mpu-table1: 1 within, 1 outside, 1 not run" in text
    assert printed(verdicts.print_cells, {"mpu-table1": cells}, True).count("adult") == 3


def test_the_overview_counts_verdicts_by_table() -> None:
    table = PaperTable("mpu-2010", "table1", (replace(CELL, verdict="within"), replace(CELL, verdict="outside")))
    lines = printed(verdicts.print_overview, [table]).splitlines()
    assert ["mpu-2010", "table1", "1", "1"] in [line.split() for line in lines]


def test_results_are_held_to_the_baseline(tmp_path: Path) -> None:
    folder = made_up.results(tmp_path)
    baseline.accept(folder, tmp_path / "baseline")
    changed = made_up.results(tmp_path / "later", error=0.2)
    unknown = made_up.results(tmp_path, "unknown")
    held = baseline.hold([changed, unknown], tmp_path / "baseline")
    text = printed(verdicts.print_held, *held, tmp_path / "baseline")
    assert "test error 20% and 15%" in text
    assert "2 runs in both, 2 differ; seconds are 1.00 times" in text
    assert "keeps nothing of it" in text
