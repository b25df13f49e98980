"""Two sets of results side by side: counts exactly, or as rounding allows, errors, objectives, seconds as a ratio.

Where both were made by the same instructions and versions of libraries, the same code gives the same bits, and counts,
errors and objectives must be equal. Elsewhere sums may be rounded otherwise. Most solvers count the same even so; one
that compares sums which are nearly equal says by how much its counts may then differ (`Solver.rounding`).

Seconds differ from machine to machine and from hour to hour; what can be held to earlier ones is a solver's ratio to
its reference, the first solver of the same dataset and seed that both folders have. Where both took `_MEASURABLE`
seconds or more in both folders, undisturbed, both on one machine of each, a ratio that is
`_SLOWER` times the earlier one is reported.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from mpu_bench import solvers
from mpu_bench.columns import Quantity
from mpu_bench.quantities import DECLARED, FINISHED, Ending, Record, RunStatus
from mpu_bench.results import naming
from mpu_bench.results.folder import ResultsFolder, open_results
from mpu_bench.results.machines import comparable, located

_KEY = ("dataset", "split", "solver", "kernel", "budget_vectors", "seed", "tuned", "trial")
_COUNTS, _VALUES, _ERRORS = (
    [quantity for quantity in DECLARED.values() if quantity.kind == kind] for kind in ("count", "value", "error")
)
_SLOWER = 3.0  # times the earlier ratio of seconds
_MEASURABLE = 0.2  # seconds
_WRITTEN = 1e-12  # relative: of numbers that are equal but for how they were written
_LAST_DIGITS = 1e-8  # relative: objectives of equal counts, where sums are rounded otherwise, some in single precision
_STANDARD_DEVIATIONS = 3.0  # of a difference of two errors, beyond which it is not chance
_BY_CHANCE = {"passes": 1.0}  # the rounding of a run that the clock ended: of its counts nothing is held
_BROKEN = (RunStatus.CRASHED, RunStatus.ERROR, RunStatus.DIVERGED)  # what no other machine excuses


@dataclass(frozen=True)
class Results:
    """The runs of a folder, as `located` returns them, and the machines they were made on."""

    folder: Path
    records: Sequence[Record]
    machines: Sequence[Mapping[str, Any]]

    @classmethod
    def of(cls, results: ResultsFolder) -> Results:
        """Return what an open results folder holds."""
        machines = results.environments()
        return cls(results.folder, located(results.records(), machines), machines)


class Mismatch(NamedTuple):
    """A number that is not the same in both, as people read it, and by how much the first differs; or one failure."""

    what: str
    first: str = ""
    second: str = ""
    change: str = ""

    def words(self, first: str, second: str) -> str:
        """Return it in words, with what both sides are called."""
        if not self.first:
            return self.what
        change = f", {self.change}" if self.change else ""
        return f"{self.what}: {first} {self.first}, {second} {self.second}{change}"


@dataclass(frozen=True)
class Difference:
    """One run, as it is in both: what differs, and by which ratio the seconds do."""

    name: str
    record: Record  #: of the first
    mismatches: tuple[Mismatch, ...]
    ratio: float | None
    is_other: bool = False  #: not the same in every count, objective and error, whether that may be or not
    is_same_run: bool = True  #: of the same settings, data and version of the solver, as far as their keys tell


def read(folder: Path) -> Results:
    """Read a results folder, one with a database or a kept one.

    Raises
    ------
    StoreError
        If it holds no results, or cannot be read.
    """
    with open_results(folder) as results:
        return Results.of(results)


def same_machine(left: Results, right: Results) -> bool:
    """Return whether all runs of both were made with the same instructions and the same versions of libraries."""
    kinds = {_kind_of(machine) for machine in (*left.machines, *right.machines)}
    return len(kinds) == 1 and "" not in kinds


def _kind_of(machine: Mapping[str, Any]) -> str:
    """Return what of a machine bits may depend on; nothing where it was not recorded."""
    if not machine.get("instruction_set"):
        return ""
    libraries = {name: version for name, version in (machine.get("versions") or {}).items() if name != "mpu-bench"}
    return json.dumps([machine["instruction_set"], machine.get("blas"), libraries], sort_keys=True)


def differences(left: Results, right: Results) -> list[Difference]:
    """Return how the runs of the first differ from those that the second has finished; nothing of others."""
    exact = same_machine(left, right)
    names = _names(left)
    return [_difference(names[id(record)], record, other, exact) for record, other in _pairs(left, right)]


def _pairs(left: Results, right: Results) -> list[tuple[Record, Record]]:
    """Return the runs that the second has finished, and the first has finished or could not finish."""
    others = {key(record): record for record in right.records if record.is_finished}
    begun = (record for record in left.records if record.status in (*FINISHED, *_BROKEN))
    return [(record, other) for record in begun if (other := others.get(key(record))) is not None]


def key(record: Record) -> tuple[Any, ...]:
    """Return what a run is the same run by, whatever became of it."""
    chosen = solvers.chosen_parameters(record.solver, json.loads(record.parameters))
    return (json.dumps(chosen, sort_keys=True), *map(record.value, _KEY))


def _difference(name: str, left: Record, right: Record, exact: bool) -> Difference:
    if left.status in _BROKEN:
        mismatches = [Mismatch(f"{left.status}: {left.reason}")]
    elif Ending.SECONDS in (left.ended_by, right.ended_by):  # where that was is chance
        mismatches = list(_errors(left, right, _BY_CHANCE))
    else:
        mismatches = _mismatches(left, right, None if exact else rounding_of(left.solver))
    seconds = _seconds(left), _seconds(right)
    ratio = seconds[0] / seconds[1] if all(seconds) and _on_one_machine(left, right) else None
    is_other = bool(mismatches or _mismatches(left, right, None))
    same = left.run_id == right.run_id
    return Difference(name, left, tuple(mismatches), ratio, is_other, same)


def rounding_of(solver: str) -> Mapping[str, float]:
    """Return by how much, relative, each quantity of a solver may differ where sums are rounded otherwise."""
    return solvers.load(solver).rounding if solver in solvers.SOLVERS else {}


def _mismatches(left: Record, right: Record, rounding: Mapping[str, float] | None) -> list[Mismatch]:
    """Return what differs by more than it may; without a rounding to allow for, all must be equal."""
    least = {"count": 0.0, "value": _WRITTEN if rounding is None else _LAST_DIGITS}
    allowed = rounding or {}
    numbers = [
        _number(left, right, quantity, max(least[quantity.kind], allowed.get(quantity.name, 0.0)))
        for quantity in (*_COUNTS, *_VALUES)
    ]
    return [*filter(None, numbers), *_errors(left, right, allowed)]


def _names(results: Results) -> dict[int, str]:
    """Return what each run is called, by the identity of its record: all that tells it from the others."""
    varied = naming.varying(results.records)
    names = []
    for record in results.records:
        words = [record.dataset, record.split, naming.run_text(record, varied)]
        words += [f"B={record.budget_vectors}" if record.budget_vectors else "", f"seed={record.seed}"]
        names.append(" ".join(filter(None, [*words, record.trial])))
    return dict(zip(map(id, results.records), naming.numbered(names), strict=True))


def _number(left: Record, right: Record, quantity: Quantity, allowed: float) -> Mismatch | None:
    a, b = left.value(quantity.name), right.value(quantity.name)
    if a is None and b:  # earlier versions kept 0 of what an external solver does not count
        return Mismatch(quantity.heading, "none", quantity.text(b))
    if a is None or b is None or abs(a - b) <= allowed * max(abs(a), abs(b)):
        return None
    form = "g" if f"{a:g}" != f"{b:g}" else ".17g"
    return Mismatch(quantity.heading, f"{a:{form}}", f"{b:{form}}", f"{100 * (a - b) / abs(b):+.3g}%" if b else "")


def _errors(left: Record, right: Record, rounding: Mapping[str, float]) -> Iterator[Mismatch]:
    """Yield the errors that differ; where rounding may change anything, by more than it may and chance lets them."""
    for quantity in _ERRORS:
        a, b, n = left.value(quantity.name), right.value(quantity.name), left.value(quantity.rows)
        if a is None and b is not None:
            yield Mismatch(quantity.heading, "none", quantity.text(b))
        if a is None or b is None or (rounding and not n):
            continue
        mean = (a + b) / 2
        chance = _STANDARD_DEVIATIONS * math.sqrt(2 * mean * (1 - mean) / n) if rounding else 0.0
        if abs(a - b) > max(chance, rounding.get(quantity.name, 0.0)) + _WRITTEN:
            points = f"{100 * (a - b):+.3g} points"
            yield Mismatch(quantity.heading, f"{100 * a:.4g}", f"{100 * b:.4g}", points)


def slower(left: Results, right: Results) -> list[tuple[str, str]]:
    """Return which runs have become slower, as a ratio to the reference, than in the second folder, and by how much."""
    references: dict[tuple[Any, ...], tuple[Record, Record]] = {}
    names, lines = _names(left), []
    for now, before in _pairs(left, right):
        reference = references.setdefault((now.dataset, now.split, now.seed, now.trial), (now, before))
        seconds = [_seconds(record) for record in (now, before, *reference)]
        if now is reference[0] or min(seconds) < _MEASURABLE:
            continue
        if not _on_one_machine(now, reference[0]) or not _on_one_machine(before, reference[1]):
            continue
        ratio, earlier = seconds[0] / seconds[2], seconds[1] / seconds[3]
        if ratio > _SLOWER * earlier:
            words = f"seconds / {reference[0].solver}'s: now {ratio:.3g}, baseline {earlier:.3g}"
            lines.append((names[id(now)], words))
    return lines


def _on_one_machine(*records: Record) -> bool:
    return comparable("comparable_seconds", *([record] for record in records))


def _seconds(record: Record) -> float:
    """Return the seconds of a run that was not disturbed, else 0."""
    return record.comparable_seconds or 0.0
