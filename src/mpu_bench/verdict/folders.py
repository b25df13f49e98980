"""The verdicts of several results folders."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from mpu_bench.errors import StoreError
from mpu_bench.results.folder import open_results
from mpu_bench.results.store import FILE
from mpu_bench.verdict import comparison
from mpu_bench.verdict.comparison import OUTSIDE, Cell, counts

CellsByExperiment = Mapping[str, Sequence[Cell]]


def results_folders(below: Path) -> list[Path]:
    """Return the results folders below a folder.

    Raises
    ------
    StoreError
        If there is none.
    """
    results = sorted(path.parent for path in below.glob(f"*/{FILE}"))
    if not results:
        raise StoreError(f"{below}: holds no results; run a config first: mpu-bench run CONFIG")
    return results


def of_folders(results: Sequence[Path]) -> dict[str, list[Cell]]:
    """Return the cells of results folders by experiment, each judged by what its config says.

    Raises
    ------
    StoreError
        If a folder holds no results, or those of another version.
    """
    cells = {}
    for folder in results:
        with open_results(folder) as opened:
            cells[opened.name] = comparison.of_results(opened)
    return cells


def any_outside(cells: CellsByExperiment) -> bool:
    """Return whether any cell is outside."""
    return any(cell.verdict == OUTSIDE for of_experiment in cells.values() for cell in of_experiment)


def summarize_verdicts(cells: Sequence[Cell]) -> str:
    """Return how many cells have each verdict, in words."""
    if not cells:
        return "its config compares nothing"
    return ", ".join(f"{count} {verdict}" for verdict, count in counts(cells).items() if count)


def solver_text(cell: Cell) -> str:
    """Return a cell's solver, with what tells it apart."""
    parameters = json.loads(cell.parameters) if cell.parameters else {}
    words = [str(parameters[name]) for name in ("maintenance",) if name in parameters]
    return " ".join([cell.solver, *words, *([f"B={cell.budget}"] if cell.budget else [])])
