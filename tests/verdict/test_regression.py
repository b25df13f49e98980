import csv
import json

import pytest

from mpu_bench.errors import StoreError
from mpu_bench.report import csv_files
from mpu_bench.results.folder import open_results
from mpu_bench.verdict import regression
from oracles import made_up


def kept_of(folder, to):
    """Keep a results folder as results/baseline does: as CSV and JSON."""
    with open_results(folder) as results:
        csv_files.write(results)
    to.mkdir()
    for name in ("runs.csv", "environment.json"):
        (to / name).write_bytes((folder / name).read_bytes())
    return to


def edit(folder, **changes):
    path = folder / "runs.csv"
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(row | changes for row in rows)


def faults(left, right):
    found = regression.compare(regression.read(left), regression.read(right))
    return [fault for each in found for fault in each.faults]


def test_a_folder_agrees_with_what_is_kept_of_it(tmp_path):
    folder = made_up.results(tmp_path)
    assert faults(folder, kept_of(folder, tmp_path / "kept")) == []


def test_on_one_processor_counts_and_errors_are_equal_or_it_is_a_fault(tmp_path):
    folder = made_up.results(tmp_path)
    kept = kept_of(folder, tmp_path / "kept")
    edit(kept, updates="1001", test_error="0.1501", n_test="100")
    edit(folder, n_test="100")
    with open_results(folder) as results:
        csv_files.write(results)
    found = faults(folder, kept)
    assert any("updates" in fault for fault in found)


def test_on_another_processor_errors_differ_by_chance(tmp_path):
    left, right = (kept_of(made_up.results(tmp_path, name), tmp_path / f"{name} kept") for name in "ab")
    for folder, error in ((left, 0.15), (right, 0.155)):
        edit(folder, n_test="16281", test_error=error, experiment="x")
    (right / "environment.json").write_text(json.dumps({"machines": [{"processor": "another", "versions": {}}]}))
    assert faults(left, right) == []  # 0.5 of a deviation of 0.4 points
    edit(right, test_error=0.17)
    assert len(faults(left, right)) == 2


def test_what_cannot_be_compared_is_one_message(tmp_path):
    folder = kept_of(made_up.results(tmp_path), tmp_path / "kept")
    with pytest.raises(StoreError, match="holds no results"):
        regression.read(tmp_path)
    other = kept_of(made_up.results(tmp_path, "other"), tmp_path / "other kept")
    edit(other, dataset="web")
    with pytest.raises(StoreError, match="in common"):
        faults(folder, other)
    lines = (folder / "runs.csv").read_text().replace("test_error", "error").splitlines()
    (folder / "runs.csv").write_text("\n".join(lines))
    with pytest.raises(StoreError, match="no column 'test_error'"):
        regression.read(folder)
