"""Where data live: the files a dataset needs, the data home, and what it remembers of the files in it."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

from mpu_bench.errors import FetchError

_TRUE = ("1", "true", "yes", "on")
_FALSE = ("", "0", "false", "no", "off")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_RESERVED = (".part", ".part.json", ".lock.json")


@dataclass(frozen=True)
class RemoteFile:
    """A file that can be downloaded, and how to know that it is the right one.

    Attributes
    ----------
    name : str
        Its name in a mirror and in the data home, such as ``"a9a"`` or ``"news20.binary.bz2"``.
    urls : tuple of str
        Its web addresses, tried in order until one serves the right content.
    sha256 : tuple of str
        Accepted hashes of the file as downloaded; several where mirrors recompress.
    content_sha256 : str or None
        The hash of the decompressed content. A file that has it is right, whatever its own hash.
    bytes : int or None
        The size of the file: advice for messages and progress.
    content_bytes : int or None
        The size of the decompressed content; a file that expands beyond it is refused.
    by_hand : str or None
        What the user must do when no address can serve it.

    Raises
    ------
    FetchError
        If the name would leave the data home, or a hash is not one.
    """

    name: str
    urls: tuple[str, ...] = ()
    sha256: tuple[str, ...] = ()
    content_sha256: str | None = None
    bytes: int | None = None
    content_bytes: int | None = None
    by_hand: str | None = None

    def __post_init__(self) -> None:
        path = PurePosixPath(self.name)
        if not path.parts or path.is_absolute() or ".." in path.parts or str(path) != self.name or "\\" in self.name:
            raise FetchError(f"'{self.name}' cannot be a file of the data home: give a name such as 'a9a'.")
        if self.name.endswith(_RESERVED):
            raise FetchError(f"'{self.name}' cannot be a file of the data home: its ending is kept for the downloader.")
        for digest in self.hashes:
            if not _SHA256.fullmatch(digest):
                raise FetchError(f"{self.name}: '{digest}' is not a sha256: 64 digits 0-9 and a-f are needed.")

    @property
    def hashes(self) -> frozenset[str]:
        """The hashes of which the file, or its content, must have one."""
        return frozenset(self.sha256) | ({self.content_sha256} if self.content_sha256 else frozenset())


@dataclass(frozen=True)
class Home:
    """Where data live and how they may be had.

    Attributes
    ----------
    folder : Path
        The data home. Raw files are in its ``files`` folder.
    mirrors : tuple of str
        Web addresses or local folders, tried before a file's own addresses as ``<mirror>/<name>``.
    offline : bool
        Whether the network is out of bounds. A mirror that is a folder still serves.
    limit : int or None
        The most bytes of one file that may come over the network.
    """

    folder: Path
    mirrors: tuple[str, ...] = ()
    offline: bool = False
    limit: int | None = None

    @classmethod
    def from_options(cls, folder: Path | None = None, mirror: str | None = None, offline: bool = False) -> Home:
        """Combine options, the environment and the platform's defaults, in this order.

        Parameters
        ----------
        folder : Path or None
            Else ``MPU_BENCH_DATA``, else the platform's folder for users' data.
        mirror : str or None
            Else ``MPU_BENCH_MIRROR``, else no mirror.
        offline : bool
            Else ``MPU_BENCH_OFFLINE``: 1, true, yes or on.

        Raises
        ------
        FetchError
            If ``MPU_BENCH_OFFLINE`` is none of these nor their contraries, or the mirror is of an unknown kind.
        """
        chosen = folder or os.environ.get("MPU_BENCH_DATA") or _platform_folder()
        mirror = mirror or os.environ.get("MPU_BENCH_MIRROR")
        home = cls(Path(chosen).expanduser(), (mirror,) if mirror else (), offline or _offline_by_environment())
        for named in home.mirrors:
            mirror_folder(named)
        return home

    def path(self, file: RemoteFile) -> Path:
        """Say where a file is, or would be."""
        return self.folder / "files" / file.name

    def locked_path(self, file: RemoteFile) -> Path:
        """Say where the hashes of a file are locked."""
        return self._beside(file, ".lock.json")

    def partial_path(self, file: RemoteFile, address: str) -> Path:
        """Say where the first part of a file from an address is kept until it is complete."""
        return self._beside(file, f".{hashlib.sha256(address.encode()).hexdigest()[:8]}.part")

    def partials(self, file: RemoteFile) -> list[Path]:
        """List what unfinished downloads of a file have left, from any address."""
        path = self.path(file)
        ours = re.compile(re.escape(path.name) + r"\.[0-9a-f]{8}\.part(\.json)?")
        return sorted(found for found in path.parent.glob("*.part*") if ours.fullmatch(found.name))

    def _beside(self, file: RemoteFile, ending: str) -> Path:
        path = self.path(file)
        return path.with_name(path.name + ending)


def _platform_folder() -> str:
    import platformdirs

    return platformdirs.user_data_dir("mpu-bench", appauthor=False)


def _offline_by_environment() -> bool:
    value = os.environ.get("MPU_BENCH_OFFLINE", "").strip().lower()
    if value not in _TRUE + _FALSE:
        raise FetchError(
            f"MPU_BENCH_OFFLINE is '{value}'; set it to 1 to stay offline, to 0 or nothing to use the network."
        )
    return value in _TRUE


def is_web(address: str) -> bool:
    """Tell a web address from a folder."""
    return address.lower().startswith(("http://", "https://"))


def mirror_folder(mirror: str) -> Path | None:
    """Give the folder that a mirror names, or None where it is a web address.

    Raises
    ------
    FetchError
        If it is an address of another kind, such as ``ftp://``.
    """
    if is_web(mirror):
        return None
    if mirror.lower().startswith("file://"):
        from urllib.request import url2pathname

        return Path(url2pathname(urlsplit(mirror).path))
    if "://" in mirror:
        raise FetchError(
            f"The mirror '{mirror}' (--mirror or MPU_BENCH_MIRROR) is of no kind that can be read; "
            "give an address that begins with http:// or https://, or a folder."
        )
    return Path(mirror).expanduser()


@dataclass(frozen=True)
class Locked:
    """What the data home remembers of a file that was found right.

    Attributes
    ----------
    sha256, content_sha256 : str
        Hashes of the file and of its decompressed content; equal where it is not compressed.
    bytes, content_bytes : int
        The sizes of both.
    origin : str
        The address it came from.
    time : str
        When it was found right, in UTC, ISO 8601.
    modified : int
        The file's time of modification then, in nanoseconds. With the size it tells whether to hash again.
    """

    sha256: str
    content_sha256: str
    bytes: int
    content_bytes: int
    origin: str
    time: str
    modified: int


def read_locked(file: RemoteFile, home: Home) -> Locked | None:
    """Read what is remembered of a file; None if nothing is.

    Raises
    ------
    FetchError
        If it cannot be read.
    """
    path = home.locked_path(file)
    try:
        with on_disk(path, may_miss=True):
            return Locked(**json.loads(path.read_text("utf-8")))
    except FileNotFoundError:
        return None
    except (ValueError, TypeError) as error:
        raise FetchError(
            f"{path} should hold the locked hashes of {file.name} and cannot be understood ({error}). "
            "Delete it; the file is then checked and locked anew."
        ) from error


def write_locked(file: RemoteFile, home: Home, locked: Locked) -> None:
    """Remember a file, in one step that cannot leave half a note."""
    path = home.locked_path(file)
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    with on_disk(path):
        try:
            with temporary.open("w", encoding="utf-8") as stream:
                json.dump(asdict(locked), stream, indent=1)
                stream.flush()
                os.fsync(stream.fileno())
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


@contextmanager
def on_disk(path: Path, may_miss: bool = False) -> Iterator[None]:
    """Turn the faults of the disk into messages that name the file and the fix.

    Parameters
    ----------
    path : Path
        What is read or written meanwhile, for the message.
    may_miss : bool
        Whether the caller handles `FileNotFoundError`, which then passes.
    """
    try:
        yield
    except OSError as error:
        if may_miss and isinstance(error, FileNotFoundError):
            raise
        raise FetchError(_disk_message(error, path)) from error


def _disk_message(error: OSError, path: Path) -> str:
    place = Path(error.filename) if isinstance(error.filename, str) else path
    match error.errno:
        case errno.ENOSPC | errno.EDQUOT:
            return (
                f"The disk is full: {place} could not be written. Free some space and run the same command again "
                "(a download continues where it stopped), or choose a data home on another disk with MPU_BENCH_DATA."
            )
        case errno.EACCES | errno.EPERM | errno.EROFS:
            return (
                f"No permission for {place}. Make it readable and writable for this user, or choose another data home "
                "with MPU_BENCH_DATA. A home that you may only read can be a mirror: MPU_BENCH_MIRROR=<home>/files."
            )
        case errno.ENOTDIR | errno.EEXIST:
            culprit = next((parent for parent in (place, *place.parents) if parent.is_file()), place)
            return (
                f"{culprit} is a file where a folder is needed. "
                "Move it away, or choose another data home with MPU_BENCH_DATA."
            )
        case errno.ENOENT:
            return f"{place} has disappeared while it was in use, or its folder has. Run the same command again."
        case errno.EISDIR:
            return f"{place} is a folder where a file is needed. Move it away."
    return f"{place} could not be read or written: {error.strerror or error}."


@contextmanager
def alone(name: str, home: Home, waiting: Callable[[], None]) -> Iterator[None]:
    """Keep other processes from the same work meanwhile; the lock dies with its process.

    Parameters
    ----------
    name : str
        Of the work.
    home : Home
    waiting : function
        Called before waiting for another process.
    """
    import filelock

    path = home.folder / "busy" / name
    with on_disk(home.folder):
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = filelock.FileLock(path)
        try:
            lock.acquire(timeout=0)
        except filelock.Timeout:
            waiting()
            lock.acquire()
        except NotImplementedError as error:
            raise FetchError(
                f"The file system of {home.folder} cannot lock files, which keeps processes from overwriting each "
                "other's data. Choose a data home on another one with MPU_BENCH_DATA."
            ) from error
    try:
        yield
    finally:
        lock.release()


def folder_to_disk(path: Path) -> None:
    """Bring a folder's list of names to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def size_text(count: int) -> str:
    """Write a number of bytes for people: ``"2.3 MB"``.

    Parameters
    ----------
    count : int
        Not negative.
    """
    if count < 1000:
        return f"{count} bytes"
    size = float(count)
    for unit in ("kB", "MB", "GB", "TB"):
        size /= 1000
        if size < 999.95 or unit == "TB":
            break
    return f"{size:.1f} {unit}"
