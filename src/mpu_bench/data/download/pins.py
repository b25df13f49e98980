"""Pinned hashes: what the data directory remembers of a file that was found right."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Annotated, ClassVar

from annotated_types import Ge, Len

from mpu_bench.data.download.cache import DataDirectory
from mpu_bench.data.download.disk import on_disk
from mpu_bench.data.download.notes import read_note
from mpu_bench.data.download.remote_file import RemoteFile
from mpu_bench.errors import FetchError
from mpu_bench.files import write_text


@dataclass(frozen=True)
class PinnedHash:
    """The hashes of a file that was found right.

    Where a card knows no hash, the one that is pinned at first use decides from then on.

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
        The file's time of modification then, in nanoseconds. With the size it decides whether to hash again.
    changed, inode : int
        The time of its last change and its number then, which decide for a user file, too; see
        `mpu_bench.data.download.user_files`.
    """

    __pydantic_config__: ClassVar = {"extra": "forbid"}

    sha256: Annotated[str, Len(64, 64)]
    content_sha256: Annotated[str, Len(64, 64)]
    bytes: Annotated[int, Ge(0)]
    content_bytes: Annotated[int, Ge(0)]
    origin: str
    time: str
    modified: int
    changed: int = 0
    inode: int = 0


def read_pin(file: RemoteFile, home: DataDirectory) -> PinnedHash | None:
    """Return what is remembered of a file; None if nothing is.

    Raises
    ------
    FetchError
        If it cannot be read.
    """
    path = home.pin_path(file)
    try:
        with on_disk(path, may_miss=True):
            return read_note(path, PinnedHash)
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise FetchError(
            f"{path}: should hold the pinned hashes of {file.name}, but cannot be read ({error}). "
            "Delete it; the file is then checked and pinned anew."
        ) from error


def write_pin(file: RemoteFile, home: DataDirectory, pin: PinnedHash) -> None:
    """Remember a file."""
    path = home.pin_path(file)
    with on_disk(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, json.dumps(asdict(pin), indent=1))
