"""docs/benchmarks.md: what `make bench` measured, from results/bench.csv."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

from documents.markdown import words_table

TABLE = Path(__file__).parents[2] / "results" / "bench.csv"
HEAD = """# What the benches measured

This page is written by `scripts/document.py` from `results/bench.csv`, which `make bench` writes. A ratio of seconds
below 1 means faster than the external solver; of what the machine can do at best, 1 would be all of it. Seconds are
those of the processor, on one thread, without compiling. They are of one machine and one day, named below each table:
run `make bench` on yours.
"""
TITLES = {
    "linear": "Linear solvers",
    "kernel": "Kernel rows, and solvers on all of the data",
    "online": "Online solvers on a budget",
    "meb": "Minimal enclosing balls",
    "growth": "How seconds grow with the number of examples",
}
_EQUAL = 1.05
_PEER = re.compile("seconds of (LIBSVM|LIBLINEAR|oneDAL|Snap ML|scikit-learn)")
LESS = ("on", "solver", "ratio", "of the", "bounded by")
GROWTH = ("data", "solver", "power of n", "of", "because")


def pages() -> dict[str, str]:
    """Return the page."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    parts = [
        _section(script, title, [row for row in rows if row["script"] == script]) for script, title in TITLES.items()
    ]
    return {"benchmarks.md": "\n".join([HEAD, *filter(None, parts)])}


def _section(script: str, title: str, rows: list[dict[str, Any]]) -> str:
    if not rows:
        return ""
    lines = [
        (row["case"], row["solver"] or "kernel values", _standing(row), row["against"], row["bound_by"]) for row in rows
    ]
    machines = sorted({f"{row['processor']}, {row['cores']} cores, {row['date']}" for row in rows})
    headings = GROWTH if script == "growth" else LESS
    return "\n".join([f"## {title}", "", words_table(headings, lines), f"{'; '.join(machines)}.", ""])


def _standing(row: dict[str, Any]) -> str:
    """Return the ratio, and in a word how it stands to another tool: within 5%, equal."""
    ratio = float(row["ratio"])
    if not _PEER.match(row["against"]):
        return str(row["ratio"])
    return f"{row['ratio']}, {'ahead' if ratio < 1 / _EQUAL else 'behind' if ratio > _EQUAL else 'equal'}"
