"""Texts of models in C: nothing in a label, a word or a column's name becomes code."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpu_bench.errors import DataError
from mpu_bench.models.export.c_text import (
    Constants,
    array_bytes,
    comment,
    distinct,
    identifier,
    labels_table,
    number,
    text_literal,
)


@given(st.text(st.characters()))
def test_texts_stay_in_their_quotation_marks_and_comments(text: str) -> None:
    literal = text_literal(text)
    assert re.fullmatch(r'"([^"\\\n?]|\\[0-3][0-7]{2})*"', literal)
    assert "*/" not in comment(text)
    assert "\n" not in comment(text)
    assert "\\" not in comment(text)
    assert re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", identifier(text))


def test_names_are_distinct_and_no_keywords() -> None:
    assert distinct(["a", "a", "a_2", "a"]) == ["a", "a_2", "a_2_2", "a_3"]
    assert identifier("int") == "model_int"
    assert [identifier(own) for own in ("machine", "class")] == ["model_machine", "model_class"]
    assert identifier("7 days") == "model_7_days"


def test_numbers_are_constants_of_single_precision() -> None:
    assert [number(0.1), number(3.0), number(1e-40)] == ["0.100000001f", "3.0f", "9.9999461e-41f"]
    with pytest.raises(DataError, match="beyond the range"):
        number(1e39)


def test_constants_are_counted() -> None:
    constants = Constants()
    constants.add("float", "w", [[1.0, 2.0]])
    constants.indices("i", [0, 300], 300)
    constants.add("int8_t", "none", [])
    assert array_bytes("\n".join(constants.lines)) == 8 + 4 + 1
    assert constants.lines[1] == "static const uint16_t i[2] = {\n  0, 300\n};"


def test_labels_are_integers_or_texts() -> None:
    assert labels_table("m", [-1, 1])[0] == "const int32_t m_labels[2] = {-1, 1};"
    assert labels_table("m", [2**40, 1])[0] == 'const char *const m_labels[2] = {"1099511627776", "1"};'
    assert labels_table("m", [True, False])[0].startswith("const char")


def test_what_no_text_of_c_holds_is_written_out() -> None:
    """A NUL would end both labels after the "a"; half of a surrogate pair has no bytes in UTF-8."""
    table, size = labels_table("m", ["a\0b", "a\0c", "\ud83d"])
    assert table == r'const char *const m_labels[3] = {"a\134x00b", "a\134x00c", "\134ud83d"};'
    assert size == 2 * 7 + 7 + 3 * 4
