"""Downloads one file from one web address: resumes after a cut, tries again after a fault that may pass."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import astuple, dataclass, replace
from importlib.metadata import version
from itertools import chain

import requests
import urllib3
from rich.filesize import decimal

from mpu_bench.data.download.cache import shown
from mpu_bench.data.download.compression import HEAD_BYTES, looks_like_a_page
from mpu_bench.data.download.errors import SourceError, TemporarilyUnavailable, TransientError
from mpu_bench.data.download.partial import PartialDownload, Validators
from mpu_bench.data.download.progress import Progress

_BLOCK_BYTES = 1 << 16
_TRANSIENT_STATUSES = (408, 425, 429, 500, 502, 503, 504, 507, 509)
_PARTIAL_CONTENT = 206
_RANGE_NOT_SATISFIABLE = 416

_faults = urllib3.exceptions
#: Kinds of faults, what they mean for the address, and the reason to show. The order matters: urllib3 counts a refused
#: connection among the timeouts, and requests most faults among the connection errors.
_NETWORK_FAULTS: tuple[tuple[tuple[type[BaseException], ...], type[SourceError], str], ...] = (
    (
        (_faults.SSLError, requests.exceptions.SSLError),
        SourceError,
        "no secure connection to '{host}' ({cause})",
    ),
    (
        (_faults.NameResolutionError,),
        TransientError,
        "the name '{host}' could not be looked up; no network, or a misspelt address",
    ),
    (
        (_faults.ProxyError,),
        TransientError,
        "the proxy did not answer ({cause}); see HTTP_PROXY and HTTPS_PROXY",
    ),
    (
        (_faults.NewConnectionError,),
        TransientError,
        "no connection to '{host}' ({cause}); no network, a firewall, or no server there",
    ),
    (
        (_faults.TimeoutError, requests.Timeout),
        TransientError,
        "'{host}' timed out ({policy.connect_timeout:g} s to connect, or {policy.read_timeout:g} s of silence)",
    ),
    (
        (_faults.ProtocolError, requests.ConnectionError),
        TransientError,
        "the connection was cut ({cause})",
    ),
)


@dataclass(frozen=True)
class Policy:
    """How patient the downloader is.

    Attributes
    ----------
    attempts : int
        Tries at one address in a row without progress.
    progress : int
        Bytes beyond the furthest reached so far that count as progress and start the count of tries anew.
    wait, longest_wait : float
        Seconds before the second try, doubled for each further one, and their bound. Each wait is drawn between
        half and all of it, so that many processes do not come back at once.
    longest_retry_after : float
        Seconds that a server may ask for (``Retry-After``); if it wants more, the next address is tried.
    connect_timeout, read_timeout : float
        Seconds without a connection, and without a byte.
    sleep : function
        Waits for a number of seconds.
    chance : function
        Draws from [0, 1).
    """

    attempts: int = 4
    progress: int = 1 << 20
    wait: float = 1.0
    longest_wait: float = 30.0
    longest_retry_after: float = 120.0
    connect_timeout: float = 15.0
    read_timeout: float = 60.0
    sleep: Callable[[float], None] = time.sleep
    chance: Callable[[], float] = random.random


def download(url: str, label: str, partial: PartialDownload, progress: Progress, policy: Policy) -> None:
    """Complete a partial file from one address.

    Parameters
    ----------
    url : str
        Where it is.
    label : str
        The file's name, for the progress.
    partial : PartialDownload
        What has arrived so far; grows.
    progress : Progress
    policy : Policy

    Raises
    ------
    SourceError
        If the address does not serve it (`TemporarilyUnavailable` if it may do so later). What has arrived is kept.
    FetchError
        If the disk cannot be written.
    """
    furthest, tries = partial.size, 0
    partial.check_limit()
    with requests.Session() as session:
        session.headers.update({"User-Agent": f"mpu-bench/{version('mpu-bench')}", "Accept-Encoding": "identity"})
        while not partial.complete:
            try:
                _transfer(session, url, label, partial, progress, policy)
                return
            except TransientError as error:
                if partial.size >= furthest + policy.progress:
                    furthest, tries = partial.size, 0
                tries += 1
                wait = _wait(error, tries, policy)
                progress.note(f"{label}: {error}; trying {shown(url)} again in {wait:.0f} s")
                policy.sleep(wait)


def _wait(error: TransientError, tries: int, policy: Policy) -> float:
    """Return how many seconds to wait before the next try, or give the address up."""
    if tries >= policy.attempts:
        raise TemporarilyUnavailable(f"{error} (the last of {tries} tries)") from error
    if error.retry_after is None:
        return min(policy.wait * 2.0 ** (tries - 1), policy.longest_wait) * (1 + policy.chance()) / 2
    if error.retry_after > policy.longest_retry_after:
        raise TemporarilyUnavailable(f"{error}, and asks to come back only in {error.retry_after:.0f} s") from error
    return error.retry_after


def _transfer(
    session: requests.Session, url: str, label: str, partial: PartialDownload, progress: Progress, policy: Policy
) -> None:
    """Ask once, for the rest if a part is there, and write down what comes."""
    with _network(url, policy):
        response = session.get(
            url, headers=_range(partial), stream=True, timeout=(policy.connect_timeout, policy.read_timeout)
        )
    with closing(response):
        _check_status(response, partial)
        blocks = _blocks(response, url, policy)
        head = _head(blocks)
        if looks_like_a_page(head):
            raise SourceError(
                "an HTML page came instead of data; a login page of the network, or a moved file, answers so"
            )
        _position(response, partial)
        partial.check_limit()
        partial.check_room()
        with progress.transfer(f"fetch {label}", partial.validators.total, partial.size) as advance:
            for block in chain([head], blocks):
                partial.write(block)
                partial.check_limit()
                advance(len(block))
    _check_length(partial)


def _range(partial: PartialDownload) -> dict[str, str]:
    """Ask for the rest only, and only if it is still of the same file."""
    if not partial.size or not partial.continuable:
        return {}
    headers = {"Range": f"bytes={partial.size}-"}
    if partial.validators.if_range:
        headers["If-Range"] = partial.validators.if_range
    return headers


def _check_status(response: requests.Response, partial: PartialDownload) -> None:
    status = response.status_code
    if status in (200, _PARTIAL_CONTENT):
        return
    answer = f"HTTP {status}" + (f" {response.reason}" if response.reason else "")
    if status == _RANGE_NOT_SATISFIABLE and partial.size:
        partial.discard()
        raise TransientError(f"the part that is here is not of this file ({answer})")
    if status in _TRANSIENT_STATUSES:
        raise TransientError(f"the server cannot answer now ({answer})", _retry_after(response))
    if status in (404, 410):
        raise SourceError(f"there is no such file ({answer})")
    if status in (401, 403, 407):
        raise SourceError(f"access is refused ({answer}); it may need a registration")
    raise SourceError(f"the server answers {answer}")


def _retry_after(response: requests.Response) -> float | None:
    """Read how long the server wants to be left alone: seconds, or a date."""
    try:
        return urllib3.Retry().get_retry_after(response.raw)
    except urllib3.exceptions.InvalidHeader:
        return None


def _position(response: requests.Response, partial: PartialDownload) -> None:
    """Continue after what is here if that is what the server sends; else begin anew."""
    length = response.headers.get("Content-Length", "")
    length_here = int(length) if length.isdigit() else None
    sent = Validators(response.headers.get("ETag"), response.headers.get("Last-Modified"), length_here)
    if response.status_code != _PARTIAL_CONTENT:
        partial.restart(sent)
        return
    match = re.fullmatch(r"bytes (\d+)-\d+/(\d+|\*)", response.headers.get("Content-Range", "").strip())
    if not match or int(match[1]) != partial.size:
        partial.discard()
        raise TransientError("the server sent another part of the file than it was asked for")
    whole = replace(sent, total=int(match[2]) if match[2].isdigit() else None)
    if _differ(whole, partial.validators):
        partial.discard()
        raise TransientError("the file has changed on the server since its first part was fetched")
    partial.resumed = True


def _differ(one: Validators, other: Validators) -> bool:
    """Return whether what is said of two files contradicts their being the same."""
    pairs = zip(astuple(one), astuple(other), strict=True)
    return any(first != second for first, second in pairs if None not in (first, second))


def _head(blocks: Iterator[bytes]) -> bytes:
    """Collect enough of the body to tell a page from data before anything is overwritten."""
    head = bytearray()
    for block in blocks:
        head += block
        if len(head) >= HEAD_BYTES:
            break
    return bytes(head)


def _blocks(response: requests.Response, url: str, policy: Policy) -> Iterator[bytes]:
    """Yield the body as it was sent, as soon as it arrives, so that a cut loses nothing."""
    while True:
        with _network(url, policy):
            block = response.raw.read1(_BLOCK_BYTES, decode_content=False)
        if not block:
            return
        yield block


def _check_length(partial: PartialDownload) -> None:
    total = partial.validators.total
    if total is not None and partial.size < total:
        raise TransientError(f"the connection ended after {decimal(partial.size)} of {decimal(total)}")
    if total is not None and partial.size > total:
        partial.discard()
        raise TransientError(f"the server sent more than the {decimal(total)} it announced")


@contextmanager
def _network(url: str, policy: Policy) -> Iterator[None]:
    """Turn the faults of the network into reasons."""
    try:
        yield
    except (requests.RequestException, urllib3.exceptions.HTTPError) as error:
        raise _source_error(error, url, policy) from error


def _source_error(error: Exception, url: str, policy: Policy) -> SourceError:
    causes = list(_causes(error))
    host = re.sub(r"^\w+://|[:/?#].*", "", shown(url))
    for kinds, kind_of_error, reason in _NETWORK_FAULTS:
        if any(isinstance(cause, kinds) for cause in causes):
            return kind_of_error(reason.format(host=host, cause=_innermost(causes), policy=policy))
    return SourceError(f"the address cannot be used ({error})")


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Follow an error to what raised it: requests and urllib3 keep it in an attribute, an argument or the context."""
    current: BaseException | None = error
    while current is not None:
        yield current
        inner = getattr(current, "reason", None)
        candidates = [inner, *reversed(current.args), current.__cause__, current.__context__]
        current = next((candidate for candidate in candidates if isinstance(candidate, BaseException)), None)


def _innermost(causes: list[BaseException]) -> str:
    last = causes[-1]
    return (last.strerror if isinstance(last, OSError) else None) or str(last) or type(last).__name__
