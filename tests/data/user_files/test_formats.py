"""What a file is, by its first lines."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from mpu_bench.data.readers.blocks import SourceFile
from mpu_bench.data.user_files.formats import Form, form_of, written
from mpu_bench.errors import DataError


def form(tmp_path: Path, content: bytes | str, separator: str | None = None, header: bool | None = None) -> Form:
    path = tmp_path / "mine"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return form_of(SourceFile("mine", path), separator, header)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("+1 1:2 3:4\n-1 2:1\n", Form("svmlight")),
        ("# made by hand\n3 qid:1 1: 2\n", Form("svmlight")),
        ("1\n-1 1:2\n", Form("svmlight")),
        ("a,b,y\n1,2,no\n", Form("delimited", ",", True)),
        ("a;b\n1,5;2,5\n", Form("delimited", ";", True)),
        ("a\tb\n1,5\t2;5\n", Form("delimited", "\t", True)),
        ("1,2,no\n3,4,yes\n5,6,no\n", Form("delimited", ",", False)),
        ("2019,2020,label\n1,2,no\n3,4,yes\n", Form("delimited", ",", True)),
        ("2019,2020,Class\n1,2,0\n3,4,1\n", Form("delimited", ",", True)),
        ("9.98,9.96,kind\n1,2,a\n3,4,b\n5,6,a\n", Form("delimited", ",", True)),
        ("age,height,2019,sort\n1,2,3,a\n4,5,6,b\n", Form("delimited", ",", True)),
        ("5,?,3,yes\n1,2,3,yes\n", Form("delimited", ",", False)),
        ("5,#DIV/0!,-,yes\n1,2,3,yes\n", Form("delimited", ",", False)),
        ('5,"1,288",$5,yes\n1,2,3,yes\n', Form("delimited", ",", False)),
        ("2020-01-01 12:30:00,5,yes\n2020-01-02 12:30:00,6,yes\n", Form("delimited", ",", False)),
        ("time,x,y\n2020-01-01 12:30:00,5,yes\n", Form("delimited", ",", True)),
        ("1\n-1\n" * 200 + "1 2:1\n", Form("svmlight")),
        ("1\n2\n" * 200, Form("delimited", ",", False)),
        ("\ufeff1 1:2\n", Form("svmlight")),
        ("red,no\nblue,yes\nred,no\n", Form("delimited", ",", False)),
        ("color,answer\nred,no\nblue,yes\n", Form("delimited", ",", True)),
        ('name,y\n"a, b",1\n"c\nd",2\n', Form("delimited", ",", True)),
        (",x,y\n0,1.5,a\n", Form("delimited", ",", True)),
        ("\ufeffx,y\n1,2\n", Form("delimited", ",", True)),
        ("size\x0b(cm),x,y\n1,2,a\n3,4,b\n5,6,a\n", Form("delimited", ",", True)),
        ("1,a\x0cb,yes\n2,c\x85d,no\n3,e\u2028f,yes\n", Form("delimited", ",", False)),
        ("x,x\n1,2\n", Form("delimited", ",", True)),  # what is twice is told when it is read
    ],
)
def test_what_it_is(text: str, expected: Form, tmp_path: Path) -> None:
    assert form(tmp_path, text) == expected


@pytest.mark.parametrize("cut", range(0, 90_000, 7919))
def test_a_first_line_of_any_length_is_judged_as_a_whole(cut: int, tmp_path: Path) -> None:
    pairs = " ".join(f"{i}:0.{i}" for i in range(1, 9000))[cut:].partition(" ")[2]
    assert form(tmp_path, f"1 {pairs}\n-1 1:1\n") == Form("svmlight")
    names = ",".join(f"gene{i}" for i in range(9000))[cut // 2 :].partition(",")[2]
    numbers = ",".join(["1.5"] * (names.count(",") + 1))
    assert form(tmp_path, f"{names}\n{numbers}\n{numbers}\n") == Form("delimited", ",", True)
    assert form(tmp_path, f"{numbers}\n{numbers}\n") == Form("delimited", ",", False)


@pytest.mark.parametrize(
    ("cell", "is_written"),
    [
        *[
            (cell, True)
            for cell in ("1,5", "-0,5", "1,288", "12,345.5", "1.234,56", "1 234", "1'234", "$5", "5 %", "€ 3")
        ],
        *[(cell, True) for cell in ("$5", "5 %", "€ 3", "<1.0", ">= 5", "(1,200)", "1_000", "5-", "−5", "1.5D+03")],
        *[
            (cell, False)
            for cell in ("", "-", ".", "12a", "2020-01-01", "12:30", "1/2", "u17", ">50K", "%", "1.2.3", "a 5")
        ],
    ],
)
def test_numbers_in_another_form(cell: str, is_written: bool) -> None:
    assert (written(cell) is not None) is is_written


def test_options_override_what_is_found(tmp_path: Path) -> None:
    assert form(tmp_path, "a,b\n1,2\n", header=False) == Form("delimited", ",", False)
    assert form(tmp_path, "1|2\n3|4\n", separator="|") == Form("delimited", "|", False)
    assert form(tmp_path, "1,2\n3,4\n", header=True) == Form("delimited", ",", True)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "is empty"),
        (b"\n \n", "is empty"),
        (b"<!DOCTYPE html><html>", "is an HTML page"),
        ("a,b\n1,2".encode("utf-16"), "is text in UTF-16; save it as UTF-8"),
        ("name,b\n1,2\n3,4\n5,6\n".encode("utf-16-le"), "is text in UTF-16; save it as UTF-8"),
        ("name,b\n1,2\n3,4\n5,6\n".encode("utf-16-be"), "is text in UTF-16; save it as UTF-8"),
        (b"2019,2020,sort\n1,2,a\n3,4,b\n", "line 1: may name the columns, or be a row: .* --header or --no-header"),
        (b"2019,2020,2021,name\n1,2,3,4\n3,4,5,6\n3,4,5,7\n", "--header or --no-header"),
        (b"0,1,2,3\n5,6,7,8\n", "--header or --no-header"),
        (b",0,1,2,3\n0,5,6,7,8\n", "--header or --no-header"),
        (b"1,2,3\n5,6,u\n7,8,v\n", "--header or --no-header"),
        (b"1 3 1:0.5 2:1\n2 1:1\n", "has 2 labels in a row .* one label a row is read"),
        (b"1 1:0,5 2:3\n-1 1:1\n", "'1:0,5' has a decimal comma; write numbers as 1234.5"),
        (b"% of Weka\n@RELATION x\n@attribute a real\n@data\n1,2\n", "is ARFF, the format of Weka; save it as CSV"),
        (b'{"a": 1, "b": 2}\n{"a": 3, "b": 4}\n', "is JSON; save it as CSV"),
        (b"[\n  {\n", "is JSON"),
        (b'<?xml version="1.0"?>\n', "is XML"),
        (b"a|b|c\n1|2|3\n", r"separator seems to be '\|'; give --separator '\|'"),
        (b"1.5   2 a\n3  4 b\n", "separator seems to be ' '; give --separator ' '"),
        (b"sep=;\na;b\n1;2\n", "line 1: 'sep=;' is for Excel alone; leave this line out"),
        (b"# made by hand\n# units\na,b\n1,2\n3,4\n5,6\n", "line 1: '# made by hand' is a comment or a title"),
        (b"Title\na;b\n1;2\n3;4\n", "line 1: 'Title' is a comment or a title, and 2 columns follow"),
        (b"PK\x03\x04" + b"\0" * 26 + b"a.csv", "is a ZIP archive; unpack it"),
        (b"PK\x03\x04" + b"\0" * 26 + b"[Content_Types].xml", "is an Excel file; save it as CSV"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1", "is an Excel file; save it as CSV"),
        (b"a.csv".ljust(257, b"\0") + b"ustar", "is a tar archive; unpack it"),
        (gzip.compress(b"a.csv".ljust(257, b"\0") + b"ustar"), "is a tar archive; unpack it"),
        (b"\x93NUMPY\x01", "is a file of NumPy"),
        (b"\x80\x02}q\x00X", "is a pickle; save it as CSV"),
        (b"ORC\x01\x00", "is an ORC file; save it as Parquet"),
        (b"Obj\x01\x04\x14avro", "is an Avro file; save it as Parquet"),
        (gzip.compress(b"RDX3\nX\n\0\0"), "is an R data file; save it as CSV"),
        (b"<stata_dta><header>", "is a Stata file; save it as CSV"),
        (b"version https://git-lfs.github.com/spec/v1\n", "is a Git LFS pointer; git lfs pull brings the file itself"),
        (bytes(range(256)), "is a binary file"),
        (b"\0" * 100_000, "is a binary file"),
    ],
)
def test_what_is_no_table(content: bytes, told: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=told):
        form(tmp_path, content)
