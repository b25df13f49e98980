"""Turns the faults of the network, and of what is sent over it, into reasons."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import BadStatusLine, HTTPException, InvalidURL, LineTooLong, UnknownProtocol

import requests
import urllib3

from mpu_bench.data.download.address import shown
from mpu_bench.data.download.errors import SourceError, TransientError
from mpu_bench.data.download.headers import quoted
from mpu_bench.data.download.policy import Policy

_urllib3 = urllib3.exceptions
_requests = requests.exceptions
_MALFORMED = (_requests.InvalidURL, _requests.InvalidSchema, _requests.MissingSchema)
#: Kinds of faults, what they mean for the address, and the reason to show. The order matters: urllib3 counts a refused
#: connection among the timeouts, and requests most faults among the connection errors.
_FAULTS: tuple[tuple[tuple[type[BaseException], ...], type[SourceError], str], ...] = (
    (
        (_urllib3.SSLError, _requests.SSLError),
        SourceError,
        "no secure connection to '{host}' ({cause})",
    ),
    (
        (_urllib3.NameResolutionError,),
        TransientError,
        "the name '{host}' could not be looked up; no network, or a misspelt address",
    ),
    (
        (_urllib3.ProxyError,),
        TransientError,
        "the proxy did not answer ({cause}); see HTTP_PROXY and HTTPS_PROXY",
    ),
    (
        (_urllib3.NewConnectionError,),
        TransientError,
        "no connection to '{host}' ({cause}); no network, a firewall, or no server there",
    ),
    (
        (_urllib3.TimeoutError, requests.Timeout, TimeoutError),
        TransientError,
        "'{host}' timed out ({policy.connect_timeout:g} s to connect, or {policy.read_timeout:g} s of silence)",
    ),
    (
        (ConnectionError,),
        TransientError,
        "the connection was cut ({cause})",
    ),
    (
        # their texts would show the whole address
        (UnicodeError, InvalidURL, _urllib3.LocationValueError, *_MALFORMED),
        SourceError,
        "the address cannot be used: it, or that of a proxy in HTTP_PROXY or HTTPS_PROXY, is malformed",
    ),
    (
        (BadStatusLine, UnknownProtocol, LineTooLong),
        TransientError,
        "the server does not speak HTTP ({cause})",
    ),
    (
        (HTTPException, _urllib3.ProtocolError, requests.ConnectionError),
        TransientError,
        "the connection was cut ({cause})",
    ),
    (
        (Exception,),
        SourceError,
        "the address or its answer cannot be used ({cause})",
    ),
)


@contextmanager
def network(url: str, policy: Policy) -> Iterator[None]:
    """Turn whatever the network libraries raise meanwhile into reasons; nothing else may be done meanwhile.

    Parameters
    ----------
    url : str
        What is asked.
    policy : Policy

    Raises
    ------
    SourceError
    """
    try:
        yield
    except SourceError:
        raise
    except Exception as error:  # what a server sends may break them anywhere
        raise _reason(error, url, policy) from error


def _reason(error: Exception, url: str, policy: Policy) -> SourceError:
    causes = list(_causes(error))
    kind_of_error, reason = next(
        (kind_of_error, reason)
        for kinds, kind_of_error, reason in _FAULTS
        if any(isinstance(cause, kinds) for cause in causes)
    )
    return kind_of_error(reason.format(host=host_of(url), cause=_innermost(causes), policy=policy))


def host_of(url: str) -> str:
    """Return the host of an address, fit to be shown."""
    match = re.match(r"\w+://(\[[^\]]*\]|[^:/]*)", shown(url))
    return match[1] if match else ""


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Follow an error to what raised it: requests and urllib3 keep it in an attribute, an argument or the context."""
    current: BaseException | None = error
    seen: set[int] = set()
    while current is not None and id(current) not in seen:
        yield current
        seen.add(id(current))
        inner = getattr(current, "reason", None)
        candidates = [inner, *reversed(current.args), current.__cause__, current.__context__]
        current = next((candidate for candidate in candidates if isinstance(candidate, BaseException)), None)


def _innermost(causes: list[BaseException]) -> str:
    last = causes[-1]
    text = (last.strerror if isinstance(last, OSError) else None) or str(last)
    return quoted(text) if text and "://" not in text and "url" not in text.lower() else type(last).__name__
