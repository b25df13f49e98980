"""Every number that the papers print is answered by some config: a rule for its column and a run, or a claim."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from mpu_bench import resources
from mpu_bench.config.choices import Experiment
from mpu_bench.config.read import read_config
from mpu_bench.config.rules import Printed
from mpu_bench.config.sentences import of_experiment
from mpu_bench.experiment import plan
from mpu_bench.results import summary
from mpu_bench.verdict import comparison
from records import record

TABLES = sorted(path.stem for path in resources.bundled("configs/published").glob("*.csv"))

#: tables with numbers that no config answers yet; one that has become answered must leave
NOT_YET: set[str] = set()


@cache
def experiments() -> list[Experiment]:
    found = [read_config(Path(name)) for name in resources.config_names()]
    return [experiment for experiment in found if experiment.paper is not None]


@cache
def rows(name: str) -> list[dict[str, Any]]:
    """Return what the results of an experiment will be called."""
    seen = {}
    for run in plan.plan(next(experiment for experiment in experiments() if experiment.name == name)):
        solver = run.solver
        row = {"dataset": run.dataset.label, "solver": solver.name}
        row |= {"parameters": solver.parameters, "kernel": str(solver.kernel)}
        seen[str(row), solver.vectors] = row | {"budget_vectors": solver.vectors}
    return list(seen.values())


def unanswered(table: str) -> Iterator[str]:
    for place, row, column in comparison.published_numbers(table):
        if not any(answers(experiment, table, place, row, column) for experiment in experiments()):
            yield f"row {place} {dict(row)}: {column}"


def answers(experiment: Experiment, table: str, place: int, row: Any, column: str) -> bool:
    said = [*experiment.judging.claims, *of_experiment(experiment.paper or "", experiment.name)]
    if Printed(table=table, row=place, column=column) in [getattr(each.statement, "printed", None) for each in said]:
        return True
    if table not in experiment.judging.published:
        return False
    if column in comparison.FACTS:
        return row["dataset"] in {each.label for each in experiment.datasets}
    return any(summary.answers(row, record(each)) for each in rows(experiment.name))


@pytest.mark.parametrize("table", TABLES)
def test_every_printed_number_is_answered(table: str) -> None:
    missing = list(unanswered(table))
    if table in NOT_YET:
        assert missing, f"{table} is answered now: take it off the list"
    else:
        assert not missing, "\n".join(missing)


def test_every_config_of_a_paper_can_be_run_in_minutes() -> None:
    """`make reproduce-tables PROFILE=ci` leaves none out."""
    assert {experiment.paper for experiment in experiments()} >= {"mpu-2010", "sbp-2012"}
    assert [experiment.name for experiment in experiments() if "ci" not in experiment.profiles] == []
