"""What papers claim without a table: numbers in the text, orders, and shapes of curves."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Mapping, Sequence
from functools import singledispatch
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np

from mpu_bench import published
from mpu_bench.config.rules import (
    BelowClaim,
    BoundClaim,
    Claim,
    CurveClaim,
    NumberClaim,
    OrderClaim,
    Printed,
    RisesClaim,
    SlopeClaim,
    StatisticClaim,
    Where,
)
from mpu_bench.errors import StoreError
from mpu_bench.results.curves import along, complete, final_point
from mpu_bench.verdict import rank_tests

Row = Mapping[str, Any]

_GRID_POINTS = 200  # of the axis, at which two curves are compared


class Answer(NamedTuple):
    """What the results say of a claim.

    ``holds`` is None where they say nothing (``reason`` says why), or where ``measured`` is still to be compared.
    """

    holds: bool | None
    measured: float | None = None
    runs: int = 0
    tolerance: str = ""
    reason: str = ""


def examine(claim: Claim, rows: Sequence[Row], curves: Sequence[Row]) -> Answer:
    """Return whether a claim holds.

    Parameters
    ----------
    claim : Claim
    rows : sequence of mapping
        As `summary.summarize` returns them.
    curves : sequence of mapping
        The rows of mean_curves.csv.
    """
    if claim.datasets:
        rows = [row for row in rows if row["dataset"] in claim.datasets]
        curves = [row for row in curves if row["dataset"] in claim.datasets]
    return _examine(claim, rows, curves)


@singledispatch
def _examine(claim: Claim, _rows: Sequence[Row], _curves: Sequence[Row]) -> Answer:
    raise NotImplementedError(claim.kind)


def matches(row: Row, where: Where) -> bool:
    """Return whether a row of results is among those meant."""
    parameters = json.loads(row["parameters"]) if isinstance(row["parameters"], str) else row["parameters"]
    return (
        where.dataset in (None, row["dataset"])
        and where.solver in (None, row["solver"])
        and where.budget in (None, row["budget_vectors"])
        and all(parameters.get(name) == value for name, value in where.parameters.items())
    )


def _values(rows: Sequence[Row], where: Where, quantity: str) -> list[float]:
    means = [row.get(f"{quantity}_mean") for row in rows if matches(row, where)]
    return [mean for mean in means if mean is not None]


def _nothing(where: Where) -> Answer:
    meant = " ".join(f"{name}={value}" for name, value in where.model_dump(exclude_none=True).items() if value)
    return Answer(None, reason=f"no run of {meant or 'this'} has a result")


@_examine.register
def _(claim: NumberClaim, rows: Sequence[Row], _curves: Sequence[Row]) -> Answer:
    values = _values(rows, claim.where, claim.quantity)
    return Answer(None, fmean(values), len(values)) if values else _nothing(claim.where)


@_examine.register
def _(claim: OrderClaim, rows: Sequence[Row], _curves: Sequence[Row]) -> Answer:
    means = []
    for where in claim.rows:
        values = _values(rows, _narrowed(where, claim.where), claim.quantity)
        if not values:
            return _nothing(_narrowed(where, claim.where))
        means.append(fmean(values))
    holds = all(low <= high * (1 + claim.slack) for low, high in itertools.pairwise(means))
    written = " <= ".join(f"{value:.4g}" for value in means) + (f" (+{100 * claim.slack:g}%)" if claim.slack else "")
    return Answer(holds, None, len(means), f"order, slack {claim.slack:g}", written if holds else f"not {written}")


def _narrowed(where: Where, by: Where) -> Where:
    """Return which rows are meant, where the claim says something of all its rows and more of one."""
    of_all = by.model_dump(exclude_none=True, exclude_defaults=True)
    return Where(**(of_all | where.model_dump(exclude_none=True, exclude_defaults=True)))


def _curve(
    claim: CurveClaim, where: Where, rows: Sequence[Row], curves: Sequence[Row]
) -> tuple[np.ndarray[Any, Any], ...]:
    """Return a curve's places on the axis and values; of several rows at one place, the last."""
    quantity, against = claim.quantity, claim.against
    groups: dict[Any, list[Row]] = {}
    for row in complete(curves, rows):
        if matches(row, where) and row.get(f"{quantity}_mean") is not None:
            groups.setdefault((row["solver"], row["parameters"]), []).append(row)
    points = [row for group in groups.values() for row in final_point(group, rows, against)]
    value_at = {
        row["presented"] if against == "presented" else along(row, against) or 0.0: row[f"{quantity}_mean"]
        for row in sorted(points, key=lambda row: row["presented"])
    }
    x, y = np.array(sorted(value_at.items()), float).reshape(-1, 2).T
    return x[x > 0], y[x > 0]


@_examine.register
def _(claim: BelowClaim, rows: Sequence[Row], curves: Sequence[Row]) -> Answer:
    """Compare step curves: each keeps its last value until the next checkpoint."""
    x, y = _curve(claim, claim.where, rows, curves)
    if not len(x):
        return _nothing(claim.where)
    shares = []
    for where in (_narrowed(each, Where(dataset=claim.where.dataset)) for each in claim.rows):
        other_x, other_y = _curve(claim, where, rows, curves)
        if not len(other_x):
            return _nothing(where)
        first = max(x[0], other_x[0], claim.start or 0.0)
        last = min(x[-1], other_x[-1], claim.up_to or math.inf)
        if first >= last:
            return Answer(None, reason="the curves have no part of the axis in common")
        grid = np.geomspace(first, last, _GRID_POINTS)
        shares.append(float(np.mean(_at(x, y, grid) <= _at(other_x, other_y, grid) * (1 + claim.slack))))
    least = min(shares)
    words = f"below for {100 * least:.0f}% of the axis"
    return Answer(least >= claim.share, least, len(shares), f"at least {100 * claim.share:.0f}%", words)


def _at(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any], grid: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the values of a step curve at the points of a grid."""
    values: np.ndarray[Any, Any] = y[np.clip(np.searchsorted(x, grid * (1 + 1e-12), side="right") - 1, 0, len(y) - 1)]
    return values


@_examine.register
def _(claim: RisesClaim, rows: Sequence[Row], curves: Sequence[Row]) -> Answer:
    x, y = _curve(claim, claim.where, rows, curves)
    if not len(x):
        return _nothing(claim.where)
    rise = float(y[-1] - y.min())
    return Answer(rise >= claim.by, rise, len(y), f"at least {claim.by:g}", f"ends {rise:.4g} above its lowest point")


@_examine.register
def _(claim: BoundClaim, rows: Sequence[Row], _curves: Sequence[Row]) -> Answer:
    names = f"{claim.quantity}_mean", f"{claim.against}_mean"
    pairs = [tuple(row.get(name) for name in names) for row in rows if matches(row, claim.where)]
    ratios = [low / high for low, high in pairs if low is not None and high]
    if not ratios:
        return _nothing(claim.where)
    most = max(ratios)
    words = f"at most {most:.4g} of {claim.against} in {len(ratios)} rows"
    return Answer(most <= 1 + claim.slack, most, len(ratios), f"bound, slack {claim.slack:g}", words)


@_examine.register
def _(claim: SlopeClaim, rows: Sequence[Row], curves: Sequence[Row]) -> Answer:
    if claim.against == "presented":
        return _slope_along(claim, rows, curves)
    measured = [row for row in rows if matches(row, claim.where) and row.get(f"{claim.quantity}_mean")]
    x = [row[claim.against] if claim.against in row else row[f"{claim.against}_mean"] for row in measured]
    if len(set(x)) < 2:
        return _nothing(claim.where)
    y = np.array([row[f"{claim.quantity}_mean"] for row in measured])
    if claim.speed_up_over is not None:
        peers = [_narrowed(claim.speed_up_over, Where(dataset=row["dataset"])) for row in measured]
        others = [_values(rows, peer, claim.quantity) for peer in peers]
        if not all(others):
            return _nothing(claim.speed_up_over)
        y = np.array([fmean(each) for each in others]) / y
    return _fitted(claim, np.array(x), y)


def _slope_along(claim: SlopeClaim, rows: Sequence[Row], curves: Sequence[Row]) -> Answer:
    x, y = _curve(claim, claim.where, rows, curves)
    inside = (x >= (claim.start or 0.0)) & (x <= (claim.up_to or math.inf)) & (y > 0)
    return _fitted(claim, x[inside], y[inside]) if inside.sum() > 1 else _nothing(claim.where)


def _fitted(claim: SlopeClaim, x: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> Answer:
    slope = float(np.polyfit(np.log(x), np.log(y), 1)[0])
    low, high = claim.between
    return Answer(low <= slope <= high, slope, len(x), f"between {low:g} and {high:g}", f"slope {slope:.3f}")


@_examine.register
def _(claim: StatisticClaim, rows: Sequence[Row], _curves: Sequence[Row]) -> Answer:
    """Test whether solvers differ over datasets; a larger accuracy ranks first, and less of all else."""
    chosen = published.table(claim.of) if claim.of else [row for row in rows if matches(row, claim.where)]
    quantity = claim.quantity if claim.of else f"{claim.quantity}_mean"
    try:
        values = rank_tests.matched(chosen, quantity, claim.solvers)
        if claim.test == "wilcoxon":
            outcome: rank_tests.Wilcoxon | rank_tests.Friedman = rank_tests.wilcoxon(
                values[:, 0], values[:, 1], claim.alternative
            )
        else:
            outcome = rank_tests.friedman(values, "highest" if "accuracy" in claim.quantity else "lowest")
    except StoreError as error:
        return Answer(None, reason=str(error))
    is_p_value = isinstance(claim.printed, Printed) and claim.printed.column == "p_value"
    words = f"over {len(values)} datasets" + (f" of {claim.of} as published" if claim.of else "")
    return Answer(None, outcome.p_value if is_p_value else outcome.statistic, len(values), reason=words)
