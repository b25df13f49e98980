"""Downloads one file from one web address: resumes after a cut, tries again after an error that may pass."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import astuple
from http.client import BadStatusLine, HTTPException, InvalidURL, LineTooLong, UnknownProtocol
from importlib.metadata import version
from itertools import chain

import requests
from requests import exceptions as of_requests
from rich.filesize import decimal
from urllib3 import Retry
from urllib3 import exceptions as of_urllib3

from mpu_bench.data.download.address import shown
from mpu_bench.data.download.compression import other_file
from mpu_bench.data.download.errors import SourceError, TransientError
from mpu_bench.data.download.partial import PartialDownload, Validators
from mpu_bench.data.download.progress import Progress
from mpu_bench.texts import one_line

_BLOCK_BYTES = 1 << 16
_MOST_REDIRECTS = 10
_LONGEST_RETRY_AFTER = 120.0  #: seconds that a server may ask for; if it wants more, the next address is tried
_MOST_SHOWN_BYTES = 100
_LONGEST_VALIDATOR = 200  # characters
_PARTIAL_CONTENT = 206
_RANGE_NOT_SATISFIABLE = 416
_TRANSIENT_STATUSES = (408, 425, 429, 500, 502, 503, 504, 507, 509)
_REFUSALS = {
    (404, 410): "there is no such file ({})",
    (401, 403, 407): "access is refused ({}); it may need a registration",
}
_RANGE = re.compile(r"bytes ([0-9]{1,18})-([0-9]{1,18})/([0-9]{1,18}|\*)", re.IGNORECASE)
_DECODED_LATER = ("gzip", "x-gzip", "bzip2", "x-bzip2", "xz", "compress", "x-compress")  # the content tells which
#: Kinds of errors, what they mean for the address, and the reason to show. The order matters: urllib3 counts a refused
#: connection among the timeouts, and requests most errors among the connection errors.
_REASONS: tuple[tuple[tuple[type[BaseException], ...], type[SourceError], str], ...] = (
    ((of_urllib3.SSLError, of_requests.SSLError), SourceError, "no secure connection to '{host}' ({cause})"),
    (
        (of_urllib3.NameResolutionError,),
        TransientError,
        "the name '{host}' could not be looked up; no network, or a misspelt address",
    ),
    ((of_urllib3.ProxyError,), TransientError, "the proxy did not answer ({cause}); see HTTP_PROXY and HTTPS_PROXY"),
    (
        (of_urllib3.NewConnectionError,),
        TransientError,
        "no connection to '{host}' ({cause}); no network, a firewall, or no server there",
    ),
    (
        (of_urllib3.TimeoutError, requests.Timeout, TimeoutError),
        TransientError,
        "'{host}' timed out ({policy.connect_timeout:g} s to connect, or {policy.read_timeout:g} s of silence)",
    ),
    ((ConnectionError,), TransientError, "the connection was cut ({cause})"),
    ((requests.TooManyRedirects,), SourceError, f"the server redirects more than {_MOST_REDIRECTS} times"),
    (
        # their texts would show the whole address
        (
            UnicodeError,
            InvalidURL,
            of_urllib3.LocationValueError,
            of_requests.InvalidURL,
            of_requests.InvalidSchema,
            of_requests.MissingSchema,
        ),
        SourceError,
        "the address cannot be used: it, one that it leads to, or a proxy in HTTP_PROXY or HTTPS_PROXY is malformed",
    ),
    ((BadStatusLine, UnknownProtocol, LineTooLong), TransientError, "the server does not speak HTTP ({cause})"),
    (
        (HTTPException, of_urllib3.ProtocolError, requests.ConnectionError),
        TransientError,
        "the connection was cut ({cause})",
    ),
    ((Exception,), SourceError, "the address or its answer cannot be used ({cause})"),
)


def download(partial: PartialDownload, progress: Progress) -> None:
    """Complete a partial file from its address, as patiently as its data directory says.

    Parameters
    ----------
    partial : PartialDownload
        What has arrived so far; grows.
    progress : Progress

    Raises
    ------
    SourceError
        If the address does not serve it (`TransientError` if it may do so later). What has arrived is kept.
    FetchError
        If the disk cannot be written.
    """
    furthest, tries, policy, label = partial.size, 0, partial.home.policy, partial.file.name
    partial.check_size(max(partial.file.bytes or 0, partial.size))  # before it is requested
    with requests.Session() as session:
        session.max_redirects = _MOST_REDIRECTS
        session.headers.update({"User-Agent": f"mpu-bench/{version('mpu-bench')}", "Accept-Encoding": "identity"})
        while not partial.complete:
            try:
                _transfer(session, partial, progress)
                return
            except TransientError as error:
                if partial.size >= furthest + policy.progress:
                    furthest, tries = partial.size, 0
                tries += 1
                if tries >= policy.attempts:
                    raise TransientError(f"{error} (the last of {tries} tries)") from error
                wait = min(2.0 ** (tries - 1), policy.longest_wait) if error.retry_after is None else error.retry_after
                if wait > max(policy.longest_wait, _LONGEST_RETRY_AFTER):
                    raise TransientError(f"{error}, and asks to retry after {wait:.0f} s") from error
                progress.note(f"{label}: {error}; trying again in {wait:.0f} s")
                policy.sleep(wait)


def _transfer(session: requests.Session, partial: PartialDownload, progress: Progress) -> None:
    """Ask once, for the rest if a part is there, and write down what comes."""
    with _network(partial):
        timeout = (partial.home.policy.connect_timeout, partial.home.policy.read_timeout)
        response = session.get(str(partial.address), headers=_range_headers(partial), stream=True, timeout=timeout)
    with closing(response):
        _check_status(response, partial)
        blocks = _blocks(response, partial)
        head = next(blocks, b"")  # before anything is overwritten
        sent = _validators(response.headers)
        if not head and sent.total is None:
            raise TransientError("the connection ended before the first byte of the file")
        if other := other_file(head):
            raise SourceError(f"{other.name} was received instead of data; {other.fix}")
        _position(response, sent, partial)
        with progress.transfer(f"fetch {partial.file.name}", partial.validators.total, partial.size) as advance:
            for block in chain([head], blocks):
                partial.write(block)
                advance(len(block))
    _check_length(partial)


@contextmanager
def _network(partial: PartialDownload) -> Iterator[None]:
    """Turn whatever the network libraries raise meanwhile into reasons; nothing else may be done meanwhile."""
    try:
        yield
    except Exception as error:  # what a server sends may break them anywhere
        causes = list(_causes(error))
        kind, reason = next(
            (kind, reason) for kinds, kind, reason in _REASONS if any(isinstance(cause, kinds) for cause in causes)
        )
        request = getattr(error, "request", None)  # after a redirect it is of another host
        host = _host_of(getattr(request, "url", None) or str(partial.address))
        raise kind(reason.format(host=host, cause=_innermost(causes), policy=partial.home.policy)) from error


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Follow an error to what raised it: requests and urllib3 keep it in an attribute, an argument or the context."""
    current: BaseException | None = error
    while current is not None:
        yield current
        candidates = [getattr(current, "reason", None), *reversed(current.args), current.__cause__, current.__context__]
        current = next((candidate for candidate in candidates if isinstance(candidate, BaseException)), None)


def _innermost(causes: list[BaseException]) -> str:
    last = causes[-1]
    text = (last.strerror if isinstance(last, OSError) else None) or str(last)
    return _quoted(text) if text and "://" not in text and "url" not in text.lower() else type(last).__name__


def _host_of(url: str) -> str:
    """Return the host of an address, fit to be shown."""
    match = re.match(r"\w+://(\[[^\]]*\]|[^:/]*)", shown(url))
    return match[1] if match else ""


def _quoted(text: str) -> str:
    """Return a text of a server, fit to be shown within a message."""
    return one_line(text, _MOST_SHOWN_BYTES)


def _range_headers(partial: PartialDownload) -> dict[str, str]:
    """Ask for the rest only, and only if it is still of the same file."""
    if not partial.size or not partial.continuable:
        return {}
    if_range = partial.validators.if_range
    return {"Range": f"bytes={partial.size}-"} | ({"If-Range": if_range} if if_range else {})


def _check_status(response: requests.Response, partial: PartialDownload) -> None:
    status = response.status_code
    if status in (200, _PARTIAL_CONTENT):
        return
    answer = f"HTTP {status} {_quoted(response.reason or '')}".rstrip()
    if status == _RANGE_NOT_SATISFIABLE and partial.size:
        partial.discard()
        raise TransientError(f"the partial download is not from this file ({answer})")
    if status in _TRANSIENT_STATUSES:
        raise TransientError(f"the server cannot answer now ({answer})", _retry_after(response))
    words = next((words for statuses, words in _REFUSALS.items() if status in statuses), "the server answers {}")
    raise SourceError(words.format(answer))


def _retry_after(response: requests.Response) -> float | None:
    """Return how many seconds the server wants to be left alone, given in seconds or as a date."""
    try:
        return Retry().get_retry_after(response.raw)
    except (of_urllib3.InvalidHeader, ValueError, OverflowError):
        return None


def _validators(headers: Mapping[str, str]) -> Validators:
    """Return what is said of the file.

    Raises
    ------
    SourceError
        If the body is packed so that its content could not be read.
    """
    coding = headers.get("Content-Encoding", "").strip().lower()
    if coding not in ("", "identity", *_DECODED_LATER):
        raise SourceError(f"the server uses an encoding that was not requested (Content-Encoding: {_quoted(coding)})")
    said, chunked = headers.get("Content-Length", ""), "Transfer-Encoding" in headers
    total = int(said) if re.fullmatch("[0-9]{1,18}", said) and not chunked else None
    return Validators(_sendable(headers.get("ETag")), _sendable(headers.get("Last-Modified")), total)


def _sendable(text: str | None) -> str | None:
    """Return a text that can stand in a header of a later request, or None."""
    return text if text and text.isascii() and text.isprintable() and len(text) <= _LONGEST_VALIDATOR else None


def _position(response: requests.Response, sent: Validators, partial: PartialDownload) -> None:
    """Continue after what is here if that is what the server sends; else begin anew."""
    match = _RANGE.fullmatch(response.headers.get("Content-Range", ""))
    first, end = (int(match[1]), int(match[2]) + 1) if match else (-1, -1)
    total = int(match[3]) if match and match[3] != "*" else None
    if response.status_code != _PARTIAL_CONTENT:
        if match and (first, end) != (0, total):
            partial.discard()
            raise TransientError("the server sent a part of the file instead of the whole")
        partial.check_size(sent.total or 0)
        partial.restart(sent)
        return
    is_bounded = total or partial.validators.total or partial.file.hashes
    if not partial.size or first != partial.size or not is_bounded:
        partial.discard()
        raise TransientError("the server sent another part of the file than requested")
    whole = Validators(sent.etag, sent.last_modified, total)
    pairs = zip(astuple(whole), astuple(partial.validators), strict=True)
    if any(one != other for one, other in pairs if None not in (one, other)):
        partial.discard()
        raise TransientError("the file has changed on the server since its first part was fetched")
    partial.check_size(end)
    partial.resume(total)


def _blocks(response: requests.Response, partial: PartialDownload) -> Iterator[bytes]:
    """Yield the body as it was sent, as soon as it arrives, so that a cut loses nothing."""
    began, arrived, policy = time.monotonic(), 0, partial.home.policy
    while True:
        with _network(partial):
            block = response.raw.read1(_BLOCK_BYTES, decode_content=False)
        if not block:
            return
        arrived += len(block)
        seconds = time.monotonic() - began
        if seconds >= policy.rate_window:
            if arrived < policy.least_rate * seconds:
                rate = f"{decimal(int(arrived / seconds))}/s"
                raise TransientError(f"the server is too slow: {rate} for {seconds:.0f} s")
            began, arrived = time.monotonic(), 0
        yield block


def _check_length(partial: PartialDownload) -> None:
    total = partial.validators.total
    if total is not None and partial.size < total:
        raise TransientError(f"the connection ended after {decimal(partial.size)} of {decimal(total)}")
    if total is not None and partial.size > total:
        partial.discard()
        raise TransientError(f"the server sent more than the {decimal(total)} it announced")
