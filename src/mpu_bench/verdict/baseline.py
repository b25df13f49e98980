"""The project's own last numbers, results/baseline: what of a results folder is kept there, and held against later.

Kept are the row of every planned run (runs.csv), the mean curves (mean_curves.csv.xz), the machines (environment.json),
what the results are and what they lack (about.json), and the verdicts as they were accepted (comparison.csv). A kept
folder is read like any other. `check` holds later results to it: their counts, objectives and errors (regression.py),
and their verdicts, but for those of seconds.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from mpu_bench.config.rules import Explained
from mpu_bench.errors import StoreError
from mpu_bench.files import csv_text, is_file, read_csv, told_if_unwritable, write_all, write_compressed, write_text
from mpu_bench.quantities import RECORD_COLUMNS, Record, RunStatus, format_number
from mpu_bench.results.curves import curve_identity, mean_curve_rows
from mpu_bench.results.folder import CURVES, MACHINES, RUNS, ResultsFolder, open_results
from mpu_bench.results.rows import made_publishable
from mpu_bench.results.store import ABOUT
from mpu_bench.results.summary import summaries
from mpu_bench.verdict import comparison, regression
from mpu_bench.verdict.cells import COLUMNS, RATIO, Cell
from mpu_bench.verdict.points import NO_EVIDENCE, Evidence
from mpu_bench.verdict.regression import Difference, Results
from mpu_bench.verdict.verdict import Verdict

VERDICTS = "comparison.csv"
_SAME = 1e-12  # relative: of a number that was only written and read again


def accept(folder: Path, baseline: Path) -> Path:
    """Keep a results folder as ``baseline/<name>``; of planned runs without a result, what was kept of them stays.

    Of a folder that is kept there already the verdicts are accepted as they are by today's rules.

    Raises
    ------
    StoreError
        If the folder holds no results, or none that is finished, or the baseline cannot be written.
    """
    with open_results(folder) as results:
        target = baseline / results.name
        if not results.finished():
            raise StoreError(f"{folder}: no run has a result; nothing to accept")
        with told_if_unwritable(target):
            target.mkdir(parents=True, exist_ok=True)
            if folder.resolve() != target.resolve():
                _keep(results, target)
            with open_results(target) as kept:
                cells = comparison.of_results(kept)
            write_text(target / VERDICTS, csv_text([cell.written() for cell in cells], COLUMNS))
    return target


def _keep(results: ResultsFolder, target: Path) -> None:
    records, curves, machines = results.records(), results.mean_curves(), results.environments()
    pairs = dict(results.fact("pairs") or {})
    if is_file(target / RUNS):
        with open_results(target) as kept:
            records = _completed(records, kept.finished())
            known_pairs = kept.fact("pairs") or {}
            pairs = {label: sizes or known_pairs.get(label, []) for label, sizes in pairs.items()}
            own = {curve_identity(row) for row in curves}
            curves = [*curves, *(row for row in kept.mean_curves() if curve_identity(row) not in own)]
            machines = [*machines, *(each for each in kept.environments() if each not in machines)]
    records = [replace(record, reason=_without_paths(record.reason)) for record in records]
    used = {record.machine for record in records if record.is_finished}
    known = None not in used  # rows that were kept before their machine was in them are of any that was kept
    machines = [machine for machine in machines if not known or machine["id"] in used]
    facts = results.facts | ({"pairs": pairs} if pairs else {})
    about = facts if results.is_kept else facts | _about(records)
    rows = [record.row(RECORD_COLUMNS) for record in records]
    texts = {RUNS: csv_text(rows, RECORD_COLUMNS), MACHINES: _json({"machines": machines}), ABOUT: _json(about)}
    write_all(target, texts)
    if curves:
        write_compressed(target / CURVES, csv_text(mean_curve_rows(curves)))
    else:
        (target / CURVES).unlink(missing_ok=True)


def _completed(records: Sequence[Record], kept: Sequence[Record]) -> list[Record]:
    """Return planned runs, those without a result as they were kept, if they were; what the plan says of them holds."""
    results = {regression.key(record): record for record in kept}
    planned = ("n", "d", "n_test", "classes", "as_published", "overridden", "run_id")
    return [
        record
        if record.is_finished or (old := results.get(regression.key(record))) is None
        else replace(old, **{name: value for name, value in record.row(planned).items() if value is not None})
        for record in records
    ]


def _about(records: Sequence[Record]) -> dict[str, Any]:
    finished = [record for record in records if record.is_finished]
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "hours": round(sum(record.train_seconds or 0.0 for record in finished) / 3600, 5),
        "runs": len(finished),
        "planned": len(records),
        "missing": list(map(str, missing(records))),
    }


def _json(content: Mapping[str, Any]) -> str:
    return json.dumps(made_publishable(content), indent=2) + "\n"


class Missing(NamedTuple):
    """Runs of a dataset that have no result: how many, and why, the first sentence of the reason."""

    dataset: str
    is_part: bool  #: whether other runs of the dataset have one
    runs: int
    status: RunStatus
    reason: str

    def __str__(self) -> str:
        part, why = "part of " * self.is_part, f": {self.reason}" if self.reason else ""
        return f"{part}{self.dataset}, {self.runs} run{'s'[: self.runs > 1]}: {self.status}{why}"


def missing(records: Sequence[Record]) -> list[Missing]:
    """Return what has no result, by dataset and reason."""
    failed = Counter(
        (record.dataset, record.status, record.reason.partition(". ")[0])
        for record in records
        if not record.is_finished
    )
    begun = {record.dataset for record in records if record.is_finished}
    return [
        Missing(dataset, dataset in begun, count, status, reason) for (dataset, status, reason), count in failed.items()
    ]


def _without_paths(text: str) -> str:
    """Return a text with the last name of every path: where a file was on this machine says nothing on another."""
    return re.sub(r"(?<![\w.:/~])(?:~/(?:[\w.+~-]+/)*|/(?:[\w.+~-]+/)+)", "", text)


def about(folder: Path) -> dict[str, Any]:
    """Return what kept results are.

    Raises
    ------
    StoreError
        If the folder holds none, or those of another version.
    """
    with open_results(folder) as results:
        try:
            known = {name: results.facts[name] for name in ("name", "date", "hours", "runs", "planned")}
        except KeyError as error:
            raise StoreError(f"{folder / ABOUT}: has no {error}; run scripts/accept.py on the results again") from None
        known |= {name: results.fact(name) for name in ("paper", "options")}
        return known | {"missing": missing(results.records())}


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


def folders(baseline: Path) -> list[Path]:
    """Return what is kept, sorted; empty where nothing is."""
    return sorted(path.parent for path in baseline.glob(f"*/{ABOUT}"))


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


@dataclass(frozen=True)
class Check:
    """A results folder beside print and beside what is kept of it.

    Attributes
    ----------
    folder, name : the folder and its experiment.
    paper, config : what it is of; `config` is the experiment's name without that of a profile.
    cells : the verdicts, by today's rules.
    evidence : what sentences are held against.
    explained : what its config says on verdicts.
    kept : where the baseline keeps it; None if it does not, or was not asked.
    runs : how each run that both have differs, and `exact`, whether the machines leave no room for that.
    changes : verdicts that are others than those kept.
    slower : which runs have become slower, and by how much; no fault.
    """

    folder: Path
    name: str
    cells: Sequence[Cell]
    paper: str = ""
    config: str = ""
    evidence: Evidence = NO_EVIDENCE
    explained: Sequence[Explained] = ()
    kept: Path | None = None
    exact: bool = False
    runs: Sequence[Difference] = ()
    changes: Sequence[Change] = ()
    slower: Sequence[tuple[str, str]] = ()

    @property
    def is_kept(self) -> bool:
        """Whether the folder is the baseline's own, held to the verdicts that were accepted with it."""
        return self.kept is not None and self.kept.resolve() == self.folder.resolve()

    @property
    def has_changed(self) -> bool:
        """Whether a run or a verdict is not what the baseline keeps."""
        return any(run.faults for run in self.runs) or any(change.is_fault for change in self.changes)

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
        name, evidence = results.name, comparison.evidence_of(results)
        judged = comparison.of_rows(results, summaries(results), evidence)
        paper, config = results.fact("paper") or "", comparison.experiment_of(results)
        result = Check(folder, name, judged, paper, config, evidence, comparison.judging_of(results).explained)
        now = Results.of(results)
    target = baseline / name if baseline is not None else None
    if target is None or not is_file(target / RUNS):
        return result
    result = replace(result, kept=target, exact=True)
    if result.is_kept:
        return replace(result, changes=changed(judged, cells(target), [], exact=True))
    kept = regression.read(target)
    exact, runs = regression.same_machine(now, kept), regression.differences(now, kept)
    changes, slower = changed(judged, cells(target), runs, exact), regression.slower(now, kept)
    return replace(result, exact=exact, runs=runs, changes=changes, slower=slower)


def changed(now: Sequence[Cell], kept: Sequence[Cell], runs: Sequence[Difference], exact: bool) -> list[Change]:
    """Return which verdicts are others than those kept; those of seconds change with the machine and the hour.

    Parameters
    ----------
    now, kept : sequence of Cell
    runs : sequence of Difference
        Of the results that ``now`` judges, from those that are kept.
    exact : bool
        Whether both are from machines that round alike.
    """
    before: dict[Any, list[Cell]] = {}
    for cell in kept:
        before.setdefault(_identity(cell), []).append(cell)
    pairs = [(cell, before[_identity(cell)].pop(0) if before.get(_identity(cell)) else None) for cell in now]
    gone = [cell for cells_left in before.values() for cell in cells_left]
    changes = [change for cell, old in pairs if old is not None for change in _change(cell, old, runs, exact)]
    known, present = ({_printed_at(cell) for cell in each} for each in (kept, now))
    new = [cell for cell, old in pairs if old is None and _printed_at(cell) not in known]
    changes += [
        Change(cell, "the baseline has no verdict on it", True) for cell in new if cell.verdict != Verdict.NOT_RUN
    ]
    lost = [cell for cell in gone if _printed_at(cell) not in present and not _is_timed(cell)]
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


def _change(now: Cell, old: Cell, runs: Sequence[Difference], exact: bool) -> Iterable[Change]:
    # as a ratio, or as seconds where what they are over was not run in one of both: two quantities
    if now.over == old.over and not _is_near(now.published, old.published):
        numbers = _number(now.published), _number(old.published)
        yield Change(now, f"published: now {numbers[0]}, baseline {numbers[1]}", True)
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
        run for run in runs if now.dataset in ("", run.record.dataset) and now.solver in ("", run.record.solver)
    ]
    if _is_near(now.measured, old.measured) and not any(run.is_other for run in its_runs):
        yield Change(now, f"{words}; measured is the same: the rule, or print, is another", True)
        return
    is_lost = now.measured is None and old.measured is not None
    is_fault = exact or is_lost or any(run.faults for run in its_runs)
    yield Change(now, words if is_fault else f"{words}; by the other machine's rounding", is_fault)


def _number(value: float | None) -> str:
    return format_number(value) or "none"


def _size(cell: Cell) -> str:
    return f"{cell.points_measured} of {cell.points} points" if cell.points else f"{cell.count} runs"


def _is_near(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is other
    return math.isclose(one, other, rel_tol=_SAME)
