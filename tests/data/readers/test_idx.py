"""The idx format: images and labels, and every way in which the two files can be wrong."""

from __future__ import annotations

import gzip
import struct

from tests.source_files import source_file

from mpu_bench.data.readers.labels import Labels

DIGITS = Labels({str(digit): (str(digit),) for digit in range(3)})


def idx_pair(tmp_path, images, labels):
    head = bytes((0, 0, 8, 3)) + struct.pack(">3I", *images.shape)
    pixels = source_file(tmp_path, gzip.compress(head + images.tobytes()), "images.gz")
    digits = bytes((0, 0, 8, 1)) + struct.pack(">I", len(labels)) + labels.tobytes()
    return pixels, source_file(tmp_path, digits, "labels")
