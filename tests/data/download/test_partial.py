"""Every fault of a file's content and of the disk has its own message, and nothing is lost or left half-written."""

from __future__ import annotations

import bz2
import errno
import gzip
import hashlib
import lzma
import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.http_server import Server

from mpu_bench.data.download.fetch import Home, RemoteFile, fetch, have
from mpu_bench.data.download.http import Policy
from mpu_bench.data.download.integrity import RATIO_LIMIT, SMALL_CONTENT
from mpu_bench.data.download.partial import Partial
from mpu_bench.errors import FetchError

DATA = random.Random(1).randbytes(300_000)
IMPATIENT = Policy(attempts=2, sleep=lambda _seconds: None, connect_timeout=5, read_timeout=5)


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as running:
        yield running


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


def known(name: str, *urls: str, content: bytes = DATA) -> RemoteFile:
    return RemoteFile(name, urls, (sha256(content),), bytes=len(content))


def message(file: RemoteFile, home: Home, action: Callable[..., object] = fetch) -> str:
    """Let it fail; one paragraph that names the file is wanted."""
    with pytest.raises(FetchError) as caught:
        action(file, home, **({"policy": IMPATIENT} if action is fetch else {}))
    text = str(caught.value)
    assert "\n" not in text
    assert file.name in text or str(home.folder) in text
    return text


def left(home: Home) -> list[str]:
    """List all files in the home but the locks of running processes."""
    return sorted(path.name for path in (home.folder / "files").rglob("*") if path.is_file())


class TestWrongContent:
    """Whatever is served, a wrong file never gets the file's name and nothing is left of it."""

    def refused(self, name: str, served: bytes, server: Server, home: Home, **facts: object) -> str:
        file = RemoteFile(name, (server.put(name, served),), **facts)  # type: ignore[arg-type]
        text = message(file, home)
        assert server.url(name) in text
        assert left(home) == []
        return text

    def test_wrong_hash(self, server: Server, home: Home) -> None:
        text = self.refused("a9a", b"other", server, home, sha256=(sha256(DATA), "0" * 64))
        assert f"wrong hash: sha256 {sha256(b'other')} where {'0' * 64} or {sha256(DATA)} is expected" in text

    def test_wrong_content(self, server: Server, home: Home) -> None:
        text = self.refused("f.gz", gzip.compress(b"other"), server, home, content_sha256=sha256(DATA))
        assert f"of its content {sha256(b'other')}" in text

    @pytest.mark.parametrize("page", [b"<!DOCTYPE html><p>Log in", b"\xef\xbb\xbf \r\n<HTML><body>", b"<head><title>"])
    def test_a_page_instead_of_data(self, page: bytes, server: Server, home: Home) -> None:
        text = self.refused("a9a", page, server, home)
        assert "an HTML page came instead of data" in text

    def test_a_page_in_a_mirror_folder_or_put_by_hand(self, tmp_path: Path) -> None:
        (tmp_path / "mirror").mkdir()
        (tmp_path / "mirror" / "a9a").write_bytes(b"<!doctype html>")
        home = Home(tmp_path / "home", (str(tmp_path / "mirror"),))
        assert "this is an HTML page instead of data" in message(RemoteFile("a9a"), home)
        home.path(RemoteFile("a9a")).write_bytes(b"<html>")
        assert "this is an HTML page instead of data" in message(RemoteFile("a9a"), home)

    @pytest.mark.parametrize("name", ["f.gz", "f.bz2", "f.xz"])
    @pytest.mark.parametrize("kept", [0.5, 0.99])
    def test_a_truncated_archive(self, name: str, kept: float, server: Server, home: Home) -> None:
        compress = {"f.gz": gzip.compress, "f.bz2": bz2.compress, "f.xz": lzma.compress}[name]
        whole = compress(DATA)
        text = self.refused(name, whole[: int(len(whole) * kept)], server, home)
        assert "the file is cut short" in text

    @pytest.mark.parametrize("name", ["f.gz", "f.bz2", "f.xz", "f.Z"])
    def test_not_an_archive(self, name: str, server: Server, home: Home) -> None:
        assert "does not begin like one that" in self.refused(name, b"+1 3:1\n", server, home)

    @pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress])
    def test_a_damaged_archive(self, compress: Callable[[bytes], bytes], server: Server, home: Home) -> None:
        whole = bytearray(compress(DATA))
        whole[len(whole) // 2 : len(whole) // 2 + 8] = b"\0" * 8
        assert "damaged" in self.refused("f", bytes(whole), server, home)

    def test_an_empty_file(self, server: Server, home: Home) -> None:
        assert "the file is empty" in self.refused("a9a", b"", server, home)

    def test_expands_beyond_its_stated_size(self, server: Server, home: Home) -> None:
        bomb = gzip.compress(bytes(3_000_000))
        text = self.refused("f.gz", bomb, server, home, content_bytes=2_000_000, sha256=(sha256(bomb),))
        assert "expands beyond 2,000,000 bytes" in text

    def test_expands_without_measure(self, server: Server, home: Home) -> None:
        bomb = bz2.compress(bytes(SMALL_CONTENT + 1))
        assert RATIO_LIMIT * len(bomb) < SMALL_CONTENT
        assert f"expands beyond {SMALL_CONTENT:,} bytes" in self.refused("f.bz2", bomb, server, home)

    def test_a_known_file_may_expand(self, server: Server, home: Home) -> None:
        bomb = bz2.compress(bytes(SMALL_CONTENT + 1))
        assert fetch(known("f.bz2", server.put("f.bz2", bomb), content=bomb), home, policy=IMPATIENT)

    def test_another_size_than_stated(self, server: Server, home: Home) -> None:
        text = self.refused("f.gz", gzip.compress(DATA), server, home, content_bytes=len(DATA) + 1)
        assert "the content has 300,000 bytes where 300,001 are expected" in text


class TestDisk:
    def test_a_full_disk(self, server: Server, home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
        room = [100_000]
        write = Partial._append

        def append(partial: Partial, stream: object, rest: memoryview) -> int:
            if not room[0]:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            count = write(partial, stream, rest[: room[0]])  # type: ignore[arg-type]
            room[0] -= count
            return count

        file = known("a9a", server.put("a9a", DATA))
        with monkeypatch.context() as patch:
            patch.setattr(Partial, "_append", append)
            text = message(file, home)
        assert "The disk is full" in text
        assert str(home.folder) in text
        assert not home.path(file).exists()
        assert fetch(file, home, policy=IMPATIENT).path.read_bytes() == DATA
        assert server.ranges("a9a") == [None, "bytes=100000-"]

    def test_a_disk_that_fills_up_with_the_last_note(
        self, server: Server, home: Home, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def full(*_arguments: object, **_options: object) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        file = known("a9a", server.put("a9a", DATA))
        with monkeypatch.context() as patch:
            patch.setattr("json.dump", full)
            assert "The disk is full" in message(file, home)
        part = home.partial_path(file, server.url("a9a")).name
        assert left(home) == [part, f"{part}.json"]
        assert fetch(file, home, policy=IMPATIENT).path.read_bytes() == DATA
        assert server.count("a9a") == 1

    def test_a_disk_too_small_is_told_at_once(
        self, server: Server, home: Home, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("shutil.disk_usage", lambda _path: type("Usage", (), {"free": 2000})())
        text = message(known("a9a", server.put("a9a", DATA)), home)
        assert "The disk is full" in text
        assert "2.0 kB free and 300.0 kB are needed" in text

    @pytest.fixture
    def ordinary_user(self, tmp_path: Path) -> Iterator[None]:
        """Permissions bind no superuser."""
        if os.geteuid() != 0:
            yield
            return
        for folder in (tmp_path, *tmp_path.parents[:2]):
            folder.chmod(0o755)
        os.seteuid(65534)
        try:
            yield
        finally:
            os.seteuid(0)

    @pytest.mark.parametrize("depth", ["home", "parent"])
    def test_no_permission(self, depth: str, server: Server, tmp_path: Path, ordinary_user: None) -> None:
        effective = os.geteuid()
        locked = tmp_path / "locked"
        if os.getuid() == 0:
            os.seteuid(0)
        (locked / "home" / "files").mkdir(parents=True)
        for folder in (locked / "home" / "files", locked / "home", locked):
            folder.chmod(0o555)
        os.seteuid(effective)
        home = Home(locked / "home" if depth == "home" else locked / "other")
        text = message(known("a9a", server.put("a9a", DATA)), home)
        assert f"No permission for {home.folder}" in text
        assert "MPU_BENCH_DATA" in text

    def test_reaches_the_disk_before_it_gets_its_name(
        self, server: Server, home: Home, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        file = known("a9a", server.put("a9a", DATA))
        part = home.partial_path(file, server.url("a9a"))
        steps: list[str] = []
        fsync, replace = os.fsync, Path.replace

        def note_fsync(handle: int) -> None:
            if part.exists() and os.path.samestat(os.fstat(handle), part.stat()):
                steps.append(f"fsync {os.fstat(handle).st_size}")
            fsync(handle)

        def note_replace(self: Path, target: Path) -> Path:
            if self == part:
                steps.append("rename")
                assert home.locked_path(file).exists()
            return replace(self, target)

        monkeypatch.setattr(os, "fsync", note_fsync)
        monkeypatch.setattr(Path, "replace", note_replace)
        fetch(file, home, policy=IMPATIENT)
        assert steps == ["fsync 300000", "rename"]

    def test_a_file_system_without_locks(self, home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
        def no_lock(*_arguments: object, **_options: object) -> None:
            raise NotImplementedError

        monkeypatch.setattr("filelock.FileLock.acquire", no_lock)
        assert f"The file system of {home.folder} cannot lock files" in message(known("a9a"), home)

    def test_the_home_is_a_file(self, server: Server, tmp_path: Path) -> None:
        (tmp_path / "home").write_bytes(b"precious")
        text = message(known("a9a", server.put("a9a", DATA)), Home(tmp_path / "home"))
        assert f"{tmp_path / 'home'} is a file where a folder is needed" in text
        assert (tmp_path / "home").read_bytes() == b"precious"
        assert "is a file where a folder is needed" in message(known("a9a"), Home(tmp_path / "home"), have)

    def test_a_folder_has_the_files_name(self, server: Server, home: Home) -> None:
        file = known("a9a", server.put("a9a", DATA))
        home.path(file).mkdir(parents=True)
        assert f"{home.path(file)} is a folder where a file is needed" in message(file, home)
