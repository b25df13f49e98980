"""The card of a user file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mpu_bench import yaml_text
from mpu_bench.data.cards.schema import AnyCard, SvmlightCard, TableCard
from mpu_bench.data.user_files import adding
from mpu_bench.data.user_files.adding import FileOptions, card_text, look, name_of
from mpu_bench.errors import DataError
from mpu_bench.experiment import runner
from mpu_bench.experiment.options import RunOptions

TABLE = "age,color,id,y\n1,red,u1,no\n2,blue,u2,yes\n3,red,u3,no\n4,blue,u4,yes\n5,red,u5,no\n"


def card_of(path: Path, **file_options: Any) -> Any:
    """Write a card, and read it as the catalog does."""
    folder = path.parent / "datasets"
    text = card_text(look(path, FileOptions.model_validate(file_options)).card, folder, "mpu-bench data add")
    read = yaml_text.parse(text, "mine.yaml", DataError)
    read.data |= {"name": "mine", "origin": str(folder / "mine.yaml")}
    return read.root.validated(AnyCard)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    (tmp_path / "mine.csv").write_text(TABLE, encoding="utf-8")
    return tmp_path / "mine.csv"


def test_a_table(table: Path) -> None:
    card = card_of(table)
    assert isinstance(card, TableCard)
    assert card.columns == {"age": "number", "color": "categorical", "id": "categorical", "y": "label"}
    assert (card.label, card.scale, card.missing, card.separator, card.header) == ("y", "standard", "refuse", ",", True)
    assert card.total is not None
    assert card.total.classes == {"no": 3, "yes": 2}
    assert card.expected_rows() == (4, 1)
    assert card.remote_files[0].path == table
    assert card.files["mine.csv"].path == str(Path("..", "mine.csv"))


def test_what_was_wished(table: Path, tmp_path: Path) -> None:
    (tmp_path / "test.csv").write_text("age,color,id,y\n,red,u1,no\n", encoding="utf-8")
    card = card_of(table, test=str(tmp_path / "test.csv"), positive=["yes"], scale="none", missing="median")
    assert card.expected_rows() == (5, 1)
    assert card.class_names == ("rest", "yes")
    assert card.expect.test.classes == {"no": 1, "yes": 0}
    assert card_of(table, split=0.4, seed=7).split.model_dump(exclude_none=True) == {"test": 0.6, "seed": 7}
    assert card_of(table, label="color").classes.keys() == {"blue", "red"}


@pytest.mark.parametrize("key", ["split", "seed"])
def test_rows_of_a_test_file_are_not_drawn(key: str) -> None:
    with pytest.raises(ValueError, match=f"the test set comes from a separate file; leave '{key}' or 'test' out"):
        FileOptions.model_validate({"test": "test.csv", key: 0.5 if key == "split" else 1})


def test_a_class_of_the_test_file_alone_is_told(table: Path, tmp_path: Path) -> None:
    (tmp_path / "test.csv").write_text("age,color,id,y\n1,red,u1,perhaps\n", encoding="utf-8")
    assert look(table, FileOptions(test=str(tmp_path / "test.csv"))).notes == [
        "no training row is of class 'perhaps': every such test row will be an error"
    ]


def test_words_of_the_test_file_that_no_training_row_has_are_told(tmp_path: Path) -> None:
    train, test = tmp_path / "mine.csv", tmp_path / "test.csv"
    train.write_text("sex,colour,old,y\n" + "M,red,TRUE,no\nF,blue,FALSE,yes\n" * 5, encoding="utf-8")
    test.write_text("sex,colour,old,y\n" + "male,red,true,no\nfemale,green,false,yes\n" * 2, encoding="utf-8")
    notes = look(train, FileOptions(test=str(test))).notes
    assert notes == ["column 'sex': the test file has none of the training file's words, such as 'F'"]
    assert not look(train, FileOptions()).notes


def test_a_training_file_of_one_class_is_refused(tmp_path: Path) -> None:
    for name, rows in (("a.csv", "1,no\n2,no\n"), ("b.csv", "1,no\n2,yes\n")):
        (tmp_path / name).write_text("x,y\n" + rows * 4, encoding="utf-8")
    with pytest.raises(DataError, match=r"a\.csv: all rows are of class 'no'; two classes are needed to train"):
        look(tmp_path / "a.csv", FileOptions(test=str(tmp_path / "b.csv")))


def test_svmlight(tmp_path: Path) -> None:
    path = tmp_path / "mine.svm"
    path.write_text("+1 0:1 3:2\n-1 2:1\n1 1:1\n", encoding="utf-8")
    card = card_of(path)
    assert isinstance(card, SvmlightCard)
    assert (card.features, card.first_index, card.scale) == (4, 0, "none")
    assert list(card.classes) == ["-1", "1"]
    assert card_of(path, scale="standard").storage == "dense"
    for wish, told in (({"label": "y"}, "'label' does not apply"), ({"missing": "drop"}, "'missing' does not apply")):
        with pytest.raises(DataError, match=told):
            look(path, FileOptions.model_validate(wish))


@pytest.mark.parametrize(
    ("text", "file_options", "told"),
    [
        (TABLE, {"positive": ["maybe"]}, "no class 'maybe' can be positive; choose from no, yes"),
        ("a,y\n1,a\n,b\n,a\n", {}, r"row 2, column 'a': no number \(2 missing in this column\); --missing"),
        ("y\na\nb\n", {}, "has no column to learn from besides the label 'y'"),
        (TABLE.replace(",", "|"), {}, r"its separator seems to be '\|'; give --separator '\|'"),
        ("x\na b c\n", {}, r"is the separator another\? name it by --separator"),
        (TABLE, {"first_index": 0}, "is a table, to which 'first_index' does not apply"),
        (
            "n,x,name\n" + "".join(f"{i % 2},{i},u{i}\n" for i in range(30)),
            {},
            "30 rows have 30 different labels, nearly one each; .* by --label; columns of two values: 'n'",
        ),
        ("x,y\n" + "".join(f"{i},{i % 7} {i}\n" for i in range(30)), {}, "30 different labels, nearly one each"),
    ],
)
def test_what_is_refused(text: str, file_options: dict[str, Any], told: str, tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=told):
        look(tmp_path / "mine.csv", FileOptions.model_validate(file_options))


def test_words_for_what_is_missing_may_be_classes(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("x,country\n1,NA\n2,FR\n,NA\n3,FR\n4,\n", encoding="utf-8")
    with pytest.raises(DataError, match="row 1, column 'country': 'NA' stands for a label that is missing"):
        look(path, FileOptions(missing="median"))
    with pytest.raises(DataError, match="row 5, column 'country': there is no label"):
        look(path, FileOptions(missing="median", missing_words=False))
    card = card_of(path, missing="drop", missing_words=False)
    assert card.total.classes == {"FR": 2, "NA": 1}


def test_columns_that_are_left_out_are_named_with_the_reason(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    rows = "".join(f"u{i},{i % 5},{['', 1][i % 4 > 0]},-,{'no' if i % 2 else 'yes'}\n" for i in range(40))
    path.write_text(f"id,x,void,dash,y\n{rows}", encoding="utf-8")
    added = look(path, FileOptions(missing="median"))
    assert added.left_out == [("id", "an identifier: nearly every row has a word of its own")]
    left_out = ["column 'id' is left out: an identifier: nearly every row has a word of its own"]
    assert adding.remarks(path, FileOptions(missing="median")) == left_out
    config = {"name": "one", "dataset": {"file": str(path), "missing": "median"}, "solvers": ["dcd"]}
    told: list[str] = []
    runner.choose({**config, "stop": {"passes": 1}}, RunOptions(results=tmp_path), told.append)
    assert told == left_out  # as `try` does


@pytest.mark.parametrize("twice", [False, True])
def test_an_index_that_pandas_wrote_as_csv_is_no_feature(twice: bool, tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    pd.DataFrame({"x": [*range(5)] * 4, "y": [*"ab"] * 10}, index=[*range(19), "last"]).to_csv(path)
    if twice:
        pd.read_csv(path).to_csv(path, index=False)
    added = look(path, FileOptions())
    assert [*added.card["columns"].values()] == ["omitted", "number", "label"]
    assert [reason for _, reason in added.left_out] == ["the index of a table of pandas"]


def test_columns_without_names_are_features(tmp_path: Path) -> None:
    for text in (",,y\n", ""):
        (tmp_path / "mine.csv").write_text(text + "1,2,a\n3,4,b\n" * 9, encoding="utf-8")
        assert [*look(tmp_path / "mine.csv", FileOptions()).card["columns"].values()] == ["number", "number", "label"]


def test_scales_that_are_far_apart_are_told(tmp_path: Path) -> None:
    (tmp_path / "far.svm").write_text("1 1:0.1 2:500 3:1\n-1 1:0.2 2:3000\n1 1:0.3 2:9\n", encoding="utf-8")
    (tmp_path / "near.svm").write_text("1 1:0.1 2:5\n-1 1:0.2 2:3\n1 1:0.3 2:9 7:1e6\n", encoding="utf-8")
    (note,) = look(tmp_path / "far.svm", FileOptions()).notes
    assert "differ by a factor of 1e+04: linear solvers take long; --scale standard" in note
    assert not look(tmp_path / "far.svm", FileOptions(scale="standard")).notes
    assert not look(tmp_path / "near.svm", FileOptions()).notes
    (tmp_path / "far.csv").write_text("a,b,y\n0.1,500,no\n0.2,3000,yes\n0.1,9,no\n", encoding="utf-8")
    assert not look(tmp_path / "far.csv", FileOptions()).notes
    assert "leave --scale none out" in look(tmp_path / "far.csv", FileOptions(scale="none")).notes[0]


def test_two_formats(table: Path, tmp_path: Path) -> None:
    (tmp_path / "test").write_text("1 1:1\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"line 2: |columns? instead of 4"):
        look(table, FileOptions(test=str(tmp_path / "test")))
    with pytest.raises(DataError, match=r"is delimited, and .*test is svmlight; write both alike"):
        look(tmp_path / "test", FileOptions(test=str(table)))


@pytest.mark.parametrize(
    ("name", "expected"), [("mine.csv.gz", "mine"), ("my data.tsv", "my-data"), (".hidden", "hidden"), ("é.csv", "é")]
)
def test_the_name_of_a_dataset(name: str, expected: str) -> None:
    assert name_of(Path("x") / name) == expected


def test_a_file_after_which_nothing_can_be_called() -> None:
    with pytest.raises(DataError, match="the file's name cannot name a dataset"):
        name_of(Path("---.csv"))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    names=st.lists(
        st.text(st.characters(exclude_categories=("C", "Zl", "Zp")), min_size=1, max_size=8),
        min_size=2, max_size=4, unique_by=str.strip,
    ),
    label=st.sampled_from(["no", "1e5", "0x1F", "null", "1_0", "~", "1:30", "#", "- x", "{", "'", '"', "*", "=", "é"]),
)  # fmt: skip
def test_a_card_says_what_was_found(names: list[str], label: str, tmp_path: Path) -> None:
    """Whatever columns and classes are called, the card can be read and means them."""
    names = [" ".join(name.split()) or "x" for name in names]
    added = {
        "title": "x", "kind": "table", "files": {"mine": {"path": "/mine"}}, "train": "mine",
        "classes": [label, "other"], "split": {"test": 0.2, "seed": 0},
        "columns": dict.fromkeys(names[1:], "number") | {names[0]: "label"},
        "expect": {"total": {"rows": 5, "classes": {label: 3, "other": 2}}},
    }  # fmt: skip
    if len(set(names)) < len(names):
        return
    text = card_text(added, tmp_path / "datasets", "x")
    read = yaml.safe_load(text)
    assert list(read["columns"]) == [*names[1:], names[0]]
    assert read["classes"] == [label, "other"]


def test_a_test_file_that_is_the_training_file_is_remarked(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("x,y\n1,a\n2,b\n3,a\n", encoding="utf-8")
    assert adding.look(path, FileOptions(test=str(tmp_path / "." / "mine.csv"))).notes == [
        "the test file is the training file: errors on it say nothing of other rows"
    ]
