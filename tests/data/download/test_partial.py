"""The first part of a file survives a cut, and is only ever continued with the rest of the same file."""

from __future__ import annotations

import contextlib
import hashlib
import os
import random
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.downloads import DATA, failure, fetched_bytes, hashed, sha256, unhashed
from tests.http_server import Answer, Server, etag_of

from mpu_bench.data.download.cache import DataDirectory, Policy, RemoteFile
from mpu_bench.data.download.fetch import fetch
from mpu_bench.data.download.progress import Lines
from mpu_bench.errors import FetchError

CUT = Answer(cut_after=100_000)


@pytest.fixture
def home(tmp_path: Path) -> DataDirectory:
    return DataDirectory(
        tmp_path / "home", policy=Policy(sleep=lambda _seconds: None, connect_timeout=5, read_timeout=5)
    )


class TestResume:
    @pytest.mark.parametrize("reset", [False, True])
    def test_continues_after_a_cut(self, reset: bool, server: Server, home: DataDirectory) -> None:
        url = server.put("a9a", DATA, Answer(cut_after=100_000, reset=reset), CUT)
        assert fetched_bytes(unhashed(url), home) == DATA
        if not reset:  # a reset may throw away what was under way
            assert server.ranges("a9a") == [None, "bytes=100000-", "bytes=200000-"]
            assert server.requests[1].headers["if-range"] == etag_of(DATA)

    def test_a_date_serves_where_there_is_no_tag(self, server: Server, home: DataDirectory) -> None:
        url = server.put("a9a", DATA, Answer(cut_after=100_000, validators=("Last-Modified",)))
        fetch(unhashed(url), home)
        assert server.requests[1].headers["if-range"] == "Wed, 01 Jan 2020 00:00:00 GMT"

    def test_a_weak_tag_does_not_serve(self, server: Server, home: DataDirectory) -> None:
        weak = Answer(cut_after=100_000, validators=("Last-Modified",), headers={"ETag": 'W/"x"'})
        fetch(unhashed(server.put("a9a", DATA, weak)), home)
        assert server.requests[1].headers["if-range"] == "Wed, 01 Jan 2020 00:00:00 GMT"

    @pytest.mark.parametrize(("make", "ranges"), [(hashed, [None, "bytes=100000-"]), (unhashed, [None, None])])
    def test_without_tag_or_date_only_a_known_hash_allows_it(
        self, make: type[RemoteFile], ranges: list[str | None], server: Server, home: DataDirectory
    ) -> None:
        url = server.put("a9a", DATA, Answer(cut_after=100_000, validators=()))
        assert fetched_bytes(make(url), home) == DATA
        assert server.ranges("a9a") == ranges

    def test_a_server_without_ranges_begins_anew(self, server: Server, home: DataDirectory) -> None:
        url = server.put("a9a", DATA, CUT, Answer(ranges=False))
        assert fetched_bytes(unhashed(url), home) == DATA
        assert server.ranges("a9a") == [None, "bytes=100000-"]

    @pytest.mark.parametrize("content_range", ["bytes 0-299999/300000", "bytes 99999-299999/300000", "bytes */9", "?"])
    def test_another_range_than_asked_for(self, content_range: str, server: Server, home: DataDirectory) -> None:
        url = server.put("a9a", DATA, CUT, Answer(content_range=content_range))
        assert fetched_bytes(unhashed(url), home) == DATA
        assert server.ranges("a9a") == [None, "bytes=100000-", None]

    def test_a_file_that_changed_meanwhile_begins_anew(self, server: Server, home: DataDirectory) -> None:
        url = server.put("a9a", b"old" * 100_000, CUT)
        failure(hashed(url), home, Policy(attempts=1))
        server.put("a9a", DATA)
        assert fetched_bytes(hashed(url), home) == DATA
        assert server.ranges("a9a") == [None, "bytes=100000-"]  # the server saw from If-Range that it must send all

    @pytest.mark.parametrize("size", [300_000, 310_000, 50_000])
    def test_a_server_deaf_to_if_range_is_seen_through(self, size: int, server: Server, home: DataDirectory) -> None:
        url = server.put("a9a", bytes(size), Answer(cut_after=40_000))
        failure(unhashed(url), home, Policy(attempts=1))
        server.put("a9a", DATA, Answer(if_range=False))
        assert fetched_bytes(unhashed(url), home) == DATA
        assert server.ranges("a9a") == [None, "bytes=40000-", None]

    def test_a_stale_part_is_given_up_after_its_hash_is_wrong(self, server: Server, home: DataDirectory) -> None:
        nameless = Answer(cut_after=100_000, validators=())
        url = server.put("a9a", bytes(300_000), nameless)
        failure(hashed(url), home, Policy(attempts=1))
        server.put("a9a", DATA, Answer(validators=()), Answer(validators=()))
        assert fetched_bytes(hashed(url), home) == DATA
        assert server.ranges("a9a") == [None, "bytes=100000-", None]
        assert not home.partials(hashed(url))

    def test_a_file_that_changes_between_two_answers(self, server: Server, home: DataDirectory) -> None:
        old = Answer(body=bytes(300_000), cut_after=100_000)
        url = server.put("a9a", DATA, old, Answer(validators=()))
        assert fetched_bytes(hashed(url), home) == DATA
        assert server.ranges("a9a") == [None, "bytes=100000-", None]

    @pytest.mark.parametrize(
        ("rest", "then"), [(DATA[100_000:150_000], "bytes=150000-"), (DATA[100_000:] + b"more", "bytes=300004-")]
    )
    def test_less_or_more_of_the_rest_than_announced(
        self, rest: bytes, then: str, server: Server, home: DataDirectory
    ) -> None:
        said = {"Content-Range": "bytes 100000-299999/300000"}
        url = server.put("a9a", DATA, CUT, Answer(status=206, body=rest, headers=said))
        assert fetched_bytes(unhashed(url), home) == DATA
        assert server.ranges("a9a")[:3] == [None, "bytes=100000-", then]

    def test_a_part_longer_than_the_file_is_given_up(self, server: Server, home: DataDirectory) -> None:
        url = server.put("a9a", bytes(400_000), Answer(cut_after=350_000, validators=()))
        failure(hashed(url), home, Policy(attempts=1))
        server.put("a9a", DATA)
        assert fetched_bytes(hashed(url), home) == DATA
        assert server.ranges("a9a") == [None, "bytes=350000-", None]

    def test_a_page_does_not_overwrite_the_part(self, server: Server, home: DataDirectory) -> None:
        page = Answer(body=b"<html>Log in to this network", headers={"Content-Type": "text/html"})
        url = server.put("a9a", DATA, CUT, page)
        assert "an HTML page was received instead of data" in failure(hashed(url), home)
        fetch(hashed(url), home)
        assert server.ranges("a9a") == [None, "bytes=100000-", "bytes=100000-"]

    def test_a_complete_part_is_not_sent_again(
        self, server: Server, home: DataDirectory, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        url = server.put("a9a", DATA)
        with monkeypatch.context() as patch:
            patch.setattr("mpu_bench.data.download.transfer.digest_file", _interrupt)
            with pytest.raises(KeyboardInterrupt):
                fetch(hashed(url), home)
            assert server.count("a9a") == 1
        assert fetched_bytes(hashed(url), home) == DATA
        assert server.ranges("a9a") == [None, "bytes=300000-"]  # which the server calls not satisfiable

    def test_each_address_has_its_own_part(self, server: Server, home: DataDirectory) -> None:
        first = server.put("first", DATA, CUT, Answer(status=404), Answer(status=404))
        second = server.put("second", DATA, Answer(cut_after=200_000), Answer(status=404))
        file = RemoteFile("a9a", (first, second), (sha256(DATA),))
        failure(file, home)
        assert fetch(file, home).origin == second
        assert server.ranges("second")[-1] == "bytes=200000-"
        assert sorted(path.name for path in home.path(file).parent.iterdir()) == ["a9a", "a9a.lock.json"]

    @settings(deadline=None, max_examples=30, suppress_health_check=[HealthCheck.too_slow])
    @given(
        cuts=st.lists(st.tuples(st.integers(0, 3000), st.booleans(), st.booleans(), st.booleans()), max_size=4),
        size=st.integers(1, 3000),
        hashed=st.booleans(),
        restarts=st.booleans(),
    )
    def test_cut_anywhere_the_file_is_the_same(
        self, cuts: list[tuple[int, bool, bool, bool]], size: int, hashed: bool, restarts: bool
    ) -> None:
        content = random.Random(size).randbytes(size)
        answers = [
            Answer(cut_after=after, ranges=ranges, chunked=chunked, validators=("ETag",) if named else ())
            for after, ranges, named, chunked in cuts
        ]
        with tempfile.TemporaryDirectory() as folder, Server() as server:
            url = server.put("f", content, *answers)
            hashes = (hashlib.sha256(content).hexdigest(),) if hashed else ()
            file, home = RemoteFile("f", (url,), hashes), DataDirectory(Path(folder))
            if restarts:  # each try is a process of its own
                for _cut in cuts:
                    with contextlib.suppress(FetchError):
                        fetch(file, replace(home, policy=Policy(attempts=1)))
            fetch(file, replace(home, policy=Policy(attempts=6, sleep=lambda _seconds: None)))
            assert home.path(file).read_bytes() == content
            assert not home.partials(file)


def _interrupt(*_arguments: object) -> None:
    raise KeyboardInterrupt


class TestInterruption:
    def test_leaves_the_part(self, server: Server, home: DataDirectory) -> None:
        url = server.put("a9a", DATA, CUT)
        with pytest.raises(KeyboardInterrupt):
            fetch(hashed(url), home, Lines(_interrupt))
        assert home.partial_path(hashed(url), url).read_bytes() == DATA[:100_000]
        assert not home.path(hashed(url)).exists()
        fetch(hashed(url), home)
        assert server.ranges("a9a") == [None, "bytes=100000-"]


class TestDisk:
    def test_a_disk_too_small_is_told_at_once(
        self, server: Server, home: DataDirectory, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("shutil.disk_usage", lambda _path: type("Usage", (), {"free": 2000})())
        text = failure(hashed(server.put("a9a", DATA)), home)
        assert "The disk is full" in text
        assert "2.0 kB free and 300.0 kB are needed" in text

    def test_reaches_the_disk_before_it_gets_its_name(
        self, server: Server, home: DataDirectory, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        file = hashed(server.put("a9a", DATA))
        part = home.partial_path(file, server.url("a9a"))
        steps: list[str] = []
        fsync, rename = os.fsync, Path.replace

        def note_fsync(handle: int) -> None:
            if part.exists() and os.path.samestat(os.fstat(handle), part.stat()):
                steps.append(f"fsync {os.fstat(handle).st_size}")
            fsync(handle)

        def note_replace(self: Path, target: Path) -> Path:
            if self == part:
                steps.append("rename")
                assert home.pin_path(file).exists()
            return rename(self, target)

        monkeypatch.setattr(os, "fsync", note_fsync)
        monkeypatch.setattr(Path, "replace", note_replace)
        fetch(file, home)
        assert steps == ["fsync 300000", "rename"]
