"""Whatever is served, a wrong file never gets the file's name and nothing is left of it."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.downloads import DATA, fetched_bytes, known, left, message, sha256
from tests.http_server import Answer, Server

from mpu_bench.data.download.cache import DataDirectory, RemoteFile
from mpu_bench.data.download.fetch import fetch
from mpu_bench.data.download.integrity import LARGEST_EXPANSION, SMALL_CONTENT_BYTES


class TestWrongContent:
    def refused(self, name: str, served: bytes, server: Server, home: DataDirectory, **facts: object) -> str:
        file = RemoteFile(name, (server.put(name, served),), **facts)  # type: ignore[arg-type]
        text = message(file, home)
        assert server.url(name) in text
        assert left(home) == []
        return text

    def test_wrong_hash(self, server: Server, home: DataDirectory) -> None:
        text = self.refused("a9a", b"other", server, home, sha256=(sha256(DATA), "0" * 64))
        assert f"wrong hash: sha256 {sha256(b'other')} where {'0' * 64} or {sha256(DATA)} is expected" in text

    def test_wrong_content(self, server: Server, home: DataDirectory) -> None:
        text = self.refused("f.gz", gzip.compress(b"other"), server, home, content_sha256=sha256(DATA))
        assert f"of its content {sha256(b'other')}" in text

    @pytest.mark.parametrize("page", [b"<!DOCTYPE html><p>Log in", b"\xef\xbb\xbf \r\n<HTML><body>", b"<head><title>"])
    def test_a_page_instead_of_data(self, page: bytes, server: Server, home: DataDirectory) -> None:
        text = self.refused("a9a", page, server, home)
        assert "an HTML page was received instead of data" in text

    def test_an_empty_file_in_a_mirror_folder(self, tmp_path: Path) -> None:
        (tmp_path / "mirror").mkdir()
        (tmp_path / "mirror" / "a9a").touch()
        assert "the file is empty" in message(
            RemoteFile("a9a"), DataDirectory(tmp_path / "home", (str(tmp_path / "mirror"),))
        )

    def test_a_page_in_a_mirror_folder_or_put_by_hand(self, tmp_path: Path) -> None:
        (tmp_path / "mirror").mkdir()
        (tmp_path / "mirror" / "a9a").write_bytes(b"<!doctype html>")
        home = DataDirectory(tmp_path / "home", (str(tmp_path / "mirror"),))
        assert "this is an HTML page instead of data" in message(RemoteFile("a9a"), home)
        home.path(RemoteFile("a9a")).write_bytes(b"<html>")
        assert "this is an HTML page instead of data" in message(RemoteFile("a9a"), home)

    @pytest.mark.parametrize("name", ["f.gz", "f.bz2", "f.xz"])
    @pytest.mark.parametrize("kept", [0.5, 0.99])
    def test_a_truncated_archive(self, name: str, kept: float, server: Server, home: DataDirectory) -> None:
        compress = {"f.gz": gzip.compress, "f.bz2": bz2.compress, "f.xz": lzma.compress}[name]
        whole = compress(DATA)
        text = self.refused(name, whole[: int(len(whole) * kept)], server, home)
        assert "the file is cut short" in text

    @pytest.mark.parametrize("name", ["f.gz", "f.bz2", "f.xz", "f.Z"])
    def test_not_an_archive(self, name: str, server: Server, home: DataDirectory) -> None:
        assert "does not begin like one that" in self.refused(name, b"+1 3:1\n", server, home)

    @pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress])
    def test_a_damaged_archive(self, compress: Callable[[bytes], bytes], server: Server, home: DataDirectory) -> None:
        whole = bytearray(compress(DATA))
        whole[len(whole) // 2 : len(whole) // 2 + 8] = b"\0" * 8
        assert "damaged" in self.refused("f", bytes(whole), server, home)

    def test_an_empty_file(self, server: Server, home: DataDirectory) -> None:
        assert "the file is empty" in self.refused("a9a", b"", server, home)

    def test_a_file_without_hash_that_a_silent_server_cut(self, server: Server, home: DataDirectory) -> None:
        file = RemoteFile("a9a", (server.put("a9a", DATA, Answer(length=False, cut_after=1000)),), bytes=len(DATA))
        assert "the content has 1,000 bytes where 300,000 are expected" in message(file, home)
        assert fetched_bytes(file, home) == DATA

    def test_expands_beyond_its_stated_size(self, server: Server, home: DataDirectory) -> None:
        bomb = gzip.compress(bytes(3_000_000))
        text = self.refused("f.gz", bomb, server, home, content_bytes=2_000_000, sha256=(sha256(bomb),))
        assert "expands to more than the limit of 2,000,000 bytes" in text

    def test_expands_without_measure(self, server: Server, home: DataDirectory) -> None:
        bomb = bz2.compress(bytes(SMALL_CONTENT_BYTES + 1))
        assert LARGEST_EXPANSION * len(bomb) < SMALL_CONTENT_BYTES
        assert f"expands to more than the limit of {SMALL_CONTENT_BYTES:,} bytes" in self.refused(
            "f.bz2", bomb, server, home
        )

    def test_a_known_file_may_expand(self, server: Server, home: DataDirectory) -> None:
        bomb = bz2.compress(bytes(SMALL_CONTENT_BYTES + 1))
        assert fetch(known("f.bz2", server.put("f.bz2", bomb), content=bomb), home)

    def test_a_known_file_is_not_unpacked_before_it_is_read(
        self, server: Server, home: DataDirectory, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        packed = bz2.compress(DATA)
        facts = {"sha256": (sha256(packed),), "content_sha256": sha256(DATA), "content_bytes": len(DATA)}
        monkeypatch.delattr("mpu_bench.data.download.integrity.open_content")
        fetched = fetch(RemoteFile("f.bz2", (server.put("f.bz2", packed),), **facts), home)  # type: ignore[arg-type]
        assert fetched.content_sha256 == sha256(DATA)

    def test_another_size_than_stated(self, server: Server, home: DataDirectory) -> None:
        text = self.refused("f.gz", gzip.compress(DATA), server, home, content_bytes=len(DATA) + 1)
        assert "the content has 300,000 bytes where 300,001 are expected" in text
