"""Whatever a server answers becomes the right file, or one message with address and cause; and every answer ends."""

from __future__ import annotations

import bz2
import gc
import gzip
import random
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.downloads import known, served
from tests.http_server import Raw, Server

from mpu_bench.data.download.cache import DataDirectory, Policy, RemoteFile

CONTENT = random.Random(7).randbytes(20_000)
HALF = len(CONTENT) // 2
SECRETS = ("alice", "hunter2", "t0ken")
PATIENT = Policy(attempts=3, sleep=lambda _seconds: None)
#: for servers that are slow: what is not slow does not depend on it
HASTY = replace(PATIENT, attempts=1, read_timeout=0.3, rate_window=0.3)
BIG = b"9" * 5000
CUT = "the connection was cut"
NO_HTTP = "the server does not speak HTTP"
NO_ADDRESS = "cannot be used|redirects more than 10 times|HTTP 302"


def answer(*headers: bytes, status: bytes = b"200 OK", body: bytes = CONTENT) -> bytes:
    return b"\r\n".join([b"HTTP/1.1 " + status, *headers, b"", body])


def said(size: bytes) -> bytes:
    return answer(b"Content-Length: " + size)


GOOD = said(b"%d" % len(CONTENT))
TAG = b'ETag: "1"'
CHUNKED = b"Transfer-Encoding: chunked"


def chunks(*pieces: bytes) -> bytes:
    return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces)


ALL_CHUNKS = chunks(CONTENT[:7000], CONTENT[7000:])


def endless(begin: bytes, piece: bytes) -> Callable[[Server], Iterator[bytes]]:
    def pieces(_server: Server) -> Iterator[bytes]:
        yield begin
        while True:
            yield piece

    return pieces


def trickle(begin: bytes, piece: bytes) -> Callable[[Server], Iterator[bytes]]:
    def pieces(server: Server) -> Iterator[bytes]:
        for block in endless(begin, piece)(server):
            yield block
            server.closing.wait(0.02)

    return pieces


def moved(to: bytes, body: bytes = b"") -> bytes:
    return answer(b"Location: " + to, status=b"302 Found", body=body)


MOVED_CHUNKED = answer(b"Location: /there", CHUNKED, status=b"302 Found", body=b"")


def busy(until: bytes) -> bytes:
    return answer(b"Retry-After: " + until, status=b"503 Busy", body=b"")


def part(content_range: bytes, body: bytes = CONTENT[HALF:], *headers: bytes) -> bytes:
    return answer(TAG, b"Content-Range: " + content_range, *headers, status=b"206 Partial Content", body=body)


FIRST_HALF = answer(TAG, b"Content-Length: 20000", body=CONTENT[:HALF])
REST = b"bytes 10000-19999/20000"

#: what a server answers, connection by connection -> what is expected, None where the file must be right
ANSWERS: dict[str, tuple[tuple[Raw, ...], str | None]] = {
    "nothing, then the file": ((b"", GOOD), None),
    "nothing at all": ((b"",), CUT),
    "no HTTP": ((b"hello\r\n\r\n",), NO_HTTP),
    "HTTP/0.9": ((CONTENT,), NO_HTTP),
    "TLS on a plain port": ((b"\x15\x03\x01\x00\x02\x02\x46",), NO_HTTP),
    "another version": ((b"HTTP/9.9 200 OK\r\n\r\n" + CONTENT,), NO_HTTP),
    "escape sequences for a status": ((b"\x1b[2J\x1b]0;owned\x07\r\n\r\n",), NO_HTTP),
    "a status of five digits": ((answer(status=b"99999 OK"),), NO_HTTP),
    "a status that looks like digits": ((answer(status=b"2\xb200 OK"),), NO_HTTP),
    "a negative status": ((answer(status=b"-200 OK"),), NO_HTTP),
    "a status line of 100 kB": ((answer(status=b"200 " + b"x" * 100_000),), "does not speak HTTP|was cut"),
    "a status line without end": ((endless(b"HTTP/1.1 200 ", b"x" * 1000),), "does not speak HTTP|was cut"),
    "no reason": ((answer(b"Content-Length: 20000", status=b"200"),), None),
    "a reason with escape sequences": ((answer(status=b"500 \x1b[2J\xff\x00oh"),), r"HTTP 500 \\x1b\[2J"),
    "a reason of 50 kB": ((answer(status=b"404 " + b"x" * 50_000),), "no such file"),
    "status 100 before the answer": ((b"HTTP/1.1 100 Continue\r\n\r\n" * 3 + GOOD,), None),
    "status 101": ((answer(status=b"101 Switching"),), "HTTP 101"),
    "status 103": ((answer(status=b"103 Early Hints"),), "HTTP 103"),
    "status 204": ((answer(status=b"204 No Content"),), "HTTP 204"),
    "status 300": ((answer(status=b"300 Choose"),), "HTTP 300"),
    "status 304": ((answer(status=b"304 Not Modified"),), "HTTP 304"),
    "status 416 unasked": ((answer(b"Content-Range: bytes */9", status=b"416 No"),), "HTTP 416"),
    "status 451": ((answer(status=b"451 Law"),), "HTTP 451"),
    "status 999": ((answer(status=b"999 No"),), "HTTP 999"),
    "a part unasked": ((part(b"bytes 0-19999/20000", CONTENT),), "another part"),
    "a part without its place": ((answer(status=b"206 Partial"),), "another part"),
    "a part of many parts": ((answer(b"Content-Type: multipart/byteranges", status=b"206 Partial"),), "another part"),
    "a header of 1 MB": ((answer(b"X: " + b"x" * 1_000_000),), "headers without end|does not speak HTTP|was cut"),
    "100,000 headers": ((answer(*[b"X: y"] * 100_000),), CUT),
    "headers without end": ((endless(b"HTTP/1.1 200 OK\r\n", b"X: y\r\n" * 99),), "was cut|headers without end"),
    "headers that are cut": ((b"HTTP/1.1 200 OK\r\nContent-Le", GOOD), None),
    "a header without a colon": ((answer(b"nonsense", b"Content-Length: 20000"),), None),
    "control characters in headers": ((answer(b"X: \x00\x1b[2J\x7f", b"Content-Length: 20000"),), None),
    "Latin-1 in headers": ((answer(b"X-\xff: \xe9\xff", b"Content-Length: 20000"),), None),
    "cookies without end": ((answer(*[b"Set-Cookie: a=" + b"b" * 1000] * 90, b"Content-Length: 20000"),), None),
    "broken cookies": ((answer(b"Set-Cookie: a=b; expires=\xff99; Max-Age=1e999", b"Content-Length: 20000"),), None),
    "a tag in two lines": ((answer(b'ETag: "a\r\n b"', b"Content-Length: 20000", body=CONTENT[:5]), GOOD), None),
    "a tag of 50 kB": ((answer(b'ETag: "%b"' % (b"a" * 50_000), b"Content-Length: 20000", body=b"x"), GOOD), None),
    "a tag in Latin-1": ((answer(b'ETag: "\xff"', b"Content-Length: 20000", body=CONTENT[:5]), GOOD), None),
    "a date that is none": ((answer(b"Last-Modified: \xff\x00", b"Content-Length: 20000", body=b"x"), GOOD), None),
    "no size": ((answer(),), None),
    "a size that looks like digits": ((said(b"\xb2"),), None),
    "a size of 5,000 digits": ((said(BIG),), None),
    "a size of 10^30": ((said(b"1" + b"0" * 30),), "more than the file has"),
    "a size of 10^17": ((said(b"1" + b"0" * 17),), "more than the file has"),
    "a negative size": ((said(b"-20000"),), None),
    "a size with a sign": ((said(b"+20000"),), None),
    "a size with an underscore": ((said(b"20_000"),), None),
    "a size in hexadecimal": ((said(b"0x4e20"),), None),
    "an empty size": ((said(b""),), None),
    "a size of two numbers": ((said(b"20000, 20000"),), None),
    "two sizes": ((answer(b"Content-Length: 20000", b"Content-Length: 30000"),), "cannot be used"),
    "a size too small": ((said(b"19999"),), "wrong hash"),
    "a size too large": ((said(b"20001"),), CUT),
    "a size of nothing": ((said(b"0"),), "wrong hash"),
    "nothing without a size": ((answer(body=b""), GOOD), None),
    "a body without end": ((endless(answer(), CONTENT),), "more than the file has"),
    "a body without end in chunks": ((endless(answer(CHUNKED, body=b""), chunks(CONTENT)),), "more than the file has"),
    "chunks": ((answer(CHUNKED, body=ALL_CHUNKS + b"0\r\n\r\n"),), None),
    "chunks and a size": ((answer(CHUNKED, b"Content-Length: 5", body=ALL_CHUNKS + b"0\r\n\r\n"),), None),
    "chunks with extensions and trailers": (
        (answer(CHUNKED, body=ALL_CHUNKS.replace(b"\r\n", b";a=b\r\n", 1) + b"0\r\nX: y\r\n\r\n"),),
        None,
    ),
    "chunks without the last": ((answer(CHUNKED, body=ALL_CHUNKS),), CUT),
    "a chunk size that is none": ((answer(CHUNKED, body=b"zz\r\n" + CONTENT),), CUT),
    "a negative chunk size": ((answer(CHUNKED, body=b"-5\r\n" + CONTENT + b"\r\n0\r\n\r\n"),), "cut|wrong hash"),
    "a chunk size of 5,000 digits": ((answer(CHUNKED, body=BIG + b"\r\n" + CONTENT),), "cut|cannot be used"),
    "a chunk larger than what comes": ((answer(CHUNKED, body=b"ffffffff\r\n" + CONTENT),), CUT),
    "a chunk size without end": ((endless(answer(CHUNKED, body=b""), b"0" * 1000),), "was cut|not speak HTTP"),
    "packed by gzip unasked": ((answer(b"Content-Encoding: gzip", body=gzip.compress(CONTENT)),), None),
    "said to be packed and is not": ((answer(b"Content-Encoding: gzip"),), None),
    "packed by what cannot be read": ((answer(b"Content-Encoding: br"),), "uses an encoding that was not requested"),
    "packed twice": ((answer(b"Content-Encoding: gzip, gzip"),), "uses an encoding that was not requested"),
    "a bomb": ((answer(body=bz2.compress(bytes(66 << 20))),), "expands to more than"),
    "a page": ((answer(b"Content-Type: text/html", body=b"<html>Log in"),), "an HTML page"),
    "another file": ((answer(body=b"other"),), "wrong hash"),
    "come back: 20 digits": ((busy(b"9" * 20), GOOD), "asks to retry after"),
    "come back: negative": ((busy(b"-5"), GOOD), None),
    "come back: what looks like a digit": ((busy(b"\xb2"), GOOD), None),
    "come back: not a number": ((busy(b"nan"), GOOD), None),
    "come back: infinity": ((busy(b"1e400"), GOOD), None),
    "come back: nothing": ((busy(b""), GOOD), None),
    "moved": ((moved(b"/there?t0ken=1"), GOOD), None),
    "moved, with a bomb": ((moved(b"/there", gzip.compress(bytes(1 << 20))), GOOD), None),
    "moved, with a body without end": ((endless(moved(b"/there"), bytes(1 << 16)), GOOD), None),
    "moved, with chunks without end": ((endless(MOVED_CHUNKED, b"1\r\nx\r\n"), GOOD), None),
    "moved, with a trickle": ((trickle(moved(b"/there"), b"x"), GOOD), None),
    "moved in a circle": ((moved(b"/there"),), "redirects more than 10 times"),
    "moved to half an address": ((moved(b"http://[bad"),), NO_ADDRESS),
    "moved to a file": ((moved(b"file:///etc/passwd"),), NO_ADDRESS),
    "moved to ftp": ((moved(b"ftp://127.0.0.1/a9a"),), NO_ADDRESS),
    "moved to data": ((moved(b"data:text/plain,hello"),), NO_ADDRESS),
    "moved to a script": ((moved(b"javascript:alert(1)"),), NO_ADDRESS),
    "moved to no host": ((moved(b"http://"),), "redirects more than"),
    "moved to 60,000 characters": ((moved(b"/" + b"x" * 60_000),), NO_ADDRESS),
    "moved to 100,000 characters": ((moved(b"/" + b"x" * 100_000),), "not speak HTTP|was cut"),
    "moved to a port of 20 digits": ((moved(b"http://127.0.0.1:99999999999999999999/"),), NO_ADDRESS),
    "moved to a port that is none": ((moved(b"http://127.0.0.1:no/"),), NO_ADDRESS),
    "moved to control characters": ((moved(b"/\x1b[2J\x00there"), GOOD), None),
    "moved to a label of 70 characters": ((moved(b"http://" + b"a" * 70 + b".invalid/"),), "cannot be used|looked up"),
    "moved nowhere": ((answer(status=b"302 Found"),), NO_ADDRESS),
    "moved to nothing": ((moved(b""),), NO_ADDRESS),
    "moved with a password": ((moved(b"http://alice:hunter2@127.0.0.1:1/x?t0ken=1"),), "no connection to '127.0.0.1'"),
    "moved to half an address with a password": ((moved(b"http://alice:hunter2@[bad/"),), NO_ADDRESS),
    "the rest": ((FIRST_HALF, part(REST)), None),
    "the rest, cut again": ((FIRST_HALF, part(REST, CONTENT[HALF:-9], b"Content-Length: 10000"), GOOD), None),
    "another rest": ((FIRST_HALF, part(b"bytes 9999-19999/20000"), GOOD), None),
    "a rest that ends before it begins": ((FIRST_HALF, part(b"bytes 10000-9/20000"), GOOD), None),
    "a rest that looks like digits": ((FIRST_HALF, part(b"bytes 1\xb2-3/4"), GOOD), None),
    "a rest of another size": ((FIRST_HALF, part(b"bytes 10000-19999/20001"), GOOD), None),
    "a rest of 10^17": (
        (FIRST_HALF, part(b"bytes 10000-99999999999999998/99999999999999999"), GOOD),
        "more than the file has",
    ),
    "a rest longer than it says": ((FIRST_HALF, part(REST, CONTENT[HALF:] + b"more"), GOOD), None),
    "a rest of another file": ((FIRST_HALF, part(REST, bytes(HALF)), GOOD), None),
    "a rest without end": ((FIRST_HALF, endless(part(REST), CONTENT)), "more than the"),
    "no rest": ((FIRST_HALF, answer(status=b"416 No"), GOOD), None),
}
SLOW: dict[str, Raw] = {
    "silence": trickle(b"", b""),
    "a trickle of a status": trickle(b"HTTP/1.1 200 ", b"x"),
    "a trickle of headers": trickle(b"HTTP/1.1 200 OK\r\nX: ", b"x"),
    "a trickle of a redirect": trickle(b"HTTP/1.1 302 Found\r\nLocation: ", b"x"),
    "a trickle of a body": trickle(said(b"20000")[: -len(CONTENT)], b"x"),
    "a trickle of a body of no size": trickle(answer(body=b""), b"x"),
    "a trickle of chunks": trickle(answer(CHUNKED, body=b""), b"1\r\nx\r\n"),
    "silence within the body": trickle(said(b"20001"), b""),
}


@pytest.fixture(autouse=True)
def _quick_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for no disk."""
    monkeypatch.setattr("os.fsync", lambda _handle: None)


def fetched(home: Path, *answers: Raw, policy: Policy = PATIENT, file: RemoteFile | None = None) -> str | None:
    """Fetch what a server answers, and then the file from the same address of a server that is good again."""
    with Server(*answers) as server:
        url = f"http://alice:hunter2@127.0.0.1:{server.port}/a9a?t0ken=1"
        wanted = replace(file or known("a9a", content=CONTENT), urls=(url,))
        reason = served(wanted, DataDirectory(home, policy=policy), CONTENT, SECRETS)
        if reason:
            assert f"http://127.0.0.1:{server.port}/a9a: " in reason
            server.raw[:] = [GOOD]
            assert served(wanted, DataDirectory(home, policy=PATIENT), CONTENT, SECRETS) is None
    return reason


@pytest.mark.parametrize("kind", ANSWERS)
def test_an_answer_is_the_file_or_a_reason(kind: str, tmp_path: Path) -> None:
    answers, expected = ANSWERS[kind]
    reason = fetched(tmp_path, *answers)
    if expected is None:
        assert reason is None
    else:
        assert reason is not None
        assert re.search(expected, reason), reason


@pytest.mark.parametrize("kind", SLOW)
def test_a_slow_answer_ends(kind: str, tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    """And is closed when it comes, though nobody waits for it any more."""
    reason = fetched(tmp_path, SLOW[kind], policy=HASTY)
    assert reason is not None
    for thread in threading.enumerate():
        if "(ask)" in thread.name:
            thread.join(20)
    gc.collect()
    assert not [each.message for each in recwarn if each.category is ResourceWarning]
