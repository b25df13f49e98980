"""Files of Unix compress: what is packed comes back, damage is reported, and no bomb fills the memory."""

from __future__ import annotations

import contextlib
import tempfile
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.downloads import message
from tests.oracles.lzw import compress

from mpu_bench.data.download.cache import DataDirectory, RemoteFile
from mpu_bench.data.download.compression import open_content
from mpu_bench.data.download.errors import SourceError


def unpacked(packed: bytes) -> bytes:
    with tempfile.NamedTemporaryFile(suffix=".Z") as file:
        file.write(packed)
        file.flush()
        with open_content(Path(file.name)) as stream:
            return stream.read()


contents = st.one_of(
    st.binary(max_size=4000),
    st.lists(st.sampled_from([b"a", b"b", b"ab", b"0 1:"]), max_size=3000).map(b"".join),
    st.builds(lambda word, times: word * times, st.binary(min_size=1, max_size=3), st.integers(1, 5000)),
)


@settings(max_examples=25, deadline=None)
@given(content=contents, most_bits=st.sampled_from([10, 11, 12, 16]), clear_when_full=st.booleans())
def test_what_is_packed_comes_back(content: bytes, most_bits: int, clear_when_full: bool) -> None:
    assert unpacked(compress(content, most_bits, clear_when_full)) == content


@settings(max_examples=25, deadline=None)
@given(content=contents, where=st.floats(0, 1), rubbish=st.binary(max_size=4), cut=st.booleans())
def test_damage_is_told_or_read(content: bytes, where: float, rubbish: bytes, cut: bool) -> None:
    packed = compress(content)
    start = int(where * len(packed))
    damaged = packed[:start] + rubbish + (b"" if cut else packed[start + len(rubbish) :])
    with contextlib.suppress(SourceError):
        unpacked(damaged)


def test_another_form_is_an_error() -> None:
    with pytest.raises(SourceError, match="the compressed data are damaged"):
        unpacked(b"\x1f\x9d\x7f" + compress(b"a" * 2000)[3:])


def bomb(codes: int) -> bytes:
    """Pack zeros: each code stands for one more than the code before, so that n codes make n (n + 1) / 2 of them."""
    packed, group, bits = bytearray(b"\x1f\x9d\x90"), 0, 9
    places = 0
    for number in range(codes):
        group |= (256 + number if number else 0) << places * bits
        places += 1
        grows = 257 + number >= 1 << bits and bits < 16
        if places == 8 or grows or number == codes - 1:
            packed += group.to_bytes(bits, "little")
            group = places = 0
            bits += grows
    return bytes(packed)


def test_the_bomb_is_one() -> None:
    assert unpacked(bomb(3000)[: -(3000 % 8) or None]).strip(b"\0") == b""


def test_a_bomb_fills_no_memory(tmp_path: Path) -> None:
    (tmp_path / "mirror").mkdir()
    (tmp_path / "mirror" / "f.Z").write_bytes(bomb(20_000))  # 200 MB
    home = DataDirectory(tmp_path / "home", (str(tmp_path / "mirror"),))
    tracemalloc.start()
    try:
        text = message(RemoteFile("f.Z", content_bytes=5_000_000), home)
        _now, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert "expands to more than the limit of 5,000,000 bytes" in text
    assert peak < 50_000_000
