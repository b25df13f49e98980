"""The data directory and its mirrors; the files in it: their names, addresses, and the hashes that they must have."""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import platformdirs

from mpu_bench import files
from mpu_bench.data.download.address import folder_named, mirror_folder
from mpu_bench.data.download.errors import disk_error
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


@dataclass(frozen=True)
class Policy:
    """How patient the downloader is with one address.

    Attributes
    ----------
    attempts : int
        Tries in a row without progress.
    progress : int
        Bytes beyond the furthest reached so far that count as progress and start the count of tries anew.
    longest_wait : float
        The bound of the seconds before a further try: 1 before the second, then twice as many each time.
    connect_timeout, read_timeout : float
        Seconds without a connection, and without a byte.
    least_rate, rate_window : float
        Bytes a second that must arrive on average of so many seconds; a slower answer is cut.
    sleep : function
        Waits for a number of seconds.
    """

    attempts: int = 4
    progress: int = 1 << 20
    longest_wait: float = 30.0
    connect_timeout: float = 15.0
    read_timeout: float = 60.0
    least_rate: float = 1000.0
    rate_window: float = 300.0
    sleep: Callable[[float], None] = time.sleep


@dataclass(frozen=True)
class DataDirectory:
    """Where data live and how they may be had.

    Attributes
    ----------
    folder : Path
        The data directory. Source files are in its ``files`` folder.
    mirrors : tuple of str
        Web addresses or local folders, tried before a file's own addresses as ``<mirror>/<name>``.
    offline : bool
        Whether the network is out of bounds. A mirror that is a folder still serves.
    limit : int or None
        The most bytes of one file that may come over the network.
    remote : bool
        Whether the user's own files are on another machine: what was prepared of them there is all there is.
    policy : Policy
        How patiently to download.
    """

    folder: Path
    mirrors: tuple[str, ...] = ()
    offline: bool = False
    limit: int | None = None
    remote: bool = False
    policy: Policy = Policy()

    @classmethod
    def from_options(
        cls, folder: Path | None = None, mirror: str | None = None, offline: bool = False
    ) -> DataDirectory:
        """Combine options, the environment and the platform's defaults, in this order.

        Parameters
        ----------
        folder : Path or None
            Else ``MPU_BENCH_DATA``, else the platform's folder for users' data.
        mirror : str or None
            Else ``MPU_BENCH_MIRROR``, else no mirror.
        offline : bool
            Whether the network is out of bounds.

        Raises
        ------
        FetchError
            If the mirror is of an unknown kind, or no folder can have the name that was given.
        """
        default = platformdirs.user_data_dir("mpu-bench", appauthor=False)
        chosen = folder or os.environ.get("MPU_BENCH_DATA") or default
        mirror = mirror or os.environ.get("MPU_BENCH_MIRROR")
        if mirror:
            mirror_folder(mirror)
        return cls(folder_named(chosen, "--data or MPU_BENCH_DATA"), (mirror,) if mirror else (), offline)

    def process_lock(self, name: str, waiting: Callable[[], object]) -> AbstractContextManager[None]:
        """Return a lock that keeps other processes from the work called ``name``.

        Parameters
        ----------
        name : str
        waiting : function
            Called before waiting for another process.
        """
        return files.process_lock(self.folder / "busy" / name, waiting, lambda error: disk_error(error, self.folder))

    def path(self, file: RemoteFile) -> Path:
        """Return where a file is, or would be."""
        return file.path or self.folder / "files" / file.name

    def pin_path(self, file: RemoteFile) -> Path:
        """Return where the hashes of a file are pinned."""
        if file.path is not None:
            key = hashlib.sha256(str(file.path).encode(errors="surrogatepass")).hexdigest()[:16]
            return self.folder / "own" / f"{key}.lock.json"
        return self.folder / "files" / f"{file.name}.lock.json"

    def partial_path(self, file: RemoteFile, address: str) -> Path:
        """Return where the first part of a file from an address is kept until it is complete."""
        of_address = hashlib.sha256(address.encode(errors="surrogatepass")).hexdigest()[:8]
        return self.folder / "files" / f"{file.name}.{of_address}.part"

    def partials(self, file: RemoteFile) -> list[Path]:
        """List what unfinished downloads of a file have left, from any address."""
        path = self.path(file)
        ours = re.compile(re.escape(path.name) + r"\.[0-9a-f]{8}\.part(\.json)?")
        return sorted(part for part in path.parent.glob("*.part*") if ours.fullmatch(part.name))
