"""What a solver is called in tables and figures: its name, and the parameters that vary within an experiment."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence

from mpu_bench.quantities import DECLARED, Record, RunStatus
from mpu_bench.results.means import Summary
from mpu_bench.scaled import parameters_in, short
from mpu_bench.texts import one_line

DISTURBED = "†"  #: marks a row of which some run was disturbed

_OF_PROVISIONAL = ("objective", "test_error", "online_error")


def without_result(run: Record) -> str:
    """Return the status of a run that has no result and the reason; of a provisional one its values, too.

    They stand nowhere else in a table: no mean, no verdict and no figure has them.
    """
    known = [(DECLARED[name], run.value(name)) for name in _OF_PROVISIONAL if run.status == RunStatus.PROVISIONAL]
    values = ", ".join(f"{each.heading}: {each.text(value)}" for each, value in known if value is not None)
    return ": ".join(filter(None, [run.status, "; ".join(filter(None, [one_line(run.reason), values]))]))


def varying(rows: Sequence[Record]) -> dict[str, set[str]]:
    """Return, for each solver, the parameters that do not have one value throughout; its kernel is one of them."""
    values: dict[str, dict[str, set[str]]] = {}
    for row in rows:
        named = json.loads(row.parameters) | {"kernel": row.kernel}
        for name, value in named.items():
            values.setdefault(row.solver, {}).setdefault(name, set()).add(json.dumps(value))
    return {
        solver: {name for name, different in parameters.items() if len(different) > 1}
        for solver, parameters in values.items()
    }


def solver_text(row: Summary, varied: Mapping[str, set[str]]) -> str:
    """Return a row's solver, with its varying parameters, its kernel, what tuning chose, and whether it is earlier."""
    named = parameters_in(row.parameters)
    words = [f"{name}={short(value)}" for name, value in named.items() if name in varied[row.solver]]
    if row.kernel != "linear":
        words.append(row.kernel)
    if row.chosen:
        words.append(f"chosen: {row.chosen}")
    if row.earlier:
        words.append("(earlier run)")
    if row.disturbed_runs:
        words.append(DISTURBED)
    return " ".join([row.solver, *words])


def short_text(row: Record, varied: Mapping[str, set[str]], leave_out: Sequence[str] = ()) -> str:
    """Return a row's solver briefly, for a figure's legend: a choice of words stands without its parameter's name."""
    words = [row.solver]
    for name, value in parameters_in(row.parameters).items():
        if name in varied.get(row.solver, ()) and name not in leave_out:
            words.append(value if isinstance(value, str) else f"{name}={short(value)}")
    return " ".join(words)


def run_text(run: Record, varied: Mapping[str, set[str]]) -> str:
    """Return a run's solver, with the parameters and the kernel that tell it from the others."""
    kernel = [run.kernel] if "kernel" in varied.get(run.solver, ()) else []
    return " ".join([short_text(run, varied), *kernel])


def numbered(names: Sequence[str]) -> list[str]:
    """Return names of which no two are the same: the second of several has ``(2)`` behind it."""
    before = Counter[str]()
    found = []
    for name in names:
        before[name] += 1
        found.append(name if before[name] == 1 else f"{name} ({before[name]})")
    return found
