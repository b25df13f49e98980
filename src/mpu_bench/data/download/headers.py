"""What the headers of an answer say, read with care: a server may send anything."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

from mpu_bench.data.download.errors import SourceError
from mpu_bench.data.download.partial import Validators
from mpu_bench.texts import one_line

_SIZE = re.compile(r"[0-9]{1,18}")
_RANGE = re.compile(r"bytes ([0-9]{1,18})-([0-9]{1,18})/([0-9]{1,18}|\*)", re.IGNORECASE)
_TAG = re.compile(r'(W/)?"[\x21\x23-\x7e]{0,200}"')
_DATE = re.compile(r"[A-Za-z0-9 ,:+-]{1,64}")
_DECODED_LATER = ("gzip", "x-gzip", "bzip2", "x-bzip2", "xz", "compress", "x-compress")  # the content tells which
_MOST_SHOWN_BYTES = 100

Headers = Mapping[str, str]


def quoted(text: str) -> str:
    """Return a text of a server, fit to be shown within a message."""
    return one_line(text, _MOST_SHOWN_BYTES)


def body_size(headers: Headers) -> int | None:
    """Return the size of the body in bytes, None if it is not said.

    Raises
    ------
    SourceError
        If the size is none, more than any disk holds, or the body is wrapped in a way that was not asked for: what
        arrives could not be told from a part of it.
    """
    check_encoding(headers)
    wrapped, said = headers.get("Transfer-Encoding"), headers.get("Content-Length")
    if wrapped is not None:
        if wrapped.lower() != "chunked":
            raise SourceError(
                f"the server sends in a way that was not asked for (Transfer-Encoding: {quoted(wrapped)})"
            )
        return None
    if said is None:
        return None
    if _SIZE.fullmatch(said.strip()):
        return int(said)
    if re.fullmatch("[0-9]+", said.strip()):
        raise SourceError("the server announces more bytes than any disk holds")
    raise SourceError(f"the server announces a size that is none (Content-Length: {quoted(said)})")


def check_encoding(headers: Headers) -> None:
    """Refuse a body that is packed so that its content could not be read.

    Raises
    ------
    SourceError
    """
    coding = headers.get("Content-Encoding", "").strip().lower()
    if coding not in ("", "identity", *_DECODED_LATER):
        raise SourceError(
            f"the server packs the file in a way that was not asked for (Content-Encoding: {quoted(coding)})"
        )


def validators(headers: Headers, total: int | None) -> Validators:
    """Return what is said of the file; a tag or date that no server should send counts as none."""
    tag, date = headers.get("ETag", ""), headers.get("Last-Modified", "")
    return Validators(tag if _TAG.fullmatch(tag) else None, date if _DATE.fullmatch(date) else None, total)


def content_range(headers: Headers) -> tuple[int, int, int | None] | None:
    """Return the first and the last byte of a part and the size of the whole, None if it is not said or senseless."""
    match = _RANGE.fullmatch(headers.get("Content-Range", "").strip())
    if not match:
        return None
    first, last, total = int(match[1]), int(match[2]), None if match[3] == "*" else int(match[3])
    return (first, last, total) if first <= last and (total is None or last < total) else None


def retry_after(headers: Headers) -> float | None:
    """Return how many seconds the server wants to be left alone: given in seconds, or as a date."""
    said = headers.get("Retry-After", "").strip()
    if re.fullmatch("[0-9]+", said):
        return float(said) if _SIZE.fullmatch(said) else math.inf
    try:
        return max(0.0, parsedate_to_datetime(said).timestamp() - time.time())
    except (ValueError, OverflowError, TypeError, IndexError, OSError):
        return None
