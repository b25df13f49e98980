"""The points of a statement, the runs that are meant at each, and what a difference says there."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, singledispatch
from typing import Any, NamedTuple, TypeVar

from mpu_bench.config.rules import Where
from mpu_bench.quantities import Record
from mpu_bench.results.curves import curve_identity
from mpu_bench.results.machines import with_runs
from mpu_bench.results.means import Summary
from mpu_bench.verdict.pairs import Difference
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


@singledispatch
def points_of(statement: Any, evidence: Evidence) -> list[Point]:
    """Return the points that a statement ranges over, with what the evidence says at each."""
    raise NotImplementedError(statement.kind)


_Row = TypeVar("_Row", bound=Record)
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


def verdict_at(of: Difference | None, floor: float = 0.0, *, beyond_noise: bool = False) -> Verdict | None:
    """Return what a point says where a difference above zero is what was stated; None within noise or within the floor.

    It is inconclusive where one run of something random points the other way. With ``beyond_noise``, it says as little
    within noise as against it.
    """
    if of is None:
        return Verdict.NOT_RUN
    if -floor <= of.mean <= 0:
        return None
    if of.mean > 0 and not beyond_noise:
        return Verdict.SUPPORTED
    if of.error is None:
        return Verdict.INCONCLUSIVE
    return (Verdict.SUPPORTED if of.mean > 0 else Verdict.CONTRADICTED) if of.least else None
