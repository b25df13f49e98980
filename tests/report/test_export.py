import csv

import pytest

from mpu_bench.errors import ConfigError, StoreError
from mpu_bench.report import export
from oracles import made_up


def test_tables_in_other_forms(tmp_path):
    folder = made_up.results(tmp_path)
    lines = export.export(folder, "md", None).splitlines()
    assert len(lines) == 2 + 3
    assert len({line.count("|") for line in lines}) == 1
    tex = export.export(folder, "tex", None)
    assert r"test error, \%" in tex
    assert tex.count(r"\\") == 4
    out = tmp_path / "table.csv"
    assert export.export(folder, "csv", out) is None
    with out.open(newline="") as file:
        assert [row["solver"] for row in csv.DictReader(file)] == ["sbp", "libsvm", "sdca"]
    with pytest.raises(ConfigError, match="csv"):
        export.export(folder, "cvs", None)
    with pytest.raises(StoreError, match=r"absent/table\.csv: cannot be written: No such file"):
        export.export(folder, "csv", folder / "absent" / "table.csv")
    with pytest.raises(ConfigError, match="--out"):
        export.export(folder, "parquet", None)


def test_disturbed_rows_are_marked(tmp_path):
    folder = made_up.results(tmp_path, disturbed="waited 31% of its wall seconds")
    text = export.export(folder, "md", None)
    assert text.startswith("| dataset | solver (†: disturbed) |")
    assert "| sbp † |" in text
    assert "| libsvm |" in text
    assert r"sbp \dag{} &" in export.export(folder, "tex", None)


def test_numbers_are_written_as_their_quantities_say(tmp_path):
    text = export.export(made_up.results(tmp_path), "md", None)
    headings = text.splitlines()[0]
    assert "| test error, % | test error, %, published | training seconds |" in headings
    assert "| 15.00 |" in text
