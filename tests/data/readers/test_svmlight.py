"""svmlight files: whatever is written is read back, in chunks of any size, and a fault is named with its line."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.source_files import refusal, source_file, sparse_rows

from mpu_bench.data.readers.blocks import Labels
from mpu_bench.data.readers.svmlight import Rules, Topics, parse_line, read_svmlight
from mpu_bench.errors import DataError

SIGNS = Labels({"-1": ("-1",), "+1": ("+1",)})

VALUES = st.floats(-1e30, 1e30, allow_subnormal=False).filter(bool)

ROWS = st.lists(
    st.tuples(st.sampled_from([0, 1]), st.dictionaries(st.integers(0, 3000), VALUES, max_size=6)), max_size=30
)


@st.composite
def written(draw):
    """Write rows with the quirks that real files have."""
    rows, first = draw(ROWS), draw(st.sampled_from([0, 1]))
    lines = []
    for label, row in rows:
        words = [draw(st.sampled_from([["-1", "-1.0", "-1.0e0"], ["+1", "1", "1.000"]][label]))]
        words += draw(st.sampled_from([[], ["qid:3"]]))
        for column in sorted(row):
            blank = draw(st.sampled_from(["", " ", "  "]))
            words.append(f"{column + first}:{blank}{row[column]!r}")
        line = draw(st.sampled_from([" ", "  ", "\t"])).join(words)
        lines.append(line + draw(st.sampled_from(["", " ", "  \t", " # note 1:2", "#"])))
        lines += draw(st.sampled_from([[], [""], ["# a comment"], ["  "]]))
    end = draw(st.sampled_from(["\n", "\r\n"]))
    return rows, first, end.join(lines) + draw(st.sampled_from(["", end, end + end]))


@given(written(), st.sampled_from([1, 7, 64, 10**6]))
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_svmlight_reads_what_was_written(tmp_path, content, block_bytes):
    rows, first, text = content
    file = source_file(tmp_path, text)
    rules = Rules(SIGNS, features=3001, first_index=first)
    assert sparse_rows(read_svmlight(file, rules, block_bytes)) == rows
    slow = [parse_line(line, rules) for line in text.encode().split(b"\n")]
    assert [(int(label > 0), dict(pairs)) for label, pairs in filter(None, slow)] == rows


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("+1 1:1 2", "'2' is not of the form index:value"),
        ("+1 x:1", "'x:1' is not of the form index:value"),
        ("+1 1:one", "'1:one': the value is not a number"),
        ("+1 1:", "'1:': the value is not a number"),
        ("+1 1:1_0", "'1:1_0': the value is not a number"),
        ("+1 1:1 1_0:1", "'1_0:1' is not of the form index:value"),
        ("0_1 1:1", "the label '0_1' is not a number"),
        ("+1 1:1 qid:3 2:1", "'qid:3' is not of the form index:value"),
        ("+1 2:1 1:1", "the index 1 is not rising"),
        ("+1 2:1 2:1", "the index 2 is repeated"),
        ("+1 1:nan", "'1:nan': the value is not finite"),
        ("+1 1:-inf", "'1:-inf': the value is not finite"),
        ("+1 1:1e39", "too large for float32"),
        ("+1 0:1", "the index 0 is too small; if columns are counted from 0, the card needs 'first_index: 0'"),
        ("+1 -3:1", "the index -3 is too small"),
        ("+1 11:1", "the index 11 is beyond the 10 features"),
        ("+1 4294967297:1", "the index 4294967297 is beyond the 10 features"),
        ("+1 99999999999999999999:1", "the index 99999999999999999999 is beyond the 10 features"),
        ("2 1:1", "the label '2' is none of the card's classes (-1, +1)"),
        ("nan 1:1", "the label 'nan' is none of the card's classes"),
        ("yes 1:1", "the label 'yes' is not a number"),
        ("+1 1:1 # a comment\r-1 1:1", "a line ends in CR alone; write line ends as LF or CRLF"),
        ("+1 1:1\r-1 1:1", "a line ends in CR alone"),
    ],
)
@pytest.mark.parametrize("block_bytes", [5, 10**6])
def test_svmlight_names_the_line_of_a_fault(tmp_path, line, said, block_bytes):
    file = source_file(tmp_path, f"-1 1:1\n# fine\n\n+1 3:2 \r\n{line}\n-1 1:1\n")
    message = refusal(read_svmlight(file, Rules(SIGNS, features=10), block_bytes))
    assert message.startswith(f"{file.path}, line 5: ")
    assert said in message


def test_svmlight_refuses_an_index_beyond_uint32_without_a_number_of_features(tmp_path):
    file = source_file(tmp_path, "+1 4294967296:1\n")
    assert "4294967296" in refusal(read_svmlight(file, Rules(SIGNS)))


def test_svmlight_drops_repeated_pairs_if_told_so(tmp_path):
    file = source_file(tmp_path, "+1 1:0.5 1:0.5 2:1\n-1 3:1\n")
    assert sparse_rows(read_svmlight(file, Rules(SIGNS, repeated="drop"))) == [(1, {0: 0.5, 1: 1.0}), (0, {2: 1.0})]
    other = source_file(tmp_path, "+1 1:0.5 1:0.6 2:1\n")
    assert "line 1: the index 1 is repeated" in refusal(read_svmlight(other, Rules(SIGNS, repeated="drop")))


def test_svmlight_adds_up_repeated_pairs_if_told_so(tmp_path):
    file = source_file(tmp_path, "+1 1:0.5 1:0.5 2:1 # 2:1\n1 1:3 # very very\n-1 3:1 3:-1 4:2\n")
    rows = sparse_rows(read_svmlight(file, Rules(SIGNS, repeated="keep")))
    assert rows == [(1, {0: 1.0, 1: 1.0}), (1, {0: 3.0}), (0, {3: 2.0})]
    for text, said in [
        ("+1 1:a 1:2\n", "line 1: '1:a': the value"),
        ("+1 2:1 1:1 2:1\n", "line 1: the index 1 is not rising"),
        ("+1 2:1 2:1\n-1 x:1\n", "line 2: 'x:1' is not of the form index:value"),
    ]:
        assert said in refusal(read_svmlight(source_file(tmp_path, text), Rules(SIGNS, repeated="keep")))


def test_zeros_are_dropped_and_empty_rows_kept(tmp_path):
    file = source_file(tmp_path, "+1 1:0 2:1 3:0.0\n-1\n-1 5:0\n")
    assert sparse_rows(read_svmlight(file, Rules(SIGNS))) == [(1, {1: 1.0}), (0, {}), (0, {})]


def test_topics_label_documents(tmp_path):
    topics = source_file(tmp_path, "C11 7 1\nCCAT 7 1\nCCAT 9 1\n", "topics")
    vectors = source_file(tmp_path, "7  1:1\n8 2:1\n9 3:1\n", "vectors")
    rows = sparse_rows(read_svmlight(vectors, Rules(Topics(topics, "CCAT"))))
    assert [label for label, _ in rows] == [1, 0, 1]
    with pytest.raises(DataError, match="no document has the topic 'GCAT'"):
        Topics(topics, "GCAT")
    broken = source_file(tmp_path, "CCAT seven 1\n", "broken")
    with pytest.raises(DataError, match="line 1: should read 'topic document 1'"):
        Topics(broken, "CCAT")


@pytest.mark.parametrize("index", [2**31 - 1, 2**31, 2**32 - 2, 2**32 - 1, 10**30, int("9" * 4000)])
def test_svmlight_names_the_line_of_an_index_that_cannot_be_counted(tmp_path, index):
    file = source_file(tmp_path, f"+1 1:1\n-1 {index}:1\n")
    assert f"{file.path}, line 2: " in refusal(read_svmlight(file, Rules(SIGNS)))
    assert f"{file.path}, line 2: " in refusal(read_svmlight(file, Rules(SIGNS, first_index=0)))


def test_svmlight_reads_the_largest_index(tmp_path):
    file = source_file(tmp_path, f"+1 {2**31 - 2}:1\n")
    assert sparse_rows(read_svmlight(file, Rules(SIGNS))) == [(1, {2**31 - 3: 1.0})]
    assert sparse_rows(read_svmlight(source_file(tmp_path, f"-1 {2**31 - 3}:2"), Rules(SIGNS, first_index=0)))


def test_a_topic_of_a_document_without_end_is_refused(tmp_path):
    with pytest.raises(DataError, match="line 1: should read 'topic document 1'"):
        Topics(source_file(tmp_path, f"CCAT {'9' * 5000} 1\n"), "CCAT")


@given(st.lists(st.sampled_from([*"+-1:. #\n\t\x00e9", "qid:", "\r\n", "1:1", " 2:", "nan", "\xff"]), max_size=30))
@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_svmlight_of_any_text_is_rows_or_an_error(tmp_path, pieces):
    file = source_file(tmp_path, "".join(pieces).encode("latin-1"))
    with contextlib.suppress(DataError):
        for chunk in read_svmlight(file, Rules(SIGNS, features=9), 7):
            assert chunk.rows.shape == (len(chunk.labels), 9)
            assert np.isfinite(chunk.values).all()
            assert 0 <= chunk.rows.indices.min(initial=0) <= chunk.rows.indices.max(initial=0) < 9
