"""Downloads one file from one web address: resumes after a cut, tries again after a fault that may pass."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import astuple
from itertools import chain
from urllib.parse import urljoin, urlsplit

import requests
from requests.utils import get_auth_from_url
from rich.filesize import decimal

from mpu_bench.data.download import headers
from mpu_bench.data.download.address import is_web, shown
from mpu_bench.data.download.compression import HEAD_BYTES, other_file
from mpu_bench.data.download.connection import Meter, MeteredSession
from mpu_bench.data.download.errors import SourceError, TemporarilyUnavailable, TransientError
from mpu_bench.data.download.faults import network
from mpu_bench.data.download.partial import PartialDownload, Validators
from mpu_bench.data.download.policy import Policy
from mpu_bench.data.download.progress import Progress

_BLOCK_BYTES = 1 << 16
_LONGEST_ADDRESS = 8000
_TRANSIENT_STATUSES = (408, 425, 429, 500, 502, 503, 504, 507, 509)
_REDIRECTS = (301, 302, 303, 307, 308)
_PARTIAL_CONTENT = 206
_RANGE_NOT_SATISFIABLE = 416


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
    furthest, tries, tries_in_all = partial.size, 0, 0
    partial.check_expected()
    with MeteredSession(Meter(policy)) as session:
        while not partial.complete:
            try:
                _transfer(session, url, label, partial, progress, policy)
                return
            except TransientError as error:
                if partial.size >= furthest + policy.progress:
                    furthest, tries = partial.size, 0
                tries, tries_in_all = tries + 1, tries_in_all + 1
                if tries >= policy.attempts or tries_in_all >= policy.most_attempts:
                    raise TemporarilyUnavailable(f"{error} (the last of {tries_in_all} tries)") from error
                wait = _wait(error, tries, policy)
                progress.note(f"{label}: {error}; trying again in {wait:.0f} s")
                policy.sleep(wait)


def _wait(error: TransientError, tries: int, policy: Policy) -> float:
    """Return how many seconds to wait before the next try, or give the address up."""
    if error.retry_after is None:
        return min(policy.wait * 2.0 ** (tries - 1), policy.longest_wait) * (1 + policy.chance()) / 2
    if error.retry_after > policy.longest_retry_after:
        raise TemporarilyUnavailable(f"{error}, and asks to come back only in {error.retry_after:.0f} s") from error
    return error.retry_after


def _transfer(
    session: MeteredSession, url: str, label: str, partial: PartialDownload, progress: Progress, policy: Policy
) -> None:
    """Ask once, for the rest if a part is there, and write down what comes."""
    with closing(_ask(session, url, _range(partial), policy)) as response:
        _check_status(response, partial)
        sent = headers.validators(response.headers, headers.body_size(response.headers))
        blocks = _blocks(response, url, session.meter)
        head = _head(blocks)
        if not head and sent.total is None:
            raise TransientError("the connection ended before the first byte of the file")
        if other := other_file(head):
            raise SourceError(f"{other.name} came instead of data; {other.fix}")
        _position(response, sent, partial)
        partial.bound(policy.most_bytes)
        with progress.transfer(f"fetch {label}", partial.validators.total, partial.size) as advance:
            for block in chain([head], blocks):
                partial.write(block)
                advance(len(block))
    _check_length(partial)


def _ask(session: requests.Session, url: str, asked: dict[str, str], policy: Policy) -> requests.Response:
    """Send a request, and follow where the server directs it; the bodies of redirects are not read."""
    auth: tuple[str, str] | None = None  # else what the address itself holds
    for _step in range(policy.most_redirects + 1):
        with network(url, policy):
            timeout = (policy.connect_timeout, policy.read_timeout)
            response = session.get(url, headers=asked, stream=True, timeout=timeout, auth=auth)
        if response.status_code not in _REDIRECTS:
            return response
        response.close()
        target = _target(url, response)
        auth = (_auth(url) or auth) if _server(url) == _server(target) and not _auth(target) else None
        url = target
    raise SourceError(f"the server redirects more than {policy.most_redirects} times")


def _auth(url: str) -> tuple[str, str] | None:
    auth = get_auth_from_url(url)
    return auth if any(auth) else None


def _server(url: str) -> tuple[str, str | None, int | None]:
    """Return what two addresses have in common if user and password of the one serve for the other."""
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port


def _target(url: str, response: requests.Response) -> str:
    """Return where an answer directs to."""
    said = response.headers.get("Location", "")
    try:
        target = urljoin(url, said.encode("latin-1").decode("utf-8"))
        _port = urlsplit(target).port
    except ValueError:  # of text that is not UTF-8, half an IPv6 address, a port that is none
        target = ""
    if not said or not is_web(target) or len(target) > _LONGEST_ADDRESS:
        raise SourceError(f"the server redirects to what is no address ('{headers.quoted(shown(said))}')")
    return target


def _range(partial: PartialDownload) -> dict[str, str]:
    """Ask for the rest only, and only if it is still of the same file."""
    if not partial.size or not partial.continuable:
        return {}
    asked = {"Range": f"bytes={partial.size}-"}
    if partial.validators.if_range:
        asked["If-Range"] = partial.validators.if_range
    return asked


def _check_status(response: requests.Response, partial: PartialDownload) -> None:
    status = response.status_code
    if status in (200, _PARTIAL_CONTENT):
        return
    answer = f"HTTP {status} {headers.quoted(response.reason or '')}".rstrip()
    if status == _RANGE_NOT_SATISFIABLE and partial.size:
        partial.discard()
        raise TransientError(f"the part that is here is not of this file ({answer})")
    if status in _TRANSIENT_STATUSES:
        raise TransientError(f"the server cannot answer now ({answer})", headers.retry_after(response.headers))
    if status in (404, 410):
        raise SourceError(f"there is no such file ({answer})")
    if status in (401, 403, 407):
        raise SourceError(f"access is refused ({answer}); it may need a registration")
    raise SourceError(f"the server answers {answer}")


def _position(response: requests.Response, sent: Validators, partial: PartialDownload) -> None:
    """Continue after what is here if that is what the server sends; else begin anew."""
    if response.status_code != _PARTIAL_CONTENT:
        if (span := headers.content_range(response.headers)) and (span[0] > 0 or span[1] + 1 != span[2]):
            partial.discard()
            raise TransientError("the server sent a part of the file as if it were the whole")
        partial.check_size(sent.total or 0)
        partial.restart(sent)
        return
    span = headers.content_range(response.headers)
    if not partial.size or span is None or span[0] != partial.size:
        partial.discard()
        raise TransientError("the server sent another part of the file than it was asked for")
    whole = headers.validators(response.headers, span[2])
    if whole.total is None and partial.validators.total is None and not partial.hashed:
        partial.discard()
        raise TransientError("the server does not say whether the part that it sends is the last one")
    if _differ(whole, partial.validators):
        partial.discard()
        raise TransientError("the file has changed on the server since its first part was fetched")
    partial.check_size(span[1] + 1)
    partial.resume(whole.total)


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


def _blocks(response: requests.Response, url: str, meter: Meter) -> Iterator[bytes]:
    """Yield the body as it was sent, as soon as it arrives, so that a cut loses nothing."""
    while True:
        meter.begin_block()
        with network(url, meter.policy):
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
