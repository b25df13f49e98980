"""Why an address does not serve, or a file is not, what is wanted; the next address may do better.

They never leave the downloader: where no address is left they become one `FetchError` that lists the reasons.

    SourceError                 this address cannot help
    |- UnpinnedError            the file is another than the one that was pinned at first use
    |- TemporarilyUnavailable   it did not answer now; running the same command later may help
    `- TransientError           the next try, in a moment, may help
"""

from __future__ import annotations


class SourceError(Exception):
    """An address does not serve, or a file is not, what is wanted; the message is a phrase that says why."""


class UnpinnedError(SourceError):
    """A file is another than the one that was pinned at first use."""


class TemporarilyUnavailable(SourceError):  # noqa: N818 - the word of HTTP 503
    """An address did not answer now; trying later may help."""


class TransientError(SourceError):
    """A fault that may pass; ``retry_after`` is the time the server asked for, in seconds."""

    def __init__(self, reason: str, retry_after: float | None = None) -> None:
        super().__init__(reason)
        self.retry_after = retry_after
