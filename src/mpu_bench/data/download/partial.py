"""The first part of a file that is being downloaded: it survives a cut, an interruption and the process's death."""

from __future__ import annotations

import json
import os
import shutil
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, ClassVar, Self

from annotated_types import Ge, Lt
from rich.filesize import decimal

from mpu_bench.data.download.cache import DataDirectory, RemoteFile
from mpu_bench.data.download.errors import SourceError, on_disk, sync_folder
from mpu_bench.data.download.integrity import read_note
from mpu_bench.files import open_regular, write_text

_SMALL_BYTES = 1 << 16
_LONGEST_VALIDATOR = 200


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

    __pydantic_config__: ClassVar = {"extra": "forbid"}

    etag: str | None = None
    last_modified: str | None = None
    total: Annotated[int, Ge(0), Lt(10**18)] | None = None  # as in a header: no disk holds more

    @classmethod
    def of(cls, etag: str | None, last_modified: str | None, total: int | None) -> Self:
        """Return what headers say; of what cannot be sent back, nothing."""
        return cls(_sendable(etag), _sendable(last_modified), total)

    def __post_init__(self) -> None:
        if any(_sendable(text) != text for text in (self.etag, self.last_modified)):
            raise ValueError("it cannot stand in a header")

    @property
    def if_range(self) -> str | None:
        """What can stand in the header ``If-Range``: a strong entity tag, else the date."""
        return self.etag if self.etag and not self.etag.startswith("W/") else self.last_modified


def _sendable(text: str | None) -> str | None:
    is_sendable = text and text.isascii() and text.isprintable() and len(text) <= _LONGEST_VALIDATOR
    return text if is_sendable else None


class PartialDownload:
    """The part of a file that has arrived.

    Parameters
    ----------
    file : RemoteFile
    home : DataDirectory
    address : str
        Each address has a part of its own: the next one may serve the file compressed differently.

    Attributes
    ----------
    validators : Validators
        Of the file that this is a part of.
    size : int
        How many bytes have arrived.
    expected : int
        How many the whole has by its card; 0 where that does not say.
    hashed : bool
        Whether the hash of the file is known: without a validator only that tells that a rest is of another file.
    resumed : bool
        Whether they came in more than one answer, so that they may be of different files.
    """

    def __init__(self, file: RemoteFile, home: DataDirectory, address: str) -> None:
        self.path = home.partial_path(file, address)
        self.validators = Validators()
        self.size = 0
        self.hashed = bool(file.hashes)
        self._note = self.path.with_name(self.path.name + ".json")
        self.expected = file.bytes or 0
        self._file, self._limit = file, home.limit
        with suppress(FileNotFoundError, ValueError), on_disk(self.path, may_miss=True):
            validators = read_note(self._note, Validators)
            with open_regular(self.path) as stream:
                self.validators, self.size = validators, os.fstat(stream.fileno()).st_size
        self.resumed = self.size > 0
        if not self.continuable or self.size > (file.most_bytes or self.size):
            self.discard()

    @property
    def continuable(self) -> bool:
        """Whether the rest may be asked for."""
        return self.validators.if_range is not None or self.hashed

    @property
    def complete(self) -> bool:
        """Whether all has arrived that the server announced."""
        return self.size > 0 and self.size == self.validators.total

    def restart(self, validators: Validators) -> None:
        """Begin at the first byte of the file that ``validators`` describe."""
        self.discard()
        self.validators = validators
        with on_disk(self.path):
            write_text(self._note, json.dumps(vars(validators)))
            self.path.touch()

    def resume(self, total: int | None) -> None:
        """Continue after what is here, of a file whose size may only now be known."""
        self.resumed = True
        self.validators = replace(self.validators, total=self.validators.total or total)

    def check_size(self, size: int, network: bool = True) -> None:
        """Refuse a file of so many bytes if that is more than it can have, than may come, or than the disk can take.

        At once rather than after hours; another address may serve the right one. What is here is kept.

        Raises
        ------
        SourceError
        """
        most = self._file.most_bytes
        if most is not None and size > most:
            raise SourceError(
                f"{decimal(size)} are more than the file has ({decimal(self.expected or most)} by its card)"
            )
        if network and self._limit is not None and size > self._limit:
            raise SourceError(
                f"{decimal(size)} are more than the limit of {decimal(self._limit)} a file (--data-limit)"
            )
        with on_disk(self.path):
            free = shutil.disk_usage(self.path.parent).free
        if size - self.size > free:
            raise SourceError(
                f"The disk is full: {self.path.parent} has {decimal(free)} free and {decimal(size - self.size)} are "
                "needed. Free some space, or choose a data directory on another disk with MPU_BENCH_DATA"
            )
        if self.validators.total is None and self.size > max(free, _SMALL_BYTES):  # what has no end must not fill it
            raise SourceError(f"the server does not say how much it sends, and has sent more than {decimal(free)}")

    def write(self, chunk: bytes, network: bool = True) -> None:
        """Append what arrived.

        Parameters
        ----------
        chunk : bytes
        network : bool
            Whether it came over the network, from which not more than a limit may come.

        Raises
        ------
        SourceError
            If this is more than there can be; nothing is kept of it then.
        """
        try:
            self.check_size(self.size + len(chunk), network)
        except SourceError:
            self.discard()
            raise
        with on_disk(self.path), self.path.open("ab") as stream:
            stream.write(chunk)
        self.size += len(chunk)

    def rename(self, target: Path) -> None:
        """Bring the part to the disk, and make it the file in one step."""
        with on_disk(self.path):
            with self.path.open("rb+") as stream:
                os.fsync(stream.fileno())
            self.path.replace(target)
            self._note.unlink(missing_ok=True)
            with suppress(OSError):  # not every system can do this with a folder
                sync_folder(target.parent)

    def discard(self) -> None:
        """Forget what has arrived."""
        self.resumed = False
        self.validators = Validators()
        self.size = 0
        with on_disk(self.path):
            self.path.unlink(missing_ok=True)
            self._note.unlink(missing_ok=True)
