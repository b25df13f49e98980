"""user files: their hashes hold until size or time change, and nothing is copied or deleted."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from mpu_bench.data.download import fetch, integrity
from mpu_bench.data.download.cache import DataDirectory, RemoteFile
from mpu_bench.data.download.integrity import check_unchanged
from mpu_bench.errors import FetchError


@pytest.fixture
def file(tmp_path: Path) -> RemoteFile:
    path = tmp_path / "mine.csv"
    path.write_bytes(b"x,y\n1,a\n")
    return RemoteFile("mine.csv", path=path)


def test_it_is_read_where_it_is(file: RemoteFile, home: DataDirectory) -> None:
    assert fetch.have(file, home)
    assert not home.folder.exists()
    fetch.fetch(file, home)
    assert file.path == home.path(file)
    assert not (home.folder / "files").exists()
    assert fetch.clean(file, home) == 0
    assert file.path is not None
    assert file.path.exists()


def test_a_change_is_seen(file: RemoteFile, home: DataDirectory) -> None:
    assert file.path is not None
    before = fetch.fetch(file, home)
    state = file.path.stat()
    file.path.write_bytes(b"x,y\n1,b\n")
    os.utime(file.path, ns=(state.st_atime_ns, state.st_mtime_ns + 1))
    known = fetch.known_hashes(file, home)
    assert known
    assert known.content_sha256 != before.content_sha256
    assert fetch.verify(file, home).sha256 == known.sha256


@pytest.mark.parametrize("replaced", [False, True])
@pytest.mark.parametrize("small", [0, integrity.SMALL_BYTES])
def test_a_change_is_seen_where_size_and_time_are_kept(
    small: int, replaced: bool, file: RemoteFile, home: DataDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As of a file out of an archive, or copied with its time."""
    assert file.path is not None
    monkeypatch.setattr(integrity, "SMALL_BYTES", small)
    before, state = fetch.fetch(file, home), file.path.stat()
    target = file.path.with_name("other") if replaced else file.path
    while target.exists() and target.stat().st_ctime_ns == state.st_ctime_ns:  # the clock of files is coarse
        target.write_bytes(b"x,y\n2,a\n")
    target.write_bytes(b"x,y\n2,a\n")
    os.utime(target, ns=(state.st_atime_ns, state.st_mtime_ns))
    target.replace(file.path)
    assert (file.path.stat().st_size, file.path.stat().st_mtime_ns) == (state.st_size, state.st_mtime_ns)
    assert fetch.fetch(file, home).sha256 != before.sha256


def test_a_large_file_is_hashed_once(file: RemoteFile, home: DataDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(integrity, "SMALL_BYTES", 0)
    before = fetch.fetch(file, home)
    monkeypatch.setattr(integrity, "digest_file", None)  # which cannot be called
    assert fetch.fetch(file, home) == before


def test_its_content_counts_not_how_it_is_compressed(file: RemoteFile, home: DataDirectory) -> None:
    assert file.path is not None
    plain = fetch.known_hashes(file, home)
    assert plain
    file.path.write_bytes(gzip.compress(file.path.read_bytes()))
    packed = fetch.known_hashes(file, home)
    assert packed
    assert packed.sha256 != plain.sha256
    assert packed.content_sha256 == plain.content_sha256
    file.path.write_bytes(file.path.read_bytes()[:-5])
    with pytest.raises(FetchError, match=r"mine\.csv: .*cut short.*; write it again"):
        fetch.known_hashes(file, home)


def test_what_cannot_be_read(file: RemoteFile, home: DataDirectory, tmp_path: Path) -> None:
    assert file.path is not None
    known = fetch.fetch(file, home)
    check_unchanged(file, home, known.sha256)
    file.path.write_bytes(b"x,y\n")
    for _ in range(2):
        with pytest.raises(FetchError, match="changed while it was read"):
            check_unchanged(file, home, known.sha256)
        fetch.fetch(file, home)  # as another process may do
    file.path.unlink()
    with pytest.raises(FetchError, match=r"mine\.csv: cannot be read \(No such file or directory\); .* put it back"):
        fetch.have(file, home)
    os.mkfifo(file.path)
    with pytest.raises(
        FetchError, match=r"mine\.csv: cannot be read \(is a pipe, not a file\); a dataset reads this file where it is"
    ):
        fetch.fetch(file, home)
