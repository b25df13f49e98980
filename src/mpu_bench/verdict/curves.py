"""Statements of curves: one below, above or near others along an axis, and one with a critical point."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mpu_bench.config.rules import CriticalStatement, CurveStatement, Extent, Position, Where
from mpu_bench.results.machines import runs_of, why_disturbed, why_not_comparable
from mpu_bench.results.means import Summary, along
from mpu_bench.verdict import rank_tests
from mpu_bench.verdict.judge import ROUNDED_UP, rules
from mpu_bench.verdict.pairs import is_certain
from mpu_bench.verdict.points import (
    Evidence,
    Point,
    alike,
    curve_at,
    each_point,
    error_of_curve,
    name_of,
    selected,
    stopped_before,
    tolerance_of,
    variance_over_test_rows,
    words_of,
)
from mpu_bench.verdict.verdict import Verdict

_GRID_POINTS = 200  # of a log axis, at which two curves are compared

Array = NDArray[np.float64]


@each_point.register
def _(statement: CurveStatement, evidence: Evidence) -> Iterator[Point]:
    """Compare step curves: each keeps its last value until the next checkpoint."""
    for point, where in itertools.product(list(statement.points()), statement.than):
        other = words_of(where)
        name = name_of(point, other)
        rows = [_curve_rows(statement, evidence, side, point) for side in (statement.of, where)]
        of, than = (_curve(statement, side, evidence.samples_test_rows) for side in rows)
        n = max((run.n or 0 for run in selected(evidence.runs, Where(), point)), default=0)
        if of is None or than is None or not n:
            yield Point(name, Verdict.NOT_RUN)
            continue
        runs = list(map(runs_of, rows))
        axes = (statement.quantity, statement.against)
        reasons = (why_disturbed(quantity, *runs) or why_not_comparable(quantity, other, *runs) for quantity in axes)
        if reason := next(filter(None, reasons), ""):
            yield Point(name, Verdict.NOT_COMPARABLE, reason)
            continue
        end, after = float(of.x[-1]), partial(_after, rows[0], statement.against)
        first = max(of.x[0], than.x[0], _position(statement.start, n, end, after) or 0.0)
        up_to = _position(statement.up_to, n, end, after)
        short = _why_short(statement, rows, up_to or 0.0)
        last = up_to if up_to is not None and not short else min(end, than.x[-1], up_to or math.inf)
        if first >= last:
            yield Point(name, Verdict.NOT_RUN, "the curves have no part of the axis in common")
            continue
        verdict, words, p_value = _along_the_axis(statement, of, than, np.geomspace(first, last, _GRID_POINTS))
        if short and verdict is not Verdict.CONTRADICTED:
            verdict, words = Verdict.INCONCLUSIVE, f"{words}; {short}"
        yield Point(name, verdict, words, p_value)


def _why_short(statement: CurveStatement, rows: Sequence[Sequence[Summary]], up_to: float) -> str:
    """Return which of the curves was stopped before the end of the part that is claimed."""
    passes = statement.up_to.passes if isinstance(statement.up_to, Extent) else None
    reasons = [stopped_before(side, statement.against, up_to) for side in rows]
    return next(filter(None, [stopped_before(rows[0], "passes", passes or 0.0), *reasons]), "")


def _position(position: Position | None, n: int, end: float, after: Callable[[float], float]) -> float | None:
    return position.of(n, end, after) if isinstance(position, Extent) else position


def _after(rows: Sequence[Summary], against: str, passes: float) -> float:
    """Return the position of the last checkpoint within so many passes."""
    within = [row for row in rows if (row.means.get("passes") or math.inf) <= passes * (1 + 1e-12)]
    return max((along(row, against) or 0.0 for row in within), default=0.0)


class Curve(NamedTuple):
    """A mean curve: positions on an axis, means, standard errors (NaN where one run says nothing), of how many runs.

    Where its test rows are a sample, the errors are of that, too.
    """

    x: Array
    y: Array
    errors: Array
    runs: int
    is_sampled: bool = False

    def at(self, grid: Array) -> NDArray[np.intp]:
        """Return which checkpoint holds at each position: the last before it."""
        return np.clip(np.searchsorted(self.x, grid * (1 + 1e-12), side="right") - 1, 0, len(self.x) - 1)


def _curve_rows(
    statement: CurveStatement | CriticalStatement, evidence: Evidence, where: Where, point: Mapping[str, Any]
) -> list[Summary]:
    rows = curve_at(evidence, where, point, statement.against)
    return [row for row in rows if row.means.get(statement.quantity) is not None]


def _curve(
    statement: CurveStatement | CriticalStatement, rows: Sequence[Summary], samples_test_rows: bool = False
) -> Curve | None:
    quantity, against = statement.quantity, statement.against
    certain, runs = is_certain(quantity, rows), runs_of(rows) if samples_test_rows else []
    positions, test_rows = {}, 0
    for row in sorted(rows, key=lambda row: row.presented or 0):
        position, mean = along(row, against) or 0.0, row.means[quantity] or 0.0
        error = error_of_curve(row, quantity, certain)
        variance, test_rows = variance_over_test_rows(quantity, mean, runs)
        positions[position] = mean, math.nan if error is None else math.sqrt(error**2 + variance)
    points = sorted((position, *values) for position, values in positions.items() if position > 0)
    if not points:
        return None
    x, y, errors = np.array(points, float).T
    return Curve(x, y, errors, min(row.count for row in rows), test_rows > 0)


def _along_the_axis(
    statement: CurveStatement, of: Curve, than: Curve, grid: Array
) -> tuple[Verdict | None, str, float | None]:
    """Return what two curves say over a part of the axis, in words, and the p of what goes against the statement."""
    positions = np.stack([of.at(grid), than.at(grid)])
    below = than.y[positions[1]] - of.y[positions[0]]
    errors = np.hypot(of.errors[positions[0]], than.errors[positions[1]])
    is_near = statement.kind == "near"
    allowed = alike if is_near else tolerance_of
    floor = ROUNDED_UP * np.array([allowed(statement.quantity, float(y)) for y in than.y])[positions[1]]
    wrong = np.abs(below) if is_near else -below if statement.kind == "below" else below
    excess = wrong - floor if is_near else wrong  # what noise would have to explain
    noise = rules().statements.standard_errors * np.nan_to_num(errors, nan=math.inf)
    is_sampled = (of.is_sampled or than.is_sampled) and not is_near
    as_stated = float(np.mean(excess <= (-noise if is_sampled else 0.0)))
    against = (wrong > floor) & (excess > noise)
    words = (
        f"{100 * as_stated:.1f}% of the axis as stated, {100 * float(np.mean(against)):.1f}% against it beyond noise"
    )
    if against.any():
        # seeds that agree at one position by chance scatter there no less than elsewhere
        scatter = np.where(errors > 0, errors, np.fmax.reduce(errors))
        p_value = _p_over_axis(excess[against], scatter[against], of, than, positions)
        if p_value < rank_tests.LEVEL:
            return Verdict.CONTRADICTED, words, p_value
        return None, f"{words}, which over the whole axis may be chance: p = {p_value:.2g}", p_value
    if bool(np.isnan(errors[wrong > floor]).any()):
        return Verdict.INCONCLUSIVE, words, None
    return (Verdict.SUPPORTED if as_stated > 0.5 else None), words, None


def _p_over_axis(excess: Array, errors: Array, of: Curve, than: Curve, positions: NDArray[np.intp]) -> float:
    """Return the p of the worst position, one-sided by t, times the number of positions that differ in a checkpoint."""
    from scipy.special import stdtr

    if not errors.all():
        return 0.0  # nothing in it is random
    freedom = max(1, min(curve.runs for curve in (of, than) if curve.errors.any()) - 1)
    return float(min(1.0, np.unique(positions, axis=1).shape[1] * stdtr(freedom, -(excess / errors).max())))


@each_point.register
def _(statement: CriticalStatement, evidence: Evidence) -> Iterator[Point]:
    for point in statement.points():
        rows = _curve_rows(statement, evidence, statement.of, point)
        curve = _curve(statement, rows)
        outcome = (Verdict.NOT_RUN, "") if curve is None else _at_critical_point(statement, curve, rows)
        yield Point(name_of(point), *outcome)


def _at_critical_point(
    statement: CriticalStatement, curve: Curve, rows: Sequence[Summary]
) -> tuple[Verdict | None, str]:
    """Return what a curve says of a critical point, in words; nothing where it ends too early to say."""
    if stopped_before(rows, statement.against, math.inf):
        return Verdict.INCONCLUSIVE, "a run was stopped: its last value is not what it comes to"
    if curve.y[-1] <= 0:
        return None, "its last value is 0, of which nothing is a multiple"
    x, ratio = curve.x / curve.x[-1], curve.y / curve.y[-1]
    far = np.flatnonzero(ratio >= statement.before)
    position = x[far[-1]] if len(far) else 0.0
    earlier, later = ratio[x <= position], ratio[x >= 2 * position]
    words = f"{statement.before:g} times its last up to {100 * position:.2g}% of its run"
    holds = len(far) > 0 and bool((earlier > statement.after).all() and (later <= statement.after).all())
    if holds and not len(later):
        return None, f"{words}, which is more than half of it"
    words += f", later {later.max():.3g} at most" if len(later) else ""
    return Verdict.SUPPORTED if holds else Verdict.CONTRADICTED, words
