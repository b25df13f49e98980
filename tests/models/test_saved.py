"""Saved models: the same scores bit for bit, labels with their type, raw rows with the steps of training."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from model_examples import FEATURES, MODELS, TABLE, VECTORS_STEPS, expansion, linear, raw_rows, saved, with_sigmoids
from mpu_bench import load
from mpu_bench.core.models import LinearModel
from mpu_bench.errors import DataError
from mpu_bench.models.classes import Classes
from mpu_bench.models.probabilities import Sigmoids
from mpu_bench.models.saved import Origin, SavedModel
from mpu_bench.preprocessing import NumberColumn, Table

V1 = Path(__file__).parent / "v1"


@pytest.mark.parametrize("name", MODELS)
def test_scores_are_the_same_bit_for_bit(name: str, tmp_path: Path) -> None:
    model, path = saved(name, columns=tuple("vwxyz"), constant=None), tmp_path / "m.mpu"
    model.save(path)
    found = load(path)
    assert type(found.model) is type(model.model)
    assert np.array_equal(found.scores(raw_rows()), model.scores(raw_rows()))
    assert found.columns == tuple("vwxyz")
    assert found.feature_names == tuple("vwxyz")


@pytest.mark.parametrize("name", ["linear", "dense gaussian ovr"])
def test_probabilities_are_saved(name: str, tmp_path: Path) -> None:
    model, path = with_sigmoids(name), tmp_path / "m.mpu"
    model.save(path)
    assert np.array_equal(load(path).predict_proba(raw_rows()), model.predict_proba(raw_rows()))
    with pytest.raises(DataError, match="the model has no probabilities"):
        saved(name).predict_proba(raw_rows())
    saved(name, sigmoids=Sigmoids((1.0,) * 4, (0.0,) * 4)).save(path)
    with pytest.raises(DataError, match="the sigmoids are not as many as the scores"):
        load(path)


def test_two_classes_may_have_a_score_and_a_sigmoid_each(tmp_path: Path) -> None:
    model = SavedModel(linear(2), Classes.of([0, 1]), FEATURES, sigmoids=Sigmoids((1.0, 2.0), (0.0, -1.0)))
    model.save(tmp_path / "m.mpu")
    assert np.array_equal(load(tmp_path / "m.mpu").predict_proba(raw_rows()), model.predict_proba(raw_rows()))


def test_a_file_without_what_is_new_is_one_that_earlier_versions_read(tmp_path: Path) -> None:
    for model, version in ((saved("linear"), 1), (with_sigmoids("linear"), 2), (saved("linear above a threshold"), 2)):
        model.save(tmp_path / "m.mpu")
        with zipfile.ZipFile(tmp_path / "m.mpu") as archive:
            description = json.loads(archive.read("model.json"))
        assert (description["version"], "sigmoids" in description) == (version, model.sigmoids is not None)


@pytest.mark.parametrize(
    "labels",
    [np.array(["no", "yes"]), np.array(["no", "yes"], object), np.array([-1, 1]), np.array([0.5, 2.0]),
     np.array([False, True]), np.array([0, 300], np.uint16)],
)  # fmt: skip
def test_labels_keep_their_type(labels: np.ndarray, tmp_path: Path) -> None:
    SavedModel(linear(), Classes.of(labels), FEATURES).save(tmp_path / "m.mpu")
    found = load(tmp_path / "m.mpu").predict(raw_rows())
    assert found.dtype == labels.dtype
    assert set(found.tolist()) == set(labels.tolist())


def test_a_constant_is_added_to_every_kind_of_rows(tmp_path: Path) -> None:
    """In the file the weights of the constant are the intercepts."""
    model = SavedModel(linear(), Classes.of([0, 1]), FEATURES, constant=1.0)
    model.save(tmp_path / "m.mpu")
    found, X = load(tmp_path / "m.mpu"), raw_rows()[:, :-1]
    weights = linear().weights[0]
    assert np.allclose(found.decision_function(X), X @ weights[:-1] + weights[-1], rtol=1e-6)
    assert np.allclose(found.decision_function(scipy.sparse.csr_matrix(X)), found.decision_function(X), rtol=1e-6)
    assert found.raw_features == FEATURES - 1


def table_model() -> SavedModel:
    return SavedModel(linear(), Classes.of(["<=50K", ">50K"], [["<=50K", "0"], [">50K", "1"]]), 5, TABLE)


FRAME = pd.DataFrame(
    {"age": ["39", "?", "50.5"], 'sort of */ "work"': ["state", "", "unknown"], "label": ["0", ">50K", "1"],
     "hours": ["40", "13", "0"]}
)  # fmt: skip


def test_a_saved_model_takes_raw_rows(tmp_path: Path) -> None:
    model = table_model()
    model.save(tmp_path / "m.mpu")
    found = load(tmp_path / "m.mpu")
    features = np.array(
        [[(39 - 40) / 12.5, 0, 0, 1, 0.4], [(38 - 40) / 12.5, 1, 0, 0, 0.13], [10.5 / 12.5, 0, 0, 0, 0.0]]
    )
    expected = features @ linear().weights[0]
    assert np.allclose(found.decision_function(FRAME), expected, rtol=1e-6)
    assert np.allclose(found.decision_function(FRAME.drop(columns="label")), expected, rtol=1e-6)
    assert found.score(FRAME, FRAME["label"].tolist()) == np.mean((expected > 0) == [0, 1, 1])
    assert found.feature_names[:2] == ("age", 'sort of */ "work"=')


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda frame: frame.drop(columns="age"), "lacks 'age'"),
        (lambda frame: frame.assign(more="1"), "also has 'more'"),
        (lambda frame: frame[[*frame.columns, "age"]], "also has 'age', 'age'"),
        (lambda frame: frame.assign(hours="many"), "row 1, column 'hours': 'many' is not a finite number"),
    ],
)
def test_columns_that_are_not_those_of_the_model_are_one_message(change: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        table_model().predict(change(FRAME))


class Frame:
    """A table of another library than pandas, such as polars: it has names and columns."""

    def __init__(self, columns: dict[str, Any]) -> None:
        self._columns = columns
        self.columns = list(columns)

    def __getitem__(self, name: str) -> Any:
        return self._columns[name]


def test_tables_of_other_libraries_are_taken_by_their_names_too() -> None:
    table = Frame({name: FRAME[name].to_numpy() for name in FRAME.columns})
    assert np.array_equal(table_model().scores(table), table_model().scores(FRAME))
    turned = Frame({name: table[name] for name in reversed(table.columns)})
    for given in (turned, FRAME[FRAME.columns[::-1]]):
        assert np.array_equal(table_model().scores(given), table_model().scores(FRAME))
    names = tuple(f"c{number}" for number in range(FEATURES))
    model = SavedModel(linear(), Classes.of([0, 1]), FEATURES, columns=names)
    values = np.random.default_rng(0).normal(size=(5, FEATURES))
    named = Frame(dict(zip(names, values.T, strict=True)))
    assert np.array_equal(model.scores(named), model.scores(values))
    assert np.array_equal(model.scores(Frame({name: named[name] for name in names[::-1]})), model.scores(values))


def test_values_that_are_not_there_are_one_message() -> None:
    model = SavedModel(linear(), Classes.of([0, 1]), FEATURES)
    lazy = Frame(dict.fromkeys("ab", None))
    lazy.collect = list  # type: ignore[attr-defined]
    with pytest.raises(DataError, match=r"a lazy table, .* give what its collect\(\) returns"):
        model.predict(lazy)
    with pytest.raises(DataError, match="row 2 contains a value that is not a finite number"):
        model.predict(pd.DataFrame([[1.0] * FEATURES, [pd.NA] * FEATURES]))


def test_a_label_that_no_class_has_is_one_message() -> None:
    with pytest.raises(DataError, match=r"row 2: its label 'x' is none of the model's: <=50K, 0, >50K, 1"):
        table_model().score(FRAME, ["0", "x", "1"])


@pytest.mark.parametrize(("rows", "labels"), [(3, 1), (3, 2), (1, 3), (0, 0)])
def test_each_row_has_one_label(rows: int, labels: int) -> None:
    with pytest.raises(DataError, match=f"there are {labels} labels of {rows} rows; each row needs one"):
        table_model().score(FRAME[:rows], ["0"] * labels)


@pytest.mark.parametrize("dtype", [complex, "M8[s]", "m8[s]"])
def test_what_is_no_real_number_is_one_message(dtype: Any) -> None:
    with pytest.raises(DataError, match="the rows are not numeric: they are of type"):
        saved("linear").predict(np.zeros((2, FEATURES), dtype))


def test_a_sparse_matrix_whose_index_names_no_column_is_refused() -> None:
    rows = scipy.sparse.csr_array(np.eye(2, FEATURES))
    rows.indices[1] = FEATURES
    with pytest.raises(DataError, match="the rows are no valid sparse matrix: "):
        saved("linear").predict(rows)


def test_a_row_whose_score_is_not_finite_is_named() -> None:
    model = SavedModel(LinearModel(np.full((1, FEATURES), 1e200)), Classes.of([0, 1]), FEATURES)
    rows = np.zeros((3, FEATURES))
    rows[1] = 1e200
    with pytest.raises(DataError, match="row 2: its score is not finite"):
        model.predict(rows)


def test_steps_on_vectors_are_saved(tmp_path: Path) -> None:
    model = SavedModel(linear(), Classes.of([0, 1]), FEATURES, VECTORS_STEPS)
    model.save(tmp_path / "m.mpu")
    X = np.random.default_rng(0).normal(size=(20, 7))
    assert np.array_equal(load(tmp_path / "m.mpu").scores(X), model.scores(X))
    with pytest.raises(DataError, match=r"an array of shape \(\d+, \d+\), where the model takes \(n, 7\)"):
        model.predict(X[:, 1:])
    with pytest.raises(DataError, match=r"an array of shape \(7,\), where the model takes \(n, 7\)"):
        model.predict(X[0])


def test_what_cannot_be_saved_is_one_message(tmp_path: Path) -> None:
    broken = expansion("dense", MODELS["dense gaussian"][0].kernel)
    broken.coefficients[0, 0] = np.nan
    for model, message in ((broken, "is not finite"), (object(), "a model of type object cannot be saved")):
        with pytest.raises(DataError, match=message):
            SavedModel(model, Classes.of([0, 1]), FEATURES).save(tmp_path / "m.mpu")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="neither texts nor numbers"):
        Classes.of(np.array([1, "a"], object))
    assert not list(tmp_path.iterdir())


def test_origin_is_kept(tmp_path: Path) -> None:
    origin = Origin(solver="mpu", parameters={"C": 1.0}, dataset="adult", seed=3, version="0.1.0", time="2026")
    saved("linear", origin=origin).save(tmp_path / "m.mpu")
    assert load(tmp_path / "m.mpu").origin == origin


@pytest.mark.parametrize("name", MODELS)
def test_a_model_is_shown_in_a_line(name: str) -> None:
    shown = repr(saved(name, origin=Origin(solver="mpu", dataset="adult")))
    assert shown.startswith(f"<SavedModel of mpu on adult: {FEATURES} features, classes ")
    assert len(shown) < 200
    assert "\n" not in shown
    odd = SavedModel(MODELS[name][0], Classes.of(["a\x1b[31m", *"bc"[: MODELS[name][1] - 1]]), FEATURES)
    assert "classes a\\x1b[31m, b" in repr(odd)


@pytest.mark.parametrize("name", ["linear", "kernel"])
def test_files_of_version_1_are_read(name: str) -> None:
    """They are made by scripts/keep_models.py and never again: later versions must read them as they are."""
    expected = json.loads((V1 / "expected.json").read_text(encoding="utf-8"))[name]
    found = load(V1 / f"{name}.mpu")
    frame = pd.DataFrame(expected["rows"], columns=expected["columns"])
    assert found.predict(frame).tolist() == expected["labels"]
    assert np.allclose(found.scores(frame), expected["scores"], rtol=1e-5, atol=1e-6)


def test_a_table_of_arrow_has_names_for_its_columns() -> None:
    arrow = pytest.importorskip("pyarrow")
    model = SavedModel(linear(), Classes.of(["no", "yes"]), 5, TABLE)
    names = [column.name for column in TABLE.columns if column.name != TABLE.label]
    frame = pd.DataFrame({name: ["1", "2", None] if name == names[0] else ["a", "2", "3"] for name in names})
    frame[names[2]] = [1.0, 2.5, 3.0]
    expected = model.scores(frame)
    table = arrow.Table.from_pandas(frame[names[::-1]])
    assert np.array_equal(model.scores(table), expected)
    assert np.array_equal(model.scores(table.combine_chunks().to_batches()[0]), expected)
    with pytest.raises(DataError, match="lacks"):
        model.scores(table.drop_columns(names[:1]))


def test_a_masked_value_is_missing() -> None:
    hidden = np.ma.masked_array(raw_rows(2), mask=np.eye(2, FEATURES))
    for masked in (hidden, hidden.astype(np.int64)):
        with pytest.raises(DataError, match="row 1 contains a value that is not a finite number"):
            saved("linear").scores(masked)
    table = Table(columns=(NumberColumn(name="a", fill=7.0), NumberColumn(name="b")))
    rows = SavedModel(LinearModel(np.ones((1, 2))), Classes.of([0, 1]), 2, table)
    shown = np.ma.masked_array([[1.0, 2.0], [3.0, 4.0]], mask=[[True, False], [False, False]])
    assert rows.decision_function(shown).tolist() == [9.0, 7.0]
