"""Records -> summary rows: one per dataset, solver, parameters, kernel and budget, over seeds and splits.

Beside each stand the numbers of the row of a published table that it answers.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from mpu_bench.published import table
from mpu_bench.quantities import PUBLISHED_COLUMNS, QUANTITIES, Record
from mpu_bench.results import naming
from mpu_bench.results.folder import ResultsFolder
from mpu_bench.results.means import GROUP, Summary, moments
from mpu_bench.scaled import Scaled, parameters_in, short


def published_beside(tables: Iterable[str], record: Record) -> dict[str, float]:
    """Return the published numbers for a row of results, as far as the table tells its rows apart.

    Parameters
    ----------
    tables : iterable of str
        The published tables; what several print is that of the first.
    record : Record

    Returns
    -------
    dict
        Measured quantity -> published number; empty where nothing, or no single row, answers.
    """
    beside: dict[str, float] = {}
    for name in tables:
        rows = [row for row in table(name) if answers(row, record)]
        for column, value in rows[0].items() if len(rows) == 1 else ():
            if column in PUBLISHED_COLUMNS and value:
                beside.setdefault(PUBLISHED_COLUMNS[column], float(value))
    return beside


def _is_regularization(published: str, regularization: Any) -> bool:
    """Return whether a published lambda such as ``1/(100n)`` is that of a run; one without lambda may have any."""
    if regularization is None:
        return True
    divisor = published.removeprefix("1/").strip("()").removesuffix("n") or "1"
    return isinstance(regularization, Scaled) and math.isclose(regularization.factor, 1 / float(divisor))


def answers(row: Mapping[str, str], record: Record) -> bool:
    """Return whether a row of results is what a row of a published table is about: its settings are the published."""
    if record.as_published == 0:
        return False
    parameters = parameters_in(record.parameters)
    names = {record.solver, f"{record.solver}-{parameters.get('maintenance', '')}"}
    if row.get("dataset") != record.dataset or row.get("solver", record.solver) not in names:
        return False
    if "bias" in row and row["bias"] != ("yes" if parameters.get("bias") else "no"):
        return False
    if row.get("sigma2") and f"(sigma2={short(float(row['sigma2']))})" not in record.kernel:
        return False
    if row.get("lambda") and not _is_regularization(row["lambda"], parameters.get("regularization")):
        return False
    budget = row.get("budget", "")
    return not budget or (record.budget_vectors is not None and float(budget) == record.budget_vectors)


def summarize(records: Sequence[Record], published: Sequence[str]) -> list[Summary]:
    """Return one row per dataset, solver, parameters, kernel and budget, over seeds and splits; none of trials.

    Runs of an earlier plan have rows of their own. Published numbers stand beside rows whose settings are published.

    Parameters
    ----------
    records : sequence of Record
        As `Store.records` returns them.
    published : sequence of str
        The published tables whose numbers stand beside the measured ones.
    """
    groups: dict[tuple[Any, ...], list[Record]] = {}
    of_a_seed: Counter[tuple[Any, ...]] = Counter()
    for record in records:
        if record.trial:
            continue
        key = tuple(map(record.value, GROUP))
        cell_key = (key, record.split, record.seed)
        # earlier runs of one seed differ in what no column says, such as the rule that ended them: no mean is of both
        groups.setdefault((*key, of_a_seed[cell_key] if record.earlier else 0), []).append(record)
        of_a_seed[cell_key] += 1
    return [_summary(dict(zip(GROUP, key[:-1], strict=True)), runs, published) for key, runs in groups.items()]


def _summary(group: dict[str, Any], runs: Sequence[Record], tables: Sequence[str]) -> Summary:
    finished = [run for run in runs if run.is_finished]
    failed = [run for run in runs if not run.is_finished]
    recorded = [run for run in finished if run.threads is not None]
    summary = Summary(
        **group,
        count=len(finished),
        planned=len(runs),
        statuses=", ".join(dict.fromkeys(run.status for run in (failed or runs))),
        chosen=" or ".join(dict.fromkeys(run.chosen for run in finished if run.chosen)),
        reason="; ".join(dict.fromkeys(run.reason for run in runs if run.reason)),
        disturbed_runs=sum(bool(run.disturbed) for run in recorded) if recorded else None,
        maximised=runs[0].maximised,
        **moments(finished, QUANTITIES),
    )
    return replace(
        summary,
        problem="" if summary.means["objective"] is None else naming.problem_in(summary),
        as_published=int(bool(runs[0].as_published)),
        published=published_beside(tables, summary),
    )


def disturbed_remark(records: Sequence[Record]) -> str:
    """Return in a line how many runs were disturbed and what that means; nothing if none was."""
    finished = [run for run in records if run.is_finished and not run.trial]
    disturbed = [run for run in finished if run.disturbed]
    if not disturbed:
        return ""
    first, delayed = disturbed[0], sum(run.comparable_seconds is not None for run in disturbed)
    judged = f"only the processor seconds of {delayed} are compared" if delayed else "their seconds are not compared"
    return (
        f"{naming.DISTURBED} disturbed: {len(disturbed)} of {len(finished)} runs ({first.dataset} {first.solver} "
        f"seed={first.seed}: {first.disturbed}); {judged}"
    )


def summaries(results: ResultsFolder, *, earlier: bool = False) -> list[Summary]:
    """Return the rows of table.csv, with the sizes of the datasets' largest and smallest pairs of classes.

    Parameters
    ----------
    results : ResultsFolder
    earlier : bool
        Return behind them those of runs that only an earlier plan has: to be shown, and never judged.
    """
    pairs = results.fact("pairs") or {}
    return [
        replace(row, **dict(zip(("largest_pair", "smallest_pair"), pairs.get(row.dataset, ()), strict=False)))
        for row in summarize(results.records(earlier=earlier), published_tables(results))
    ]


def published_tables(results: ResultsFolder) -> list[str]:
    """Return the published tables that results are set beside."""
    tables: list[str] = (results.fact("judging") or {}).get("published") or []
    return tables
