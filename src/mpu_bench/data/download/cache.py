"""The data directory: the folder that datasets are kept in, and the mirrors that files are looked for in first."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from mpu_bench import files
from mpu_bench.data.download.address import folder_named, mirror_folder
from mpu_bench.data.download.disk import disk_error
from mpu_bench.data.download.remote_file import RemoteFile


@dataclass(frozen=True)
class DataDirectory:
    """Where data live and how they may be had.

    Attributes
    ----------
    folder : Path
        The data directory. Source files are in its ``files`` folder.
    mirrors : tuple of str
        Web addresses or local folders, tried before a file's own addresses as ``<mirror>/<name>``.
    offline : bool
        Whether the network is out of bounds. A mirror that is a folder still serves.
    limit : int or None
        The most bytes of one file that may come over the network.
    remote : bool
        Whether the user's own files are on another machine: what was prepared of them there is all there is.
    """

    folder: Path
    mirrors: tuple[str, ...] = ()
    offline: bool = False
    limit: int | None = None
    remote: bool = False

    @classmethod
    def from_options(
        cls, folder: Path | None = None, mirror: str | None = None, offline: bool = False
    ) -> DataDirectory:
        """Combine options, the environment and the platform's defaults, in this order.

        Parameters
        ----------
        folder : Path or None
            Else ``MPU_BENCH_DATA``, else the platform's folder for users' data.
        mirror : str or None
            Else ``MPU_BENCH_MIRROR``, else no mirror.
        offline : bool
            Whether the network is out of bounds.

        Raises
        ------
        FetchError
            If the mirror is of an unknown kind, or no folder can have the name that was given.
        """
        default = platformdirs.user_data_dir("mpu-bench", appauthor=False)
        chosen = folder or os.environ.get("MPU_BENCH_DATA") or default
        mirror = mirror or os.environ.get("MPU_BENCH_MIRROR")
        if mirror:
            mirror_folder(mirror)
        return cls(folder_named(chosen, "--data or MPU_BENCH_DATA"), (mirror,) if mirror else (), offline)

    def process_lock(self, name: str, waiting: Callable[[], object]) -> AbstractContextManager[None]:
        """Return a lock that keeps other processes from the work called ``name``.

        Parameters
        ----------
        name : str
        waiting : function
            Called before waiting for another process.
        """
        return files.process_lock(self.folder / "busy" / name, waiting, lambda error: disk_error(error, self.folder))

    def path(self, file: RemoteFile) -> Path:
        """Return where a file is, or would be."""
        return file.path or self.folder / "files" / file.name

    def pin_path(self, file: RemoteFile) -> Path:
        """Return where the hashes of a file are pinned."""
        if file.path is not None:
            key = hashlib.sha256(str(file.path).encode(errors="surrogatepass")).hexdigest()[:16]
            return self.folder / "own" / f"{key}.lock.json"
        return self.folder / "files" / f"{file.name}.lock.json"

    def partial_path(self, file: RemoteFile, address: str) -> Path:
        """Return where the first part of a file from an address is kept until it is complete."""
        of_address = hashlib.sha256(address.encode(errors="surrogatepass")).hexdigest()[:8]
        return self.folder / "files" / f"{file.name}.{of_address}.part"

    def partials(self, file: RemoteFile) -> list[Path]:
        """List what unfinished downloads of a file have left, from any address."""
        path = self.path(file)
        ours = re.compile(re.escape(path.name) + r"\.[0-9a-f]{8}\.part(\.json)?")
        return sorted(part for part in path.parent.glob("*.part*") if ours.fullmatch(part.name))
