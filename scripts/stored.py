"""What the project stores of its results in results/baseline, for maintainers; `mpu-bench check` reads it.

Stored are the row of every planned run (runs.csv), the mean curves (mean_curves.csv.xz), the machines
(environment.json), what the results are and what they lack (about.json), and the verdicts as they were accepted
(comparison.csv).
"""

from __future__ import annotations

import json
import lzma
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from mpu_bench.errors import StoreError
from mpu_bench.files import as_store_error, csv_text, is_file, write_all, write_text, written_whole
from mpu_bench.quantities import RECORD_COLUMNS, Record, RunStatus
from mpu_bench.results.folder import CURVES, MACHINES, RUNS, ResultsFolder, open_results
from mpu_bench.results.means import curve_identity, mean_curve_rows
from mpu_bench.results.rows import made_publishable
from mpu_bench.results.store import ABOUT
from mpu_bench.verdict import comparison, regression
from mpu_bench.verdict.baseline import VERDICTS
from mpu_bench.verdict.cells import COLUMNS


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
        with as_store_error(target):
            target.mkdir(parents=True, exist_ok=True)
            if folder.resolve() != target.resolve():
                _keep(results, target)
            with open_results(target) as kept:
                cells = comparison.of_results(kept).cells
            write_text(target / VERDICTS, csv_text([cell.written() for cell in cells], COLUMNS))
    return target


def write_compressed(path: Path, text: str) -> None:
    """Write a text as .xz, whole or not at all; the same text gives the same bytes."""
    with written_whole(path) as stream:
        stream.write(lzma.compress(text.encode(), preset=9))


def _keep(results: ResultsFolder, target: Path) -> None:
    records, curves, machines = results.records(), results.mean_curves, results.environments()
    pairs = dict(results.fact("pairs") or {})
    if is_file(target / RUNS):
        with open_results(target) as kept:
            records = _completed(records, kept.finished())
            known_pairs = kept.fact("pairs") or {}
            pairs = {label: sizes or known_pairs.get(label, []) for label, sizes in pairs.items()}
            own = {curve_identity(row) for row in curves}
            curves = [*curves, *(row for row in kept.mean_curves if curve_identity(row) not in own)]
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
    """Return planned runs, those without a result as they were kept, if they were; what the plan says of them holds.

    But for the key: where it is another now, what is kept was made otherwise, and its own key says so.
    """
    results = {regression.key(record): record for record in kept}
    planned = ("n", "d", "n_test", "classes", "as_published", "overridden")
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


def folders(baseline: Path) -> list[Path]:
    """Return what is kept, sorted; empty where nothing is."""
    return sorted(path.parent for path in baseline.glob(f"*/{ABOUT}"))
