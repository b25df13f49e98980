"""Source files are read whatever compressed them, and a damaged one is named."""

from __future__ import annotations

import bz2
import gzip
import lzma

import numpy as np
import pytest
from tests.source_files import refusal, source_file, sparse_rows

from mpu_bench.data.readers.labels import Labels
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
