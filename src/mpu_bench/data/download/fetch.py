"""Fetches the files of datasets into the data directory, verifies them, and pins their hashes.

Every function raises `FetchError`, whose message names the file or address and the fix.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from rich.filesize import decimal

from mpu_bench.data.download.address import is_web, mirror_folder, on_mirror, shown
from mpu_bench.data.download.cache import DataDirectory, RemoteFile
from mpu_bench.data.download.compression import chunks_of
from mpu_bench.data.download.errors import SourceError, TransientError, UnpinnedError, on_disk
from mpu_bench.data.download.integrity import (
    Digest,
    digest_file,
    hashes_of,
    is_accepted,
    read_pin,
    verify_digest,
    write_pin,
)
from mpu_bench.data.download.partial import PartialDownload, Validators
from mpu_bench.data.download.progress import SILENT, Progress
from mpu_bench.errors import FetchError
from mpu_bench.files import NotRegularError, open_regular

_BY_HAND = "put there by hand"


@dataclass(frozen=True)
class Fetched:
    """A file of the data directory that was found right.

    Attributes
    ----------
    path : Path
        Where it is; read it with `compression.open_content`.
    sha256, content_sha256 : str
        Hashes of the file and of its decompressed content; equal where it is not compressed.
    origin : str
        The address it came from.
    """

    path: Path
    sha256: str
    content_sha256: str
    origin: str


def fetch(file: RemoteFile, home: DataDirectory, progress: Progress = SILENT) -> Fetched:
    """Make sure that a file is in the data directory and right.

    A file that was right before is not read again as long as its size and time of modification stay the same. One
    that the user put there is checked and used. Else mirrors and addresses are tried in order. Of several
    processes that want the same file one downloads it and the others wait for it.

    Parameters
    ----------
    file : RemoteFile
    home : DataDirectory
    progress : Progress
        Shows what happens.

    Returns
    -------
    Fetched

    Raises
    ------
    FetchError
        If it cannot be fetched, or is there and wrong. A wrong file is left for the user to look at.
    """
    if file.path is not None:
        return _fetched(file, home, hashes_of(file, home, progress, keep=True))
    if (pin := read_pin(file, home)) and _is_from_elsewhere(file, pin.origin):
        raise FetchError(
            f"{home.path(file)} came from {shown(pin.origin)}, which the dataset card does not name: another dataset "
            f"may have a file of this name. Give the file another name in the card. To fetch it from the card's "
            f"address, delete the file and {home.pin_path(file)}; to use it as it is, delete the latter alone."
        )
    if unchanged := _unchanged(file, home):
        return unchanged
    with on_disk(home.folder):
        home.path(file).parent.mkdir(parents=True, exist_ok=True)
    busy = f"{file.name}: another process is fetching it; waiting for that"
    with home.process_lock(file.name, lambda: progress.note(busy)):
        return _unchanged(file, home) or _verified(file, home, progress) or _download(file, home, progress)


def have(file: RemoteFile, home: DataDirectory) -> bool:
    """Return whether `fetch` would find the file in the data directory, without network and without writing.

    A file that was not checked before is hashed.

    Raises
    ------
    FetchError
        If the data directory cannot be read.
    """
    if file.path is not None:
        return bool(hashes_of(file, home))
    if _unchanged(file, home):
        return True
    try:
        verify_digest(file, digest_file(home.path(file), file, SILENT), read_pin(file, home))
    except (SourceError, FileNotFoundError):
        return False
    return True


def verify(file: RemoteFile, home: DataDirectory, progress: Progress = SILENT) -> Fetched:
    """Hash a file of the data directory again, whatever is remembered of it.

    Raises
    ------
    FetchError
        If it is missing or wrong.
    """
    if file.path is not None:
        return _fetched(file, home, hashes_of(file, home, progress, anew=True, keep=True))
    if verified := _verified(file, home, progress):
        return verified
    raise FetchError(
        f"{file.name} is not in the data directory: {home.path(file)} does not exist. Fetch it, or put it there."
    )


def known_hashes(file: RemoteFile, home: DataDirectory) -> Digest | None:
    """Return the hashes of a file as far as they are known, without network and without writing.

    Raises
    ------
    FetchError
        If the data directory, or a user file, cannot be read.
    """
    if file.path is not None and home.remote:
        return None
    return read_pin(file, home) if file.path is None else hashes_of(file, home)


def may_hold(file: RemoteFile, home: DataDirectory, content_sha256: str, origin: str) -> bool:
    """Return whether a file has a content that came from ``origin``, or may have it as far as is known; writes nothing.

    The hashes of its card decide, if there are any; else what the file holds now, and if it is not there, its pin.

    Raises
    ------
    FetchError
        If the data directory, or a user file, cannot be read.
    """
    known = known_hashes(file, home)
    if file.path is None and not (file.hashes and known) and not _unchanged(file, home):
        try:
            known = digest_file(home.path(file), file, SILENT)
        except SourceError:
            return False
        except FileNotFoundError:
            pass
    if known is None:
        return not _is_from_elsewhere(file, origin)
    is_wrong = _is_from_elsewhere(file, known.origin) or (file.hashes and not is_accepted(file, known))
    return not is_wrong and known.content_sha256 == content_sha256


def _is_from_elsewhere(file: RemoteFile, origin: str) -> bool:
    """Return whether a file of which no hash is known came from an address that its card does not name.

    It may then be the file of another dataset, or of another version. That of a mirror may be of any dataset.
    """
    is_of_mirror = origin.partition("://")[2].partition("/")[2].removeprefix(".../") == file.name
    return is_web(origin) and not file.hashes and not is_of_mirror and origin not in map(shown, file.urls)


def _fetched(file: RemoteFile, home: DataDirectory, digest: Digest) -> Fetched:
    return Fetched(home.path(file), digest.sha256, digest.content_sha256, shown(digest.origin))


def clean(file: RemoteFile, home: DataDirectory) -> int:
    """Delete a file of the data directory and what unfinished downloads of it left; keep its pinned hashes.

    Returns
    -------
    int
        The number of bytes that this freed.
    """
    if file.path is not None:  # it is the user's
        return 0
    freed = 0
    with on_disk(home.path(file)):
        for path in (home.path(file), *home.partials(file)):
            with suppress(FileNotFoundError):
                size = path.lstat().st_size  # of a link, not of what it leads to
                path.unlink()
                freed += size
    return freed


def forget(file: RemoteFile, home: DataDirectory) -> None:
    """Forget the hashes that were pinned of a file of which the card knows none: what it holds could not be read."""
    if not file.hashes and file.path is None:
        with on_disk(home.pin_path(file)):
            home.pin_path(file).unlink(missing_ok=True)


def _unchanged(file: RemoteFile, home: DataDirectory) -> Fetched | None:
    """Recognise, without reading it, a file that was found right before."""
    path, pin = home.path(file), read_pin(file, home)
    if pin is None or (file.hashes and not is_accepted(file, pin)):
        return None
    try:
        with on_disk(path, may_miss=True):
            status = path.stat()
    except FileNotFoundError:
        return None
    unchanged = (status.st_size, status.st_mtime_ns) == (pin.bytes, pin.modified)
    return _fetched(file, home, pin) if unchanged else None


def _verified(file: RemoteFile, home: DataDirectory, progress: Progress) -> Fetched | None:
    """Verify and pin a file that is in the data directory; None if there is none."""
    path, pin = home.path(file), read_pin(file, home)
    try:
        digest = digest_file(path, file, progress)
        verify_digest(file, digest, pin)
    except FileNotFoundError:
        return None
    except SourceError as error:
        raise FetchError(_wrong(file, home, error, pin)) from error
    origin = shown(pin.origin) if pin and pin.sha256 == digest.sha256 else _BY_HAND
    return _pin(file, home, digest, origin, path)


def _pin(file: RemoteFile, home: DataDirectory, digest: Digest, origin: str, path: Path) -> Fetched:
    """Pin the hashes of a file that was found right, which is at ``path`` now and will be in its place."""
    with on_disk(path):
        state = path.stat()
    pin = digest.pinned(origin, state)
    write_pin(file, home, pin)
    return _fetched(file, home, pin)


def _download(file: RemoteFile, home: DataDirectory, progress: Progress) -> Fetched:
    """Try every mirror and address in turn."""
    failures: list[tuple[str, SourceError]] = []
    for address, words in _addresses(file, home):
        try:
            return _from(PartialDownload(file, home, address), words, progress)
        except SourceError as error:
            failures.append((words, error))
            progress.note(f"{file.name}: {words}: {error}")
    raise FetchError(_nowhere(file, home, failures))


def _addresses(file: RemoteFile, home: DataDirectory) -> list[tuple[str | Path, str]]:
    """List where a file may be had, folders as paths, and how that is shown."""
    addresses: list[tuple[str | Path, str]] = []
    for mirror in home.mirrors:
        folder = mirror_folder(mirror)
        if folder is None:
            addresses.append((f"{mirror.rstrip('/')}/{quote(file.name)}", on_mirror(mirror, file.name)))
        elif reason := _not_a_folder(folder):
            raise FetchError(
                f"{file.name} not available: the mirror folder {shown(folder)} (--mirror or MPU_BENCH_MIRROR) "
                f"{reason}. Correct its name, or leave it out."
            )
        else:
            addresses.append((folder / file.name, shown(folder / file.name)))
    addresses += [(url, shown(url)) for url in file.urls]
    return [entry for entry in addresses if isinstance(entry[0], Path) or not home.offline]


def obstacle(file: RemoteFile, home: DataDirectory) -> str:
    """Return in few words why `fetch` cannot get a file that is not in the data directory; nothing if it may.

    Raises
    ------
    FetchError
        If the folder of a mirror is none.
    """
    addresses = [address for address, _words in _addresses(file, home)]
    if any(isinstance(address, Path) and address.is_file() for address in addresses):
        return ""
    if all(isinstance(address, Path) for address in addresses):
        return "offline" if home.offline and (file.urls or not file.by_hand) else "manual download only"
    if home.limit is not None and file.bytes is not None and file.bytes > home.limit:
        return f"larger than {decimal(home.limit)}"
    return ""


def _not_a_folder(path: Path) -> str | None:
    """Return why files cannot be sought in a folder."""
    try:
        return None if stat.S_ISDIR(path.stat().st_mode) else "is not a folder"
    except FileNotFoundError:
        return "does not exist"
    except OSError as error:  # a name that is too long, or no permission
        return f"cannot be read ({error.strerror})"


def _from(partial: PartialDownload, words: str, progress: Progress) -> Fetched:
    """Download from one address, verify, then rename into place."""
    file, home = partial.file, partial.home
    try:
        _fill(partial, progress)
    except SourceError:
        if not partial.size or not partial.continuable:
            partial.discard()
        raise
    resumed = partial.resumed
    try:
        digest = _digest_partial(partial, progress)
    except SourceError as error:
        if not resumed:
            raise
        # the pieces may have been of two files; once more from the first byte
        progress.note(f"{file.name}: {error}; downloading all of it again")
        _fill(partial, progress)
        digest = _digest_partial(partial, progress)
    fetched = _pin(file, home, digest, words, partial.path)
    partial.rename(home.path(file))
    with on_disk(home.path(file)):
        for left in home.partials(file):
            left.unlink(missing_ok=True)
    return fetched


def _fill(partial: PartialDownload, progress: Progress) -> None:
    if isinstance(partial.address, Path):
        _copy(partial.address, partial, progress)
    elif is_web(partial.address):
        from mpu_bench.data.download.http import download

        download(partial, progress)
    else:
        raise SourceError("not an address that begins with http:// or https://")


def _copy(source: Path, partial: PartialDownload, progress: Progress) -> None:
    """Copy from a mirror folder, all or nothing; a link would change when the user changes his file."""
    try:
        with open_regular(source) as stream:
            size = os.fstat(stream.fileno()).st_size
            partial.check_size(size)
            partial.restart(Validators(total=size))
            with progress.transfer(f"copy {partial.file.name}", size) as advance:
                for chunk in chunks_of(stream):
                    partial.write(chunk)
                    advance(len(chunk))
        if partial.size != size:
            raise SourceError("it changed while it was read")
    except BaseException as error:
        partial.discard()
        if isinstance(error, FileNotFoundError):
            raise SourceError("there is no such file") from error
        if isinstance(error, OSError):
            words, is_other = str(error.strerror), isinstance(error, NotRegularError)
            raise SourceError(f"it {words}" if is_other else f"it cannot be read ({words})") from error
        raise


def _digest_partial(partial: PartialDownload, progress: Progress) -> Digest:
    """Verify a complete download, and forget it if it is not the file."""
    try:
        digest = digest_file(partial.path, partial.file, progress)
        verify_digest(partial.file, digest, read_pin(partial.file, partial.home))
    except SourceError:
        partial.discard()
        raise
    return digest


def _size(file: RemoteFile) -> str:
    return f" ({decimal(file.bytes)})" if file.bytes is not None else ""


def _nowhere(file: RemoteFile, home: DataDirectory, failures: Sequence[tuple[str, SourceError]]) -> str:
    """Return a message that no address served a file, why each did not, and what the user can do."""
    path, name = home.path(file), f"{file.name}{_size(file)}"
    reasons = [f"{address}: {error}" for address, error in failures]
    tried = f" Tried {'; '.join(reasons)}." if reasons else ""
    by_hand = f" {file.by_hand.rstrip('.')}." if file.by_hand else ""
    if home.offline:
        source = f", for example from {shown(file.urls[0])}" if file.urls else ""
        return (
            f"{name} is not in the data directory, and --offline (or MPU_BENCH_OFFLINE) forbids fetching it.{tried} "
            f"Put it at {path} yourself{source}, or run once without --offline.{by_hand}"
        )
    if not failures:
        return f"{name} has no download address.{by_hand} Put it at {path} yourself."
    accept = ""
    if any(isinstance(error, UnpinnedError) for _address, error in failures):
        accept = f" To accept the new file deliberately, delete {home.pin_path(file)} and fetch again."
    later = any(isinstance(error, TransientError) for _address, error in failures)
    again = "Check the network connection and run the same command again, name" if later else "Name"
    return (
        f"{name} could not be fetched.{tried} {again} a mirror that has it with --mirror or MPU_BENCH_MIRROR, "
        f"or put it at {path} yourself.{accept}{by_hand}"
    )


def _wrong(file: RemoteFile, home: DataDirectory, error: SourceError, pin: Digest | None) -> str:
    """Return a message that a file of the data directory is wrong, and what the user can do."""
    path = home.path(file)
    message = f"{path} is not usable as {file.name}{_size(file)}: {error}. Move it away to have it fetched again"
    if pin and not file.hashes:
        return f"{message}, or delete {home.pin_path(file)} to accept it as it is deliberately."
    return f"{message}, or put the right file there."
