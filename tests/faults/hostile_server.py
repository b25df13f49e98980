"""A server whose answers are put together at random: whatever it sends is the right file or a reason, and ends."""

from __future__ import annotations

import gzip
import random
import tempfile
import traceback
from collections.abc import Iterator
from pathlib import Path

from tests.downloads import known, served
from tests.http_server import Raw, Server

from mpu_bench.data.download.cache import DataDirectory, Policy

CONTENT = random.Random(7).randbytes(6000)
HALF = len(CONTENT) // 2
SECRETS = ("alice", "hunter2", "t0ken")
POLICY = Policy(
    attempts=2, sleep=lambda _seconds: None, connect_timeout=5, read_timeout=0.5, rate_window=2,
)  # fmt: skip
GOOD = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(CONTENT), CONTENT)

STATUSES = [b"200 OK"] * 12 + [b"206 Partial Content"] * 4 + [b"302 Found"] * 3 + [
    b"503 Busy", b"404 Gone", b"416 No", b"429 Later", b"304 Same", b"204 Nothing", b"100 Continue", b"103 Hints",
    b"999", b"99999 No", b"-1 No", b"2\xb20 OK", b"", b"200", b"500 \x1b[2J\xff", b"307 Moved", b"401 No", b"407 Proxy",
]  # fmt: skip
NUMBERS = [
    b"6000", b"3000", b"5999", b"6001", b"0", b"-1", b"+6000", b"6_000", b"\xb2", b"1e9", b"nan", b"", b" 6000 ",
    b"9" * 20, b"9" * 5000, b"1" + b"0" * 30, b"6000, 6000", b"6000, 7", b"00006000", b"0x10",
]  # fmt: skip
RANGES = [
    b"bytes 3000-5999/6000", b"bytes 0-5999/6000", b"bytes 3000-5999/*", b"bytes 2999-5999/6000", b"bytes 9-3/6000",
    b"bytes */6000", b"bytes 3000-5999/6001", b"items 1-2/3", b"bytes 3000-%b/%b" % (b"9" * 30, b"9" * 30), b"\xff",
]  # fmt: skip
PLACES = [
    b"/a9a", b"/a9a?t0ken=1", b"http://[bad", b"file:///etc/passwd", b"ftp://127.0.0.1/", b"http://127.0.0.1:1/a9a",
    b"http://alice:hunter2@127.0.0.1:1/a9a?t0ken=2", b"http://127.0.0.1:99999/", b"/" + b"x" * 9000, b"/\xff\xfe",
    b"http://alice:hunter2@[bad/?t0ken", b"data:,x", b"https://127.0.0.1:1/", b"/\x1b[2J\x00", b"http://127.0.0.1:x/",
    b"", b"//",
]  # fmt: skip
DATES = [
    b"1", b"-1", b"\xb2", b"9" * 25, b"Fri, 31 Dec 9999 23:59:59 GMT", b"nan", b"soon",
    b"Wed, 01 Jan 2020 00:00:00 GMT", b"0 0 0 0 0 0",
]  # fmt: skip
TAGS = [b'"1"', b'W/"1"', b"1", b'"' + b"a" * 40_000 + b'"', b'"\xff"']
NAMES: dict[bytes, list[bytes]] = {
    b"Content-Length": NUMBERS,
    b"Content-Range": RANGES,
    b"Location": PLACES,
    b"Retry-After": DATES,
    b"Last-Modified": DATES,
    b"ETag": TAGS,
    b"Transfer-Encoding": [b"chunked", b"chunked", b"Chunked", b"gzip, chunked", b"identity", b" "],
    b"Content-Encoding": [b"gzip", b"identity", b"br", b"gzip, gzip", b"\xff", b"deflate", b"x-gzip"],
    b"Content-Type": [b"text/html", b"multipart/byteranges; boundary=x", b"\xff"],
    b"Set-Cookie": [b"a=b", b"a=" + b"b" * 9000, b"\xff; expires=99", b"=; Max-Age=1e999; Domain=\x00"],
    b"Connection": [b"close", b"keep-alive", b"upgrade"],
    b"X": [b"\x00", b"\x1b]0;owned\x07", b"x" * 70_000, b"\xe9", b"a\r\n\tb"],
    b"nonsense": [b""],
}


def campaign(seed: int, requests: int) -> list[str]:
    """Fetch from random hostile servers, and then from a good one at the same address.

    Parameters
    ----------
    seed : int
        The same seed makes the same answers.
    requests : int
        How many hostile servers.

    Returns
    -------
    list of str
        What was wrong, with what repeats it; empty where every promise was kept.
    """
    faults = []
    for number in range(requests):
        try:
            _fetch(random.Random(f"{seed} {number}"))
        except Exception:
            faults.append(f"hostile server {seed} {number}: {traceback.format_exc()}")
    return faults


def _fetch(chance: random.Random) -> None:
    answers = [_answer(chance) for _ in range(chance.choice([1, 1, 2, 3]))]
    with Server(*answers, *[GOOD] * chance.choice([0, 1])) as server, tempfile.TemporaryDirectory() as folder:
        file = known("a9a", f"http://alice:hunter2@127.0.0.1:{server.port}/a9a?t0ken=1", content=CONTENT)
        home = DataDirectory(Path(folder), policy=POLICY)
        if served(file, home, CONTENT, SECRETS):
            server.raw[:] = [GOOD]
            reason = served(file, home, CONTENT, SECRETS)
            assert reason is None, reason


def _answer(chance: random.Random) -> Raw:
    version = chance.choice([b"HTTP/1.1 "] * 20 + [b"HTTP/1.0 ", b"HTTP/9.9 ", b"ICY ", b"", b"\x15\x03\x01\x00\x02"])
    headers = [_header(chance) for _ in range(chance.choice([0, 1, 1, 2, 2, 3, 5, 120]))]
    body = chance.choice([
        CONTENT, CONTENT, CONTENT, CONTENT[HALF:], CONTENT[:HALF], b"", b"<html>Log in", gzip.compress(CONTENT),
        gzip.compress(bytes(1 << 20)), b"other", CONTENT + b"more",
    ])  # fmt: skip
    if any(header.lower() == b"transfer-encoding: chunked" for header in headers) or chance.random() < 0.1:
        body = b"".join(_chunks(chance, body))
    sent = b"\r\n".join([version + chance.choice(STATUSES), *headers, b"", body])
    if chance.random() < 0.1:
        sent = b"HTTP/1.1 100 Continue\r\n\r\n" * chance.choice([1, 50]) + sent
    if chance.random() < 0.25:
        sent = _damaged(chance, sent)
    if chance.random() < 0.1:
        return _endless(sent, chance.choice([b"x", b"x" * 5000, b"X: y\r\n", b"HTTP/1.1 100 C\r\n\r\n", b"1\r\nx\r\n"]))
    return sent


def _header(chance: random.Random) -> bytes:
    name = chance.choice(list(NAMES))
    return name + (b": " if name != b"nonsense" else b"") + chance.choice(NAMES[name])


def _chunks(chance: random.Random, body: bytes) -> Iterator[bytes]:
    step = chance.choice([1000, 3000, 7000])
    for start in range(0, len(body), step):
        piece = body[start : start + step]
        rubbish = chance.choice([b"-5", b"zz", b"", b"9" * 400, b"ffffffffffff", b"0x3", b"1_0", b"\xb2"])
        yield rubbish if chance.random() < 0.05 else b"%x" % len(piece)
        yield chance.choice([b"\r\n"] * 20 + [b";a=b\r\n", b"\n", b"", b";" + b"a" * 70_000 + b"\r\n"])
        yield piece + b"\r\n"
    yield chance.choice([b"0\r\n\r\n"] * 5 + [b"0\r\nX: y\r\n\r\n", b"", b"0\r\n", b"0\r\n\xff\x00\r\n\r\n"])


def _damaged(chance: random.Random, sent: bytes) -> bytes:
    where = chance.randrange(len(sent) + 1) if chance.random() < 0.5 else chance.randrange(min(200, len(sent)) + 1)
    rubbish = chance.randbytes(chance.choice([1, 4, 60]))
    return chance.choice([sent[:where], sent[:where] + rubbish + sent[where:], sent[:where] + sent[where + 1 :]])


def _endless(begin: bytes, piece: bytes) -> Raw:
    def pieces(_server: Server) -> Iterator[bytes]:
        yield begin
        while True:
            yield piece * 20

    return pieces
