"""The figure of average ranks: a critical-difference diagram as in Demšar (2006)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from mpu_bench.errors import StoreError
from mpu_bench.quantities import DECLARED
from mpu_bench.report import figure_parts as parts
from mpu_bench.report.figure_parts import Figure, Panel, Series, figure
from mpu_bench.results.means import Summary as Row
from mpu_bench.verdict import rank_tests

#: what solvers are ranked in over datasets, and the titles of the panels
_RANKED = {"comparable_seconds": "seconds", "test_accuracy_percent": "accuracy", "online_error": "online error"}
_LEAST_SOLVERS, _LEAST_DATASETS = 3, 2  # of ranks that say more than a number for each
_MOST_SOLVERS = 16  # of a diagram that can be read


@figure("ranks")
def ranks(rows: Sequence[Row], _curves: Sequence[Row], _against: str | None) -> Figure:
    """Return average ranks over datasets, with Nemenyi's critical difference."""
    rows = parts.contestants(rows)
    varied = parts.varying(rows)
    styles = {parts.label(row, varied): parts.style_name(row) for row in rows}
    named = [replace(row, solver=parts.label(row, varied)) for row in rows]
    panels = [_panel(quantity, title, named, styles) for quantity, title in _RANKED.items()]
    words = f"average ranks; solvers that a bar joins are not told apart at {rank_tests.LEVEL:g} (Nemenyi)"
    return Figure("", words, tuple(panel for panel in panels if panel is not None), columns=1)


def _panel(quantity: str, title: str, rows: Sequence[Row], styles: Mapping[str, str]) -> Panel | None:
    measured = parts.on_one_machine(quantity, [row for row in rows if row.means.get(quantity) is not None])
    solvers = _ranked_solvers(measured)
    if not 0 < len(solvers) <= _MOST_SOLVERS:
        return None
    table = [{"dataset": row.dataset, "solver": row.solver, quantity: row.means[quantity]} for row in measured]
    try:
        values = rank_tests.matched(table, quantity, solvers)
    except StoreError:  # which of several rows is a solver's is not said
        return None
    outcome = rank_tests.friedman(values, "highest" if DECLARED[quantity].better == "higher" else "lowest")
    difference = rank_tests.critical_difference(len(solvers), outcome.datasets)
    ranked = sorted(zip(outcome.average_ranks, solvers, strict=True))
    series = tuple(
        Series(name, (rank - difference / 2, rank, rank + difference / 2), (float(index),) * 3, solver=styles[name])
        for index, (rank, name) in enumerate(ranked)
    )
    return Panel(
        f"{title}, Friedman p = {outcome.p_value:.2g}",
        f"average rank over {outcome.datasets} datasets (1 is best)",
        "",
        series,
        x_log=False,
        names=tuple(name for _, name in ranked),
        critical_difference=difference,
        groups=rank_tests.not_told_apart(outcome),
    )


def _ranked_solvers(rows: Sequence[Row]) -> list[str]:
    """Return the solvers of the largest table without holes, found by leaving out who has the fewest datasets."""
    datasets: dict[str, set[str]] = {}
    for row in rows:
        datasets.setdefault(row.solver, set()).add(row.dataset)
    left, best, most = list(datasets), list[str](), 0
    while len(left) >= _LEAST_SOLVERS:
        common = len(set.intersection(*(datasets[solver] for solver in left)))
        if common >= _LEAST_DATASETS and common * len(left) > most:
            best, most = list(left), common * len(left)
        left.remove(min(reversed(left), key=lambda solver: len(datasets[solver])))
    return best
