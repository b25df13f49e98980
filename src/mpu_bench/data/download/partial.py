"""The first part of a file that is being downloaded: it survives a cut, an interruption and the process's death."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from rich.filesize import decimal

from mpu_bench.data.download.cache import DataHome
from mpu_bench.data.download.compression import chunks_of
from mpu_bench.data.download.disk import on_disk, sync_folder
from mpu_bench.data.download.errors import SourceError
from mpu_bench.data.download.remote_file import RemoteFile
from mpu_bench.errors import FetchError
from mpu_bench.files import write_text


@dataclass(frozen=True)
class Validators:
    """What a server says of a file (RFC 9110, 8.8), so that a part is only continued with the rest of the same file.

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
    def if_range(self) -> str | None:
        """What can stand in the header ``If-Range``: a strong entity tag, else the date."""
        return self.etag if self.etag and not self.etag.startswith("W/") else self.last_modified


class PartialDownload:
    """The part of a file that has arrived, with its hash so far.

    Parameters
    ----------
    file : RemoteFile
    home : DataHome
    address : str
        Each address has a part of its own: the next one may serve the file compressed differently.

    Attributes
    ----------
    validators : Validators
        Of the file that this is a part of.
    size : int
        How many bytes have arrived.
    resumed : bool
        Whether they came in more than one answer, so that they may be of different files.
    """

    def __init__(self, file: RemoteFile, home: DataHome, address: str) -> None:
        self.path = home.partial_path(file, address)
        self._note = self.path.with_name(self.path.name + ".json")
        self.validators = Validators()
        self.size = 0
        self._hash = hashlib.sha256()
        # without any validator only a known hash can tell that the rest belongs to another file
        self._needs_validator = not file.hashes
        self._expected_bytes, self._limit = file.bytes or 0, home.limit
        self.resumed = self._load()

    def _load(self) -> bool:
        """Take up what an earlier process left, if it can be continued safely."""
        try:
            with on_disk(self.path, may_miss=True):
                self.validators = Validators(**json.loads(self._note.read_text("utf-8")))
                if self.continuable:
                    with self.path.open("rb") as stream:
                        for chunk in chunks_of(stream):
                            self._take(chunk)
        except (FileNotFoundError, ValueError, TypeError):
            self.validators = Validators()
        return self.size > 0

    @property
    def continuable(self) -> bool:
        """Whether the rest may be asked for."""
        return self.validators.if_range is not None or not self._needs_validator

    @property
    def complete(self) -> bool:
        """Whether all has arrived that the server announced."""
        return self.size > 0 and self.size == self.validators.total

    @property
    def sha256(self) -> str:
        """The hash of what has arrived."""
        return self._hash.hexdigest()

    def _take(self, chunk: bytes) -> None:
        self._hash.update(chunk)
        self.size += len(chunk)

    def restart(self, validators: Validators) -> None:
        """Begin at the first byte of the file that ``validators`` describe."""
        self.discard()
        self.validators = validators
        with on_disk(self.path):
            write_text(self._note, json.dumps(vars(validators)))
            self.path.touch()

    def check_room(self) -> None:
        """Refuse at once what the disk cannot take, rather than after hours."""
        free = shutil.disk_usage(self.path.parent).free
        missing = (self.validators.total or 0) - self.size
        if missing > free:
            raise FetchError(
                f"The disk is full: {self.path.parent} has {decimal(free)} free and {decimal(missing)} are needed. "
                "Free some space, or choose a data home on another disk with MPU_BENCH_DATA."
            )

    def check_limit(self) -> None:
        """Refuse a file that is larger than may come over the network, as soon as its size is known.

        Raises
        ------
        SourceError
        """
        size = max(self._expected_bytes, self.validators.total or 0, self.size)
        if self._limit is not None and size > self._limit:
            raise SourceError(
                f"{decimal(size)} are more than the limit of {decimal(self._limit)} a file (--data-limit)"
            )

    def write(self, chunk: bytes) -> None:
        """Append what arrived."""
        with on_disk(self.path), self.path.open("ab") as stream:
            stream.write(chunk)
        self._take(chunk)

    def sync(self) -> None:
        """Bring what has arrived to the disk."""
        with on_disk(self.path), self.path.open("rb+") as stream:
            os.fsync(stream.fileno())

    def rename(self, target: Path) -> None:
        """Make the part the file, in one step."""
        with on_disk(self.path):
            self.path.replace(target)
            self._note.unlink(missing_ok=True)
            with suppress(OSError):  # not every system can do this with a folder
                sync_folder(target.parent)

    def discard(self) -> None:
        """Forget what has arrived."""
        self.resumed = False
        self.validators = Validators()
        self.size = 0
        self._hash = hashlib.sha256()
        with on_disk(self.path):
            self.path.unlink(missing_ok=True)
            self._note.unlink(missing_ok=True)
