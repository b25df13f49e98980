from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpu_bench import texts

#: any text, halves of surrogate pairs among it
ANY = st.text(st.characters(exclude_categories=[]), max_size=300)


@given(ANY, st.integers(40, 400))
def test_plain_text_can_be_kept_and_printed(text, most):
    plain = texts.plain(text, most)
    assert len(plain.encode()) <= most
    assert not any(ord(character) < 32 and character not in "\n\t" for character in plain)
    assert "\x1b" not in plain
    assert texts.plain(plain, most) == plain


def test_what_can_be_printed_stays():
    assert texts.plain("Größe: 3 × 4\n\t‖w‖²") == "Größe: 3 × 4\n\t‖w‖²"
    assert texts.plain("red \x1b[31m, half \ud800, turned \u202e") == r"red \x1b[31m, half \ud800, turned \u202e"
    assert texts.one_line("a\n  b\tc") == "a b c"


def test_a_long_text_says_how_long_it_was():
    assert texts.plain("x" * 20_000).endswith("xxx ... (20,000 characters)")
    assert len(texts.plain("\ud800" * 9_000).encode()) == texts.MAX_BYTES


def test_one_thing_is_no_plural():
    assert [texts.counted(count, "row") for count in (0, 1, 2, 3000)] == ["0 rows", "1 row", "2 rows", "3,000 rows"]


def test_no_secret_is_published(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", "/home/alice")
    assert texts.publishable("http://alice:hunter2@host:1/x: no; https://b@c/d") == "http://host:1/x: no; https://c/d"
    assert texts.publishable("/home/alice/data/a1a: no such file") == "~/data/a1a: no such file"
    assert texts.publishable("/home/alice2/data, /home/alice.") == "/home/alice2/data, /home/alice."
    monkeypatch.setenv("HOME", "/")
    assert texts.publishable("/data") == "/data"


@pytest.mark.parametrize("text", ["=1+1", "+x", "-x", "@sum", "\t=1", " =1", "'=1", "''=1", "-1.5", "1e5", "", "it's"])
def test_a_cell_is_no_formula_and_can_be_read_back(text):
    written = texts.cell(text)
    assert not written.lstrip().startswith(("=", "+", "@"))
    assert texts.uncell(written) == text


@given(ANY)
def test_cells_come_back(text):
    assert texts.uncell(texts.cell(text)) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("http://alice:hunter2@host/a", "http://host/a"),
        ("http://alice:hun/ter#2?@host/a", "http://host/a"),
        ("http://alice@host", "http://host"),
        ("http://:hunter2@host", "http://host"),
        ("'ftp://a:b@c' and (http://d:e@f)", "'ftp://c' and (http://f)"),
        ("http://host:8080/a@b", "http://host:8080/a@b"),
        ("https://host/file?download=1&token=abc&x=2", "https://host/file?download=1&token=...&x=2"),
        ("https://host/?X-Amz-Signature=abc", "https://host/?X-Amz-Signature=..."),
    ],
)
def test_addresses_hold_no_secret(text, expected):
    assert texts.publishable(text) == expected


def test_a_home_that_is_called_otherwise_is_the_home(tmp_path, monkeypatch):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    monkeypatch.setenv("HOME", str(tmp_path / "link"))
    assert texts.publishable(f"{tmp_path}/link/a, {tmp_path}/real/b") == "~/a, ~/b"


def test_who_has_no_home_has_none_to_hide(monkeypatch):
    def unknown():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", unknown)
    monkeypatch.setenv("HOME", "nowhere")
    assert texts.publishable("/a/b") == "/a/b"
