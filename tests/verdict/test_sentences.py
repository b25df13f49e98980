"""The sentences of the papers: each is listed, each that can be judged is stated, and each statement is understood."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from mpu_bench.config.read import config_names, read_config
from mpu_bench.config.rules import NumberStatement, Sentence, SignificantStatement, Where
from mpu_bench.config.schema import PAPERS
from mpu_bench.experiment import plan
from mpu_bench.scaled import to_json
from mpu_bench.verdict import comparison
from mpu_bench.verdict.judge import NOT_RUN
from mpu_bench.verdict.points import Evidence, selected
from mpu_bench.verdict.sentences import of_experiment, sentences

STATED = [(paper, each) for paper in PAPERS for each in sentences(paper) if each.statement is not None]
WORDS = 60


@pytest.fixture(scope="module")
def planned() -> dict[str, list[dict[str, object]]]:
    """Return what the results of every experiment will be called."""
    found = {}
    for name in config_names():
        experiment = read_config(Path(name))
        found[name] = [
            {"experiment": name, "dataset": run.dataset.label, "solver": run.solver.name,
             "parameters": json.dumps(run.solver.parameters, default=to_json), "kernel": str(run.solver.kernel),
             "budget_vectors": run.solver.vectors}
            for run in plan.plan(experiment)
        ]  # fmt: skip
    return found


def test_names_are_unique_over_all_papers() -> None:
    names = Counter(each.name for paper in PAPERS for each in sentences(paper))
    assert [name for name, count in names.items() if count > 1] == []


@pytest.mark.parametrize("paper", PAPERS)
def test_every_paper_is_listed_with_quotes_and_places(paper: str) -> None:
    assert len(sentences(paper)) >= 10
    assert all(each.at and len(each.quote.split()) <= WORDS for each in sentences(paper))


@pytest.mark.parametrize(("paper", "sentence"), STATED, ids=lambda each: getattr(each, "name", each))
def test_a_statement_without_results_is_not_run(paper: str, sentence: Sentence) -> None:
    (cell,) = comparison.of_sentences([sentence], Evidence(), [])
    assert cell.verdict == NOT_RUN
    assert sentence in of_experiment(paper, sentence.experiments[0])


@pytest.mark.parametrize(("paper", "sentence"), STATED, ids=lambda each: getattr(each, "name", each))
def test_every_point_of_a_statement_will_be_answered_by_a_run(paper: str, sentence: Sentence, planned) -> None:
    """A dataset, budget or parameter that no config of the sentence runs could never be measured."""
    statement = sentence.statement
    rows = [row for name in sentence.experiments for row in planned[name]]
    if isinstance(statement, SignificantStatement):
        missing = [name for name in statement.datasets if name not in {row["dataset"] for row in rows}]
    else:
        assert statement is not None
        compared = [statement.of, getattr(statement, "over", None), *getattr(statement, "than", [])]
        missing = [
            (point, where)
            for point in statement.points()
            for where in compared
            if isinstance(where, Where) and not selected(rows, where, point)
        ]
    assert not missing, missing


def test_a_number_of_a_sentence_has_a_rule() -> None:
    for _, each in STATED:
        if isinstance(each.statement, NumberStatement) and each.statement.within is None:
            (cell,) = comparison.of_sentences([each], Evidence(), [])
            assert cell.kind == comparison.VALUE
