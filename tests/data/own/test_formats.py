"""What a file is, by its first lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpu_bench.data.own.formats import Form, form_of
from mpu_bench.data.readers.blocks import SourceFile
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
        ("1,2,no\n3,4,yes\n", Form("delimited", ",", False)),
        ("red,no\nblue,yes\nred,no\n", Form("delimited", ",", False)),
        ("color,answer\nred,no\nblue,yes\n", Form("delimited", ",", True)),
        ('name,y\n"a, b",1\n"c\nd",2\n', Form("delimited", ",", True)),
        (",x,y\n0,1.5,a\n", Form("delimited", ",", True)),
        ("\ufeffx,y\n1,2\n", Form("delimited", ",", True)),
        ("x,x\n1,2\n", Form("delimited", ",", True)),  # what is twice is told when it is read
    ],
)
def test_what_it_is(text: str, expected: Form, tmp_path: Path) -> None:
    assert form(tmp_path, text) == expected


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
        (bytes(range(256)), "is a binary file"),
    ],
)
def test_what_is_no_table(content: bytes, told: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=told):
        form(tmp_path, content)
