"""The small JSON files that the downloader keeps beside data files."""

from __future__ import annotations

from collections.abc import Hashable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from mpu_bench.files import open_regular, read_beginning
from mpu_bench.texts import one_line

if TYPE_CHECKING:
    from pydantic import TypeAdapter

MOST_BYTES = 1 << 16

_Note = TypeVar("_Note")


def read_note(path: Path, kind: type[_Note], most_bytes: int = MOST_BYTES) -> _Note:
    """Return what a note holds.

    Parameters
    ----------
    path : Path
    kind : type
        A dataclass or a `TypedDict`.
    most_bytes : int
        Of its text.

    Raises
    ------
    ValueError
        If it is not one of this kind; the message is a phrase that says why.
    OSError
        If it cannot be read; `FileNotFoundError` if there is none.
    """
    from pydantic import ValidationError

    with open_regular(path) as stream:
        content = read_beginning(stream, most_bytes + 1)
    if len(content) > most_bytes:
        raise ValueError(f"it is larger than {most_bytes:,} bytes")
    try:
        note: _Note = _adapter(cast(Hashable, kind)).validate_json(content, strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise ValueError(one_line(f"{where}: {first['msg']}" if where else first["msg"], 300)) from None
    return note


@cache
def _adapter(kind: Hashable) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter

    return TypeAdapter(cast(Any, kind))
