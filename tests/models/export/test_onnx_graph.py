"""ONNX files answer as Python does, where onnx and onnxruntime are installed."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from model_examples import (
    FAR_STEPS,
    FAR_TABLE,
    FEATURES,
    MODELS,
    PAIRS,
    TABLE,
    VECTORS_STEPS,
    expansion,
    far_rows,
    far_vectors,
    linear,
    raw_rows,
    saved,
    with_sigmoids,
)
from mpu_bench.core.models import KernelModel, LinearModel, labels_of
from mpu_bench.core.rows import Dense, Sparse
from mpu_bench.core.voting import combined
from mpu_bench.errors import DataError
from mpu_bench.kernels import Gaussian
from mpu_bench.models.classes import Classes
from mpu_bench.models.export.onnx_graph import onnx_bytes, runtime_answers
from mpu_bench.models.export.portable import portable
from mpu_bench.models.probabilities import Sigmoids
from mpu_bench.models.saved import SavedModel
from mpu_bench.preprocessing import CategoricalColumn, NumberColumn, Table, Vectors


def check(model: SavedModel, raw: Any) -> None:
    pytest.importorskip("onnx", reason="onnx is not installed")
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    exported = portable(model)
    found = runtime_answers(onnx_bytes(exported), exported.numbers(raw))
    assert found is not None
    scores = model.scores(raw)
    assert found[0].tolist() == model.classes.labels[labels_of(scores)].tolist()
    assert np.abs(found[1] - scores).max() < 5e-5


@pytest.mark.parametrize("name", MODELS)
def test_every_kind_of_model(name: str) -> None:
    check(saved(name), raw_rows())


@pytest.mark.parametrize("name", ["linear", "linear by class", "dense gaussian ovo"])
def test_probabilities_are_an_answer(name: str) -> None:
    pytest.importorskip("onnx", reason="onnx is not installed")
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    model = with_sigmoids(name)
    check(model, raw_rows())
    session = runtime.InferenceSession(onnx_bytes(portable(model)), providers=["CPUExecutionProvider"])
    (found,) = session.run(["probabilities"], {"rows": raw_rows()})
    np.testing.assert_allclose(found, model.predict_proba(raw_rows()), atol=1e-4)


@pytest.mark.parametrize("labels", [[0, 7], [0.5, 1.5], ["no", "yes"], [20240101.0, 20240102.0], [2**63 + 5, 7]])
def test_labels_keep_their_type_and_constants_are_added(labels: list[Any]) -> None:
    check(SavedModel(linear(), Classes.of(labels), FEATURES, constant=1.0), raw_rows()[:, :-1])


def test_rows_far_from_the_origin_are_told_apart() -> None:
    kernel = Gaussian(0.3)
    near = expansion("dense", kernel)
    far = KernelModel(Dense(near.vectors[0] + np.float32(1000.0)), near.coefficients, kernel, FEATURES)
    check(SavedModel(far, Classes.of([0, 1]), FEATURES), raw_rows() + np.float32(1000.0))


def test_steps_are_in_the_graph() -> None:
    frame = pd.DataFrame(
        {"age": ["39", "?", "50.5"], 'sort of */ "work"': ["state", "", "unknown"], "hours": ["40", "13", "0"]}
    )
    for table in (TABLE, TABLE.model_copy(update={"unit_rows": True})):
        check(SavedModel(linear(), Classes.of([0, 1]), FEATURES, table), frame)
    X = np.random.default_rng(1).normal(size=(50, 7)).astype(np.float32)
    for steps in (VECTORS_STEPS, VECTORS_STEPS.model_copy(update={"unit_rows": True})):
        check(SavedModel(linear(), Classes.of([0, 1]), FEATURES, steps), X)


def test_columns_far_from_zero_are_told_apart() -> None:
    weights = LinearModel(np.array([[1.0, 0.4, 0.2, -0.3, 1.5]]))
    for steps, raw in ((FAR_TABLE, far_rows()), (FAR_STEPS, far_vectors())):
        model = SavedModel(weights, Classes.of([0, 1]), FEATURES, steps)
        assert portable(model).numbers(raw).dtype == np.float64
        check(model, raw)


def test_the_file_alone_says_what_its_rows_and_labels_are() -> None:
    onnx = pytest.importorskip("onnx", reason="onnx is not installed")
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    model = SavedModel(linear(), Classes.of(["no", "yes"]), FEATURES, TABLE)
    content = onnx_bytes(portable(model))
    known = {each.key: json.loads(each.value) for each in onnx.load_model_from_string(content).metadata_props}
    assert known["classes"] == ["no", "yes"]
    work, age, hours = 'sort of */ "work"', ["39", "?", "50.5", "7"], ["40", "13", "0", "99"]
    frame = pd.DataFrame({"age": age, work: ["state", "NA", "unknown", " self\\ "], "hours": hours})

    def encoded(column: dict[str, Any], text: str) -> float:
        if column["kind"] == "number":
            return float("nan" if text in known["missing_words"] else text)
        text = text if column["exact"] else text.strip()
        is_missing = text in known["missing_words"] and not column["exact"]
        return column["codes"].get(text, column["codes"].get("", -1) if is_missing else -1)

    rows = [[encoded(column, frame[column["name"]][i]) for column in known["columns"]] for i in range(len(frame))]
    found = runtime_answers(content, np.array(rows, np.float32))
    assert found is not None
    assert found[0].tolist() == model.predict(frame).tolist()
    assert np.abs(found[1] - model.scores(frame)).max() < 5e-5
    assert [column.get("fill") for column in known["columns"]] == [38.0, None, None]


def test_without_the_package_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(DataError, match=r"pip install '\.\[onnx\]' in mpu-bench's source folder"):
        onnx_bytes(portable(saved("linear")))


def test_a_missing_value_is_no_word_and_no_number() -> None:
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    without = TABLE.model_copy(
        update={"columns": tuple(each.model_copy(update={"fill": None}) if each.kind == "number" else each
                                 for each in TABLE.columns)}
    )  # fmt: skip
    exported = portable(SavedModel(linear(), Classes.of([0, 1]), FEATURES, without))
    words = [place for place, column in enumerate(exported.columns) if isinstance(column, CategoricalColumn)]
    numbers = next(place for place in range(len(exported.columns)) if place not in words)
    raw = np.ones((3, len(exported.columns)), np.float32)
    raw[0, words], raw[1, words], raw[2, numbers] = np.nan, -1.0, np.nan
    found = runtime_answers(onnx_bytes(exported), raw)
    assert found is not None
    assert found[1][0] == found[1][1]
    assert np.isnan(found[1][2]).all()


def test_a_gaussian_without_vectors_is_its_bias() -> None:
    empty = KernelModel(Dense(np.zeros((0, FEATURES), np.float32)), np.zeros((0, 1)), Gaussian(0.3), FEATURES, 0.125)
    check(SavedModel(empty, Classes.of([0, 1]), FEATURES), raw_rows())


def test_as_many_votes_are_told_apart_by_sums_however_large() -> None:
    """A share of a vote that grows with the sum is the same in single precision where sums are large."""
    machines = [LinearModel(np.array([weights])) for weights in ([-1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, -1.0])]
    model = SavedModel(combined(machines, PAIRS["ovo"], 3), Classes.of([0, 1, 2]), 3)
    raw = np.array([[10_000.0, 5500.0, 14_501.0], [10_000.0, 5500.0, 14_499.0]], np.float32)  # a vote for each class
    assert model.predict(raw).tolist() == [1, 0]
    pytest.importorskip("onnx", reason="onnx is not installed")
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    exported = portable(model)
    found = runtime_answers(onnx_bytes(exported), exported.numbers(raw))
    assert found is not None
    assert found[0].tolist() == model.predict(raw).tolist()


@pytest.mark.parametrize("far", [-60.0, -300.0])
def test_probabilities_that_are_all_next_to_nothing_keep_their_ratios(far: float) -> None:
    pytest.importorskip("onnx", reason="onnx is not installed")
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    model = replace(saved("linear by class"), sigmoids=Sigmoids((1.0, 1.0, 1.0), (far, far - 1, far + 2)))
    session = runtime.InferenceSession(onnx_bytes(portable(model)), providers=["CPUExecutionProvider"])
    (found,) = session.run(["probabilities"], {"rows": raw_rows()})
    np.testing.assert_allclose(found, model.predict_proba(raw_rows()), atol=1e-4)


@pytest.mark.parametrize("width", [1e-45, 1e120])
def test_columns_of_tiny_and_of_huge_numbers_are_told_apart(width: float) -> None:
    table = Table(columns=tuple(NumberColumn(name=name, shift=width, width=width) for name in "abcde"))
    model = SavedModel(linear(), Classes.of([0, 1]), FEATURES, table)
    check(model, pd.DataFrame(width * (1 + raw_rows().astype(np.float64)), columns=list("abcde")))


@pytest.mark.parametrize("size", [1e-30, 1.0, 1e30])
def test_rows_of_any_size_get_unit_length(size: float) -> None:
    raw = np.concatenate([raw_rows(), np.zeros((1, FEATURES), np.float32)]).astype(np.float64) * size
    check(SavedModel(linear(), Classes.of([0, 1]), FEATURES, Vectors(features_in=FEATURES, unit_rows=True)), raw)


def test_vectors_that_no_onnx_file_holds_are_one_message() -> None:
    pytest.importorskip("onnx", reason="onnx is not installed")
    m, d = 550, 1_000_000  # 2.2 GB with their zeros
    vectors = Sparse(np.ones(m, np.float32), np.arange(m, dtype=np.uint32), np.arange(m + 1, dtype=np.uint32))
    model = SavedModel(KernelModel(vectors, np.ones((m, 1)), Gaussian(0.1), d), Classes.of([0, 1]), d)
    with pytest.raises(DataError, match=r"would have 2\.2 GB, of 2 GB that it may have, .*; use export-c"):
        onnx_bytes(portable(model))
