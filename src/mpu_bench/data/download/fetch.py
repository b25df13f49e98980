"""Fetches the files of datasets into the data directory, verifies them, and pins their hashes.

Every function raises `FetchError`, whose message names the file or address and the fix.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

from rich.filesize import decimal

from mpu_bench.data.download.cache import DataDirectory, RemoteFile, is_web, mirror_folder, on_mirror, shown
from mpu_bench.data.download.errors import SourceError, TransientError, WrongFileError, on_disk
from mpu_bench.data.download.integrity import (
    Digest,
    hashes_of,
    is_accepted,
    read_pin,
)
from mpu_bench.data.download.progress import SILENT, Progress
from mpu_bench.errors import FetchError
from mpu_bench.files import is_folder


def fetch(file: RemoteFile, home: DataDirectory, progress: Progress = SILENT) -> Digest:
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
    Digest

    Raises
    ------
    FetchError
        If it cannot be fetched, or is there and wrong. A wrong file is left for the user to look at.
    """
    if file.path is None and (pin := read_pin(file, home)) and _is_from_elsewhere(file, pin.origin):
        raise FetchError(
            f"{home.path(file)} came from {shown(pin.origin)}, which the dataset card does not name: another dataset "
            f"may have a file of this name. Give the file another name in the card. To fetch it from the card's "
            f"address, delete the file and {home.pin_path(file)}; to use it as it is, delete the latter alone."
        )
    if here := hashes_of(file, home, progress, keep=True):
        return here
    busy = f"{file.name}: another process is fetching it; waiting for that"
    with home.process_lock(file.name, lambda: progress.note(busy)):
        return hashes_of(file, home, progress, keep=True) or _download(file, home, progress)


def have(file: RemoteFile, home: DataDirectory) -> bool:
    """Return whether `fetch` would find the file and find it right, without network and without writing.

    A file that was not checked before is hashed.

    Raises
    ------
    FetchError
        If the data directory, or a user file, cannot be read.
    """
    try:
        return hashes_of(file, home) is not None
    except WrongFileError:
        return False


def verify(file: RemoteFile, home: DataDirectory, progress: Progress = SILENT) -> Digest:
    """Hash a file again, whatever is remembered of it; write nothing.

    Raises
    ------
    FetchError
        If it is missing or wrong.
    """
    if verified := hashes_of(file, home, progress, anew=True):
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
    if file.path is None:
        return read_pin(file, home)
    return None if home.remote else hashes_of(file, home)


def may_hold(file: RemoteFile, home: DataDirectory, content_sha256: str, origin: str) -> bool:
    """Return whether a file has a content that came from ``origin``, or may have it as far as is known; writes nothing.

    The hashes of its card decide, if there are any; else what the file holds now, and if it is not there, its pin.

    Raises
    ------
    FetchError
        If the data directory, or a user file, cannot be read.
    """
    known = known_hashes(file, home)
    if file.path is None and not (file.hashes and known):
        try:
            known = hashes_of(file, home) or known
        except WrongFileError:
            return False
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


def _download(file: RemoteFile, home: DataDirectory, progress: Progress) -> Digest:
    """Try every mirror and address in turn."""
    from mpu_bench.data.download.transfer import PartialDownload, bring  # with which the client of the web comes

    failures: list[tuple[str, SourceError]] = []
    for address, words in _addresses(file, home):
        try:
            with on_disk(home.path(file)):
                home.path(file).parent.mkdir(parents=True, exist_ok=True)
                return bring(PartialDownload(file, home, address), words, progress)
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
        elif not is_folder(folder):
            raise FetchError(
                f"{file.name} not available: the mirror folder {shown(folder)} (--mirror or MPU_BENCH_MIRROR) "
                "does not exist or is not a folder. Correct its name, or leave it out."
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


def _nowhere(file: RemoteFile, home: DataDirectory, failures: Sequence[tuple[str, SourceError]]) -> str:
    """Return a message that no address served a file, why each did not, and what the user can do."""
    path, name = home.path(file), file.label
    reasons = "; ".join(f"{address}: {error}" for address, error in failures)
    tried = f" Tried {reasons}." if failures else ""
    by_hand = f" {file.by_hand.rstrip('.')}." if file.by_hand else ""
    if home.offline:
        source = f", for example from {shown(file.urls[0])}" if file.urls else ""
        return (
            f"{name} is not in the data directory, and --offline (or MPU_BENCH_OFFLINE) forbids fetching it.{tried} "
            f"Put it at {path} yourself{source}, or run once without --offline.{by_hand}"
        )
    if not failures:
        return f"{name} has no download address.{by_hand} Put it at {path} yourself."
    later = any(isinstance(error, TransientError) for _address, error in failures)
    again = "Check the network connection and run the same command again, name" if later else "Name"
    return (
        f"{name} could not be fetched.{tried} {again} a mirror that has it with --mirror or MPU_BENCH_MIRROR, "
        f"or put it at {path} yourself.{by_hand}"
    )
