"""The file of a model, ``.mpu``: a zip archive of ``model.json`` and of arrays, from which only data can be read.

Nothing in it is compressed, so it is never larger in memory than on disk; no array holds objects, so nothing is
unpickled; every array is what ``model.json`` says it is, to the byte, and has the checksum of the archive.
"""

from __future__ import annotations

import io
import json
import struct
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.filesize import decimal

from mpu_bench.errors import DataError
from mpu_bench.files import as_store_error, read_bounded, written_whole
from mpu_bench.texts import plain

FORMAT, VERSION = "mpu-bench model", 2
MAX_BYTES = 1 << 31  #: of a file
DTYPES = ("<f4", "<f8", "<i4", "<i8", "<u4")  #: of arrays
_JSON, _MAX_JSON_BYTES = "model.json", 1 << 26
_MAX_ENTRIES, _MAX_HEADER_BYTES = 64, 10_000
_MAX_OVERHEAD_BYTES = 1 << 20  # of the archive and the headers of its arrays
_BEGINNING = b"PK"
_DAMAGE = (
    ValueError, LookupError, TypeError, AttributeError, ArithmeticError, OSError, EOFError, RuntimeError, SyntaxError,
    zipfile.BadZipFile, struct.error,
)  # fmt: skip

Arrays = Mapping[str, NDArray[Any]]


def write(path: Path, description: Mapping[str, Any], arrays: Arrays) -> None:
    """Write a model, whole or not at all; the same model gives the same bytes.

    Parameters
    ----------
    path : Path
        In a folder that exists.
    description : mapping
        Plain data.
    arrays : mapping of str to array
        Of the `DTYPES`, or of the other order of bytes.

    Raises
    ------
    DataError
        If it is larger than what `read` reads.
    StoreError
        If the file cannot be written.
    """
    stored = {name: _stored(array) for name, array in arrays.items()}
    shapes = {name: {"dtype": array.dtype.str, "shape": list(array.shape)} for name, array in stored.items()}
    version = VERSION if description.get("sigmoids") or "bias" in stored else 1  # 0.2.0 reads 1, and no bias
    whole = {"format": FORMAT, "version": version, **description, "arrays": shapes}
    text = json.dumps(whole, indent=1, allow_nan=False, ensure_ascii=True)
    size = len(text) + sum(array.nbytes for array in stored.values())
    if size > MAX_BYTES - _MAX_OVERHEAD_BYTES or len(text) > _MAX_JSON_BYTES:
        raise DataError(
            f"{path}: the model has {decimal(size)}, of which {decimal(len(text))} are names; no file holds it"
        )
    with as_store_error(path), written_whole(path) as stream, zipfile.ZipFile(stream, "w") as archive:
        archive.writestr(_entry(_JSON), text)
        for name, array in stored.items():
            content = io.BytesIO()
            np.lib.format.write_array(content, array, version=(1, 0), allow_pickle=False)
            archive.writestr(_entry(f"{name}.npy"), content.getvalue())


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name)  # of the year 1980, whenever it is written
    entry.external_attr = 0o644 << 16
    return entry


def _stored(array: NDArray[Any]) -> NDArray[Any]:
    little = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
    if little.dtype.str not in DTYPES:
        raise TypeError(f"an array of {array.dtype} is not part of a model")
    return little


def read(path: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return what `write` has written: the description and the arrays, in memory of their own.

    Raises
    ------
    DataError
        If the file cannot be read, is no model, is damaged, or was written by a later version.
    """
    content = read_bounded(path, MAX_BYTES, DataError)
    if not content.startswith(_BEGINNING):
        raise foreign(path)
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            entries = _checked_entries(archive)
            if _JSON not in entries:
                raise foreign(path)
            whole = _parsed(archive.read(entries[_JSON]))
            _check_version(whole, path)
            arrays = _arrays(archive, entries, whole["arrays"])
            return {name: value for name, value in whole.items() if name not in ("format", "version", "arrays")}, arrays
    except _DAMAGE as error:
        raise damaged(path, error) from None


def foreign(path: Path) -> DataError:
    """Return the error of a file that is none of ours."""
    return DataError(
        f"{path}: not a model of mpu-bench; models are written by a classifier's save(...) and by "
        "mpu-bench run --save-models"
    )


def damaged(path: Path, error: BaseException) -> DataError:
    """Return the error of a file that is not as it was written."""
    words = plain(str(error), 200) or type(error).__name__
    return DataError(f"{path}: is damaged or cut short ({words}); copy it again, or save the model again")


def _checked_entries(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """Return the entries by name: few, stored as they are, and none twice."""
    entries = archive.infolist()
    if len(entries) > _MAX_ENTRIES:
        raise ValueError(f"it has {len(entries)} entries")
    for entry in entries:
        if entry.compress_type != zipfile.ZIP_STORED or entry.file_size != entry.compress_size:
            raise ValueError(f"its entry {entry.filename} is compressed")
    by_name = {entry.filename: entry for entry in entries}
    if len(by_name) < len(entries):
        raise ValueError("an entry is there twice")
    return by_name


def _parsed(text: bytes) -> dict[str, Any]:
    if len(text) > _MAX_JSON_BYTES:
        raise ValueError("its description is too long")
    whole = json.loads(text)
    if not isinstance(whole, dict):
        raise TypeError("its description has no keys")
    return whole


def _check_version(whole: Mapping[str, Any], path: Path) -> None:
    if whole.get("format") != FORMAT:
        raise foreign(path)
    version = whole.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise ValueError("its version is not a number")
    if version > VERSION:
        raise DataError(
            f"{path}: was written by a later version of mpu-bench (format {version}; this one reads {VERSION}); "
            "upgrade mpu-bench"
        )


def _arrays(
    archive: zipfile.ZipFile, entries: Mapping[str, zipfile.ZipInfo], shapes: Mapping[str, Any]
) -> dict[str, NDArray[Any]]:
    expected = {_JSON, *(f"{name}.npy" for name in shapes)}
    if expected != set(entries):
        raise ValueError(f"its entries are not those described: {', '.join(sorted(expected ^ set(entries)))}")
    return {name: _array(archive.read(entries[f"{name}.npy"]), shape, name) for name, shape in shapes.items()}


def _array(content: bytes, described: Mapping[str, Any], name: str) -> NDArray[Any]:
    """Return an array, if its header is as described and its bytes are as many as that asks for."""
    stream = io.BytesIO(content)
    if np.lib.format.read_magic(stream) != (1, 0):
        raise ValueError(f"{name} is of another format")
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream, max_header_size=_MAX_HEADER_BYTES)
    if [dtype.str, list(shape), fortran] != [described["dtype"], described["shape"], False]:
        raise ValueError(f"{name} is not as described")
    if dtype.str not in DTYPES:
        raise ValueError(f"{name} is of type {dtype}")
    values = np.frombuffer(content, dtype, offset=stream.tell())
    return values.reshape(shape).astype(dtype.newbyteorder("="), copy=True)
