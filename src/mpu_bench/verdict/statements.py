"""Statements over the points they range over: what the results say at each, for every kind of statement."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import singledispatch
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpu_bench.config.rules import (
    AlikeStatement,
    BoundStatement,
    CurveStatement,
    Extent,
    OrderStatement,
    Peer,
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
    Mean,
    Point,
    Row,
    Values,
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

    Where it is said of ``most`` points, half of them refute it and more than half carry it.
    """
    outcomes = Counter(point.outcome for point in points)
    measured = len(points) - outcomes[NOT_MEASURED]
    if not measured:
        return judge.NOT_RUN
    if outcomes[CONTRADICTS] >= (len(points) / 2 if most else 1):
        return judge.REFUTED
    if most:
        if 2 * outcomes[SUPPORTS] > len(points):
            return judge.HOLDS
        return judge.SO_FAR if measured < len(points) and 2 * outcomes[SUPPORTS] > measured else judge.UNDECIDED
    if outcomes[UNCLEAR] or not outcomes[SUPPORTS]:
        return judge.UNDECIDED
    return judge.HOLDS if measured == len(points) else judge.SO_FAR


def _number(value: float, quantity: str) -> str:
    declared = QUANTITIES.get(quantity)
    return declared.text(value) if declared is not None else f"{value:.4g}"


def _both(of: Values, than: Values, quantity: str, peer: str) -> str:
    return f"{_number(mean_of(of).mean, quantity)} to {peer}'s {_number(mean_of(than).mean, quantity)}"


def _words(where: Peer) -> str:
    words = [
        where.solver or where.dataset or where.experiment or "",
        *(str(value) for value in where.parameters.values()),
    ]
    words += [f"B={where.budget}"] if where.budget else []
    words += [f"after {where.after.passes:g} passes"] if where.after else []
    return " ".join(filter(None, words))


def _is_certain(quantity: str, rows: Sequence[Row]) -> bool:
    """Return whether a quantity of these rows comes out the same each time: seconds never do."""
    return "seconds" not in quantity and is_deterministic(rows)


def _values(evidence: Evidence, where: Where, point: Mapping[str, Any], quantity: str) -> Values | None:
    if isinstance(where, Peer) and where.after is not None:
        rows = [
            row
            for row in selected(evidence.curves, where, point)
            if (row.get("passes_mean") or 0.0) <= where.after.passes * (1 + 1e-9)
            and row.get(f"{quantity}_mean") is not None
        ]
        if not rows:
            return None
        last = max(rows, key=lambda row: row["presented"])
        deviation = last.get(f"{quantity}_std")
        return Mean(last[f"{quantity}_mean"], None if deviation is None else deviation / math.sqrt(last["count"]))
    return by_pair(selected(evidence.runs, where, point), quantity)


@dataclass(frozen=True)
class _Comparison:
    """Two solvers at one point of a statement."""

    name: str
    peer: str
    of: Values | None
    than: Values | None
    certain: bool


def _comparisons(statement: OrderStatement | AlikeStatement, evidence: Evidence) -> Iterator[_Comparison]:
    over = statement.over if isinstance(statement, OrderStatement) else None
    for point, where in itertools.product(list(statement.points()), statement.than):
        found = [_values(evidence, each, point, statement.quantity) for each in (statement.of, where)]
        if over is not None:
            places = [point, point | ({"dataset": where.dataset} if where.dataset else {})]
            found = [
                _ratios(_values(evidence, over, place, statement.quantity), each)
                for place, each in zip(places, found, strict=True)
            ]
        rows = [*selected(evidence.runs, statement.of, point), *selected(evidence.runs, where, point)]
        peer = _words(where)
        name = name_of(point, peer if len(statement.than) > 1 else "")
        yield _Comparison(name, peer, found[0], found[1], _is_certain(statement.quantity, rows))


def _ratios(over: Values | None, of: Values | None) -> Values | None:
    if not isinstance(over, Mapping) or not isinstance(of, Mapping):
        return None
    return {key: over[key] / of[key] for key in of if key in over and of[key] > 0}


def _scaled(values: Values, factor: float, slack: float) -> Values:
    if isinstance(values, Mean):
        return Mean(factor * values.mean + slack, None if values.error is None else factor * values.error)
    return {key: factor * value + slack for key, value in values.items()}


@points_of.register
def _(statement: OrderStatement, evidence: Evidence) -> list[Point]:
    found = []
    for each in _comparisons(statement, evidence):
        if not each.of or not each.than:
            found.append(Point(each.name, NOT_MEASURED))
            continue
        low, high = (each.of, each.than) if statement.kind == "lower" else (each.than, each.of)
        between = difference(_scaled(low, statement.by_factor, -statement.slack), high, each.certain)
        found.append(Point(each.name, outcome(between), _both(each.of, each.than, statement.quantity, each.peer)))
    return found


@points_of.register
def _(statement: AlikeStatement, evidence: Evidence) -> list[Point]:
    found = []
    for each in _comparisons(statement, evidence):
        if not each.of or not each.than:
            found.append(Point(each.name, NOT_MEASURED))
            continue
        if statement.within_factor is not None:
            allowed = math.log(statement.within_factor)
            between = difference(_logs(each.of), _logs(each.than), each.certain)
        else:
            allowed = statement.within or _tolerance(statement.quantity, mean_of(each.than).mean)
            between = difference(each.of, each.than, each.certain)
        words = _both(each.of, each.than, statement.quantity, each.peer)
        found.append(Point(each.name, _near(between, allowed), words))
    return found


def _logs(values: Values) -> Values:
    if isinstance(values, Mean):
        return Mean(math.log(values.mean), None if values.error is None else values.error / values.mean)
    return {key: math.log(value) for key, value in values.items() if value > 0}


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
    tolerances = rules().values
    is_share = declared is not None and declared.unit == "fraction"
    name = next((each for each in (declared.published, quantity) if each in tolerances), "") if declared else ""
    tolerance = tolerances.get(name or ("test_error_percent" if is_share else "support_vectors"))
    assert tolerance is not None
    scale = 100.0 if is_share else 1.0
    floor = judge.floor_of(scale * value, tolerance, 0.0, None, is_accuracy="accuracy" in quantity)
    return floor / scale


@points_of.register
def _(statement: TrendStatement, evidence: Evidence) -> list[Point]:
    sign = 1.0 if statement.kind == "rising" else -1.0
    series: dict[str, list[tuple[dict[str, Any], dict[Any, float]]]] = {}
    for point in statement.points():
        rest = {name: value for name, value in point.items() if name != statement.along}
        series.setdefault(name_of(rest), []).append((point, _speed_up(statement, evidence, point)))
    found = []
    for name, entries in series.items():
        for (before, low), (after, high) in itertools.pairwise(entries):
            step = f"{before[statement.along]} to {after[statement.along]}"
            between = unpaired(low, high) if low and high else None
            signed = between and Difference(sign * between.mean, between.error)
            means = [fmean(each.values()) for each in (low, high) if each]
            words = " to ".join(f"{mean:.4g}" for mean in means) if between else ""
            found.append(Point(", ".join(filter(None, [name, step])), outcome(signed), words))
    return found


def _speed_up(statement: TrendStatement | SlopeStatement, evidence: Evidence, point: Mapping[str, Any]) -> Any:
    of = by_pair(selected(evidence.runs, statement.of, point), statement.quantity)
    if statement.over is None:
        return of
    return _ratios(by_pair(selected(evidence.runs, statement.over, point), statement.quantity), of)


@points_of.register
def _(statement: CurveStatement, evidence: Evidence) -> list[Point]:
    """Compare step curves: each keeps its last value until the next checkpoint."""
    found = []
    for point, where in itertools.product(list(statement.points()), statement.than):
        name = name_of(point, _words(where))
        of, than = (_curve(statement, evidence, each, point) for each in (statement.of, where))
        n = max((run["n"] or 0 for run in selected(evidence.runs, Where(), point)), default=0)
        if of is None or than is None or not n:
            found.append(Point(name, NOT_MEASURED))
            continue
        end = float(of[0][-1])
        first = max(of[0][0], than[0][0], _place(statement.start, n, end) or 0.0)
        last = min(of[0][-1], than[0][-1], _place(statement.up_to, n, end) or math.inf)
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
        deviation = row.get(f"{quantity}_std")
        error = 0.0 if certain else math.nan if deviation is None else deviation / math.sqrt(row["count"])
        places[place] = row[f"{quantity}_mean"], error
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
        f"{100 * float(np.mean(wrong <= 0)):.0f}% of the axis as stated, {100 * beyond:.0f}% against it beyond noise"
    )
    if beyond > 0:
        return CONTRADICTS, words
    if unknown:
        return UNCLEAR, words
    return (SUPPORTS if np.mean(wrong <= 0) > 0.5 else NOISE), words


@points_of.register
def _(statement: SlopeStatement, evidence: Evidence) -> list[Point]:
    """Fit the slope for each seed: their scatter is its standard error."""
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for point in statement.points():
        rest = {name: value for name, value in point.items() if name not in _PLACES.get(statement.against, ())}
        groups.setdefault(name_of(rest), []).append(point)
    found = []
    for name, points in groups.items():
        slopes = [slope for x, y in _log_log(statement, evidence, points) if (slope := _fitted(x, y)) is not None]
        if not slopes:
            found.append(Point(name, NOT_MEASURED))
            continue
        low, high = statement.between
        mean = fmean(slopes)
        error = float(np.std(slopes, ddof=1)) / math.sqrt(len(slopes)) if len(slopes) > 1 else None
        inside = min(mean - low, high - mean)
        found.append(Point(name, outcome(Difference(inside, error)), f"slope {mean:.3f}"))
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
        pairs = [(row.get(statement.quantity), _bound(row, statement.against)) for row in rows]
        ratios = [low / high for low, high in pairs if low is not None and high]
        most = max(ratios, default=math.nan)
        result = NOT_MEASURED if not ratios else SUPPORTS if most <= 1 + 1e-12 else CONTRADICTS
        words = f"at most {most:.4g} of the bound in {len(ratios)} runs" if ratios else ""
        found.append(Point(name_of(point), result, words))
    return found


def _bound(row: Row, against: str | float | list[str]) -> float | None:
    if isinstance(against, float):
        return against
    factors = [row.get(name) for name in ([against] if isinstance(against, str) else against)]
    return None if None in factors else math.prod(factors)  # type: ignore[arg-type]


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
            p, other = rank_tests.friedman(values, best).p_value, 1.0  # type: ignore[arg-type]
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
