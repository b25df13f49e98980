"""Hashes that are pinned at first use: another file from the same address is refused until the user accepts it."""

from __future__ import annotations

import json
import lzma

import pytest
from tests.downloads import DATA, left, message, put, sha256
from tests.http_server import Server

from mpu_bench.data.download.cache import DataDirectory, RemoteFile
from mpu_bench.data.download.fetch import clean, fetch


@pytest.fixture
def file(server: Server, home: DataDirectory) -> RemoteFile:
    file = RemoteFile("w8a", (server.put("w8a", DATA),))
    fetch(file, home)
    return file


@pytest.mark.parametrize("begin", [b"PK\x03\x04", b"version https://git-lfs.github.com/spec/v1\n", b"<html>"])
def test_what_holds_no_data_is_not_kept(begin: bytes, server: Server, home: DataDirectory) -> None:
    file = RemoteFile("w8a", (server.put("w8a", begin + DATA),))
    assert "was received instead of data" in message(file, home)
    put(home, file, begin + DATA)
    assert "instead of data" in message(file, home)
    assert not home.pin_path(file).exists()


def test_what_is_kept(file: RemoteFile, server: Server, home: DataDirectory) -> None:
    kept = json.loads(home.pin_path(file).read_text())
    expected = {"sha256": sha256(DATA), "content_sha256": sha256(DATA), "bytes": len(DATA)}
    expected |= {"content_bytes": len(DATA), "origin": server.url("w8a")}
    assert {key: kept[key] for key in expected} == expected
    assert set(kept) - set(expected) == {"time", "modified", "changed", "inode"}


def test_another_file_from_the_same_address_is_refused(file: RemoteFile, server: Server, home: DataDirectory) -> None:
    clean(file, home)
    server.put("w8a", b"changed at the source")
    text = message(file, home)
    pin = json.loads(home.pin_path(file).read_text())
    for part in (sha256(DATA), pin["time"], pin["origin"], f"delete {home.pin_path(file)}"):
        assert part in text
    assert left(home) == ["w8a.lock.json"]


def test_it_can_be_accepted_deliberately(file: RemoteFile, server: Server, home: DataDirectory) -> None:
    clean(file, home)
    server.put("w8a", b"changed at the source")
    home.pin_path(file).unlink()
    assert fetch(file, home).sha256 == sha256(b"changed at the source")


def test_a_file_that_changes_in_the_home_is_refused(file: RemoteFile, home: DataDirectory) -> None:
    home.path(file).write_bytes(b"edited")
    text = message(file, home)
    assert "wrong hash" in text
    assert f"delete {home.pin_path(file)}" in text
    assert home.path(file).read_bytes() == b"edited"


def test_the_same_content_compressed_anew_is_right(file: RemoteFile, server: Server, home: DataDirectory) -> None:
    clean(file, home)
    server.put("w8a", lzma.compress(DATA))
    assert fetch(file, home).content_sha256 == sha256(DATA)


WHOLE = {"sha256": "0" * 64, "content_sha256": "0" * 64, "bytes": 1, "content_bytes": 1}
WHOLE |= {"origin": "x", "time": "x", "modified": 1}


@pytest.mark.parametrize(
    "text",
    [
        *("{", "[]", "null", '{"sha256": "x"}', "\xff", "", "[" * 3000, "[" * 60_000, '"' + "x" * 100_000 + '"'),
        *(
            json.dumps(WHOLE | wrong)
            for wrong in (
                *(
                    {"sha256": 5},
                    {"sha256": "x"},
                    {"bytes": "1"},
                    {"bytes": -1},
                    {"bytes": 1.5},
                    {"content_bytes": None},
                ),
                *(
                    {"origin": ["x"]},
                    {"origin": "\ud800"},
                    {"time": 1},
                    {"modified": True},
                    {"modified": "1"},
                ),
            )
        ),
    ],
)
def test_a_damaged_pin_is_named(text: str, file: RemoteFile, home: DataDirectory) -> None:
    home.pin_path(file).write_text(text, "latin-1")
    assert f"{home.pin_path(file)}: should hold the pinned hashes" in message(file, home)
