"""What results say of a statement at one of its points: two solvers beside each other, paired over seeds and splits."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from statistics import fmean, stdev
from typing import Any, NamedTuple, TypeVar

from mpu_bench import solvers
from mpu_bench.config.rules import Where
from mpu_bench.quantities import Record, is_seconds
from mpu_bench.results.curves import curve_identity
from mpu_bench.results.machines import with_runs
from mpu_bench.results.means import Summary
from mpu_bench.verdict.rules import rules

#: what a point is to a statement: unclear, where one run of something random points the other way
SUPPORTS, NOISE, UNCLEAR, CONTRADICTS, NOT_MEASURED, NOT_JUDGED = (
    *("supports", "within noise", "unclear", "contradicts", "not measured", "not judged"),
)


@dataclass(frozen=True)
class Point:
    """One of the points that a statement ranges over, and what the results say there."""

    name: str
    outcome: str
    words: str = ""
    p_value: float | None = None  #: of what goes against the statement here, one-sided; None where that is not known


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


_Row = TypeVar("_Row", bound=Record)
_Value = TypeVar("_Value")
_COLUMNS = {name: name for name in ("dataset", "solver", "kernel", "experiment")} | {"budget": "budget_vectors"}


def selected(rows: Iterable[_Row], where: Where, point: Mapping[str, Any]) -> list[_Row]:
    """Return the rows that are meant by ``where`` at a point; what ``where`` names holds before what the point does."""
    named = {name: getattr(where, name) for name in _COLUMNS if getattr(where, name) is not None}
    columns = {name: value for name, value in point.items() if name in _COLUMNS} | named
    for name, value in columns.items():
        rows = _with(rows, name, value)
    parameters = {name: value for name, value in point.items() if name not in _COLUMNS}
    return [row for row in rows if _has_parameters(row, where.parameters, parameters)]


def _with(rows: Iterable[_Row], name: str, value: object) -> list[_Row]:
    """Return the rows with a value in a column; a solver without a budget stands beside others at each of theirs."""
    column = _COLUMNS[name]
    if name == "budget":
        return [row for row in rows if row.budget_vectors in (None, value)]
    return [row for row in rows if row.value(column) == value]


def _has_parameters(row: Record, named: Mapping[str, Any], of_point: Mapping[str, Any]) -> bool:
    """Return whether a run has these parameters; those of the point, as far as its solver has them at all."""
    parameters = _parameters(row.parameters)
    wanted = {name: value for name, value in of_point.items() if name in parameters} | dict(named)
    return all(parameters.get(name) == value for name, value in wanted.items())


@lru_cache(maxsize=1000)
def _parameters(text: str) -> dict[str, Any]:
    """Parse once what many rows have: it must not be changed."""
    parameters: dict[str, Any] = json.loads(text)
    return parameters


def name_of(point: Mapping[str, Any], *more: str) -> str:
    """Return what a point is called: its values, with the names of parameters."""
    words = [str(value) if name in ("dataset", "solver") else f"{name} {value}" for name, value in point.items()]
    return ", ".join([*words, *filter(None, more)])


def by_pair(rows: Iterable[Record], quantity: str) -> dict[Any, float]:
    """Return a quantity by split and seed; of several rows of one seed the mean."""
    values: dict[Any, list[float]] = {}
    for row in rows:
        if (value := row.value(quantity)) is not None:
            values.setdefault(row.pair, []).append(value)
    return {key: fmean(several) for key, several in values.items()}


def is_deterministic(rows: Sequence[Record]) -> bool:
    """Return whether nothing in the runs of these rows is random, so that one run says all."""
    return all(row.solver in solvers.SOLVERS and solvers.load(row.solver).deterministic for row in rows)


def is_certain(quantity: str, rows: Sequence[Record]) -> bool:
    """Return whether a quantity of these rows comes out the same each time: seconds never do."""
    return not is_seconds(quantity) and is_deterministic(rows)


class Difference(NamedTuple):
    """A mean, of values or of differences, and its standard error, None where it cannot be known; of how many pairs."""

    mean: float
    error: float | None
    pairs: int = 0

    @property
    def least(self) -> float | None:
        """What is left of it beyond noise, zero if nothing is; None where noise is not known."""
        if self.error is None:
            return None
        return math.copysign(max(abs(self.mean) - rules().statements.standard_errors * self.error, 0.0), self.mean)


def difference(of: Mapping[Any, float], than: Mapping[Any, float], certain: tuple[bool, bool]) -> Difference | None:
    """Return ``than`` - ``of``, paired over splits and seeds; by the means alone where they have none in common.

    Where one has a single run of a split, it stands beside all seeds of the other if it comes out the same each time
    (``certain``, of both); else beside the mean of the other's seeds, for its own variance must not vanish.
    """
    if not of or not than:
        return None
    if is_single(of):
        of, than = (spread(of, than), than) if certain[0] else (of, _split_means(than, of))
    if is_single(than):
        of, than = (of, spread(than, of)) if certain[1] else (_split_means(of, than), than)
    pairs = [than[key] - of[key] for key in of if key in than]
    if not pairs:
        return unpaired(mean_of(of.values()), mean_of(than.values()))
    apart = mean_of(pairs)
    return apart._replace(error=0.0 if all(certain) else apart.error, pairs=len(pairs))


def mean_of(values: Collection[float]) -> Difference:
    """Return a mean with its standard error."""
    return Difference(fmean(values), stdev(values) / math.sqrt(len(values)) if len(values) > 1 else None)


def unpaired(of: Difference, than: Difference) -> Difference:
    """Return ``than`` - ``of``, two means that have nothing in common."""
    known = None if of.error is None or than.error is None else math.hypot(of.error, than.error)
    return Difference(than.mean - of.mean, known)


def is_single(values: Collection[Any]) -> bool:
    """Return whether there is one value, or run, for each split."""
    return len({split for split, _ in values}) == len(values)


def spread(values: Mapping[Any, _Value], beside: Collection[Any]) -> Mapping[Any, _Value]:
    """Return values, or runs, that there is one of for each split, at the seeds of the others."""
    by_split = {split: value for (split, _), value in values.items()}
    return {key: by_split[key[0]] for key in beside if key[0] in by_split} or values


def _split_means(values: Mapping[Any, float], beside: Mapping[Any, float]) -> Mapping[Any, float]:
    """Return the means of the splits, at the one seed that the others have of each."""
    by_split: dict[Any, list[float]] = {}
    for (split, _), value in values.items():
        by_split.setdefault(split, []).append(value)
    return {key: fmean(by_split[key[0]]) for key in beside if key[0] in by_split} or values


def p_value_of(of: Difference | None) -> float | None:
    """Return the p of the paired t test, one-sided, that a mean below zero is noise; None if its error is not known."""
    from scipy.special import stdtr

    if of is None or of.error is None or (of.error and of.pairs < 2):
        return None
    return float(stdtr(of.pairs - 1, of.mean / of.error)) if of.error else float(of.mean >= 0)


def outcome(of: Difference | None, *, is_sampled: bool = False) -> str:
    """Return what a point says where a difference above zero is what was stated.

    Where test rows are sampled, too, it says as little within noise as against it.
    """
    if of is None:
        return NOT_MEASURED
    if of.mean > 0 and not is_sampled:
        return SUPPORTS
    if of.mean > 0:
        return UNCLEAR if of.error is None else SUPPORTS if of.least else NOISE
    if of.mean == 0:
        return NOISE
    if of.error is None:
        return UNCLEAR
    return CONTRADICTS if of.least else NOISE
