"""The first part of a file that is being downloaded: it survives a cut, an interruption and the process's death."""

from __future__ import annotations

import json
import os
import shutil
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, ClassVar

from annotated_types import Ge, Lt
from rich.filesize import decimal

from mpu_bench.data.download.cache import DataDirectory, RemoteFile
from mpu_bench.data.download.errors import SourceError, on_disk, sync_folder
from mpu_bench.data.download.integrity import read_note
from mpu_bench.files import open_regular, write_text

_SMALL_BYTES = 1 << 16


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

    @property
    def if_range(self) -> str | None:
        """What can stand in the header ``If-Range``: a strong entity tag, else the date."""
        return self.etag if self.etag and not self.etag.startswith("W/") else self.last_modified


class PartialDownload:
    """The part of a file that has arrived.

    Parameters
    ----------
    file : RemoteFile
    home : DataDirectory
    address : str or Path
        On the web, or in the folder of a mirror. Each has a part of its own: the next one may serve the file compressed
        differently.

    Attributes
    ----------
    validators : Validators
        Of the file that this is a part of.
    size : int
        How many bytes have arrived.
    resumed : bool
        Whether they came in more than one answer, so that they may be of different files.
    """

    def __init__(self, file: RemoteFile, home: DataDirectory, address: str | Path) -> None:
        self.file, self.home, self.address = file, home, address
        self.path = home.partial_path(file, str(address))
        self.validators = Validators()
        self.size = 0
        self._note = self.path.with_name(self.path.name + ".json")
        with suppress(FileNotFoundError, ValueError), on_disk(self.path, may_miss=True):
            validators = read_note(self._note, Validators)
            with open_regular(self.path) as stream:
                self.validators, self.size = validators, os.fstat(stream.fileno()).st_size
        self.resumed = self.size > 0
        if not self.continuable or self.size > (file.most_bytes or self.size):
            self.discard()

    @property
    def continuable(self) -> bool:
        """Whether the rest may be requested: without a validator only a known hash shows a rest of another file."""
        return self.validators.if_range is not None or bool(self.file.hashes)

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

    def check_size(self, size: int) -> None:
        """Refuse a file of so many bytes if that is more than it can have, than may come, or than the disk can take.

        At once rather than after hours; another address may serve the right one. What is here is kept.

        Raises
        ------
        SourceError
        """
        most, limit = self.file.most_bytes, self.home.limit
        if most is not None and size > most:
            raise SourceError(
                f"{decimal(size)} are more than the file has ({decimal(self.file.bytes or most)} by its card)"
            )
        if limit is not None and size > limit and not isinstance(self.address, Path):
            raise SourceError(f"{decimal(size)} are more than the limit of {decimal(limit)} a file (--data-limit)")
        with on_disk(self.path):
            free = shutil.disk_usage(self.path.parent).free
        if size - self.size > free:
            raise SourceError(
                f"The disk is full: {self.path.parent} has {decimal(free)} free and {decimal(size - self.size)} are "
                "needed. Free some space, or choose a data directory on another disk with MPU_BENCH_DATA"
            )
        if self.validators.total is None and self.size > max(free, _SMALL_BYTES):  # what has no end must not fill it
            raise SourceError(f"the server does not say how much it sends, and has sent more than {decimal(free)}")

    def write(self, chunk: bytes) -> None:
        """Append what arrived.

        Raises
        ------
        SourceError
            If this is more than there can be; nothing is kept of it then.
        """
        try:
            self.check_size(self.size + len(chunk))
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
            sync_folder(target.parent)

    def discard(self) -> None:
        """Forget what has arrived."""
        self.resumed = False
        self.validators = Validators()
        self.size = 0
        with on_disk(self.path):
            self.path.unlink(missing_ok=True)
            self._note.unlink(missing_ok=True)
