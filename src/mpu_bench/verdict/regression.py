"""Two sets of results side by side: counts exactly, accuracies by a test, seconds as a ratio.

On one kind of processor the same code gives the same bits, so counts, errors and objectives must be equal. On another,
sums may be rounded otherwise and a solver may take another path: counts and objectives may then differ by
`_ELSEWHERE`, and errors by what chance allows for that many rows.

Seconds differ from machine to machine and from hour to hour; what can be held to earlier ones is a solver's ratio to
its peer, the first solver of the same dataset and seed that both folders have. Where both took `_MEASURABLE` seconds or
more in both folders, a ratio that is `_SLOWER` times the earlier one is a fault of `check --against`; `compare` shows
ratios only.
"""

from __future__ import annotations

import csv
import json
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from mpu_bench.errors import StoreError
from mpu_bench.quantities import FINISHED, RECORD_COLUMNS
from mpu_bench.results.store import FILE, Store

_KEY = ("dataset", "split", "solver", "parameters", "kernel", "budget_vectors", "seed", "tuned", "trial")
_COUNTS = ("kernel_evaluations", "inner_products", "updates", "support_vectors", "passes")
_ELSEWHERE = 0.02
_ERRORS = {"test_error": "n_test", "train_error": "n", "online_error": "n"}  # and of how many rows they are
_SLOWER, _MEASURABLE = 3.0, 0.2
_ROUNDING = 1e-12
_DEVIATIONS = 3.0  # of a difference of two errors, beyond which it is not chance
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
    """Read a results folder: the database, or where there is none, as in results/baseline, runs.csv.

    Raises
    ------
    StoreError
        If it holds neither, or one that cannot be read.
    """
    if (folder / FILE).is_file():
        with Store(folder) as store:
            return Results(folder, store.records(), store.environments())
    runs, machines = folder / "runs.csv", folder / "environment.json"
    if not runs.is_file():
        raise StoreError(f"{folder}: holds no results: neither {FILE} nor runs.csv")
    with runs.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    missing = [name for name in (*_KEY, *_COUNTS, "status", "test_error") if rows and name not in rows[0]]
    if missing:
        raise StoreError(f"{runs}: has no column '{missing[0]}'; it was written by another version of mpu-bench")
    try:
        known = json.loads(machines.read_text("utf-8"))["machines"] if machines.is_file() else []
        return Results(folder, [_typed(row) for row in rows], known)
    except (ValueError, KeyError, TypeError) as fault:
        raise StoreError(f"{folder}: cannot be read: {fault}") from None


def _typed(row: Mapping[str, str]) -> dict[str, Any]:
    kinds: dict[str, Any] = {"TEXT": str, "INTEGER": lambda text: int(float(text)), "REAL": float}
    return {
        name: kinds[kind](row[name]) if row.get(name) not in (None, "") else None
        for name, kind in RECORD_COLUMNS.items()
    }


def same_processor(left: Results, right: Results) -> bool:
    """Tell whether all runs of both were made on one kind of processor."""
    kinds = {json.dumps([machine.get(name) for name in _PROCESSOR]) for machine in (*left.machines, *right.machines)}
    return len(kinds) == 1


def compare(left: Results, right: Results) -> list[Difference]:
    """Compare the runs that both have finished.

    Raises
    ------
    StoreError
        If they have none in common.
    """
    exact = same_processor(left, right)
    others = {_key(record): record for record in right.records if record["status"] in FINISHED}
    found = [
        _difference(record, others[_key(record)], exact)
        for record in left.records
        if record["status"] in FINISHED and _key(record) in others
    ]
    if not found:
        raise StoreError(f"{left.folder} and {right.folder} have no finished run in common")
    return found


def _key(record: Record) -> tuple[Any, ...]:
    return tuple(record[name] for name in _KEY)


def _difference(left: Record, right: Record, exact: bool) -> Difference:
    if _ended_by_clock(left) or _ended_by_clock(right):
        exact, faults = False, []
    else:
        faults = _counts(left, right, exact) + _objective(left, right, exact)
    faults += [fault for name in _ERRORS for fault in _error(left, right, exact, name)]
    seconds = left.get("train_seconds"), right.get("train_seconds")
    ratio = seconds[0] / seconds[1] if seconds[0] and seconds[1] else None
    return Difference(_name(left), tuple(faults), ratio)


def _name(record: Record) -> str:
    words = [value for value in json.loads(record["parameters"]).values() if isinstance(value, str)]
    budget = [f"B={record['budget_vectors']}"] if record["budget_vectors"] else []
    split = [record["split"]] if record["split"] else []
    return " ".join([record["dataset"], *split, record["solver"], *words, *budget, f"seed={record['seed']}"])


def _ended_by_clock(record: Record) -> bool:
    """Tell whether a run ended when its seconds did: where that was is chance."""
    return "seconds" in (record.get("reason") or "")


def _counts(left: Record, right: Record, exact: bool) -> list[str]:
    allowed = 0.0 if exact else _ELSEWHERE
    pairs = {name: (left.get(name) or 0, right.get(name) or 0) for name in _COUNTS}
    return [f"{name} {a:g} and {b:g}" for name, (a, b) in pairs.items() if abs(a - b) > allowed * max(abs(a), abs(b))]


def _objective(left: Record, right: Record, exact: bool) -> list[str]:
    a, b = left.get("objective"), right.get("objective")
    if a is None or b is None or abs(a - b) <= (_ROUNDING if exact else _ELSEWHERE) * max(abs(a), abs(b)):
        return []
    return [f"objective {a:.8g} and {b:.8g}"]


def _error(left: Record, right: Record, exact: bool, name: str) -> list[str]:
    a, b, n = left.get(name), right.get(name), left.get(_ERRORS[name])
    if a is None or b is None or not (exact or n):
        return []
    mean = (a + b) / 2
    chance = 0.0 if exact else _DEVIATIONS * math.sqrt(2 * mean * (1 - mean) / n)
    return [f"{name.replace('_', ' ')} {100 * a:.4g}% and {100 * b:.4g}%"] if abs(a - b) > chance + 1e-12 else []


def slower(left: Results, right: Results) -> list[str]:
    """Say which solvers have become slower, as a ratio to the peer, than they were in the second folder."""
    then = {_key(record): record for record in right.records if record["status"] in FINISHED}
    both = [(now, then[_key(now)]) for now in left.records if now["status"] in FINISHED and _key(now) in then]
    peers: dict[tuple[Any, ...], tuple[Record, Record]] = {}
    told = []
    for now, before in both:
        peer = peers.setdefault((now["dataset"], now["split"], now["seed"], now["trial"]), (now, before))
        seconds = [each["train_seconds"] or 0.0 for each in (now, before, *peer)]
        if now is peer[0] or min(seconds) < _MEASURABLE:
            continue
        times = (seconds[0] / seconds[2]) / (seconds[1] / seconds[3])
        if times > _SLOWER:
            ratios = f"{seconds[0] / seconds[2]:.3g} times {peer[0]['solver']}'s, before {seconds[1] / seconds[3]:.3g}"
            told.append(f"{_name(now)}: seconds are {ratios}")
    return told


def print_differences(left: Results, right: Results, found: Sequence[Difference], console: Console) -> None:
    """Print the runs that differ, and a line on seconds."""
    alike = same_processor(left, right)
    faulty = [each for each in found if each.faults]
    if faulty:
        table = Table("run", "differs in", "seconds, ratio", box=box.SIMPLE_HEAD, pad_edge=False)
        for each in faulty:
            table.add_row(each.name, "; ".join(each.faults), "" if each.ratio is None else f"{each.ratio:.2f}")
        console.print(table)
    ratios = [each.ratio for each in found if each.ratio is not None]
    words = "the same kind of processor and the same versions: counts and errors must be equal" if alike else (
        f"another processor, or other versions: counts and objectives may differ by {100 * _ELSEWHERE:g}%, "
        "errors by chance"
    )  # fmt: skip
    console.print(f"{left.folder} and {right.folder}: {words}", markup=False, highlight=False, soft_wrap=True)
    median = f"; seconds {statistics.median(ratios):.2f} times those of the second (median)" if ratios else ""
    console.print(f"{len(found)} runs in both, {len(faulty)} differ{median}", markup=False, highlight=False)
