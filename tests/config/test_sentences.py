"""The sentences of the papers: the shipped files, and what is refused in one."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from mpu_bench import resources
from mpu_bench.config import sentences as module
from mpu_bench.config.read import read_config
from mpu_bench.config.rules import Judging, NumberStatement, Observation, Sentence, SignificantStatement, Where
from mpu_bench.config.sentences import observations, of_experiment, sentences
from mpu_bench.errors import ConfigError
from mpu_bench.experiment import plan
from mpu_bench.quantities import Record
from mpu_bench.scaled import to_json
from mpu_bench.verdict import comparison
from mpu_bench.verdict.cells import VALUE
from mpu_bench.verdict.claims import of_sentences
from mpu_bench.verdict.points import Evidence, selected

PAPERS = ("bpegasos-2010", "forgetron-2005", "frank-wolfe-2012", "mpu-2010", "sbp-2012")
PLACES = ("abstract", "section", "appendix", "figure", "table", "equation", "theorem", "lemma", "page")
STATED = [
    (paper, each)
    for paper in PAPERS
    for each in [*sentences(paper), *observations(paper)]
    if each.statement is not None
]
LONGEST = 30  # words of a paper that are quoted at once

SENTENCE = """
sentences:
  - name: a-sentence
    claim: MPU is faster than DCD
    quote: MPU is faster
    at: page 1
    experiments: [adult]
    statement: {kind: lower, quantity: objective, of: {solver: mpu}, than: {solver: dcd}, each: {dataset: adult}}
seen:
  - name: an-observation
    claim: MPU makes fewer updates than DCD
    experiments: [web]
    statement: {kind: lower, quantity: updates, of: {solver: mpu}, than: {solver: dcd}, each: {dataset: web}}
"""


@pytest.mark.parametrize("paper", PAPERS)
def test_every_sentence_is_quoted_briefly_with_its_place(paper: str) -> None:
    assert sentences(paper)
    for sentence in sentences(paper):
        assert len(sentence.quote.split()) <= LONGEST, sentence.name
        assert any(word in sentence.at.lower() for word in PLACES), sentence.name


def test_names_are_unique_over_all_papers() -> None:
    names = Counter(each.name for paper in PAPERS for each in [*sentences(paper), *observations(paper)])
    assert [name for name, count in names.items() if count > 1] == []


def test_every_file_is_of_a_paper() -> None:
    assert {path.stem for path in resources.bundled("configs/published/sentences").glob("*.yaml")} == set(PAPERS)
    assert sentences("mpu-2011") == []


@pytest.fixture(scope="module")
def planned() -> dict[str, list[Record]]:
    """Return what the results of every experiment will be called."""
    found = {}
    for name in resources.config_names():
        experiment = read_config(Path(name))
        found[name] = [
            Record(
                experiment=name, dataset=run.dataset.label, solver=run.solver.name,
                parameters=json.dumps(run.solver.parameters, default=to_json), kernel=str(run.solver.kernel),
                budget_vectors=run.solver.vectors,
            )
            for run in plan.plan(experiment)
        ]  # fmt: skip
    return found


@pytest.mark.parametrize(("paper", "sentence"), STATED, ids=lambda each: getattr(each, "name", each))
def test_every_point_of_a_statement_will_be_answered_by_a_run(
    paper: str, sentence: Sentence | Observation, planned
) -> None:
    """A dataset, budget or parameter that no config of the sentence runs could never be measured."""
    statement = sentence.statement
    rows = [row for name in sentence.experiments for row in planned[name]]
    if isinstance(statement, SignificantStatement):
        missing = [name for name in statement.datasets if name not in {row.dataset for row in rows}]
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
            (cell,) = of_sentences([each], Evidence(), [])
            assert cell.kind == VALUE


def test_every_config_of_a_paper_is_set_against_something() -> None:
    for name in resources.config_names():
        config = read_config(Path(name))
        judging = config.judging
        assert config.paper is None or of_experiment(config.paper, name) or judging.published or judging.claims, name


def test_a_number_that_a_sentence_is_about_is_listed_once() -> None:
    judging = Judging.model_validate({"published": "forgetron-figure2"})
    cells = comparison.compare([], Evidence(), judging, (), sentences("forgetron-2005"))
    assert {(cell.dataset, cell.column) for cell in cells} == {("census-income", "n"), ("mnist", "n")}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("experiments: [adult]", "experiments: [adlt]", "adult"),
        ("quantity: objective", "quantity: objektive", "objective"),
        ("solver: dcd", "solver: dcc", "dcd"),
        ("kind: lower", "kind: least", "kind"),
        ("experiments: [adult]", "no_statement: none", "statement"),
        ("experiments: [web]", "experiments: [wbe]", "web"),
        ("experiments: [web]", "experiments: []", "experiments"),
        ("quantity: updates", "quantity: update", "updates"),
        ("name: an-observation", "name: a-sentence", "another sentence"),
    ],
)
def test_a_mistake_is_one_message(
    old: str, new: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "paper.yaml").write_text(SENTENCE.replace(old, new), encoding="utf-8")
    monkeypatch.setattr(module, "_FOLDER", str(tmp_path))
    module._read.cache_clear()
    with pytest.raises(ConfigError, match=message):
        sentences("paper")
    module._read.cache_clear()


@pytest.mark.parametrize("paper", ["", "x" * 5000, "../sentences/mpu-2010", "a\0b"])
def test_a_paper_that_is_none_has_no_sentences(paper: str) -> None:
    assert sentences(paper) == []
