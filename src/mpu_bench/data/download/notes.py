"""The small JSON files that the downloader keeps beside data files."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from mpu_bench.files import open_regular
from mpu_bench.texts import one_line

MOST_BYTES = 1 << 16

_Note = TypeVar("_Note")


def read_note(path: Path, kind: type[_Note]) -> _Note:
    """Return what a note holds.

    Parameters
    ----------
    path : Path
    kind : type
        A dataclass.

    Raises
    ------
    ValueError
        If it is not one of this kind; the message is a phrase that says why.
    OSError
        If it cannot be read; `FileNotFoundError` if there is none.
    """
    from pydantic import TypeAdapter, ValidationError

    with open_regular(path) as stream:
        content = stream.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise ValueError(f"it is larger than {MOST_BYTES:,} bytes")
    try:
        note: _Note = TypeAdapter(kind).validate_json(content, strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise ValueError(one_line(f"{where}: {first['msg']}" if where else first["msg"], 300)) from None
    return note
