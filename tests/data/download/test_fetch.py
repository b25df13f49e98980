"""The data home: files that are there, mirrors, hashes locked at first use, and every fault's own message."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import json
import lzma
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.http_server import Answer, Server

from mpu_bench.data.download.fetch import Fetched, Home, RemoteFile, clean, fetch, have, verify
from mpu_bench.data.download.http import Policy
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


def put(home: Home, file: RemoteFile, content: bytes) -> Path:
    home.path(file).parent.mkdir(parents=True, exist_ok=True)
    home.path(file).write_bytes(content)
    return home.path(file)


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


class TestHome:
    def test_options_go_before_the_environment(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("MPU_BENCH_DATA", str(tmp_path / "environment"))
        monkeypatch.setenv("MPU_BENCH_MIRROR", "http://environment")
        monkeypatch.setenv("MPU_BENCH_OFFLINE", "no")
        assert Home.from_options() == Home(tmp_path / "environment", ("http://environment",), False)
        chosen = Home.from_options(tmp_path / "option", "http://option", offline=True)
        assert chosen == Home(tmp_path / "option", ("http://option",), True)

    def test_the_platform_decides_last(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("MPU_BENCH_DATA", "MPU_BENCH_MIRROR", "MPU_BENCH_OFFLINE"):
            monkeypatch.delenv(name, raising=False)
        home = Home.from_options()
        assert home.folder.name == "mpu-bench"
        assert home.folder.is_absolute()
        assert (home.mirrors, home.offline) == ((), False)

    @pytest.mark.parametrize(
        ("value", "offline"), [("1", True), ("Yes", True), ("on", True), ("0", False), ("", False), ("false", False)]
    )
    def test_offline_by_environment(self, value: str, offline: bool, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("MPU_BENCH_OFFLINE", value)
        assert Home.from_options().offline is offline

    def test_an_unclear_offline_is_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("MPU_BENCH_OFFLINE", "maybe")
        with pytest.raises(FetchError, match="MPU_BENCH_OFFLINE is 'maybe'; set it to 1"):
            Home.from_options()

    def test_a_mirror_of_another_kind_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(FetchError, match=r"'ftp://old.example/data'.*http:// or https://"):
            Home.from_options(tmp_path, "ftp://old.example/data")

    @pytest.mark.parametrize(
        "name", ["", "/etc/passwd", "../a9a", "a/../../b", "a\\b", "a//b", "a9a.part", "x.lock.json"]
    )
    def test_a_name_stays_in_the_home(self, name: str) -> None:
        with pytest.raises(FetchError, match="cannot be a file of the data home"):
            RemoteFile(name)

    @pytest.mark.parametrize("digest", ["abc", "G" * 64, "A" * 64])
    def test_a_hash_is_a_hash(self, digest: str) -> None:
        with pytest.raises(FetchError, match="is not a sha256"):
            RemoteFile("a9a", content_sha256=digest)


class TestFetch:
    def test_downloads_checks_and_remembers(self, server: Server, home: Home) -> None:
        file = known("a9a", server.put("a9a", DATA))
        fetched = fetch(file, home, policy=IMPATIENT)
        assert fetched == Fetched(home.folder / "files" / "a9a", sha256(DATA), sha256(DATA), server.url("a9a"))
        assert fetched.path.read_bytes() == DATA
        assert left(home) == ["a9a", "a9a.lock.json"]

    def test_a_good_file_is_neither_fetched_nor_read_again(
        self, server: Server, home: Home, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        file = known("a9a", server.put("a9a", DATA))
        first = fetch(file, home, policy=IMPATIENT)
        monkeypatch.setattr(
            "mpu_bench.data.download.fetch.examine", lambda *_arguments: pytest.fail("the file was read again")
        )
        assert fetch(file, home) == first
        assert have(file, home)
        assert server.count("a9a") == 1

    def test_a_touched_file_is_hashed_again(self, server: Server, home: Home) -> None:
        file = known("a9a", server.put("a9a", DATA))
        first = fetch(file, home, policy=IMPATIENT)
        os.utime(first.path, ns=(1, 1))
        assert fetch(file, home) == first
        assert json.loads(home.locked_path(file).read_text())["modified"] == 1

    def test_a_subfolder_in_the_name(self, server: Server, home: Home) -> None:
        fetched = fetch(known("uci/a b", server.put("uci/a%20b", DATA)), home, policy=IMPATIENT)
        assert fetched.path == home.folder / "files" / "uci" / "a b"

    def test_the_next_address_serves_when_the_first_does_not(self, server: Server, home: Home) -> None:
        wrong, right = server.put("wrong", b"other"), server.put("right", DATA)
        fetched = fetch(known("a9a", server.url("missing"), wrong, right), home, policy=IMPATIENT)
        assert fetched.origin == right
        assert left(home) == ["a9a", "a9a.lock.json"]

    def test_recompressed_content_is_right(self, server: Server, home: Home) -> None:
        url = server.put("f.bz2", gzip.compress(DATA))
        file = RemoteFile("f.bz2", (url,), (sha256(bz2.compress(DATA)),), content_sha256=sha256(DATA))
        fetched = fetch(file, home, policy=IMPATIENT)
        assert fetched.content_sha256 == sha256(DATA)
        assert fetched.sha256 == sha256(gzip.compress(DATA)) or fetched.path.read_bytes()[:2] == b"\x1f\x8b"

    def test_a_server_that_compresses_on_the_way(self, server: Server, home: Home) -> None:
        compressed = Answer(body=gzip.compress(DATA), headers={"Content-Encoding": "gzip"})
        fetched = fetch(known("a9a", server.put("a9a", DATA, compressed)), home, policy=IMPATIENT)
        assert fetched.content_sha256 == sha256(DATA)

    def test_user_name_and_password_are_not_shown(self, server: Server, home: Home) -> None:
        url = server.put("a9a", DATA).replace("http://", "http://me:secret@")
        assert fetch(known("a9a", url), home, policy=IMPATIENT).origin == server.url("a9a")
        assert "secret" not in message(known("b", url.replace("a9a", "b")), home)

    def test_clean_deletes_and_keeps_the_locked_hash(self, server: Server, home: Home) -> None:
        file = RemoteFile("a9a", (server.put("a9a", DATA),))
        fetch(file, home, policy=IMPATIENT)
        assert clean(file, home) == len(DATA)
        assert left(home) == ["a9a.lock.json"]
        assert clean(file, home) == 0


class TestByHand:
    def test_is_checked_and_used(self, home: Home) -> None:
        file = known("phy_train.dat")
        path = put(home, file, DATA)
        assert have(file, home)
        assert fetch(file, home) == Fetched(path, sha256(DATA), sha256(DATA), "put there by hand")

    def test_a_wrong_one_is_named_and_left_alone(self, server: Server, home: Home) -> None:
        file = known("a9a", server.put("a9a", DATA))
        path = put(home, file, b"something else")
        assert not have(file, home)
        text = message(file, home)
        assert str(path) in text
        assert sha256(DATA) in text
        assert sha256(b"something else") in text
        assert "Move it away" in text
        assert path.read_bytes() == b"something else"
        assert server.count("a9a") == 0

    def test_what_to_do_is_said(self, home: Home) -> None:
        text = message(
            RemoteFile("phy_train.dat", bytes=19_000_000, by_hand="Register at the competition's page."), home
        )
        assert "19.0 MB" in text
        assert "Register at the competition's page" in text
        assert str(home.folder / "files" / "phy_train.dat") in text


class TestVerify:
    def test_finds_what_size_and_time_hide(self, server: Server, home: Home) -> None:
        file = known("a9a", server.put("a9a", DATA))
        path = fetch(file, home, policy=IMPATIENT).path
        before = path.stat()
        path.write_bytes(DATA[:-1] + b"?")
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert have(file, home)
        assert "wrong hash" in message(file, home, verify)

    def test_a_good_file(self, server: Server, home: Home) -> None:
        file = known("a9a", server.put("a9a", DATA))
        assert verify(fetch(file, home, policy=IMPATIENT) and file, home).origin == server.url("a9a")

    def test_a_missing_file(self, home: Home) -> None:
        assert str(home.folder / "files" / "a9a") in message(known("a9a"), home, verify)

    def test_a_card_that_changed_asks_for_another_file(self, server: Server, home: Home) -> None:
        fetch(RemoteFile("a9a", (server.put("a9a", DATA),)), home, policy=IMPATIENT)
        changed = known("a9a", server.url("a9a"), content=b"new")
        assert not have(changed, home)
        assert "wrong hash" in message(changed, home)


class TestLockedAtFirstUse:
    @pytest.fixture
    def file(self, server: Server, home: Home) -> RemoteFile:
        file = RemoteFile("w8a", (server.put("w8a", DATA),))
        fetch(file, home, policy=IMPATIENT)
        return file

    def test_what_is_kept(self, file: RemoteFile, server: Server, home: Home) -> None:
        kept = json.loads(home.locked_path(file).read_text())
        expected = {"sha256": sha256(DATA), "content_sha256": sha256(DATA), "bytes": len(DATA)}
        expected |= {"content_bytes": len(DATA), "origin": server.url("w8a")}
        assert {key: kept[key] for key in expected} == expected
        assert set(kept) - set(expected) == {"time", "modified"}

    def test_another_file_from_the_same_address_is_refused(self, file: RemoteFile, server: Server, home: Home) -> None:
        clean(file, home)
        server.put("w8a", b"changed at the source")
        text = message(file, home)
        locked = json.loads(home.locked_path(file).read_text())
        for part in (sha256(DATA), locked["time"], locked["origin"], f"delete {home.locked_path(file)}"):
            assert part in text
        assert left(home) == ["w8a.lock.json"]

    def test_it_can_be_accepted_deliberately(self, file: RemoteFile, server: Server, home: Home) -> None:
        clean(file, home)
        server.put("w8a", b"changed at the source")
        home.locked_path(file).unlink()
        assert fetch(file, home, policy=IMPATIENT).sha256 == sha256(b"changed at the source")

    def test_a_file_that_changes_in_the_home_is_refused(self, file: RemoteFile, home: Home) -> None:
        home.path(file).write_bytes(b"edited")
        text = message(file, home)
        assert "wrong hash" in text
        assert f"delete {home.locked_path(file)}" in text
        assert home.path(file).read_bytes() == b"edited"

    def test_the_same_content_compressed_anew_is_right(self, file: RemoteFile, server: Server, home: Home) -> None:
        clean(file, home)
        server.put("w8a", lzma.compress(DATA))
        assert fetch(file, home, policy=IMPATIENT).content_sha256 == sha256(DATA)

    @pytest.mark.parametrize("text", ["{", "[]", '{"sha256": "x"}', "\xff"])
    def test_a_damaged_lock_is_named(self, text: str, file: RemoteFile, home: Home) -> None:
        home.locked_path(file).write_text(text, "latin-1")
        assert f"{home.locked_path(file)} should hold the locked hashes" in message(file, home)


class TestMirrors:
    def test_a_folder_is_first_and_copied(self, server: Server, tmp_path: Path) -> None:
        folder = tmp_path / "mirror"
        folder.mkdir()
        (folder / "a9a").write_bytes(DATA)
        home = Home(tmp_path / "home", (str(folder),))
        fetched = fetch(known("a9a", server.put("a9a", DATA)), home, policy=IMPATIENT)
        assert fetched.origin == str(folder / "a9a")
        assert not fetched.path.samefile(folder / "a9a")
        assert server.requests == []
        assert left(home) == ["a9a", "a9a.lock.json"]

    def test_a_file_address_is_a_folder(self, tmp_path: Path) -> None:
        folder = tmp_path / "my mirror"
        folder.mkdir()
        (folder / "a9a").write_bytes(DATA)
        assert fetch(known("a9a"), Home(tmp_path / "home", (folder.as_uri(),))).path.read_bytes() == DATA

    def test_a_web_mirror_is_first(self, server: Server, tmp_path: Path) -> None:
        mirrored = server.put("mirror/a9a", DATA)
        home = Home(tmp_path, (server.url("mirror/"),))
        assert fetch(known("a9a", server.put("a9a", DATA)), home, policy=IMPATIENT).origin == mirrored
        assert server.count("a9a") == 0

    @pytest.mark.parametrize("wrong", [None, b"not the file"])
    def test_one_without_the_right_file_is_passed_over(
        self, wrong: bytes | None, server: Server, tmp_path: Path
    ) -> None:
        folder = tmp_path / "mirror"
        folder.mkdir()
        if wrong:
            (folder / "a9a").write_bytes(wrong)
        home = Home(tmp_path / "home", (str(folder),))
        assert fetch(known("a9a", server.put("a9a", DATA)), home, policy=IMPATIENT).origin == server.url("a9a")
        assert wrong is None or (folder / "a9a").read_bytes() == wrong

    def test_a_folder_in_the_files_place(self, tmp_path: Path) -> None:
        (tmp_path / "mirror" / "a9a").mkdir(parents=True)
        text = message(known("a9a"), Home(tmp_path / "home", (str(tmp_path / "mirror"),)))
        assert "it cannot be read (Is a directory)" in text

    def test_a_missing_folder_is_named(self, server: Server, tmp_path: Path) -> None:
        home = Home(tmp_path / "home", (str(tmp_path / "mirorr"),))
        text = message(known("a9a", server.put("a9a", DATA)), home)
        assert f"mirror folder {tmp_path / 'mirorr'} (--mirror or MPU_BENCH_MIRROR) does not exist" in text
        assert server.requests == []

    def test_a_file_is_no_mirror(self, tmp_path: Path) -> None:
        (tmp_path / "mirror").write_bytes(b"")
        assert "is not a folder" in message(known("a9a"), Home(tmp_path / "home", (str(tmp_path / "mirror"),)))


class TestOffline:
    def test_says_what_is_missing_and_where_it_goes(self, server: Server, tmp_path: Path) -> None:
        home = Home(tmp_path, (server.url("mirror"),), offline=True)
        text = message(known("a9a", server.put("a9a", DATA)), home)
        for part in ("a9a (300.0 kB)", "--offline", str(tmp_path / "files" / "a9a"), server.url("a9a")):
            assert part in text
        assert server.requests == []

    def test_a_folder_mirror_still_serves(self, tmp_path: Path) -> None:
        (tmp_path / "mirror").mkdir()
        (tmp_path / "mirror" / "a9a").write_bytes(DATA)
        home = Home(tmp_path / "home", (str(tmp_path / "mirror"),), offline=True)
        assert fetch(known("a9a"), home).path.read_bytes() == DATA


CHILD = """
import sys
from pathlib import Path
from mpu_bench.data.fetch import Home, RemoteFile, fetch

class Told:
    def __init__(self):
        from mpu_bench.data.progress import Silent
        self.transfer = Silent().transfer
    def note(self, line):
        print(line, flush=True)

folder, url, digest = sys.argv[1:]
print("starts", flush=True)
print(fetch(RemoteFile("a9a", (url,), (digest,) if digest else ()), Home(Path(folder)), Told()).sha256, flush=True)
"""


def child(home: Home, url: str, digest: str) -> subprocess.Popen[str]:
    arguments = [sys.executable, "-c", CHILD, str(home.folder), url, digest]
    return subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)


class TestProcesses:
    def test_two_share_one_download(self, server: Server, home: Home) -> None:
        hold = threading.Event()
        url = server.put("a9a", DATA, Answer(hold=hold))
        with child(home, url, "") as first:
            assert server.asked.wait(30)
            with child(home, url, "") as second:
                assert second.stdout is not None
                assert second.stdout.readline() == "starts\n"
                assert "another process is fetching it" in second.stdout.readline()
                hold.set()
                answers = [process.communicate(timeout=30)[0].split()[-1] for process in (first, second)]
        assert answers == [sha256(DATA)] * 2
        assert server.count("a9a") == 1

    def test_a_killed_process_leaves_its_part_and_no_lock(self, server: Server, home: Home) -> None:
        url = server.put("a9a", DATA, Answer(cut_after=120_000, stay=True))
        file = known("a9a", url)
        with child(home, url, sha256(DATA)) as process:
            part = home.partial_path(file, url)
            deadline = time.monotonic() + 30
            while not (part.exists() and part.stat().st_size == 120_000) and time.monotonic() < deadline:
                time.sleep(0.01)
            process.kill()
        assert not home.path(file).exists()
        assert fetch(file, home, policy=IMPATIENT).path.read_bytes() == DATA
        assert server.ranges("a9a") == [None, "bytes=120000-"]
        assert left(home) == ["a9a", "a9a.lock.json"]
