"""Prepared data: parsed once, stored as array files, loaded ever after by mapping them into memory.

A prepared folder is named after the dataset and a hash of its preparation; its ``meta.json`` holds the hashes of
the source files' contents. It is written under another name and renamed when it is complete, so it is there as a whole
or not at all. It is made again when the preparation changes, when another content of a source file was accepted, or
when its files are not what ``meta.json`` says.
"""

from __future__ import annotations

import contextlib
import filecmp
import json
import os
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    NotRequired,  # which pydantic reads
    TypeVar,
)

from typing_extensions import TypedDict

from mpu_bench.data.cards import catalog
from mpu_bench.data.cards.schema import UNIVERSAL_OPTIONS, Card, StorageOfRows, digest
from mpu_bench.data.download import fetch
from mpu_bench.data.download.cache import DataDirectory, RemoteFile
from mpu_bench.data.download.errors import on_disk, sync_folder
from mpu_bench.data.download.integrity import Digest, check_unchanged, read_note
from mpu_bench.data.download.progress import SILENT, Progress
from mpu_bench.errors import DataError
from mpu_bench.files import read_bounded, write_text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from mpu_bench.core.problem import Problem
    from mpu_bench.core.rows import Rows
    from mpu_bench.preprocessing import Preprocessing

State = Literal["prepared", "fetched", "missing", "embedded", "generated"]


class Meta(TypedDict):
    """What a prepared folder says of itself in ``meta.json``.

    ``storage`` names the tuple of core.rows; ``counts`` are the rows of each class of the card, by part; ``measured``
    is what a stream must know of its training part; ``preprocessing`` is whether what was done to raw rows is kept
    beside it (of an older one it is not known); ``content`` and ``origins`` are the hash of each source file's
    content and its address; ``arrays`` are the size and the CRC of every array file.
    """

    name: str
    storage: StorageOfRows
    n: int
    n_test: int
    features: int
    classes: list[str]
    counts: dict[str, list[int]]
    measured: dict[str, list[float]]
    content: dict[str, str]
    origins: dict[str, str]
    arrays: dict[str, dict[str, int]]
    preparation: dict[str, Any]
    time: str
    seconds: float
    preprocessing: NotRequired[bool]


META, _MAX_META_BYTES = "meta.json", 1 << 26  #: the file in which a prepared folder says what it is
_PREPROCESSING, _MAX_PREPROCESSING_BYTES = "preprocessing.json", 1 << 28
_COMPRESSED = (".gz", ".bz2", ".xz", ".Z")


@dataclass(frozen=True)
class Description:
    """What is known of a dataset without loading it.

    Attributes
    ----------
    state : str
        ``prepared``; ``fetched``: the source files are there; ``missing``: some are not; ``embedded`` and
        ``generated``: not prepared yet, but no file is needed.
    fingerprint : str or None
        As in `Problem`; None if the content is not known yet.
    n, d, n_test : int or None
        Rows of the training part, columns, rows of the test part: as prepared, else as the card expects.
    classes : tuple of str
        The classes' names by index.
    missing : tuple of RemoteFile
        The files that `load` would fetch.
    pairs : tuple of int
        Training rows of the two largest and of the two smallest classes; empty if they are not counted yet.
    storage : str
        How rows are stored, as of the card; empty if they are not prepared.
    """

    state: State
    fingerprint: str | None
    n: int | None
    d: int | None
    n_test: int | None
    classes: tuple[str, ...]
    missing: tuple[RemoteFile, ...]
    pairs: tuple[int, ...] = ()
    storage: str = ""


def obtainable(card: Card, home: DataDirectory) -> Card:
    """Return the card of what `load_problem` reads: this one, or the one that it names ``instead``.

    That is one that is prepared or whose files are there, this one first; else the other where an obstacle is known
    to fetching this one, and none to fetching the other. What is returned names no other.
    """
    if card.instead is None:
        return card
    options = {*card.options, *UNIVERSAL_OPTIONS}
    other = catalog.card(card.instead, card.model_dump(mode="json", include=options, exclude_none=True))
    both = card.model_copy(update={"instead": None}), other
    missing = [[file for file in candidate.remote_files if not fetch.have(file, home)] for candidate in both]
    for candidate, files in zip(both, missing, strict=True):
        if not files or _valid_meta(candidate, home):
            return candidate
    hindered, other_hindered = (any(fetch.obstacle(file, home) for file in files) for files in missing)
    return both[hindered and not other_hindered]


def prepared_folder(card: Card, home: DataDirectory) -> Path:
    """Return the folder of a dataset's prepared arrays; it need not exist."""
    card = obtainable(card, home)
    return home.folder / "prepared" / f"{card.name}-{card.preparation_key()}"


def describe(card: Card, home: DataDirectory) -> Description:
    """Describe what is there of a dataset, without network and without loading an array.

    Parameters
    ----------
    card : Card
    home : DataDirectory
    """
    card = obtainable(card, home)
    meta = _valid_meta(card, home)
    missing = () if meta else tuple(file for file in card.remote_files if not fetch.have(file, home))
    state: State = "prepared" if meta else "missing" if missing else "fetched"
    if state == "fetched" and card.kind in ("embedded", "generated"):
        state = "embedded" if card.kind == "embedded" else "generated"
    n, n_test = (meta["n"], meta["n_test"]) if meta else card.expected_rows()
    d = meta["features"] if meta else card.known_features
    if d and card.augment is not None:
        d += 1
    fingerprint = _fingerprint(card, meta["content"] if meta else _known_content(card, home))
    return Description(
        state=state,
        fingerprint=fingerprint,
        n=n,
        d=d,
        n_test=n_test,
        classes=card.class_names,
        missing=missing,
        pairs=_pairs(card, meta) if meta else (),
        storage=meta["storage"] if meta else "",
    )


def _pairs(card: Card, meta: Meta) -> tuple[int, int]:
    """Count the training rows of the two largest classes of the problem, and of the two smallest."""
    rows = dict.fromkeys(card.merged, 0)
    for index, count in zip(card.merged, meta["counts"]["train"], strict=True):
        rows[index] += count
    counts = sorted(rows.values())
    return sum(counts[-2:]), sum(counts[:2])


def load_problem(card: Card, home: DataDirectory, progress: Progress = SILENT) -> Problem:
    """Return a dataset as a problem; fetch and prepare it first where need be.

    Parameters
    ----------
    card : Card
    home : DataDirectory
    progress : Progress
        Shows downloads and the preparation.

    Returns
    -------
    Problem
        Its arrays are mapped into memory, copy on write: a change stays in this process. Augmented rows are copies.

    Raises
    ------
    DataError
        If a source file cannot be read as the card says, or does not come to what the card expects.
    FetchError
        If a source file cannot be had, or the disk refuses.
    """
    card = obtainable(card, home)
    return _while_it_stands(card, home, progress, lambda meta: _problem(card, home, meta))


_Result = TypeVar("_Result")
_TRIES = 5


def _while_it_stands(
    card: Card, home: DataDirectory, progress: Progress, make: Callable[[Meta], _Result], anew: bool = False
) -> _Result:
    """Prepare a dataset where need be, and return what is made of it while nobody replaces it by rows of another file.

    ``anew``: prepare it, too, where its preprocessing is not kept.
    """
    for _ in range(_TRIES):
        meta = _sound_meta(card, home, anew) or _prepare(card, home, progress, anew)
        with contextlib.suppress(FileNotFoundError):  # another process may be making it anew
            result = make(meta)
            there = _meta(card, home)
            if (there["content"], there["arrays"]) == (meta["content"], meta["arrays"]):
                return result
    raise DataError(
        f"{card.name}: another process prepares other rows under this name all the time; "
        "end it, or give the files different names"
    )


def preprocessing_of(card: Card, home: DataDirectory, *, fingerprint: str = "") -> Preprocessing | None:
    """Return what the preparation does to raw rows; fetch and prepare the dataset first where need be.

    It is what `Problem` holds of a row: with the constant feature that is appended when the data are loaded.

    Parameters
    ----------
    card : Card
    home : DataDirectory
    fingerprint : str
        Of the problem whose rows it must be of; by default it is of what there is now.

    Returns
    -------
    Table, Vectors or None
        None where what was done cannot be said of single rows in these words, such as multiplying by a negative number
        a delimited text.

    Raises
    ------
    DataError, FetchError
        As of `load_problem`, or the data are others than those of the fingerprint.
    """
    from mpu_bench.preprocessing import from_json

    card = obtainable(card, home)
    path = prepared_folder(card, home) / _PREPROCESSING

    def read(meta: Meta) -> Preprocessing | None:
        if fingerprint not in ("", _fingerprint(card, meta["content"])):
            raise DataError(f"{card.name}: its data have changed since they were loaded; run again")
        if not meta.get("preprocessing"):
            return None
        text = read_bounded(path, _MAX_PREPROCESSING_BYTES, DataError)
        return from_json(json.loads(text), str(path))

    stored = _while_it_stands(card, home, SILENT, read, anew=True)  # older ones were made before it was kept
    return stored if card.augment is None or stored is None else stored.model_copy(update={"augment": card.augment})


def training_content(card: Card, home: DataDirectory) -> tuple[str, ...]:
    """Return the SHA-256 of the content of each file that training rows come from, as far as it is known."""
    card = obtainable(card, home)
    known = (fetch.known_hashes(file, home) for file in card.remote_files if file.name in card.train)
    return tuple(hashes.content_sha256 for hashes in known if hashes is not None)


def clean_prepared(card: Card, home: DataDirectory) -> int:
    """Delete a dataset's prepared arrays, of all its options, and its source files; return the bytes freed.

    Files that no address serves stay: the user put them there by hand.
    """
    freed = sum(fetch.clean(file, home) for file in card.remote_files if file.urls)
    with on_disk(home.folder):
        for path in sorted((home.folder / "prepared").glob(f"{card.name}-{'[0-9a-f]' * 12}/")):
            freed += sum(file.stat().st_size for file in path.iterdir() if file.stat().st_nlink == 1)  # not shared
            _remove(path)
    return freed


def _fingerprint(card: Card, content: Mapping[str, str] | None) -> str | None:
    """Identify content and preparation; how the source files are compressed does not matter."""
    if content is None:
        return None
    augmented = [] if card.augment is None else [{"augment": card.augment}]
    return digest([card.preparation(), list(content.values()), card.positives, *augmented])[:16]


def _known_content(card: Card, home: DataDirectory) -> dict[str, str] | None:
    """Return the hashes of the contents of all source files, if the data directory or the card knows them."""
    known = {}
    for file in card.remote_files:
        pin = fetch.known_hashes(file, home)
        plain = file.sha256[0] if len(file.sha256) == 1 and not file.name.endswith(_COMPRESSED) else None
        content = pin.content_sha256 if pin else file.content_sha256 or plain
        if content is None:
            return None
        known[file.name] = content
    return known


def _meta(card: Card, home: DataDirectory) -> Meta:
    return read_note(prepared_folder(card, home) / META, Meta, _MAX_META_BYTES)


def _valid_meta(card: Card, home: DataDirectory) -> Meta | None:
    """Read what a prepared folder holds; None if it is not there, incomplete, or made of other contents."""
    folder = prepared_folder(card, home)
    try:
        meta = _meta(card, home)
        counts = [meta["counts"]["train"], meta["counts"]["test"]]
        fits = [*map(sum, counts)] == [meta["n"], meta["n_test"]] and list(meta["classes"]) == list(card.classes)
        complete = all((folder / name).stat().st_size == entry["bytes"] for name, entry in meta["arrays"].items())
        files = [(file, home, meta["content"][file.name], meta["origins"][file.name]) for file in card.remote_files]
    except (OSError, ValueError, LookupError):
        return None
    is_valid = fits and complete and all(fetch.may_hold(*source) for source in files)
    return meta if is_valid else None


def _sound_meta(card: Card, home: DataDirectory, anew: bool = False) -> Meta | None:
    """Read what a prepared folder holds; None, too, if the content of an array is not what it was.

    ``anew``: or if its preprocessing was not kept.
    """
    meta = _valid_meta(card, home)
    if anew and meta and "preprocessing" not in meta:
        return None
    try:
        return meta if meta and meta["arrays"] == _entries(prepared_folder(card, home)) else None
    except OSError:
        return None


def _prepare(card: Card, home: DataDirectory, progress: Progress, anew: bool = False) -> Meta:
    """Fetch, build and store, unless another process has just done so; ``anew``: what lacks its preprocessing, too."""
    fetched = {file.name: fetch.fetch(file, home, progress) for file in card.remote_files}
    folder = prepared_folder(card, home)
    busy = f"{card.name}: another process is preparing it; waiting for that"
    with on_disk(folder), home.process_lock(f"{folder.name}.prepared", lambda: progress.note(busy)):
        folder.parent.mkdir(parents=True, exist_ok=True)
        if meta := _sound_meta(card, home, anew):
            return meta
        for left in folder.parent.glob(f".{folder.name}.*"):
            _remove(left)
        return _store(card, home, fetched, progress)


def _store(card: Card, home: DataDirectory, fetched: Mapping[str, Digest], progress: Progress) -> Meta:
    """Build into a folder of another name and rename it; whatever goes wrong, nothing is left half-written."""
    from mpu_bench.data.prepare.build import build
    from mpu_bench.data.readers.blocks import FETCH_AGAIN, WRITE_AGAIN, SourceFile
    from mpu_bench.preprocessing import to_json

    folder, before = prepared_folder(card, home), time.monotonic()
    temporary = folder.with_name(f".{folder.name}.{os.getpid()}")
    try:
        temporary.mkdir()
        with progress.transfer(f"prepare {card.name}", _work(card, home)) as advance:
            sources = [
                SourceFile(file.name, home.path(file), advance, FETCH_AGAIN if file.path is None else WRITE_AGAIN)
                for file in card.remote_files
            ]
            built = build(card, {source.name: source for source in sources}, temporary)
        _share_arrays(temporary)
        for file in card.remote_files:
            if file.path is not None:
                check_unchanged(file, home, fetched[file.name].sha256)
        if built.preprocessing is not None:
            write_text(temporary / _PREPROCESSING, json.dumps(to_json(built.preprocessing), indent=1))
        meta: Meta = {
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
            "seconds": round(time.monotonic() - before, 3),
            "preprocessing": built.preprocessing is not None,
        }
        write_text(temporary / META, json.dumps(meta, indent=1))
        sync_folder(temporary)
        _remove(folder)
        temporary.rename(folder)
        sync_folder(folder.parent)
    except BaseException as error:
        shutil.rmtree(temporary, ignore_errors=True)
        if isinstance(error, DataError):
            for file in card.remote_files:
                fetch.forget(file, home)
        raise
    return meta


def _share_arrays(folder: Path) -> None:
    """Let a folder have the arrays that another one has as well, such as rows of other topics: the disk keeps one."""
    for path in folder.glob("*.npy"):
        linked = path.with_suffix(".link")
        for other in folder.parent.glob(f"[!.]*/{path.name}"):  # not one that another process still writes
            with contextlib.suppress(OSError):  # it has just gone, or the disk has no links
                if not other.samefile(path) and filecmp.cmp(path, other, shallow=False):
                    linked.hardlink_to(other)
                    linked.replace(path)


def _work(card: Card, home: DataDirectory) -> int | None:
    """Count the bytes that a preparation reads; the training part twice if its categories must be collected."""
    sizes = {file.name: pin.content_bytes for file in card.remote_files if (pin := fetch.known_hashes(file, home))}
    again = card.train if card.coded or card.kind == "table" else ()
    return sum(sizes.values()) + sum(sizes.get(name, 0) for name in again) or None


def _entries(folder: Path) -> dict[str, dict[str, int]]:
    from mpu_bench.data.prepare.npy import checksum

    arrays = sorted([*folder.glob("*.npy"), *folder.glob(_PREPROCESSING)])
    return {path.name: {"bytes": path.stat().st_size, "checksum": checksum(path)} for path in arrays}


def _remove(folder: Path) -> None:
    """Remove a folder so that no half of it is ever seen under its name; open memory maps live on."""
    if not folder.is_dir():
        return
    doomed = folder.with_name(f".{folder.name.lstrip('.')}.{os.getpid()}.old")
    shutil.rmtree(doomed, ignore_errors=True)
    folder.rename(doomed)
    shutil.rmtree(doomed)


def _problem(card: Card, home: DataDirectory, meta: Meta) -> Problem:
    from mpu_bench.core.problem import Problem

    folder, features = prepared_folder(card, home), meta["features"]
    test = _rows(folder, "test", meta)
    train = test if card.stream else _rows(folder, "train", meta)
    if card.augment is not None:
        from mpu_bench.data.prepare.transforms import augment

        train, test = augment(train, features, card.augment), augment(test, features, card.augment)
        features += 1
    whole = Problem(
        name=card.name,
        train=train,
        labels=_labels(card, folder, "test" if card.stream else "train"),
        test=test,
        test_labels=_labels(card, folder, "test"),
        features=features,
        classes=card.class_names,
        fingerprint=_fingerprint(card, meta["content"]) or "",
    )
    if not card.stream:
        return whole
    from mpu_bench.data.prepare import streams

    return streams.problem(whole, card, meta["measured"], meta["counts"]["train"])


def _rows(folder: Path, part: str, meta: Meta) -> Rows:
    from mpu_bench.core.rows import Dense, Ones, Sparse
    from mpu_bench.data.prepare.npy import open_array

    kind: Any = {"dense": Dense, "sparse": Sparse, "ones": Ones}[meta["storage"]]
    rows: Rows = kind(*(open_array(folder / f"{part}-{field}.npy") for field in kind._fields))
    return rows


def _labels(card: Card, folder: Path, part: str) -> NDArray[np.int32]:
    import numpy as np

    from mpu_bench.data.prepare.npy import open_array

    labels: NDArray[np.int32] = open_array(folder / f"{part}-labels.npy")
    return labels if card.positive is None else np.array(card.merged, np.int32)[labels]
