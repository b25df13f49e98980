"""The data directory and its mirrors; the files in it: their names, addresses, and the hashes that they must have.

Addresses are shown without what is secret in them.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

import platformdirs
from rich.filesize import decimal

from mpu_bench import files
from mpu_bench.data.download.errors import disk_error
from mpu_bench.errors import FetchError
from mpu_bench.texts import one_line, plain, without_credentials

_SLACK_BYTES = 1 << 16
_RESERVED_ENDINGS = (".part", ".part.tag", ".lock.json")
_MAX_SHOWN_BYTES = 300
_OPTION = "--mirror or MPU_BENCH_MIRROR"


def is_web(address: str) -> bool:
    """Return whether an address is on the web, not a folder."""
    return address.lower().startswith(("http://", "https://"))


def shown(address: str | Path) -> str:
    """Return an address on one line, fit to be printed and kept: of one on the web, no user, password or query.

    What follows ``?`` or ``#`` may be a token.
    """
    text = str(address)
    if not isinstance(address, Path) and "://" in text:
        text = re.split("[?#]", without_credentials(text), maxsplit=1)[0]
    return one_line(text, _MAX_SHOWN_BYTES)


def on_mirror(mirror: str, name: str) -> str:
    """Return how the address of a file on a mirror of the web is shown: without its path, which may hold a key."""
    scheme, _, rest = shown(mirror).partition("://")
    host, _, path = rest.partition("/")
    return f"{scheme}://{host}/{'.../' if path else ''}{name}"


def folder_named(name: str | Path, option: str) -> Path:
    """Return the folder that an option or a variable names, ``~`` replaced.

    Parameters
    ----------
    name : str or Path
    option : str
        What named it, for the message.

    Raises
    ------
    FetchError
        If it begins with ``~`` and an unknown user.
    """
    try:
        return Path(name).expanduser()
    except RuntimeError:
        raise FetchError(
            f"{shown(str(name))} ({option}): there is no such user; correct it, or leave it out."
        ) from None


def mirror_folder(mirror: str) -> Path | None:
    """Return the folder that a mirror names, or None where it is a web address.

    Raises
    ------
    FetchError
        If it is an address of another kind, such as ``ftp://``.
    """
    if is_web(mirror):
        return None
    path = unquote(mirror.removeprefix("file://")) if mirror.startswith("file://") else mirror
    if "://" in path or path.startswith(("http:", "https:")):
        raise FetchError(
            f"The mirror '{shown(mirror)}' ({_OPTION}) is not supported; "
            "give an address that begins with http:// or https://, or a folder."
        )
    return folder_named(path, _OPTION)


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
        If the name would leave the data directory, or is that of one of the downloader's own files.
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
        stays = path.parts and not path.is_absolute() and ".." not in path.parts and str(path) == self.name
        if not stays or plain(self.name) != self.name or self.name.endswith(_RESERVED_ENDINGS):
            raise FetchError(
                f"'{one_line(self.name)}' cannot be a file of the data directory: give a name such as 'a9a', "
                f"without '..', control characters, or one of the endings {', '.join(_RESERVED_ENDINGS)}."
            )

    @property
    def label(self) -> str:
        """Its name, with its size if that is known."""
        return self.name if self.bytes is None else f"{self.name} ({decimal(self.bytes)})"

    @property
    def hashes(self) -> frozenset[str]:
        """The hashes of which the file, or its content, must have one."""
        return frozenset(self.sha256) | ({self.content_sha256} if self.content_sha256 else frozenset())

    @property
    def max_bytes(self) -> int | None:
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
    min_rate, rate_window : float
        Bytes a second that must arrive on average of so many seconds; a slower answer is cut.
    sleep : function
        Waits for a number of seconds.
    """

    attempts: int = 4
    progress: int = 1 << 20
    longest_wait: float = 30.0
    connect_timeout: float = 15.0
    read_timeout: float = 60.0
    min_rate: float = 1000.0
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
            If the mirror is of an unknown kind, or a folder is that of an unknown user.
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
            Called before waiting for another process, and every minute until that has ended.
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
        ours = re.compile(re.escape(path.name) + r"\.[0-9a-f]{8}\.part(\.json|\.tag)?")
        return sorted(part for part in path.parent.glob("*.part*") if ours.fullmatch(part.name))
