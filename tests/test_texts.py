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
    assert len(texts.plain("\ud800" * 9_000).encode()) == texts.MOST_BYTES


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
