from __future__ import annotations

import io
from typing import Any

import pytest

from mpu_bench.display.selection import sentences, table
from mpu_bench.display.terminal import Terminal
from mpu_bench.selection.outcome import Outcome, Row


def row(name: str, **known: Any) -> Row:
    return Row(name, "batch", True, **known)


METRICS = {"accuracy": 0.88, "auc": 0.8}
TESTED = {"choosing_error": 0.1, "metrics": METRICS, "spread": 0.02, "constant": 0.5, "tested": 400, "size": 2000}


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([row("a"), row("b", reason="did not end")], "there was no time to train; give it more --seconds"),
        (
            [row("a", choosing_error=0.25), row("b")],
            "so far a is the best on the validation set, accuracy 75.00 %",
        ),
        ([row("a", **TESTED)], "no model of this project is so small; give a larger --memory"),
    ],
)
def test_it_is_said_why_nothing_was_chosen(rows: list[Row], words: str) -> None:
    (line,) = sentences(Outcome(rows, None, 100), "mine")
    assert line.startswith("mine: nothing was chosen, and no model is saved: ")
    assert words in line


def test_what_is_no_better_than_a_constant_is_told_with_what_to_do() -> None:
    refused = row("smo", **TESTED | {"constant": 0.9})
    told = " ".join(sentences(Outcome([refused], None, 100, refused=refused), "mine"))
    assert (
        "nothing was chosen, and no model is saved: the best, smo, is not better than a constant beyond chance" in told
    )
    assert "accuracy 88.00 ± 2.00 % on 400 test rows, where always the same answer has 90.00 %" in told
    assert "--metric auc" in told


def test_the_choice_is_told_with_its_error_and_what_is_smaller() -> None:
    chosen = row("smo", setting={"C": 10.0}, seconds=1.5, rows=90, **TESTED)
    small = row("dcd", **TESTED | {"metrics": {"accuracy": 0.87, "auc": 0.79}, "size": 100})
    lines = sentences(Outcome([chosen, small], chosen, 90), "mine")
    assert lines[0].startswith("mine: take smo (C=10): error 12.00 ± 1.62 % on 400 test rows, where always")
    assert "2.0 kB, trained on all 90 rows in 1.5 s" in lines[0]
    assert lines[-1] == "dcd is 20 times smaller (100 bytes) with error 13.00 ± 1.68 %"

    lines = sentences(Outcome([chosen], chosen, 100, "auc", note="it would take 9 s"), "mine")
    assert "AUC 80.00 ± 2.00 %, error 12.00 ± 1.62 % on 400 test rows" in lines[0]
    assert "trained on 90 of 100 rows" in lines[0]
    assert lines[1] == "smo was not trained on all rows: it would take 9 s"


def test_the_best_stand_first_and_those_without_an_error_last() -> None:
    rows = [
        row("none", reason="did not end within 3 s"),
        row("b", **TESTED | {"metrics": {"accuracy": 0.7}}),
        row("a", **TESTED),
    ]
    terminal = Terminal(file=io.StringIO(), width=200)
    terminal.print(table(Outcome(rows, rows[2], 100)))
    _, *lines = terminal.file.getvalue().splitlines()
    assert [line.split()[0] for line in lines] == ["a", "b", "none"]
    assert lines[2].rstrip().endswith("did not end within 3 s")
