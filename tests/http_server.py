"""A local web server that misbehaves on command."""

from __future__ import annotations

import contextlib
import hashlib
import re
import socket
import struct
import sys
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType


@dataclass(frozen=True)
class Answer:
    """How to answer one request; the default is to serve the file well.

    Attributes
    ----------
    status, headers, body
        Instead of the file: this.
    cut_after
        Close the connection after so many bytes of the body; with ``reset``, rudely.
    ranges, if_range
        Whether ``Range`` and ``If-Range`` are heard.
    length, chunked
        Whether Content-Length is said, or the body is sent in chunks.
    lie_length
        A Content-Length to claim.
    content_range
        A Content-Range to claim.
    validators
        Which of ETag and Last-Modified to send.
    stall
        Say nothing until the server closes.
    stay
        Do not close the connection after a cut, only say no more.
    hold
        Wait for this before answering.
    """

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | None = None
    cut_after: int | None = None
    reset: bool = False
    ranges: bool = True
    if_range: bool = True
    length: bool = True
    chunked: bool = False
    lie_length: int | None = None
    content_range: str | None = None
    validators: tuple[str, ...] = ("ETag", "Last-Modified")
    stall: bool = False
    stay: bool = False
    hold: threading.Event | None = None


@dataclass(frozen=True)
class Request:
    """What was asked: the path, the headers with names in lower case."""

    path: str
    headers: dict[str, str]


class _QuietServer(ThreadingHTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:
        """Pass over what clients that hang up cause."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


#: what is sent to one connection, whatever HTTP says of it: bytes, or a function of the server that yields them
Raw = bytes | Callable[["Server"], Iterable[bytes]]


class Server:
    """Serves ``files`` (path to content) well, once the answers that ``script`` holds for a path are used up.

    With raw answers it speaks no HTTP: each goes to one connection, the last one to all that follow.
    """

    def __init__(self, *raw: Raw) -> None:
        self.raw: list[Raw] = list(raw)
        self.files: dict[str, bytes] = {}
        self.script: dict[str, list[Answer]] = defaultdict(list)
        self.requests: list[Request] = []
        self.asked = threading.Event()
        self.closing = threading.Event()
        self._http = _QuietServer(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)

    @property
    def port(self) -> int:
        return int(self._http.server_address[1])

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def url(self, name: str) -> str:
        return f"{self.address}/{name}"

    def put(self, name: str, content: bytes, *answers: Answer) -> str:
        """Serve a file; give its address."""
        self.files[f"/{name}"] = content
        self.script[f"/{name}"] = list(answers)
        return self.url(name)

    def count(self, name: str) -> int:
        return sum(request.path == f"/{name}" for request in self.requests)

    def ranges(self, name: str) -> list[str | None]:
        """List the Range header of every request for a file."""
        return [request.headers.get("range") for request in self.requests if request.path == f"/{name}"]

    def next_raw(self) -> Raw:
        return self.raw.pop(0) if len(self.raw) > 1 else self.raw[0]

    def next_answer(self, path: str) -> Answer:
        answers = self.script[path]
        if not answers:
            return Answer()
        return answers.pop(0)

    def __enter__(self) -> Server:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.closing.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


def etag_of(content: bytes) -> str:
    return f'"{hashlib.sha256(content).hexdigest()[:12]}"'


def _handler(server: Server) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle(self) -> None:
            if server.raw:
                with contextlib.suppress(OSError):  # the client hangs up
                    self._raw()
            else:
                super().handle()

        def _raw(self) -> None:
            self.connection.settimeout(30)
            request = b""
            while b"\r\n\r\n" not in request and not request.startswith(b"\x16"):  # with which TLS begins
                if not (piece := self.connection.recv(1 << 16)):
                    return
                request += piece
            answer = server.next_raw()
            for piece in [answer] if isinstance(answer, bytes) else answer(server):
                if server.closing.is_set():
                    return
                self.connection.sendall(piece)

        def do_GET(self) -> None:
            server.requests.append(Request(self.path, {name.lower(): value for name, value in self.headers.items()}))
            server.asked.set()
            answer = server.next_answer(self.path)
            if answer.hold:
                answer.hold.wait(30)
            if answer.stall:
                server.closing.wait(30)
                self.close_connection = True
                return
            with contextlib.suppress(ConnectionError):
                self._answer(answer)

        def _answer(self, answer: Answer) -> None:
            content = server.files.get(self.path)
            if answer.body is not None or answer.status != 200:
                self._send(answer, answer.status, answer.body or b"", {})
            elif content is None:
                self._send(answer, 404, b"gone", {})
            else:
                self._file(answer, content)

        def _file(self, answer: Answer, content: bytes) -> None:
            stamps = {"ETag": etag_of(content), "Last-Modified": "Wed, 01 Jan 2020 00:00:00 GMT"}
            headers = {name: stamps[name] for name in answer.validators}
            asked = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
            unless = self.headers.get("If-Range") if answer.if_range else None
            if not asked or not answer.ranges or unless not in (None, *stamps.values()):
                self._send(answer, 200, content, headers)
                return
            start = int(asked[1])
            if start >= len(content):
                self._send(answer, 416, b"", {"Content-Range": f"bytes */{len(content)}"})
                return
            headers["Content-Range"] = answer.content_range or f"bytes {start}-{len(content) - 1}/{len(content)}"
            self._send(answer, 206, content[start:], headers)

        def _send(self, answer: Answer, status: int, body: bytes, headers: dict[str, str]) -> None:
            self.send_response(status)
            for name, value in (headers | answer.headers).items():
                self.send_header(name, value)
            if answer.chunked:
                self.send_header("Transfer-Encoding", "chunked")
                body = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in _parts(body)) + b"0\r\n\r\n"
            elif answer.length:
                self.send_header("Content-Length", str(answer.lie_length or len(body)))
            else:
                self.close_connection = True
                self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(body if answer.cut_after is None else body[: answer.cut_after])
            if answer.cut_after is not None or answer.lie_length:
                self.wfile.flush()
                self._cut(answer)

        def _cut(self, answer: Answer) -> None:
            self.close_connection = True
            if answer.stay:
                server.closing.wait(30)
            if answer.reset:
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.connection.close()

        def log_message(self, *_arguments: object) -> None:
            pass

    return Handler


def _parts(body: bytes, size: int = 1000) -> list[bytes]:
    return [body[start : start + size] for start in range(0, len(body), size)]
