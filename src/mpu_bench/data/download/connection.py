"""Connections that end, whatever is at the other end: every byte that arrives is counted and timed in one place."""

from __future__ import annotations

import io
import time
from http.client import HTTPResponse
from importlib.metadata import version
from socket import SocketIO, socket
from typing import Any, cast

import requests
from requests.adapters import HTTPAdapter
from rich.filesize import decimal
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

from mpu_bench.data.download.errors import SourceError, TemporarilyUnavailable, TransientError
from mpu_bench.data.download.policy import Policy


class Meter:
    """Counts and times what arrives from one address, and ends what is too slow or too much.

    Parameters
    ----------
    policy : Policy
    """

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self._end = time.monotonic() + policy.longest
        self._begin(head=True)

    def begin_head(self) -> None:
        """Await an answer."""
        self._begin(head=True)

    def begin_body(self) -> None:
        """Await the body of an answer, whose headers are there."""
        self._begin(head=False)

    def _begin(self, head: bool) -> None:
        self._head, self._began, self._bytes, self._useless_bytes = head, time.monotonic(), 0, 0

    def begin_block(self) -> None:
        """Await a block of the body."""
        self._useless_bytes = 0

    def patience(self) -> float:
        """Return how many seconds the next byte is waited for.

        Raises
        ------
        SourceError
            As `check`.
        """
        self.check()
        end = min(self._end, self._began + self.policy.answer_timeout) if self._head else self._end
        return max(min(self.policy.read_timeout, end - time.monotonic()), 0.001)

    def count(self, size: int) -> None:
        """Add bytes that have arrived.

        Raises
        ------
        SourceError
            If they are more than headers have, or what is between two chunks of a body.
        """
        self._bytes += size
        self._useless_bytes += size
        if self._useless_bytes > self.policy.most_header_bytes:
            raise SourceError(f"the server sends headers without end (more than {decimal(self._useless_bytes)})")

    def check(self) -> None:
        """End what is too slow.

        Raises
        ------
        TransientError
            If headers or body come too slowly.
        TemporarilyUnavailable
            If this address has been given all the time that one may have.
        """
        now = time.monotonic()
        if now >= self._end:
            raise TemporarilyUnavailable(f"the server is too slow: not done in {self.policy.longest:g} s")
        if self._head:
            if now - self._began >= self.policy.answer_timeout:
                raise TransientError(f"the server did not answer within {self.policy.answer_timeout:g} s")
        elif now - self._began >= self.policy.rate_window:
            rate = self._bytes / (now - self._began)
            if rate < self.policy.least_rate:
                raise TransientError(f"the server is too slow: {decimal(int(rate))}/s for {now - self._began:.0f} s")
            self.begin_body()


class _MeteredStream(io.RawIOBase):
    """The bytes of a connection, as they arrive."""

    def __init__(self, raw: SocketIO, connection: socket, meter: Meter) -> None:
        self._raw, self._connection, self._meter = raw, connection, meter

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self._connection.settimeout(self._meter.patience())
        try:
            size = self._raw.readinto(buffer)
        except TimeoutError:
            self._meter.check()  # which knows better why
            raise
        self._meter.count(size or 0)
        return size

    def close(self) -> None:
        if not self.closed:
            self._raw.close()
        super().close()


def _pools(meter: Meter) -> dict[str, type[HTTPConnectionPool]]:
    """Return pools of connections, by scheme, whose answers are metered."""

    class Answer(HTTPResponse):
        def __init__(self, sock: socket, *arguments: Any, **options: Any) -> None:
            super().__init__(sock, *arguments, **options)
            raw = cast(SocketIO, self.fp.detach())
            self.fp = io.BufferedReader(_MeteredStream(raw, sock, meter))
            meter.begin_head()

        def begin(self) -> None:
            super().begin()
            meter.begin_body()
            del self.headers["Set-Cookie"]  # no file needs them, and reading them is an art

    class Plain(HTTPConnection):
        response_class = Answer

    class Secure(HTTPSConnection):
        response_class = Answer

    class PlainPool(HTTPConnectionPool):
        ConnectionCls = Plain

    class SecurePool(HTTPSConnectionPool):
        ConnectionCls = Secure

    return {"http": PlainPool, "https": SecurePool}


class _Adapter(HTTPAdapter):
    def __init__(self, meter: Meter) -> None:
        self._pools = _pools(meter)
        super().__init__()

    def init_poolmanager(self, *arguments: Any, **options: Any) -> None:
        super().init_poolmanager(*arguments, **options)
        self.poolmanager.pool_classes_by_scheme = self._pools

    def proxy_manager_for(self, proxy: str, **options: Any) -> Any:
        manager = super().proxy_manager_for(proxy, **options)
        if not proxy.lower().startswith("socks"):  # whose connections are of a kind of their own
            manager.pool_classes_by_scheme = self._pools
        return manager


class MeteredSession(requests.Session):
    """A session whose connections are metered, and which leaves redirects to its user.

    Parameters
    ----------
    meter : Meter
    """

    def __init__(self, meter: Meter) -> None:
        super().__init__()
        self.meter = meter
        self.headers.update({"User-Agent": f"mpu-bench/{version('mpu-bench')}", "Accept-Encoding": "identity"})
        for scheme in ("http://", "https://"):
            self.mount(scheme, _Adapter(meter))

    def get_redirect_target(self, _resp: requests.Response) -> None:
        """Return None: requests would read and unpack the whole body of every redirect."""
        return
