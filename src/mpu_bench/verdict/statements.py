"""Statements over the points they range over: what the results say at each, for every kind of statement."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import singledispatch
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mpu_bench.config.rules import (
    AlikeStatement,
    BoundStatement,
    CurveStatement,
    Extent,
    NumberStatement,
    OrderStatement,
    Place,
    SignificantStatement,
    SlopeStatement,
    TrendStatement,
    Where,
)
from mpu_bench.errors import StoreError
from mpu_bench.quantities import QUANTITIES, quantity_of
from mpu_bench.results.curves import along
from mpu_bench.verdict import judge, rank_tests
from mpu_bench.verdict.points import (
    CONTRADICTS,
    NOISE,
    NOT_MEASURED,
    SUPPORTS,
    UNCLEAR,
    Difference,
    Evidence,
    Point,
    Row,
    by_pair,
    difference,
    is_deterministic,
    mean_of,
    name_of,
    outcome,
    selected,
    unpaired,
)
from mpu_bench.verdict.rules import rules

_GRID_POINTS = 200  # of a log axis, at which two curves are compared

Array = NDArray[np.float64]


@singledispatch
def points_of(statement: Any, evidence: Evidence) -> list[Point]:
    """Return the points that a statement ranges over, with what the evidence says at each."""
    raise NotImplementedError(statement.kind)


def verdict_of(points: Sequence[Point], most: bool = False) -> str:
    """Return the verdict on a statement: one point that contradicts it refutes it; else all must be measured.

    One of ``most`` points is refuted by half of them, and holds where more than half of those measured support it.
    """
    outcomes = [point.outcome for point in points]
    measured = [each for each in outcomes if each != NOT_MEASURED]
    if not measured:
        return judge.NOT_RUN
    if 2 * measured.count(CONTRADICTS) >= len(outcomes) or (CONTRADICTS in measured and not most):
        return judge.REFUTED
    is_supported = 2 * measured.count(SUPPORTS) > len(measured) if most else SUPPORTS in measured
    if not is_supported or (UNCLEAR in measured and not most):
        return judge.UNDECIDED
    return judge.HOLDS if len(measured) == len(outcomes) else judge.SO_FAR


def _number(value: float, quantity: str) -> str:
    declared = QUANTITIES.get(quantity)
    return declared.text(value) if declared is not None else f"{value:.4g}"


def _both(of: _Sample, than: _Sample, statement: OrderStatement | AlikeStatement, peer: str) -> str:
    is_ratio = isinstance(statement, OrderStatement) and statement.over is not None
    means = [f"{each.mean:.4g}" if is_ratio else _number(each.mean, statement.quantity) for each in (of, than)]
    return f"{means[0]} to {peer}'s {means[1]}"


def _peers(than: Sequence[Where]) -> list[tuple[Where, str]]:
    """Return those that are compared with, each with what tells it apart."""
    return [(where, _words(where)) for where in than]


def _words(where: Where) -> str:
    words = [where.solver or where.dataset or where.experiment or "", *map(str, where.parameters.values())]
    words += [f"B={where.budget}"] if where.budget else []
    words += [f"on {where.dataset}"] if where.dataset and where.solver else []
    words += [f"after {where.after.passes:g} passes"] if where.after else []
    return " ".join(filter(None, words))


@points_of.register
def _(statement: OrderStatement, evidence: Evidence) -> list[Point]:
    sign = 1.0 if statement.kind == "lower" else -1.0
    found = []
    for point, (where, peer) in itertools.product(list(statement.points()), _peers(statement.than)):
        of, than = (_sample(statement, each, evidence, point) for each in (statement.of, where))
        if sign > 0:
            of = _scaled(of, statement.by_factor)
        else:
            than = _scaled(than, statement.by_factor)
        apart = _apart(of, than)
        signed = apart and Difference(sign * apart.mean + statement.slack, apart.error)
        words = _both(of, than, statement, peer) if apart else ""
        found.append(Point(name_of(point, peer if len(statement.than) > 1 else ""), outcome(signed), words))
    return found


class _Sample(NamedTuple):
    """What a quantity comes to: by split and seed, or where it was read off a mean curve, the mean and its error."""

    values: Mapping[Any, float]
    certain: bool
    dataset: str
    error: float | None = None
    is_of_curve: bool = False

    @property
    def mean(self) -> float:
        return fmean(self.values.values())


def _sample(
    statement: OrderStatement | AlikeStatement, where: Where, evidence: Evidence, point: Mapping[str, Any]
) -> _Sample:
    dataset = where.dataset or point.get("dataset", "")
    if where.after is not None:
        return _read_off(statement.quantity, where, where.after.passes, evidence, point)
    over = statement.over if isinstance(statement, OrderStatement) else None
    rows = selected(evidence.runs, where, point)
    values = _over(by_pair(rows, statement.quantity), over, statement.quantity, evidence, {**point, "dataset": dataset})
    return _Sample(values, _is_certain(statement.quantity, rows), dataset)


def _read_off(quantity: str, where: Where, passes: float, evidence: Evidence, point: Mapping[str, Any]) -> _Sample:
    """Return what a mean curve stands at after so many passes: it keeps its last value until the next checkpoint."""
    rows = [
        row
        for row in selected(evidence.curves, where, point)
        if row.get(f"{quantity}_mean") is not None and (row.get("passes_mean") or math.inf) <= passes * (1 + 1e-12)
    ]
    dataset = where.dataset or point.get("dataset", "")
    if not rows:
        return _Sample({}, False, dataset, is_of_curve=True)
    last = max(rows, key=lambda row: row["presented"])
    certain = _is_certain(quantity, rows)
    return _Sample({0: last[f"{quantity}_mean"]}, certain, dataset, _error(last, quantity, certain), is_of_curve=True)


def _error(row: Row, quantity: str, certain: bool) -> float | None:
    """Return the standard error of a row of mean curves; None where one run says nothing of it."""
    deviation = row.get(f"{quantity}_std")
    return 0.0 if certain else None if deviation is None else deviation / math.sqrt(row["count"])


def _scaled(sample: _Sample, factor: float) -> _Sample:
    values = {key: factor * value for key, value in sample.values.items()}
    return sample._replace(values=values, error=None if sample.error is None else factor * sample.error)


def _apart(of: _Sample, than: _Sample) -> Difference | None:
    """Return ``than`` - ``of``: paired, unless they are of other data or one was read off a mean curve."""
    if not of.values or not than.values:
        return None
    if of.dataset == than.dataset and not of.is_of_curve and not than.is_of_curve:
        return difference(of.values, than.values, of.certain and than.certain)
    return unpaired(Difference(of.mean, _error_of(of)), Difference(than.mean, _error_of(than)))


def _error_of(sample: _Sample) -> float | None:
    if sample.is_of_curve:
        return sample.error
    if sample.certain:
        return 0.0
    return mean_of(sample.values.values()).error


def _is_certain(quantity: str, rows: Sequence[Row]) -> bool:
    """Return whether a quantity of these rows comes out the same each time: seconds never do."""
    return "seconds" not in quantity and is_deterministic(rows)


@points_of.register
def _(statement: AlikeStatement, evidence: Evidence) -> list[Point]:
    found = []
    for point, (where, peer) in itertools.product(list(statement.points()), _peers(statement.than)):
        of, than = (_sample(statement, each, evidence, point) for each in (statement.of, where))
        if statement.within_factor is not None:
            apart, allowed = _apart(_logarithms(of), _logarithms(than)), math.log(statement.within_factor)
        else:
            apart = _apart(of, than)
            allowed = statement.within or (_tolerance(statement.quantity, than.mean) if than.values else 0.0)
        words = _both(of, than, statement, peer) if apart else ""
        found.append(Point(name_of(point, peer if len(statement.than) > 1 else ""), _near(apart, allowed), words))
    return found


def _logarithms(sample: _Sample) -> _Sample:
    return sample._replace(values={key: math.log(value) for key, value in sample.values.items() if value > 0})


@points_of.register
def _(statement: NumberStatement, evidence: Evidence) -> list[Point]:
    """Set each point beside a number that the text gives roughly."""
    assert isinstance(statement.printed, float)
    assert statement.within is not None
    found = []
    for point in statement.points():
        rows = selected(evidence.runs, statement.of, point)
        values = by_pair(rows, statement.quantity)
        given = dict.fromkeys(values, statement.printed)
        apart = difference(values, given, _is_certain(statement.quantity, rows))
        words = f"{_number(fmean(values.values()), statement.quantity)}" if values else ""
        found.append(Point(name_of(point), _near(apart, statement.within), words))
    return found


def _near(between: Difference | None, allowed: float) -> str:
    if between is None:
        return NOT_MEASURED
    if abs(between.mean) <= allowed:
        return SUPPORTS
    if between.least is None:
        return UNCLEAR
    return CONTRADICTS if abs(between.least) > allowed else NOISE


def _tolerance(quantity: str, value: float) -> float:
    """Return what rules.yaml allows two values of a quantity to differ by; it speaks of errors in percent."""
    declared = quantity_of(quantity)
    is_share = declared is not None and declared.unit == "fraction"
    tolerance = rules().tolerance_of(quantity)
    scale = 100.0 if is_share else 1.0
    floor = judge.floor_of(scale * value, tolerance, 0.0, None, is_accuracy="accuracy" in quantity)
    return floor / scale


@points_of.register
def _(statement: TrendStatement, evidence: Evidence) -> list[Point]:
    sign = 1.0 if statement.kind == "rising" else -1.0
    series: dict[str, list[_Entry]] = {}
    for point in statement.points():
        rest = {name: value for name, value in point.items() if name != statement.along}
        series.setdefault(name_of(rest), []).append((point, _speed_up(statement, evidence, point)))
    found = []
    for name, entries in series.items():
        for (before, low), (after, high) in _steps(entries):
            step = f"{before[statement.along]} to {after[statement.along]}"
            between = unpaired(mean_of(low.values()), mean_of(high.values())) if low and high else None
            signed = between and Difference(sign * between.mean, between.error)
            means = [fmean(each.values()) for each in (low, high) if each]
            words = " to ".join(f"{mean:.4g}" for mean in means) if between else ""
            found.append(Point(", ".join(filter(None, [name, step])), outcome(signed), words))
    return found


_Entry = tuple[Mapping[str, Any], Mapping[Any, float]]


def _steps(entries: Sequence[_Entry]) -> Iterator[tuple[_Entry, _Entry]]:
    """Yield each entry of a series with the last before it that has values: what rises, rises across a gap, too."""
    before = entries[0]
    for entry in entries[1:]:
        yield before, entry
        if entry[1] or not before[1]:
            before = entry


def _speed_up(statement: TrendStatement | SlopeStatement, evidence: Evidence, point: Mapping[str, Any]) -> Any:
    of = by_pair(selected(evidence.runs, statement.of, point), statement.quantity)
    return _over(of, statement.over, statement.quantity, evidence, point)


def _over(
    of: Mapping[Any, float], over: Where | None, quantity: str, evidence: Evidence, point: Mapping[str, Any]
) -> Mapping[Any, float]:
    """Return how many times larger a quantity is of ``over``, by split and seed; the quantity itself of None."""
    if over is None:
        return of
    others = by_pair(selected(evidence.runs, over, point), quantity)
    return {key: others[key] / of[key] for key in of if key in others and of[key] > 0}


@points_of.register
def _(statement: CurveStatement, evidence: Evidence) -> list[Point]:
    """Compare step curves: each keeps its last value until the next checkpoint."""
    found = []
    for point, (where, peer) in itertools.product(list(statement.points()), _peers(statement.than)):
        name = name_of(point, peer)
        of, than = (_curve(statement, evidence, each, point) for each in (statement.of, where))
        n = max((run["n"] or 0 for run in selected(evidence.runs, Where(), point)), default=0)
        if of is None or than is None or not n:
            found.append(Point(name, NOT_MEASURED))
            continue
        end = float(of[0][-1])
        first = max(of[0][0], than[0][0], _place(statement.start, n, end) or 0.0)
        last = min(end, than[0][-1], _place(statement.up_to, n, end) or math.inf)
        if first >= last:
            found.append(Point(name, NOT_MEASURED, "the curves have no part of the axis in common"))
            continue
        found.append(Point(name, *_along_the_axis(statement, of, than, np.geomspace(first, last, _GRID_POINTS))))
    return found


def _place(place: Place | None, n: int, end: float) -> float | None:
    return place.of(n, end) if isinstance(place, Extent) else place


Curve = tuple[Array, Array, Array]  # places on the axis, means, standard errors; NaN where one run says nothing of it


def _curve(statement: CurveStatement, evidence: Evidence, where: Where, point: Mapping[str, Any]) -> Curve | None:
    quantity, against = statement.quantity, statement.against
    rows = [row for row in selected(evidence.curves, where, point) if row.get(f"{quantity}_mean") is not None]
    certain = _is_certain(quantity, rows)
    places = {}
    for row in sorted(rows, key=lambda row: row["presented"]):
        place = row["presented"] if against == "presented" else along(row, against) or 0.0
        error = _error(row, quantity, certain)
        places[place] = row[f"{quantity}_mean"], math.nan if error is None else error
    kept = sorted((place, *values) for place, values in places.items() if place > 0)
    if not kept:
        return None
    x, y, errors = np.array(kept, float).T
    return x, y, errors


def _along_the_axis(statement: CurveStatement, of: Curve, than: Curve, grid: Array) -> tuple[str, str]:
    difference_, errors = np.zeros(len(grid)), np.zeros(len(grid))
    for (x, y, own), sign in ((of, -1.0), (than, 1.0)):
        at = np.clip(np.searchsorted(x, grid * (1 + 1e-12), side="right") - 1, 0, len(x) - 1)
        difference_ += sign * y[at]
        errors = np.hypot(errors, own[at])
    if statement.kind == "near":
        allowed = np.array([_tolerance(statement.quantity, float(y)) for y in than[1]])
        at = np.clip(np.searchsorted(than[0], grid * (1 + 1e-12), side="right") - 1, 0, len(than[0]) - 1)
        wrong = np.abs(difference_) - allowed[at]
    else:
        wrong = -difference_ if statement.kind == "below" else difference_
    unknown = bool(np.isnan(errors[wrong > 0]).any())
    beyond = float(np.mean(wrong > rules().statements.standard_errors * np.nan_to_num(errors, nan=math.inf)))
    words = (
        f"{100 * float(np.mean(wrong <= 0)):.1f}% of the axis as stated, {100 * beyond:.1f}% against it beyond noise"
    )
    if beyond > 0:
        return CONTRADICTS, words
    if unknown:
        return UNCLEAR, words
    return (SUPPORTS if np.mean(wrong <= 0) > 0.5 else NOISE), words


@points_of.register
def _(statement: SlopeStatement, evidence: Evidence) -> list[Point]:
    """Fit the slope for each seed: their scatter is its standard error. All points of one fit say what it says."""
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for point in statement.points():
        rest = {name: value for name, value in point.items() if name not in _PLACES.get(statement.against, ())}
        groups.setdefault(name_of(rest), []).append(point)
    found = []
    for members in groups.values():
        slopes = [slope for x, y in _log_log(statement, evidence, members) if (slope := _fitted(x, y)) is not None]
        low, high = statement.between
        mean = fmean(slopes) if slopes else math.nan
        error = float(np.std(slopes, ddof=1)) / math.sqrt(len(slopes)) if len(slopes) > 1 else None
        result = outcome(Difference(min(mean - low, high - mean), error)) if slopes else NOT_MEASURED
        for member in members:
            is_there = slopes and selected(evidence.runs, statement.of, member)
            found.append(Point(name_of(member), result if is_there else NOT_MEASURED, f"slope {mean:.3f}"))
    return found


#: what of a point tells the places on an axis apart
_PLACES = {"n": ("dataset",), "budget_vectors": ("budget",)}


def _log_log(statement: SlopeStatement, evidence: Evidence, points: Sequence[Mapping[str, Any]]) -> list[Any]:
    if statement.against in ("presented", "passes"):
        return [_curve_part(statement, evidence, point) for point in points]
    of_seed: dict[Any, dict[float, float]] = {}
    for point in points:
        place = {row[statement.against] for row in selected(evidence.runs, statement.of, point)}
        values = _speed_up(statement, evidence, point)
        for key, value in values.items() if len(place) == 1 else ():
            of_seed.setdefault(key, {})[place.copy().pop()] = value
    most = max(map(len, of_seed.values()), default=0)
    return [(list(each), list(each.values())) for each in of_seed.values() if len(each) == most]


def _curve_part(statement: SlopeStatement, evidence: Evidence, point: Mapping[str, Any]) -> tuple[Any, Any]:
    rows = [
        (row["presented"], row[f"{statement.quantity}_mean"])
        for row in selected(evidence.curves, statement.of, point)
        if (statement.start or 0) <= row["presented"] <= (statement.up_to or math.inf)
        and row.get(f"{statement.quantity}_mean")
    ]
    return [x for x, _ in rows], [y for _, y in rows]


def _fitted(x: Sequence[float], y: Sequence[float]) -> float | None:
    if len(set(x)) < 2 or min(y) <= 0:
        return None
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


@points_of.register
def _(statement: BoundStatement, evidence: Evidence) -> list[Point]:
    """Ask it of every run: a theorem has no noise."""
    found = []
    for point in statement.points():
        rows = selected(evidence.runs, statement.of, point)
        pairs = [(row.get(statement.quantity), _bound(statement.against, row)) for row in rows]
        ratios = [low / high for low, high in pairs if low is not None and high]
        most = max(ratios, default=math.nan)
        result = NOT_MEASURED if not ratios else SUPPORTS if most <= 1 + 1e-12 else CONTRADICTS
        words = f"at most {most:.4g} of the bound in {len(ratios)} runs" if ratios else ""
        found.append(Point(name_of(point), result, words))
    return found


def _bound(against: Sequence[str | float], row: Row) -> float | None:
    """Return the product of numbers, quantities and parameters of a run; None where it has not all of them."""
    known = json.loads(row["parameters"]) | row
    factors = [known.get(factor) if isinstance(factor, str) else factor for factor in against]
    return math.prod(factors) if None not in factors else None


@points_of.register
def _(statement: SignificantStatement, evidence: Evidence) -> list[Point]:
    """Test over the datasets that all solvers have; a dataset is a point, the outcome is that of the test."""
    values: dict[str, list[float]] = {}
    for dataset in statement.datasets:
        means = [
            by_pair(selected(evidence.runs, Where(solver=solver), {"dataset": dataset}), statement.quantity)
            for solver in statement.solvers
        ]
        if all(means):
            values[dataset] = [fmean(each.values()) for each in means]
    result, words = (
        _tested(statement, np.array(list(values.values()), float)) if len(values) > 1 else (NOT_MEASURED, "")
    )
    return [Point(dataset, result if dataset in values else NOT_MEASURED, words) for dataset in statement.datasets]


def _tested(statement: SignificantStatement, values: Array) -> tuple[str, str]:
    """Return what a test says: not significant refutes nothing; the other direction, significant, does."""
    try:
        if statement.test == "friedman":
            best = "highest" if "accuracy" in statement.quantity else "lowest"
            p, other = rank_tests.friedman(values, best, corrected=statement.corrected).p_value, 1.0  # type: ignore[arg-type]
        else:
            p = rank_tests.wilcoxon(values[:, 0], values[:, 1], statement.alternative).p_value
            reverse = {"less": "greater", "greater": "less"}.get(statement.alternative)
            other = rank_tests.wilcoxon(values[:, 0], values[:, 1], reverse).p_value if reverse else 1.0  # type: ignore[arg-type]
    except StoreError as error:
        return NOISE, str(error)
    words = f"p = {p:.3g} over {len(values)} datasets"
    if statement.decision == "not shown":
        return (CONTRADICTS if p < statement.level else SUPPORTS), words
    if p < statement.level:
        return SUPPORTS, words
    return (CONTRADICTS if other < statement.level else NOISE), words
