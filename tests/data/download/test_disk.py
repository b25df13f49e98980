"""Every fault of the disk has its own message, and nothing is lost or left half-written."""

from __future__ import annotations

import errno
import io
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.downloads import DATA, fetched_bytes, hashed, known, left, message
from tests.http_server import Answer, Server

from mpu_bench.data.download.cache import DataDirectory
from mpu_bench.data.download.fetch import have


class SmallDisk(io.FileIO):
    """A file that fills its disk with 100,000 bytes."""

    def write(self, block: Any) -> int:
        room = 100_000 - self.seek(0, os.SEEK_END)
        if not room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return super().write(memoryview(block)[:room])


@pytest.mark.parametrize("is_announced", [True, False])
def test_a_full_disk(is_announced: bool, server: Server, home: DataDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    open_path = Path.open

    def open_small(path: Path, mode: str = "r", *more: Any, **options: Any) -> Any:
        return io.BufferedWriter(SmallDisk(path, "a")) if mode == "ab" else open_path(path, mode, *more, **options)

    url = server.put("a9a", DATA, *([] if is_announced else [Answer(length=False, chunked=True)]))
    file = known("a9a", url) if is_announced else hashed(url)
    part = home.partial_path(file, url)

    def usage(_folder: Path) -> SimpleNamespace:
        return SimpleNamespace(free=100_000 - (part.stat().st_size if part.exists() else 0))

    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", open_small)
        if not is_announced:
            patch.setattr(shutil, "disk_usage", usage)
        text = message(file, home)
    assert "The disk is full" in text
    assert str(home.folder) in text
    assert not home.path(file).exists()
    assert fetched_bytes(file, home) == DATA
    assert server.ranges("a9a") == [None, "bytes=100000-"]


def test_a_disk_that_fills_up_with_the_last_note(
    server: Server, home: DataDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_arguments: object, **_options: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    file = known("a9a", server.put("a9a", DATA))
    with monkeypatch.context() as patch:
        patch.setattr("mpu_bench.data.download.integrity.write_text", full)
        assert "The disk is full" in message(file, home)
    part = home.partial_path(file, server.url("a9a")).name
    assert left(home) == [part, f"{part}.tag"]
    assert fetched_bytes(file, home) == DATA
    assert server.ranges("a9a") == [None, "bytes=300000-"]


@pytest.fixture
def ordinary_user(tmp_path: Path) -> Iterator[None]:
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
def test_no_permission(depth: str, server: Server, tmp_path: Path, ordinary_user: None) -> None:
    effective = os.geteuid()
    locked = tmp_path / "locked"
    if os.getuid() == 0:
        os.seteuid(0)
    (locked / "home" / "files").mkdir(parents=True)
    for folder in (locked / "home" / "files", locked / "home", locked):
        folder.chmod(0o555)
    os.seteuid(effective)
    home = DataDirectory(locked / "home" if depth == "home" else locked / "other")
    text = message(known("a9a", server.put("a9a", DATA)), home)
    assert f"No permission for {home.folder}" in text
    assert "MPU_BENCH_DATA" in text


def test_a_file_system_without_locks(home: DataDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_lock(*_arguments: object, **_options: object) -> None:
        raise NotImplementedError

    monkeypatch.setattr("filelock.FileLock.acquire", no_lock)
    assert f"The file system of {home.folder} cannot lock files" in message(known("a9a"), home)


def test_the_home_is_a_file(server: Server, tmp_path: Path) -> None:
    (tmp_path / "home").write_bytes(b"precious")
    text = message(known("a9a", server.put("a9a", DATA)), DataDirectory(tmp_path / "home"))
    assert f"{tmp_path / 'home'} is a file where a folder is needed" in text
    assert (tmp_path / "home").read_bytes() == b"precious"
    assert "is a file where a folder is needed" in message(known("a9a"), DataDirectory(tmp_path / "home"), have)


def test_a_folder_has_the_files_name(server: Server, home: DataDirectory) -> None:
    file = known("a9a", server.put("a9a", DATA))
    home.path(file).mkdir(parents=True)
    assert f"{home.path(file)} is a folder where a file is needed" in message(file, home)
