"""Prepared data from the client to a machine that has no way out: in pieces, checked by hash, once a machine."""

from __future__ import annotations

import hashlib
import shutil
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from mpu_bench.data.cards.schema import Card
from mpu_bench.data.download.cache import DataHome
from mpu_bench.data.download.progress import Progress
from mpu_bench.data.prepare.load import prepared_folder
from mpu_bench.experiment.pool.cluster.host import lack_of_room

PIECE_BYTES = 8 << 20  #: that pass through the scheduler at once

#: calls a function of this module on the machine, with these arguments, and returns what it returns
Call = Callable[..., Any]


def data_bytes(card: Card, home: DataHome) -> int:
    """Return the bytes of a prepared dataset."""
    return sum(path.stat().st_size for path in prepared_folder(card, home).glob("*.npy"))


def send(card: Card, home: DataHome, host: str, call: Call, progress: Progress) -> str:
    """Send a prepared dataset to a machine; return why it cannot be, if so.

    Parameters
    ----------
    card : Card
        Of a dataset that is prepared here.
    home : DataHome
    host : str
        The name of the machine.
    call : function
        ``call(function, *arguments)`` calls a function there.
    progress : Progress
    """
    folder = prepared_folder(card, home)
    hashes = {path.name: _hash_of(path) for path in sorted(folder.iterdir())}
    sizes = {name: (folder / name).stat().st_size for name in hashes}
    lacking = call(begin, folder.name, hashes, sizes)
    if isinstance(lacking, str):
        return lacking
    with progress.transfer(f"send {card.name} to {host}", sum(sizes[name] for name in lacking)) as advance:
        for name in lacking:
            with (folder / name).open("rb") as file:
                place = 0
                while piece := file.read(PIECE_BYTES):
                    call(receive, folder.name, name, place, piece)
                    place += len(piece)
                    advance(len(piece))
    fault: str = call(end, folder.name, hashes)
    return fault


# ------------------------------------------------------------------ there


def begin(name: str, hashes: Mapping[str, str], sizes: Mapping[str, int]) -> list[str] | str:
    """Return which files of a prepared dataset are not here yet, or why they cannot be taken."""
    folder = _folder(name)
    if _is_whole(folder, hashes):
        return []
    try:
        if lacking := lack_of_room(folder.parent, sum(sizes.values())):
            return lacking
        coming = _coming(folder)
        coming.mkdir(parents=True, exist_ok=True)
        return [file for file, hash_ in hashes.items() if _hash_of(coming / file) != hash_]
    except OSError as fault:
        return f"{folder}: {fault.strerror}"


def receive(name: str, file: str, place: int, piece: bytes) -> None:
    """Write a piece of a file."""
    path = _coming(_folder(name)) / Path(file).name
    with path.open("r+b" if place else "wb") as stream:
        stream.seek(place)
        stream.write(piece)


def end(name: str, hashes: Mapping[str, str]) -> str:
    """Put a dataset in its place once all its files are what they were; return what is wrong, if something is."""
    folder = _folder(name)
    if _is_whole(folder, hashes):
        return ""
    coming = _coming(folder)
    for file, hash_ in hashes.items():
        if _hash_of(coming / file) != hash_:
            return f"{file} came damaged"
    if folder.exists():  # of other files
        folder.rename(folder.with_name(f".{folder.name}.{time.time_ns()}.old"))
    coming.rename(folder)
    for left in folder.parent.glob(f".{folder.name}.*.old"):
        shutil.rmtree(left, ignore_errors=True)
    return ""


def _folder(name: str) -> Path:
    return DataHome.from_options().folder / "prepared" / Path(name).name


def _coming(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.coming")


def _is_whole(folder: Path, hashes: Mapping[str, str]) -> bool:
    return all(_hash_of(folder / file) == hash_ for file, hash_ in hashes.items())


def _hash_of(path: Path) -> str:
    """Return the hash of a file; nothing where there is none."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        return ""
