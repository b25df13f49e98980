"""The idx format: images and labels, and every way in which the two files can be wrong."""

from __future__ import annotations

import contextlib
import gzip
import struct
import tracemalloc

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.source_files import refusal, source_file

from mpu_bench.data.readers.blocks import BLOCK_BYTES, Labels
from mpu_bench.data.readers.idx import read_idx
from mpu_bench.errors import DataError

DIGITS = Labels({str(digit): (str(digit),) for digit in range(3)})


def idx_pair(tmp_path, images, labels):
    head = bytes((0, 0, 8, 3)) + struct.pack(">3I", *images.shape)
    pixels = source_file(tmp_path, gzip.compress(head + images.tobytes()), "images.gz")
    digits = bytes((0, 0, 8, 1)) + struct.pack(">I", len(labels)) + labels.tobytes()
    return pixels, source_file(tmp_path, digits, "labels")


def header(*sizes: int) -> bytes:
    return bytes((0, 0, 8, len(sizes))) + struct.pack(f">{len(sizes)}I", *sizes)


@pytest.mark.parametrize("compress", [bytes, gzip.compress])
@pytest.mark.parametrize(
    ("shape", "features", "words"),
    [
        ((2**32 - 1, 2**16, 2**15), 2**31, "images: is shorter than its header says"),
        ((2**32 - 1, 2, 3), 6, "images: is shorter than its header says"),
        ((2**32 - 1, 2**32 - 1, 2**32 - 1), 6, "images: has 18,446,744,065,119,617,025 pixels instead of 6"),
        ((2**32 - 1, 0, 3), 6, "images: has 0 pixels instead of 6"),
        ((1, 2, 3), 6, "labels: holds 4294967295 labels for the 1 images"),
    ],
)
def test_a_header_is_believed_as_far_as_the_file_is_long(tmp_path, compress, shape, features, words):
    images = source_file(tmp_path, compress(header(*shape) + bytes(100)), "images")
    labels = source_file(tmp_path, compress(header(2**32 - 1) + bytes(100)), "labels")
    tracemalloc.start()
    try:
        message = refusal(read_idx(images, labels, DIGITS, features))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert words in message
    assert peak < 5 * BLOCK_BYTES


@given(st.binary(max_size=24), st.binary(max_size=16))
@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_are_images_or_an_error(tmp_path, pixels, digits):
    images = source_file(tmp_path, header(2, 1, 2)[: len(pixels)] + pixels[16:], "images")
    labels = source_file(tmp_path, header(2)[: len(digits)] + digits[8:], "labels")
    rows = 0
    with contextlib.suppress(DataError):
        rows = sum(len(chunk.labels) for chunk in read_idx(images, labels, DIGITS, 2))
    assert rows in (0, 2)
