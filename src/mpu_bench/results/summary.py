"""Records -> summary rows: one per dataset, solver, parameters, kernel and budget, over seeds and splits."""

from __future__ import annotations

import json
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from mpu_bench.quantities import FINISHED, QUANTITIES
from mpu_bench.results import matching, naming, problems
from mpu_bench.scaled import from_json

GROUP = (
    *("dataset", "n", "d", "n_test", "classes", "solver", "parameters", "kernel", "budget_vectors", "tuned"),
    *("problem", "as_published", "overridden", "earlier"),
)

Summary = dict[str, Any]


class _Results(Protocol):
    """What a summary is made of: a results folder, or the store of one."""

    def fact(self, name: str) -> Any: ...

    def records(self, *, earlier: bool = False) -> list[dict[str, Any]]: ...


def summarize(records: Sequence[Mapping[str, Any]], published: Sequence[str]) -> list[Summary]:
    """Return one row per dataset, solver, parameters, kernel and budget, over seeds and splits; none of trials.

    Runs of an earlier plan have rows of their own. Published numbers stand beside rows whose settings are published.

    Parameters
    ----------
    records : sequence of mapping
        Rows as `Store.records` returns them.
    published : sequence of str
        The published tables whose numbers stand beside the measured ones.

    Returns
    -------
    list of dict
        The keys of `GROUP`; ``count`` finished of ``planned`` runs; ``<quantity>_mean`` and ``_std`` (the sample
        standard deviation, None for one run) for `QUANTITIES`; ``published_<quantity>``; ``status`` and ``reason``
        of what did not finish; ``disturbed``, how many finished runs were (None: not recorded).
    """
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    of_a_seed: Counter[tuple[Any, ...]] = Counter()
    for record in records:
        if record["trial"]:
            continue
        key = tuple(record[name] for name in GROUP)
        place = (key, record["split"], record["seed"])
        # earlier runs of one seed differ in what no column says, such as the rule that ended them: no mean is of both
        groups.setdefault((*key, of_a_seed[place] if record["earlier"] else 0), []).append(record)
        of_a_seed[place] += 1
    return [_summary(dict(zip(GROUP, key[:-1], strict=True)), runs, published) for key, runs in groups.items()]


def _summary(group: dict[str, Any], runs: Sequence[Mapping[str, Any]], tables: Sequence[str]) -> Summary:
    finished = [with_derived(run) for run in runs if run["status"] in FINISHED]
    failed = [run for run in runs if run["status"] not in FINISHED]
    summary: Summary = group | {"count": len(finished), "planned": len(runs)}
    summary["status"] = ", ".join(dict.fromkeys(run["status"] for run in (failed or runs)))
    summary["chosen"] = " or ".join(dict.fromkeys(run["chosen"] for run in finished if run["chosen"]))
    summary["reason"] = "; ".join(dict.fromkeys(run["reason"] for run in runs if run["reason"]))
    recorded = [run for run in finished if run["threads"] is not None]
    summary["disturbed"] = sum(bool(run["disturbed"]) for run in recorded) if recorded else None
    summary |= moments(finished, QUANTITIES)
    summary["problem"] = "" if summary["objective_mean"] is None else problems.problem_in(group)
    summary["maximised"] = runs[0]["maximised"]
    summary["as_published"] = int(is_as_published(runs[0]))
    key = summary | {"parameters": json.loads(group["parameters"], object_hook=from_json)}
    published = matching.published_beside(tables, key)
    return summary | {f"published_{name}": value for name, value in published.items()}


def disturbed_remark(records: Sequence[Mapping[str, Any]]) -> str:
    """Return in a line how many runs were disturbed and what that means; nothing if none was."""
    finished = [run for run in records if run["status"] in FINISHED and not run["trial"]]
    disturbed = [run for run in finished if run["disturbed"]]
    if not disturbed:
        return ""
    first = disturbed[0]
    return (
        f"{naming.DISTURBED} disturbed: {len(disturbed)} of {len(finished)} runs ({first['dataset']} {first['solver']} "
        f"seed={first['seed']}: {first['disturbed']}); their seconds are not judged"
    )


def with_derived(run: Mapping[str, Any]) -> dict[str, Any]:
    """Return a run with the quantities that follow from the rest of its row."""
    derived = {name: quantity.derive(run) for name, quantity in QUANTITIES.items() if quantity.derive is not None}
    return {**run, **derived}


def is_as_published(run: Mapping[str, Any]) -> bool:
    """Return whether a run is what its config says."""
    return bool(run["as_published"])


def summaries(results: _Results, *, earlier: bool = False) -> list[Summary]:
    """Return the rows of table.csv, with the sizes of the datasets' largest and smallest pairs of classes.

    Parameters
    ----------
    results : ResultsFolder or Store
    earlier : bool
        Return behind them those of runs that only an earlier plan has: to be shown, and never judged.
    """
    pairs = results.fact("pairs") or {}
    return [
        row | dict(zip(("largest_pair", "smallest_pair"), pairs.get(row["dataset"], ()), strict=False))
        for row in summarize(results.records(earlier=earlier), published_tables(results))
    ]


def published_tables(results: _Results) -> list[str]:
    """Return the published tables that results are set beside."""
    tables: list[str] = (results.fact("judging") or {}).get("published") or []
    return tables


def moments(rows: Sequence[Mapping[str, Any]], names: Iterable[str]) -> Summary:
    """Return ``<name>_mean`` and ``<name>_std``, None where there is no value, or only one.

    The suffix is that of the columns of CSV files; people read "standard deviation" or a number after ±.
    """
    means: Summary = {}
    for name in names:
        values = [row[name] for row in rows if row[name] is not None]
        means[f"{name}_mean"] = statistics.fmean(values) if values else None
        means[f"{name}_std"] = statistics.stdev(values) if len(values) > 1 else None
    return means
