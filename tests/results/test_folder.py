from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from mpu_bench.errors import StoreError
from mpu_bench.files import csv_text, write_compressed
from mpu_bench.quantities import RECORD_COLUMNS
from mpu_bench.results.folder import ABOUT, CURVES, MACHINES, RUNS, open_results
from mpu_bench.results.summary import summaries
from oracles import made_up

BASELINE = Path(__file__).parents[2] / "results" / "baseline"


def kept_of(folder: Path, to: Path) -> Path:
    """Write what a kept folder holds."""
    to.mkdir()
    with open_results(folder) as results:
        (to / RUNS).write_text(csv_text(results.records(), RECORD_COLUMNS))
        write_compressed(to / CURVES, csv_text(results.mean_curves()))
        (to / MACHINES).write_text(json.dumps({"machines": results.environments()}))
        (to / ABOUT).write_text(json.dumps({name: results.fact(name) for name in ("name", "config", "judging")}))
    return to


def test_a_kept_folder_reads_like_the_one_it_was_kept_of(tmp_path: Path) -> None:
    folder = made_up.results(tmp_path)
    with open_results(folder) as one, open_results(kept_of(folder, tmp_path / "kept")) as other:
        assert (one.is_kept, other.is_kept) == (False, True)
        assert other.name == one.name == "made-up"
        assert other.records() == one.records()
        assert other.mean_curves() == one.mean_curves()
        assert other.environments() == one.environments()
        assert other.fact("judging") == one.fact("judging")
        assert len(one.curves()) == 6
        assert other.curves() == []


def test_what_a_kept_folder_lacks_is_empty(tmp_path: Path) -> None:
    folder = kept_of(made_up.results(tmp_path), tmp_path / "kept")
    for name in (ABOUT, CURVES, MACHINES):
        (folder / name).unlink()
    with (folder / RUNS).open(newline="") as file:
        rows = [{name: cell for name, cell in row.items() if name != "load"} for row in csv.DictReader(file)]
    (folder / RUNS).write_text(csv_text(rows))
    with open_results(folder) as results:
        assert (results.name, results.fact("published")) == ("kept", None)
        assert results.mean_curves() == results.environments() == []
        assert results.records()[0]["load"] is None
        assert len(results.finished()) == 2


def test_kept_results_of_a_shipped_config_are_judged_as_it_says_today() -> None:
    with open_results(BASELINE / "mpu-table1") as results:
        assert "mpu-table1" in results.fact("judging")["published"]
        assert any(row.get("published_objective") for row in summaries(results))


@pytest.mark.parametrize("name", [RUNS, CURVES, ABOUT, MACHINES])
def test_a_damaged_file_is_one_message(name: str, tmp_path: Path) -> None:
    folder = kept_of(made_up.results(tmp_path), tmp_path / "kept")
    (folder / name).write_bytes(b"\xff\xfe no text")
    with open_results(folder) as results, pytest.raises(StoreError, match=f"{name}: cannot be read"):
        results.records(), results.mean_curves(), results.environments(), results.fact("name")


def test_a_folder_without_results_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="holds no results"), open_results(tmp_path):
        pass
