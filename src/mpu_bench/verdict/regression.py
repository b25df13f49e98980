"""Two sets of results side by side: counts exactly, accuracies by a test, seconds as a ratio.

On one kind of processor the same code gives the same bits, so counts, errors and objectives must be equal. On another,
sums may be rounded otherwise and a solver may take another path: counts and objectives may then differ by
`ELSEWHERE`, and errors by what chance allows for that many rows.

Seconds differ from machine to machine and from hour to hour; what can be held to earlier ones is a solver's ratio to
its peer, the first solver of the same dataset and seed that both folders have. Where both took `_MEASURABLE` seconds or
more in both folders, a ratio that is `_SLOWER` times the earlier one is a fault of `check --against`; `compare` shows
ratios only.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mpu_bench.errors import StoreError
from mpu_bench.quantities import DECLARED, FINISHED, Quantity
from mpu_bench.results.folder import open_results

_KEY = ("dataset", "split", "solver", "parameters", "kernel", "budget_vectors", "seed", "tuned", "trial")
_COUNTS, _VALUES, _ERRORS = (
    [quantity for quantity in DECLARED.values() if quantity.held == held] for held in ("count", "value", "error")
)
ELSEWHERE = 0.02  #: relative: how far counts and values of another processor may be
_SLOWER = 3.0  # times the earlier ratio of seconds
_MEASURABLE = 0.2  # seconds
_ROUNDING = 1e-12  # relative
_STANDARD_DEVIATIONS = 3.0  # of a difference of two errors, beyond which it is not chance
_PROCESSOR = ("processor", "versions")  # on what results may depend bit by bit

Record = Mapping[str, Any]


@dataclass(frozen=True)
class Results:
    """The runs of a folder, and the machines they were made on."""

    folder: Path
    records: Sequence[Record]
    machines: Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Difference:
    """One run, as it is in both: what differs, and by which ratio the seconds do."""

    name: str
    faults: tuple[str, ...]
    ratio: float | None


def read(folder: Path) -> Results:
    """Read a results folder, one with a database or a kept one.

    Raises
    ------
    StoreError
        If it holds no results, or cannot be read.
    """
    with open_results(folder) as results:
        return Results(folder, results.records(), results.environments())


def same_processor(left: Results, right: Results) -> bool:
    """Return whether all runs of both were made on one kind of processor, with the same versions."""
    kinds = {json.dumps([machine.get(name) for name in _PROCESSOR]) for machine in (*left.machines, *right.machines)}
    return len(kinds) == 1


def compare(left: Results, right: Results) -> list[Difference]:
    """Return how the runs that both have finished differ.

    Raises
    ------
    StoreError
        If they have none in common.
    """
    exact = same_processor(left, right)
    differences = [_difference(record, other, exact) for record, other in _pairs(left, right)]
    if not differences:
        raise StoreError(f"{left.folder} and {right.folder} have no finished run in common")
    return differences


def _pairs(left: Results, right: Results) -> list[tuple[Record, Record]]:
    """Return the runs that both have finished."""
    others = {_key(record): record for record in right.records if record["status"] in FINISHED}
    return [
        (record, others[_key(record)])
        for record in left.records
        if record["status"] in FINISHED and _key(record) in others
    ]


def _key(record: Record) -> tuple[Any, ...]:
    return tuple(record[name] for name in _KEY)


def _difference(left: Record, right: Record, exact: bool) -> Difference:
    if _ended_by_clock(left) or _ended_by_clock(right):
        exact, faults = False, []
    else:
        faults = [fault for quantity in _COUNTS for fault in _count(left, right, exact, quantity)]
        faults += [fault for quantity in _VALUES for fault in _value(left, right, exact, quantity)]
    faults += [fault for quantity in _ERRORS for fault in _error(left, right, exact, quantity)]
    seconds = left.get("train_seconds"), right.get("train_seconds")
    ratio = seconds[0] / seconds[1] if seconds[0] and seconds[1] else None
    return Difference(_name(left), tuple(faults), ratio)


def _name(record: Record) -> str:
    words = [value for value in json.loads(record["parameters"]).values() if isinstance(value, str)]
    budget = [f"B={record['budget_vectors']}"] if record["budget_vectors"] else []
    split = [record["split"]] if record["split"] else []
    return " ".join([record["dataset"], *split, record["solver"], *words, *budget, f"seed={record['seed']}"])


def _ended_by_clock(record: Record) -> bool:
    """Return whether a run ended when its seconds did: where that was is chance."""
    return "seconds" in (record.get("reason") or "")


def _count(left: Record, right: Record, exact: bool, quantity: Quantity) -> list[str]:
    a, b = left.get(quantity.name) or 0, right.get(quantity.name) or 0
    allowed = 0.0 if exact else ELSEWHERE
    return [f"{quantity.heading} {a:g} and {b:g}"] if abs(a - b) > allowed * max(abs(a), abs(b)) else []


def _value(left: Record, right: Record, exact: bool, quantity: Quantity) -> list[str]:
    a, b = left.get(quantity.name), right.get(quantity.name)
    if a is None or b is None or abs(a - b) <= (_ROUNDING if exact else ELSEWHERE) * max(abs(a), abs(b)):
        return []
    return [f"{quantity.heading} {a:.8g} and {b:.8g}"]


def _error(left: Record, right: Record, exact: bool, quantity: Quantity) -> list[str]:
    a, b, n = left.get(quantity.name), right.get(quantity.name), left.get(quantity.rows)
    if a is None or b is None or not (exact or n):
        return []
    mean = (a + b) / 2
    chance = 0.0 if exact else _STANDARD_DEVIATIONS * math.sqrt(2 * mean * (1 - mean) / n)
    title = quantity.heading.removesuffix(", %")
    return [f"{title} {100 * a:.4g}% and {100 * b:.4g}%"] if abs(a - b) > chance + _ROUNDING else []


def slower(left: Results, right: Results) -> list[str]:
    """Return which solvers have become slower, as a ratio to the peer, than they were in the second folder."""
    peers: dict[tuple[Any, ...], tuple[Record, Record]] = {}
    lines = []
    for now, before in _pairs(left, right):
        peer = peers.setdefault((now["dataset"], now["split"], now["seed"], now["trial"]), (now, before))
        seconds = [record["train_seconds"] or 0.0 for record in (now, before, *peer)]
        if now is peer[0] or min(seconds) < _MEASURABLE:
            continue
        ratio, earlier = seconds[0] / seconds[2], seconds[1] / seconds[3]
        if ratio > _SLOWER * earlier:
            lines.append(f"{_name(now)}: seconds are {ratio:.3g} times {peer[0]['solver']}'s, before {earlier:.3g}")
    return lines
