"""Delimited text: numeric and categorical columns, and faults named with their line."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.source_files import refusal, source_file, sparse_rows

from mpu_bench.data.cards.parts import DelimitedColumns
from mpu_bench.data.readers.blocks import Labels
from mpu_bench.data.readers.delimited import fit, new_encoding, read_delimited
from mpu_bench.errors import DataError

LETTERS = Labels({"a": ("a",), "b": ("b",)})


def read_table(file, layout, scaled=False, block_bytes=None, train=None):
    encoding = new_encoding(file, layout, scaled)
    fit(encoding, [file], train or (lambda _first, count: np.ones(count, bool)))
    return encoding, list(read_delimited(file, encoding, LETTERS, block_bytes))


@pytest.mark.parametrize("block_bytes", [4, 10**6])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_numeric_columns_are_dense(tmp_path, block_bytes, end):
    file = source_file(tmp_path, end.join(["a, 1, 9, -2.5", "b,3,9,4e1", "", "a,5, 9,6"]))
    _, chunks = read_table(file, DelimitedColumns(label=1, skip=(3,)), block_bytes=block_bytes)
    assert np.concatenate([chunk.values for chunk in chunks]).tolist() == [[1, -2.5], [3, 40], [5, 6]]
    assert np.concatenate([chunk.labels for chunk in chunks]).tolist() == [0, 1, 0]


def test_columns_may_be_separated_by_blanks(tmp_path):
    file = source_file(tmp_path, "1.0  2  a \n 3 4 b\n")
    _, chunks = read_table(file, DelimitedColumns(label=3, separator="blank"))
    assert chunks[0].values.tolist() == [[1, 2], [3, 4]]


def test_categories_and_ranges_come_from_the_training_part(tmp_path):
    file = source_file(tmp_path, "red,10,x,a\nblue,20,x,b\nred,15,y,a\ngreen,40,x,b\n")
    layout = DelimitedColumns(label=4, categorical=(1, 3))
    encoding, chunks = read_table(
        file, layout, scaled=True, block_bytes=8, train=lambda first, count: np.arange(first, first + count) < 3
    )
    assert encoding.features == 2 + 1 + 2
    assert sparse_rows(chunks) == [
        (0, {1: 1.0, 3: 1.0}),  # red, 10 -> 0, x
        (1, {0: 1.0, 2: 1.0, 3: 1.0}),  # blue, 20 -> 1, x
        (0, {1: 1.0, 2: 0.5, 4: 1.0}),
        (1, {2: 3.0, 3: 1.0}),  # green is not known from the training part; 40 is beyond its range
    ]


def test_cells_in_quotation_marks_are_read_and_not_blamed(tmp_path):
    layout = DelimitedColumns(label=3, categorical=(1,))
    _, chunks = read_table(source_file(tmp_path, '"true","1","a"\nx,2,b\n'), layout)
    assert sparse_rows(chunks) == [(0, {0: 1.0, 2: 1.0}), (1, {1: 1.0, 2: 2.0})]
    broken = source_file(tmp_path, '"u","1","a"\n"v","one","b"\n')
    with pytest.raises(DataError, match="line 2: column 2: 'one' is not a finite number"):
        read_table(broken, layout)


def test_listed_categories_do_not_depend_on_the_data(tmp_path):
    file = source_file(tmp_path, "tcp,1,a\nudp,2,b\n")
    layout = DelimitedColumns(label=3, categorical=(1,), categories={1: ("icmp", "tcp", "udp")})
    encoding, chunks = read_table(file, layout)
    assert encoding.features == 4
    assert sparse_rows(chunks) == [(0, {1: 1.0, 3: 1.0}), (1, {2: 1.0, 3: 2.0})]


def test_a_column_of_words_for_true_is_no_column_of_numbers(tmp_path):
    file = source_file(tmp_path, "a,1,True\na,2,False\n")
    with pytest.raises(DataError, match="line 1: column 3: 'True' is not a finite number"):
        read_table(file, DelimitedColumns(label=1))


def test_categories_may_be_words_for_true(tmp_path):
    encoding, _ = read_table(source_file(tmp_path, "a,true\na,FALSE\n"), DelimitedColumns(label=1, categorical=(2,)))
    assert encoding.values == {1: ("FALSE", "true")}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("a,1", "line 3: has 2 columns instead of 3"),
        ("a,1,2,3", "line 3: has 4 columns instead of 3"),
        ("a,1,two", "line 3: column 3: 'two' is not a finite number"),
        ("a,1,", "line 3: column 3: '' is not a finite number"),
        ("a,nan,2", "line 3: column 2: 'nan' is not a finite number"),
        ("a,1,inf", "line 3: column 3: 'inf' is not a finite number"),
        ("c,1,2", "line 3: column 1: the label 'c' is none of the card's classes (a, b)"),
    ],
)
@pytest.mark.parametrize("block_bytes", [3, 10**6])
def test_delimited_names_the_line_of_a_fault(tmp_path, line, said, block_bytes):
    file = source_file(tmp_path, f"a,1,2\nb,3,4\n{line}\na,1,2\n")
    encoding = new_encoding(file, DelimitedColumns(label=1), False)
    assert said in refusal(read_delimited(file, encoding, LETTERS, block_bytes))


@pytest.mark.parametrize(
    ("separator", "text", "said"),
    [
        (",", "a,1,x\nb,2,y,z\na,3\nb,4,y\n", "line 2: has 4 columns instead of 3"),
        (",", "a,1,x\nb,2\na,3,y,z\nb,4,y\n", "line 2: has 2 columns instead of 3"),
        ("blank", "a 1 x\nb 2 y\na 3\nb 4 y z\n", "line 3: has 2 columns instead of 3"),
    ],
)
def test_a_line_that_is_too_short_is_seen_beside_one_that_is_too_long(tmp_path, separator, text, said):
    layout = DelimitedColumns(label=1, categorical=(3,), separator=separator)
    with pytest.raises(DataError, match=said):
        read_table(source_file(tmp_path, text), layout)


def test_a_card_of_too_many_columns_is_refused(tmp_path):
    file = source_file(tmp_path, "a,1,2\n")
    with pytest.raises(DataError, match="has 3 columns, but the card names column 7"):
        new_encoding(file, DelimitedColumns(label=1, skip=(7,)), False)
    with pytest.raises(DataError, match="is empty"):
        new_encoding(source_file(tmp_path, "\n\n"), DelimitedColumns(label=1), False)


def test_a_line_of_very_many_columns_is_refused(tmp_path):
    file = source_file(tmp_path, "," * 100_000)
    with pytest.raises(DataError, match="has 100,001 columns, and 100,000 can be read; write it as svmlight"):
        new_encoding(file, DelimitedColumns(label=1), False)


def test_more_categories_than_columns_are_refused_while_they_are_read(tmp_path):
    file = source_file(tmp_path, "".join(f"a,{number}\n" for number in range(20)))
    encoding = new_encoding(file, DelimitedColumns(label=1, categorical=(2,)), False, 7)
    with pytest.raises(DataError, match="gives more than the expected 7 columns"):
        fit(encoding, [file], lambda _first, count: np.ones(count, bool))


@pytest.mark.parametrize("layout", [DelimitedColumns(label=1), DelimitedColumns(label=1, categorical=(2, 3))])
@given(pieces=st.lists(st.sampled_from([*'ab,1.e-"\n\x00 ', "\r", "\xff", "1,1", "inf"]), max_size=30))
@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_is_rows_or_an_error(tmp_path, layout, pieces):
    file = source_file(tmp_path, "a,1,2\n" + "".join(pieces))
    with contextlib.suppress(DataError):
        for chunk in read_table(file, layout)[1]:
            assert len(chunk.labels)
            assert np.isfinite(chunk.values).all()
