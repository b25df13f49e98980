"""The cells of claims: sentences of the papers, what configs claim, tests computed again from printed numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean, stdev
from typing import Any

from mpu_bench import published
from mpu_bench.config.rules import (
    Claim,
    Explained,
    NumberStatement,
    Observation,
    Printed,
    Sentence,
    SignificantStatement,
    Statement,
    Where,
)
from mpu_bench.errors import StoreError
from mpu_bench.quantities import QUANTITIES, is_accuracy, is_seconds
from mpu_bench.results.machines import versions_remark
from mpu_bench.texts import counted
from mpu_bench.verdict import curves as _curves  # noqa: F401  # whose statements it registers
from mpu_bench.verdict import judge, rank_tests
from mpu_bench.verdict.cells import CLAIM, RECOMPUTED, VALUE, Cell, judged, number_in, with_difference, with_explanation
from mpu_bench.verdict.judge import Sample, Table, rules
from mpu_bench.verdict.pairs import by_pair, is_deterministic
from mpu_bench.verdict.points import Evidence, Point, points_of, runs_at, selected
from mpu_bench.verdict.statements import p_value_over, verdict_of
from mpu_bench.verdict.verdict import Verdict

_OPEN = (Verdict.INCONCLUSIVE, None, Verdict.NOT_COMPARABLE)  #: of points: for neither side


def of_claims(claims: Sequence[Claim], evidence: Evidence) -> list[Cell]:
    """Return a cell for each claim of a config, which its data may support by chance."""
    sampled = evidence._replace(samples_test_rows=True)
    return [_claim_cell("", claim.claim, claim.statement, sampled) for claim in claims]


def of_sentences(
    sentences: Sequence[Sentence | Observation], evidence: Evidence, explained: Sequence[Explained] = ()
) -> list[Cell]:
    """Return a cell for each sentence that has a statement, held against the runs of the experiments it names."""
    cells = [
        _claim_cell(sentence.name, sentence.claim, sentence.statement, evidence.within(sentence.experiments))
        for sentence in sentences
        if sentence.statement is not None
    ]
    return [with_explanation(cell, explained) for cell in cells]


def cited_by(statement: Statement) -> float | Printed | None:
    """Return the published number that a statement is about; None if it is about none."""
    return getattr(statement, "printed", None)


def _claim_cell(name: str, claim: str, statement: Statement, evidence: Evidence) -> Cell:
    cited = cited_by(statement)
    cell = Cell(CLAIM, column=claim, sentence=name, timed=int(_is_of_seconds(statement)))
    if isinstance(cited, Printed):
        text = published.table(cited.table)[cited.row - 1][cited.column]
        cell = replace(cell, table=cited.table, row=cited.row, published=number_in(text))
    if isinstance(statement, SignificantStatement) and statement.of is not None:
        return _recomputed_cell(cell, statement)
    try:
        if isinstance(statement, NumberStatement) and statement.within is None:
            return _number_cell(cell, statement, evidence)
        points = points_of(statement, evidence)
    except StoreError as error:
        return replace(cell, remark=str(error))
    cell = _with_points(cell, points, getattr(statement, "most", False))
    if evidence.samples_test_rows and cell.points_measured != cell.points:
        cell = replace(cell, remark="; ".join(filter(None, [cell.remark, _unmatched(statement, evidence)])))
    trained = [run for run in evidence.runs if run.train_seconds is not None]
    has_no_seconds = trained and all(run.comparable_seconds is None for run in trained)
    if cell.timed and cell.verdict == Verdict.NOT_RUN and has_no_seconds:
        return replace(cell, remark="its runs have no seconds to compare: disturbed, or not recorded")
    if cell.timed and cell.points_measured:
        versions = versions_remark("train_seconds", *(selected(evidence.runs, *one) for one in _compared(statement)))
        return replace(cell, remark="; ".join(filter(None, [cell.remark, versions])))
    return cell


def _is_of_seconds(statement: Statement) -> bool:
    """Return whether a statement is about measured seconds; a test recomputed from printed ones is not."""
    if isinstance(statement, SignificantStatement) and statement.of is not None:
        return False
    against = getattr(statement, "against", [])
    return any(map(is_seconds, [statement.quantity, *map(str, [against] if isinstance(against, str) else against)]))


def _compared(statement: Statement) -> list[tuple[Where, Mapping[str, Any]]]:
    """Return which runs a statement is about: what selects them, and at which point."""
    if isinstance(statement, SignificantStatement):
        return [
            (Where(solver=name), {"dataset": dataset}) for name in statement.solvers for dataset in statement.datasets
        ]
    wheres = [statement.of, *getattr(statement, "than", ())]
    return [(where, point) for where in wheres for point in statement.points()]


def _unmatched(statement: Statement, evidence: Evidence) -> str:
    """Return the first value that a statement names and no run has; nothing where there are no runs at all."""
    for where, point in _compared(statement) if evidence.runs else ():
        if not selected(evidence.runs, where, point):
            columns = {name: value for name, value in where if name != "parameters" and value is not None}
            for name, value in {**point, **columns, **where.parameters}.items():
                alone = {name: value} if name in Where.model_fields else {"parameters": {name: value}}
                if not selected(evidence.runs, Where.model_construct(**alone), {}):
                    return f"no finished run has {name} {value}"
    return ""


def _with_points(cell: Cell, points: Sequence[Point], most: bool) -> Cell:
    """Return a claim's cell with what its points say."""
    measured = sum(point.is_measured for point in points)
    verdict = verdict_of(points, most)
    against = [point for point in points if point.verdict is Verdict.CONTRADICTED]
    unclear = [point for point in points if point.verdict in _OPEN or (point.words and not point.is_measured)]
    words = _shown(against or unclear)
    p_value = p_value_over(points) if verdict == Verdict.CONTRADICTED and not most else None
    if p_value is not None and p_value > rank_tests.LEVEL:
        words.append(f"over {counted(measured, 'point')} that may be noise: p = {p_value:.2g} (Bonferroni)")
    return replace(
        cell,
        verdict=verdict,
        points=len(points),
        points_measured=measured,
        contradicted=len(against),
        count=measured,
        remark="; ".join(words) if verdict != Verdict.SUPPORTED else "",
    )


def _shown(points: Sequence[Point]) -> list[str]:
    """Return what some points say: once where one test speaks of all, else the first three."""
    if len(points) > 1 and len({point.words for point in points}) == 1 and points[0].words:
        return [points[0].words]
    words = [f"{point.name}: {point.words}" if point.words else point.name for point in points[:3]]
    return [*words, f"and {len(points) - len(words)} more"] if len(points) > len(words) else words


def _number_cell(cell: Cell, statement: NumberStatement, evidence: Evidence) -> Cell:
    """Judge the mean over all points as a value, of the seeds and splits at which each of them is measured."""
    of_points = [runs_at(evidence, statement.of, point) for point in statement.points()]
    runs = [run for rows in of_points for run in rows]
    pairs = [by_pair(rows, statement.quantity) for rows in of_points]
    common = set.intersection(*map(set, pairs))
    values = [fmean(of_point[pair] for of_point in pairs) for pair in common]
    about = rules().tables[cell.table] if cell.table else Table()
    printed, printed_deviation = statement.printed, None
    if isinstance(printed, Printed):
        row = published.table(printed.table)[printed.row - 1]
        text, printed_deviation = row[printed.column], number_in(published.deviation(row, printed.column))
    else:
        text = f"{printed:.15g}"
    number, count = float(text), about.runs_on(runs[0].dataset) if runs else about.runs
    std = None if printed_deviation is None or count == 1 else about.sample_deviation(printed_deviation, count)
    cell = replace(cell, kind=VALUE, published=number, published_std=std, count=len(values), published_runs=count)
    if not values:
        return replace(
            cell, remark=f"{sum(map(bool, pairs))} of {counted(len(pairs), 'point')} measured" if any(pairs) else ""
        )
    mean, deviation = fmean(values), stdev(values) if len(values) > 1 else None
    tolerance, scale = rules().tolerance_of(statement.quantity), QUANTITIES[statement.quantity].scale
    unit, is_of_accuracy = scale * judge.half_unit(text), is_accuracy(statement.quantity)
    floor = judge.floor_of(scale * number, tolerance, unit, about.accuracy, is_of_accuracy)
    # fixed problems are no sample: the mean over all of them is one number
    random = runs[0].dataset not in about.fixed_problems
    judgement = judge.judge_value(  # rules speak of errors in percent
        Sample(scale * number, std and scale * std, count),
        Sample(scale * mean, deviation and scale * deviation if random else None, len(values) if random else 1),
        floor,
        tolerance,
        deterministic=random and is_deterministic(runs),
    )
    judgement = judgement if random else replace(judgement, remark=f"the mean of {len(values)} fixed problems")
    judgement = replace(judgement, allowed=judgement.allowed and judgement.allowed / scale)
    return with_difference(judged(replace(cell, measured=mean, measured_std=deviation), judgement))


def _recomputed_cell(cell: Cell, statement: SignificantStatement) -> Cell:
    """Set a statistic of printed numbers beside the printed statistic."""
    assert statement.of is not None
    assert statement.printed is not None
    try:
        values = rank_tests.matched(published.table(statement.of), statement.quantity, statement.solvers)
        if statement.test == "wilcoxon":
            outcome: Any = rank_tests.wilcoxon(values[:, 0], values[:, 1], statement.alternative, statement.ties)
        else:
            best = "highest" if is_accuracy(statement.quantity) else "lowest"
            outcome = rank_tests.friedman(values, best, corrected=statement.corrected)  # type: ignore[arg-type]
    except StoreError as error:
        return replace(cell, kind=RECOMPUTED, remark=str(error))
    is_p_value = statement.printed.column == "p_value"
    recomputed = float(outcome.p_value if is_p_value else outcome.statistic)
    text = published.table(statement.printed.table)[statement.printed.row - 1][statement.printed.column]
    judgement = judge.judge_exactly(text, recomputed, is_p_value)
    cell = replace(cell, kind=RECOMPUTED, measured=recomputed, count=len(values))
    return with_difference(judged(cell, judgement, f"over {len(values)} datasets of {statement.of} as published"))
