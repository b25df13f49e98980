"""Decompressing streams: the first bytes of a file decide how it is read."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import lzma
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from mpu_bench.data.download.cache import DataDirectory, RemoteFile
from mpu_bench.data.download.compression import compression, open_content
from mpu_bench.data.download.errors import SourceError
from mpu_bench.data.download.fetch import fetch

#: twelve lines of such a text, as Unix compress packs them
PACKED = bytes.fromhex(
    "1f9d903140ccd01130460c1d3014b40838b0e0c1180a1812046150070d85121deac81151e0c48a316c60f4a851468d8e0d291e9c2172214995"
    "1639668469e3a2cb941571409c091246c29b1f1fca8008"
)
TEXT = b"".join(b"%d 3:1 11:%d\n" % (1 - 2 * (i % 2), i * i) for i in range(6_000))


@pytest.mark.parametrize("name", ["f", "f.gz", "f.bz2"])
@pytest.mark.parametrize(
    ("pack", "kind"),
    [
        (bytes, None),
        (gzip.compress, "gzip"),
        (bz2.compress, "bzip2"),
        (lzma.compress, "xz"),
        (lambda content: gzip.compress(content[:9]) + gzip.compress(content[9:]), "gzip"),
        (lambda content: bz2.compress(content[:9]) + bz2.compress(content[9:]), "bzip2"),
    ],
)
def test_the_first_bytes_decide(name: str, pack: Callable[[bytes], bytes], kind: str | None, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(pack(TEXT))
    assert compression(path.read_bytes()[:10]) == kind
    with open_content(path) as stream:
        assert stream.readline() == b"1 3:1 11:0\n"
        assert stream.read(5) == b"-1 3:"
        assert hashlib.sha256(b"1 3:1 11:0\n-1 3:" + stream.read()).digest() == hashlib.sha256(TEXT).digest()
    assert stream.closed


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_a_damaged_stream_after_another_is_not_the_end(pack: Callable[[bytes], bytes], tmp_path: Path) -> None:
    """As of a file packed in parallel, or several packed ones put together."""
    path, second = tmp_path / "f", pack(b"second\n")
    path.write_bytes(pack(b"first\n") + bytes(512) * (pack is not bz2.compress) + second)
    with open_content(path) as stream:
        assert stream.read() == b"first\nsecond\n"
    for damaged in (b"\x42\x00" + second[2:], second[:-4], b"garbage"):
        path.write_bytes(pack(b"first\n") + damaged)
        with pytest.raises(SourceError, match=r"damaged|cut short"), open_content(path) as stream:
            stream.read()


@pytest.mark.parametrize("content", [b"", b"B", b"BZh is how this text begins", b"\x1f", b"\x00\x00\x08\x03"])
def test_plain_content_that_may_mislead(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(content)
    with open_content(path) as stream:
        assert stream.read() == content


def test_empty_content_compressed(tmp_path: Path) -> None:
    path = tmp_path / "f"
    for pack in (gzip.compress, bz2.compress, lzma.compress, lambda _content: PACKED[:3]):
        path.write_bytes(pack(b""))
        with open_content(path) as stream:
            assert stream.read() == b""


@pytest.mark.real_data
@pytest.mark.skipif(not os.environ.get("MPU_BENCH_MIRROR"), reason="MPU_BENCH_MIRROR names no mirror")
def test_the_real_shuttle(tmp_path: Path) -> None:
    content = "87b24ee9fb5137e1d417659cf905d84d0e15342bbaa60770f1ae83da1a38200a"
    home = DataDirectory.from_options(tmp_path)
    fetched = fetch(RemoteFile("shuttle.trn.Z", content_sha256=content), home)
    assert fetched.content_sha256 == content


def test_a_file_of_unix_compress(tmp_path: Path) -> None:
    (tmp_path / "f.Z").write_bytes(PACKED)
    with open_content(tmp_path / "f.Z") as stream:
        assert stream.readline() == b"1 3:1 11:0\n"
        assert stream.read() == b"".join(TEXT.splitlines(keepends=True)[1:12])


@pytest.mark.parametrize("damaged", [b"\x1f\x9d", b"\x1f\x9d\x90\xff\xff\xff", PACKED[:-1] + b"\xff\xff"])
def test_damage_of_a_file_of_unix_compress_is_explained(damaged: bytes, tmp_path: Path) -> None:
    (tmp_path / "f.Z").write_bytes(damaged)
    with (
        pytest.raises(SourceError, match=r"the compressed data are damaged \("),
        open_content(tmp_path / "f.Z") as stream,
    ):
        stream.read()
