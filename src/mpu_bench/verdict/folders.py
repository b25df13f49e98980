"""The verdicts of several results folders."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from mpu_bench.errors import StoreError
from mpu_bench.results.store import FILE, Store
from mpu_bench.verdict import comparison
from mpu_bench.verdict.comparison import OUTSIDE, VERDICTS, Cell, counts

Judged = Mapping[str, Sequence[Cell]]  #: experiment -> its cells


def results_folders(below: Path) -> list[Path]:
    """Find the results folders below a folder.

    Raises
    ------
    StoreError
        If there is none.
    """
    found = sorted(path.parent for path in below.glob(f"*/{FILE}"))
    if not found:
        raise StoreError(f"{below}: holds no results; run a config first: mpu-bench run CONFIG")
    return found


def of_folders(results: Sequence[Path]) -> dict[str, list[Cell]]:
    """Judge each results folder by what its config says.

    Raises
    ------
    StoreError
        If a folder holds no results, or those of another version.
    """
    judged = {}
    for folder in results:
        with Store(folder) as store:
            judged[store.fact("name") or folder.name] = comparison.of_store(store)
    return judged


def any_outside(judged: Judged) -> bool:
    """Tell whether any cell is outside."""
    return any(cell.verdict == OUTSIDE for cells in judged.values() for cell in cells)


def summarize_verdicts(cells: Sequence[Cell]) -> str:
    """Count the verdicts in words."""
    found = counts(cells)
    if not cells:
        return "its config compares nothing"
    return ", ".join(f"{found[verdict]} {verdict}" for verdict in VERDICTS if found[verdict])


def solver_text(cell: Cell) -> str:
    """Name a cell's solver, with what tells it apart."""
    parameters = json.loads(cell.parameters) if cell.parameters else {}
    words = [str(parameters[name]) for name in ("maintenance",) if name in parameters]
    return " ".join([cell.solver, *words, *([f"B={cell.budget}"] if cell.budget else [])])
