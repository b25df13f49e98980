"""What the tests of readers share: files to read, and what comes out of them."""

from __future__ import annotations

import numpy as np
import pytest

from mpu_bench.data.readers.blocks import SourceFile
from mpu_bench.errors import DataError


def source_file(tmp_path, content, name="file"):
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return SourceFile(name, path)


def sparse_rows(chunks):
    """Return [(label, {column: value})] of sparse chunks."""
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
