from __future__ import annotations

import csv
import json
import os
import shutil
from pathlib import Path

import pytest

from mpu_bench.errors import StoreError, UserError
from mpu_bench.files import csv_text
from mpu_bench.quantities import RECORD_COLUMNS
from mpu_bench.results.folder import CURVES, MACHINES, RUNS, open_results
from mpu_bench.results.means import mean_curve_rows
from mpu_bench.results.store import ABOUT, FILE
from mpu_bench.results.summary import summaries
from oracles import made_up
from stored import write_compressed

BASELINE = Path(__file__).parents[2] / "results" / "baseline"


def kept_of(folder: Path, to: Path) -> Path:
    """Write what a kept folder holds."""
    to.mkdir()
    with open_results(folder) as results:
        (to / RUNS).write_text(csv_text([each.row(RECORD_COLUMNS) for each in results.records()], RECORD_COLUMNS))
        write_compressed(to / CURVES, csv_text(mean_curve_rows(results.mean_curves)))
        (to / MACHINES).write_text(json.dumps({"machines": results.environments()}))
        (to / ABOUT).write_text(json.dumps({name: results.fact(name) for name in ("name", "config", "judging")}))
    return to


def test_a_kept_folder_reads_like_the_one_it_was_kept_of(tmp_path: Path) -> None:
    folder = made_up.results(tmp_path)
    with open_results(folder) as one, open_results(kept_of(folder, tmp_path / "kept")) as other:
        assert (one.is_kept, other.is_kept) == (False, True)
        assert other.name == one.name == "made-up"
        written = [[each.row(RECORD_COLUMNS) for each in results.records()] for results in (one, other)]
        assert written[0] == written[1]
        assert other.mean_curves == one.mean_curves
        assert other.environments() == one.environments()
        assert other.fact("judging") == one.fact("judging")
        assert len(one.curves) == 6
        assert other.curves == []


def test_a_run_whose_row_is_there_twice(tmp_path: Path) -> None:
    """As a merge of two versions leaves it: the means would count it twice."""
    folder = kept_of(made_up.results(tmp_path), tmp_path / "kept")
    lines = (folder / RUNS).read_text().splitlines(keepends=True)
    (folder / RUNS).write_text("".join([*lines, lines[1]]))
    with open_results(folder) as results, pytest.raises(StoreError, match=r"runs.csv: .* is there twice"):
        results.records()


def test_what_a_kept_folder_lacks_is_empty(tmp_path: Path) -> None:
    folder = kept_of(made_up.results(tmp_path), tmp_path / "kept")
    for name in (ABOUT, CURVES, MACHINES):
        (folder / name).unlink()
    with (folder / RUNS).open(newline="") as file:
        rows = [{name: cell for name, cell in row.items() if name != "load"} for row in csv.DictReader(file)]
    (folder / RUNS).write_text(csv_text(rows))
    with open_results(folder) as results:
        assert (results.name, results.fact("published")) == ("kept", None)
        assert results.mean_curves == results.environments() == []
        assert results.records()[0].load is None
        assert len(results.finished()) == 2


def test_kept_results_of_a_shipped_config_are_judged_as_it_says_today() -> None:
    with open_results(BASELINE / "mpu-table1") as results:
        assert "mpu-table1" in results.fact("judging")["published"]
        assert any(row.published.get("objective") for row in summaries(results))


@pytest.mark.parametrize("name", [RUNS, CURVES, ABOUT, MACHINES])
def test_a_damaged_file_is_one_message(name: str, tmp_path: Path) -> None:
    folder = kept_of(made_up.results(tmp_path), tmp_path / "kept")
    (folder / name).write_bytes(b"\xff\xfe no text")
    with open_results(folder) as results, pytest.raises(StoreError, match=f"{name}: cannot be read"):
        results.records(), results.mean_curves, results.environments(), results.fact("name")


def test_a_folder_without_results_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="holds no results"), open_results(tmp_path):
        pass


@pytest.fixture(scope="module")
def kept_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("once")
    return kept_of(made_up.results(place), place / "kept")


@pytest.fixture
def folder(kept_once: Path, tmp_path: Path) -> Path:
    """Return a kept folder to spoil."""
    return shutil.copytree(kept_once, tmp_path / "kept")


def read_all(folder: Path) -> None:
    with open_results(folder) as results:
        results.fact("name")
        summaries(results)
        assert [results.records(), results.mean_curves, results.environments()]


@pytest.mark.parametrize(
    "about",
    [
        [1], 5, None, {"name": 5}, {"name": "../../x"}, {"name": "a/b"}, {"name": ""}, {"name": "x" * 300},
        {"figures": 5}, {"figures": [{"draw": "x"}]},
        {"name": "\x1b[31m"}, {"judging": 5}, {"judging": [1]}, {"judging": {"published": 5}},
        {"judging": {"published": ["nowhere"]}}, {"judging": {"claims": [{"claim": "x"}]}}, {"options": 5},
        {"options": "--profile"}, {"options": [1]}, {"options": ["--profile", "none"], "config": "mpu-table1"},
        {"config": 5}, {"pairs": [1]}, {"pairs": {"adult": "x"}}, {"pairs": {"adult": ["x"]}}, {"missing": 5},
        {"judging": {"claims": [{"claim": "x", "statement": {
            "kind": "lower", "quantity": "beauty", "each": {"dataset": "adult"}, "than": {}}}]}},
    ],
    ids=str,
)  # fmt: skip
def test_facts_of_another_shape_are_one_message(about: object, folder: Path) -> None:
    (folder / ABOUT).write_text(json.dumps(about))
    with pytest.raises(UserError) as caught:
        read_all(folder)
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize(
    "machines",
    [
        [1],
        5,
        {"machines": 5},
        {"machines": [5]},
    ],
    ids=str,
)
def test_machines_of_another_shape_are_one_message(machines: object, folder: Path) -> None:
    (folder / MACHINES).write_text(json.dumps(machines))
    with pytest.raises(StoreError, match=f"{MACHINES}: cannot be read"):
        read_all(folder)


@pytest.mark.parametrize(
    ("column", "cell"),
    [
        ("dataset", ""), ("solver", ""), ("seed", ""), ("seed", "x"), ("seed", "1e400"), ("seed", "9" * 5000),
        ("seed", "1.5"), ("seed", "9" * 30), ("status", "fine"), ("status", ""), ("test_error", "x"),
        ("parameters", ""), ("parameters", "x"), ("parameters", "[1]"), ("parameters", "[" * 5000),
    ],
)  # fmt: skip
def test_a_row_of_another_kind_is_one_message(column: str, cell: str, folder: Path) -> None:
    with (folder / RUNS).open(newline="") as file:
        first, *rest = csv.DictReader(file)
    (folder / RUNS).write_text(csv_text([first | {column: cell}, *rest]))
    with pytest.raises(StoreError, match=f"{RUNS}"):
        read_all(folder)


@pytest.mark.parametrize("column", ["dataset", "presented", "parameters", "count", "passes_mean"])
def test_a_point_of_another_kind_is_one_message(column: str, folder: Path) -> None:
    with open_results(folder) as results:
        first, *rest = mean_curve_rows(results.mean_curves)
    write_compressed(folder / CURVES, csv_text([first | {column: "x" if column == "passes_mean" else ""}, *rest]))
    with pytest.raises(StoreError, match=CURVES):
        read_all(folder)


@pytest.mark.parametrize("name", [RUNS, CURVES, ABOUT, MACHINES])
@pytest.mark.parametrize("kind", ["fifo", "device", "loop", "folder", "nowhere", "nested", "nul", "empty"])
def test_what_is_no_such_file_is_one_message(kind: str, name: str, folder: Path) -> None:
    path = folder / name
    path.unlink()
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind in ("device", "loop", "nowhere"):
        path.symlink_to({"device": "/dev/zero", "loop": name, "nowhere": "nowhere"}[kind])
    else:
        path.write_text({"nested": "[" * 100_000, "nul": "\0", "empty": ""}[kind])
    with pytest.raises(StoreError):
        read_all(folder)


@pytest.mark.parametrize("kind", ["fifo", "folder", "nowhere"])
def test_kept_files_do_not_stand_for_a_database_that_is_no_file(kind: str, folder: Path) -> None:
    if kind == "fifo":
        os.mkfifo(folder / FILE)
    elif kind == "folder":
        (folder / FILE).mkdir()
    else:
        (folder / FILE).symlink_to("nowhere")
    with pytest.raises(StoreError, match=r"runs\.sqlite: is not a file"):
        read_all(folder)


@pytest.mark.parametrize("name", ["x" * 300, "x" * 5000, "file/below", "loop/below", "a\0b"])
def test_a_folder_that_cannot_be_is_one_message(name: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(StoreError):
        read_all(tmp_path / name)


@pytest.mark.parametrize(
    ("config", "shown"),
    [
        ("mpu-table1", "mpu-table1"),
        ("{here}/configs/mine.yaml", "configs/mine.yaml"),
        ("configs/mine.yaml", "configs/mine.yaml"),
        ("{here}/../elsewhere/mine.yaml", "mine.yaml"),
        ("../elsewhere/mine.yaml", "mine.yaml"),
        ("/home/alice/mine.yaml", "mine.yaml"),
        ("~/mine.yaml", "mine.yaml"),
        ("~nobody-has-this-name/mine.yaml", "mine.yaml"),
    ],
)
def test_a_config_is_called_as_it_is_typed_here(
    config: str, shown: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / ABOUT).write_text(json.dumps({"config": config.format(here=tmp_path)}))
    monkeypatch.chdir(tmp_path)
    with open_results(folder) as results:
        assert results.fact("config") == shown
