"""Decompressing streams, the .Z decoder, and the ways of showing progress."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import hashlib
import io
import lzma
import os
import random
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from mpu_bench.data.download import lzw
from mpu_bench.data.download.compression import compression, open_content
from mpu_bench.data.download.fetch import Home, RemoteFile, fetch
from mpu_bench.data.download.progress import Bar, Lines, Silent, for_console

TEXT = b"".join(b"%d 3:1 11:%d\n" % (1 - 2 * (i % 2), i * i) for i in range(6_000))
NOISE = random.Random(3).randbytes(20_000)


class Packer:
    """Packs codes into groups of eight, and fills up a group when the width changes, as ``compress`` does."""

    def __init__(self) -> None:
        self.packed = bytearray()
        self._group: list[int] = []

    def put(self, code: int, width: int) -> None:
        self._group.append(code)
        if len(self._group) == 8:
            self.fill_up(width)

    def fill_up(self, width: int) -> None:
        if self._group:
            self.packed += self._bits(width).to_bytes(width, "little")
            self._group = []

    def end(self, width: int) -> bytes:
        size = (len(self._group) * width + 7) // 8
        return bytes(self.packed) + self._bits(width).to_bytes(size, "little")

    def _bits(self, width: int) -> int:
        return sum(code << (width * place) for place, code in enumerate(self._group))


def compress(content: bytes, width_limit: int = 16, block_mode: bool = True, clear_every: int = 0) -> bytes:
    """Encode as Unix ``compress``, written from the format's description and independent of the decoder.

    ``clear_every`` bytes of content the table is cleared, which ``compress`` does when its ratio falls.
    """
    header = lzw.MAGIC + bytes([width_limit | (0x80 if block_mode else 0)])
    limit = max(width_limit, 10)
    first_free = 257 if block_mode else 256
    table = {bytes([byte]): byte for byte in range(256)}
    free, width, packer, prefix = first_free, 9, Packer(), b""
    waiting: int | None = None  # the decoder knows an entry one code after the encoder
    for place, byte in enumerate(content):
        longer = prefix + bytes([byte])
        if longer in table:
            prefix = longer
            continue
        packer.put(table[prefix], width)
        if waiting is not None and free == 1 << width and width < limit:
            packer.fill_up(width)
            width += 1
        if free < 1 << limit:
            table[longer] = free
            free += 1
        waiting = byte
        prefix = bytes([byte])
        if clear_every and block_mode and place % clear_every == clear_every - 1:
            packer.put(table[prefix], width)
            if free == 1 << width and width < limit:
                packer.fill_up(width)
                width += 1
            packer.put(256, width)
            packer.fill_up(width)
            table = {bytes([value]): value for value in range(256)}
            free, width, prefix, waiting = first_free, 9, b"", None
    if prefix:
        packer.put(table[prefix], width)
    return header + packer.end(width)


def decompress(packed: bytes) -> bytes:
    return b"".join(lzw.decompress(io.BytesIO(packed), 100))


class TestCompress:
    @pytest.mark.parametrize("content", [b"", b"a", b"aaaaaaa", TEXT, NOISE, bytes(200_000), TEXT + NOISE])
    @pytest.mark.parametrize("options", [{}, {"block_mode": False}, {"clear_every": 7777}, {"width_limit": 12}])
    def test_round_trip(self, content: bytes, options: dict[str, int]) -> None:
        assert decompress(compress(content, **options)) == content  # type: ignore[arg-type]

    @settings(deadline=None, max_examples=60)
    @given(
        content=st.binary(max_size=3000) | st.text("ab", max_size=3000).map(str.encode),
        width_limit=st.integers(9, 16),
        block_mode=st.booleans(),
        clear_every=st.integers(0, 900),
    )
    def test_any_round_trip(self, content: bytes, width_limit: int, block_mode: bool, clear_every: int) -> None:
        assert decompress(compress(content, width_limit, block_mode, clear_every)) == content

    @pytest.mark.skipif(shutil.which("gzip") is None, reason="gzip, the other decoder, is not installed")
    @pytest.mark.parametrize("options", [{}, {"block_mode": False}, {"clear_every": 7777}, {"width_limit": 12}])
    def test_the_encoder_of_this_test_agrees_with_gzip(self, options: dict[str, int]) -> None:
        packed = compress(TEXT, **options)  # type: ignore[arg-type]
        assert subprocess.run(["gzip", "-dc"], input=packed, capture_output=True, check=True).stdout == TEXT

    @pytest.mark.real_data
    @pytest.mark.skipif(not os.environ.get("MPU_BENCH_MIRROR"), reason="MPU_BENCH_MIRROR names no mirror")
    def test_the_real_shuttle(self, tmp_path: Path) -> None:
        content = "87b24ee9fb5137e1d417659cf905d84d0e15342bbaa60770f1ae83da1a38200a"
        home = Home.from_options(tmp_path)
        fetched = fetch(RemoteFile("shuttle.trn.Z", content_sha256=content), home)
        assert fetched.content_sha256 == content

    def test_a_cut_within_a_code_is_found(self) -> None:
        packed = compress(NOISE)
        found = 0
        for length in range(3, 400):
            try:
                assert NOISE.startswith(decompress(packed[:length]))
            except EOFError:
                found += 1
        assert found > 300  # the others fall between two codes or leave only zeros

    @pytest.mark.parametrize("packed", [b"", b"\x1f", b"\x1f\x9d"])
    def test_a_cut_header(self, packed: bytes) -> None:
        with pytest.raises(EOFError):
            decompress(packed)

    @pytest.mark.parametrize("packed", [b"\x1f\x8b\x90", b"\x1f\x9d\x88", b"\x1f\x9d\x91", b"\x1f\x9d\x90\xff\xff\xff"])
    def test_damage(self, packed: bytes) -> None:
        with pytest.raises(ValueError, match=r"not a compress|not in its table"):
            decompress(packed)

    @settings(deadline=None, max_examples=100)
    @given(rest=st.binary(max_size=500), flags=st.sampled_from([0x90, 0x10, 0x8C, 0x89]))
    def test_any_bytes_end_in_content_or_a_known_error(self, rest: bytes, flags: int) -> None:
        with contextlib.suppress(EOFError, ValueError):
            assert len(decompress(lzw.MAGIC + bytes([flags]) + rest)) <= 8 * len(rest) * len(rest) + 1


class TestOpenContent:
    @pytest.mark.parametrize("name", ["f", "f.gz", "f.bz2"])
    @pytest.mark.parametrize(
        ("pack", "kind"),
        [
            (bytes, None),
            (gzip.compress, "gzip"),
            (bz2.compress, "bzip2"),
            (lzma.compress, "xz"),
            (compress, "compress"),
            (lambda content: gzip.compress(content[:9]) + gzip.compress(content[9:]), "gzip"),
            (lambda content: bz2.compress(content[:9]) + bz2.compress(content[9:]), "bzip2"),
        ],
    )
    def test_the_first_bytes_decide(
        self, name: str, pack: Callable[[bytes], bytes], kind: str | None, tmp_path: Path
    ) -> None:
        path = tmp_path / name
        path.write_bytes(pack(TEXT))
        assert compression(path.read_bytes()[:10]) == kind
        with open_content(path) as stream:
            assert stream.readline() == b"1 3:1 11:0\n"
            assert stream.read(5) == b"-1 3:"
            assert hashlib.sha256(b"1 3:1 11:0\n-1 3:" + stream.read()).digest() == hashlib.sha256(TEXT).digest()
        assert stream.closed

    @pytest.mark.parametrize("content", [b"", b"B", b"BZh is how this text begins", b"\x1f", b"\x00\x00\x08\x03"])
    def test_plain_content_that_may_mislead(self, content: bytes, tmp_path: Path) -> None:
        path = tmp_path / "f"
        path.write_bytes(content)
        with open_content(path) as stream:
            assert stream.read() == content

    def test_empty_content_compressed(self, tmp_path: Path) -> None:
        path = tmp_path / "f"
        for pack in (gzip.compress, bz2.compress, lzma.compress, compress):
            path.write_bytes(pack(b""))
            with open_content(path) as stream:
                assert stream.read() == b""


class TestProgress:
    def test_lines_come_now_and_then(self) -> None:
        lines: list[str] = []
        times = iter([0.0, 1.0, 5.0, 6.0, 10.0])
        progress = Lines(lines.append, clock=lambda: next(times))
        with progress.transfer("fetch a9a", 2_000_000, 1_000_000) as advance:
            for count in (100_000, 400_000, 100_000, 400_000):
                advance(count)
        progress.note("a note")
        assert lines == [
            "fetch a9a: 1.5 MB of 2.0 MB, 100.0 kB/s, 5 s left",
            "fetch a9a: 2.0 MB of 2.0 MB, 100.0 kB/s, 0 s left",
            "fetch a9a: done, 2.0 MB",
            "a note",
        ]

    def test_lines_without_a_total_and_without_an_end(self) -> None:
        lines: list[str] = []
        times = iter([0.0, 10.0])
        progress = Lines(lines.append, clock=lambda: next(times))

        def fail() -> None:
            with progress.transfer("fetch a9a", None) as advance:
                advance(500)
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            fail()
        assert lines == ["fetch a9a: 500 bytes, 50 bytes/s"]

    def test_a_terminal_gets_a_bar(self) -> None:
        console = Console(file=io.StringIO(), force_terminal=True, width=100)
        progress = for_console(console)
        assert isinstance(progress, Bar)
        with progress.transfer("fetch [a9a]", 2_000_000) as advance:
            advance(2_000_000)
        progress.note("a [note]")
        shown = console.file.getvalue()  # type: ignore[attr-defined]
        for part in ("fetch [a9a]", "2.0/2.0 MB", "0:00:00", "a [note]"):
            assert part in shown

    def test_a_pipe_gets_lines(self) -> None:
        console = Console(file=io.StringIO(), force_terminal=False, width=20)
        progress = for_console(console)
        assert isinstance(progress, Lines)
        progress.note("a [long] note that is not wrapped at all")
        assert console.file.getvalue() == "a [long] note that is not wrapped at all\n"  # type: ignore[attr-defined]

    def test_silence(self, capsys: pytest.CaptureFixture[str]) -> None:
        with Silent().transfer("fetch a9a", 1) as advance:
            advance(1)
        Silent().note("nothing")
        assert capsys.readouterr() == ("", "")
