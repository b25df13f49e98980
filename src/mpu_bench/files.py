"""Files that are read in bounds and written whole or not at all, locks between processes, and CSV text."""

from __future__ import annotations

import csv
import errno
import fcntl
import io
import lzma
import os
import re
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from mpu_bench.errors import StoreError, UserError
from mpu_bench.texts import cell, counted, one_line, publishable, uncell

if TYPE_CHECKING:
    from filelock import BaseFileLock

_MAX_CSV_BYTES = 2**30
_PIECE_BYTES = 2**20  # read at once: a stream without a buffer takes memory for all that is requested
_MAX_XZ_MEMORY = 2**28  # bytes, for the dictionary of a compressed file
_SECONDS_BETWEEN_WORDS = 60.0  # of who waits for a lock
_NOT_REGULAR = (
    (stat.S_ISDIR, errno.EISDIR, "is a folder, not a file"),
    (stat.S_ISFIFO, errno.EINVAL, "is a pipe, not a file"),
    (stat.S_ISSOCK, errno.EINVAL, "is a socket, not a file"),
    (lambda mode: not stat.S_ISREG(mode), errno.EINVAL, "is a device, not a file"),
)


def is_file(path: Path) -> bool:
    """Return whether there is a regular file; of a path that no system takes, such as a very long one, there is not."""
    return os.path.isfile(path)  # noqa: PTH113 - of a name that no file can have, too


def is_folder(path: Path) -> bool:
    """Return whether there is a folder; see `is_file`."""
    return os.path.isdir(path)  # noqa: PTH112


class NotRegularError(OSError):
    """What stands at a path is not a regular file; ``strerror`` says what it is."""


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
        If it cannot be opened, is not a regular file, or no file can have this name; ``strerror`` says why.
    """
    try:
        _check_regular(os.stat(path).st_mode, path)  # noqa: PTH116 - of a name that no file can have, too
        return os.fdopen(os.open(path, os.O_RDONLY), "rb", buffering=0)
    except ValueError:  # a NUL, or half of a surrogate pair
        raise OSError(errno.EINVAL, "no file can have this name", str(path)) from None


def _check_regular(mode: int, path: Path) -> None:
    for is_kind, number, words in _NOT_REGULAR:
        if is_kind(mode):
            raise NotRegularError(number, words, str(path))


def read_bounded(path: Path, max_bytes: int, error: type[UserError]) -> bytes:
    """Return the content of a regular file that is not larger than a file of its kind can be.

    Parameters
    ----------
    path : Path
    max_bytes : int
    error : type of UserError
        What to raise.

    Raises
    ------
    UserError
        Of the type given: there is no such file, it is none, cannot be read or is larger.
    """
    try:
        with open_regular(path) as stream:
            content = read_beginning(stream, max_bytes + 1)
    except FileNotFoundError:
        raise error(f"{path}: no such file") from None
    except OSError as problem:
        words = problem.strerror or str(problem)
        cannot = "" if isinstance(problem, NotRegularError) else "cannot be read: "
        raise error(f"{path}: {cannot}{words}") from None
    if len(content) > max_bytes:
        raise error(f"{path}: is larger than {max_bytes:,} bytes, the limit")
    return content


def read_text(path: Path, max_bytes: int, error: type[UserError]) -> str:
    """Return the content of a text file in UTF-8; see `read_bounded`.

    Raises
    ------
    UserError
        Of the type given: it cannot be read, is larger, or is no such text.
    """
    try:
        return read_bounded(path, max_bytes, error).decode("utf-8-sig")  # some editors begin with a mark
    except UnicodeDecodeError as problem:
        raise error(f"{path}: is not a UTF-8 text file ({problem.reason} at byte {problem.start})") from None


def read_beginning(stream: BinaryIO, max_bytes: int) -> bytes:
    """Return the first bytes of a stream, or all that it has, in memory for what there is."""
    pieces = []
    while max_bytes and (piece := stream.read(min(max_bytes, _PIECE_BYTES))):
        pieces.append(piece)
        max_bytes -= len(piece)
    return b"".join(pieces)


def csv_text(rows: Sequence[Mapping[str, Any]], columns: Iterable[str] | None = None) -> str:
    """Return rows as CSV, with these columns; by default with every key of the rows, in the order met.

    No spreadsheet takes a text for a formula, nothing in it is obeyed by a terminal, and it may be published.
    """
    text = io.StringIO()
    if columns is None:
        columns = dict.fromkeys(name for row in rows for name in row)
    names = list(columns)
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(map(_cell, names))
    writer.writerows([_cell(row.get(name, "")) for name in names] for row in rows)
    return text.getvalue()


def _cell(value: Any) -> Any:
    return cell(publishable(value, sys.maxsize)) if isinstance(value, str) else value


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
    content = read_bounded(path, _MAX_CSV_BYTES, StoreError)
    try:
        text = (_decompressed(content) if path.suffix == ".xz" else content).decode("utf-8-sig")
        reader = csv.reader(io.StringIO(text, newline=""), strict=True)
        heading = next(reader, None)
        numbered = [(reader.line_num, cells) for cells in reader if cells]
    except (ValueError, lzma.LZMAError, csv.Error) as error:
        raise StoreError(f"{path}: cannot be read: {error}") from None
    if heading is None:
        raise StoreError(f"{path}: cannot be read: it is empty")
    indices = {uncell(name): index for index, name in enumerate(heading)}
    missing = [name for name in (types if needed is None else needed) if name not in indices]
    if missing:
        raise StoreError(f"{path}: has no column '{missing[0]}'; it was written by another version of mpu-bench")
    for number, cells in numbered:
        if len(cells) != len(heading):
            raise StoreError(
                f"{path}, line {number}: has {counted(len(cells), 'cell')}, and the heading {len(heading)}"
            )
    columns = []
    for name, typed in types.items():
        index = indices.get(name)
        texts = {number: "" if index is None else cells[index] for number, cells in numbered}
        columns.append(_typed(path, name, texts, typed))
    return [dict(zip(types, row, strict=True)) for row in zip(*columns, strict=True)]


def _typed(path: Path, name: str, texts: Mapping[int, str], typed: Callable[[str], Any]) -> list[Any]:
    """Return the cells of a column, of which most are the same as others, as its type."""
    values: dict[str, Any] = {}
    for number, text in texts.items():
        if text not in values:
            try:
                values[text] = typed(uncell(text))
            except (ValueError, OverflowError) as error:
                raise StoreError(f"{path}, line {number}: {name} cannot be read: {one_line(str(error), 200)}") from None
    return [values[text] for text in texts.values()]


def _decompressed(content: bytes) -> bytes:
    reader = lzma.LZMADecompressor(memlimit=_MAX_XZ_MEMORY)
    text = reader.decompress(content, _MAX_CSV_BYTES)
    if not reader.eof or reader.unused_data:
        raise ValueError("it is incomplete, or holds more than what is written here")
    return text


@contextmanager
def written_whole(path: Path) -> Iterator[BinaryIO]:
    """Open a file for writing that takes its name only once it is complete.

    Whatever happens, ``path`` holds what it held before or all that was written: the stream is a temporary file in
    the same folder, which is removed on failure. What a process that was killed has left of its own is removed, too.

    Parameters
    ----------
    path : Path
        In a folder that exists.

    Yields
    ------
    binary stream
        For writing.
    """
    if path.exists() and not path.is_file():  # such as /dev/null, which a file would replace
        raise OSError(errno.EEXIST, f"{path.name} is not a regular file", str(path))
    temporary, stream = _temporary(path)
    try:
        with stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
            temporary.replace(path)  # while the lock is held, so that nobody takes it for left behind
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
    _remove_left(path)


def _temporary(path: Path) -> tuple[Path, BinaryIO]:
    """Open a file beside another, locked as long as it is open."""
    while True:
        # not a file of `tempfile`, which nobody but its owner may read
        temporary = path.with_name(f".{path.name}.{os.urandom(4).hex()}")
        stream = temporary.open("xb")
        if _lock(stream) and os.fstat(stream.fileno()).st_nlink:
            return temporary, stream
        stream.close()  # another process was between the two lines and has taken it for left behind


def _remove_left(path: Path) -> None:
    """Remove the temporary files for a path that no process holds any more."""
    ours = re.compile(re.escape(f".{path.name}.") + "[0-9a-f]{8}")
    with suppress(OSError):
        for left in path.parent.iterdir():
            if ours.fullmatch(left.name):
                with left.open("r+b") as stream:
                    if _lock(stream, without_locks=False):
                        left.unlink(missing_ok=True)


def _lock(stream: BinaryIO, without_locks: bool = True) -> bool:
    """Return whether a file that is open can be locked; ``without_locks`` where its file system has none."""
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return without_locks
    return True


def write_text(path: Path, text: str) -> None:
    """Write a text file in UTF-8 whole or not at all, its line ends as they are."""
    write_together({path: text})


@contextmanager
def as_store_error(path: Path) -> Iterator[None]:
    """Turn what the disk refuses, or a path that no system takes, into one message.

    Raises
    ------
    StoreError
        Naming ``path``, and why.
    """
    if "\0" in str(path):
        raise StoreError(f"{path}: cannot be written: a path holds no NUL")
    try:
        yield
    except OSError as error:
        raise StoreError(f"{path}: cannot be written: {error.strerror or error}") from None


def write_all(folder: Path, contents: Mapping[str, str | bytes]) -> None:
    """Write files into a folder, which is made if need be; where one cannot be written, none is.

    Parameters
    ----------
    folder : Path
    contents : mapping of str to str or bytes
        Name of a file -> what it holds.

    Raises
    ------
    StoreError
        If the folder or a file cannot be written.
    """
    with as_store_error(folder):
        folder.mkdir(parents=True, exist_ok=True)
        write_together({folder / name: content for name, content in contents.items()})


def write_together(contents: Mapping[Path, str | bytes]) -> None:
    """Write files, in folders that exist; where one cannot be written, none is."""
    with ExitStack() as whole:
        for path, content in contents.items():
            stream = whole.enter_context(written_whole(path))
            stream.write(content if isinstance(content, bytes) else content.encode(errors="backslashreplace"))
            stream.flush()  # a full disk is noticed before any file takes its name


@contextmanager
def process_lock(
    path: Path, busy: UserError | Callable[[], object], explain: Callable[[OSError], UserError]
) -> Iterator[None]:
    """Keep other processes from the same work meanwhile; the lock dies with its process.

    Parameters
    ----------
    path : Path
        The file to lock; it and its folder are made.
    busy : UserError or function
        What to do where another process has the lock: raise this error, or call this function, then wait, and call it
        again every minute.
    explain : function
        Returns the error to raise where the disk refuses; ``ENOSYS`` where its file system cannot lock at all.

    Raises
    ------
    UserError
        ``busy``, or what ``explain`` returns. Errors of the work itself pass as they are.
    """
    import filelock

    lock = filelock.FileLock(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _acquire(lock, busy)
    except NotImplementedError as error:
        raise explain(OSError(errno.ENOSYS, "its file system cannot lock files")) from error
    except OSError as error:
        raise explain(error) from error
    try:
        yield
    finally:
        lock.release()


def _acquire(lock: BaseFileLock, busy: UserError | Callable[[], object]) -> None:
    seconds = 0.0
    while not lock.is_locked:
        try:
            lock.acquire(timeout=seconds)
        except TimeoutError:  # which filelock's own error is
            if isinstance(busy, UserError):
                raise busy from None
            busy()
            seconds = _SECONDS_BETWEEN_WORDS
