"""The points of a statement, the runs that are meant at each, what a quantity comes to there, and what it says."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import singledispatch
from statistics import fmean
from typing import Any, NamedTuple, TypeVar

from mpu_bench.config.rules import (
    After,
    AlikeStatement,
    NumberStatement,
    OrderStatement,
    SlopeStatement,
    TrendStatement,
    Where,
)
from mpu_bench.errors import StoreError
from mpu_bench.quantities import Ending, Record, is_accuracy, quantity_of
from mpu_bench.results.machines import runs_of, why_disturbed, why_not_comparable, with_runs
from mpu_bench.results.means import Summary, along, curve_identity, end_along
from mpu_bench.scaled import parameters_in, parse
from mpu_bench.verdict import judge
from mpu_bench.verdict.judge import rules
from mpu_bench.verdict.pairs import (
    Difference,
    beside,
    by_pair,
    difference,
    has_no_budget,
    is_certain,
    is_single,
    mean_of,
    partners,
    unpaired,
)
from mpu_bench.verdict.verdict import Verdict


@dataclass(frozen=True)
class Point:
    """One of the points that a statement ranges over, and what the results say there: nothing (None) within noise."""

    name: str
    verdict: Verdict | None
    words: str = ""
    p_value: float | None = None  #: of what goes against the statement here, one-sided; None where that is not known

    @property
    def is_measured(self) -> bool:
        """Whether there are values that may be compared."""
        return self.verdict not in (Verdict.NOT_RUN, Verdict.NOT_COMPARABLE)


class Evidence(NamedTuple):
    """The runs that may be held for or against a paper: finished, as published; and the rows of their mean curves.

    Their ``experiment`` is the name of the config, without that of a profile. Where ``samples_test_rows``, a difference
    must be more than that other test rows would make, too: of data that no paper has fixed.
    """

    runs: Sequence[Record] = ()
    curves: Sequence[Summary] = ()
    samples_test_rows: bool = False

    @classmethod
    def of(cls, experiment: str, records: Iterable[Record], curves: Sequence[Summary]) -> Evidence:
        """Return the evidence among all runs, as `located` returns them, and mean curves of a results folder."""
        runs = [
            replace(record, experiment=experiment)
            for record in records
            if record.is_finished and not record.trial and record.as_published
        ]
        counts = Counter(map(curve_identity, runs))
        whole = [row for row in curves if 0 < counts[curve_identity(row)] <= row.count]
        return cls(runs, [replace(row, experiment=experiment) for row in with_runs(whole, runs)])

    def within(self, experiments: Collection[str]) -> Evidence:
        """Return what comes from some experiments."""
        runs = [run for run in self.runs if run.experiment in experiments]
        return self._replace(runs=runs, curves=[row for row in self.curves if row.experiment in experiments])

    def __add__(self, other: tuple[Any, ...]) -> Evidence:
        """Return all of both."""
        return Evidence([*self.runs, *other[0]], [*self.curves, *other[1]])


NO_EVIDENCE = Evidence()


def points_of(statement: Any, evidence: Evidence) -> list[Point]:
    """Return the points that a statement ranges over, with what the evidence says at each."""
    return list(each_point(statement, evidence))


@singledispatch
def each_point(statement: Any, evidence: Evidence) -> Iterator[Point]:
    """Yield the same; a function for each kind of statement."""
    raise NotImplementedError(statement.kind)


_ROUNDING = 1e-9  # of a position: examples over n
_Row = TypeVar("_Row", bound=Record)
_COLUMNS = {name: name for name in ("dataset", "solver", "kernel", "experiment")} | {"budget": "budget_vectors"}


def selected(rows: Iterable[_Row], where: Where, point: Mapping[str, Any]) -> list[_Row]:
    """Return the rows that are meant by ``where`` at a point; what ``where`` names holds before what the point does."""
    named = {name: getattr(where, name) for name in _COLUMNS if getattr(where, name) is not None}
    columns = {name: value for name, value in point.items() if name in _COLUMNS} | named
    for name, value in columns.items():
        # a solver without a budget stands beside others at each of theirs, but has none that is named for it
        any_budget = name == "budget" and where.budget is None
        rows = [row for row in rows if row.value(_COLUMNS[name]) == value or (any_budget and has_no_budget(row))]
    parameters = {name: value for name, value in point.items() if name not in _COLUMNS}
    return [row for row in rows if _has_parameters(row, where.parameters, parameters)]


def runs_at(evidence: Evidence, where: Where, point: Mapping[str, Any]) -> list[Record]:
    """Return the runs that are meant by ``where`` at a point, which differ in seed and split alone.

    Raises
    ------
    StoreError
        If runs of several settings are meant: their mean is of nothing that a claim names.
    """
    rows = selected(evidence.runs, where, point)
    settings = len({(row.experiment, *curve_identity(row)) for row in rows})
    if settings > 1:
        raise StoreError(
            f"{name_of(point, words_of(where))}: runs of {settings} settings; name their budget, kernel or parameters"
        )
    return rows


def curve_at(evidence: Evidence, where: Where, point: Mapping[str, Any], axis: str) -> list[Summary]:
    """Return the rows of the mean curve that is meant by ``where`` at a point; runs of one position each are one, too.

    Raises
    ------
    StoreError
        If several curves are meant: which of them is at a position, nothing says.
    """
    rows = selected(evidence.curves, where, point)
    curves = [(row.experiment, *curve_identity(row)) for row in rows]
    positions = {(curve, along(row, axis)) for curve, row in zip(curves, rows, strict=True)}
    if 1 < (several := len(set(curves))) < len(positions):
        raise StoreError(f"{name_of(point, words_of(where))}: {several} curves; name its parameters")
    return rows


def _has_parameters(row: Record, named: Mapping[str, Any], of_point: Mapping[str, Any]) -> bool:
    """Return whether a run has these parameters; those of the point, as far as its solver has them at all."""
    parameters = parameters_in(row.parameters)
    wanted = {name: value for name, value in of_point.items() if name in parameters} | dict(named)
    return all(parameters.get(name) == parse(value) for name, value in wanted.items())


def name_of(point: Mapping[str, Any], *more: str) -> str:
    """Return what a point is called: its values, with the names of parameters."""
    words = [str(value) if name in ("dataset", "solver") else f"{name} {value}" for name, value in point.items()]
    return ", ".join([*words, *filter(None, more)])


def verdict_at(of: Difference | None, floor: float = 0.0, *, beyond_noise: bool = False) -> Verdict | None:
    """Return what a point says where a difference above zero is what was stated; None within noise or within the floor.

    It is inconclusive where one run of something random points the other way. With ``beyond_noise``, it says as little
    within noise as against it.
    """
    if of is None:
        return Verdict.NOT_RUN
    if of.mean <= 0 and judge.is_within(-of.mean, floor):
        return None
    if of.mean > 0 and not beyond_noise:
        return Verdict.SUPPORTED
    if of.error is None:
        return Verdict.INCONCLUSIVE
    return (Verdict.SUPPORTED if of.mean > 0 else Verdict.CONTRADICTED) if of.least else None


class Sample(NamedTuple):
    """What a quantity comes to: by split and seed, or where it was read off a mean curve, the mean and its error.

    ``runs`` are those whose seconds are set against others'; ``reason`` is why they cannot be set against ``over``'s.
    ``missing`` is why it has no values though it has runs.
    ``variance`` is that of the mean over other test rows, of which there are ``test_rows``; 0 where none counts.
    """

    values: Mapping[Any, float]
    certain: bool
    dataset: str
    error: float | None = None
    is_of_curve: bool = False
    runs: Sequence[Record] = ()
    reason: str = ""
    missing: str = ""
    variance: float = 0.0
    test_rows: int = 0

    @property
    def mean(self) -> float:
        """The mean over all pairs of split and seed."""
        return fmean(self.values.values())


def why_not_judged(quantity: str, other: str, of: Sample, than: Sample) -> str:
    """Return why two samples are not set against each other though both were measured; nothing if they are."""
    if not of.values or not than.values:
        return why_disturbed(quantity, of.runs, than.runs) if of.runs and than.runs else ""
    sides = [of.runs, than.runs]
    # where one has a single run of a split, it stands beside all of the other
    if _is_paired(of, than) and is_single(of.values) == is_single(than.values):
        common = of.values.keys() & than.values.keys()
        sides = [_at(side, common) for side in sides] if common else sides
    return of.reason or than.reason or why_not_comparable(quantity, other, *sides)


def _is_paired(of: Sample, than: Sample) -> bool:
    return of.dataset == than.dataset and not of.is_of_curve and not than.is_of_curve


def _at(runs: Sequence[Record], pairs: Collection[Any]) -> list[Record]:
    """Return the runs of these splits and seeds."""
    return [run for run in runs if run.pair in pairs]


def sample_of(
    statement: OrderStatement | AlikeStatement | NumberStatement | TrendStatement | SlopeStatement,
    where: Where,
    evidence: Evidence,
    point: Mapping[str, Any],
) -> Sample:
    """Return what the quantity of a statement comes to at a point for the runs that are meant by ``where``."""
    point = {**point, "dataset": where.dataset or point.get("dataset", "")}
    if where.after is not None:
        return _read_off(statement.quantity, where, where.after, evidence, point)
    over = None if isinstance(statement, AlikeStatement | NumberStatement) else statement.over
    sample = _over(runs_at(evidence, where, point), over, statement.quantity, evidence, point)
    return _with_test_rows(sample, statement.quantity, evidence)


def _with_test_rows(sample: Sample, quantity: str, evidence: Evidence) -> Sample:
    """Return a sample with what its mean varies by over other test rows, of which these are a sample."""
    if not evidence.samples_test_rows or not sample.values:
        return sample
    variance, rows = variance_over_test_rows(quantity, sample.mean, sample.runs)
    return sample._replace(variance=variance, test_rows=rows)


def variance_over_test_rows(quantity: str, mean: float, runs: Iterable[Record]) -> tuple[float, int]:
    """Return what a mean share of test rows varies by over others, and how many these are; 0 for no such share."""
    declared = quantity_of(quantity)
    rows = sum({run.split: run.n_test or 0 for run in runs}.values())
    if declared is None or declared.rows != "n_test" or not rows:
        return 0.0, 0
    return max(mean * (100 / declared.scale - mean), 0.0) / rows, rows


def _read_off(quantity: str, where: Where, after: After, evidence: Evidence, point: Mapping[str, Any]) -> Sample:
    """Return what a mean curve stands at after so many passes, or the mean of all later checkpoints.

    It keeps its last value until the next checkpoint. Errors of checkpoints of the same runs are no independent ones:
    that of a mean is the mean of theirs.
    """
    dataset, limit = point["dataset"], after.passes * (1 + 1e-12)
    known = [row for row in curve_at(evidence, where, point, "passes") if row.means.get(quantity) is not None]
    rows = [row for row in known if ((row.means.get("passes") or math.inf) <= limit) != after.later]
    short = "" if after.later else stopped_before(rows, "passes", after.passes)
    if not rows or short:
        return Sample({}, False, dataset, is_of_curve=True, missing=short)
    if not after.later:
        rows = [max(rows, key=lambda row: row.presented or 0)]
    certain, runs = is_certain(quantity, rows), runs_of(rows)
    errors = [error for row in rows if (error := error_of_curve(row, quantity, certain)) is not None]
    values = {0: fmean(row.means[quantity] or 0.0 for row in rows)}
    error = fmean(errors) if len(errors) == len(rows) else None
    reason = why_disturbed(quantity, runs)
    sample = Sample(values, certain, dataset, error, is_of_curve=True, runs=runs, reason=reason)
    return _with_test_rows(sample, quantity, evidence)


def stopped_before(rows: Iterable[Summary], axis: str, position: float) -> str:
    """Return that a run of a mean curve was stopped before a position, where it was.

    What a solver leaves that ended by its own rule is its answer at every later position.
    """
    for run in runs_of(rows):
        end = end_along(run, axis)
        if run.ended_by is not Ending.RULE and end is not None and end < position * (1 - _ROUNDING):
            return f"{run.solver} was stopped at {end:.4g} of {position:.4g} {axis.replace('_', ' ')}"
    return ""


def error_of_curve(row: Summary, quantity: str, certain: bool) -> float | None:
    """Return the standard error of a row of mean curves; None where one run says nothing of it."""
    deviation = row.deviations.get(quantity)
    return 0.0 if certain else None if deviation is None else deviation / math.sqrt(row.count)


def scaled(sample: Sample, factor: float) -> Sample:
    """Return a sample, so many times as large."""
    values = {key: factor * value for key, value in sample.values.items()}
    error = None if sample.error is None else factor * sample.error
    return sample._replace(values=values, error=error, variance=factor**2 * sample.variance)


def apart_of(of: Sample, than: Sample) -> Difference | None:
    """Return ``than`` - ``of``: paired, unless they are of other data or one was read off a mean curve."""
    if not of.values or not than.values:
        return None
    if _is_paired(of, than):
        apart = difference(of.values, than.values, (of.certain, than.certain))
    else:
        apart = unpaired(Difference(of.mean, _error_of(of)), Difference(than.mean, _error_of(than)))
    return apart and with_variance(apart, of.variance + than.variance)


def compared(of: Sample, than: Sample) -> tuple[Sample, Sample]:
    """Return two samples with what `apart_of` compares of each: of splits and seeds that both have, where they do."""
    if not _is_paired(of, than):
        return of, than
    pairs = partners(of.values, than.values, (of.certain, than.certain), fmean)
    if not pairs:
        return of, than
    ours, theirs = (dict(enumerate(values)) for values in zip(*pairs, strict=True))
    return of._replace(values=ours), than._replace(values=theirs)


def with_variance(apart: Difference, variance: float) -> Difference:
    """Return a difference with a further variance, of test rows, in its error."""
    return apart if apart.error is None else apart._replace(error=math.sqrt(apart.error**2 + variance))


def _error_of(sample: Sample) -> float | None:
    if sample.is_of_curve:
        return sample.error
    if sample.certain:
        return 0.0
    return mean_of(sample.values.values()).error


def logarithms(sample: Sample) -> Sample:
    """Return the sample of the logarithms of its values, with its relative errors; none where one has none."""
    if min(sample.values.values(), default=0.0) <= 0:
        return sample._replace(values={})
    values = {key: math.log(value) for key, value in sample.values.items()}
    return scaled(sample, 1 / sample.mean)._replace(values=values)


def _over(
    rows: Sequence[Record], over: Where | None, quantity: str, evidence: Evidence, point: Mapping[str, Any]
) -> Sample:
    """Return how many times larger a quantity is of ``over``; the quantity itself where ``over`` is None."""
    of, dataset = by_pair(rows, quantity), point.get("dataset", "")
    if over is None:
        return Sample(of, is_certain(quantity, rows), dataset, runs=rows)
    rest = runs_at(evidence, over, point)
    certain = is_certain(quantity, rows), is_certain(quantity, rest)
    ours, others = beside(of, by_pair(rest, quantity), certain)
    common = [key for key in ours if key in others]
    if not all(ours[key] > 0 for key in common):
        return Sample({}, all(certain), dataset, missing="it is 0, of which nothing is a multiple")
    ratios = {key: others[key] / ours[key] for key in common}
    reason = why_not_comparable(quantity, words_of(over), _at(rows, ratios), _at(rest, ratios))
    return Sample(ratios, all(certain), dataset, reason=reason)


class Entry(NamedTuple):
    """What a trend or a slope has at a point."""

    point: Mapping[str, Any]
    sample: Sample


def words_of(where: Where) -> str:
    """Return what tells the runs that are meant apart."""
    parameters = [value if isinstance(value, str) else f"{name}={value}" for name, value in where.parameters.items()]
    words = [where.solver or where.dataset or where.experiment or "", *parameters]
    words += [f"B={where.budget}"] if where.budget else []
    words += [f"on {where.dataset}"] if where.dataset and where.solver else []
    if where.after:
        passes = f"{where.after.passes:g} pass{'es' if where.after.passes != 1 else ''}"
        words.append(f"{'at all checkpoints ' * where.after.later}after {passes}")
    return " ".join(filter(None, words))


def alike(quantity: str, value: float) -> float:
    """Return how far a quantity may be from a value that it is said to be about the same as."""
    declared = quantity_of(quantity)
    whole = 100.0 / declared.scale if declared is not None and is_accuracy(quantity) else 0.0
    return max(rules().statements.alike * abs(whole - value), tolerance_of(quantity, value))


def tolerance_of(quantity: str, value: float) -> float:
    """Return what rules.yaml allows two values of a quantity to differ by; it speaks of errors in percent."""
    declared = quantity_of(quantity)
    tolerance = rules().tolerance_of(quantity)
    scale = 1.0 if declared is None else declared.scale
    floor = judge.floor_of(scale * value, tolerance, 0.0, None, is_accuracy=is_accuracy(quantity))
    return floor / scale
