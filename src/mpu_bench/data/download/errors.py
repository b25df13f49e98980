"""Why an address does not serve, or a file is not, what is wanted, and errors of the disk with file and fix.

The former never leave the downloader: where no address is left they become one `FetchError` that lists the reasons.

    SourceError             this address cannot help
    `- TransientError       another try may help: in a moment, or later by running the same command
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from mpu_bench.errors import FetchError
from mpu_bench.files import NotRegularError
from mpu_bench.texts import one_line


class SourceError(Exception):
    """An address does not serve, or a file is not, what is wanted; the message is a phrase that says why."""


class WrongFileError(FetchError):
    """A file of the data directory is there and is not the right one."""


class TransientError(SourceError):
    """A failure that may pass; ``retry_after`` is the time the server asked for, in seconds."""

    def __init__(self, reason: str, retry_after: float | None = None) -> None:
        super().__init__(reason)
        self.retry_after = retry_after


_ANOTHER_HOME = "choose another data directory with --data or MPU_BENCH_DATA"
_FULL = (
    "The disk is full: {path} could not be written. Free some space and run the same command again (a download "
    "continues where it stopped), or choose a data directory on another disk with --data or MPU_BENCH_DATA."
)
_NO_PERMISSION = (
    f"No permission for {{path}}. Make it readable and writable for this user, or {_ANOTHER_HOME}. "
    "A home that you may only read can be a mirror: MPU_BENCH_MIRROR=<home>/files."
)
_FILE_IN_THE_WAY = f"{{path}} is a file where a folder is needed. Move it away, or {_ANOTHER_HOME}."
_OTHER = f"{{path}} could not be read or written: {{words}}. Mend that, or {_ANOTHER_HOME}."
_MESSAGES = {
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
    errno.EACCES: _NO_PERMISSION,
    errno.EPERM: _NO_PERMISSION,
    errno.EROFS: _NO_PERMISSION,
    errno.ENOTDIR: _FILE_IN_THE_WAY,
    errno.EEXIST: _FILE_IN_THE_WAY,
    errno.ENOENT: (
        "{path} cannot be made, or it or its folder has disappeared while it was in use. Run the same command again; "
        f"if that does not help, {_ANOTHER_HOME}."
    ),
    errno.EISDIR: "{path} is a folder where a file is needed. Move it away.",
    errno.ENOSYS: (
        "The file system of {path} cannot lock files, which keeps processes from overwriting each other's data. "
        "Choose a data directory on another one with --data or MPU_BENCH_DATA."
    ),
}


@contextmanager
def on_disk(path: Path) -> Iterator[None]:
    """Turn the errors of the disk into messages that name the file and the fix.

    Parameters
    ----------
    path : Path
        What is read or written meanwhile, for the message.
    """
    try:
        yield
    except OSError as error:
        raise disk_error(error, path) from error


def disk_error(error: OSError, path: Path) -> FetchError:
    """Return the error to raise for one of the disk, about the file that it names, else about ``path``."""
    blamed = Path(error.filename) if isinstance(error.filename, str) else path
    words = error.strerror or str(error)
    is_other = isinstance(error, NotRegularError)
    other = f"{{path}} {words}. Move it away." if is_other else _OTHER.replace("{words}", words)
    message = _MESSAGES.get(error.errno or 0, other)
    if message is _FILE_IN_THE_WAY:
        with suppress(OSError):
            blamed = next(
                (parent for parent in (blamed, *blamed.parents) if parent.exists() and not parent.is_dir()), blamed
            )
    return FetchError(message.replace("{path}", one_line(str(blamed), 300)))


def sync_folder(path: Path) -> None:
    """Bring a folder's list of names to the disk, where the system can do this with a folder."""
    with suppress(OSError):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
