"""Folders that hold what is no file: pipes, devices, sockets, links to them, files without end, impossible names."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.downloads import DATA, known, left, message

from mpu_bench.data.download.cache import DataDirectory, RemoteFile
from mpu_bench.data.download.fetch import clean, fetch, have, verify
from mpu_bench.data.download.transfer import PartialDownload
from mpu_bench.errors import FetchError


def make_socket(path: Path) -> None:
    here = Path.cwd()
    os.chdir(path.parent)  # the name of a socket is short
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(here)


def make_large(path: Path) -> None:
    path.touch()
    os.truncate(path, 10**13)


#: what is no file -> how it is made, the reason in the message
NO_FILES: dict[str, tuple[Callable[[Path], object], str]] = {
    "pipe": (os.mkfifo, "is a pipe, not a file"),
    "socket": (make_socket, "is a socket, not a file"),
    "folder": (Path.mkdir, "is a folder"),
    "device": (lambda path: path.symlink_to("/dev/zero"), "is a device, not a file"),
    "terminal": (lambda path: path.symlink_to("/dev/tty"), "is a device, not a file"),
    "circle": (lambda path: path.symlink_to(path), "Too many levels of symbolic links"),
}
MIRRORED = NO_FILES | {
    "large": (make_large, "more than the file has"),
    "nothing": (lambda path: path.symlink_to("nowhere"), "there is no such file"),
    "status": (lambda path: path.symlink_to("/proc/self/status"), "it changed while it was read"),
    "unreadable": (lambda path: path.symlink_to("/proc/self/mem"), "cannot be read"),
}


@pytest.mark.parametrize("kind", MIRRORED)
def test_a_mirror_folder(kind: str, tmp_path: Path) -> None:
    make, reason = MIRRORED[kind]
    (tmp_path / "mirror").mkdir()
    make(tmp_path / "mirror" / "a9a")
    home = DataDirectory(tmp_path / "home", (str(tmp_path / "mirror"),))
    assert reason in message(known("a9a"), home)
    assert left(home) == []


def test_a_mirror_folder_larger_than_the_disk(tmp_path: Path) -> None:
    (tmp_path / "mirror").mkdir()
    make_large(tmp_path / "mirror" / "a9a")
    home = DataDirectory(tmp_path / "home", (str(tmp_path / "mirror"),))
    assert "The disk is full" in message(RemoteFile("a9a"), home)
    assert left(home) == []


@pytest.mark.parametrize("kind", NO_FILES)
@pytest.mark.parametrize("ending", ["", ".lock.json"])
@pytest.mark.parametrize("action", [fetch, have, verify])
def test_a_data_home(kind: str, ending: str, action: Callable[..., object], tmp_path: Path) -> None:
    make, reason = NO_FILES[kind]
    (tmp_path / "files").mkdir()
    path = tmp_path / "files" / f"a9a{ending}"
    make(path)
    text = message(known("a9a"), DataDirectory(tmp_path), action)
    assert reason in text
    assert str(path) in text


@pytest.mark.parametrize("kind", NO_FILES)
def test_cleaning_waits_for_nothing(kind: str, tmp_path: Path) -> None:
    make, _told = NO_FILES[kind]
    (tmp_path / "files").mkdir()
    make(tmp_path / "files" / "a9a")
    if kind == "folder":
        with pytest.raises(FetchError, match="is a folder where a file is needed"):
            clean(known("a9a"), DataDirectory(tmp_path))
    else:
        clean(known("a9a"), DataDirectory(tmp_path))
        assert left(DataDirectory(tmp_path)) == []


NO_NAMES = ["x" * 300, "x/" * 2500, "a\0b", "half \ud800 pair", "~no such user/x", "\n", "file:///" + "x" * 300]


@pytest.mark.parametrize("name", NO_NAMES)
def test_a_mirror_that_no_folder_can_be(name: str, tmp_path: Path) -> None:
    with pytest.raises(FetchError) as caught:
        fetch(known("a9a"), DataDirectory.from_options(tmp_path, name))
    text = str(caught.value)
    assert text.isprintable()
    assert "MPU_BENCH_MIRROR" in text
    assert len(text) < 1000


@pytest.mark.parametrize(
    "name",
    ["http://[bad", "http://" + "x" * 5000, "https://a b:c/", "file://[x", "ftp://x", "HTTP://\ud800/\0"],
)
def test_an_address_that_is_none(name: str, tmp_path: Path) -> None:
    with pytest.raises(FetchError) as caught:
        fetch(known("a9a"), DataDirectory.from_options(tmp_path, name))
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 1500


@pytest.mark.parametrize("name", NO_NAMES[:-2])
def test_a_data_home_that_no_folder_can_be(name: str, tmp_path: Path) -> None:
    with pytest.raises(FetchError) as caught:
        fetch(known("a9a"), DataDirectory.from_options(Path(name) if name[0] == "~" else tmp_path / name, "/"))
    assert str(caught.value).isprintable()
    assert "MPU_BENCH_DATA" in str(caught.value)


@pytest.mark.parametrize("name", ["x" * 300, "x/" * 2500 + "x"])
def test_a_file_with_too_long_a_name(name: str, tmp_path: Path) -> None:
    (tmp_path / "mirror").mkdir()
    (tmp_path / "home" / "files").mkdir(parents=True)
    file = RemoteFile(name, ("http://127.0.0.1:1/a9a",))
    for action in (fetch, have, verify):
        with pytest.raises(FetchError, match="too long"):
            action(file, DataDirectory(tmp_path / "home", (str(tmp_path / "mirror"),)))


@pytest.mark.parametrize("name", ["a\0b", "a\x1b[2J", "\ud800", "a\u202eb"])
def test_a_file_with_control_characters_in_its_name(name: str) -> None:
    with pytest.raises(FetchError, match="control characters"):
        RemoteFile(name)


def test_a_file_that_grows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mirror").mkdir()
    source = tmp_path / "mirror" / "a9a"
    source.write_bytes(DATA)

    restart = PartialDownload.restart

    def grow(partial: PartialDownload, total: int) -> None:
        restart(partial, total)
        source.write_bytes(DATA * 2)

    home = DataDirectory(tmp_path / "home", (str(tmp_path / "mirror"),))
    monkeypatch.setattr(PartialDownload, "restart", grow)
    assert "it changed while it was read" in message(RemoteFile("a9a"), home)
    assert left(home) == []
