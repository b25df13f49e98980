"""Source files are read whatever compressed them, and a damaged one is named."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os

import numpy as np
import pytest
import scipy.sparse
from tests.source_files import refusal, source_file, sparse_rows

from mpu_bench.data.readers import blocks
from mpu_bench.data.readers.blocks import Chunk, Labels, SourceFile
from mpu_bench.data.readers.svmlight import Rules, read_svmlight

SIGNS = Labels({"-1": ("-1",), "+1": ("+1",)})


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress])
def test_compressed_text(tmp_path, compress):
    file = source_file(tmp_path, compress(b"+1 1:2\n-1 2:3"))
    assert sparse_rows(read_svmlight(file, Rules(SIGNS))) == [(1, {0: 2.0}), (0, {1: 3.0})]


def test_a_truncated_archive_is_named(tmp_path):
    noise = np.random.default_rng(0).integers(1, 10**9, 20_000)
    whole = gzip.compress("".join(f"+1 1:{number}\n" for number in noise).encode())
    file = source_file(tmp_path, whole[: len(whole) // 2])
    message = refusal(read_svmlight(file, Rules(SIGNS)))
    assert str(file.path) in message
    assert "cut short" in message


@pytest.mark.parametrize("kind", ["pipe", "device", "folder"])
def test_what_is_no_file_is_not_read(tmp_path, kind):
    path = tmp_path / "source"
    {"pipe": os.mkfifo, "device": lambda path: path.symlink_to("/dev/zero"), "folder": os.mkdir}[kind](path)
    assert f"{path}: cannot be read: is a {kind}, not a file" in refusal(SourceFile("source", path).blocks())


def test_a_line_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(blocks, "_LONGEST_LINE_BYTES", 1000)
    file = source_file(tmp_path, b"1\n" + b"x" * 1500)
    assert f"{file.path}, line 2: has more than 1,000 bytes; this is not a text of examples" in refusal(
        file.blocks(300)
    )


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_lines_are_whole_whatever_the_block(tmp_path, size):
    text = b"a\nbb\n\ncccccccccc\nd"
    read = list(source_file(tmp_path, text).blocks(size))
    assert b"".join(block for _, block in read) == text
    assert all(line == 1 + text[: text.index(block)].count(b"\n") for line, block in read if block.strip())


def test_dense_rows_are_made_in_pieces(monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 8 * 4 * 2)
    rows = scipy.sparse.csr_array((np.arange(1.0, 6.0), [0, 3, 1, 2, 0], [0, 2, 2, 3, 4, 5]), (5, 4))
    chunk = Chunk(np.arange(5, dtype=np.int32), rows)
    pieces = list(chunk.dense_pieces())
    assert [len(piece.labels) for piece in pieces] == [2, 2, 1]
    assert np.array_equal(np.concatenate([piece.values for piece in pieces]), rows.toarray())
    assert np.array_equal(np.concatenate([piece.labels for piece in pieces]), chunk.labels)
