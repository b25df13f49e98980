"""Brings one file from one address: copies it from a folder, or downloads it, resuming after a cut.

What has arrived survives a cut, an interruption and the process's death. Only the rest of the same file is ever put
after it: the server says so by a tag, or the file's hash, which is known, decides.
"""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from http.client import BadStatusLine, UnknownProtocol
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from threading import Thread

import requests
import urllib3.exceptions
from rich.filesize import decimal

from mpu_bench.data.download.cache import DataDirectory, RemoteFile, shown
from mpu_bench.data.download.compression import CHUNK_BYTES, other_file
from mpu_bench.data.download.errors import SourceError, TransientError, on_disk, sync_folder
from mpu_bench.data.download.integrity import Digest, digest_file, verify_digest, write_pin
from mpu_bench.data.download.progress import Progress
from mpu_bench.files import open_regular, write_text
from mpu_bench.texts import one_line

_BLOCK_BYTES = 1 << 16
_MAX_REDIRECTS = 10
_LONGEST_RETRY_AFTER = 120.0  #: seconds that a server may ask for; if it wants more, the next address is tried
_MAX_SHOWN_BYTES = 100
_PARTIAL_CONTENT = 206
_RANGE_NOT_SATISFIABLE = 416
_TRANSIENT_STATUSES = (408, 425, 429, 500, 502, 503, 504, 507, 509)
_REFUSALS = {
    404: "there is no such file ({})",
    410: "there is no such file ({})",
    401: "access is refused ({}); it may need a registration",
    403: "access is refused ({}); it may need a registration",
    407: "the proxy refuses access ({}); see HTTP_PROXY and HTTPS_PROXY",
}
_HOST = re.compile(r"\w+://(\[[^\]]*\]|[^:/]*)")
_RANGE = re.compile(r"bytes ([0-9]{1,18})-[0-9]{1,18}/([0-9]{1,18})", re.IGNORECASE)
_DECODED_LATER = ("gzip", "x-gzip", "bzip2", "x-bzip2", "xz", "compress", "x-compress")  # the content tells which
#: Kinds of errors, what they mean for the address, and the reason to show. The order matters: urllib3 counts a refused
#: connection among the timeouts, and http.client a connection that was cut among the bad status lines.
_REASONS: tuple[tuple[tuple[type[BaseException], ...], type[SourceError], str], ...] = (
    ((urllib3.exceptions.SSLError,), SourceError, "no secure connection to '{host}' ({cause})"),
    (
        (urllib3.exceptions.NameResolutionError,),
        TransientError,
        "the name '{host}' could not be looked up; no network, or a misspelt address",
    ),
    (
        (urllib3.exceptions.ProxyError,),
        TransientError,
        "the proxy did not answer ({cause}); see HTTP_PROXY and HTTPS_PROXY",
    ),
    (
        (urllib3.exceptions.NewConnectionError,),
        TransientError,
        "no connection to '{host}' ({cause}); no network, a firewall, or no server there",
    ),
    (
        (urllib3.exceptions.TimeoutError,),
        TransientError,
        "'{host}' timed out ({policy.connect_timeout:g} s to connect, or {policy.read_timeout:g} s of silence)",
    ),
    ((requests.TooManyRedirects,), SourceError, f"the server redirects more than {_MAX_REDIRECTS} times"),
    ((ConnectionError,), TransientError, "the connection was cut ({cause})"),
    ((BadStatusLine, UnknownProtocol), TransientError, "the server does not speak HTTP ({cause})"),
    ((urllib3.exceptions.ProtocolError,), TransientError, "the connection was cut ({cause})"),
    ((TimeoutError,), TransientError, "the server is too slow: no whole headers within {policy.rate_window:g} s"),
    (
        (Exception,),  # whose text would show the whole address
        SourceError,
        "the address or its answer cannot be used; it, one that it leads to, or HTTP_PROXY or HTTPS_PROXY is malformed",
    ),
)


class PartialDownload:
    """The part of a file that has arrived.

    Parameters
    ----------
    file : RemoteFile
    home : DataDirectory
    address : str or Path
        On the web, or in the folder of a mirror. Each has a part of its own: the next one may serve the file compressed
        differently.

    Attributes
    ----------
    size : int
        How many bytes have arrived.
    tag : str
        What the server calls this state of the file (RFC 9110, 8.8): a strong entity tag, else a date, else nothing.
    resumed : bool
        Whether they came in more than one answer, so that they may be of different files.
    """

    def __init__(self, file: RemoteFile, home: DataDirectory, address: str | Path) -> None:
        self.file, self.home, self.address = file, home, address
        self.path = home.partial_path(file, str(address))
        self._tag_path = self.path.with_name(f"{self.path.name}.tag")
        self.size = self.path.stat().st_size if self.path.exists() else 0
        self.tag = self._tag_path.read_text("latin-1") if self._tag_path.exists() else ""
        self.resumed = self.size > 0
        if not self.continuable or self.size > (file.max_bytes or self.size):
            self.discard()

    @property
    def continuable(self) -> bool:
        """Whether the rest may be requested: without a tag only a known hash shows a rest of another file."""
        return isinstance(self.address, str) and bool(self.tag or self.file.hashes)

    def restart(self, total: int | None, tag: str = "") -> None:
        """Begin at the first byte of a file of this size, if it is known, and this tag."""
        with on_disk(self.path):
            self.expect(total or 0)
            self.discard()
            self.tag = tag
            write_text(self._tag_path, tag)
            self.path.touch()

    def expect(self, size: int) -> None:
        """Refuse a file of so many bytes if that is more than it can have, than may come, or than the disk can take.

        At once rather than after hours; another address may serve the right one. What is here is kept.

        Raises
        ------
        SourceError
        """
        self._check_size(size)
        free = shutil.disk_usage(self.path.parent).free
        if size - self.size > free:
            raise SourceError(
                f"The disk is full: {self.path.parent} has {decimal(free)} free and {decimal(size - self.size)} are "
                "needed. Free some space, or choose a data directory on another disk with MPU_BENCH_DATA"
            )

    def _check_size(self, size: int) -> None:
        file_limit, limit = self.file.max_bytes, self.home.limit
        if file_limit is not None and size > file_limit:
            raise SourceError(
                f"{decimal(size)} are more than the file has ({decimal(self.file.bytes or file_limit)} by its card)"
            )
        if limit is not None and size > limit and not isinstance(self.address, Path):
            raise SourceError(f"{decimal(size)} are more than the limit of {decimal(limit)} a file (--data-limit)")

    def write(self, chunk: bytes) -> None:
        """Append what arrived.

        Raises
        ------
        SourceError
            If this is more than there can be; nothing is kept of it then.
        """
        try:
            self._check_size(self.size + len(chunk))
        except SourceError:
            self.discard()
            raise
        with on_disk(self.path), self.path.open("ab") as stream:
            stream.write(chunk)
        self.size += len(chunk)

    def discard(self) -> None:
        """Forget what has arrived."""
        self.size, self.tag, self.resumed = 0, "", False
        self.path.unlink(missing_ok=True)
        self._tag_path.unlink(missing_ok=True)


def bring(partial: PartialDownload, origin: str, progress: Progress) -> Digest:
    """Complete a partial file, verify it, pin its hashes, and bring it to its place.

    Parameters
    ----------
    partial : PartialDownload
    origin : str
        How its address is shown.
    progress : Progress

    Raises
    ------
    SourceError
        If the address does not serve it (`TransientError` if it may do so later). What can be continued is kept.
    OSError
        If the disk cannot be written.
    """
    file, home = partial.file, partial.home
    for is_second in (False, True):
        _fill(partial, progress)
        try:
            digest = digest_file(partial.path, file, progress)
            verify_digest(file, home, digest)
            break
        except SourceError as error:
            was_resumed = partial.resumed
            partial.discard()
            if is_second or not was_resumed:
                raise
            # the pieces may have been of two files; once more from the first byte
            progress.note(f"{file.name}: {error}; downloading all of it again")
    with partial.path.open("rb+") as stream:
        os.fsync(stream.fileno())
        pin = digest.pinned(origin, os.fstat(stream.fileno()))
    write_pin(file, home, pin)
    partial.path.replace(home.path(file))
    sync_folder(home.path(file).parent)
    for left in home.partials(file):
        left.unlink(missing_ok=True)
    return pin


def _fill(partial: PartialDownload, progress: Progress) -> None:
    try:
        if isinstance(partial.address, Path):
            _copy(partial.address, partial, progress)
        else:
            _download(partial, progress)
    except SourceError:
        if not partial.size or not partial.continuable:
            partial.discard()
        raise


def _copy(source: Path, partial: PartialDownload, progress: Progress) -> None:
    """Copy from a mirror folder; a link would change when the user changes his file."""
    try:
        with open_regular(source) as stream:
            size = os.fstat(stream.fileno()).st_size
            partial.restart(size)
            with progress.transfer(f"copy {partial.file.name}", size) as advance:
                while chunk := stream.read(CHUNK_BYTES):
                    partial.write(chunk)
                    advance(len(chunk))
    except FileNotFoundError as error:
        raise SourceError("there is no such file") from error
    except OSError as error:
        raise SourceError(f"it cannot be read ({error.strerror})") from error
    if partial.size != size:
        raise SourceError("it changed while it was read")


def _download(partial: PartialDownload, progress: Progress) -> None:
    """Request the file, and again after an error that may pass; tries count anew after each bit of progress."""
    furthest, tries, policy, label = partial.size, 0, partial.home.policy, partial.file.name
    partial.expect(max(partial.file.bytes or 0, partial.size))  # before it is requested
    with requests.Session() as session:
        session.max_redirects = _MAX_REDIRECTS
        # before the body of a redirect, which may have no end, is read into memory
        session.hooks["response"].append(lambda answer, **_options: answer.close() if answer.is_redirect else None)
        session.headers.update({"User-Agent": f"mpu-bench/{version('mpu-bench')}", "Accept-Encoding": "identity"})
        while True:
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
                if wait > _LONGEST_RETRY_AFTER:
                    raise TransientError(f"{error}, and asks to retry after {wait:.0f} s") from error
                progress.note(f"{label}: {error}; trying again in {wait:.0f} s")
                policy.sleep(wait)


def _transfer(session: requests.Session, partial: PartialDownload, progress: Progress) -> None:
    """Ask once, for the rest if a part is there, and write down what comes."""
    with _network(partial):
        response = _answer(session, partial)
    with response:
        if response.status_code == _RANGE_NOT_SATISFIABLE and partial.size:
            if response.headers.get("Content-Range") == f"bytes */{partial.size}":
                return  # all of it is here
            partial.discard()
            raise TransientError("the partial download is not from this file")
        _check_status(response)
        length = response.raw.length_remaining
        blocks = _blocks(response, partial)
        head = next(blocks, b"")  # before anything is overwritten
        if not head and length is None:
            raise TransientError("the connection ended before the first byte of the file")
        if other := other_file(head):
            raise SourceError(f"{other.name} was received instead of data; {other.fix}")
        total = _position(response, length, partial)
        with progress.transfer(f"fetch {partial.file.name}", total, partial.size) as advance:
            for block in chain([head], blocks):
                partial.write(block)
                advance(len(block))
    if total is not None and partial.size != total:
        raise TransientError(f"the server sent {decimal(partial.size)} where it had announced {decimal(total)}")


def _answer(session: requests.Session, partial: PartialDownload) -> requests.Response:
    """Return the answer once its headers are whole, which a server may let trickle for ever."""
    policy, answer = partial.home.policy, Future[requests.Response]()

    def ask() -> None:
        try:
            timeout = (policy.connect_timeout, policy.read_timeout)
            headers = _range_headers(partial)
            answer.set_result(session.get(str(partial.address), headers=headers, stream=True, timeout=timeout))
        except BaseException as error:
            answer.set_exception(error)

    Thread(target=ask, daemon=True).start()  # it ends with the process at the latest
    try:
        return answer.result(policy.rate_window)
    except BaseException:
        answer.add_done_callback(_close)
        raise


def _close(late: Future[requests.Response]) -> None:
    """Close an answer that nobody waits for any more."""
    if not late.exception():
        late.result().close()


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
        host = _HOST.match(shown(getattr(request, "url", None) or str(partial.address)))
        last = causes[-1]
        cause = (last.strerror if isinstance(last, OSError) else None) or str(last) or type(last).__name__
        words = {"host": host[1] if host else "", "cause": _quoted(cause), "policy": partial.home.policy}
        raise kind(reason.format(**words)) from error


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Follow an error to what raised it."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _quoted(text: str) -> str:
    """Return a text of a server, fit to be shown within a message."""
    return one_line(text, _MAX_SHOWN_BYTES)


def _range_headers(partial: PartialDownload) -> dict[str, str]:
    """Ask for the rest only, and only if it is still of the same file."""
    if not partial.size or not partial.continuable:
        return {}
    return {"Range": f"bytes={partial.size}-"} | ({"If-Range": partial.tag} if partial.tag else {})


def _check_status(response: requests.Response) -> None:
    """Refuse an answer that is no file, or none that can be read."""
    status = response.status_code
    answer = f"HTTP {status} {_quoted(response.reason or '')}".rstrip()
    if status in _TRANSIENT_STATUSES:
        raise TransientError(f"the server cannot answer now ({answer})", _retry_after(response))
    if status not in (200, _PARTIAL_CONTENT):
        raise SourceError(_REFUSALS.get(status, "the server answers {}").format(answer))
    coding = response.headers.get("Content-Encoding", "identity").lower()
    if coding not in ("identity", *_DECODED_LATER):
        raise SourceError(f"the server uses an encoding that was not requested (Content-Encoding: {_quoted(coding)})")


def _retry_after(response: requests.Response) -> float | None:
    """Return how many seconds the server wants to be left alone, given in seconds or as a date."""
    try:
        return urllib3.Retry().get_retry_after(response.raw)
    except (urllib3.exceptions.InvalidHeader, ValueError, OverflowError):  # neither, or a date that is none
        return None


def _position(response: requests.Response, length: int | None, partial: PartialDownload) -> int | None:
    """Continue after what is here if that is what the server sends, else begin anew; return the size of the whole."""
    etag = response.headers.get("ETag", "W/")
    tag = response.headers.get("Last-Modified", "") if etag.startswith("W/") else etag
    if response.status_code != _PARTIAL_CONTENT:
        partial.restart(length, tag)
        return length
    match = _RANGE.fullmatch(response.headers.get("Content-Range", ""))
    if not match or not partial.size or int(match[1]) != partial.size or (partial.tag and tag not in ("", partial.tag)):
        partial.discard()
        raise TransientError("the server sent another part of the file than requested, or one of another file")
    partial.expect(int(match[2]))
    partial.resumed = True
    return int(match[2])


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
            if arrived < policy.min_rate * seconds:
                rate = f"{decimal(int(arrived / seconds))}/s"
                raise TransientError(f"the server is too slow: {rate} for {seconds:.0f} s")
            began, arrived = time.monotonic(), 0
        yield block
