"""The first part of a file that is being downloaded: it survives a cut, an interruption and the process's death."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from mpu_bench.data.download.cache import Home, RemoteFile, folder_to_disk, on_disk, size_text
from mpu_bench.data.download.compression import Unfit, chunks_of
from mpu_bench.errors import FetchError


@dataclass(frozen=True)
class Identity:
    """What a server says of a file, so that a part of it is only ever continued with the rest of the same file.

    Attributes
    ----------
    etag, last_modified : str or None
        The headers of these names.
    total : int or None
        The size of the whole file.
    """

    etag: str | None = None
    last_modified: str | None = None
    total: int | None = None

    @property
    def validator(self) -> str | None:
        """What can stand in ``If-Range``: a strong entity tag, else the date."""
        return self.etag if self.etag and not self.etag.startswith("W/") else self.last_modified


class Partial:
    """The part of a file that has arrived, with its hash so far.

    Parameters
    ----------
    file : RemoteFile
    home : Home
    address : str
        Each address has a part of its own: the next one may serve the file compressed differently.

    Attributes
    ----------
    identity : Identity
        Of the file that this is a part of.
    size : int
        How many bytes have arrived.
    pieced : bool
        Whether they came in more than one answer, so that they may be of different files.
    """

    def __init__(self, file: RemoteFile, home: Home, address: str) -> None:
        self.path = home.partial_path(file, address)
        self._note = self.path.with_name(self.path.name + ".json")
        self.identity = Identity()
        self.size = 0
        self._hash = hashlib.sha256()
        self._stream: BinaryIO | None = None
        # without any validator only a known hash can tell that the rest belongs to another file
        self._needs_validator = not file.hashes
        self._expected, self._limit = file.bytes or 0, home.limit
        self.pieced = self._load()

    def _load(self) -> bool:
        """Take up what an earlier process left, if it can be continued safely."""
        try:
            with on_disk(self.path, may_miss=True):
                self.identity = Identity(**json.loads(self._note.read_text("utf-8")))
                if self.continuable:
                    with self.path.open("rb") as stream:
                        for chunk in chunks_of(stream):
                            self._take(chunk)
        except (FileNotFoundError, ValueError, TypeError):
            self.identity = Identity()
        return self.size > 0

    @property
    def continuable(self) -> bool:
        """Whether the rest may be asked for."""
        return self.identity.validator is not None or not self._needs_validator

    @property
    def complete(self) -> bool:
        """Whether all has arrived that the server announced."""
        return self.size > 0 and self.size == self.identity.total

    @property
    def sha256(self) -> str:
        """The hash of what has arrived."""
        return self._hash.hexdigest()

    def _take(self, chunk: bytes) -> None:
        self._hash.update(chunk)
        self.size += len(chunk)

    def restart(self, identity: Identity) -> None:
        """Begin at the first byte of the file that ``identity`` describes."""
        self.discard()
        self.identity = identity
        with on_disk(self.path):
            self._note.write_text(json.dumps(vars(identity)), "utf-8")

    def __enter__(self) -> Partial:
        with on_disk(self.path):
            self._stream = self.path.open("ab", buffering=0)
        return self

    def __exit__(self, *_exception: object) -> None:
        stream, self._stream = self._stream, None
        if stream:
            with on_disk(self.path):
                stream.close()

    def check_room(self) -> None:
        """Refuse at once what the disk cannot take, rather than after hours."""
        free = shutil.disk_usage(self.path.parent).free
        missing = (self.identity.total or 0) - self.size
        if missing > free:
            raise FetchError(
                f"The disk is full: {self.path.parent} has {size_text(free)} free and {size_text(missing)} are needed. "
                "Free some space, or choose a data home on another disk with MPU_BENCH_DATA."
            )

    def check_limit(self) -> None:
        """Refuse a file that is larger than may come over the network, as soon as its size is known.

        Raises
        ------
        Unfit
        """
        size = max(self._expected, self.identity.total or 0, self.size)
        if self._limit is not None and size > self._limit:
            raise Unfit(f"{size_text(size)} are more than the limit of {size_text(self._limit)} a file (--data-limit)")

    def write(self, chunk: bytes) -> None:
        """Append what arrived; only inside the ``with`` block that opens the part."""
        assert self._stream is not None
        with on_disk(self.path):
            rest = memoryview(chunk)
            while rest:  # an unbuffered file may take less than all
                rest = rest[self._append(self._stream, rest) :]

    def _append(self, stream: BinaryIO, rest: memoryview) -> int:
        count = stream.write(rest)
        self._take(bytes(rest[:count]))
        return count

    def finish(self, target: Path, before: Callable[[], object]) -> None:
        """Make the part the file: to the disk first, then under its name in one step.

        Parameters
        ----------
        target : Path
            The file's name.
        before : function
            Called once the part is safely on the disk.
        """
        with on_disk(self.path):
            with self.path.open("rb+") as stream:
                os.fsync(stream.fileno())
            before()
            self.path.replace(target)
            self._note.unlink(missing_ok=True)
            with suppress(OSError):  # not every system can do this with a folder
                folder_to_disk(target.parent)

    def discard(self) -> None:
        """Forget what has arrived."""
        self.pieced = False
        self.identity = Identity()
        self.size = 0
        self._hash = hashlib.sha256()
        with on_disk(self.path):
            self.path.unlink(missing_ok=True)
            self._note.unlink(missing_ok=True)
