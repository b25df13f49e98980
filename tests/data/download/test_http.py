"""What the network does to a download: cuts, waits, refusals; with certainty and at random."""

from __future__ import annotations

import contextlib
import email.utils
import hashlib
import random
import socket
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.http_server import Answer, Server, etag_of

from mpu_bench.data.download.fetch import Home, RemoteFile, fetch
from mpu_bench.data.download.http import Policy
from mpu_bench.data.download.progress import Silent
from mpu_bench.errors import FetchError

DATA = random.Random(2).randbytes(300_000)
SHA256 = hashlib.sha256(DATA).hexdigest()
CUT = Answer(cut_after=100_000)


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
def policy(sleeper: Sleeper) -> Policy:
    return Policy(sleep=sleeper, chance=lambda: 1.0, connect_timeout=5, read_timeout=5)


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as running:
        yield running


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def known(url: str) -> RemoteFile:
    return RemoteFile("a9a", (url,), (SHA256,))


def unknown(url: str) -> RemoteFile:
    return RemoteFile("a9a", (url,))


def failure(file: RemoteFile, home: Home, policy: Policy) -> str:
    with pytest.raises(FetchError) as caught:
        fetch(file, home, policy=policy)
    assert "\n" not in str(caught.value)
    assert not home.path(file).exists()
    return str(caught.value)


class TestResume:
    @pytest.mark.parametrize("reset", [False, True])
    def test_continues_after_a_cut(self, reset: bool, server: Server, home: Home, policy: Policy) -> None:
        url = server.put("a9a", DATA, Answer(cut_after=100_000, reset=reset), CUT)
        assert fetch(unknown(url), home, policy=policy).path.read_bytes() == DATA
        if not reset:  # a reset may throw away what was under way
            assert server.ranges("a9a") == [None, "bytes=100000-", "bytes=200000-"]
            assert server.requests[1].headers["if-range"] == etag_of(DATA)

    def test_a_date_serves_where_there_is_no_tag(self, server: Server, home: Home, policy: Policy) -> None:
        url = server.put("a9a", DATA, Answer(cut_after=100_000, validators=("Last-Modified",)))
        fetch(unknown(url), home, policy=policy)
        assert server.requests[1].headers["if-range"] == "Wed, 01 Jan 2020 00:00:00 GMT"

    def test_a_weak_tag_does_not_serve(self, server: Server, home: Home, policy: Policy) -> None:
        weak = Answer(cut_after=100_000, validators=("Last-Modified",), headers={"ETag": 'W/"x"'})
        fetch(unknown(server.put("a9a", DATA, weak)), home, policy=policy)
        assert server.requests[1].headers["if-range"] == "Wed, 01 Jan 2020 00:00:00 GMT"

    @pytest.mark.parametrize(("make", "ranges"), [(known, [None, "bytes=100000-"]), (unknown, [None, None])])
    def test_without_tag_or_date_only_a_known_hash_allows_it(
        self, make: type[RemoteFile], ranges: list[str | None], server: Server, home: Home, policy: Policy
    ) -> None:
        url = server.put("a9a", DATA, Answer(cut_after=100_000, validators=()))
        assert fetch(make(url), home, policy=policy).path.read_bytes() == DATA
        assert server.ranges("a9a") == ranges

    def test_a_server_without_ranges_begins_anew(self, server: Server, home: Home, policy: Policy) -> None:
        url = server.put("a9a", DATA, CUT, Answer(ranges=False))
        assert fetch(unknown(url), home, policy=policy).path.read_bytes() == DATA
        assert server.ranges("a9a") == [None, "bytes=100000-"]

    @pytest.mark.parametrize("content_range", ["bytes 0-299999/300000", "bytes 99999-299999/300000", "bytes */9", "?"])
    def test_another_range_than_asked_for(self, content_range: str, server: Server, home: Home, policy: Policy) -> None:
        url = server.put("a9a", DATA, CUT, Answer(content_range=content_range))
        assert fetch(unknown(url), home, policy=policy).path.read_bytes() == DATA
        assert server.ranges("a9a") == [None, "bytes=100000-", None]

    def test_a_file_that_changed_meanwhile_begins_anew(self, server: Server, home: Home, policy: Policy) -> None:
        url = server.put("a9a", b"old" * 100_000, CUT)
        failure(known(url), home, Policy(attempts=1))
        server.put("a9a", DATA)
        assert fetch(known(url), home, policy=policy).path.read_bytes() == DATA
        assert server.ranges("a9a") == [None, "bytes=100000-"]  # the server saw from If-Range that it must send all

    @pytest.mark.parametrize("size", [300_000, 310_000, 50_000])
    def test_a_server_deaf_to_if_range_is_seen_through(
        self, size: int, server: Server, home: Home, policy: Policy
    ) -> None:
        url = server.put("a9a", bytes(size), Answer(cut_after=40_000))
        failure(unknown(url), home, Policy(attempts=1))
        server.put("a9a", DATA, Answer(if_range=False))
        assert fetch(unknown(url), home, policy=policy).path.read_bytes() == DATA
        assert server.ranges("a9a") == [None, "bytes=40000-", None]

    def test_a_stale_part_is_given_up_after_its_hash_is_wrong(self, server: Server, home: Home, policy: Policy) -> None:
        nameless = Answer(cut_after=100_000, validators=())
        url = server.put("a9a", bytes(300_000), nameless)
        failure(known(url), home, Policy(attempts=1))
        server.put("a9a", DATA, Answer(validators=()), Answer(validators=()))
        assert fetch(known(url), home, policy=policy).path.read_bytes() == DATA
        assert server.ranges("a9a") == [None, "bytes=100000-", None]
        assert not home.partials(known(url))

    def test_a_file_that_changes_between_two_answers(self, server: Server, home: Home, policy: Policy) -> None:
        old = Answer(body=bytes(300_000), cut_after=100_000)
        url = server.put("a9a", DATA, old, Answer(validators=()))
        assert fetch(known(url), home, policy=policy).path.read_bytes() == DATA
        assert server.ranges("a9a") == [None, "bytes=100000-", None]

    @pytest.mark.parametrize(
        ("rest", "then"), [(DATA[100_000:150_000], "bytes=150000-"), (DATA[100_000:] + b"more", None)]
    )
    def test_less_or_more_of_the_rest_than_announced(
        self, rest: bytes, then: str | None, server: Server, home: Home, policy: Policy
    ) -> None:
        said = {"Content-Range": "bytes 100000-299999/300000"}
        url = server.put("a9a", DATA, CUT, Answer(status=206, body=rest, headers=said))
        assert fetch(unknown(url), home, policy=policy).path.read_bytes() == DATA
        assert server.ranges("a9a") == [None, "bytes=100000-", then]

    def test_a_part_longer_than_the_file_is_given_up(self, server: Server, home: Home, policy: Policy) -> None:
        url = server.put("a9a", bytes(400_000), Answer(cut_after=350_000, validators=()))
        failure(known(url), home, Policy(attempts=1))
        server.put("a9a", DATA)
        assert fetch(known(url), home, policy=policy).path.read_bytes() == DATA
        assert server.ranges("a9a") == [None, "bytes=350000-", None]

    def test_a_page_does_not_overwrite_the_part(self, server: Server, home: Home, policy: Policy) -> None:
        page = Answer(body=b"<html>Log in to this network", headers={"Content-Type": "text/html"})
        url = server.put("a9a", DATA, CUT, page)
        assert "an HTML page came instead of data" in failure(known(url), home, policy)
        fetch(known(url), home, policy=policy)
        assert server.ranges("a9a") == [None, "bytes=100000-", "bytes=100000-"]

    def test_a_complete_part_needs_no_request(
        self, server: Server, home: Home, policy: Policy, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        url = server.put("a9a", DATA)
        with monkeypatch.context() as patch:
            patch.setattr("mpu_bench.data.download.fetch._checked", _interrupt)
            with pytest.raises(KeyboardInterrupt):
                fetch(known(url), home, policy=policy)
            assert server.count("a9a") == 1
        assert fetch(known(url), home, policy=policy).path.read_bytes() == DATA
        assert server.count("a9a") == 1

    def test_each_address_has_its_own_part(self, server: Server, home: Home, policy: Policy) -> None:
        first = server.put("first", DATA, CUT, Answer(status=404), Answer(status=404))
        second = server.put("second", DATA, Answer(cut_after=200_000), Answer(status=404))
        file = RemoteFile("a9a", (first, second), (SHA256,))
        failure(file, home, policy)
        assert fetch(file, home, policy=policy).origin == second
        assert server.ranges("second")[-1] == "bytes=200000-"
        assert sorted(path.name for path in home.path(file).parent.iterdir()) == ["a9a", "a9a.lock.json"]

    @pytest.mark.parametrize("note", ["", "{", '{"etag": 1, "other": 2}', "[]"])
    def test_a_part_with_a_damaged_note_is_not_used(
        self, note: str, server: Server, home: Home, policy: Policy
    ) -> None:
        url = server.put("a9a", DATA, CUT)
        failure(known(url), home, Policy(attempts=1))
        part = home.partial_path(known(url), url)
        part.with_name(part.name + ".json").write_text(note)
        assert fetch(known(url), home, policy=policy).path.read_bytes() == DATA
        assert server.ranges("a9a") == [None, None]

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
            file, home = RemoteFile("f", (url,), hashes), Home(Path(folder))
            if restarts:  # each try is a process of its own
                for _cut in cuts:
                    with contextlib.suppress(FetchError):
                        fetch(file, home, policy=Policy(attempts=1))
            fetched = fetch(file, home, policy=Policy(attempts=6, sleep=lambda _seconds: None))
            assert fetched.path.read_bytes() == content
            assert not home.partials(file)


def _interrupt(*_arguments: object) -> None:
    raise KeyboardInterrupt


class TestInterruption:
    def test_leaves_the_part(self, server: Server, home: Home, policy: Policy) -> None:
        class Interrupting(Silent):
            def note(self, line: str) -> None:
                raise KeyboardInterrupt

        url = server.put("a9a", DATA, CUT)
        with pytest.raises(KeyboardInterrupt):
            fetch(known(url), home, Interrupting(), policy)
        assert home.partial_path(known(url), url).read_bytes() == DATA[:100_000]
        assert not home.path(known(url)).exists()
        fetch(known(url), home, policy=policy)
        assert server.ranges("a9a") == [None, "bytes=100000-"]


class TestRetries:
    @pytest.mark.parametrize("status", [500, 502, 503, 504, 429, 408])
    def test_a_fault_that_may_pass(
        self, status: int, server: Server, home: Home, policy: Policy, sleeper: Sleeper
    ) -> None:
        url = server.put("a9a", DATA, *[Answer(status=status)] * 3)
        assert fetch(known(url), home, policy=policy).path.read_bytes() == DATA
        assert sleeper.waits == [1.0, 2.0, 4.0]

    def test_the_waits_are_spread_and_bounded(self, server: Server, home: Home, sleeper: Sleeper) -> None:
        url = server.put("a9a", DATA, *[Answer(status=500)] * 7)
        chances = iter([0.0, 0.5, 1.0, 0.0, 0.0, 0.0, 1.0])
        fetch(known(url), home, policy=Policy(attempts=8, sleep=sleeper, chance=lambda: next(chances)))
        assert sleeper.waits == [0.5, 1.5, 4.0, 4.0, 8.0, 15.0, 30.0]

    def test_it_gives_up(self, server: Server, home: Home, policy: Policy, sleeper: Sleeper) -> None:
        url = server.put("a9a", DATA, *[Answer(status=503)] * 4)
        text = failure(known(url), home, policy)
        assert f"{url}: the server cannot answer now (HTTP 503 Service Unavailable) (the last of 4 tries)" in text
        assert len(sleeper.waits) == 3

    def test_progress_earns_new_tries(self, server: Server, home: Home, sleeper: Sleeper) -> None:
        url = server.put("a9a", DATA, *[Answer(cut_after=20_000)] * 14)
        fetch(known(url), home, policy=Policy(attempts=2, progress=10_000, sleep=sleeper))
        assert server.count("a9a") == 15

    def test_beginning_anew_earns_none(self, server: Server, home: Home, sleeper: Sleeper) -> None:
        url = server.put("a9a", DATA, *[Answer(cut_after=20_000, ranges=False)] * 9)
        failure(known(url), home, Policy(attempts=3, progress=10_000, sleep=sleeper))
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
        self, status: int, reason: str, server: Server, home: Home, policy: Policy, sleeper: Sleeper
    ) -> None:
        url = server.put("a9a", DATA, Answer(status=status))
        assert f"{url}: {reason}" in failure(known(url), home, policy)
        assert sleeper.waits == []
        assert server.count("a9a") == 1

    def test_retry_after_is_honoured(self, server: Server, home: Home, policy: Policy, sleeper: Sleeper) -> None:
        url = server.put("a9a", DATA, Answer(status=429, headers={"Retry-After": "17"}))
        fetch(known(url), home, policy=policy)
        assert sleeper.waits == [17.0]

    def test_retry_after_may_be_a_date(self, server: Server, home: Home, policy: Policy, sleeper: Sleeper) -> None:
        until = email.utils.formatdate(time.time() + 60, usegmt=True)
        past = email.utils.formatdate(time.time() - 60, usegmt=True)
        answers = [Answer(status=503, headers={"Retry-After": text}) for text in (until, past, "soon")]
        fetch(known(server.put("a9a", DATA, *answers)), home, policy=policy)
        assert 0 < sleeper.waits[0] <= 60
        assert sleeper.waits[1:] == [0.0, 4.0]

    def test_retry_after_has_a_bound(self, server: Server, home: Home, policy: Policy, sleeper: Sleeper) -> None:
        busy = server.put("busy", DATA, Answer(status=429, headers={"Retry-After": "3600"}))
        assert "asks to come back only in 3600 s" in failure(known(busy), home, policy)
        assert sleeper.waits == []


class TestNetwork:
    def test_a_refused_connection(self, home: Home, policy: Policy, sleeper: Sleeper) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
            text = failure(known(f"http://127.0.0.1:{port}/a9a"), home, policy)
        assert "no connection to '127.0.0.1'" in text
        assert "Connection refused" in text
        assert "Check the network connection" in text
        assert len(sleeper.waits) == 3

    def test_a_name_that_is_not_known(self, home: Home, policy: Policy, monkeypatch: pytest.MonkeyPatch) -> None:
        def no_name(*_arguments: object, **_options: object) -> None:
            raise socket.gaierror(-2, "Name or service not known")

        monkeypatch.setattr(socket, "getaddrinfo", no_name)
        text = failure(known("http://data.invalid/a9a"), home, policy)
        assert "the name 'data.invalid' could not be looked up; no network, or a misspelt address" in text

    @pytest.mark.parametrize("late", [Answer(stall=True), Answer(cut_after=1000, stay=True)])
    def test_silence(self, late: Answer, server: Server, home: Home, sleeper: Sleeper) -> None:
        url = server.put("a9a", DATA, late, late)
        impatient = Policy(attempts=2, read_timeout=0.2, sleep=sleeper)
        assert "'127.0.0.1' timed out (15 s to connect, or 0.2 s of silence)" in failure(known(url), home, impatient)
        assert len(sleeper.waits) == 1

    def test_less_than_announced(self, server: Server, home: Home, policy: Policy) -> None:
        lie = Answer(lie_length=400_000, ranges=False)
        text = failure(unknown(server.put("a9a", DATA, *[lie] * 4)), home, policy)
        assert "the connection was cut" in text
        assert "(the last of 4 tries)" in text

    def test_an_untrusted_certificate(self, server: Server, home: Home, policy: Policy, sleeper: Sleeper) -> None:
        text = failure(known(server.url("a9a").replace("http://", "https://")), home, policy)
        assert "no secure connection to '127.0.0.1'" in text
        assert sleeper.waits == []

    @pytest.mark.parametrize("url", ["ftp://127.0.0.1/a9a", "http://", "http://[broken/a9a", "http://a b:x/"])
    def test_an_address_that_is_none(self, url: str, home: Home, policy: Policy) -> None:
        text = failure(known(url), home, policy)
        assert "cannot be used" in text or "not an address" in text

    def test_redirects_are_followed_and_end(self, server: Server, home: Home, policy: Policy) -> None:
        server.put("a9a", DATA)
        moved = server.put("moved", b"", Answer(status=302, headers={"Location": "/a9a"}))
        around = server.put("around", b"", *[Answer(status=302, headers={"Location": "/around"})] * 50)
        assert fetch(known(moved), home, policy=policy).origin == moved
        assert "cannot be used" in failure(RemoteFile("b", (around,)), home, policy)

    @pytest.mark.parametrize("chunked", [False, True])
    def test_a_body_of_unknown_length(self, chunked: bool, server: Server, home: Home, policy: Policy) -> None:
        url = server.put("a9a", DATA, Answer(length=False, chunked=chunked))
        assert fetch(unknown(url), home, policy=policy).path.read_bytes() == DATA

    def test_every_address_is_listed_with_its_own_reason(self, server: Server, home: Home, policy: Policy) -> None:
        missing, page = server.url("missing"), server.put("page", b"<html>Log in")
        wrong = server.put("wrong", b"other")
        text = failure(RemoteFile("a9a", (missing, page, wrong), (SHA256,), by_hand="Ask the authors."), home, policy)
        for reason in (f"{missing}: there is no such file", f"{page}: an HTML page", f"{wrong}: wrong hash"):
            assert reason in text
        assert "network connection" not in text
        for fix in ("--mirror", str(home.folder / "files" / "a9a"), "Ask the authors."):
            assert fix in text


class TestLimit:
    @pytest.mark.parametrize(
        ("expected", "answer", "asked"),
        [(300_000, Answer(), 0), (None, Answer(), 1), (None, Answer(length=False, chunked=True), 1)],
        ids=["the card says it", "the server says it", "nobody says it"],
    )
    def test_a_file_above_the_limit_is_refused(
        self, expected: int | None, answer: Answer, asked: int, server: Server, tmp_path: Path, policy: Policy
    ) -> None:
        url = server.put("a9a", DATA, answer)
        file = RemoteFile("a9a", (url,), bytes=expected)
        told = failure(file, Home(tmp_path, limit=200_000), policy)
        assert "more than the limit of 200" in told
        assert server.count("a9a") == asked
        assert fetch(file, Home(tmp_path, limit=300_000), policy=policy).path.read_bytes() == DATA

    def test_a_mirror_that_is_a_folder_has_none(self, tmp_path: Path) -> None:
        (tmp_path / "mirror").mkdir()
        (tmp_path / "mirror" / "a9a").write_bytes(DATA)
        home = Home(tmp_path / "home", (str(tmp_path / "mirror"),), offline=True, limit=1000)
        assert fetch(known("http://127.0.0.1:1/a9a"), home).path.read_bytes() == DATA
