"""The numbers the papers print, from configs/published, one CSV per table."""

from __future__ import annotations

import csv
from functools import cache

from mpu_bench import resources
from mpu_bench.errors import StoreError, nearest


@cache
def table(name: str) -> list[dict[str, str]]:
    """Read a published table.

    Raises
    ------
    StoreError
        If there is none of this name.
    """
    path = resources.folder("configs/published") / f"{name}.csv"
    if not path.is_file():
        known = [each.stem for each in path.parent.glob("*.csv")]
        raise StoreError(f"no published table '{name}': {nearest(name, known)}")
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for number, row in enumerate(rows, start=2):
        if None in row or None in row.values():
            raise StoreError(f"{path}: line {number} has more or fewer cells than the heading has columns")
    return rows
