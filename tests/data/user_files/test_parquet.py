"""Parquet, where the extra that reads it is installed; without it, one message."""

from __future__ import annotations

import datetime
import decimal
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mpu_bench.data.readers.blocks import Labels
from mpu_bench.data.user_files.adding import FileOptions, look
from mpu_bench.data.user_files.tables import open_table
from mpu_bench.errors import DataError
from mpu_bench.preprocessing import label_key, parsed_numbers, texts_of


def test_without_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.parquet").write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(DataError, match=r"mine\.parquet: is Parquet; to read it, pip install '\.\[parquet\]'"):
        open_table(tmp_path / "mine.parquet")
    for options in ({"separator": ";"}, {"header": False}):
        with pytest.raises(DataError, match=r"is Parquet, to which 'separator' and 'header' do not apply"):
            open_table(tmp_path / "mine.parquet", **options)  # type: ignore[arg-type]


def test_an_index_of_pandas_is_no_column_of_the_data(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow.parquet")
    table = pd.DataFrame({"x": range(20), "kind": [*"ab"] * 10}, index=[*range(10), *range(10)])
    table.to_parquet(tmp_path / "mine")
    added = look(tmp_path / "mine", FileOptions())
    assert added.card["columns"] == {"x": "number", "kind": "label", "__index_level_0__": "omitted"}
    assert added.left_out == [("__index_level_0__", "the index of a table of pandas")]


def test_numbers_and_words(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet")
    columns = {
        "whole": pyarrow.array([1, None, 3]),
        "word": pyarrow.array(["a", None, "b"]).dictionary_encode(),
        "view": pyarrow.array(["a", None, "b"], pyarrow.string_view()),
        "flag": [True, False, None],
        "day": [datetime.date(2020, 1, 2)] * 3,
        "price": [decimal.Decimal("1.50"), None, decimal.Decimal("2")],
    }
    pyarrow.parquet.write_table(pyarrow.table(columns), tmp_path / "mine")
    table = open_table(tmp_path / "mine")
    assert table.columns == tuple(columns)
    first, second = table.pieces(rows=2)
    assert [len(first), len(second)] == [2, 1]
    np.testing.assert_array_equal(parsed_numbers(first["whole"])[0], [1, np.nan])
    np.testing.assert_array_equal(first["price"], [1.5, np.nan])
    assert first["word"].to_list() == first["view"].to_list() == ["a", None]
    assert first["flag"].to_list() == ["True", "False"]
    assert second["flag"].to_list() == [None]
    assert first["day"].to_list() == ["2020-01-02"] * 2


def test_labels_are_those_of_a_text_of_the_same_data(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow.parquet")
    numbers = [0.1, 0.2, 123456789.0, 1e20] * 10
    data = pd.DataFrame(
        {"x": range(40), "flag": [True, False] * 20} | {f"f{b}": np.array(numbers, f"f{b}") for b in (4, 8)}
    )
    data["f2"] = np.array([0.1, 0.2] * 20, np.float16)
    data.to_parquet(tmp_path / "mine.parquet")
    data.to_csv(tmp_path / "mine.csv", index=False)
    for label in ("flag", "f2", "f4", "f8"):
        classes = [
            look(tmp_path / f"mine.{form}", FileOptions(label=label)).card["classes"] for form in ("parquet", "csv")
        ]
        assert [*map(label_key, classes[0])] == [*map(label_key, classes[1])]
    assert Labels({"yes": ("true",), "no": ("false",)}).of_texts(["True", "False"]).tolist() == [
        0,
        1,
    ]  # of earlier cards


def test_long_whole_numbers_stay_apart(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet")
    columns = {"x": [2**53, 2**53 + 1, None], "y": pyarrow.array([2**63, 2**63 + 1, 1], pyarrow.uint64())}
    pyarrow.parquet.write_table(pyarrow.table(columns), tmp_path / "mine")
    (piece,) = open_table(tmp_path / "mine").pieces()
    assert texts_of(piece["x"]).tolist() == ["9007199254740992", "9007199254740993", ""]
    assert texts_of(piece["y"]).tolist() == ["9223372036854775808", "9223372036854775809", "1"]


def test_damaged_and_nested(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet")
    pyarrow.parquet.write_table(pyarrow.table({"x": [[1, 2]]}), tmp_path / "mine")
    with pytest.raises(DataError, match=r"mine, column 'x': is of type list<.*>, neither numbers nor words"):
        open_table(tmp_path / "mine")
    (tmp_path / "mine").write_bytes((tmp_path / "mine").read_bytes()[:-9])
    with pytest.raises(DataError, match=r"mine: cannot be read as Parquet: "):
        open_table(tmp_path / "mine")


def test_whole_decimals_as_labels_keep_their_last_digit(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet")
    labels = [decimal.Decimal(2**60), decimal.Decimal(2**60 + 1), decimal.Decimal(5)] * 4
    pyarrow.parquet.write_table(pyarrow.table({"x": range(12), "label": labels}), tmp_path / "mine")
    assert look(tmp_path / "mine", FileOptions()).counted.train == {"5": 4, str(2**60): 4, str(2**60 + 1): 4}


def test_decimals_are_the_numbers_of_a_text_of_the_same_data(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet")
    numbers = [*map(decimal.Decimal, ("7.00000", "14.75000", "-0.00001", "123456789012345.12345"))]
    columns = {"x": numbers * 5, "label": [decimal.Decimal("7.00000"), decimal.Decimal("14.75000")] * 10}
    pyarrow.parquet.write_table(pyarrow.table(columns), tmp_path / "mine")
    (piece,) = open_table(tmp_path / "mine").pieces()
    assert piece["x"].tolist() == [*map(float, numbers)] * 5
    assert look(tmp_path / "mine", FileOptions()).card["classes"] == ["7", "14.75"]


def test_a_table_without_columns_is_one_message(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet")
    pyarrow.parquet.write_table(pyarrow.table({}), tmp_path / "mine")
    with pytest.raises(DataError, match=r"mine: has 0 columns, and 1 to 10,000 can be read; write the table again"):
        open_table(tmp_path / "mine")
