from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpu_bench.data.user_files import tables
from mpu_bench.data.user_files.blocks import plain_frame
from mpu_bench.data.user_files.tables import open_table

CELLS = st.text(st.sampled_from('ab1.é ,;"\t'), max_size=4)


def by_records(text: bytes, separator: str, header: bool) -> list[list[str]]:
    lines = text.decode().split("\n")
    reader = csv.reader((f"{line}\n" for line in lines), delimiter=separator, skipinitialspace=True, strict=True)
    found = [record for record in reader if any(record) and (len(record) > 1 or record[0].strip())]
    return found[1:] if header else found


@given(
    st.lists(st.lists(CELLS, min_size=3, max_size=3), min_size=1, max_size=12),
    st.sampled_from(",;\t"),
    st.booleans(),
    st.sampled_from(["\n", "\r\n"]),
)
def test_it_is_as_if_read_record_by_record_or_left_to_that(
    rows: list[list[str]], separator: str, header: bool, end: str
) -> None:
    text = end.join(separator.join(row) for row in rows).encode()
    frame = plain_frame(text, separator, ["a", "b", "c"], header)
    if frame is not None:
        expected = [[cell.strip() for cell in row] for row in by_records(text, separator, header)]
        assert [[cell.strip() for cell in row] for row in frame.to_numpy().tolist()] == expected


@pytest.mark.parametrize(
    "text", [b'1,"2"\n3,4\n', b"1,2\n3\n", b"1,2\n3,4,5\n4\n", b"1,2\n,\n", b"1,2\r3,4\r", b"\xff,2\n", b"1,\x002\n"]
)
def test_what_is_not_plain_is_read_record_by_record(text: bytes) -> None:
    assert plain_frame(text, ",", ["a", "b"], header=False) is None


def test_many_rows_and_few_are_the_same_and_so_are_blocks_before_a_quotation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
    assert tables.open_table(path).columns == ("x", "y", "z")
