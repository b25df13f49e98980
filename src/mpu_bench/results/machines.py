"""Which seconds were measured on one machine: those of two machines are never set against each other.

Those of two versions of this program may be, which is said beside them: another version may take another time.

Of runs that were disturbed one counts all the same: that took no longer than one like it that was not.

Sides are set against each other, such as the runs of two solvers: where all were made on one machine, or where those of
each split and seed were. What was made on a machine that is not known counts as made on any.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from mpu_bench.quantities import Record, is_seconds
from mpu_bench.results.means import GROUP, Summary, curve_identity, grouped

_OF_MACHINE = ("processor", "instruction_set", "cores", "memory_gb", "system")
_OF_SPEED = ("processor", "cores", "threads")

Machine = Mapping[str, Any]


def machine_of(environment: Machine) -> str | None:
    """Return what all environments of one machine have in common; None where not all of it was recorded.

    Versions, threads, memory for kernel values and the commit are no part of it. ``host``, the name of the computer, is
    there only where runs were made on several.
    """
    parts = [environment.get(name) for name in _OF_MACHINE]
    return None if None in parts else json.dumps([*parts, environment.get("host")])


def version_of(environment: Machine) -> str | None:
    """Return the commit of mpu-bench, or its release where it is installed without one; None where it is not known."""
    return environment.get("commit") or (environment.get("versions") or {}).get("mpu-bench")


def located(records: Sequence[Record], environments: Iterable[Machine]) -> list[Record]:
    """Return the runs, each with the machine that it was ``made_on`` and the version that it was ``made_by``.

    Both are None where they are not known.
    """
    known = {machine["id"]: (machine_of(machine), version_of(machine)) for machine in environments}
    origins = [known.get(record.machine, (None, None)) for record in records]
    return [replace(record, made_on=on, made_by=by) for record, (on, by) in zip(records, origins, strict=True)]


def with_fastest(records: Sequence[Record]) -> list[Record]:
    """Return records, the disturbed runs among them that are the fastest of their kind as only delayed.

    What disturbs a run makes its processor seconds more, never fewer. So one that took no more of them than another of
    the same settings, on the same machine, that was not disturbed, counts: without it the mean was of the slow ones.
    Seconds beside a kernel matrix that another run computed stay out: they are fewer.
    """
    fewest: dict[tuple[Any, ...], float] = {}
    for record in records:
        if record.threads == 1 and record.comparable_seconds is not None:
            key = _kind(record)
            fewest[key] = min(record.comparable_seconds, fewest.get(key, record.comparable_seconds))
    return [replace(run, only_delayed=1) if run.disturbed and _is_fastest(run, fewest) else run for run in records]


def _kind(record: Record) -> tuple[Any, ...]:
    return (*map(record.value, GROUP), record.trial, record.machine)


def _is_fastest(record: Record, fewest: Mapping[tuple[Any, ...], float]) -> bool:
    """Return whether a run has processor seconds, all its own, that are not more than the fewest of its kind."""
    if record.threads != 1 or record.cpu_seconds is None or record.kernel_matrix_seconds is not None:
        return False
    return record.cpu_seconds <= fewest.get(_kind(record), -1.0)


def with_runs(rows: Iterable[Summary], runs: Iterable[Record]) -> list[Summary]:
    """Return rows of table.csv or of mean_curves.csv, each with the finished ``runs`` that it is the mean of.

    Parameters
    ----------
    rows : iterable of Summary
    runs : iterable of Record
        All runs of the folder, as `located` returns them.
    """
    finished = grouped((run for run in runs if run.is_finished and not run.trial), curve_identity)
    return [replace(row, runs=finished.get(curve_identity(row), [])) for row in rows]


def runs_of(rows: Iterable[Summary]) -> list[Record]:
    """Return the runs of rows that `with_runs` returns, each once; none of others."""
    sides = {id(row.runs): row.runs for row in rows if row.runs}  # which the rows of a curve share
    return [run for side in sides.values() for run in side]


def comparable(quantity: str, *sides: Sequence[Record]) -> bool:
    """Return whether a quantity of several sides may be set against each other; what is not in seconds always may.

    Parameters
    ----------
    quantity : str
    sides : sequence of Record
        Runs, as `located` returns them; those without a value count as if they were not there.
    """
    if not is_seconds(quantity):
        return True
    made_on = [known for side in sides if (known := _made_on(quantity, side))]
    if _is_one(machines for side in made_on for machines in side.values()):
        return True
    pairs = made_on[0].keys()
    return all(side.keys() == pairs for side in made_on) and all(
        _is_one(side[pair] for side in made_on) for pair in pairs
    )


def _is_one(machines: Iterable[frozenset[str]]) -> bool:
    return len(frozenset[str]().union(*machines)) <= 1


def _made_on(quantity: str, side: Sequence[Record]) -> dict[tuple[str, int | None], frozenset[str]]:
    """Return the known machines of a side's runs that have a value, by split and seed."""
    machines: dict[tuple[str, int | None], frozenset[str]] = {}
    for run in side:
        if run.value(quantity) is not None:
            machines[run.pair] = machines.get(run.pair, frozenset()) | ({run.made_on} if run.made_on else frozenset())
    return machines


def why_not_comparable(quantity: str, other: str, *sides: Sequence[Record]) -> str:
    """Return why the quantity of the first side is not set against those of ``other``; nothing if it is."""
    if comparable(quantity, *sides):
        return ""
    return f"its seconds were made on another machine than those of {other}"


def why_disturbed(quantity: str, *sides: Sequence[Record]) -> str:
    """Return that training seconds of several sides were disturbed while somebody ran; nothing where none were."""
    disturbed = [
        run for side in sides for run in side if run.value(quantity) is not None and run.judged(quantity) is None
    ]
    return f"disturbed while {' and '.join(dict.fromkeys(run.solver for run in disturbed))} ran" if disturbed else ""


def versions_remark(quantity: str, *sides: Sequence[Record]) -> str:
    """Return that seconds of several sides were not all made by one version of mpu-bench; nothing where they were."""
    versions = {run.made_by for side in sides for run in side if run.value(quantity) is not None} - {None}
    if not is_seconds(quantity) or len(versions) < 2:
        return ""
    return f"seconds are of {len(versions)} versions of mpu-bench ({', '.join(sorted(map(str, versions)))})"


def remarks(records: Sequence[Record], environments: Sequence[Machine]) -> list[str]:
    """Return of how many machines and versions the seconds of a table are, a line each; none where they are of one."""
    kinds = {json.dumps([machine.get(name) for name in _OF_SPEED]) for machine in environments}
    finished = [run for run in located(records, environments) if run.is_finished and not run.trial]
    machines = {run.made_on for run in finished if run.train_seconds is not None} - {None}
    lines = []
    if len(machines) > 1:
        lines.append(f"seconds come from {len(machines)} machines and are only compared within each")
    elif len(kinds) > 1:
        lines.append("these runs used different machines or numbers of threads: do not compare their seconds")
    if versions := versions_remark("train_seconds", finished):
        lines.append(f"{versions}, which may affect results; re-run with --force")
    return lines
