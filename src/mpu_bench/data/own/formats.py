"""What a file of the user's own is, by its first lines, whatever its name; options override what is found.

1. ``PAR1`` at the beginning is Parquet. Anything else must be UTF-8 text, perhaps compressed.
2. **svmlight**: all words but the first of the first line that has several are pairs ``index:value``.
3. The **separator** of a table is the first of tab, ``;`` and ``,`` that cuts all the first lines (a hundred at most)
   into the same number of cells, more than one; else the one that cuts the first line into most cells.
4. The first line is a **header** if none of its cells is a number, all are different, and some cell of the second
   line is a number, or no cell of the first line stands in its column again within the first lines.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from mpu_bench.data.download.compression import looks_like_a_page
from mpu_bench.data.readers.blocks import SourceFile
from mpu_bench.errors import DataError

Format = Literal["svmlight", "delimited", "parquet"]
SEPARATORS = {"tab": "\t", "semicolon": ";", "comma": ","}  #: their names in a card, in the order they are tried

_HEAD_BYTES, _HEAD_LINES = 1 << 16, 100
_PARQUET = b"PAR1"
_OTHER_TEXTS = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}
_PAIR = re.compile(r"(?:qid|[+-]?\d+):\S*")


@dataclass(frozen=True)
class Form:
    """What a file is; of a delimited text, too, its separator, and whether its first line names the columns."""

    format: Format
    separator: str = ","
    header: bool = False


def form_of(file: SourceFile, separator: str | None = None, header: bool | None = None) -> Form:
    """Look at the first lines of a file.

    Parameters
    ----------
    file : SourceFile
    separator : str, optional
        One character that overrides what is found; the file is then a delimited text.
    header : bool, optional
        Overrides what is found.

    Raises
    ------
    DataError
        If the file cannot be read, is empty, or is no text.
    """
    head = _head(file)
    if head.startswith(_PARQUET):
        return Form("parquet", header=True)
    lines = first_lines(file, head)
    if separator is None and header is None and _is_svmlight(lines):
        return Form("svmlight")
    chosen = separator or _separator(lines)
    return Form("delimited", chosen, _has_header(_rows(lines, chosen)) if header is None else header)


def _head(file: SourceFile) -> bytes:
    """Read the beginning of the content, up to a line end if the file goes on."""
    with file.open() as stream:
        head = stream.read(_HEAD_BYTES)
    if len(head) == _HEAD_BYTES and b"\n" in head:
        return head[: head.rfind(b"\n") + 1]
    return head


def first_lines(file: SourceFile, head: bytes) -> list[str]:
    """Return the first lines that are not empty, and refuse what is no text."""
    if looks_like_a_page(head):
        raise DataError(f"{file.path}: is an HTML page, not a table; was the download refused?")
    for mark, name in _OTHER_TEXTS.items():
        if head.startswith(mark):
            raise DataError(f"{file.path}: is text in {name}; save it as UTF-8")
    if b"\0" in head:
        raise DataError(f"{file.path}: is a binary file; svmlight, CSV, TSV and Parquet can be read")
    lines = [line for line in head.decode("utf-8-sig", "replace").splitlines() if line.strip()]
    if not lines:
        raise DataError(f"{file.path}: is empty")
    return lines[:_HEAD_LINES]


def _is_svmlight(lines: Sequence[str]) -> bool:
    for line in lines:
        words = re.sub(r":[ \t]+", ":", line.partition("#")[0]).split()
        if len(words) > 1:
            return all(map(_PAIR.fullmatch, words[1:]))
    return False


def _separator(lines: Sequence[str]) -> str:
    widths = {mark: [len(row) for row in _rows(lines, mark)] for mark in SEPARATORS.values()}
    for mark, found in widths.items():
        if len(set(found)) == 1 and found[0] > 1:
            return mark
    return max(reversed(widths), key=lambda mark: widths[mark][0] if widths[mark] else 0)


def _rows(lines: Sequence[str], separator: str) -> list[list[str]]:
    """Cut lines into cells; where a quotation mark stays open, or stands wrong, the rows before it."""
    rows: list[list[str]] = []
    try:
        rows.extend(csv.reader((f"{line}\n" for line in lines), delimiter=separator, skipinitialspace=True))
    except csv.Error:
        return rows
    return rows[:-1] if len(rows) > 2 and len(lines) == _HEAD_LINES else rows  # the last may be cut in a quotation


def _has_header(rows: Sequence[Sequence[str]]) -> bool:
    if not rows:
        return False
    names = [cell.strip() for cell in rows[0]]
    if any(map(_is_number, names)):
        return False
    if len(rows) > 1 and any(map(_is_number, rows[1])):
        return True  # a name that is there twice is told then
    if len(set(names)) < len(names):
        return False
    return not any(
        name in (cell.strip() for cell in row[i : i + 1]) for row in rows[1:] for i, name in enumerate(names)
    )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return text.strip().lower() not in ("nan", "inf", "infinity")
