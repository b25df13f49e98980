"""Reading a block of delimited text at once, where that gives the same as reading it record by record."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

_MANY_ROWS = 2000  # from which on a column has fewer different words than rows, mostly


def plain_frame(
    block: bytes, separator: str, columns: Sequence[str], header: bool, only: Sequence[str] = ()
) -> pd.DataFrame | None:
    """Return the rows of a block as texts; None where it must be read record by record.

    That is where there are quotation marks, where a line has not as many cells as there are columns or has empty cells
    only, where line ends are mixed, and where it is no text.

    Parameters
    ----------
    block : bytes
        Whole lines.
    separator : str
    columns : sequence of str
    header : bool
        Whether the first line that is not empty names the columns, and is left out.
    only : sequence of str
        The columns that are read, if not all.
    """
    if not _is_plain(block, separator, len(columns)):
        return None
    rows = block.lstrip(b"\r\n")
    if header:
        rows = rows.partition(b"\n")[2]
    if not rows.strip(b"\r\n"):
        return pd.DataFrame({name: [] for name in columns}, dtype=object)
    options: dict[str, Any] = {
        "sep": separator, "quoting": csv.QUOTE_NONE, "skipinitialspace": True, "na_filter": False, "index_col": False,
        "dtype": object, "usecols": list(dict.fromkeys(only)) or None,
    }  # fmt: skip
    frame: pd.DataFrame = pd.read_csv(io.BytesIO(rows), header=None, names=list(columns), encoding="utf-8", **options)
    if len(frame) >= _MANY_ROWS:  # each word is then looked at once
        frame = pd.DataFrame({name: _categories(frame[name].to_numpy(object)) for name in frame.columns})
    frame.columns = frame.columns.astype(object)
    return frame


def _categories(texts: Any) -> pd.Categorical:
    codes, words = pd.factorize(texts)
    return pd.Categorical.from_codes(codes, pd.Index(words, dtype=object))


def _is_plain(text: bytes, separator: str, columns: int) -> bool:
    mark = separator.encode()
    if columns < 2 or len(mark) != 1 or mark == b" " or b'"' in text or b"\0" in text:
        return False
    if text.count(b"\r") != text.count(b"\r\n"):
        return False
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return _is_even(np.frombuffer(text.replace(b"\r\n", b"\n").rstrip(b"\n") + b"\n", np.uint8), mark[0], columns)


def _is_even(letters: Any, mark: int, columns: int) -> bool:
    """Return whether every line that is not empty has so many cells, some of them not empty."""
    ends = np.flatnonzero(letters == ord("\n"))
    lengths = np.diff(ends, prepend=-1) - 1
    cells = np.diff(np.searchsorted(np.flatnonzero(letters == mark), ends), prepend=0) + 1
    filled = lengths > 0
    blanks = np.flatnonzero((letters == ord(" ")) | (letters == ord("\t")) | (letters == mark))
    idle = np.diff(np.searchsorted(blanks, ends), prepend=0)
    is_short = lengths.max(initial=0) < csv.field_size_limit()
    return bool(is_short and (cells[filled] == columns).all() and (idle < lengths)[filled].all())
