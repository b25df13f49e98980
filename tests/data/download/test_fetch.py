"""Fetching: files that are there, mirrors, several processes, and every fault's own message."""

from __future__ import annotations

import bz2
import gzip
import json
import os
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
from tests.downloads import DATA, IMPATIENT, Recorder, fetched_bytes, known, left, message, put, sha256
from tests.http_server import Answer, Server

from mpu_bench.data.download.cache import DataDirectory, RemoteFile
from mpu_bench.data.download.fetch import clean, fetch, have, obstacle, verify
from mpu_bench.errors import FetchError


class TestFetch:
    def test_downloads_checks_and_remembers(self, server: Server, home: DataDirectory) -> None:
        file = known("a9a", server.put("a9a", DATA))
        fetched = fetch(file, home)
        assert (fetched.sha256, fetched.content_sha256, fetched.origin) == (
            sha256(DATA),
            sha256(DATA),
            server.url("a9a"),
        )
        assert home.path(file).read_bytes() == DATA
        assert left(home) == ["a9a", "a9a.lock.json"]

    def test_a_good_file_is_neither_fetched_nor_read_again(
        self, server: Server, home: DataDirectory, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        file = known("a9a", server.put("a9a", DATA))
        first = fetch(file, home)
        monkeypatch.setattr(
            "mpu_bench.data.download.integrity.digest_file", lambda *_arguments: pytest.fail("the file was read again")
        )
        assert fetch(file, home) == first
        assert have(file, home)
        assert server.count("a9a") == 1

    def test_a_touched_file_is_hashed_again(self, server: Server, home: DataDirectory) -> None:
        file = known("a9a", server.put("a9a", DATA))
        first = fetch(file, home)
        os.utime(home.path(file), ns=(1, 1))
        assert fetch(file, home).sha256 == first.sha256
        assert json.loads(home.pin_path(file).read_text())["modified"] == 1

    def test_a_subfolder_in_the_name(self, server: Server, home: DataDirectory) -> None:
        fetch(known("uci/a b", server.put("uci/a%20b", DATA)), home)
        assert (home.folder / "files" / "uci" / "a b").exists()

    def test_the_next_address_serves_when_the_first_does_not(self, server: Server, home: DataDirectory) -> None:
        wrong, right = server.put("wrong", b"other"), server.put("right", DATA)
        fetched = fetch(known("a9a", server.url("missing"), wrong, right), home)
        assert fetched.origin == right
        assert left(home) == ["a9a", "a9a.lock.json"]

    def test_recompressed_content_is_right(self, server: Server, home: DataDirectory) -> None:
        url = server.put("f.bz2", gzip.compress(DATA))
        file = RemoteFile("f.bz2", (url,), (sha256(bz2.compress(DATA)),), content_sha256=sha256(DATA))
        fetched = fetch(file, home)
        assert fetched.content_sha256 == sha256(DATA)
        assert fetched.sha256 == sha256(gzip.compress(DATA)) or home.path(file).read_bytes()[:2] == b"\x1f\x8b"

    def test_a_server_that_compresses_on_the_way(self, server: Server, home: DataDirectory) -> None:
        compressed = Answer(body=gzip.compress(DATA), headers={"Content-Encoding": "gzip"})
        fetched = fetch(known("a9a", server.put("a9a", DATA, compressed)), home)
        assert fetched.content_sha256 == sha256(DATA)

    def test_user_name_and_password_are_not_shown(self, server: Server, home: DataDirectory) -> None:
        url = server.put("a9a", DATA).replace("http://", "http://me:secret@")
        assert fetch(known("a9a", url), home).origin == server.url("a9a")
        assert "secret" not in message(known("b", url.replace("a9a", "b")), home)

    def test_clean_deletes_and_keeps_the_pinned_hash(self, server: Server, home: DataDirectory) -> None:
        file = RemoteFile("a9a", (server.put("a9a", DATA),))
        fetch(file, home)
        assert clean(file, home) == len(DATA)
        assert left(home) == ["a9a.lock.json"]
        assert clean(file, home) == 0


class TestByHand:
    def test_is_checked_and_used(self, home: DataDirectory) -> None:
        file = known("phy_train.dat")
        path = put(home, file, DATA)
        assert have(file, home)
        fetched = fetch(file, home)
        assert path.read_bytes() == DATA
        assert (fetched.sha256, fetched.origin) == (sha256(DATA), "put there by hand")

    def test_a_wrong_one_is_named_and_left_alone(self, server: Server, home: DataDirectory) -> None:
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

    def test_what_to_do_is_said(self, home: DataDirectory) -> None:
        text = message(
            RemoteFile("phy_train.dat", bytes=19_000_000, by_hand="Register at the competition's page."), home
        )
        assert "19.0 MB" in text
        assert "Register at the competition's page" in text
        assert str(home.folder / "files" / "phy_train.dat") in text


class TestVerify:
    def test_finds_what_size_and_time_hide(self, server: Server, home: DataDirectory) -> None:
        file = known("a9a", server.put("a9a", DATA))
        fetch(file, home)
        path = home.path(file)
        before = path.stat()
        path.write_bytes(DATA[:-1] + b"?")
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert have(file, home)
        assert "wrong hash" in message(file, home, verify)

    def test_a_good_file(self, server: Server, home: DataDirectory) -> None:
        file = known("a9a", server.put("a9a", DATA))
        assert verify(fetch(file, home) and file, home).origin == server.url("a9a")

    def test_nothing_is_written(self, home: DataDirectory) -> None:
        file = known("a9a")
        put(home, file, DATA)
        assert verify(file, home).sha256 == sha256(DATA)
        assert left(home) == ["a9a"]

    def test_a_missing_file(self, home: DataDirectory) -> None:
        assert str(home.folder / "files" / "a9a") in message(known("a9a"), home, verify)

    def test_a_card_that_changed_asks_for_another_file(self, server: Server, home: DataDirectory) -> None:
        fetch(RemoteFile("a9a", (server.put("a9a", DATA),)), home)
        changed = known("a9a", server.url("a9a"), content=b"new")
        assert not have(changed, home)
        assert "wrong hash" in message(changed, home)


class TestMirrors:
    def test_a_folder_is_first_and_copied(self, server: Server, tmp_path: Path) -> None:
        folder = tmp_path / "mirror"
        folder.mkdir()
        (folder / "a9a").write_bytes(DATA)
        home = DataDirectory(tmp_path / "home", (str(folder),))
        fetched = fetch(known("a9a", server.put("a9a", DATA)), home)
        assert fetched.origin == str(folder / "a9a")
        assert not (home.folder / "files" / "a9a").samefile(folder / "a9a")
        assert server.requests == []
        assert left(home) == ["a9a", "a9a.lock.json"]

    def test_a_file_address_is_a_folder(self, tmp_path: Path) -> None:
        folder = tmp_path / "my mirror"
        folder.mkdir()
        (folder / "a9a").write_bytes(DATA)
        assert fetched_bytes(known("a9a"), DataDirectory(tmp_path / "home", (folder.as_uri(),))) == DATA

    def test_a_web_mirror_is_first(self, server: Server, tmp_path: Path) -> None:
        server.put("mirror/a9a", DATA)
        home = DataDirectory(tmp_path, (server.url("mirror/"),))
        assert fetched_bytes(known("a9a", server.put("a9a", DATA)), home) == DATA
        assert [request.path for request in server.requests] == ["/mirror/a9a"]

    def test_a_key_in_the_path_of_a_mirror_is_not_shown(self, server: Server, tmp_path: Path) -> None:
        server.put("s3cret/t0ken/a9a", DATA, Answer(status=503), Answer(status=503))
        home, lines = DataDirectory(tmp_path, (server.url("s3cret/t0ken"),), policy=IMPATIENT), Recorder()
        with pytest.raises(FetchError) as caught:
            fetch(RemoteFile("a9a"), home, lines.progress())
        assert f"{server.address}/.../a9a: " in str(caught.value)
        found = fetch(RemoteFile("a9a"), home, lines.progress())
        assert found.origin == f"{server.address}/.../a9a"
        kept = home.pin_path(RemoteFile("a9a")).read_text()
        assert not any(secret in f"{caught.value}{lines}{kept}" for secret in ("s3cret", "t0ken"))
        assert server.count("a9a") == 0

    @pytest.mark.parametrize("wrong", [None, b"not the file"])
    def test_one_without_the_right_file_is_passed_over(
        self, wrong: bytes | None, server: Server, tmp_path: Path
    ) -> None:
        folder = tmp_path / "mirror"
        folder.mkdir()
        if wrong:
            (folder / "a9a").write_bytes(wrong)
        home = DataDirectory(tmp_path / "home", (str(folder),))
        assert fetch(known("a9a", server.put("a9a", DATA)), home).origin == server.url("a9a")
        assert wrong is None or (folder / "a9a").read_bytes() == wrong

    def test_a_folder_in_the_files_place(self, tmp_path: Path) -> None:
        (tmp_path / "mirror" / "a9a").mkdir(parents=True)
        text = message(known("a9a"), DataDirectory(tmp_path / "home", (str(tmp_path / "mirror"),)))
        assert "it cannot be read (is a folder, not a file)" in text

    def test_a_missing_folder_is_named(self, server: Server, tmp_path: Path) -> None:
        home = DataDirectory(tmp_path / "home", (str(tmp_path / "mirorr"),))
        text = message(known("a9a", server.put("a9a", DATA)), home)
        assert f"mirror folder {tmp_path / 'mirorr'} (--mirror or MPU_BENCH_MIRROR) does not exist" in text
        assert server.requests == []

    def test_a_file_is_no_mirror(self, tmp_path: Path) -> None:
        (tmp_path / "mirror").write_bytes(b"")
        assert "is not a folder" in message(known("a9a"), DataDirectory(tmp_path / "home", (str(tmp_path / "mirror"),)))


class TestOffline:
    def test_says_what_is_missing_and_where_it_goes(self, server: Server, tmp_path: Path) -> None:
        home = DataDirectory(tmp_path, (server.url("mirror"),), offline=True)
        text = message(known("a9a", server.put("a9a", DATA)), home)
        for part in ("a9a (300.0 kB)", "--offline", str(tmp_path / "files" / "a9a"), server.url("a9a")):
            assert part in text
        assert server.requests == []

    def test_a_folder_mirror_still_serves(self, tmp_path: Path) -> None:
        (tmp_path / "mirror").mkdir()
        (tmp_path / "mirror" / "a9a").write_bytes(DATA)
        home = DataDirectory(tmp_path / "home", (str(tmp_path / "mirror"),), offline=True)
        assert fetched_bytes(known("a9a"), home) == DATA


class TestObstacle:
    """What is reported before anything is fetched."""

    def test_says_in_few_words_why_a_file_cannot_be_had(self, home: DataDirectory) -> None:
        file = RemoteFile("a9a", ("https://nowhere.invalid/a9a",), bytes=5000)
        assert obstacle(file, home) == ""
        assert obstacle(file, replace(home, offline=True)) == "offline"
        assert obstacle(file, replace(home, limit=4000)) == "larger than 4.0 kB"
        assert obstacle(replace(file, urls=(), by_hand="Ask for it"), home) == "manual download only"

    def test_a_folder_mirror_serves_what_it_has(self, tmp_path: Path) -> None:
        (tmp_path / "mirror").mkdir()
        (tmp_path / "mirror" / "a9a").write_bytes(DATA)
        home = DataDirectory(tmp_path / "home", (str(tmp_path / "mirror"),), offline=True, limit=1)
        assert obstacle(known("a9a"), home) == ""
        assert obstacle(known("other", "https://nowhere.invalid/other"), home) == "offline"


CHILD = """
import sys
from pathlib import Path
from mpu_bench.data.download.cache import DataDirectory, RemoteFile
from mpu_bench.data.download.fetch import fetch
from mpu_bench.data.download.progress import Lines

folder, url, digest = sys.argv[1:]
lines = Lines(lambda line: print(line, flush=True))
lines.note("starts")
file = RemoteFile("a9a", (url,), (digest,) if digest else ())
print(fetch(file, DataDirectory(Path(folder)), lines).sha256, flush=True)
"""


def child(home: DataDirectory, url: str, digest: str) -> subprocess.Popen[str]:
    arguments = [sys.executable, "-c", CHILD, str(home.folder), url, digest]
    return subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)


class TestProcesses:
    def test_two_share_one_download(self, server: Server, home: DataDirectory) -> None:
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

    def test_a_killed_process_leaves_its_part_and_no_lock(self, server: Server, home: DataDirectory) -> None:
        url = server.put("a9a", DATA, Answer(cut_after=120_000, stay=True))
        file = known("a9a", url)
        with child(home, url, sha256(DATA)) as process:
            part = home.partial_path(file, url)
            deadline = time.monotonic() + 30
            while not (part.exists() and part.stat().st_size == 120_000) and time.monotonic() < deadline:
                time.sleep(0.01)
            process.kill()
        assert not home.path(file).exists()
        assert fetched_bytes(file, home) == DATA
        assert server.ranges("a9a") == [None, "bytes=120000-"]
        assert left(home) == ["a9a", "a9a.lock.json"]
