"""A measured quantity is one entry in quantities.py, and a solver that measures it; all else follows from these."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from checkout import ROOT, add, call, copied

ENTRY = """\
    weights_norm: float | None = measured(
        "length of the weights", title="length of w", format=".3f", in_curves=True, on_page=18, in_terminal=16,
        in_exports=True)
"""
SOLVER = """
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mpu_bench.core.counters import PRESENTED, new_counters
from mpu_bench.core.models import LinearModel
from mpu_bench.core.solver import Measures, Solver, Status


class State(NamedTuple):
    weights: Any
    n: int
    counters: Any


@dataclass(frozen=True)
class Toy(Solver):
    name = "{name}"
    paper = "mine"
    ends = True

    def start(self, problem, kernel, seed):
        return State(np.array([3.0, 4.0]), problem.n, new_counters())

    def advance(self, state, until):
        state.counters[PRESENTED] = min(until.presented, state.n)
        return Status.DONE if state.counters[PRESENTED] >= state.n else Status.RUNNING

    def model(self, state):
        return LinearModel(state.weights[np.newaxis].copy())

    def measures(self, state):
        return Measures(objective=1.0{more})
"""
CONFIG = """
name: toys
dataset: {checkerboard: {rows: 60, test_rows: 60}}
plugins: [measuring.py, other.py, inventing.py]
solvers: [measuring, other, inventing]
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copy the project, add one entry, and run solvers of which one measures it and one what nobody has declared."""
    place = tmp_path_factory.mktemp("copy")
    package = copied(place, "scripts")
    add(package / "quantities.py", "    overhead_seconds: float | None", ENTRY)
    more = {"measuring": ', others={"weights_norm": 5.0}', "other": "", "inventing": ', others={"beauty": 5.0}'}
    for name, words in more.items():
        (place / f"{name}.py").write_text(SOLVER.format(name=name, more=words), encoding="utf-8")
    (place / "toys.yaml").write_text(CONFIG, encoding="utf-8")
    assert call(place, "run", "toys.yaml", "--results", "out", "--data", "data", code=1)
    return place


def rows(place: Path, name: str) -> list[dict[str, str]]:
    with (place / "out" / "toys" / name).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_a_run_has_the_quantity_and_those_of_other_solvers_have_none(copy: Path) -> None:
    runs = {row["solver"]: (row["status"], row["weights_norm"]) for row in rows(copy, "runs.csv")}
    assert runs["measuring"] == ("done", "5.0")
    assert runs["other"] == ("done", "")


def test_what_nobody_has_declared_is_refused(copy: Path) -> None:
    (row,) = (row for row in rows(copy, "runs.csv") if row["solver"] == "inventing")
    assert row["status"] == "error"
    assert "'beauty', which is no quantity of a curve" in row["reason"]


def test_curves_and_tables_have_it(copy: Path) -> None:
    for name, column in (("curves.csv", "weights_norm"), ("mean_curves.csv", "weights_norm_mean")):
        found = [(row["solver"], row[column]) for row in rows(copy, name)]
        assert {value for solver, value in found if solver == "measuring"} == {"5.0"}
        assert {value for solver, value in found if solver == "other"} == {""}
    means = {row["solver"]: row["weights_norm_mean"] for row in rows(copy, "table.csv")}
    assert (means["measuring"], means["other"]) == ("5.0", "")


@pytest.mark.parametrize("form", ["md", "tex"])
def test_tables_for_people_have_it(copy: Path, form: str) -> None:
    text = call(copy, "export", "out/toys", "--to", form)
    assert "of w" in text
    assert "5.000" in text


def test_the_terminal_and_the_page_have_it(copy: Path) -> None:
    shown = call(copy, "show", "out/toys")
    assert "length" in shown
    assert "5.000" in shown
    call(copy, "report", "out/toys", "--out", "page")
    page = (copy / "page" / "index.html").read_text("utf-8")
    assert "length of w</th>" in page
    assert "5.000" in page


def test_an_older_folder_is_read_and_has_none_of_it(copy: Path) -> None:
    exported = call(copy, "export", str(ROOT / "results" / "baseline" / "mpu-table2-ci"))
    assert "weights_norm_mean" in exported.splitlines()[0]


def test_the_documentation_has_it(copy: Path) -> None:
    program = "from documents import columns; print(columns.pages()['results.md'])"
    text = call(copy, program=program)
    assert "| `weights_norm` | number |" in text
    assert "length of the weights" in text
