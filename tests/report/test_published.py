from __future__ import annotations

import pytest

from mpu_bench import shipped
from mpu_bench.errors import StoreError
from mpu_bench.report import published


@pytest.mark.parametrize("path", sorted(shipped.folder("results/published").glob("*.csv")), ids=lambda path: path.stem)
def test_every_published_table_can_be_read(path) -> None:
    rows = published.table(path.stem)
    assert rows
    assert all(None not in row and None not in row.values() for row in rows)


def test_the_row_of_a_budgeted_solver_is_found_by_maintenance_and_budget() -> None:
    record = {
        "dataset": "usps",
        "solver": "bpegasos",
        "parameters": {"maintenance": "merging"},
        "budget_vectors": 100,
    }
    assert published.beside("bpegasos-table1", record) == {"test_accuracy_percent": 92.0, "support_vectors": 100.0}


def test_nothing_stands_beside_what_the_paper_does_not_print() -> None:
    record = {"dataset": "digits", "solver": "mpu", "parameters": {}, "budget_vectors": None}
    assert published.beside("mpu-table1", record) == {}
    assert published.beside(None, record) == {}


def test_an_unknown_table_is_told() -> None:
    with pytest.raises(StoreError, match="did you mean 'mpu-table"):
        published.table("mpu-tabel1")
