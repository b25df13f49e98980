"""Statements over the points they range over: what the results say at each, for every kind of statement."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpu_bench.config.rules import (
    AlikeStatement,
    BoundStatement,
    NumberStatement,
    OrderStatement,
    SignificantStatement,
    SlopeStatement,
    TrendStatement,
    Where,
)
from mpu_bench.errors import StoreError
from mpu_bench.quantities import QUANTITIES, Record, is_accuracy
from mpu_bench.results.machines import runs_of, why_disturbed, why_not_comparable
from mpu_bench.results.means import Summary, along, grouped
from mpu_bench.scaled import parameters_in
from mpu_bench.texts import counted
from mpu_bench.verdict import rank_tests
from mpu_bench.verdict.judge import is_within, rules
from mpu_bench.verdict.pairs import Difference, by_pair, mean_of, p_value_of
from mpu_bench.verdict.points import (
    Entry,
    Evidence,
    Point,
    Sample,
    alike,
    apart_of,
    compared,
    curve_at,
    each_point,
    logarithms,
    name_of,
    runs_at,
    sample_of,
    scaled,
    selected,
    stopped_before,
    tolerance_of,
    verdict_at,
    why_not_judged,
    words_of,
)
from mpu_bench.verdict.verdict import Verdict

Array = NDArray[np.float64]


def verdict_of(points: Sequence[Point], most: bool = False) -> Verdict:
    """Return the verdict on a statement: one point that contradicts it is enough; else all must be measured.

    One of ``most`` points is contradicted by half of them, and supported by more than half of those measured. Where no
    point is judged though some have values, the statement is not.
    """
    measured = [point.verdict for point in points if point.is_measured]
    if not measured:
        is_apart = any(point.verdict is Verdict.NOT_COMPARABLE for point in points)
        return Verdict.NOT_COMPARABLE if is_apart else Verdict.NOT_RUN
    if 2 * measured.count(Verdict.CONTRADICTED) >= len(points) or (Verdict.CONTRADICTED in measured and not most):
        return Verdict.CONTRADICTED
    is_supported = 2 * measured.count(Verdict.SUPPORTED) > len(measured) if most else Verdict.SUPPORTED in measured
    if not is_supported or (Verdict.INCONCLUSIVE in measured and not most):
        return Verdict.INCONCLUSIVE
    return Verdict.SUPPORTED if len(measured) == len(points) else Verdict.SUPPORTED_SO_FAR


def p_value_over(points: Sequence[Point]) -> float | None:
    """Return the p that what contradicts a statement is noise, over all points that are judged; None if not known.

    By Bonferroni: the more points an "every" has, the more often one of them lies beyond two standard errors.
    """
    judged = [point for point in points if point.is_measured]
    p_values = [point.p_value for point in judged if point.verdict is Verdict.CONTRADICTED]
    known = [p_value for p_value in p_values if p_value is not None]
    return min(1.0, len(judged) * min(known)) if p_values and len(known) == len(p_values) else None


def _number(value: float, quantity: str) -> str:
    declared = QUANTITIES.get(quantity)
    return declared.text(value) if declared is not None else f"{value:.4g}"


def _both(sides: Sequence[Sample], statement: OrderStatement | AlikeStatement, other: str) -> str:
    is_ratio = isinstance(statement, OrderStatement) and statement.over is not None
    means = [f"{sample.mean:.4g}" if is_ratio else _number(sample.mean, statement.quantity) for sample in sides]
    rows = f" on {counted(sides[0].test_rows, 'test row')}" if sides[0].test_rows else ""
    return f"{means[0]} to " + (f"{means[1]} of {other}" if " " in other else f"{other}'s {means[1]}") + rows


@each_point.register
def _(statement: OrderStatement, evidence: Evidence) -> Iterator[Point]:
    sign = 1.0 if statement.kind == "lower" else -1.0
    factors = (statement.by_factor, 1.0) if sign > 0 else (1.0, statement.by_factor)
    for name, other, *both in _samples(statement, evidence):
        of, than = map(scaled, both, factors)
        if reason := why_not_judged(statement.quantity, other, of, than):
            yield Point(name, Verdict.NOT_COMPARABLE, reason)
        elif (apart := apart_of(of, than)) is None:
            yield Point(name, Verdict.NOT_RUN, of.missing or than.missing)
        else:
            signed = apart._replace(mean=sign * apart.mean + statement.slack)
            floor, beyond_noise = _floor(statement, compared(of, than)[1].mean), statement.most or of.test_rows > 0
            verdict = verdict_at(signed, floor, beyond_noise=beyond_noise)
            yield Point(name, verdict, _both(compared(*both), statement, other), p_value_of(signed))


def _floor(statement: OrderStatement | TrendStatement, value: float) -> float:
    """Return by how much a point may go against a statement: as two values of the quantity may differ."""
    if statement.over is None:
        return tolerance_of(statement.quantity, value)
    tolerance = rules().tolerance_of(statement.quantity)
    return (tolerance.relative or tolerance.of_error or 0.0) * abs(value)


def _samples(
    statement: OrderStatement | AlikeStatement, evidence: Evidence
) -> Iterator[tuple[str, str, Sample, Sample]]:
    """Yield for each point and other what they are called, and both samples."""
    for point, where in itertools.product(list(statement.points()), statement.than):
        other = words_of(where)
        of, than = (sample_of(statement, side, evidence, point) for side in (statement.of, where))
        yield name_of(point, other if len(statement.than) > 1 else ""), other, of, than


@each_point.register
def _(statement: AlikeStatement, evidence: Evidence) -> Iterator[Point]:
    for name, other, of, than in _samples(statement, evidence):
        if reason := why_not_judged(statement.quantity, other, of, than):
            yield Point(name, Verdict.NOT_COMPARABLE, reason)
        elif not of.values or not than.values:
            yield Point(name, Verdict.NOT_RUN, of.missing or than.missing)
        else:
            sides = compared(of, than)
            if statement.within_factor is not None:
                apart, allowed = apart_of(logarithms(of), logarithms(than)), math.log(statement.within_factor)
            else:
                apart, allowed = apart_of(of, than), statement.within or alike(statement.quantity, sides[1].mean)
            verdict = _near(apart, allowed) if apart else Verdict.INCONCLUSIVE  # 0 is no number of times of another
            yield Point(name, verdict, _both(sides, statement, other))


@each_point.register
def _(statement: NumberStatement, evidence: Evidence) -> Iterator[Point]:
    """Set each point beside a number that the text gives roughly."""
    assert isinstance(statement.printed, float)
    assert statement.within is not None
    for point in statement.points():
        sample = sample_of(statement, statement.of, evidence, point)
        printed = Sample(dict.fromkeys(sample.values, statement.printed), certain=True, dataset=sample.dataset)
        if (apart := apart_of(sample, printed)) is None:
            yield Point(name_of(point), Verdict.NOT_RUN, sample.missing)
        else:
            yield Point(name_of(point), _near(apart, statement.within), _number(sample.mean, statement.quantity))


def _near(between: Difference, allowed: float) -> Verdict | None:
    if is_within(abs(between.mean), allowed):
        return Verdict.SUPPORTED
    if between.least is None:
        return Verdict.INCONCLUSIVE
    return None if is_within(abs(between.least), allowed) else Verdict.CONTRADICTED


@each_point.register
def _(statement: TrendStatement, evidence: Evidence) -> Iterator[Point]:
    sign = 1.0 if statement.kind == "rising" else -1.0
    for name, members in _by_rest(statement, [statement.along]).items():
        entries = [Entry(point, sample_of(statement, statement.of, evidence, point)) for point in members]
        for before, after in _steps(entries if statement.between == "steps" else _ends(entries)):
            step = f"{before.point[statement.along]} to {after.point[statement.along]}"
            whole = ", ".join(filter(None, [name, step]))
            low, high = before.sample, after.sample
            if reason := why_not_judged(statement.quantity, name_of(before.point), low, high):
                yield Point(whole, Verdict.NOT_COMPARABLE, reason)
            elif (apart := apart_of(low, high)) is None:
                yield Point(whole, Verdict.NOT_RUN, low.missing or high.missing)
            else:
                low, high = compared(low, high)
                floor, beyond_noise = _floor(statement, low.mean), statement.most or low.test_rows > 0
                signed = apart._replace(mean=sign * apart.mean)
                verdict = verdict_at(signed, floor, beyond_noise=beyond_noise)
                yield Point(whole, verdict, f"{low.mean:.4g} to {high.mean:.4g}", p_value_of(signed))


def _by_rest(statement: TrendStatement | SlopeStatement, along: Collection[str]) -> dict[str, list[Mapping[str, Any]]]:
    """Return the points of a statement by what is the same for a series of them: all but what it goes along."""
    return grouped(
        statement.points(), lambda point: name_of({name: point[name] for name in point if name not in along})
    )


def _ends(entries: Sequence[Entry]) -> Sequence[Entry]:
    """Return the first and the last entry that have values; of none, the first and the last."""
    measured = [entry for entry in entries if entry.sample.values]
    usable = measured if len(measured) > 1 else entries
    return [usable[0], usable[-1]]


def _steps(entries: Sequence[Entry]) -> Iterator[tuple[Entry, Entry]]:
    """Yield each entry of a series with the last before it that has values: what rises, rises across a gap, too."""
    before = entries[0]
    for entry in entries[1:]:
        yield before, entry
        if entry.sample.values or not before.sample.values:
            before = entry


@each_point.register
def _(statement: SlopeStatement, evidence: Evidence) -> Iterator[Point]:
    """Fit the slope for each seed: their scatter is its standard error. All points of one fit say what it says."""
    for members in _by_rest(statement, _PLACES.get(statement.against, ())).values():
        reason = _why_no_slope(statement, evidence, members)
        outcome = (Verdict.NOT_COMPARABLE, reason) if reason else _slope(statement, evidence, members)
        for member in members:
            is_there = reason or selected(evidence.runs, statement.of, member)
            yield Point(name_of(member), *(outcome if is_there else (Verdict.NOT_RUN, "")))


def _slope(
    statement: SlopeStatement, evidence: Evidence, members: Sequence[Mapping[str, Any]]
) -> tuple[Verdict | None, str]:
    """Return what the slope over some points says, in words."""
    series = [(x, y) for x, y in _log_log(statement, evidence, members) if len(set(x)) > 1]
    if not series:
        return Verdict.NOT_RUN, ""
    if any(min(y) <= 0 for _, y in series):
        return Verdict.INCONCLUSIVE, "not all values are above 0, and their logarithms have no slope"
    slopes = [float(np.polyfit(np.log(x), np.log(y), 1)[0]) for x, y in series]
    low, high = statement.between
    apart = mean_of(slopes)
    if short := stopped_before(_curves(statement, evidence, members), statement.against, statement.up_to or 0.0):
        return Verdict.INCONCLUSIVE, f"slope {apart.mean:.3f}; {short}"
    return verdict_at(apart._replace(mean=min(apart.mean - low, high - apart.mean))), f"slope {apart.mean:.3f}"


def _why_no_slope(statement: SlopeStatement, evidence: Evidence, members: Sequence[Mapping[str, Any]]) -> str:
    if statement.against in _ALONG_CURVES:  # of the same runs
        return why_disturbed(statement.quantity, runs_of(_curves(statement, evidence, members)))
    entries = [Entry(member, sample_of(statement, statement.of, evidence, member)) for member in members]
    measured = [entry for entry in entries if entry.sample.values]
    sides = [entry.sample.runs for entry in measured]
    other = name_of(measured[0].point) if measured else ""
    reasons = [entry.sample.reason for entry in measured] + [why_not_comparable(statement.quantity, other, *sides)]
    return next(filter(None, reasons), "")


def _curves(statement: SlopeStatement, evidence: Evidence, members: Sequence[Mapping[str, Any]]) -> list[Summary]:
    """Return the rows of the curves along which a slope is fitted; none where it is not along curves."""
    along_curves = members if statement.against in _ALONG_CURVES else ()
    return [row for member in along_curves for row in curve_at(evidence, statement.of, member, statement.against)]


_ALONG_CURVES = ("presented", "passes")
#: what of a point tells the positions on an axis apart
_PLACES = {"n": ("dataset",), "budget_vectors": ("budget",)}


def _log_log(statement: SlopeStatement, evidence: Evidence, points: Sequence[Mapping[str, Any]]) -> list[Any]:
    if statement.against in _ALONG_CURVES:
        return [_curve_part(statement, evidence, point) for point in points]
    of_seed: dict[Any, dict[float, float]] = {}
    for point in points:
        position = {row.value(statement.against) for row in selected(evidence.runs, statement.of, point)}
        values = sample_of(statement, statement.of, evidence, point).values
        for key, value in values.items() if len(position) == 1 else ():
            of_seed.setdefault(key, {})[position.copy().pop()] = value
    most = max(map(len, of_seed.values()), default=0)
    return [
        (list(by_position), list(by_position.values())) for by_position in of_seed.values() if len(by_position) == most
    ]


def _curve_part(statement: SlopeStatement, evidence: Evidence, point: Mapping[str, Any]) -> tuple[Any, Any]:
    rows = [
        (x, y)
        for row in curve_at(evidence, statement.of, point, statement.against)
        if (x := along(row, statement.against)) and (y := row.means.get(statement.quantity)) is not None
        if (statement.start or 0) <= x <= (statement.up_to or math.inf)
    ]
    return [x for x, _ in rows], [y for _, y in rows]


@each_point.register
def _(statement: BoundStatement, evidence: Evidence) -> Iterator[Point]:
    """Ask it of every run: a theorem has no noise."""
    for point in statement.points():
        rows = selected(evidence.runs, statement.of, point)
        pairs = [(row.value(statement.quantity), _bound(statement.against, row)) for row in rows]
        ratios = [_share_of(low, high) for low, high in pairs if low is not None and high is not None]
        most = max(ratios, default=math.nan)
        result = Verdict.NOT_RUN if not ratios else Verdict.SUPPORTED if most <= 1 + 1e-12 else Verdict.CONTRADICTED
        words = f"at most {most:.4g} of the bound in {counted(len(ratios), 'run')}" if ratios else ""
        yield Point(name_of(point), result, words)


def _share_of(value: float, bound: float) -> float:
    """Return a value over its bound; of a bound of 0, nothing or without end."""
    if bound > 0:
        return value / bound
    return 0.0 if value <= bound else math.inf


def _bound(against: Sequence[str | float], row: Record) -> float | None:
    """Return the product of numbers, quantities and parameters of a run; None where it has not all of them."""
    parameters = parameters_in(row.parameters)
    factors: list[Any] = [
        factor if not isinstance(factor, str) else row.value(factor) if hasattr(row, factor) else parameters.get(factor)
        for factor in against
    ]
    return math.prod(factors) if None not in factors else None


@each_point.register
def _(statement: SignificantStatement, evidence: Evidence) -> Iterator[Point]:
    """Test over the datasets and splits that all solvers have; a dataset is a point, the outcome that of the test."""
    values: dict[str, list[float]] = {}
    sides: dict[str, list[list[Record]]] = {}
    for dataset in statement.datasets:
        runs = [runs_at(evidence, Where(solver=solver), {"dataset": dataset}) for solver in statement.solvers]
        pairs = [by_pair(solver_runs, statement.quantity) for solver_runs in runs]
        splits = set.intersection(*({split for split, _ in of_solver} for of_solver in pairs))
        if splits:
            values[dataset] = [
                fmean(value for (split, _), value in of_solver.items() if split in splits) for of_solver in pairs
            ]
            sides[dataset] = [[run for run in of_solver if run.pair[0] in splits] for of_solver in runs]
    reasons = _why_not_ranked(statement, sides)
    tested = [values[dataset] for dataset in values if dataset not in reasons]
    result, words = _tested(statement, np.array(tested, float)) if len(tested) > 1 else (Verdict.NOT_RUN, "")
    for dataset in statement.datasets:
        if dataset in reasons:
            yield Point(dataset, Verdict.NOT_COMPARABLE, reasons[dataset])
        else:
            yield Point(dataset, *((result, words) if dataset in values else (Verdict.NOT_RUN, "")))


def _why_not_ranked(statement: SignificantStatement, sides: Mapping[str, Sequence[Sequence[Record]]]) -> dict[str, str]:
    """Return for datasets why their values are not ranked: Wilcoxon ranks differences over all, Friedman in each."""
    other = statement.solvers[-1]
    if statement.test == "wilcoxon":
        every = [runs for of_dataset in sides.values() for runs in of_dataset]
        reason = why_not_comparable(statement.quantity, other, *every)
        return dict.fromkeys(sides, reason) if reason else {}
    reasons = {dataset: why_not_comparable(statement.quantity, other, *runs) for dataset, runs in sides.items()}
    return {dataset: reason for dataset, reason in reasons.items() if reason}


def _tested(statement: SignificantStatement, values: Array) -> tuple[Verdict | None, str]:
    """Return what a test says: not significant refutes nothing; the other direction, significant, does."""
    try:
        if statement.test == "friedman":
            best = "highest" if is_accuracy(statement.quantity) else "lowest"
            p, other = rank_tests.friedman(values, best, corrected=statement.corrected).p_value, 1.0  # type: ignore[arg-type]
        else:
            p = rank_tests.wilcoxon(values[:, 0], values[:, 1], statement.alternative).p_value
            reverse = {"less": "greater", "greater": "less"}.get(statement.alternative)
            other = rank_tests.wilcoxon(values[:, 0], values[:, 1], reverse).p_value if reverse else 1.0  # type: ignore[arg-type]
    except StoreError as error:
        return None, str(error)
    words = f"p = {p:.3g} over {len(values)} datasets"
    if statement.decision == "not shown":
        return (Verdict.CONTRADICTED if p < statement.level else Verdict.SUPPORTED), words
    if p < statement.level:
        return Verdict.SUPPORTED, words
    return (Verdict.CONTRADICTED if other < statement.level else None), words
