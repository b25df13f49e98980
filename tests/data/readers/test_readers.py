"""The readers: whatever is written is read back, in chunks of any size, and a fault is named with its line."""

from __future__ import annotations

import bz2
import gzip
import lzma
import struct

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mpu_bench.data.cards.schema import DelimitedColumns
from mpu_bench.data.readers.blocks import Labels, RawFile, read_idx
from mpu_bench.data.readers.delimited import fit, new_coding, read_delimited
from mpu_bench.data.readers.svmlight import Rules, Topics, parse_line, read_svmlight
from mpu_bench.errors import DataError

SIGNS = Labels({"-1": ("-1",), "+1": ("+1",)})


def raw(tmp_path, content, name="file"):
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return RawFile(name, path)


def as_rows(chunks):
    """Give [(label, {column: value})] of sparse chunks."""
    rows = []
    for chunk in chunks:
        ends = np.cumsum(chunk.lengths)
        for i, end in enumerate(ends):
            row = slice(end - chunk.lengths[i], end)
            pairs = zip(chunk.columns[row].tolist(), chunk.values[row].tolist(), strict=True)
            rows.append((int(chunk.labels[i]), dict(pairs)))
    return rows


def refusal(chunks):
    with pytest.raises(DataError) as caught:
        list(chunks)
    return str(caught.value)


# ------------------------------------------------------------------ labels


def test_labels_that_are_the_same_number_are_the_same_label():
    labels = Labels({"no": ("-1",), "yes": ("1",)})
    assert labels.of_texts(["-1", "-1.0", "+1", " 1.00", "2"]).tolist() == [0, 0, 1, 1, -1]
    assert labels.of_numbers(np.array([-1.0, 1.0, 2.0, np.nan])).tolist() == [0, 1, -1, -1]


def test_a_star_takes_every_other_label():
    labels = Labels({"normal": ("normal.",), "attack": ("*",)})
    assert labels.of_texts(["smurf.", "normal.", "neptune."]).tolist() == [1, 0, 1]
    assert Labels({"eight": ("8",), "rest": ("*",)}).of_numbers(np.array([3.0, 8.0])).tolist() == [1, 0]


# ------------------------------------------------------------------ svmlight

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
    file = raw(tmp_path, text)
    rules = Rules(SIGNS, features=3001, first_index=first)
    assert as_rows(read_svmlight(file, rules, block_bytes)) == rows
    slow = [parse_line(line, rules) for line in text.encode().split(b"\n")]
    assert [(int(label > 0), dict(pairs)) for label, pairs in filter(None, slow)] == rows


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("+1 1:1 2", "'2' is not of the form index:value"),
        ("+1 x:1", "'x:1' is not of the form index:value"),
        ("+1 1:one", "'1:one': the value is not a number"),
        ("+1 1:", "'1:': the value is not a number"),
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
        ("2 1:1", "the label '2' is none of the card's classes (-1, 1)"),
        ("nan 1:1", "the label 'nan' is none of the card's classes"),
        ("yes 1:1", "the label 'yes' is not a number"),
    ],
)
@pytest.mark.parametrize("block_bytes", [5, 10**6])
def test_svmlight_names_the_line_of_a_fault(tmp_path, line, said, block_bytes):
    file = raw(tmp_path, f"-1 1:1\n# fine\n\n+1 3:2 \r\n{line}\n-1 1:1\n")
    message = refusal(read_svmlight(file, Rules(SIGNS, features=10), block_bytes))
    assert message.startswith(f"{file.path}:5: ")
    assert said in message


def test_svmlight_refuses_an_index_beyond_uint32_without_a_number_of_features(tmp_path):
    file = raw(tmp_path, "+1 4294967296:1\n")
    assert "4294967296" in refusal(read_svmlight(file, Rules(SIGNS)))


def test_svmlight_drops_repeated_pairs_if_told_so(tmp_path):
    file = raw(tmp_path, "+1 1:0.5 1:0.5 2:1\n-1 3:1\n")
    assert as_rows(read_svmlight(file, Rules(SIGNS, drop_repeated=True))) == [(1, {0: 0.5, 1: 1.0}), (0, {2: 1.0})]
    other = raw(tmp_path, "+1 1:0.5 1:0.6 2:1\n")
    assert ":1: the index 1 is repeated" in refusal(read_svmlight(other, Rules(SIGNS, drop_repeated=True)))


def test_zeros_are_dropped_and_empty_rows_kept(tmp_path):
    file = raw(tmp_path, "+1 1:0 2:1 3:0.0\n-1\n-1 5:0\n")
    assert as_rows(read_svmlight(file, Rules(SIGNS))) == [(1, {1: 1.0}), (0, {}), (0, {})]


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress])
def test_compressed_text(tmp_path, compress):
    file = raw(tmp_path, compress(b"+1 1:2\n-1 2:3"))
    assert as_rows(read_svmlight(file, Rules(SIGNS))) == [(1, {0: 2.0}), (0, {1: 3.0})]


def test_a_truncated_archive_is_named(tmp_path):
    noise = np.random.default_rng(0).integers(1, 10**9, 20_000)
    whole = gzip.compress("".join(f"+1 1:{number}\n" for number in noise).encode())
    file = raw(tmp_path, whole[: len(whole) // 2])
    message = refusal(read_svmlight(file, Rules(SIGNS)))
    assert str(file.path) in message
    assert "cut short" in message


def test_topics_label_documents(tmp_path):
    topics = raw(tmp_path, "C11 7 1\nCCAT 7 1\nCCAT 9 1\n", "topics")
    vectors = raw(tmp_path, "7  1:1\n8 2:1\n9 3:1\n", "vectors")
    rows = as_rows(read_svmlight(vectors, Rules(Topics(topics, "CCAT"))))
    assert [label for label, _ in rows] == [1, 0, 1]
    with pytest.raises(DataError, match="no document has the topic 'GCAT'"):
        Topics(topics, "GCAT")
    broken = raw(tmp_path, "CCAT seven 1\n", "broken")
    with pytest.raises(DataError, match=":1: should read 'topic document 1'"):
        Topics(broken, "CCAT")


# ------------------------------------------------------------------ delimited text

LETTERS = Labels({"a": ("a",), "b": ("b",)})


def read_table(file, layout, scaled=False, block_bytes=None, train=None):
    coding = new_coding(file, layout, scaled)
    fit(coding, [file], train or (lambda _first, count: np.ones(count, bool)))
    return coding, list(read_delimited(file, coding, LETTERS, block_bytes))


@pytest.mark.parametrize("block_bytes", [4, 10**6])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_numeric_columns_are_dense(tmp_path, block_bytes, end):
    file = raw(tmp_path, end.join(["a, 1, 9, -2.5", "b,3,9,4e1", "", "a,5, 9,6"]))
    _, chunks = read_table(file, DelimitedColumns(label=1, skip=(3,)), block_bytes=block_bytes)
    assert np.concatenate([chunk.values for chunk in chunks]).tolist() == [[1, -2.5], [3, 40], [5, 6]]
    assert np.concatenate([chunk.labels for chunk in chunks]).tolist() == [0, 1, 0]


def test_columns_may_be_separated_by_blanks(tmp_path):
    file = raw(tmp_path, "1.0  2  a \n 3 4 b\n")
    _, chunks = read_table(file, DelimitedColumns(label=3, separator="blank"))
    assert chunks[0].values.tolist() == [[1, 2], [3, 4]]


def test_categories_and_ranges_come_from_the_training_part(tmp_path):
    file = raw(tmp_path, "red,10,x,a\nblue,20,x,b\nred,15,y,a\ngreen,40,x,b\n")
    layout = DelimitedColumns(label=4, categorical=(1, 3))
    coding, chunks = read_table(
        file, layout, scaled=True, block_bytes=8, train=lambda first, count: np.arange(first, first + count) < 3
    )
    assert coding.features == 2 + 1 + 2
    assert as_rows(chunks) == [
        (0, {1: 1.0, 3: 1.0}),  # red, 10 -> 0, x
        (1, {0: 1.0, 2: 1.0, 3: 1.0}),  # blue, 20 -> 1, x
        (0, {1: 1.0, 2: 0.5, 4: 1.0}),
        (1, {2: 3.0, 3: 1.0}),  # green is not known from the training part; 40 is beyond its range
    ]


def test_listed_categories_do_not_depend_on_the_data(tmp_path):
    file = raw(tmp_path, "tcp,1,a\nudp,2,b\n")
    layout = DelimitedColumns(label=3, categorical=(1,), categories={1: ("icmp", "tcp", "udp")})
    coding, chunks = read_table(file, layout)
    assert coding.features == 4
    assert as_rows(chunks) == [(0, {1: 1.0, 3: 1.0}), (1, {2: 1.0, 3: 2.0})]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("a,1", ":3: has 2 columns instead of 3"),
        ("a,1,2,3", ":3: has 4 columns instead of 3"),
        ("a,1,two", ":3: column 3: 'two' is not a finite number"),
        ("a,1,", ":3: column 3: '' is not a finite number"),
        ("a,nan,2", ":3: column 2: 'nan' is not a finite number"),
        ("a,1,inf", ":3: column 3: 'inf' is not a finite number"),
        ("c,1,2", ":3: column 1: the label 'c' is none of the card's classes (a, b)"),
    ],
)
@pytest.mark.parametrize("block_bytes", [3, 10**6])
def test_delimited_names_the_line_of_a_fault(tmp_path, line, said, block_bytes):
    file = raw(tmp_path, f"a,1,2\nb,3,4\n{line}\na,1,2\n")
    coding = new_coding(file, DelimitedColumns(label=1), False)
    assert said in refusal(read_delimited(file, coding, LETTERS, block_bytes))


def test_a_card_of_too_many_columns_is_refused(tmp_path):
    file = raw(tmp_path, "a,1,2\n")
    with pytest.raises(DataError, match="has 3 columns, but the card speaks of column 7"):
        new_coding(file, DelimitedColumns(label=1, skip=(7,)), False)
    with pytest.raises(DataError, match="is empty"):
        new_coding(raw(tmp_path, "\n\n"), DelimitedColumns(label=1), False)


# ------------------------------------------------------------------ idx

DIGITS = Labels({str(digit): (str(digit),) for digit in range(3)})


def idx_pair(tmp_path, images, labels):
    head = bytes((0, 0, 8, 3)) + struct.pack(">3I", *images.shape)
    pixels = raw(tmp_path, gzip.compress(head + images.tobytes()), "images.gz")
    return pixels, raw(tmp_path, bytes((0, 0, 8, 1)) + struct.pack(">I", len(labels)) + labels.tobytes(), "labels")


def test_idx(tmp_path):
    images = np.arange(5 * 2 * 3, dtype=np.uint8).reshape(5, 2, 3)
    labels = np.array([0, 1, 2, 1, 0], np.uint8)
    chunks = list(read_idx(*idx_pair(tmp_path, images, labels), DIGITS, chunk_rows=2))
    assert [len(chunk.labels) for chunk in chunks] == [2, 2, 1]
    assert np.array_equal(np.concatenate([chunk.values for chunk in chunks]), images.reshape(5, 6))
    assert np.concatenate([chunk.labels for chunk in chunks]).tolist() == labels.tolist()


def test_idx_faults(tmp_path):
    images, labels = np.zeros((4, 2, 2), np.uint8), np.array([0, 1, 2, 9], np.uint8)
    pair = idx_pair(tmp_path, images, labels)
    assert "example 4: the label '9' is none" in refusal(read_idx(*pair, DIGITS))
    assert "holds 3 labels for the 4 images" in refusal(read_idx(*idx_pair(tmp_path, images, labels[:3]), DIGITS))
    assert "is not an idx file" in refusal(read_idx(pair[1], pair[1], DIGITS))
    pixels = gzip.decompress(pair[0].path.read_bytes())
    labels[3] = 0
    for content, said in (
        (pixels[:-1], "is shorter than its header says"),
        (pixels + b"0", "is longer than its header"),
    ):
        good = idx_pair(tmp_path, images, labels)[1]
        assert said in refusal(read_idx(raw(tmp_path, content), good, DIGITS))
