"""What the network does to a download: cuts, waits, refusals; with certainty and at random."""

from __future__ import annotations

import email.utils
import socket
import time
from dataclasses import replace
from pathlib import Path

import pytest
from tests.downloads import DATA, failure, fetched_bytes, hashed, sha256, unhashed
from tests.http_server import Answer, Server

from mpu_bench.data.download.cache import DataDirectory, Policy, RemoteFile
from mpu_bench.data.download.fetch import fetch

SHA256 = sha256(DATA)


class Sleeper:
    """Remembers how long it should have slept."""

    def __init__(self) -> None:
        self.waits: list[float] = []

    def __call__(self, seconds: float) -> None:
        self.waits.append(seconds)


@pytest.fixture
def sleeper() -> Sleeper:
    return Sleeper()


@pytest.fixture
def home(tmp_path: Path, sleeper: Sleeper) -> DataDirectory:
    return DataDirectory(tmp_path / "home", policy=Policy(sleep=sleeper, connect_timeout=5, read_timeout=5))


class TestRetries:
    @pytest.mark.parametrize("status", [500, 502, 503, 504, 429, 408])
    def test_a_fault_that_may_pass(self, status: int, server: Server, home: DataDirectory, sleeper: Sleeper) -> None:
        url = server.put("a9a", DATA, *[Answer(status=status)] * 3)
        assert fetched_bytes(hashed(url), home) == DATA
        assert sleeper.waits == [1.0, 2.0, 4.0]

    def test_the_waits_are_bounded(self, server: Server, home: DataDirectory, sleeper: Sleeper) -> None:
        url = server.put("a9a", DATA, *[Answer(status=500)] * 7)
        fetch(hashed(url), replace(home, policy=Policy(attempts=8, sleep=sleeper)))
        assert sleeper.waits == [1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0]

    def test_it_gives_up(self, server: Server, home: DataDirectory, sleeper: Sleeper) -> None:
        url = server.put("a9a", DATA, *[Answer(status=503)] * 4)
        text = failure(hashed(url), home)
        assert f"{url}: the server cannot answer now (HTTP 503 Service Unavailable) (the last of 4 tries)" in text
        assert len(sleeper.waits) == 3

    def test_progress_earns_new_tries(self, server: Server, home: DataDirectory, sleeper: Sleeper) -> None:
        url = server.put("a9a", DATA, *[Answer(cut_after=20_000)] * 14)
        fetch(hashed(url), replace(home, policy=Policy(attempts=2, progress=10_000, sleep=sleeper)))
        assert server.count("a9a") == 15

    def test_beginning_anew_earns_none(self, server: Server, home: DataDirectory, sleeper: Sleeper) -> None:
        url = server.put("a9a", DATA, *[Answer(cut_after=20_000, ranges=False)] * 9)
        failure(hashed(url), home, Policy(attempts=3, progress=10_000, sleep=sleeper))
        assert server.count("a9a") == 3

    @pytest.mark.parametrize(
        ("status", "reason"),
        [
            (404, "there is no such file (HTTP 404 Not Found)"),
            (410, "there is no such file (HTTP 410 Gone)"),
            (403, "access is refused (HTTP 403 Forbidden); it may need a registration"),
            (418, "the server answers HTTP 418"),
        ],
    )
    def test_a_fault_that_stays(
        self, status: int, reason: str, server: Server, home: DataDirectory, sleeper: Sleeper
    ) -> None:
        url = server.put("a9a", DATA, Answer(status=status))
        assert f"{url}: {reason}" in failure(hashed(url), home)
        assert sleeper.waits == []
        assert server.count("a9a") == 1

    def test_retry_after_is_honoured(self, server: Server, home: DataDirectory, sleeper: Sleeper) -> None:
        url = server.put("a9a", DATA, Answer(status=429, headers={"Retry-After": "17"}))
        fetch(hashed(url), home)
        assert sleeper.waits == [17.0]

    def test_retry_after_may_be_a_date(self, server: Server, home: DataDirectory, sleeper: Sleeper) -> None:
        until = email.utils.formatdate(time.time() + 60, usegmt=True)
        past = email.utils.formatdate(time.time() - 60, usegmt=True)
        answers = [Answer(status=503, headers={"Retry-After": text}) for text in (until, past, "soon")]
        fetch(hashed(server.put("a9a", DATA, *answers)), home)
        assert 0 < sleeper.waits[0] <= 60
        assert sleeper.waits[1:] == [0.0, 4.0]

    def test_retry_after_has_a_bound(self, server: Server, home: DataDirectory, sleeper: Sleeper) -> None:
        busy = server.put("busy", DATA, Answer(status=429, headers={"Retry-After": "3600"}))
        assert "asks to retry after 3600 s" in failure(hashed(busy), home)
        assert sleeper.waits == []


class TestNetwork:
    def test_a_refused_connection(self, home: DataDirectory, sleeper: Sleeper) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
            text = failure(hashed(f"http://127.0.0.1:{port}/a9a"), home)
        assert "no connection to '127.0.0.1'" in text
        assert "Connection refused" in text
        assert "Check the network connection" in text
        assert len(sleeper.waits) == 3

    def test_a_name_that_is_not_known(self, home: DataDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
        def no_name(*_arguments: object, **_options: object) -> None:
            raise socket.gaierror(-2, "Name or service not known")

        monkeypatch.setattr(socket, "getaddrinfo", no_name)
        text = failure(hashed("http://data.invalid/a9a"), home)
        assert "the name 'data.invalid' could not be looked up; no network, or a misspelt address" in text

    @pytest.mark.parametrize("late", [Answer(stall=True), Answer(cut_after=1000, stay=True)])
    def test_silence(self, late: Answer, server: Server, home: DataDirectory, sleeper: Sleeper) -> None:
        url = server.put("a9a", DATA, late, late)
        impatient = Policy(attempts=2, read_timeout=0.2, sleep=sleeper)
        assert "'127.0.0.1' timed out (15 s to connect, or 0.2 s of silence)" in failure(hashed(url), home, impatient)
        assert len(sleeper.waits) == 1

    def test_less_than_announced(self, server: Server, home: DataDirectory) -> None:
        lie = Answer(lie_length=400_000, ranges=False)
        text = failure(unhashed(server.put("a9a", DATA, *[lie] * 4)), home)
        assert "the connection was cut" in text
        assert "(the last of 4 tries)" in text

    def test_an_untrusted_certificate(self, server: Server, home: DataDirectory, sleeper: Sleeper) -> None:
        text = failure(hashed(server.url("a9a").replace("http://", "https://")), home)
        assert "no secure connection to '127.0.0.1'" in text
        assert sleeper.waits == []

    @pytest.mark.parametrize("url", ["ftp://127.0.0.1/a9a", "http://", "http://[broken/a9a", "http://a b:x/"])
    def test_an_address_that_is_none(self, url: str, home: DataDirectory) -> None:
        text = failure(hashed(url), home)
        assert "cannot be used" in text or "not an address" in text

    def test_redirects_are_followed_and_end(self, server: Server, home: DataDirectory) -> None:
        server.put("a9a", DATA)
        moved = server.put("moved", b"", Answer(status=302, headers={"Location": "/a9a"}))
        around = server.put("around", b"", *[Answer(status=302, headers={"Location": "/around"})] * 50)
        assert fetch(hashed(moved), home).origin == moved
        assert "redirects more than 10 times" in failure(RemoteFile("b", (around,)), home)

    @pytest.mark.parametrize("chunked", [False, True])
    def test_a_body_of_unknown_length(self, chunked: bool, server: Server, home: DataDirectory) -> None:
        url = server.put("a9a", DATA, Answer(length=False, chunked=chunked))
        assert fetched_bytes(unhashed(url), home) == DATA

    def test_every_address_is_listed_with_its_own_reason(self, server: Server, home: DataDirectory) -> None:
        missing, page = server.url("missing"), server.put("page", b"<html>Log in")
        wrong = server.put("wrong", b"other")
        text = failure(RemoteFile("a9a", (missing, page, wrong), (SHA256,), by_hand="Ask the authors."), home)
        for reason in (f"{missing}: there is no such file", f"{page}: an HTML page", f"{wrong}: wrong hash"):
            assert reason in text
        assert "network connection" not in text
        for fix in ("--mirror", str(home.folder / "files" / "a9a"), "Ask the authors."):
            assert fix in text


class TestRedirects:
    def sent(self, server: Server, name: str) -> list[str | None]:
        return [each.headers.get("authorization") for each in server.requests if each.path == f"/{name}"]

    @pytest.mark.parametrize("absolute", [False, True])
    def test_a_password_goes_along_on_the_same_server(
        self, absolute: bool, server: Server, home: DataDirectory
    ) -> None:
        url = server.put("a9a", DATA)
        to = url if absolute else "/a9a"
        moved = server.put("moved", b"", Answer(status=302, headers={"Location": to}))
        fetch(hashed(moved.replace("http://", "http://me:secret@")), home)
        assert self.sent(server, "moved") == self.sent(server, "a9a") == ["Basic bWU6c2VjcmV0"]

    def test_a_password_does_not_go_to_another_server(self, server: Server, home: DataDirectory) -> None:
        with Server() as other:
            moved = server.put("moved", b"", Answer(status=302, headers={"Location": other.put("a9a", DATA)}))
            fetch(hashed(moved.replace("http://", "http://me:secret@")), home)
            assert self.sent(server, "moved") == ["Basic bWU6c2VjcmV0"]
            assert self.sent(other, "a9a") == [None]


class TestLimit:
    @pytest.mark.parametrize("size", [10**17, 500_000])
    def test_after_an_announced_size_that_cannot_be_the_next_address_serves(
        self, size: int, server: Server, home: DataDirectory
    ) -> None:
        liar = server.put("liar", DATA, Answer(headers={"Content-Length": str(size)}, length=False))
        file = RemoteFile("a9a", (liar, server.put("a9a", DATA)), (SHA256,), bytes=len(DATA))
        assert fetch(file, home).origin == server.url("a9a")

    @pytest.mark.parametrize(
        ("expected", "answer", "asked"),
        [(300_000, Answer(), 0), (None, Answer(), 1), (None, Answer(length=False, chunked=True), 1)],
        ids=["the card says it", "the server says it", "nobody says it"],
    )
    def test_a_file_above_the_limit_is_refused(
        self, expected: int | None, answer: Answer, asked: int, server: Server, tmp_path: Path
    ) -> None:
        url = server.put("a9a", DATA, answer)
        file = RemoteFile("a9a", (url,), bytes=expected)
        text = failure(file, DataDirectory(tmp_path, limit=200_000))
        assert "more than the limit of 200" in text
        assert server.count("a9a") == asked
        assert fetched_bytes(file, DataDirectory(tmp_path, limit=300_000)) == DATA

    def test_a_mirror_that_is_a_folder_has_none(self, tmp_path: Path) -> None:
        (tmp_path / "mirror").mkdir()
        (tmp_path / "mirror" / "a9a").write_bytes(DATA)
        home = DataDirectory(tmp_path / "home", (str(tmp_path / "mirror"),), offline=True, limit=1000)
        assert fetched_bytes(hashed("http://127.0.0.1:1/a9a"), home) == DATA
