"""What the tests of readers share: files to read, and what comes out of them."""

from __future__ import annotations

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
        for label, row in zip(chunk.labels, chunk.rows, strict=True):
            pairs = zip(row.indices.tolist(), row.data.tolist(), strict=True)
            rows.append((int(label), dict(pairs)))
    return rows


def refusal(chunks):
    with pytest.raises(DataError) as caught:
        list(chunks)
    return str(caught.value)
