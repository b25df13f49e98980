"""Published against measured: a verdict for every number of the papers' tables, and for every sentence about them.

The kinds are kept apart. Values, ratios of seconds and claims say whether a paper is reproduced. Facts (sizes of
datasets) test the cards, what is set by the config no run can miss, and what is recomputed from printed numbers tests
the statistics: these three are listed, and counted apart. What the verdicts are, configs/published/rules.yaml says.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mpu_bench import published
from mpu_bench.config.rules import Claim, Explained, Judging, Printed, Sentence
from mpu_bench.config.sentences import of_experiment
from mpu_bench.config.sentences import sentences as of_paper
from mpu_bench.quantities import PUBLISHED_COLUMNS, QUANTITIES, RunStatus, quantity_of
from mpu_bench.results import naming, summary
from mpu_bench.results.folder import ResultsFolder
from mpu_bench.results.machines import located, versions_remark, why_not_comparable, with_runs
from mpu_bench.results.means import Summary
from mpu_bench.results.summary import summaries
from mpu_bench.verdict import judge
from mpu_bench.verdict.cells import (
    FACT,
    RATIO,
    SET,
    Cell,
    as_fitted,
    judged,
    number_in,
    with_difference,
    with_explanation,
)
from mpu_bench.verdict.claims import cited_by, of_claims, of_sentences
from mpu_bench.verdict.judge import Sample, Table, rules
from mpu_bench.verdict.pairs import has_no_budget, is_deterministic
from mpu_bench.verdict.points import NO_EVIDENCE, Evidence
from mpu_bench.verdict.verdict import Verdict

#: columns of published tables that say which cell is meant, or how exact it is, and are no cells themselves
_NAMES = (
    *("dataset", "solver", "budget", "bias", "setting", "note", "std", "lambda", "sigma2", "relative_deviation"),
    *("quantity", "test", "pair", "hypothesis", "decision", "level"),
)
FACTS = ("n", "n_test", "d", "classes", "largest_pair", "smallest_pair")  #: of datasets
_ANOTHER_LENGTH = 0.05  # relative, beyond which data of another length are another experiment


def compare(
    rows: Sequence[Summary],
    evidence: Evidence,
    judging: Judging,
    sentences: Sequence[Sentence] = (),
    elsewhere: Sequence[Sentence] = (),
) -> list[Cell]:
    """Judge results.

    Parameters
    ----------
    rows : sequence of Summary
        As `summary.summarize` returns them; with their ``runs``, it is known which seconds are of one machine.
    evidence : Evidence
        The runs and curves that claims are held against.
    judging : Judging
        What the config says.
    sentences : sequence of Sentence
        Of the paper, those that these results answer.
    elsewhere : sequence of Sentence
        Those that other results answer; the numbers that they are about have no cell here.

    Returns
    -------
    list of Cell
        One for each published number of the tables named under ``published`` and each row of results that answers it,
        and one for each claim. A number that a claim is about has no other.
    """
    said: list[Sentence | Claim] = [*sentences, *elsewhere, *judging.claims]
    statements = [claim.statement for claim in said if claim.statement is not None]
    claimed = {cited for statement in statements if isinstance(cited := cited_by(statement), Printed)}
    cells = [
        cell
        for table in judging.published
        for number, row, column in published_numbers(table)
        if Printed(table=table, row=number, column=column) not in claimed
        for cell in _cells(table, number, row, column, rows)
    ]
    cells += of_claims(judging.claims, evidence)
    cells += of_sentences(sentences, evidence)
    return [with_explanation(as_fitted(cell, judging.fitted), judging.explained) for cell in cells]


@dataclass(frozen=True)
class ExperimentCells:
    """The cells of one experiment, judged by today's rules.

    Attributes
    ----------
    paper, name, config : str
        What it is of; ``config`` is the experiment's name without that of a profile.
    cells : sequence of Cell
    evidence : Evidence
        What sentences are held against.
    explained : sequence of Explained
        What its config says on verdicts.
    """

    paper: str
    name: str
    cells: Sequence[Cell]
    config: str = ""
    evidence: Evidence = NO_EVIDENCE
    explained: Sequence[Explained] = ()


def of_results(results: ResultsFolder, rows: Sequence[Summary] | None = None) -> ExperimentCells:
    """Return the cells of an open results folder, judged by what its config and its paper say.

    Parameters
    ----------
    results : ResultsFolder
    rows : sequence of Summary, optional
        Its rows of table.csv, where they were made before.
    """
    paper, config = results.fact("paper") or "", Path(results.fact("config") or results.name).stem
    judging = Judging.model_validate(results.fact("judging") or {})
    runs = located(results.records(), results.environments())
    evidence = Evidence.of(config, runs, results.mean_curves)
    rows = with_runs(summaries(results) if rows is None else rows, runs)
    cells = compare(rows, evidence, judging, of_experiment(paper, config), of_paper(paper))
    return ExperimentCells(paper, results.name, cells, config, evidence, judging.explained)


def published_numbers(table: str) -> Iterator[tuple[int, Mapping[str, str], str]]:
    """Return the numbers of a published table by number of the row, row and column, each fact of a dataset once."""
    seen = set()
    for number, row in enumerate(published.table(table), start=1):
        for column, text in row.items():
            if not text or column in _NAMES or column.endswith("_std"):
                continue
            fact = (column, row.get("dataset"))
            if column not in FACTS or fact not in seen:
                seen.add(fact)
                yield number, row, column


def _cells(table: str, number: int, row: Mapping[str, str], column: str, rows: Sequence[Summary]) -> list[Cell]:
    is_fact = column in FACTS
    kind = FACT if is_fact else rules().kind(table, row, column)
    answers = _answers(row, column, rows)
    cell = Cell(
        kind,
        table,
        number,
        dataset=row.get("dataset", ""),
        solver="" if is_fact else row.get("solver", ""),
        budget="" if is_fact else row.get("budget", ""),
        column=column,
        published=number_in(row[column]),
        remark="" if answers else _why_not_run(row, rows, column),
        is_elsewhere=all(result.dataset != row.get("dataset") for result in rows),
    )
    if is_fact and answers:
        measured = float(answers[0].value(column))
        judgement = judge.judge_exactly(row[column], measured)
        return [with_difference(judged(replace(cell, measured=measured, count=1), judgement))]
    return [_measured_cell(cell, answer, row, rows) for answer in answers] or [cell]


def _answers(row: Mapping[str, str], column: str, rows: Sequence[Summary]) -> Sequence[Summary]:
    """Return the rows of results that have what a cell of a published table prints."""
    if column in FACTS:
        same = [result for result in rows if result.dataset == row.get("dataset") and _is_counted(result)]
        return [
            result
            for result in same
            if result.value(column) is not None and (column != "n" or _is_as_long(result, row))
        ]
    return [result for result in rows if summary.answers(row, result) and _is_as_long(result, row)]


def _is_counted(row: Summary) -> bool:
    """Return whether the data were there to be counted; before that, their card says what is expected."""
    return bool(row.count or row.largest_pair)


def _is_as_long(result: Summary, row: Mapping[str, str]) -> bool:
    """Return whether a result is on about as many rows as published: a part of a stream is another experiment."""
    n = number_in(row.get("n"))
    return n is None or result.n is None or abs(result.n - n) <= _ANOTHER_LENGTH * n


def _why_not_run(row: Mapping[str, str], rows: Sequence[Summary], column: str) -> str:
    same_dataset = [result for result in rows if result.dataset == row.get("dataset")]
    if not same_dataset:
        return "the dataset is not part of this run"
    if column in FACTS and not any(map(_is_counted, same_dataset)):
        return "the data are not here"
    other = [result for result in same_dataset if not _is_as_long(result, row)]
    if other:
        return f"run on {other[0].n} rows instead"
    if any(summary.answers(row, replace(result, as_published=None)) for result in same_dataset):
        return "run with other settings than those of the config"
    return "no run answers this row"


def _measured_cell(cell: Cell, row: Summary, printed: Mapping[str, str], rows: Sequence[Summary]) -> Cell:
    about = rules().tables[cell.table]
    quantity = "comparable_seconds" if cell.column == "seconds" else PUBLISHED_COLUMNS.get(cell.column, cell.column)
    runs = about.runs_on(cell.dataset)
    deviation = number_in(published.deviation(printed, cell.column))
    is_one_number = cell.kind == SET or runs == 1  # beside a single run, print has 0: no scatter was measured
    cell = replace(
        cell,
        solver=row.solver,
        parameters=row.parameters,
        published_std=None if deviation is None or is_one_number else about.sample_deviation(deviation, runs),
        published_runs=runs,
        count=row.count,
        measured=row.means.get(quantity),
        measured_std=None if cell.kind == SET else row.deviations.get(quantity),
        seconds=_seconds(row),
    )
    if not row.count:
        is_waiting = row.statuses == RunStatus.NOT_RUN
        waiting = "planned and not yet run; the same command goes on" if is_waiting else row.statuses
        return replace(cell, remark=row.reason or waiting)
    if cell.kind == RATIO:
        return _ratio_cell(cell, row, printed, rows, about)
    if cell.kind == SET:
        return replace(cell, verdict=Verdict.REPRODUCED, remark="set by the config")
    if cell.measured is None or cell.published is None:
        return replace(cell, remark=f"the runs have no {quantity}")
    cell = replace(cell, count=_sample_of(row, quantity).runs)
    return with_difference(_value_cell(cell, row, printed, about))


def _seconds(row: Summary) -> str:
    mean = row.means.get("train_seconds")
    mark = f" {naming.DISTURBED}" if row.disturbed_runs else ""
    return "" if mean is None else f"{QUANTITIES['train_seconds'].text(mean)}{mark}"


def _value_cell(cell: Cell, row: Summary, printed: Mapping[str, str], about: Table) -> Cell:
    assert cell.measured is not None
    assert cell.published is not None
    tolerance = rules().tolerance(cell.table, printed, cell.column)
    quantity = quantity_of(cell.column)
    is_accuracy = quantity is not None and quantity.is_accuracy
    unit = judge.half_unit(printed[cell.column])
    judgement = judge.judge_value(
        Sample(cell.published, cell.published_std, cell.published_runs or 1),
        Sample(cell.measured, cell.measured_std, cell.count),
        judge.floor_of(cell.published, tolerance, unit, about.accuracy, is_accuracy),
        tolerance,
        deterministic=is_deterministic([row]),
        constant=_constant(row, is_accuracy) if quantity is not None and quantity.is_share else None,
    )
    partly = "" if cell.count == row.planned else f"{cell.count} of {row.planned} runs"
    return judged(cell, judgement, partly, _instead(row) if judgement.verdict == Verdict.NOT_INFORMATIVE else "")


def _instead(row: Summary) -> str:
    """Return what says more of a row than an error that a constant answer has, too."""
    quantities = [QUANTITIES[name] for name in ("balanced_error", "positives_found")]
    known = [(quantity, row.means.get(quantity.name)) for quantity in quantities]
    return ", ".join(f"{quantity.heading}: {quantity.text(mean)}" for quantity, mean in known if mean is not None)


def _constant(row: Summary, is_accuracy: bool) -> float | None:
    """Return the percents of a classifier that always gives the most frequent answer of the test rows."""
    error = row.means.get("constant_error")
    return None if error is None else 100 * (1 - error if is_accuracy else error)


def _ratio_cell(cell: Cell, row: Summary, printed: Mapping[str, str], rows: Sequence[Summary], about: Table) -> Cell:
    """Judge seconds as their ratio to another solver's, as an interval that the printed digits leave."""
    other = about.ratio_to or ""
    cell = replace(cell, measured=None, measured_std=None)  # seconds alone are no ratio
    named = [line for line in published.table(cell.table) if _is_reference(line, printed, other)]
    if len(named) != 1:
        return replace(cell, remark=f"{other} is not reported beside it")
    others = [result for result in rows if result.count and _answers_peer(result, named[0], row)]
    if len(others) != 1:
        return replace(cell, remark=f"{other} was {'run with several settings' if others else 'not run'}")
    interval = judge.printed_ratio(printed[cell.column], named[0][cell.column])
    cell = replace(
        cell,
        over=other,
        published=float(printed[cell.column]) / float(named[0][cell.column]),
        published_std=None,
    )
    are_known = all(result.means.get("comparable_seconds") for result in (row, others[0]))
    sides = row.runs, others[0].runs
    reason = why_not_comparable("comparable_seconds", other, *sides) if are_known else _why_not_judged(row, others[0])
    if reason:
        return replace(cell, verdict=Verdict.NOT_COMPARABLE, remark=reason)
    both = judge.Seconds(*(_sample_of(result, "comparable_seconds") for result in (row, others[0])))
    printed_error = math.hypot(*(_printed_error(line, cell.column, about) for line in (printed, named[0])))
    judgement, remark = judge.judge_ratio(interval, both, printed_error), versions_remark("comparable_seconds", *sides)
    return with_difference(judged(replace(cell, measured=both.ratio, count=both.runs), judgement, remark))


def _sample_of(row: Summary, quantity: str) -> Sample:
    """Return the mean of a quantity over the runs of a row that have it, of so many runs."""
    counted = sum(run.value(quantity) is not None for run in row.runs) if row.runs else row.count
    return Sample(row.means.get(quantity) or 0.0, row.deviations.get(quantity), counted)


def _printed_error(row: Mapping[str, str], column: str, about: Table) -> float:
    """Return the standard error of the logarithm of printed seconds; 0 where no deviation is printed."""
    deviation, runs = number_in(published.deviation(row, column)), about.runs_on(row.get("dataset", ""))
    return about.sample_deviation(deviation, runs) / float(row[column]) / math.sqrt(runs) if deviation else 0.0


def _why_not_judged(*rows: Summary) -> str:
    disturbed = [row.solver for row in rows if row.means.get("comparable_seconds") is None and row.disturbed_runs]
    if disturbed:
        return f"disturbed while {' and '.join(disturbed)} ran"
    return "nothing was recorded of what disturbed these runs"


def _is_reference(row: Mapping[str, str], beside: Mapping[str, str], other: str) -> bool:
    same = all(row.get(name, "") == beside.get(name, "") for name in ("dataset", "budget"))
    alone = row.get("dataset") == beside.get("dataset") and not beside.get("budget")
    return row.get("solver") == other and (same or alone)


def _answers_peer(other: Summary, named: Mapping[str, str], row: Summary) -> bool:
    budget = named.get("budget")
    same_budget = not budget or other.budget_vectors == float(budget) or has_no_budget(other)
    return same_budget and other.dataset == row.dataset and summary.answers(named, other)
