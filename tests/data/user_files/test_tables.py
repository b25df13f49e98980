"""user files, piece by piece."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpu_bench.data.readers.blocks import SourceFile
from mpu_bench.data.user_files import tables
from mpu_bench.data.user_files.formats import Form
from mpu_bench.data.user_files.tables import open_table
from mpu_bench.errors import DataError


def written(tmp_path: Path, content: bytes | str) -> Path:
    path = tmp_path / "mine.csv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_a_table_with_a_header(tmp_path: Path) -> None:
    table = open_table(written(tmp_path, '\ufeffage, color ,y\r\n1,"a ""b"", c",no\r\n\r\n2, "d\ne",yes\r\n'))
    assert table.columns == ("age", "color", "y")
    (piece,) = table.pieces()
    assert piece.to_numpy().tolist() == [["1", 'a "b", c', "no"], ["2", "d\ne", "yes"]]


def test_a_table_without_a_header(tmp_path: Path) -> None:
    table = open_table(written(tmp_path, "1\t2\n3\t4\n5\t6"))
    assert table.columns == ("column 1", "column 2")
    assert [len(piece) for piece in table.pieces(rows=2)] == [2, 1]


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress])
def test_compressed_text(compress: object, tmp_path: Path) -> None:
    assert callable(compress)
    whole = compress(b"a,b\n1,2\n")
    (piece,) = open_table(written(tmp_path, whole)).pieces()
    assert piece.to_numpy().tolist() == [["1", "2"]]
    with pytest.raises(DataError, match=r"mine\.csv: .*; write it again"):
        list(open_table(written(tmp_path, whole[:-6]), header=True).pieces())


def test_svmlight(tmp_path: Path) -> None:
    table = open_table(written(tmp_path, "+1 1:2 3:4 # first\n-1\n2.0 2:5\n"))
    assert table.format == "svmlight"
    ((labels, rows),) = table.vectors(columns=3)
    assert labels.tolist() == [1, -1, 2]
    assert rows.toarray().tolist() == [[2, 0, 4], [0, 0, 0], [0, 5, 0]]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"a,b\n1,2\n1,2,3\n", "line 3: has 3 cells, where there are 2 columns"),
        (b"a,b\n1,2\n\n1\n", "line 4: has 1 cell, where there are 2 columns"),
        (b'a,b\n1,"2\n3,4\n', "line 2: a quotation mark is not closed"),
        (b'a,b\n1,"2"3\n', "line 2: a quotation mark stands within a cell"),
        (b"a,b\r1,2\r", "line 1: a line ends in CR alone"),
        (b"a,b\n1,2\n1,\xe9\n", r"line 3: is not UTF-8 text \(byte 0xe9\); convert it"),
        (b"a,b\n" + b"1,2\n" * 20_000 + b"1,\0\n", "line 20002: holds a NUL"),
        (b"a,b,a\n1,2,3\n", "columns 1 and 3 are both called 'a'"),
    ],
)
def test_a_damaged_table(content: bytes, told: str, tmp_path: Path) -> None:
    with (
        pytest.raises(DataError, match=rf"mine\.csv.*{told}")
        if told != "line 1: "
        else pytest.raises(DataError, match="columns 1 and 3 are both called 'a'")
    ):
        list(open_table(written(tmp_path, content), header=True).pieces())


def test_what_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name, told in (("pipe", "is a pipe"), (".", "is a folder"), ("none", "No such file")):
        with pytest.raises(DataError, match=told):
            open_table(tmp_path / name)


def test_a_huge_line_and_too_many_columns(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"has 10,001 columns.*svmlight"):
        open_table(written(tmp_path, ",".join(["1"] * 10_001)))
    with pytest.raises(DataError, match="line 2: a quotation mark is not closed, or a cell has more than"):
        list(open_table(written(tmp_path, "a,b\n1," + "x" * 200_000 + "\n")).pieces())


@given(
    rows=st.lists(st.lists(st.text('ab,"\n;1 .é', max_size=5), min_size=3, max_size=3), min_size=1, max_size=8),
    block=st.integers(1, 40),
)
def test_pieces_are_what_was_written(
    rows: list[list[str]], block: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    text = io.StringIO()
    csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(rows)
    path = tmp_path_factory.getbasetemp() / "written.csv"
    path.write_bytes(text.getvalue().encode())
    filled = [index for index, row in enumerate(rows) if any(row)]  # what is empty before and after them is no row
    kept = rows[filled[0] : filled[-1] + 1] if filled else []

    class Cut(SourceFile):
        def blocks(self, size: int | None = None) -> object:  # type: ignore[override]
            return super().blocks(block)

    found = open_table(Cut("written", path), form=Form("delimited", ",", False)) if kept else None
    if found is not None:
        pieces = list(found.pieces(rows=2))
        assert pd.concat(pieces).to_numpy().tolist() == kept
        assert all(len(piece) <= 2 for piece in pieces)


def test_a_row_whose_cells_are_all_missing_is_a_row(tmp_path: Path) -> None:
    """Else those after it would move up; spreadsheets append such rows."""
    (piece,) = open_table(written(tmp_path, 'a,b\n1,2\n,\n\n"",""\n5,6\n,\n,\n')).pieces()
    assert piece.to_numpy().tolist() == [["1", "2"], ["", ""], ["", ""], ["5", "6"]]


def test_labels_of_each_block_are_its_own() -> None:
    """Looking each up among all that were met would take hours where a million rows have labels of a regression."""
    met = tables.MetLabels()
    assert met.of_numbers(np.array([2.0, 1.0, 2.0])).tolist() == [1, 0, 1]
    assert met.of_numbers(np.array([0.0, np.nan, 1.0])).tolist() == [0, -1, 1]
    assert met.numbers[:2].tolist() == [0.0, 1.0]


def test_blanks_as_separator(tmp_path: Path) -> None:
    (piece,) = open_table(written(tmp_path, " 1.5   2 a \r\n3 4  b\n"), separator=" ", header=False).pieces()
    assert piece.to_numpy().tolist() == [["1.5", "2", "a"], ["3", "4", "b"]]


def test_names_are_of_one_line(tmp_path: Path) -> None:
    assert open_table(written(tmp_path, '"a\n b",,c\n1,2,3\n'), header=True).columns == ("a b", "column 2", "c")
    with pytest.raises(DataError, match=r"the name of column 2 has .* one that cannot be shown: \\x1b"):
        open_table(written(tmp_path, "a,\x1b\n1,2\n"))


def test_many_rows_in_blocks_with_a_quotation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [[str(i % 7), f"w{i % 3}", str(i / 8)] for i in range(5000)]
    written = io.StringIO()
    csv.writer(written).writerows([["x", "y", "z"], *rows, ['quoted, "twice"\nand long', "w", "1"], ["1", "w0", "2"]])
    path = tmp_path / "t.csv"
    path.write_text(written.getvalue(), newline="")
    monkeypatch.setattr("mpu_bench.data.readers.blocks.BLOCK_BYTES", 40_000)
    found = [row for piece in open_table(path).pieces() for row in piece.astype(object).to_numpy().tolist()]
    assert found == [*rows, ['quoted, "twice"\nand long', "w", "1"], ["1", "w0", "2"]]
    labels = [word for piece in open_table(path).pieces(only=["y"]) for word in piece["y"].astype(object)]
    assert labels == [row[1] for row in found]
    assert open_table(path).columns == ("x", "y", "z")
