"""Results held against the project's own last numbers, results/baseline: counts, objectives, errors and verdicts.

The baseline has the rows, mean curves and machines of results as CSV and JSON, and their verdicts as they were accepted
(comparison.csv); it is read like any results folder. Verdicts on seconds are not held against it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from mpu_bench.errors import StoreError
from mpu_bench.files import is_file, read_csv
from mpu_bench.quantities import format_number
from mpu_bench.results.folder import RUNS, open_results
from mpu_bench.results.means import grouped
from mpu_bench.texts import counted
from mpu_bench.verdict import comparison, regression
from mpu_bench.verdict.cells import COLUMNS, RATIO, Cell
from mpu_bench.verdict.comparison import ExperimentCells
from mpu_bench.verdict.regression import Difference, Results
from mpu_bench.verdict.verdict import Verdict

VERDICTS = "comparison.csv"
_SAME = 1e-12  # relative: of a number that was only written and read again


def cells(folder: Path) -> list[Cell]:
    """Return the verdicts of kept results, as they were accepted.

    Raises
    ------
    StoreError
        If they are missing, or of another version.
    """
    path = folder / VERDICTS
    if not path.is_file():
        raise StoreError(f"{path}: is missing; run scripts/accept.py on the results again")
    types: dict[str, Callable[[str], Any]] = {
        "Verdict": Verdict,
        "str": str,
        "int": int,
        "int | None": lambda text: int(text) if text else None,
        "float | None": lambda text: float(text) if text else None,
    }
    return [
        Cell.of_written(row)
        for row in read_csv(
            path, {field.name: types[str(field.type)] for field in fields(Cell) if field.name in COLUMNS}
        )
    ]


@dataclass(frozen=True)
class Change:
    """A verdict, or a printed number, that is not what was kept.

    Attributes
    ----------
    cell : Cell
        As it is now; of one that is gone, as it was.
    words : str
        What has changed.
    is_fault : bool
        False where another machine's rounding, or another number of runs, accounts for it.
    """

    cell: Cell
    words: str
    is_fault: bool


@dataclass(frozen=True, kw_only=True)
class Check(ExperimentCells):
    """A results folder beside print and beside what is kept of it.

    Attributes
    ----------
    folder : the folder.
    baseline : where the baseline has it; None if it does not, or was not asked.
    runs : how each run that both have differs, and `exact`, whether the machines leave no room for that.
    baseline_runs : how many it has finished there.
    changes : verdicts that are others than those kept.
    slower : which runs have become slower, and by how much; no failure.
    """

    folder: Path
    baseline: Path | None = None
    exact: bool = False
    runs: Sequence[Difference] = ()
    baseline_runs: int = 0
    changes: Sequence[Change] = ()
    slower: Sequence[tuple[str, str]] = ()

    @property
    def is_baseline(self) -> bool:
        """Whether the folder is the baseline's own, held to the verdicts that were accepted with it."""
        return self.baseline is not None and self.baseline.resolve() == self.folder.resolve()

    @property
    def has_changed(self) -> bool:
        """Whether a run or a verdict is not what the baseline keeps."""
        return any(run.mismatches for run in self.runs) or any(change.is_fault for change in self.changes)

    @property
    def differs(self) -> bool:
        """Whether any value is not reproduced, or any claim is contradicted."""
        return any(cell.is_against for cell in self.cells)


def check(folder: Path, baseline: Path | None) -> Check:
    """Judge a results folder, and hold it to what the baseline keeps of its experiment.

    Raises
    ------
    StoreError
        If the folder holds no results, or it or what is kept of it cannot be read.
    """
    with open_results(folder) as results:
        result = Check(folder=folder, **vars(comparison.of_results(results)))
        now = Results.of(results)
    target = baseline / result.name if baseline is not None else None
    if target is None or not is_file(target / RUNS):
        return result
    result = replace(result, baseline=target, exact=True)
    if result.is_baseline:
        return replace(result, changes=changed(result.cells, cells(target), None, exact=True))
    before = regression.read(target)
    exact, runs = regression.same_machine(now, before), regression.differences(now, before)
    changes, slower = changed(result.cells, cells(target), runs, exact), regression.slower(now, before)
    baseline_runs = sum(record.is_finished for record in before.records)
    return replace(result, exact=exact, runs=runs, baseline_runs=baseline_runs, changes=changes, slower=slower)


def changed(
    now: Sequence[Cell], baseline: Sequence[Cell], runs: Sequence[Difference] | None, exact: bool
) -> list[Change]:
    """Return which verdicts are others than those kept; those of seconds change with the machine and the hour.

    Parameters
    ----------
    now, baseline : sequence of Cell
    runs : sequence of Difference or None
        Of the results that ``now`` judges, from those that are kept; None where they are those that are kept.
    exact : bool
        Whether both are from machines that round alike.
    """
    before = grouped(baseline, _identity)
    pairs = [(cell, before[_identity(cell)].pop(0) if before.get(_identity(cell)) else None) for cell in now]
    gone = [cell for cells_left in before.values() for cell in cells_left]
    changes = [change for cell, old in pairs if old is not None for change in _change(cell, old, runs, exact)]
    known, present = ({_printed_at(cell) for cell in side} for side in (baseline, now))
    new = [cell for cell, old in pairs if old is None and _printed_at(cell) not in known]
    changes += [
        Change(cell, "the baseline has no verdict on it", True) for cell in new if cell.verdict != Verdict.NOT_RUN
    ]
    may_be_absent = runs is not None
    lost = [cell for cell in gone if not may_be_absent or (_printed_at(cell) not in present and not _is_timed(cell))]
    return changes + [Change(cell, f"now without a verdict, baseline {_verdict(cell)}", True) for cell in lost]


def _identity(cell: Cell) -> tuple[Any, ...]:
    return (*_printed_at(cell), cell.solver, cell.budget, cell.parameters)


def _printed_at(cell: Cell) -> tuple[Any, ...]:
    """Return which number or claim a cell is about, whatever answers it."""
    return cell.table, cell.row, cell.sentence or cell.column, cell.dataset


def _is_timed(cell: Cell) -> bool:
    return cell.kind == RATIO or bool(cell.timed)


def _verdict(cell: Cell) -> str:
    return " ".join(filter(None, [cell.verdict.word, cell.direction]))


def _change(now: Cell, old: Cell, runs: Sequence[Difference] | None, exact: bool) -> Iterable[Change]:
    # as a ratio, or as seconds where what they are over was not run in one of both: two quantities
    if now.over == old.over and not _is_near(now.published, old.published):
        numbers = _number(now.published), _number(old.published)
        yield Change(now, f"published: now {numbers[0]}, baseline {numbers[1]}", True)
        return
    if runs is None and _measured(now) != _measured(old):
        yield Change(now, f"measured: now {_measured(now)}, accepted {_measured(old)}", True)
        return
    if _is_timed(now) or (now.kind, _verdict(now)) == (old.kind, _verdict(old)):
        return
    if Verdict.NOT_RUN in (now.verdict, old.verdict) and not (now.count and old.count):
        return  # measured in one of both only
    words = f"now {_verdict(now)}, baseline {_verdict(old)}"
    if now.kind != old.kind:
        words += f" (now a {now.kind}, baseline a {old.kind})"
    if (now.count, now.points_measured) != (old.count, old.points_measured):
        yield Change(now, f"{words}; now of {_size(now)}, baseline of {_size(old)}", False)
        return
    its_runs = [
        run for run in runs or () if now.dataset in ("", run.record.dataset) and now.solver in ("", run.record.solver)
    ]
    if _is_near(now.measured, old.measured) and not any(run.is_other for run in its_runs):
        yield Change(now, f"{words}; measured is the same: the rule, or print, is another", True)
        return
    is_lost = now.measured is None and old.measured is not None
    is_fault = exact or is_lost or any(run.mismatches for run in its_runs)
    yield Change(now, words if is_fault else f"{words}; by the other machine's rounding", is_fault)


def _number(value: float | None) -> str:
    return format_number(value) or "none"


def _measured(cell: Cell) -> str:
    return f"{_number(cell.measured)} of {_size(cell)}"


def _size(cell: Cell) -> str:
    return f"{cell.points_measured} of {counted(cell.points, 'point')}" if cell.points else counted(cell.count, "run")


def _is_near(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is other
    return math.isclose(one, other, rel_tol=_SAME)
