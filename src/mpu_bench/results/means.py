"""Means of runs that differ in seed and split alone: the rows of table.csv, and the points of mean_curves.csv."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mpu_bench.quantities import QUANTITIES, Record

#: what runs have in common that one row of table.csv is of
GROUP = (
    *("dataset", "n", "d", "n_test", "classes", "solver", "parameters", "kernel", "budget_vectors", "tuned"),
    *("problem", "as_published", "overridden", "earlier"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary(Record):
    """What runs that differ in seed and split alone have in common, and the means of what is measured.

    Attributes
    ----------
    count, planned : int
        How many of the planned runs have a result, and are in the means.
    statuses : str
        Of the runs that did not finish, or of all.
    disturbed_runs : int or None
        How many were; None where it is not recorded.
    means, deviations, published : mapping
        By quantity: the mean, the sample standard deviation (None for one run), the published number beside it.
    largest_pair, smallest_pair : int or None
        Training rows of the largest and of the smallest pair of classes, of a dataset of several.
    runs : sequence of Record
        Those with a result, where `machines.with_runs` has found them.
    """

    count: int = 1
    planned: int = 1
    statuses: str = ""
    disturbed_runs: int | None = None
    means: Mapping[str, float | None] = field(default_factory=dict)
    deviations: Mapping[str, float | None] = field(default_factory=dict)
    published: Mapping[str, float] = field(default_factory=dict)
    largest_pair: int | None = None
    smallest_pair: int | None = None
    runs: Sequence[Record] = ()

    def moments(self, names: Iterable[str]) -> dict[str, float | None]:
        """Return ``<name>_mean`` and ``<name>_std``, as the columns of CSV files are called."""
        both = (("mean", self.means), ("std", self.deviations))
        return {f"{name}_{moment}": values[name] for name in names for moment, values in both}

    def table_row(self) -> dict[str, Any]:
        """Return the row of table.csv."""
        pairs = {"largest_pair": self.largest_pair, "smallest_pair": self.smallest_pair}
        return {
            **self.row(GROUP),
            "count": self.count,
            "planned": self.planned,
            "status": self.statuses,
            "chosen": self.chosen,
            "reason": self.reason,
            "disturbed": self.disturbed_runs,
            **self.moments(QUANTITIES),
            "maximised": self.maximised,
            **{f"published_{name}": value for name, value in self.published.items()},
            **{name: value for name, value in pairs.items() if value is not None},
        }


def by_dataset(rows: Iterable[Summary]) -> dict[str, list[Summary]]:
    """Return the rows of each dataset, in order."""
    found: dict[str, list[Summary]] = {}
    for row in rows:
        found.setdefault(row.dataset, []).append(row)
    return found


def moments(runs: Sequence[Record], names: Iterable[str]) -> dict[str, Any]:
    """Return the ``means`` and ``deviations`` of quantities, None where there is no value, or only one."""
    known = {name: [value for run in runs if (value := run.value(name)) is not None] for name in names}
    return {
        "means": {name: statistics.fmean(values) if values else None for name, values in known.items()},
        "deviations": {name: statistics.stdev(values) if len(values) > 1 else None for name, values in known.items()},
    }
