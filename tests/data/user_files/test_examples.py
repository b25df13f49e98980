"""svmlight text of the user's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpu_bench.data.user_files.looking import Counted, look_at_examples
from mpu_bench.data.user_files.tables import open_table
from mpu_bench.errors import DataError


def written(tmp_path: Path, text: str, name: str = "mine") -> Path:
    (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path / name


def test_columns_and_labels(tmp_path: Path) -> None:
    train = open_table(written(tmp_path, "+1 1:1 4: 2 # 99:1\n-1 qid:77 2:1\n1 5:0\n"))
    seen = look_at_examples([train])
    assert (seen.features, seen.first_index) == (5, 1)
    assert seen.counted == Counted({"-1": 1, "1": 2}, None)
    test = open_table(written(tmp_path, "2 3:1 7:1\n", "test"))
    seen = look_at_examples([train, test])
    assert (seen.features, seen.first_index) == (7, 1)
    assert seen.counted.test == {"2": 1}
    assert seen.counted.classes == ["-1", "1", "2"]


@pytest.mark.parametrize(
    ("train", "test", "is_unclear"),
    [
        ("1 1:1 3:1", "1 0:1 2:1", True),
        ("1 0:1 2:1", "1 1:1 3:1", True),
        ("1 0:1 2:1", "1 1:1 2:1", False),
        ("1 1:1 3:1", "1 2:1 5:1", False),
        ("1 1:1 3:1", "1", False),
    ],
)
def test_files_that_seem_to_count_from_0_and_from_1(train: str, test: str, is_unclear: bool, tmp_path: Path) -> None:
    files = [open_table(written(tmp_path, f"{text}\n-1\n", name)) for text, name in ((train, "train"), (test, "test"))]
    if not is_unclear:
        look_at_examples(files)
        return
    with pytest.raises(DataError, match=r"counted from 0 and the other from 1\? .* --first-index 0 or 1"):
        look_at_examples(files)
    assert look_at_examples(files, 0).features == 4
    with pytest.raises(DataError, match="the index 0 is too small"):
        look_at_examples(files, 1)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("1 1:1\n1 2:2\n", "mine: the labels: all 2 rows are of the class '1'"),
        (
            "".join(f"0.{i:03} 1:1\n" for i in range(500)),
            "different numbers suggest regression.*; they are the first word",
        ),
        ("spam 1:1\n", "mine, line 1: the label 'spam' is not a number"),
        ("1 1:1\n-1 2:x\n", "mine, line 2: "),
        ("nan 1:1\n", "mine, line 1: the label 'nan' is not a finite number"),
        ("9007199254740993 1:1\n", "the label '9007199254740993' is not a finite number below"),
        ("1,3 1:1\n-1 2:1\n", "mine, line 1: the label '1,3' is not a number; one label a row is read"),
    ],
)
def test_what_is_refused(text: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=told):
        look_at_examples([open_table(written(tmp_path, text))])
