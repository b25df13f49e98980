"""Files that are written whole or not at all, and CSV text."""

from __future__ import annotations

import csv
import io
import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any


def as_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """Write rows with whatever columns they have."""
    return csv_text(columns_of(rows), rows)


def csv_text(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> str:
    """Return rows as CSV with these columns."""
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, restval="", extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _cell(value) for name, value in row.items()} for row in rows)
    return text.getvalue()


def _cell(value: Any) -> Any:
    return "" if value is None else value


def write_text(path: Path, text: str) -> None:
    """Write a text file whole or not at all."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise


def columns_of(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return every key of the rows, in the order met."""
    return list(dict.fromkeys(name for row in rows for name in row))
