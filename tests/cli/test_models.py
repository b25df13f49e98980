"""Saved models on the command line: run saves them, predict and evaluate take raw rows."""

from __future__ import annotations

import gzip
import io
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from command_line import Called
from model_examples import FEATURES, TABLE, expansion, linear
from mpu_bench import load
from mpu_bench.core.models import LinearModel
from mpu_bench.kernels import Gaussian
from mpu_bench.models.classes import Classes
from mpu_bench.models.probabilities import Sigmoids
from mpu_bench.models.saved import LEARNED_TEST_ROWS, Origin, SavedModel

HEADING = 'age,"sort of */ ""work""",label,hours\n'
ROWS = '39,state,<=50K,40\n?,,">50K",13\n50.5,unknown,">50K",0\n'


@pytest.fixture
def model(place: Path) -> str:
    words = [["<=50K", "0"], [">50K", "1"]]
    SavedModel(linear(), Classes.of(["<=50K", ">50K"], words), 5, TABLE).save(place / "m.mpu")
    (place / "rows.csv").write_text(HEADING + ROWS, encoding="utf-8")
    return "m.mpu"


def test_predict_writes_a_label_for_every_row(called, place: Path, model: str) -> None:
    code, said = called("predict", model, "rows.csv", "--out", "found.csv", "--scores")
    assert (code, said) == (0, "written: found.csv, 3 rows\n")
    lines = (place / "found.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "row,label,score of >50K"
    found = load(place / model).predict(pd.read_csv(place / "rows.csv", dtype=str, keep_default_na=False)).tolist()
    assert [line.rpartition(",")[0] for line in lines[1:]] == [f"{i},{label}" for i, label in enumerate(found, 1)]
    code, said = called("predict", model, "rows.csv", "--out", "found.csv")
    assert code == 2
    assert "found.csv: already exists; overwrite it with --force" in said
    assert called("predict", model, "rows.csv", "--out", "found.csv", "--force")[0] == 0
    assert called("predict", model, "rows.csv")[1].startswith("row,label\n1,")


def test_a_model_of_a_data_frame_reads_the_file_that_the_frame_was_read_from(called, place: Path) -> None:
    """pandas keeps the blanks of "label, age" and "two  words"; the file's own names have none."""
    (place / "rows.csv").write_text("a, 2019,two  words,b,c\n1,2,3,4,5\n5,4,3,2,1\n", encoding="utf-8")
    frame = pd.read_csv(place / "rows.csv")
    columns = tuple(frame.columns)
    assert columns[1:3] == (" 2019", "two  words")
    saved = SavedModel(linear(), Classes.of(["no", "yes"]), 5, columns=columns)
    saved.save(place / "m.mpu")
    code, said = called("predict", "m.mpu", "rows.csv")
    expected = saved.predict(frame).tolist()
    assert (code, said) == (0, f"row,label\n1,{expected[0]}\n2,{expected[1]}\n")


def test_probabilities_are_predicted_and_evaluated(called, place: Path, model: str) -> None:
    code, said = called("predict", model, "rows.csv", "--probabilities")
    assert (code, "the model has no probabilities" in said) == (2, True)
    assert "Brier" not in called("evaluate", model, "rows.csv")[1]
    known = SavedModel(
        linear(), Classes.of(["<=50K", ">50K"]), 5, TABLE, sigmoids=Sigmoids((1.0,), (0.5,))
    )  # fmt: skip
    known.save(place / "p.mpu")
    code, said = called("predict", "p.mpu", "rows.csv", "--scores", "--probabilities")
    assert code == 0
    table = pd.read_csv(io.StringIO(said))
    assert list(table.columns[2:]) == ["score of >50K", "probability of <=50K", "probability of >50K"]
    frame = pd.read_csv(place / "rows.csv", dtype=str, keep_default_na=False)
    np.testing.assert_allclose(table.iloc[:, 3:], known.predict_proba(frame), rtol=1e-8)
    brier = np.mean((known.predict_proba(frame)[:, 1] - [0, 1, 1]) ** 2)
    said = called("evaluate", "p.mpu", "rows.csv")[1]
    assert f"Brier score: {brier:.4f}" in said
    assert "calibration error, %" in said


def test_a_predicted_label_is_the_label(called, place: Path) -> None:
    """For programs: what a spreadsheet takes for a formula is not changed, nor is what a terminal obeys."""
    names = ["=1+1", '- c\x1b[31m, "d"', "@a\na", "+b"]
    SavedModel(linear(4), Classes.of(names), 5, TABLE).save(place / "m.mpu")
    (place / "rows.csv").write_text(HEADING + ROWS, encoding="utf-8")
    assert called("predict", "m.mpu", "rows.csv", "--out", "found.csv", "--scores") == (
        0,
        "written: found.csv, 3 rows\n",
    )
    table = pd.read_csv(place / "found.csv", dtype=str)
    assert list(table.columns[2:]) == [f"score of {name}" for name in names]
    expected = load(place / "m.mpu").predict(pd.read_csv(place / "rows.csv", dtype=str, keep_default_na=False))
    assert table["label"].tolist() == expected.tolist()
    assert set(expected) <= set(names)


def test_columns_in_another_order_are_found_by_their_names(called, place: Path, model: str) -> None:
    _, expected = called("predict", model, "rows.csv", "--scores")
    read = pd.read_csv(place / "rows.csv", dtype=str, keep_default_na=False)
    read[read.columns[::-1]].to_csv(place / "turned.csv", index=False)
    assert called("predict", model, "turned.csv", "--scores") == (0, expected)
    assert called("evaluate", model, "turned.csv") == called("evaluate", model, "rows.csv")


def test_what_separates_cells_and_whether_there_is_a_header_may_be_said(called, place: Path) -> None:
    SavedModel(LinearModel(np.ones((1, 2))), Classes.of(["no", "yes"]), 2).save(place / "m.mpu")
    (place / "rows.csv").write_text("1|2\n3|4\n5|6\n", encoding="utf-8")
    assert called("predict", "m.mpu", "rows.csv", "--separator", "|", "--header")[1].count("\n") == 3
    code, text = called("predict", "m.mpu", "rows.csv", "--separator", "|", "--no-header")
    assert (code, text.count("\n")) == (0, 4)
    (place / "rows.csv").write_text("1\t2\tyes\n3\t4\tno\n5\t6\tno\n", encoding="utf-8")
    code, text = called("evaluate", "m.mpu", "rows.csv", "--separator", "tab", "--no-header")
    assert code == 0
    assert "rows: 3" in text
    code, text = called("predict", "m.mpu", "rows.csv", "--separator", "||")
    assert code == 2
    assert "--separator '||': must be one character, or tab" in text


def test_evaluate_counts_what_is_predicted_for_what(called, place: Path, model: str) -> None:
    with gzip.open(place / "rows.csv.gz", "wb") as file:
        file.write((HEADING + ROWS.replace("<=50K", "0")).encode())
    for name in ("rows.csv", "rows.csv.gz"):
        code, said = called("evaluate", model, name)
        assert code == 0
        assert "rows: 3" in said
        assert "balanced error, %" in said
        assert "positives found, %" in said
        assert "of class" in said


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEADING.replace("age,", "") + "state,0,40\n", "lacks 'age'"),
        ("more," + HEADING + "1,39,state,0,40\n", "also has 'more'"),
        (HEADING + ROWS + "39,state,perhaps,40\n", "row 4: its label 'perhaps' is none of the model's"),
        (HEADING + ROWS + "39,state,0,many\n", "row 4, column 'hours': 'many' is not a finite number"),
        (HEADING.replace("label", "y") + ROWS, "has no column 'label'; name the label with --label"),
        ("0 1:1 2:2\n", "is svmlight; the model needs a table with named columns"),
    ],
)
def test_what_does_not_fit_the_model_is_one_message(called, place: Path, model: str, text: str, message: str) -> None:
    (place / "rows.csv").write_text(text, encoding="utf-8")
    code, said = called("evaluate", model, "rows.csv")
    assert code == 2
    assert said.startswith("mpu-bench: rows.csv: ")
    assert message in said
    assert said.count("\n") <= 2


def test_a_feature_is_no_label(called, place: Path, model: str) -> None:
    (place / "rows.csv").write_text(HEADING + ROWS, encoding="utf-8")
    code, said = called("evaluate", model, "rows.csv", "--label", "age")
    assert (code, said.count("\n") <= 2) == (2, True)
    assert "'age' cannot be the label: the model takes this column as a feature" in said


@pytest.mark.parametrize("verb", ["predict", "evaluate"])
def test_a_label_that_is_no_column_is_one_message(called, model: str, verb: str) -> None:
    code, said = called(verb, model, "rows.csv", "--label", "NAME")
    assert (code, said.count("\n") <= 2) == (2, True)
    assert "rows.csv: has no column 'NAME'; name the label with --label. Its columns: age, " in said


def test_nothing_is_left_where_a_row_cannot_be_predicted(called, place: Path, model: str) -> None:
    (place / "rows.csv").write_text(HEADING + ROWS + "39,state,0,many\n", encoding="utf-8")
    assert called("predict", model, "rows.csv", "--out", "found.csv")[0] == 2
    assert not list(place.glob("*found*"))


def test_vectors_are_read_as_svmlight_and_as_tables(called, place: Path) -> None:
    SavedModel(expansion("dense", Gaussian(0.3)), Classes.of([-1, 1]), FEATURES).save(place / "m.mpu")
    X = np.arange(15.0).reshape(3, 5) / 10
    svmlight = "".join(f"+1 {' '.join(f'{j + 1}:{v}' for j, v in enumerate(row))}\n" for row in X)
    (place / "rows.txt").write_text(svmlight, encoding="utf-8")
    table = "".join(f"{','.join(map(str, row))},1\n" for row in X)
    (place / "rows.csv").write_text("a,b,c,d,e,class\n" + table, encoding="utf-8")
    expected = "".join(f"{i},{label}\n" for i, label in enumerate(load(place / "m.mpu").predict(X).tolist(), 1))
    for name in ("rows.txt", "rows.csv"):
        assert called("predict", "m.mpu", name)[1] == f"row,label\n{expected}"
        assert called("evaluate", "m.mpu", name)[0] == 0
    (place / "rows.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    assert "has 2 columns besides the label; the model takes 5" in called("predict", "m.mpu", "rows.csv")[1]


def test_words_that_the_model_does_not_know_are_told(called, place: Path, model: str) -> None:
    assert "warning" not in called("predict", model, "rows.csv")[1]
    (place / "other.csv").write_text((HEADING + ROWS).replace("state", "State").replace(",,", ",x,"), encoding="utf-8")
    code, said = called("evaluate", model, "other.csv")
    assert code == 0
    words = "the training rows have none of its words, such as 'State'; the model ignores them"
    assert f"warning: column 'sort of */ \"work\"': {words}" in said


def test_rows_prepared_by_other_training_rows_are_not_evaluated(mpu_bench: Called, place: Path) -> None:
    """They are scaled otherwise, so that the error would be false."""
    lines = [f"{'no' if i % 2 else 'yes'},{i % 7 + 9 * (i % 2)},{i}" for i in range(200)]
    for name, factor in (("mine", 1), ("other", 3)):
        text = "y,a,b\n" + "\n".join(lines[::factor]) + "\n"
        (place / f"{name}.csv").write_text(text, encoding="utf-8")
        assert mpu_bench("data", "add", f"{name}.csv").returncode == 0
    (place / "tried.yaml").write_text(
        "name: tried\ndataset: mine\nsolvers: [{dcd: {C: 1}}]\nrepeats: 1\nstop: {passes: 20}\n", encoding="utf-8"
    )
    assert mpu_bench("run", "tried.yaml", "--save-models").returncode == 0
    (model,) = (place / "results/tried/models").iterdir()
    assert mpu_bench("evaluate", str(model), "mine").returncode == 0
    assert mpu_bench("evaluate", str(model), "other.csv").returncode == 0
    done = mpu_bench("evaluate", str(model), "other")
    assert done.returncode == 2
    assert "other: its rows are scaled or coded by other training rows than those of the model" in done.stderr
    (place / "mine.csv").write_text("y,a,b\n" + "\n".join(lines).replace("yes,", "yes,1") + "\n", encoding="utf-8")
    assert mpu_bench("data", "add", "mine.csv", "--force").returncode == 0
    done = mpu_bench("evaluate", str(model), "mine")
    assert done.returncode == 2
    assert "or have changed since" in done.stderr


def test_test_rows_that_may_have_trained_the_model_are_not_evaluated(mpu_bench: Called, place: Path) -> None:
    lines = [f"{'+1' if i % 2 else '-1'} 1:{i % 7 + 9 * (i % 2)}" for i in range(200)]
    (place / "mine.txt").write_text("\n".join(lines), encoding="utf-8")
    assert mpu_bench("data", "add", "mine.txt").returncode == 0
    (place / "tried.yaml").write_text(
        "name: tried\ndataset: mine\nsolvers: [{dcd: {C: 1}}]\nrepeats: 1\nstop: {passes: 20}\n", encoding="utf-8"
    )
    assert mpu_bench("run", "tried.yaml", "--save-models").returncode == 0
    (model,) = (place / "results/tried/models").iterdir()
    assert mpu_bench("evaluate", str(model), "mine").returncode == 0
    (place / "mine.txt").write_text("\n".join([*lines, "+1 1:3"]), encoding="utf-8")
    assert mpu_bench("data", "add", "mine.txt", "--force").returncode == 0
    done = mpu_bench("evaluate", str(model), "mine")
    assert done.returncode == 2
    assert "mine: has changed since the model was trained, and its test rows are drawn anew" in done.stderr
    assert mpu_bench("evaluate", str(model), "mine.txt").returncode == 0


def test_test_rows_that_a_stream_learned_are_told(called, place: Path) -> None:
    parameters = {LEARNED_TEST_ROWS: True}
    for name, origin in (("m", Origin(dataset="checkerboard", parameters=parameters)), ("n", Origin())):
        model = SavedModel(LinearModel(np.ones((1, 2))), Classes.of(["black", "white"]), 2, origin=origin)
        model.save(place / f"{name}.mpu")
        code, said = called("evaluate", f"{name}.mpu", "checkerboard")
        assert (code, "contains the rows that this model was trained on" in said) == (0, name == "m")
    SavedModel(LinearModel(np.ones((1, 2))), Classes.of(["a", "b"]), 2).save(place / "o.mpu")
    code, said = called("evaluate", "o.mpu", "checkerboard")
    assert (code, said) == (
        2,
        "mpu-bench: checkerboard: its classes (black, white) are not those of the model (a, b)\n",
    )


def test_an_identifier_is_not_taken_for_a_label(called, place: Path) -> None:
    SavedModel(linear(), Classes.of([1234567, 1234568]), FEATURES).save(place / "m.mpu")
    (place / "rows.csv").write_text("id,a,b,c,d,e\n7,1,2,3,4,5\n", encoding="utf-8")
    code, said = called("predict", "m.mpu", "rows.csv")
    assert code == 2
    assert "has 6 columns besides the label; the model takes 5; name the label with --label" in said
    assert called("predict", "m.mpu", "rows.csv", "--label", "id")[0] == 0
    (place / "rows.txt").write_text("1234568 1:1\n", encoding="utf-8")
    assert called("evaluate", "m.mpu", "rows.txt")[0] == 0


def test_run_saves_models_that_evaluate_as_they_did(mpu_bench: Called, place: Path, rows) -> None:
    """A result without a model is made again; a model that is there is not; clean deletes models, and nothing else."""
    (place / "tried.yaml").write_text(
        "name: tried\ndataset: {checkerboard: {rows: 300, test_rows: 50}}\nsolvers: [{dcd: {C: 1}}]\nrepeats: 2\n"
        "stop: {passes: 20}\n",
        encoding="utf-8",
    )
    assert mpu_bench("run", "tried.yaml").returncode == 0
    assert not (place / "results/tried/models").exists()
    done = mpu_bench("run", "tried.yaml", "--save-models")
    assert done.returncode == 0, done.stderr
    assert "re-run, because they have no saved model: 2 runs" in done.stderr
    files = sorted((place / "results/tried/models").iterdir())
    assert [re.sub("-[0-9a-f]{16}", "", file.name) for file in files] == [
        "checkerboard-dcd-seed0.mpu", "checkerboard-dcd-seed1.mpu",
    ]  # fmt: skip
    first = rows()[0]
    assert first["run_id"] in files[0].name
    assert int(first["model_bytes"]) == 2 * 8
    before = files[0].stat().st_mtime_ns
    mpu_bench("run", "tried.yaml", "--save-models")
    assert files[0].stat().st_mtime_ns == before
    model = load(files[0])
    assert (model.origin.solver, model.origin.dataset, model.origin.seed) == ("dcd", "checkerboard", 0)
    assert model.origin.options == {"rows": 300, "test_rows": 50}
    said = mpu_bench("evaluate", str(files[0]), "checkerboard").stdout
    assert f"error, %: {100 * float(first['test_error']):.2f}" in said
    (place / "results/tried/models/mine.txt").write_text("mine", encoding="utf-8")
    (place / "results/tried/models" / f".{files[0].name}.01234567").write_text("cut short", encoding="utf-8")
    assert mpu_bench("clean", "--yes", "results/tried").returncode == 0
    assert [path.name for path in (place / "results/tried").rglob("*")] == ["models", "mine.txt"]


def test_a_model_that_could_not_be_written_is_saved_another_time(place: Path, mpu_bench: Called, rows) -> None:
    in_the_way = place / "results/tried/models"
    in_the_way.parent.mkdir(parents=True)
    in_the_way.touch()
    command = ("run", "tried.yaml", "--save-models", "--repeats", "1")
    assert mpu_bench(*command).returncode == 0
    assert all("the model could not be written: " in row["reason"] for row in rows())
    in_the_way.unlink()
    assert mpu_bench(*command).returncode == 0
    assert len(list(in_the_way.iterdir())) == len(rows()) == 2
    assert [row["reason"] for row in rows()] == ["", ""]
    saved = sorted(in_the_way.iterdir())
    for file in saved:  # a folder in the place of each: not the folder of all, but the file is in the way
        file.unlink()
        file.mkdir()
    assert mpu_bench(*command).returncode == 0
    assert all("the model could not be written: " in row["reason"] for row in rows())
    assert [row["unsavable"] for row in rows()] == ["", ""]
    for file in saved:
        file.rmdir()
    assert mpu_bench(*command).returncode == 0
    assert all(file.is_file() for file in saved)


def test_a_run_by_two_names_has_a_model_by_each(mpu_bench: Called, place: Path) -> None:
    data = "checkerboard: {rows: 300, test_rows: 50"
    (place / "tried.yaml").write_text(
        f"name: tried\ndatasets: [{{{data}}}}}, {{{data}, as: again}}}}]\nsolvers: [{{dcd: {{C: 1}}}}]\n"
        "stop: {passes: 20}\n",
        encoding="utf-8",
    )
    assert mpu_bench("run", "tried.yaml", "--save-models").returncode == 0
    one, other = sorted((place / "results/tried/models").iterdir())
    assert (one.name[:6], other.name[:13]) == ("again-", "checkerboard-")
    assert one.read_bytes() == other.read_bytes()
    one.unlink()
    assert mpu_bench("run", "tried.yaml", "--save-models").returncode == 0
    assert one.is_file()


def test_options_of_files_are_refused_for_a_dataset(called, place: Path, model: str) -> None:
    code, said = called("evaluate", model, "checkerboard", "--label", "y", "--header")
    assert (code, "--label, --header: cannot be given for 'checkerboard', which is a dataset" in said) == (2, True)
    (place / "rows.svm").write_text("1 1:1\n", encoding="utf-8")
    code, said = called("evaluate", model, "rows.svm", "--label", "1")
    assert (code, "rows.svm: is svmlight, to which --label does not apply" in said) == (2, True)


@pytest.mark.parametrize("command", ["predict m.mpu empty.csv --out found.csv", "evaluate m.mpu empty.csv"])
def test_a_file_without_rows_is_one_message(called, place: Path, model: str, command: str) -> None:
    (place / "empty.csv").write_text(HEADING, encoding="utf-8")
    code, said = called(*command.split())
    assert (code, "empty.csv: has no rows" in said) == (2, True)
    assert not (place / "found.csv").exists()
