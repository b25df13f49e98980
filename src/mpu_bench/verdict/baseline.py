"""The project's own last numbers, results/baseline: what of a results folder is kept there, and held against later.

Of each run that has a result its row is kept (runs.csv), with the machines (environment.json), the verdicts
(comparison.csv), and what the results are and what they lack (about.json).
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mpu_bench.errors import StoreError
from mpu_bench.files import csv_text, read_csv, write_text
from mpu_bench.quantities import FINISHED, RECORD_COLUMNS
from mpu_bench.results.folder import open_results
from mpu_bench.results.store import FILE
from mpu_bench.verdict import comparison, regression
from mpu_bench.verdict.comparison import Cell
from mpu_bench.verdict.regression import Difference, Results

ABOUT = "about.json"
_FACTS = ("name", "paper", "config", "options", "description")


def accept(folder: Path, baseline: Path) -> Path:
    """Keep a results folder as ``baseline/<name>``, in place of what was kept there.

    Raises
    ------
    StoreError
        If the folder holds no results, or none that is finished, or the baseline cannot be written.
    """
    with open_results(folder) as results:
        records, cells = results.records(), comparison.of_results(results)
        facts = {name: results.fact(name) for name in _FACTS}
        machines = results.environments()
    finished = [record for record in records if record["status"] in FINISHED]
    if not finished:
        raise StoreError(f"{folder}: no run has a result; there is nothing to keep")
    used = {record["machine"] for record in finished}
    cells = [replace(cell, remark=_without_paths(cell.remark)) for cell in cells]
    texts = {
        "runs.csv": csv_text(finished, RECORD_COLUMNS),
        "environment.json": _json({"machines": [machine for machine in machines if machine["id"] in used]}),
        "comparison.csv": csv_text([asdict(cell) for cell in cells], comparison.COLUMNS),
        ABOUT: _json(facts | _about(records, finished)),
    }
    return _write(texts, baseline / str(facts["name"]))


def _about(records: Sequence[Mapping[str, Any]], finished: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "hours": round(sum(record["train_seconds"] or 0.0 for record in finished) / 3600, 5),
        "runs": len(finished),
        "planned": len(records),
        "missing": missing(records),
    }


def _json(content: Mapping[str, Any]) -> str:
    return json.dumps(content, indent=2) + "\n"


def _write(texts: Mapping[str, str], folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            write_text(folder / name, text)
    except OSError as error:
        raise StoreError(f"{folder}: cannot be written: {error.strerror}") from None
    return folder


def missing(records: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return of which dataset how many runs have no result, and why: the first sentence of each reason."""
    failed = Counter(
        (record["dataset"], record["status"], _without_paths(record["reason"] or "").partition(". ")[0])
        for record in records
        if record["status"] not in FINISHED
    )
    begun = {record["dataset"] for record in records if record["status"] in FINISHED}
    return [
        f"{'part of ' * (dataset in begun)}{dataset}, {count} run{'s'[: count > 1]}: {status}{': ' if reason else ''}"
        f"{reason}"
        for (dataset, status, reason), count in failed.items()
    ]


def _without_paths(text: str) -> str:
    """Return a text with the last name of every path: where a file was on this machine says nothing on another."""
    return re.sub(r"(?<![\w.:/])/(?:[\w.+~-]+/)+", "", text)


def about(folder: Path) -> dict[str, Any]:
    """Return what kept results are.

    Raises
    ------
    StoreError
        If the folder holds none, or those of another version.
    """
    try:
        facts: dict[str, Any] = json.loads((folder / ABOUT).read_text("utf-8"))
        return {name: facts[name] for name in ("name", "paper", "date", "hours", "runs", "planned", "missing")}
    except FileNotFoundError:
        raise StoreError(f"{folder}: holds no results: neither {FILE} nor {ABOUT}") from None
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(f"{folder / ABOUT}: cannot be read ({error}); accept the results again") from None


def cells(folder: Path) -> list[Cell]:
    """Return the verdicts of kept results.

    Raises
    ------
    StoreError
        If they are missing, or of another version.
    """
    path = folder / "comparison.csv"
    if not path.is_file():
        raise StoreError(f"{folder}: {path.name} is missing; accept the results again")
    types: dict[str, Callable[[str], Any]] = {"str": str, "int": int, "float | None": _float_or_none}
    return [Cell(**row) for row in read_csv(path, {field.name: types[str(field.type)] for field in fields(Cell)})]


def _float_or_none(text: str) -> float | None:
    return float(text) if text else None


def folders(baseline: Path) -> list[Path]:
    """Return what is kept, sorted; empty where nothing is."""
    return sorted(path.parent for path in baseline.glob(f"*/{ABOUT}"))


@dataclass(frozen=True)
class Held:
    """Results beside what is kept of them: how runs differ, and sentences on solvers that are slower."""

    now: Results
    kept: Results
    differences: Sequence[Difference]
    slower: Sequence[str]

    @property
    def differs(self) -> bool:
        """Whether any run differs, or any solver is slower."""
        return bool(self.slower) or any(difference.faults for difference in self.differences)


def hold(results: Sequence[Path], baseline: Path) -> tuple[list[Held], list[Path]]:
    """Return results folders beside what is kept of them, and the folders of which nothing is kept.

    Raises
    ------
    StoreError
        If nothing is kept of any of them, or a folder cannot be read.
    """
    kept = {folder: baseline / _name(folder) for folder in results}
    unknown = [folder for folder, place in kept.items() if not place.is_dir()]
    if len(unknown) == len(results):
        raise StoreError(f"{baseline}: keeps nothing of {', '.join(place.name for place in kept.values())}")
    return [_held(folder, place) for folder, place in kept.items() if folder not in unknown], unknown


def _held(folder: Path, place: Path) -> Held:
    now, kept = regression.read(folder), regression.read(place)
    return Held(now, kept, regression.compare(now, kept), regression.slower(now, kept))


def _name(folder: Path) -> str:
    with open_results(folder) as results:
        return results.name
