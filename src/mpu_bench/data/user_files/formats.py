"""What a user file is, by its first lines, whatever its name; options override what is found.

1. ``PAR1`` at the beginning is Parquet. Anything else must be UTF-8 text, perhaps compressed.
2. **svmlight**: all words but the first of the first line that has several are pairs ``index:value``.
3. The **separator** of a table is the first of tab, ``;`` and ``,`` that cuts all the first lines (a hundred at most)
   into the same number of cells, more than one; else the one that cuts the first line into most cells.
4. The first line is a **header** if none of its cells is a number, all are different, and some cell of the second
   line is a number, or no cell of the first line stands in its column again within the first lines. With numbers among
   its cells (years, say) it is one if a word of it is called label, class, target or y, if two stand above numbers
   alone, or if the last is a word that does not come again where others do; what cannot be decided is refused.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from operator import or_
from pathlib import Path
from typing import Any, Literal, NamedTuple

from mpu_bench.data.cards.parts import is_number
from mpu_bench.data.readers.blocks import SourceFile
from mpu_bench.errors import DataError
from mpu_bench.preprocessing import MISSING_WORDS
from mpu_bench.texts import one_line

Format = Literal["svmlight", "delimited", "parquet"]
SEPARATORS = {"tab": "\t", "semicolon": ";", "comma": ","}  #: their names in a card, in the order they are tried

LABELS = ("label", "class", "target", "y")  #: names of the column that is taken for the label

_HEAD_BYTES, _HEAD_LINES = 1 << 16, 100
_MAX_HEAD_BYTES, _MIN_LINES = 1 << 26, 3  # of long lines
_PARQUET = b"PAR1"
_LINE_END = re.compile(r"\r\n?|\n")  # no other: a cell may hold a form feed
_UTF_16 = re.compile(rb"\xff\xfe|\xfe\xff|(?:[^\0]\0){16}|(?:\0[^\0]){16}")
_PAIR = re.compile(r"(?:qid|[+-]?\d+):[^\s,;|]*")
_PAIR_WITH_COMMA = re.compile(r"\d+:[+-]?\d*,\d+(?:[eE][+-]?\d+)?")
_ARFF = ("@relation", "@attribute", "@data")
_JSON = re.compile(r"\{\s*\"|\[\s*(?:[\[{\"\d]|$)")
_FOR_EXCEL = re.compile(r"\"?sep=.?\"?", re.IGNORECASE)
_LATER_PAIR = re.compile(rb"[ \t][+]?\d+:")
_SHOWN, _MIN_COUNTED = 60, 4
_INFINITE = re.compile(r"[+-]?(?:inf|infinity|1\.#inf)", re.IGNORECASE)
_ERROR_OF_EXCEL = re.compile(r"#[A-Z0-9/]+[!?]?")
_DIGITS = r"(?:\d{1,3}(?:[,.'’_ \u00a0\u202f]\d{3})+|\d*)(?:[.,]\d+)?"
_WRITTEN = re.compile(
    rf"(?=.*\d)([<>≤≥~≈]=?)?\s*\(?[+−-]?\s*([$€£¥]?)\s*({_DIGITS})(?:[eEdD][+-]?\d+)?\s*([%‰$€£¥]?)\)?-?"
)


@dataclass(frozen=True)
class Form:
    """What a file is; of a delimited text, too, its separator, and whether its first line names the columns."""

    format: Format
    separator: str = ","
    header: bool = False


class Written(NamedTuple):
    """A number in a form that is not read: how it is written, and whether it is but a bound, such as <5."""

    how: str
    is_bound: bool = False


def unnamed(separator: Any) -> Any:
    """Return a tab for its name, and anything else as it is."""
    return "\t" if separator in ("tab", "\\t") else separator


def written(cell: str) -> Written | None:
    """Return in which other form a text is a number, None if in none."""
    if _INFINITE.fullmatch(cell):
        return Written("an infinite number")
    match = _WRITTEN.fullmatch(cell)
    if match is None:
        return None
    bound, before, digits, after = match.groups()
    if bound:
        return Written(f"a bound by '{bound}'", is_bound=True)
    if before or after:
        return Written(f"a number with '{before or after}'")
    if re.fullmatch(r"\d*,\d+", digits):
        return Written("a number with a decimal comma, or a comma between thousands")
    return Written("a number in a form that is not read")


def form_of(
    file: SourceFile, separator: str | None = None, header: bool | None = None, names: Collection[str] = ()
) -> Form:
    """Look at the first lines of a file.

    Parameters
    ----------
    file : SourceFile
    separator : str, optional
        One character that overrides what is found; the file is then a delimited text.
    header : bool, optional
        Overrides what is found.
    names : collection of str
        Those of the columns, where they are known: a first line of them is a header.

    Raises
    ------
    DataError
        If the file cannot be read, is empty, no text, or of a format that is not read, or if its first line may be a
        header as well as a row.
    """
    head = _head(file)
    if head.startswith(_PARQUET):
        if separator is not None or header is False:
            raise DataError(
                f"{file.path}: is Parquet, to which 'separator' and 'header' do not apply; leave them out, or "
                "write it as CSV"
            )
        return Form("parquet", header=True)
    lines = first_lines(file, head)
    if separator is None and header is None and _is_svmlight(file, lines):
        return Form("svmlight")
    if separator is None:
        separator = _separator(file.path, lines)
    if header is None:
        header = _has_header(_rows(lines, separator), names)
    if header is None:
        raise DataError(
            f"{file.path}, line 1: may name the columns, or be a row: it holds numbers; give --header or --no-header"
        )
    return Form("delimited", separator, header)


def _head(file: SourceFile) -> bytes:
    """Read the first lines, which are whole if the file goes on."""
    with file.open() as stream:
        head = stream.read(_HEAD_BYTES)
        for _ in range(max(1, _MIN_LINES - head.count(b"\n")) if b"\0" not in head else 0):
            head += stream.readline(_MAX_HEAD_BYTES)
    if len(head) >= _MAX_HEAD_BYTES and b"\n" not in head:
        raise DataError(f"{file.path}, line 1: has more than {_MAX_HEAD_BYTES:,} bytes; this is no table")
    return head


def first_lines(file: SourceFile, head: bytes) -> list[str]:
    """Return the first lines that are not empty, and refuse what is no text."""
    if _UTF_16.match(head):
        raise DataError(f"{file.path}: is text in UTF-16; save it as UTF-8")
    if b"\0" in head:
        raise DataError(f"{file.path}: is a binary file; svmlight, CSV, TSV and Parquet can be read")
    lines = [line for line in _LINE_END.split(head.decode("utf-8-sig", "replace")) if line.strip()]
    if not lines:
        raise DataError(f"{file.path}: is empty")
    return lines[:_HEAD_LINES]


def _is_svmlight(file: SourceFile, lines: Sequence[str]) -> bool:
    for line in lines:
        words = re.sub(r":[ \t]+", ":", line.partition("#")[0]).split()
        pairs = [_PAIR.fullmatch(word) is not None for word in words]
        if len(words) > 1:
            labels = pairs.index(True) if any(pairs) else len(words)
            if 1 < labels < len(words) and all(pairs[labels:]) and all(map(is_number, words[:labels])):
                shown = one_line(line, _SHOWN)
                raise DataError(f"{file.path}: has {labels} labels in a row ('{shown}'); one label a row is read")
            with_comma = [_PAIR_WITH_COMMA.fullmatch(word) is not None for word in words]
            if is_number(words[0]) and any(with_comma) and all(map(or_, pairs[1:], with_comma[1:])):
                shown = one_line(words[with_comma.index(True)], _SHOWN)
                raise DataError(f"{file.path}: '{shown}' has a decimal comma; write numbers as 1234.5")
            return all(pairs[1:])
    alone = all(is_number(line.partition("#")[0].strip() or "0") for line in lines)
    return alone and any(_LATER_PAIR.search(block) for _, block in file.blocks())


def _separator(path: Path, lines: Sequence[str]) -> str:
    """Return what stands between cells, or refuse a text of another format."""
    first = lines[0].strip()
    if any(line.lower().lstrip().startswith(_ARFF) for line in lines):
        raise DataError(f"{path}: is ARFF, the format of Weka; save it as CSV")
    if _JSON.match(first):
        raise DataError(f"{path}: is JSON; save it as CSV")
    if first.startswith("<"):
        raise DataError(f"{path}: is XML or HTML; save it as CSV")
    if _FOR_EXCEL.fullmatch(first):
        raise DataError(f"{path}, line 1: '{first}' is for Excel alone; leave this line out")
    widths = {mark: [len(row) for row in _rows(lines, mark)] for mark in SEPARATORS.values()}
    for mark, counts in widths.items():
        if len(set(counts)) == 1 and counts[0] > 1:
            return mark
    _check_first_line(path, lines, widths)
    if all(counts[:1] in ([], [1]) for counts in widths.values()):
        for mark, pattern in (("|", r"\|"), (" ", r"\s+")):
            if len(cells := {len(re.split(pattern, line.strip())) for line in lines}) == 1 and max(cells) > 1:
                raise DataError(f"{path}: its separator seems to be '{mark}'; give --separator '{mark}'")
    return max(reversed(widths), key=lambda mark: widths[mark][0] if widths[mark] else 0)


def _check_first_line(path: Path, lines: Sequence[str], widths: Mapping[str, Sequence[int]]) -> None:
    """Refuse a comment, or a title, above the names of the columns."""
    for counts in widths.values():
        (usual, times), *_ = Counter(counts).most_common(1) or [(0, 0)]
        above = next((index for index, width in enumerate(counts) if width == usual), 0)
        if usual > 1 and 2 * times > len(counts) and above and max(counts[:above]) == 1:
            raise DataError(
                f"{path}, line 1: '{one_line(lines[0], _SHOWN)}' is a comment or a title, and {usual} columns follow; "
                "leave out what stands before the names of the columns"
            )


def _rows(lines: Sequence[str], separator: str) -> list[list[str]]:
    """Cut lines into cells; where a quotation mark stays open, or stands wrong, the rows before it."""
    rows: list[list[str]] = []
    try:
        rows.extend(csv.reader((f"{line}\n" for line in lines), delimiter=separator, skipinitialspace=True))
    except csv.Error:
        return rows
    return rows[:-1] if len(rows) > 2 and len(lines) == _HEAD_LINES else rows  # the last may be cut in a quotation


def _has_header(rows: Sequence[Sequence[str]], known: Collection[str]) -> bool | None:
    """Return whether the first row is one of names; None if it may be."""
    if not rows:
        return False
    names = [cell.strip() for cell in rows[0]]
    below = [[row[i].strip() for row in rows[1:] if i < len(row)] for i in range(len(names))]
    if known and set(names) <= set(known):
        return True
    if any(map(is_number, names)):
        return _is_header_with_numbers(names, below)
    if any(map(is_number, rows[1] if len(rows) > 1 else ())):
        return True  # a name that is there twice is told then
    again = any(name in cells for name, cells in zip(names, below, strict=True))
    return len(set(names)) == len(names) and not again


def _is_header_with_numbers(names: Sequence[str], below: Sequence[Sequence[str]]) -> bool | None:
    words = [(name, cells) for name, cells in zip(names, below, strict=True) if _is_name(name)]
    if not words:
        counted = names[not names[0] :]  # as pandas calls columns without names, perhaps beside an index
        first = int(counted[0]) if counted[0] in ("0", "1") else len(names)
        is_counted = counted == [*map(str, range(first, first + len(counted)))]
        above_words = any(len(cells) > 1 and not any(map(is_number, cells)) for cells in below)
        return None if above_words or (is_counted and len(counted) >= _MIN_COUNTED) else False
    above_numbers = sum(bool(cells) and all(map(is_number, cells)) for _, cells in words)
    if above_numbers > 1 or any(name.lower() in LABELS for name, _ in words):
        return True
    if any(name in cells for name, cells in words):
        return False
    return True if _is_name(names[-1]) and len(set(below[-1])) < len(below[-1]) else None


def _is_name(cell: str) -> bool:
    """Return whether a cell may name a column: it is no number in any form, and stands for no missing one."""
    has_letter = any(map(str.isalpha, cell))
    return has_letter and cell not in MISSING_WORDS and not written(cell) and not _ERROR_OF_EXCEL.fullmatch(cell)
