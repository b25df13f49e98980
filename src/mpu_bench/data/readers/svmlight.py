"""Reading svmlight (LIBSVM) files: ``label index:value index:value ... # comment``, one example a line.

Blocks of lines go through scikit-learn's parser. Where it stumbles, or the result breaks a rule, the block is gone
through again line by line in plain Python, slowly, to say which line is wrong and how; that second parser is also
the oracle that the tests compare with.

All of these occur in real files and are read: blanks after the colon, labels such as ``+1`` and ``-1.0``, ``qid:``
pairs (ignored), comments, CRLF, blanks at the end of a line, empty lines (ignored) and rows without features (kept).
Pairs whose value is zero are dropped, if the rules do not keep them.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from mpu_bench.data.cards.parts import MAX_FEATURES
from mpu_bench.data.cards.schema import RepeatedPairs
from mpu_bench.data.readers.blocks import Chunk, SourceFile
from mpu_bench.errors import DataError

LARGEST_VALUE = float(np.finfo(np.float32).max)
_LONGEST_INDEX = 20  # digits
_BLANK_AFTER_COLON = re.compile(rb":[ \t]+")
#: what scikit-learn's parser reads, and no such file holds: 1_000 of Python, a line end that it takes for a blank
_IN_NO_SUCH_FILE = re.compile(rb"[0-9]_[0-9]|\r(?![\r\n]|\Z)")


class NumericLabels(Protocol):
    """What gives numeric labels a class: `labels.Labels`, or `Topics`."""

    def of_numbers(self, labels: NDArray[np.float64]) -> NDArray[np.int32]:
        """Return the class indices, -1 where there is none."""
        ...

    def unknown(self, label: str) -> str:
        """Return a message that a label belongs to no class."""
        ...


@dataclass(frozen=True)
class Rules:
    """What the examples of a file must keep to.

    Attributes
    ----------
    labels : NumericLabels
    features : int
        The number of columns; an index beyond it is an error.
    first_index : int
        The index of the first column, 1 or 0.
    repeated : {"refuse", "drop", "keep"}
        What becomes of an index that a row repeats: an error; dropped if its value is the same, else an error; or what
        it has adds up.
    keeps_zeros : bool
        Whether pairs whose value is zero are kept.
    """

    labels: NumericLabels
    features: int = MAX_FEATURES
    first_index: int = 1
    repeated: RepeatedPairs = "refuse"
    keeps_zeros: bool = False


class Topics:
    """RCV1: the label of a line is the number of a document, and another file names the documents of a topic."""

    def __init__(self, file: SourceFile, topic: str) -> None:
        self._documents = np.array(sorted(_documents_of(file, topic)), float)
        if not len(self._documents):
            raise DataError(f"{file.path}: no document has the topic '{topic}'")

    def of_numbers(self, labels: NDArray[np.float64]) -> NDArray[np.int32]:
        """Return 1 for documents of the topic, else 0."""
        return np.isin(labels, self._documents).astype(np.int32)

    def unknown(self, label: str) -> str:
        """Return a message that a label is no document's number; none is refused."""
        return f"'{label}' is not the number of a document"


def _documents_of(file: SourceFile, topic: str) -> Iterator[int]:
    wanted = topic.encode()
    for first, block in file.blocks():
        for line, text in enumerate(block.splitlines(), first):
            words = text.split()
            if words and words[0] == wanted:
                if len(words) != 3 or not words[1].isdigit() or len(words[1]) > _LONGEST_INDEX:
                    raise DataError(f"{file.path}, line {line}: should read 'topic document 1'")
                yield int(words[1])


def read_svmlight(file: SourceFile, rules: Rules, block_bytes: int | None = None) -> Iterator[Chunk]:
    """Read an svmlight file chunk by chunk.

    Parameters
    ----------
    file : SourceFile
    rules : Rules
    block_bytes : int, optional
        About how much text to parse at once; memory is some ten times as much.

    Yields
    ------
    Chunk
        Sparse; columns counted from 0, values float64.

    Raises
    ------
    DataError
        With file and line: a token that is no pair, an index that is negative, too large, repeated or not rising, a
        value that is not finite, a label without a class.
    """
    for line, block in file.blocks(block_bytes):
        text = _BLANK_AFTER_COLON.sub(b":", block) if b": " in block or b":\t" in block else block
        try:
            is_odd = (b"_" in text or b"\r" in text) and _IN_NO_SUCH_FILE.search(text)
            if is_odd and (message := _bad_line(file, line, text, rules)):
                raise DataError(message)
            chunk = _parse_leniently(text, rules)
        except (ValueError, OverflowError, MemoryError) as error:
            raise DataError(_bad_line(file, line, text, rules) or f"{file.path}, from line {line}: {error}") from None
        if len(chunk.labels):
            yield chunk


def _parse_leniently(text: bytes, rules: Rules) -> Chunk:
    """Parse a block; line by line, which is slow, only where it may hold repeated pairs that are allowed."""
    try:
        return _parse(text, rules)
    except ValueError:
        if rules.repeated == "refuse":
            raise
    examples = [example for line in text.split(b"\n") if (example := parse_line(line, rules))]
    labels = rules.labels.of_numbers(np.array([label for label, _ in examples]))
    pairs = np.array([pair for _, row in examples for pair in row]).reshape(-1, 2)
    starts = np.cumsum([0, *(len(row) for _, row in examples)])
    csr = (pairs[:, 1], pairs[:, 0].astype(np.int64), starts)
    return Chunk(labels, scipy.sparse.csr_array(csr, (len(labels), rules.features)))


def _parse(text: bytes, rules: Rules) -> Chunk:
    from sklearn.datasets import load_svmlight_file

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        matrix, numbers = load_svmlight_file(io.BytesIO(text), dtype=np.float64, zero_based=True)
    labels = rules.labels.of_numbers(numbers)
    _check(labels, matrix.data, matrix.indices, rules)
    if not rules.keeps_zeros:
        matrix.eliminate_zeros()
    csr = (matrix.data, matrix.indices - rules.first_index, matrix.indptr)
    return Chunk(labels, scipy.sparse.csr_array(csr, (len(labels), rules.features)))


def _check(labels: NDArray[np.int32], values: NDArray[np.float64], indices: NDArray[np.int32], rules: Rules) -> None:
    if len(labels) and labels.min() < 0:
        raise ValueError("a label has no class")
    if not len(values):
        return
    if not np.abs(values).max() <= LARGEST_VALUE:  # written so that NaN fails too
        raise ValueError("a value is not finite")
    if indices.min() < rules.first_index or indices.max() >= rules.features + rules.first_index:
        raise ValueError("an index is out of range")


def parse_line(text: bytes, rules: Rules) -> tuple[float, list[tuple[int, float]]] | None:
    """Parse one line in plain Python: label and (column, value) pairs; None for an empty line.

    Raises
    ------
    ValueError
        With a message that says what is wrong.
    """
    if b"\r" in text.rstrip():
        raise ValueError("a line ends in CR alone; write line ends as LF or CRLF")
    tokens = _BLANK_AFTER_COLON.sub(b":", text.partition(b"#")[0]).split()
    if not tokens:
        return None
    several = "; one label a row is read" if b"," in tokens[0] else ""
    label = _number(tokens[0], f"the label '{_shown(tokens[0])}' is not a number{several}")
    if rules.labels.of_numbers(np.array([label]))[0] < 0:
        raise ValueError(rules.labels.unknown(_shown(tokens[0])))
    row: dict[int, float] = {}
    last = -1
    for word in tokens[2 if tokens[1:] and tokens[1].startswith(b"qid:") else 1 :]:
        column, value = _pair(word, rules)
        if column in row and (rules.repeated == "keep" or (rules.repeated == "drop" and row[column] == value)):
            row[column] += value if rules.repeated == "keep" else 0
        elif column <= last:
            raise ValueError(
                f"the index {column + rules.first_index} is {'repeated' if column == last else 'not rising'}"
            )
        else:
            row[column], last = value, column
    return label, [(column, value) for column, value in row.items() if value or rules.keeps_zeros]


def _pair(word: bytes, rules: Rules) -> tuple[int, float]:
    index, colon, value = word.partition(b":")
    shown = _shown(word)
    if not colon or not re.fullmatch(rb"[+-]?\d+", index):
        raise ValueError(f"'{shown}' is not of the form index:value")
    if len(index) > _LONGEST_INDEX:
        raise ValueError(f"'{shown}': the index is not one of the {rules.features} features")
    column = int(index) - rules.first_index
    if column < 0:
        hint = "; if columns are counted from 0, the card needs 'first_index: 0'" if int(index) == 0 else ""
        raise ValueError(f"the index {int(index)} is too small{hint}")
    if column >= rules.features:
        raise ValueError(f"the index {int(index)} is beyond the {rules.features} features")
    number = _number(value, f"'{shown}': the value is not a number")
    if not abs(number) <= LARGEST_VALUE:
        raise ValueError(f"'{shown}': the value is not finite, or too large for float32")
    return column, number


def _number(text: bytes, message: str) -> float:
    try:
        return float(b"" if b"_" in text else text)
    except ValueError:
        raise ValueError(message) from None


def _shown(text: bytes) -> str:
    return text[:40].decode("utf-8", "replace")


def _bad_line(file: SourceFile, first: int, text: bytes, rules: Rules) -> str | None:
    """Find the first line with a fault."""
    for line, content in enumerate(text.split(b"\n"), first):
        try:
            parse_line(content, rules)
        except ValueError as error:
            return f"{file.path}, line {line}: {error}"
    return None
