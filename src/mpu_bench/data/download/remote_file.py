"""What a file to download is called, where it can be had, and which hashes it must have."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from mpu_bench.errors import FetchError
from mpu_bench.texts import one_line, plain

_SHA256 = re.compile(r"[0-9a-f]{64}")
_SLACK_BYTES = 1 << 16
_RESERVED_ENDINGS = (".part", ".part.json", ".lock.json")


@dataclass(frozen=True)
class RemoteFile:
    """A file that can be downloaded, and how to know that it is the right one.

    Attributes
    ----------
    name : str
        Its name in a mirror and in the data directory, such as ``"a9a"`` or ``"news20.binary.bz2"``.
    urls : tuple of str
        Its web addresses, tried in order until one serves the right content.
    sha256 : tuple of str
        Accepted hashes of the file as downloaded; several where mirrors recompress.
    content_sha256 : str or None
        The hash of the decompressed content. A file that has it is right, whatever its own hash.
    bytes : int or None
        The size of the file. A mirror that compresses it in another way may serve another size, but not much more.
    content_bytes : int or None
        The size of the decompressed content; a file that expands beyond it is refused.
    by_hand : str or None
        What the user must do when no address can serve it.
    path : Path or None
        Of a user file, which is read where it is: where that is.

    Raises
    ------
    FetchError
        If the name would leave the data directory, or a hash is not one.
    """

    name: str
    urls: tuple[str, ...] = ()
    sha256: tuple[str, ...] = ()
    content_sha256: str | None = None
    bytes: int | None = None
    content_bytes: int | None = None
    by_hand: str | None = None
    path: Path | None = None

    def __post_init__(self) -> None:
        path = PurePosixPath(self.name)
        if not path.parts or path.is_absolute() or ".." in path.parts or str(path) != self.name or "\\" in self.name:
            raise FetchError(f"'{self.name}' cannot be a file of the data directory: give a name such as 'a9a'.")
        if plain(self.name) != self.name or "\n" in self.name or "\t" in self.name:
            raise FetchError(
                f"'{one_line(self.name)}' cannot be a file of the data directory: it holds control characters."
            )
        if self.name.endswith(_RESERVED_ENDINGS):
            raise FetchError(
                f"'{self.name}' cannot be a file of the data directory: its suffix is reserved for the downloader."
            )
        for digest in self.hashes:
            if not _SHA256.fullmatch(digest):
                raise FetchError(f"{self.name}: '{digest}' is not a sha256: 64 digits 0-9 and a-f are needed.")

    @property
    def hashes(self) -> frozenset[str]:
        """The hashes of which the file, or its content, must have one."""
        return frozenset(self.sha256) | ({self.content_sha256} if self.content_sha256 else frozenset())

    @property
    def most_bytes(self) -> int | None:
        """The most bytes that the file can have, however it is compressed; None where the card does not say."""
        if self.bytes is None:
            return None
        return max(self.bytes + self.bytes // 4, self.content_bytes or 0) + _SLACK_BYTES
