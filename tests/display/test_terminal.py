"""The one way to print: words, never markup and nothing that a terminal obeys."""

from __future__ import annotations

import io

import pytest
from rich.table import Table as Grid

from mpu_bench.cli import verdicts
from mpu_bench.config.choices import DatasetChoice, KernelChoice, SolverChoice
from mpu_bench.display import table
from mpu_bench.display.live import Display
from mpu_bench.display.terminal import LONGEST_REASON, Drawn, Terminal, confirmed, styled
from mpu_bench.display.terminal import terminal as made_for_output
from mpu_bench.experiment.messages import Phase
from mpu_bench.experiment.run import Run, RunSettings
from mpu_bench.experiment.runner import Todo
from mpu_bench.quantities import Record, RunStatus
from mpu_bench.report.tables import Table
from mpu_bench.verdict.cells import Cell
from mpu_bench.verdict.regression import Difference, Mismatch, Results
from mpu_bench.verdict.verdict import Verdict
from records import record

#: texts, each with what is shown of it
ODD = [
    ("[/red]", "[/red]"),
    ("[bold]x[link=http://a]y", "[bold]x[link=http://a]y"),
    (":smile: 12", ":smile: 12"),
    ("\x1b[31mred", r"\x1b[31mred"),
    ("\x1b]0;title\x07", r"\x1b]0;title\x07"),
    ("\x9b2J", r"\x9b2J"),
    ("over\rwritten", r"over\rwritten"),
    ("back\b\b", r"back\x08\x08"),
    ("\u202eleft", r"\u202eleft"),
    ("\udcff", r"\udcff"),
    ("\0", r"\x00"),
]


def made(forced: bool = False) -> Terminal:
    return Terminal(file=io.StringIO(), width=200, force_terminal=forced, color_system=None)


def text_of(terminal: Terminal) -> str:
    return terminal.file.getvalue()  # type: ignore[attr-defined, no-any-return]


@pytest.mark.parametrize(("text", "shown"), ODD)
def test_text_from_outside_is_shown_as_words(text: str, shown: str) -> None:
    printed = Grid(text, title=text, box=None)
    printed.add_row(text)
    printed.add_row(styled(text, "red"))
    terminal = made()
    terminal.print(printed)
    terminal.print(text, style="bold")
    terminal.tell(text)
    assert text_of(terminal).count(shown) == 6
    assert not set(text_of(terminal)) & {"\x1b", "\x9b", "\r", "\b", "\0", "\x07", "\u202e", "\udcff"}


@pytest.mark.parametrize(("text", "shown"), ODD)
def test_every_table_shows_names_and_reasons_as_words(text: str, shown: str) -> None:
    made_up = record({
        "dataset": text, "solver": text, "parameters": "{}", "kernel": text, "seed": 0, "status": "crashed",
        "reason": text, "tuned": text,
    })  # fmt: skip
    terminal = made()
    table.print_table([made_up], [], terminal)
    for line in table.remarks([made_up], [], []):
        terminal.tell(line)
    cell = Cell("value", text, 1, text, text, column=text, verdict=Verdict.NOT_REPRODUCED, remark=text)
    verdicts.print_cells(text, [cell], True, terminal)
    none = Results(text, [], [])  # type: ignore[arg-type]
    verdicts.print_differences(none, none, [Difference(text, Record(), (Mismatch(text),), None)], terminal)
    assert text_of(terminal).count(shown) >= 13
    assert text not in text_of(terminal) or text == shown


@pytest.mark.parametrize(("text", "shown"), ODD)
def test_what_goes_on_is_words_too(text: str, shown: str) -> None:
    dataset = DatasetChoice("digits", {}, text, ("0", "8"))
    run = Run("tried", dataset, SolverChoice("dcd", {}, KernelChoice()), RunSettings(), seed=3)
    terminal = made(forced=True)
    with Display(terminal).listening() as listener:
        listener.planned(Todo([run], [run], 0, [None]))
        listener.news(run, Phase("training"))
        with listener.progress.transfer(text, 5) as advance:
            advance(5)
        listener.progress.note(text)
        listener.finished(run, Record(status=RunStatus.CRASHED, reason=text))
    assert text_of(terminal).count(shown) >= 5


def test_a_reason_is_a_line_of_sane_length() -> None:
    made_up = record({
        "dataset": "a", "solver": "b", "parameters": "{}", "status": "crashed", "reason": "word\n" * 60_000,
    })  # fmt: skip
    (line,) = table.remarks([made_up], [], [])
    assert len(line) < LONGEST_REASON + 100
    assert "\n" not in line


@pytest.mark.parametrize(
    ("answer", "yes"), [("y\n", True), ("YES\n", True), ("n\n", False), ("\n", False), ("", False)]
)
def test_only_a_yes_is_one(answer: str, yes: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(answer))
    assert confirmed("Delete [/red]?") is yes


def test_a_line_breaks_between_words_on_a_terminal_and_nowhere_in_a_file() -> None:
    line = "a perceptron with a fraction of 0.12345 of /a/path/that-is/longer-than-the/width-of/this-terminal"
    terminal, file = (Terminal(file=io.StringIO(), width=30, force_terminal=forced) for forced in (True, False))
    for each in (terminal, file):
        each.tell(line)
    assert [word for each in text_of(terminal).splitlines() for word in each.split()] == line.split()
    assert max(len(each) for each in text_of(terminal).splitlines()[:-1]) <= 30
    assert text_of(file) == f"{line}\n"


ROWS = (("first-long-name", "12.5", "a remark of several words"), ("second", "1", ""))


@pytest.mark.parametrize("width", [20, 30, 45, 60, 200])
@pytest.mark.parametrize("framed", [True, False])
def test_no_word_of_a_table_is_broken(width: int, framed: bool) -> None:
    terminal = Terminal(file=io.StringIO(), width=width, color_system=None)
    terminal.print(Drawn(Table(["name", "test error, %", "remark"], ROWS, "lrl", "of two words"), framed=framed))
    words = {word.strip(":;─") for word in text_of(terminal).split()}
    assert words >= {word for row in ROWS for cell in row for word in cell.split()}
    assert max(map(len, text_of(terminal).splitlines())) <= width


def test_a_table_that_is_too_wide_is_shown_row_by_row() -> None:
    terminal = Terminal(file=io.StringIO(), width=30, color_system=None)
    terminal.print(Drawn(Table(["name", "test error, %", "remark"], ROWS, "lrl")))
    assert text_of(terminal).splitlines() == [
        "first-long-name: test error, %",
        "  12.5; remark a remark of",
        "  several words",
        "second: test error, % 1",
    ]


def test_a_pipe_is_as_wide_as_columns_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    assert made_for_output().width == 200
    monkeypatch.setenv("COLUMNS", "80")
    assert made_for_output().width == 80
    monkeypatch.setenv("COLUMNS", "0")  # of a terminal that does not know
    assert made_for_output().width == 200
