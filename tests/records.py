"""Records and summaries from the columns of runs.csv, of table.csv and of mean_curves.csv."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from mpu_bench.quantities import COLUMNS, Record, RunStatus
from mpu_bench.results.means import Summary
from mpu_bench.scaled import to_json

#: of a quantity in percent -> the share that it follows from
_SHARES: dict[str, Callable[[float], dict[str, float]]] = {
    "test_error_percent": lambda percent: {"test_error": percent / 100},
    "test_accuracy_percent": lambda percent: {"test_error": 1 - percent / 100},
    "online_error_percent": lambda percent: {"online_error": percent / 100},
}


def record(values: Mapping[str, Any]) -> Record:
    """Return the record of values by column; a quantity that follows from others makes these."""
    known = {name: value for name, value in values.items() if name in COLUMNS or name in ("made_on", "made_by")}
    if values.get("comparable_seconds") is not None:
        known = {"threads": 1, "cpu_seconds": values["comparable_seconds"]} | known
    for name, share in _SHARES.items():
        if values.get(name) is not None:
            known = share(values[name]) | known
    if isinstance(known.get("parameters"), dict):
        known["parameters"] = json.dumps(known["parameters"], default=to_json)
    if known.get("status") is not None:
        known["status"] = RunStatus(known["status"])
    return Record(**{name: value for name, value in known.items() if value is not None})


def records(rows: Iterable[Mapping[str, Any]]) -> list[Record]:
    """Return the records of rows."""
    return list(map(record, rows))


def summary(values: Mapping[str, Any]) -> Summary:
    """Return the summary of a row of table.csv or of mean_curves.csv."""
    ends = {"_mean": "means", "_std": "deviations"}
    given: dict[str, Any] = {"means": {}, "deviations": {}, "published": {}}
    for name, value in values.items():
        end = next((end for end in ends if name.endswith(end)), "")
        if end:
            given[ends[end]][name.removesuffix(end)] = value
        elif name.startswith("published_"):
            given["published"][name.removeprefix("published_")] = value
        elif name == "runs":
            given["runs"] = records(value)
        else:
            given[{"status": "statuses", "disturbed": "disturbed_runs"}.get(name, name)] = value
    given["means"].setdefault("objective", None)
    return Summary(**given)


def summaries(rows: Iterable[Mapping[str, Any]]) -> list[Summary]:
    """Return the summaries of rows."""
    return list(map(summary, rows))
