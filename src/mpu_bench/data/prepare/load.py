"""Prepared data: parsed once, stored as array files, loaded ever after by mapping them into memory.

A prepared folder is named after the dataset and a hash of its preparation; its ``meta.json`` holds the hashes of
the raw files' contents. It is written under another name and renamed when it is complete, so it is there as a whole
or not at all. It is made again when the preparation changes, when another content of a raw file was accepted, or
when its files are not what ``meta.json`` says.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from mpu_bench.data.cards.schema import Card, digest
from mpu_bench.data.download.cache import Home, RemoteFile, alone, folder_to_disk, on_disk, read_locked
from mpu_bench.data.download.progress import Progress, Silent

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from mpu_bench.core.problem import Problem
    from mpu_bench.core.rows import Rows
    from mpu_bench.data.download.fetch import Fetched

State = Literal["prepared", "fetched", "missing", "embedded", "generated"]
Meta = dict[str, Any]

_META = "meta.json"
_COMPRESSED = (".gz", ".bz2", ".xz", ".Z")
_SILENT = Silent()


@dataclass(frozen=True)
class Description:
    """What is known of a dataset without loading it.

    Attributes
    ----------
    name, title : str
    state : str
        ``prepared``; ``fetched``: the raw files are there; ``missing``: some are not; ``embedded`` and ``generated``:
        not prepared yet, but no file is needed.
    fingerprint : str or None
        As in `Problem`; None if the content is not known yet.
    n, d, n_test : int or None
        Rows of the training part, columns, rows of the test part: as prepared, else as the card expects.
    classes : tuple of str
        The classes' names by index.
    missing : tuple of RemoteFile
        The files that `load` would fetch.
    nbytes : int
        The size of the prepared arrays on disk, 0 if they are not there.
    folder : Path
        Where the prepared arrays are, or would be.
    pairs : tuple of int
        Training rows of the two largest and of the two smallest classes; empty if they are not counted yet.
    """

    name: str
    title: str
    state: State
    fingerprint: str | None
    n: int | None
    d: int | None
    n_test: int | None
    classes: tuple[str, ...]
    missing: tuple[RemoteFile, ...]
    nbytes: int
    folder: Path
    pairs: tuple[int, ...] = ()


def prepared_folder(card: Card, home: Home) -> Path:
    """Give the folder of a dataset's prepared arrays; it need not exist."""
    return home.folder / "prepared" / f"{card.name}-{card.preparation_key()}"


def describe(card: Card, home: Home) -> Description:
    """Say what is there of a dataset, without network and without loading an array.

    Parameters
    ----------
    card : Card
    home : Home
    """
    meta = _valid_meta(card, home)
    missing = () if meta else _missing(card, home)
    state: State = "prepared" if meta else "missing" if missing else "fetched"
    if state == "fetched" and card.kind in ("embedded", "generated"):
        state = "embedded" if card.kind == "embedded" else "generated"
    n, n_test = (meta["n"], meta["n_test"]) if meta else card.expected_rows()
    d = meta["features"] if meta else card.kept_features or (card.features if card.drop_columns == "none" else None)
    if d and card.augment is not None:
        d += 1
    fingerprint = _fingerprint(card, meta["content"] if meta else _known_content(card, home))
    nbytes = sum(entry["bytes"] for entry in meta["arrays"].values()) if meta else 0
    place = prepared_folder(card, home)
    return Description(
        card.name, card.title, state, fingerprint, n, d, n_test, card.class_names, missing, nbytes, place,
        _pairs(card, meta) if meta else (),
    )  # fmt: skip


def _pairs(card: Card, meta: Meta) -> tuple[int, int]:
    """Count the training rows of the two largest classes of the problem, and of the two smallest."""
    rows = dict.fromkeys(_class_of_each(card).tolist(), 0)
    for index, count in zip(_class_of_each(card).tolist(), meta["counts"]["train"], strict=True):
        rows[index] += count
    counts = sorted(rows.values())
    return sum(counts[-2:]), sum(counts[:2])


def load_problem(card: Card, home: Home, progress: Progress = _SILENT) -> Problem:
    """Give a dataset as a problem; fetch and prepare it first where need be.

    Parameters
    ----------
    card : Card
    home : Home
    progress : Progress
        Is told of downloads and of the preparation.

    Returns
    -------
    Problem
        Its arrays are mapped into memory, copy on write: a change stays in this process. Augmented rows are copies.

    Raises
    ------
    DataError
        If a raw file cannot be read as the card says, or does not come to what the card expects.
    FetchError
        If a raw file cannot be had, or the disk refuses.
    """
    meta = _valid_meta(card, home)
    if meta is not None and _is_sound(prepared_folder(card, home), meta):
        with contextlib.suppress(FileNotFoundError):  # another process may be making it anew
            return _problem(card, prepared_folder(card, home), meta)
    meta = _prepare(card, home, progress)
    return _problem(card, prepared_folder(card, home), meta)


def clean_prepared(card: Card, home: Home) -> int:
    """Delete a dataset's prepared arrays, of all its options, and its raw files; give the bytes freed.

    Files that no address serves stay: the user put them there by hand.
    """
    from mpu_bench.data.download.fetch import clean as clean_file

    freed = 0
    ours = re.compile(re.escape(card.name) + r"-[0-9a-f]{12}")
    with on_disk(home.folder):
        for path in sorted((home.folder / "prepared").glob(f"{card.name}-*")):
            if ours.fullmatch(path.name) and path.is_dir():
                freed += sum(found.stat().st_size for found in path.iterdir())
                _remove(path)
    return freed + sum(clean_file(file, home) for file in card.remote_files if file.urls)


def _missing(card: Card, home: Home) -> tuple[RemoteFile, ...]:
    from mpu_bench.data.download.fetch import have

    return tuple(file for file in card.remote_files if not have(file, home))


def _fingerprint(card: Card, content: Mapping[str, str] | None) -> str | None:
    """Identify content and preparation; how the raw files are compressed does not matter."""
    if content is None:
        return None
    augmented = [] if card.augment is None else [{"augment": card.augment}]
    return digest([card.preparation(), list(content.values()), card.positives, *augmented])[:16]


def _known_content(card: Card, home: Home) -> dict[str, str] | None:
    """Give the hashes of the contents of all raw files, if the data home or the card knows them."""
    known = {}
    for file in card.remote_files:
        locked = read_locked(file, home)
        plain = file.sha256[0] if len(file.sha256) == 1 and not file.name.endswith(_COMPRESSED) else None
        content = locked.content_sha256 if locked else file.content_sha256 or plain
        if content is None:
            return None
        known[file.name] = content
    return known


def _valid_meta(card: Card, home: Home) -> Meta | None:
    """Read what a prepared folder holds; None if it is not there, incomplete, or made of other contents."""
    place = prepared_folder(card, home)
    try:
        meta: Meta = json.loads((place / _META).read_text("utf-8"))
        complete = all((place / name).stat().st_size == entry["bytes"] for name, entry in meta["arrays"].items())
        contents = [(read_locked(file, home), meta["content"][file.name]) for file in card.remote_files]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    same = all(locked is None or locked.content_sha256 == content for locked, content in contents)
    return meta if complete and same else None


def _is_sound(place: Path, meta: Meta) -> bool:
    from mpu_bench.data.prepare.npy import checksum

    try:
        return all(checksum(place / name) == entry["checksum"] for name, entry in meta["arrays"].items())
    except OSError:
        return False


def _prepare(card: Card, home: Home, progress: Progress) -> Meta:
    """Fetch, build and store, unless another process has just done so."""
    fetched = _fetch(card, home, progress)
    place = prepared_folder(card, home)
    busy = f"{card.name}: another process is preparing it; waiting for that"
    with on_disk(place), alone(f"{place.name}.prepared", home, lambda: progress.note(busy)):
        place.parent.mkdir(parents=True, exist_ok=True)
        meta = _valid_meta(card, home)
        if meta is not None and _is_sound(place, meta):
            return meta
        for left in place.parent.glob(f".{place.name}.*"):
            _remove(left)
        return _store(card, home, fetched, progress)


def _fetch(card: Card, home: Home, progress: Progress) -> dict[str, Fetched]:
    from mpu_bench.data.download.fetch import fetch

    return {file.name: fetch(file, home, progress) for file in card.remote_files}


def _store(card: Card, home: Home, fetched: Mapping[str, Fetched], progress: Progress) -> Meta:
    """Build into a folder of another name and rename it; whatever goes wrong, nothing is left half-written."""
    from mpu_bench.data.prepare.build import build
    from mpu_bench.data.readers.blocks import RawFile

    place, began = prepared_folder(card, home), time.monotonic()
    temporary = place.with_name(f".{place.name}.{os.getpid()}")
    try:
        temporary.mkdir()
        with progress.transfer(f"prepare {card.name}", _work(card, home)) as advance:
            files = {name: RawFile(name, file.path, advance) for name, file in fetched.items()}
            built = build(card, files, temporary)
        meta = {
            "name": card.name,
            "storage": built.storage,
            "n": sum(built.counts["train"]),
            "n_test": sum(built.counts["test"]),
            "features": built.features,
            "classes": list(card.classes),
            "counts": built.counts,
            "measured": built.measured,
            "content": {name: file.content_sha256 for name, file in fetched.items()},
            "origins": {name: file.origin for name, file in fetched.items()},
            "arrays": _entries(temporary),
            "preparation": card.preparation(),
            "time": datetime.now(UTC).isoformat(timespec="seconds"),
            "seconds": round(time.monotonic() - began, 3),
        }
        _write_meta(temporary, meta)
        _remove(place)
        temporary.rename(place)
        folder_to_disk(place.parent)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    return meta


def _work(card: Card, home: Home) -> int | None:
    """Count the bytes that a preparation reads; the training part twice if its categories must be collected."""
    sizes = {file.name: locked.content_bytes for file in card.remote_files if (locked := read_locked(file, home))}
    again = card.train if card.coded else ()
    return sum(sizes.values()) + sum(sizes.get(name, 0) for name in again) or None


def _entries(place: Path) -> dict[str, dict[str, int]]:
    from mpu_bench.data.prepare.npy import checksum

    arrays = sorted(place.glob("*.npy"))
    return {path.name: {"bytes": path.stat().st_size, "checksum": checksum(path)} for path in arrays}


def _write_meta(place: Path, meta: Meta) -> None:
    with (place / _META).open("w", encoding="utf-8") as stream:
        json.dump(meta, stream, indent=1)
        stream.flush()
        os.fsync(stream.fileno())
    folder_to_disk(place)


def _remove(place: Path) -> None:
    """Remove a folder so that no half of it is ever seen under its name; open memory maps live on."""
    if not place.is_dir():
        return
    doomed = place.with_name(f".{place.name.lstrip('.')}.{os.getpid()}.old")
    shutil.rmtree(doomed, ignore_errors=True)
    place.rename(doomed)
    shutil.rmtree(doomed)


def _problem(card: Card, place: Path, meta: Meta) -> Problem:
    from mpu_bench.core.problem import Problem

    test, features = _rows(place, "test", meta), meta["features"]
    train = test if card.stream else _rows(place, "train", meta)
    if card.augment is not None:
        from mpu_bench.data.prepare.augment import augment

        train, test = augment(train, features, card.augment), augment(test, features, card.augment)
        features += 1
    whole = Problem(
        name=card.name,
        train=train,
        labels=_labels(card, place, "test" if card.stream else "train"),
        test=test,
        test_labels=_labels(card, place, "test"),
        features=features,
        classes=card.class_names,
        fingerprint=_fingerprint(card, meta["content"]) or "",
    )
    if not card.stream:
        return whole
    from mpu_bench.data.prepare import streams

    return streams.problem(whole, card, meta["measured"], meta["counts"]["train"], _class_of_each(card))


#: the files of a part's rows, in the order of the fields of their tuple
_FILES = {"dense": ("values",), "sparse": ("values", "columns", "starts"), "ones": ("columns", "starts")}


def _rows(place: Path, part: str, meta: Meta) -> Rows:
    from mpu_bench.core.rows import Dense, Ones, Sparse
    from mpu_bench.data.prepare.npy import open_array

    kind: Any = {"dense": Dense, "sparse": Sparse, "ones": Ones}[meta["storage"]]
    made: Rows = kind(*(open_array(place / f"{part}-{field}.npy") for field in _FILES[meta["storage"]]))
    return made


def _labels(card: Card, place: Path, part: str) -> NDArray[np.int32]:
    from mpu_bench.data.prepare.npy import open_array

    labels: NDArray[np.int32] = open_array(place / f"{part}-labels.npy")
    return labels if card.positive is None else _class_of_each(card)[labels]


def _class_of_each(card: Card) -> NDArray[np.int32]:
    """Give the class of the problem that each class of the card is in."""
    import numpy as np

    names = list(card.classes)
    return np.array([i if card.positive is None else name in card.positive for i, name in enumerate(names)], np.int32)
