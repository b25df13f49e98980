"""Which row of a published table a row of results answers, and its numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from mpu_bench.published import table
from mpu_bench.quantities import PUBLISHED_COLUMNS, Record
from mpu_bench.scaled import Scaled, parameters_in


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
    if row.get("sigma2") and f"(sigma2={float(row['sigma2']):g})" not in record.kernel:
        return False
    if row.get("lambda") and not _is_regularization(row["lambda"], parameters.get("regularization")):
        return False
    budget = row.get("budget", "")
    return not budget or (record.budget_vectors is not None and float(budget) == record.budget_vectors)
