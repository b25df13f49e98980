"""The project's own last numbers, results/baseline: what of a results folder is kept there, and held against later.

Of each run that has a result its row is kept (runs.csv), with the machines (environment.json), the verdicts
(comparison.csv), and what the results are and what they lack (about.json).
"""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console

from mpu_bench.errors import StoreError
from mpu_bench.files import as_csv
from mpu_bench.quantities import FINISHED, RECORD_COLUMNS
from mpu_bench.results.store import FILE, Store
from mpu_bench.verdict import comparison, regression
from mpu_bench.verdict.comparison import Cell

ABOUT = "about.json"
BEGIN, END = "<!-- overview of results/baseline: scripts/freeze.py writes it -->", "<!-- end of the overview -->"


def freeze(folder: Path, reference: Path) -> Path:
    """Keep a results folder as ``reference/<name>``, in place of what was kept there.

    Raises
    ------
    StoreError
        If the folder holds no results, or none that is finished, or the reference cannot be written.
    """
    with Store(folder) as store:
        records, judged = store.records(), comparison.of_store(store)
        facts = {name: store.fact(name) for name in ("name", "paper", "config", "options", "description")}
        machines = store.environments()
    finished = [record for record in records if record["status"] in FINISHED]
    machines = [machine for machine in machines if machine["id"] in {record["environment"] for record in finished}]
    if not finished:
        raise StoreError(f"{folder}: no run has a result; there is nothing to keep")
    about = facts | {
        "date": datetime.now(UTC).date().isoformat(),
        "hours": round(sum(record["train_seconds"] or 0.0 for record in finished) / 3600, 5),
        "runs": len(finished),
        "planned": len(records),
        "missing": missing(records),
    }
    texts = {
        "runs.csv": as_csv([{name: record[name] for name in RECORD_COLUMNS} for record in finished]),
        "environment.json": json.dumps({"machines": machines}, indent=2) + "\n",
        "comparison.csv": as_csv([asdict(replace(cell, reason=_without_paths(cell.reason))) for cell in judged]),
        ABOUT: json.dumps(about, indent=2) + "\n",
    }
    place = reference / str(about["name"])
    try:
        place.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            (place / name).write_text(text, encoding="utf-8", newline="")
    except OSError as fault:
        raise StoreError(f"{place}: cannot be written: {fault.strerror}") from None
    return place


def missing(records: Sequence[dict[str, Any]]) -> list[str]:
    """Say of which dataset there is no result of how many runs, and why: the first sentence of each reason."""
    found = Counter(
        (record["dataset"], record["status"], _without_paths(record["reason"] or "").partition(". ")[0])
        for record in records
        if record["status"] not in FINISHED
    )
    begun = {record["dataset"] for record in records if record["status"] in FINISHED}
    return [
        f"{'part of ' * (dataset in begun)}{dataset}, {count} run{'s'[: count > 1]}: {status}{': ' if reason else ''}"
        f"{reason}"
        for (dataset, status, reason), count in found.items()
    ]


def _without_paths(text: str) -> str:
    """Leave of every path the last name: where it was on this machine says nothing on another."""
    return re.sub(r"(?<![\w.:/])/(?:[\w.+~-]+/)+", "", text)


def about(folder: Path) -> dict[str, Any]:
    """Read what kept results are.

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
    except (ValueError, KeyError, TypeError) as fault:
        raise StoreError(f"{folder / ABOUT}: cannot be read ({fault}); freeze the results again") from None


def cells(folder: Path) -> list[Cell]:
    """Read the verdicts of kept results.

    Raises
    ------
    StoreError
        If they are missing, or of another version.
    """
    path = folder / "comparison.csv"
    if not path.is_file():
        raise StoreError(f"{folder}: {path.name} is missing; freeze the results again")
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    lacking = [name for name in comparison.COLUMNS if rows and name not in rows[0]]
    if lacking:
        raise StoreError(f"{path}: has no column '{lacking[0]}'; it was written by another version of mpu-bench")
    try:
        return [Cell(**{name: _typed(name, row[name]) for name in comparison.COLUMNS}) for row in rows]
    except ValueError as fault:
        raise StoreError(f"{path}: cannot be read: {fault}") from None


def _typed(name: str, text: str) -> Any:
    kind = str(Cell.__dataclass_fields__[name].type)
    if kind == "str":
        return text
    if not text:
        return None
    return int(text) if kind == "int" else float(text)


def print_differences(results: Sequence[Path], reference: Path, console: Console) -> bool:
    """Set results folders against what is kept of them, and tell whether any run differs.

    Raises
    ------
    StoreError
        If nothing is kept of any of them, or a folder cannot be read.
    """
    kept = {folder: reference / _name(folder) for folder in results}
    if not any(place.is_dir() for place in kept.values()):
        raise StoreError(f"{reference}: keeps nothing of {', '.join(place.name for place in kept.values())}")
    differs = False
    for folder, place in kept.items():
        if not place.is_dir():
            console.print(f"{folder}: {reference} keeps nothing of it", markup=False, highlight=False)
            continue
        left, right = regression.read(folder), regression.read(place)
        found, slower = regression.compare(left, right), regression.slower(left, right)
        regression.print_differences(left, right, found, console)
        for line in slower:
            console.print(f"slower: {line}", style="bold red", markup=False, highlight=False)
        differs |= bool(slower) or any(each.faults for each in found)
    return differs


def _name(folder: Path) -> str:
    if not (folder / FILE).is_file():
        return folder.name
    with Store(folder) as store:
        return store.fact("name") or folder.name


def folders(reference: Path) -> list[Path]:
    """List what is kept, sorted; empty where nothing is."""
    return sorted(path.parent for path in reference.glob(f"*/{ABOUT}"))


def readme_section(overview: str, reference: Path, experiments: Iterable[str]) -> str:
    """Write what the README shows between its marks: the overview, and where, when and how long it was measured.

    ``experiments``: the names of all; those of which nothing is kept are named, too.
    """
    lines = []
    for folder in folders(reference):
        facts = about(folder)
        machines = json.loads((folder / "environment.json").read_text("utf-8"))["machines"]
        where: dict[str, list[str]] = {}
        for machine in machines:
            where.setdefault(f"{machine['processor']}, {machine['cores']} cores", []).append(f"`{machine['commit']}`")
        places = "; ".join(
            f"{processor}, commit {', '.join(dict.fromkeys(commits))}" for processor, commits in where.items()
        )
        line = f"- `{facts['name']}`: {facts['runs']} of {facts['planned']} runs, {_time(facts['hours'])} of training, "
        without = dict.fromkeys(each.partition(",")[0] for each in facts["missing"])
        lines.append(f"{line}{facts['date']}, {places}" + (f"; without {', '.join(without)}" if without else ""))
    absent = sorted(set(experiments) - {about(folder)["name"] for folder in folders(reference)})
    if absent:
        lines.append(f"- not run in full so far: {', '.join(f'`{name}`' for name in absent)}")
    why = ["", "What is without a result, and why, is in each `about.json`."]
    shown = [overview.rstrip(), "", *lines, *why] if lines else ["Nothing is kept yet."]
    return "\n".join([BEGIN, "", *shown, "", END])


def _time(hours: float) -> str:
    return f"{hours:.1f} h" if hours >= 1 else f"{60 * hours:.1f} min"


def refresh(readme: Path, section: str) -> None:
    """Put the section between the marks of the README.

    Raises
    ------
    StoreError
        If it has no marks.
    """
    text = readme.read_text(encoding="utf-8")
    before, found, rest = text.partition(BEGIN)
    _, ended, after = rest.partition(END)
    if not found or not ended:
        raise StoreError(f"{readme}: has no marks for the overview: {BEGIN} and {END}")
    readme.write_text(before + section + after, encoding="utf-8")
