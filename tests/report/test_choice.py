from __future__ import annotations

import io
import re
from typing import Any

import numpy as np
import pytest

from mpu_bench.cli.selecting import shown_table
from mpu_bench.display.terminal import Terminal
from mpu_bench.report.choice import page, sentences
from mpu_bench.selection.outcome import Outcome, Row


def row(name: str, **known: Any) -> Row:
    return Row(name, "batch", **known)


METRICS = {"accuracy": 0.88, "auc": 0.8}
TESTED = {"choosing_error": 0.1, "metrics": METRICS, "spread": 0.02, "constant": 0.5, "tested": 400, "size": 2000}


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([row("a"), row("b")], "no classifier was trained (there was no time); give it more --seconds"),
        ([row("a"), row("b", reason="of one class")], "no classifier was trained (b: of one class); give it more"),
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
    lines = " ".join(sentences(Outcome([refused], None, 100, refused=refused), "mine"))
    assert (
        "nothing was chosen, and no model is saved: the best, smo, is not better than a constant beyond chance" in lines
    )
    assert "accuracy 88.00 ± 2.00 % on 400 test rows, where always the same answer has 90.00 %" in lines
    assert "--metric auc" in lines


def answering(name: str, right: int, size: int, kind: str = "batch", **known: Any) -> Row:
    """Return a candidate that is right on so many of 400 test rows."""
    truth = np.ones(400, np.int32)
    predicted = (np.arange(400) < right).astype(np.int32)
    answers = {"truth": truth.tobytes(), "predicted": predicted.tobytes(), "scores": (predicted - 0.5).astype("f4")}
    answers["scores"] = answers["scores"].tobytes()
    metrics = {"accuracy": right / 400, "auc": 0.8}
    return Row(name, kind, **TESTED | answers | {"metrics": metrics, "size": size, "rows": 90} | known)


def test_three_sentences_say_what_how_sure_and_what_it_costs() -> None:
    chosen = answering("smo", 352, 2000, setting={"C": 10.0}, seconds=1.5, seconds_per_prediction=2e-6)
    small, constant = answering("dcd", 348, 100), answering("constant", 200, 0, "reference")
    reference = answering("LogisticRegression", 356, 500, "reference")
    lines = sentences(Outcome([chosen, small, constant, reference], chosen, 90), "mine")
    assert len(lines) == 3
    assert lines[0].startswith(
        "mine: take smo (C=10): error 12.00 ± 1.62 % on 400 test rows, trained on all 90 rows in"
    )
    assert "38.00 points better than a constant (95% from 33.24 to 42.76, McNemar, p < 0.001)" in lines[1]
    assert "1.00 points worse than LogisticRegression, the best reference (95% from " in lines[1]
    assert "p = 0.12, which may be chance" in lines[1]
    assert lines[2].startswith("What it costs: 2.0 kB and 2 µs a prediction on this computer, where LogisticRegression")
    assert lines[2].endswith("dcd is 20 times smaller (100 bytes) with error 13.00 ± 1.68 %")

    lines = sentences(Outcome([chosen], chosen, 100, "auc", note="it would take 9 s"), "mine")
    assert "AUC 80.00 ± 2.00 %, error 12.00 ± 1.62 % on 400 test rows" in lines[0]
    assert "trained on 90 of 100 rows" in lines[0]
    assert lines[3] == "smo was not trained on all rows: it would take 9 s"


def test_a_reference_that_is_chosen_is_not_saved() -> None:
    chosen = answering("LogisticRegression", 356, 500, "reference", seconds=0.1)
    lines = sentences(Outcome([chosen], chosen, 90, with_references=True), "mine")
    assert "no model is saved here" in lines[-1]


def test_the_page_needs_no_other_file_and_its_words_are_words() -> None:
    chosen = answering("smo", 352, 2000, setting={"C": 10.0}, seconds=1.5)
    outcome = Outcome([chosen], chosen, 90)
    made = page(
        outcome, "<mine>", sentences(outcome, "<mine>"), b'<?xml version="1.0"?><svg id="front"></svg>', ["a: b"]
    )
    assert "<mine>" not in made
    assert '<svg id="front">' in made
    assert not re.findall(r'(?:src|href)="(?!#)', made)
    assert '<tr class="chosen"><td>smo</td>' in made


def test_the_best_stand_first_and_those_without_an_error_last() -> None:
    rows = [
        row("none", reason="did not end within 3 s"),
        row("b", **TESTED | {"metrics": {"accuracy": 0.7}}),
        row("a", **TESTED),
    ]
    terminal = Terminal(file=io.StringIO(), width=200)
    terminal.print(shown_table(Outcome(rows, rows[2], 100)))
    _, *lines = terminal.file.getvalue().splitlines()
    assert [line.split()[0] for line in lines] == ["a", "b", "none"]
    assert lines[2].rstrip().endswith("did not end within 3 s")
