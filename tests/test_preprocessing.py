"""What is done to raw rows, as plain data: it is the same for rows of every storage, and survives being written."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from mpu_bench.core.rows import Dense, Ones, Sparse, to_scipy
from mpu_bench.errors import DataError
from mpu_bench.preprocessing import (
    CategoricalColumn,
    NumberColumn,
    OmittedColumn,
    Preprocessing,
    Table,
    Vectors,
    from_json,
    label_key,
    numbers_of,
    to_json,
    words_of,
)

TABLE = Table(
    columns=(
        NumberColumn(name="age", fill=30.0, shift=20.0, width=10.0),
        OmittedColumn(name="id"),
        CategoricalColumn(name="color", categories=("", "blue", "red")),
        OmittedColumn(name="y"),
    ),
    label="y",
)
RAW = pd.DataFrame(
    [["40", "u1", " red ", "1"], ["?", "u2", "NA", "0"], [" 10", "u3", "green", "1"]],
    columns=["age", "id", "color", "y"],
    dtype=object,
)
EXPECTED = [[2, 0, 0, 1], [1, 1, 0, 0], [-1, 0, 0, 0]]


def dense(rows: Any, features: int) -> np.ndarray:
    return scipy.sparse.csr_array(to_scipy(rows, features)).toarray()


def test_a_table() -> None:
    rows = TABLE.rows(RAW)
    assert isinstance(rows, Dense)
    (values,) = rows
    assert values.dtype == np.float32
    assert values.tolist() == EXPECTED
    assert TABLE.features == 4
    assert TABLE.feature_names == ("age", "color=", "color=blue", "color=red")


def test_rows_without_their_label() -> None:
    assert dense(TABLE.rows(RAW.drop(columns="y")), 4).tolist() == EXPECTED


def test_vectors_are_not_multiplied_by_zero() -> None:
    with pytest.raises(ValidationError, match="multiply_by must not be 0, which would leave nothing of the rows"):
        Vectors(features_in=3, multiply_by=0.0)


@pytest.mark.parametrize("more", [{}, {"unit_rows": True}, {"augment": 0.5}, {"unit_rows": True, "augment": 2.0}])
def test_sparse_rows_are_the_dense_ones(more: dict[str, Any]) -> None:
    table = TABLE.model_copy(update=more)
    sparse = table.model_copy(update={"sparse": True}).rows(RAW)
    assert isinstance(sparse, Sparse)
    np.testing.assert_array_equal(dense(sparse, table.features), dense(table.rows(RAW), table.features))
    assert len(table.feature_names) == table.features


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        (["age", "id"], "lacks 'color'"),
        (["age", "id", "color", "y", "z"], "also has 'z'"),
        (["age", "id", "color", "id"], "also has 'id', 'id'"),
    ],
)
def test_other_columns_are_refused(columns: list[str], told: str) -> None:
    with pytest.raises(DataError, match=told):
        TABLE.rows(pd.DataFrame([["1"] * len(columns)], columns=columns))


def test_columns_in_another_order_are_found_by_their_names() -> None:
    assert dense(TABLE.rows(RAW[["y", "color", "age", "id"]]), 4).tolist() == EXPECTED


@pytest.mark.parametrize(
    ("cell", "told"), [("", "no number"), ("12a", "'12a' is not a finite number"), ("inf", "'inf' is not")]
)
def test_what_is_no_number_is_refused_by_row_and_column(cell: str, told: str) -> None:
    table = Table(columns=(NumberColumn(name="age"),))
    with pytest.raises(DataError, match=f"row 8, column 'age': {told}"):
        table.rows(pd.DataFrame({"age": ["1", cell]}), first_row=7)


def test_what_float32_cannot_hold_is_refused() -> None:
    table = Table(columns=(NumberColumn(name="x", width=1e-30),))
    with pytest.raises(DataError, match="row 2, column 'x': the number is too large for float32"):
        table.rows(pd.DataFrame({"x": ["1", "1e300"]}))
    with pytest.raises(DataError, match="too large for float32"):
        Vectors(features_in=1).rows(np.array([[1e300]]))


def test_numbers_in_parquet_are_those_in_text() -> None:
    numbers = pd.Series([1.0, np.nan, 2.5])
    assert words_of(numbers).tolist() == ["1", "", "2.5"]
    np.testing.assert_array_equal(numbers_of(numbers, "x"), [1, np.nan, 2.5])
    np.testing.assert_array_equal(numbers_of(pd.Series(["1", None, "2.5"], dtype=object), "x"), [1, np.nan, 2.5])


@pytest.mark.parametrize("word", ["#N/A", "n/a", "-nan", "<NA>", "na", "none", "NULL", " NA "])
def test_words_for_what_is_missing(word: str) -> None:
    assert np.isnan(numbers_of(pd.Series([word, "1"], dtype=object), "x")).tolist() == [True, False]
    column = CategoricalColumn(name="c", categories=("", "a"))
    assert column.codes(pd.Series([word, "a"], dtype=object)).tolist() == [0, 1]
    known = CategoricalColumn(name="c", categories=("a", word.strip()))  # as a model of before may have it
    assert known.codes(pd.Series([word, "a"], dtype=object)).tolist() == [1, 0]


@pytest.mark.parametrize(
    ("one", "other", "are_alike"),
    [
        ("1", "1.0", True),
        ("+1", "1.", True),
        ("-0", "0.0", True),
        ("1e16", "10000000000000000", True),
        ("10000000000000000", "10000000000000001", False),
        ("inf", "1e999", False),
        ("1_0", "10", False),
        ("a", " a ", True),
    ],
)
def test_texts_of_one_label(one: str, other: str, are_alike: bool) -> None:
    assert (label_key(one) == label_key(other)) is are_alike


def test_exact_words_stand_for_themselves() -> None:
    column = CategoricalColumn(name="c", categories=("?", "a"), exact=True)
    assert column.codes(pd.Series(["?", "a", "a "])).tolist() == [0, 1, -1]


def test_vectors_take_their_steps_in_order() -> None:
    raw = np.array([[3.0, 4.0, 0.0], [0.0, 0.0, 2.0]])
    steps = Vectors(
        features_in=3, multiply_by=2.0, divide_by=4.0, kept=(0, 2), shift=(0.5, 0.0), width=(2.0, 0.5), augment=1.0
    )
    assert dense(steps.rows(raw), 3).tolist() == [[0.5, 0, 1], [-0.25, 2, 1]]
    assert dense(Vectors(features_in=3, unit_rows=True).rows(raw), 3) == pytest.approx(raw / [[5], [2]])


def test_vectors_of_any_storage_are_the_same() -> None:
    raw = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    csr = scipy.sparse.csr_array(raw)
    ones = Ones(csr.indices.astype(np.uint32), csr.indptr.astype(np.uint32))
    steps = Vectors(features_in=3, divide_by=4.0, sparse=True)
    for given_rows in (raw, csr, ones, Dense(raw)):
        rows = steps.rows(given_rows)
        assert isinstance(rows, Sparse)
        assert dense(rows, 3).tolist() == (raw / 4).tolist()


def test_vectors_of_another_width_are_refused() -> None:
    with pytest.raises(DataError, match="has 2 columns, where the model takes 3"):
        Vectors(features_in=3).rows(np.zeros((1, 2)))


@pytest.mark.parametrize("made", [TABLE, Vectors(features_in=3, kept=(0, 2), shift=(1.0, 2.0), width=(1.0, 0.1))])
def test_plain_data_come_back(made: Preprocessing) -> None:
    assert from_json(to_json(made), "x") == made


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "pickle"},
        {"columns": []},
        {"label": "age"},
        {"more": 1},
        {"columns": [{"kind": "number", "name": "y", "width": 0.0}]},
        {"columns": [{"kind": "number", "name": "x", "fill": float("nan")}, {"kind": "omitted", "name": "y"}]},
        {"columns": [{"kind": "categorical", "name": "x", "categories": ["a", "a"]}, {"kind": "omitted", "name": "y"}]},
    ],
)
def test_damaged_data_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(DataError, match=r"m\.json: its preprocessing is damaged"):
        from_json(to_json(TABLE) | change, "m.json")


@given(
    values=st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=6),
    shift=st.floats(-1e6, 1e6),
    width=st.floats(1e-6, 1e6),
)
def test_numbers_written_as_text_give_the_rows_of_the_numbers(values: list[float], shift: float, width: float) -> None:
    table = Table(columns=(NumberColumn(name="x", shift=shift, width=width),))
    texts = pd.DataFrame({"x": [repr(value) for value in values]}, dtype=object)
    expected = ((np.array(values) - shift) / width).astype(np.float32)
    np.testing.assert_allclose(dense(table.rows(texts), 1)[:, 0], expected, rtol=1e-6, atol=1e-6 * 1e6 / width)


@pytest.mark.parametrize(
    ("categories", "cells"),
    [
        (("False", "True"), [True, False]),
        (("false", "true"), [True, False]),
        (("0", "1"), [True, False]),
        (("1", "2"), [2.0, 1.0]),
        (("1.0", "2.0"), [2, 1]),
        (("a", "0.5", "1.0"), [1, 0.5]),
        (("1e300", "0.1", "0.2"), np.array([0.2, 0.1], np.float32)),
        (("9007199254740991", "9007199254740993"), [2**53 + 1, 2**53 - 1]),
    ],
    ids=str,
)
@pytest.mark.parametrize("exact", [False, True])
def test_truth_values_and_numbers_are_the_words_that_a_file_has_for_them(
    categories: tuple[str, ...], cells: list[Any], exact: bool
) -> None:
    column = CategoricalColumn(name="c", categories=categories, exact=exact)
    expected = [len(categories) - 1, len(categories) - 2]
    for texts in (pd.Series(cells), pd.Series(cells, dtype=object), pd.Series(cells).astype("category")):
        assert column.codes(texts).tolist() == expected
    assert column.codes(pd.Series(["01", None], dtype=object)).tolist() == [-1, -1]  # another word, and none
    assert column.codes(pd.Series([2**53, 2**53 + 2])).tolist() == [-1, -1]
    assert column.codes(pd.Series([0.1 + 1e-12, 0.3])).tolist() == [-1, -1]


@pytest.mark.parametrize(
    ("categories", "cells", "codes"),
    [
        (("1", "2", "a"), ["2.0", "1.", "a", "01", "1.5"], [1, 0, 2, -1, -1]),
        (("False", "True"), ["true", "FALSE", "yes"], [1, 0, -1]),
        (("1.1", "1.10", "3.0"), ["1.100", "3", "3.00"], [-1, 2, 2]),
        (("1", "1.0"), ["1.00"], [-1]),  # which of both is not known
        (("True", "true"), ["TRUE"], [-1]),
    ],
)
def test_words_may_be_written_otherwise_in_another_file(
    categories: tuple[str, ...], cells: list[str], codes: list[int]
) -> None:
    """As pandas does of whole numbers beside missing ones, and Parquet of truth values."""
    texts = pd.Series(cells, dtype=object)
    for given_texts in (texts, texts.astype("category")):
        assert CategoricalColumn(name="c", categories=categories).codes(given_texts).tolist() == codes
    exact = CategoricalColumn(name="c", categories=categories, exact=True).codes(texts).tolist()
    assert exact == [categories.index(cell) if cell in categories else -1 for cell in cells]


def test_complex_numbers_are_no_numbers() -> None:
    with pytest.raises(DataError, match=r"row 1, column 'a': '\(1\+2j\)' is not a finite number"):
        numbers_of(pd.Series([1 + 2j]), "a")


def test_columns_may_be_named_by_numbers() -> None:
    table = Table(columns=(NumberColumn(name="0"), NumberColumn(name="1"), OmittedColumn(name="2")), label="2")
    for values in (np.array([[1.0, 2.0]]), np.array([[1.0, 2.0, 0.0]])):
        assert dense(table.rows(pd.DataFrame(values)), 2).tolist() == [[1, 2]]
