"""Files that are read in bounds and written whole or not at all, locks between processes, and CSV text."""

from __future__ import annotations

import csv
import errno
import io
import lzma
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from mpu_bench.errors import StoreError, UserError

if TYPE_CHECKING:
    from filelock import BaseFileLock


_NOT_REGULAR = (
    (stat.S_ISDIR, errno.EISDIR, "is a folder, not a file"),
    (stat.S_ISFIFO, errno.EINVAL, "is a pipe, not a file"),
    (stat.S_ISSOCK, errno.EINVAL, "is a socket, not a file"),
    (stat.S_ISCHR, errno.EINVAL, "is a device, not a file"),
    (stat.S_ISBLK, errno.EINVAL, "is a device, not a file"),
)


def open_regular(path: Path) -> BinaryIO:
    """Open a file for reading, and nothing but a file: a pipe would block for ever, a device never end.

    Parameters
    ----------
    path : Path

    Returns
    -------
    binary stream
        Without a buffer.

    Raises
    ------
    OSError
        If it cannot be opened, is no regular file, or no file can have this name; ``strerror`` says why.
    """
    try:
        _check_regular(os.stat(path).st_mode, path)  # noqa: PTH116 - of a name that no file can have, too
        # what has taken the file's place since is not waited for, and is looked at again
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except ValueError:  # a NUL, or half of a surrogate pair
        raise OSError(errno.EINVAL, "no file can have this name", str(path)) from None
    try:
        _check_regular(os.fstat(descriptor).st_mode, path)
        return os.fdopen(descriptor, "rb", buffering=0)
    except BaseException:
        os.close(descriptor)
        raise


def _check_regular(mode: int, path: Path) -> None:
    for is_kind, number, words in _NOT_REGULAR:
        if is_kind(mode):
            raise OSError(number, words, str(path))


def read_bounded(path: Path, most_bytes: int, error: type[UserError]) -> bytes:
    """Return the content of a regular file that is not larger than a file of its kind can be.

    Parameters
    ----------
    path : Path
    most_bytes : int
    error : type of UserError
        What to raise.

    Raises
    ------
    UserError
        Of the type given: there is no such file, it is none, cannot be read or is larger.
    """
    try:
        with open_regular(path) as stream:
            pieces, size = [], 0
            while size <= most_bytes and (piece := stream.read(most_bytes + 1 - size)):
                pieces.append(piece)
                size += len(piece)
    except FileNotFoundError:
        raise error(f"{path}: no such file") from None
    except OSError as problem:
        words = problem.strerror or str(problem)
        raise error(f"{path}: {words if words.startswith('is a ') else f'cannot be read: {words}'}") from None
    if size > most_bytes:
        raise error(f"{path}: is larger than {most_bytes:,} bytes, the most that such a file may have")
    return b"".join(pieces)


def csv_text(rows: Sequence[Mapping[str, Any]], columns: Iterable[str] | None = None) -> str:
    """Return rows as CSV, with these columns; by default with every key of the rows, in the order met."""
    text = io.StringIO()
    if columns is None:
        columns = dict.fromkeys(name for row in rows for name in row)
    writer = csv.DictWriter(text, list(columns), restval="", extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def read_csv(
    path: Path, types: Mapping[str, Callable[[str], Any]], needed: Iterable[str] | None = None
) -> list[dict[str, Any]]:
    """Return the rows of a CSV file of results, each cell as its column's type.

    Parameters
    ----------
    path : Path
        With a name in ``.xz``, it is compressed.
    types : mapping
        Column -> function of a cell's text. Rows have these columns; others of the file are left out.
    needed : iterable of str, optional
        Columns that must be there, all by default; of the others a row has what the function makes of no text.

    Raises
    ------
    StoreError
        If the file cannot be read, a column is missing, or a cell is of another type.
    """
    try:
        content = path.read_bytes()
        text = (lzma.decompress(content) if path.suffix == ".xz" else content).decode()
        rows = list(csv.DictReader(io.StringIO(text, newline="")))
    except (OSError, ValueError, lzma.LZMAError, csv.Error) as error:
        raise StoreError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    missing = [name for name in (types if needed is None else needed) if rows and name not in rows[0]]
    if missing:
        raise StoreError(f"{path}: has no column '{missing[0]}'; it was written by another version of mpu-bench")
    try:
        return [{name: typed(row.get(name) or "") for name, typed in types.items()} for row in rows]
    except ValueError as error:
        raise StoreError(f"{path}: cannot be read: {error}") from None


@contextmanager
def written_whole(path: Path) -> Iterator[BinaryIO]:
    """Open a file for writing that takes its name only once it is complete.

    Whatever happens, ``path`` holds what it held before or all that was written: the stream is a temporary file in
    the same folder, which is removed on failure.

    Parameters
    ----------
    path : Path
        In a folder that exists.

    Yields
    ------
    binary stream
        For writing.
    """
    # not a file of `tempfile`, which nobody but its owner may read
    temporary = path.with_name(f".{path.name}.{os.urandom(4).hex()}")
    try:
        with temporary.open("xb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise


def write_text(path: Path, text: str) -> None:
    """Write a text file in UTF-8 whole or not at all, its line ends as they are."""
    with written_whole(path) as stream:
        stream.write(text.encode())


def write_all(folder: Path, texts: Mapping[str, str]) -> None:
    """Write text files into a folder, which is made if need be, each file whole or not at all.

    Parameters
    ----------
    folder : Path
    texts : mapping of str to str
        Name of a file -> its text.

    Raises
    ------
    StoreError
        If the folder or a file cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            write_text(folder / name, text)
    except OSError as error:
        raise StoreError(f"{folder}: cannot be written: {error.strerror}") from None


def write_compressed(path: Path, text: str) -> None:
    """Write a text as .xz, whole or not at all; the same text gives the same bytes."""
    with written_whole(path) as stream:
        stream.write(lzma.compress(text.encode(), preset=9))


@contextmanager
def process_lock(
    path: Path, held: UserError | Callable[[], object], explain: Callable[[OSError], UserError]
) -> Iterator[None]:
    """Keep other processes from the same work meanwhile; the lock dies with its process.

    Parameters
    ----------
    path : Path
        The file to lock; it and its folder are made.
    held : UserError or function
        What to do where another process has the lock: raise this error, or call this function and then wait.
    explain : function
        Returns the error to raise where the disk refuses; ``ENOSYS`` where its file system cannot lock at all.

    Raises
    ------
    UserError
        ``held``, or what ``explain`` returns. Errors of the work itself pass as they are.
    """
    import filelock

    lock = filelock.FileLock(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _acquire(lock, held)
    except NotImplementedError as error:
        raise explain(OSError(errno.ENOSYS, "its file system cannot lock files")) from error
    except OSError as error:
        raise explain(error) from error
    try:
        yield
    finally:
        lock.release()


def _acquire(lock: BaseFileLock, held: UserError | Callable[[], object]) -> None:
    try:
        lock.acquire(timeout=0)
    except TimeoutError:  # which filelock's own error is
        if isinstance(held, UserError):
            raise held from None
        held()
        lock.acquire()
