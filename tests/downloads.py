"""What the tests of downloads share: files with known content, and downloads that should fail."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from mpu_bench.data.download.cache import DataDirectory, Policy, RemoteFile
from mpu_bench.data.download.compression import open_content
from mpu_bench.data.download.fetch import fetch
from mpu_bench.data.download.progress import Lines
from mpu_bench.errors import FetchError

DATA = random.Random(1).randbytes(300_000)


def no_wait(_seconds: float) -> None:
    """Let no time pass between two tries."""


IMPATIENT = Policy(attempts=2, sleep=no_wait, connect_timeout=5, read_timeout=5)


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def known(name: str, *urls: str, content: bytes = DATA) -> RemoteFile:
    return RemoteFile(name, urls, (sha256(content),), bytes=len(content))


def hashed(url: str) -> RemoteFile:
    return RemoteFile("a9a", (url,), (sha256(DATA),))


def unhashed(url: str) -> RemoteFile:
    return RemoteFile("a9a", (url,))


def fetched_bytes(file: RemoteFile, home: DataDirectory) -> bytes:
    """Return what is in the data directory once a file was fetched."""
    fetch(file, home)
    return home.path(file).read_bytes()


def put(home: DataDirectory, file: RemoteFile, content: bytes) -> Path:
    home.path(file).parent.mkdir(parents=True, exist_ok=True)
    home.path(file).write_bytes(content)
    return home.path(file)


def message(file: RemoteFile, home: DataDirectory, action: Callable[..., object] = fetch) -> str:
    """Let it fail; one paragraph that names the file is wanted."""
    with pytest.raises(FetchError) as caught:
        action(file, replace(home, policy=IMPATIENT))
    text = str(caught.value)
    assert "\n" not in text
    assert file.name in text or str(home.folder) in text
    return text


def failure(file: RemoteFile, home: DataDirectory, policy: Policy | None = None) -> str:
    """Let a download fail; one paragraph is wanted, and no file."""
    with pytest.raises(FetchError) as caught:
        fetch(file, home if policy is None else replace(home, policy=policy))
    assert "\n" not in str(caught.value)
    assert not home.path(file).exists()
    return str(caught.value)


class Recorder(list[str]):
    """Keeps the lines that a progress would show."""

    def progress(self) -> Lines:
        return Lines(self.append)


def served(file: RemoteFile, home: DataDirectory, content: bytes, secrets: Sequence[str] = ()) -> str | None:
    """Fetch what a hostile server may serve, and hold the downloader to its promises.

    The file is there and right, or it is not there and one message says why: one line, without control characters
    and secrets. What stays in the data directory is bounded and holds no secret.

    Returns
    -------
    str or None
        The message, or None where the file is right.
    """
    lines = Recorder()
    reason = None
    try:
        fetch(file, home, lines.progress())
    except FetchError as error:
        reason = str(error)
        assert not home.path(file).exists()
        assert reason.isprintable()
        assert len(reason) < 5000
    else:
        with open_content(home.path(file)) as stream:
            assert stream.read() == content
        assert left(home) == sorted([file.name, home.pin_path(file).name])
    shown = "\n".join([*lines, reason or "", *(path.read_text("latin-1") for path in home.folder.rglob("*.json"))])
    assert not [secret for secret in secrets if secret in shown], shown
    assert "Traceback" not in shown
    sizes = {path.name: path.stat().st_size for path in (home.folder / "files").iterdir()}
    assert sum(sizes.values()) <= (file.max_bytes or 1 << 30) + 10_000, sizes
    assert all(size or not name.endswith(".part") for name, size in sizes.items()), sizes
    return reason


def left(home: DataDirectory) -> list[str]:
    """List all files in the home but the locks of running processes."""
    return sorted(path.name for path in (home.folder / "files").rglob("*") if path.is_file())
