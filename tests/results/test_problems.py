"""Objectives of different problems never stand in one column."""

from __future__ import annotations

import json

import pytest

from mpu_bench import solvers
from mpu_bench.errors import ConfigError
from mpu_bench.quantities import QUANTITIES
from mpu_bench.results import naming, summary
from mpu_bench.results.means import Summary
from records import record

OBJECTIVE = QUANTITIES["objective"]


def row(solver: str, objective: float | None = 1.5, **values: object) -> Summary:
    """Return a row of results as `summary.summarize` makes it."""
    parameters = values.pop("parameters", {})
    known = {
        "dataset": "adult", "solver": solver, "parameters": json.dumps(parameters), "kernel": "linear", "seed": 0,
        "status": "done", "objective": objective,
    }  # fmt: skip
    (made,) = summary.summarize([record(known | values)], [])
    return made


def objectives(*rows: Summary) -> dict[str, list[str]]:
    return {column.heading: [column.text(each) for each in rows] for column in naming.columns(rows, [OBJECTIVE])}


def test_objectives_of_one_problem_share_a_column() -> None:
    assert objectives(row("mpu"), row("dcd", 2.5), row("perceptron", None)) == {"objective": ["1.5", "2.5", ""]}


def test_every_other_problem_has_a_column_of_its_own() -> None:
    rows = [row("mpu"), row("smo", 2.5, parameters={"bias": True}), row("sbp", 0.5), row("fw", 3.0), row("dcd", 4.0)]
    assert objectives(*rows) == {
        "objective: w.w/2 + C sum hinge": ["1.5", "", "", "", "4"],
        "objective: w.w/2 + C sum hinge, with bias": ["", "2.5", "", "", ""],
        "objective: largest f(w)": ["", "", "0.5", "", ""],
        "objective: smallest squared radius": ["", "", "", "3", ""],
    }


def test_the_sum_over_machines_is_another_problem_for_another_reduction() -> None:
    each, all_pairs = ({"multiclass": name} for name in ("one-against-rest", "one-against-one"))
    assert len(objectives(row("dcd", parameters=each), row("dcd", parameters=all_pairs))) == 2


def test_weights_of_classes_make_another_problem() -> None:
    weights = [{}, {"class_weight": "balanced"}, {"class_weight": {"1": 2.0, "-1": 1.0}}]
    assert list(objectives(*(row("dcd", parameters=each) for each in weights))) == [
        "objective: w.w/2 + C sum hinge",
        "objective: w.w/2 + C sum hinge, class weights balanced",
        "objective: w.w/2 + C sum hinge, class weights 1 2, -1 1",
    ]


def test_a_solver_of_the_users_own_shares_a_column_if_it_says_so() -> None:
    known, unknown = row("mine", problem="w.w/2 + C sum hinge"), row("mine")
    assert list(objectives(row("mpu"), known)) == ["objective"]
    assert list(objectives(row("mpu"), unknown)) == ["objective: w.w/2 + C sum hinge", "objective: mine's own"]


def test_a_solver_that_says_its_objective_is_maximised_as_for_0_2_0_is_told_how_to_now(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert naming.problem_of("sbp", {}) == "largest f(w)"
    monkeypatch.setattr(solvers.load("sbp"), "is_maximised", False)
    with pytest.raises(ConfigError, match="say is_maximised = True"):
        naming.problem_of("sbp", {})
