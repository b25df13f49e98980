"""What columns are taken for, which is the label, and when labels are none of a classification."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpu_bench.data.cards.parts import in_usual_order
from mpu_bench.data.user_files.looking import Counted, check_classes, count_labels, label_among, look_at_columns
from mpu_bench.data.user_files.tables import UserFile, open_table
from mpu_bench.errors import DataError


def table(tmp_path: Path, text: str, name: str = "mine.csv") -> UserFile:
    (tmp_path / name).write_text(text, encoding="utf-8")
    return open_table(tmp_path / name)


def column(tmp_path: Path, cells: list[str]) -> tuple[str, str]:
    """Return what a column of these cells is taken for, and why."""
    (found, _) = look_at_columns([table(tmp_path, "x,y\n" + "".join(f'"{cell}",a\n' for cell in cells))])
    return found.kind, found.why()


@pytest.mark.parametrize(
    ("cells", "kind", "why"),
    [
        (["1", "2", "1"], "number", ""),
        (["1", "?", "2.5e3"], "number", ""),
        (["0", "1", "2"] * 10, "number", "few whole numbers; if they are codes, write categorical into the card"),
        (["0", "1"] * 10, "number", ""),
        (["0", "1", "0.5"] * 10, "number", ""),
        (["red", "blue", "red"], "categorical", ""),
        (["1", "2", "3", "12a"], "categorical", "mostly numbers, but row 4 holds '12a'"),
        (["1", "inf"], "categorical", ""),
        (["", "NA", "?"], "omitted", "has no value"),
        ([f"u{i}" for i in range(30)], "omitted", "an identifier: nearly every row has a word of its own"),
        ([f"u{i}" for i in range(20)], "categorical", ""),
        ([f"u{i % 1001}" for i in range(4000)], "omitted", "too many different words"),
        ([f"u{i % 1000}" for i in range(4000)], "categorical", ""),
        (["<5", ">=5"] * 9, "categorical", ""),
    ],
)
def test_what_a_column_is_taken_for(cells: list[str], kind: str, why: str, tmp_path: Path) -> None:
    assert column(tmp_path, cells) == (kind, why)


@pytest.mark.parametrize(
    ("cells", "told"),
    [
        (["1,288", "-0,5", "3", "0,25"], "row 1 holds '1,288', a number with a decimal comma"),
        ([f"{i},{i:03}" for i in range(40)], "row 1 holds '0,000'"),
        ([f"${i}.5" for i in range(40)], r"row 1 holds '\$0\.5', a number with '\$'"),
        ([f"{i} %" for i in range(40)], "a number with '%'"),
        (["1.5"] * 15 + ["<1.0"], r"row 16 holds '<1\.0', a bound by '<', where 16 of 16 cells are numbers"),
        (["1.5"] * 15 + ["#DIV/0!"], "row 16 holds '#DIV/0!', where 15 of 16 cells are numbers; .* --missing median"),
        (["-"] + ["1.5"] * 15, "row 1 holds '-'"),
        (["1.5"] * 15 + ["."], r"row 16 holds '\.'"),
        (["1.5", "inf", "2", "-Infinity", "1.#INF"], "row 2 holds 'inf', an infinite number, where 5 of 5 cells"),
        ([f"{i}.5" for i in range(40)] + [f"a{i}" for i in range(20)], "row 41 holds 'a0', where 40 of 60"),
    ],
)
def test_numbers_are_never_taken_for_words_in_silence(cells: list[str], told: str, tmp_path: Path) -> None:
    (found, _) = look_at_columns([table(tmp_path, "x,y\n" + "".join(f'"{cell}",a\n' for cell in cells))])
    with pytest.raises(DataError, match=rf"mine\.csv, column 'x': {told}|mine\.csv, column 'x': .*{told}"):
        found.check_numbers(tmp_path / "mine.csv")


@pytest.mark.parametrize("cells", [["TRUE", "False"], ["0x10", "0x11"], ["2020-01-01", "2020-01-02"], ["1", "x"]])
def test_numbers_that_the_test_file_alone_has_in_another_form(cells: list[str], tmp_path: Path) -> None:
    train = table(tmp_path, "x,i,y\n" + "1.5,1,a\n2,2,b\n" * 2)
    test = table(tmp_path, "x,i,y\n" + "".join(f"{cell},1,a\n" for cell in cells), "test.csv")
    x, i, _ = look_at_columns([train, test])
    i.check_numbers(train.path)
    with pytest.raises(
        DataError, match=r"test\.csv, column 'x': row . holds .*, where .*mine\.csv holds numbers alone"
    ):
        x.check_numbers(train.path)
    words, *_ = look_at_columns([test, train])  # the test part may lack the words of a column
    words.check_numbers(test.path)


def test_what_is_seen_of_both_files(tmp_path: Path) -> None:
    train = table(tmp_path, "x,c,y\n1,a,no\n,b,yes\n")
    test = table(tmp_path, "x,c,y\n-7,,no\n", "test.csv")
    x, c, _ = look_at_columns([train, test])
    assert (x.kind, x.missing, x.low, x.high, x.different) == ("number", 1, -7, 1, "2")
    assert x.first_missing == f"{tmp_path / 'mine.csv'}, row 2"
    assert c.first_missing == f"{tmp_path / 'test.csv'}, row 1"
    assert (c.kind, c.words) == ("categorical", {"a", "b"})


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("x,c\n1,a\n", "has 2 columns instead of 3; needed are, in this order, x, c, y, and the separator and header"),
        ("x,z,y\n1,a,no\n", "column 2 is called 'z' instead of 'c'; needed are, in this order, x, c, y"),
        ("x,c,y\n", "has no rows"),
    ],
)
def test_a_test_file_that_does_not_fit(text: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "test.csv").write_text(text, encoding="utf-8")
    train = table(tmp_path, "x,c,y\n1,a,no\n2,b,yes\n")
    with pytest.raises(DataError, match=rf"test\.csv: {told}"):
        look_at_columns([train, open_table(tmp_path / "test.csv", header=True)])


def test_the_label() -> None:
    here = Path("mine.csv")
    assert label_among(["a", "Class", "y", "z"], None, here) == ("Class", "by its name")
    assert label_among(["a", "b"], None, here) == ("b", "the last column")
    assert label_among(["a", "b"], "a", here) == ("a", "named")
    assert label_among(["a", "b"], "1", here) == ("a", "named by its number")
    with pytest.raises(DataError, match=r"mine\.csv: has no column '1{5000}'"):
        label_among(["a", "b"], 5000 * "1", here)  # more digits than Python reads
    with pytest.raises(DataError, match=r"mine\.csv: has no column 'answr'; did you mean 'answer'"):
        label_among(["a", "answer"], "answr", here)


def test_labels_are_counted(tmp_path: Path) -> None:
    train = table(tmp_path, "x,y\n1,1.0\n2,10\n3,1\n,2\n")
    assert count_labels([train], "y", ["x"], "refuse") == Counted({"1": 2, "10": 1, "2": 1}, None)
    assert count_labels([train], "y", ["x"], "refuse").classes == ["1", "2", "10"]
    assert count_labels([train], "y", ["x"], "drop").train == {"1": 2, "10": 1}


def test_a_card_takes_the_order_of_what_was_counted_for_the_usual_one() -> None:
    for labels in (["9", "10"], ["1_0", "9"], ["inf", "9", "a"], ["nan", "1", "0"]):
        classes = Counted(dict.fromkeys(labels, 1), None).classes
        assert classes == in_usual_order(classes)
    assert in_usual_order(["9", "1_0"]) == ["1_0", "9"]  # words, though Python reads 1_0 as 10


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (["10000000000000000", "10000000000000001", "20000000000000000"], None),
        (["1e3", "1000", "x"], ["1000", "1e3", "x"]),
        (["007", "7", "12"], None),
        (["1", "1.0", "+1", "2"], ["1", "2"]),
        (["inf", "nan_", "1e5"], ["1e5", "inf", "nan_"]),
        (["true", "True", "1"], ["1", "True", "true"]),
    ],
)
def test_labels_stay_apart_and_are_called_as_in_the_file(
    labels: list[str], classes: list[str] | None, tmp_path: Path
) -> None:
    counted = count_labels([table(tmp_path, "x,y\n" + "".join(f"1,{label}\n" for label in labels))], "y", [], "refuse")
    assert sorted(counted.classes) == sorted(classes or labels)
    assert sum(counted.train.values()) == len(labels)


def test_a_missing_label(tmp_path: Path) -> None:
    train = table(tmp_path, "x,y\n1,a\n2,b\n3,?\n")
    with pytest.raises(DataError, match=r"mine\.csv, row 3, column 'y': '\?' stands for a label that is missing"):
        count_labels([train], "y", [], "refuse")
    assert count_labels([train], "y", [], "drop").train == {"a": 1, "b": 1}


@pytest.mark.parametrize(
    ("classes", "rows", "told"),
    [
        (["a"], 9, "all 9 rows are of the class 'a'"),
        ([], 0, "no row is left"),
        ([f"{i / 10}" for i in range(21)], 10_000, "21 different numbers suggest regression"),
        ([str(i) for i in range(101)], 1000, "101 different numbers suggest regression"),
        ([str(i) for i in range(1001)], 10**6, "1,001 different numbers suggest regression"),
        (["False", "True", "true"], 60, "holds False, True, true: 3 classes as they stand; write them alike"),
        ([f"w{i}" for i in range(60)], 60, "60 rows have 60 different labels, nearly one each; name another label"),
        ([f"w{i}" for i in range(3)], 3, "3 rows have 3 different labels, nearly one each"),
        ([f"w{i}" for i in range(30)], 50, "nearly one each"),
        ([f"w{i}" for i in range(1001)], 10**6, "1,001 different labels, and 1,000 classes are the limit"),
    ],
)
def test_what_is_no_classification(classes: list[str], rows: int, told: str) -> None:
    with pytest.raises(DataError, match=told):
        check_classes(classes, rows, "mine.csv", "name another label by --label")


def test_what_is_one() -> None:
    for classes in (["0", "1"], ["0.5", "1.5"], [str(i) for i in range(26)], [str(i) for i in range(900)]):
        check_classes(classes, 20_000, "mine.csv", "name another")
    check_classes(["a", "b"], 2, "mine.csv", "name another")
    check_classes(["a", "b", "c"], 4, "mine.csv", "name another")
