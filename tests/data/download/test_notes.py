"""Small JSON files beside data files hold what they should, or are refused."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from mpu_bench.data.download.integrity import MAX_BYTES, read_note


@dataclass(frozen=True)
class Kept:
    size: int
    words: tuple[str, ...] = ()


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", '{"size": "1"}', '{"size": NaN}', "[" * 5000, '{"size": 1' + " " * MAX_BYTES + "}"]
)
def test_what_is_none_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "note").write_text(text)
    with pytest.raises(ValueError, match=r"\w"):
        read_note(tmp_path / "note", Kept)


def test_what_is_one_is_read(tmp_path: Path) -> None:
    (tmp_path / "note").write_text('{"size": 1, "words": ["a"]}')
    assert read_note(tmp_path / "note", Kept) == Kept(1, ("a",))


def test_none_at_all(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_note(tmp_path / "note", Kept)
