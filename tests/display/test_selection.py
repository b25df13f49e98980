from __future__ import annotations

from typing import Any

import pytest

from mpu_bench.display.selection import sentences, table
from mpu_bench.selection.outcome import Outcome, Row


def row(name: str, **known: Any) -> Row:
    return Row(name, "batch", True, **known)


TESTED = {"choosing_error": 0.1, "error": 0.12, "balanced_error": 0.2, "tested": 400, "size": 2000, "rows": 90}


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([row("a"), row("b", reason="did not end")], "there was no time to train; give it more --seconds"),
        ([row("a", choosing_error=0.25), row("b")], "the test rows were not reached; so far a had the least"),
        ([row("a", **TESTED)], "no model of this project is so small; give a larger --memory"),
    ],
)
def test_it_is_said_why_nothing_was_chosen(rows: list[Row], words: str) -> None:
    (line,) = sentences(Outcome(rows, None, 100), "mine")
    assert line.startswith("mine: nothing was chosen: ")
    assert words in line


def test_the_choice_is_told_with_its_error_and_what_is_smaller() -> None:
    chosen = row("smo", setting={"C": 10.0}, seconds=1.5, **TESTED)
    small = row("dcd", **TESTED | {"error": 0.13, "size": 100})
    lines = sentences(Outcome([chosen, small], chosen, 90), "mine")
    assert lines[0].startswith(
        "mine: take smo (C=10): error 12.00 ± 1.62 % on 400 rows that no choice has seen, 2.0 kB"
    )
    assert "trained on all 90 rows in 1.5 s" in lines[0]
    assert lines[-1] == "dcd is 20 times smaller (100 bytes) with 13.00 ± 1.68 %"


def test_the_best_stand_first_and_those_without_an_error_last() -> None:
    rows = [row("none", reason="did not end within 3 s"), row("b", **TESTED | {"error": 0.3}), row("a", **TESTED)]
    made = table(Outcome(rows, rows[2], 100))
    assert [str(cell) for cell in made.columns[0].cells] == ["a", "b", "none"]
    assert str(list(made.columns[-1].cells)[2]) == "did not end within 3 s"
