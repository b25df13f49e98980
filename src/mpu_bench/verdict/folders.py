"""The verdicts of several results folders."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from mpu_bench.errors import StoreError
from mpu_bench.resources import config_names
from mpu_bench.results.folder import RUNS
from mpu_bench.results.store import FILE
from mpu_bench.verdict.cells import COUNTED, Cell, count_verdicts
from mpu_bench.verdict.verdict import Verdict

BASELINE = "baseline"  #: the folder among results that holds the project's own last numbers


def results_folders(below: Path, *, profiles: bool = True) -> list[Path]:
    """Return the results folders below a folder; where nothing was run, as in a fresh checkout, those of the baseline.

    Parameters
    ----------
    below : Path
    profiles : bool
        Of the baseline, those of configs with a profile as well.

    Raises
    ------
    StoreError
        If there is none.
    """
    results = sorted(path.parent for path in below.glob(f"*/{FILE}"))
    if not results:
        kept = sorted(path.parent for path in below.glob(f"{BASELINE}/*/{RUNS}"))
        results = [folder for folder in kept if profiles or folder.name in config_names()]
    if not results:
        raise StoreError(f"{below}: holds no results; run a config first: mpu-bench run CONFIG")
    return results


def do_not_come_out(cells: Sequence[Cell]) -> list[Cell]:
    """Return the values, ratios and claims that speak against a paper; first those that nothing explains."""
    found = [cell for cell in cells if cell.kind in COUNTED and cell.is_against]
    return sorted(found, key=lambda cell: bool(cell.explained))


def summarize_verdicts(cells: Sequence[Cell]) -> str:
    """Return how many values, ratios and claims have each verdict; where there are none, how many of the rest."""
    here = [cell for cell in cells if not cell.is_elsewhere]
    words = [f"{verdict.word} {count}" for verdict, count in count_verdicts(here).items() if count]
    if elsewhere := sum(count_verdicts(cells).values()) - sum(count_verdicts(here).values()):
        words.append(f"of other datasets {elsewhere}")
    if words or not cells:
        return ", ".join(words) or "nothing published is set beside it"
    apart = Counter(f"{cell.kind} {cell.verdict.word}" for cell in cells)
    return "no value, ratio or claim; " + ", ".join(f"{verdict} {count}" for verdict, count in apart.items())


def remark_text(cell: Cell) -> str:
    """Return what limits a verdict, and what explains it with the evidence."""
    evidence = f" ({cell.evidence})" if cell.evidence else ""
    return "; ".join(filter(None, [cell.remark, f"explained: {cell.explained}{evidence}" if cell.explained else ""]))


def verdict_text(cell: Cell) -> str:
    """Return a verdict with what belongs to it: which way it differs, how many points of a claim are measured."""
    more = [cell.direction, cell.judged] if cell.is_against else []
    if cell.points and cell.verdict != Verdict.SUPPORTED:
        more = [f"{cell.points_measured} of {cell.points} measured"]
        more += [f"{cell.contradicted} against"] if cell.contradicted else []
    more += ["explained"] if cell.explained else []
    words = ", ".join(filter(None, more))
    return f"{cell.verdict.word} ({words})" if words else cell.verdict.word


def solver_text(cell: Cell) -> str:
    """Return a cell's solver, with what tells it apart."""
    parameters = json.loads(cell.parameters) if cell.parameters else {}
    words = [str(parameters[name]) for name in ("maintenance",) if name in parameters]
    return " ".join([cell.solver, *words, *([f"B={cell.budget}"] if cell.budget else [])])
