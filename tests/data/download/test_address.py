"""What is shown of an address: never a user, a password or a query."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpu_bench.data.download.cache import mirror_folder, shown
from mpu_bench.errors import FetchError
from mpu_bench.texts import plain


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("https://host/a/b.bz2", "https://host/a/b.bz2"),
        ("http://host:8080/a@2x", "http://host:8080/a@2x"),
        ("http://[::1]:80/a", "http://[::1]:80/a"),
        ("http://me:secret@host/a", "http://host/a"),
        ("http://me:se@cret@host/a", "http://host/a"),
        ("http://me:se/cret@host/a", "http://host/a"),
        ("http://me:se?cret@host/a", "http://host/a"),
        ("http://me:se#cret@host/a", "http://host/a"),
        ("http://secret@host", "http://host"),
        ("http://me:secret@[bad/a", "http://[bad/a"),
        ("http://host/a?token=secret", "http://host/a"),
        ("http://host?token=secret", "http://host"),
        ("http://host/a#secret", "http://host/a"),
        ("git+ssh://me:secret@host/a", "git+ssh://host/a"),
        ("data/mirror?a=b", "data/mirror?a=b"),
        (Path("a:b@c"), "a:b@c"),
        ("http://host/\x1b[2J\n", r"http://host/\x1b[2J"),
    ],
)
def test_what_is_shown(address: str | Path, expected: str) -> None:
    assert shown(address) == expected


#: what follows the user; 80/ would be a port and the begin of a path, and no address holds spaces or quotation marks
texts = st.text(max_size=30).filter(lambda text: not re.search("[\\s'\"]", text))
passwords = texts.filter(lambda text: not re.match("[0-9]+[/?#]", text))


@given(passwords, texts)
def test_no_secret_is_shown_whatever_it_holds(before: str, after: str) -> None:
    assert "hunter2" not in shown(f"https://me:{before}:hunter2:{after}@host/a?b")
    safe = shown(f"https://me:{before}@host/{after}")
    assert safe == plain(safe)
    assert "\n" not in safe


def test_a_long_one_is_cut() -> None:
    assert len(shown("http://host/" + "x" * 10_000)) < 400


def test_a_folder_and_an_address() -> None:
    assert mirror_folder("https://host/a") is None
    assert mirror_folder("data/mirror") == Path("data/mirror")
    assert mirror_folder("file:///data/my%20mirror") == Path("/data/my mirror")
    assert mirror_folder("~/data") == Path.home() / "data"
    for name in ("ftp://host/a", "http:host", "~no such user"):
        with pytest.raises(FetchError):
            mirror_folder(name)
