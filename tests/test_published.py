from __future__ import annotations

import pytest

from mpu_bench import published, resources, solvers
from mpu_bench.config.schema import PAPERS
from mpu_bench.errors import StoreError
from mpu_bench.results import summary
from mpu_bench.scaled import Scaled
from records import record as of_columns


@pytest.mark.parametrize(
    "path", sorted(resources.bundled("configs/published").glob("*.csv")), ids=lambda path: path.stem
)
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
    assert summary.published_beside(["bpegasos-table1"], of_columns(record)) == {
        "test_accuracy_percent": 92.0,
        "support_vectors": 100.0,
    }


@pytest.mark.parametrize(
    ("bias", "kernel", "over_examples", "nu"),
    [
        (False, "gaussian(sigma2=10)", 1, 0.011),
        (True, "gaussian(sigma2=100)", 0.01, 0.000579),
        (True, "gaussian(sigma2=10)", 0.01, None),
        (True, "gaussian(sigma2=100)", 1, None),
    ],
)
def test_the_published_nu_stands_beside_the_nu_of_the_same_problem(bias, kernel, over_examples, nu) -> None:
    parameters = {"bias": bias, "regularization": Scaled(over_examples, "n")}
    record = {"dataset": "adult", "solver": "smo", "parameters": parameters, "budget_vectors": None, "kernel": kernel}
    assert summary.published_beside(["sbp-table2"], of_columns(record)) == ({} if nu is None else {"nu": nu})


def test_nothing_stands_beside_what_the_paper_does_not_print() -> None:
    record = {"dataset": "digits", "solver": "mpu", "parameters": {}, "budget_vectors": None}
    assert summary.published_beside(["mpu-table1"], of_columns(record)) == {}
    assert summary.published_beside([], of_columns(record)) == {}


def test_an_unknown_table_is_told() -> None:
    with pytest.raises(StoreError, match="did you mean 'mpu-table"):
        published.table("mpu-tabel1")


@pytest.mark.parametrize("line", ["adult,mpu", "adult,mpu,1,2"])
def test_a_table_with_a_ragged_line_is_told(line, tmp_path, monkeypatch) -> None:
    (tmp_path / "torn.csv").write_text(f"dataset,solver,seconds\nadult,dcd,1\n{line}\n")
    monkeypatch.setattr(resources, "bundled", lambda _: tmp_path)
    with pytest.raises(StoreError, match=r"torn.csv, line 3: must have as many cells"):
        published.table("torn")


@pytest.mark.parametrize(
    ("name", "column", "printed"),
    [
        ("bpegasos-table1", "d", ""),
        ("bpegasos-table1", "accuracy_percent", "0.3"),
        ("bpegasos-table1", "support_vectors", ""),
        ("fw-table8", "seconds", "36.9"),
        ("mpu-table1", "seconds", ""),
    ],
)
def test_a_printed_deviation_is_that_of_the_number_left_of_it(name: str, column: str, printed: str) -> None:
    assert published.deviation(published.table(name)[0], column) == printed


def test_the_paper_of_every_solver_is_cited() -> None:
    papers = {solvers.load(name).paper for name in solvers.OWN} - {"mpu-bench"}
    cited = {paper: published.citation(paper) for paper in papers | set(PAPERS)}
    assert [paper for paper, entry in cited.items() if not entry.startswith("@") or not entry.endswith("}")] == []
    assert published.citation("mpu-bench") == published.citation("mpu") == ""
