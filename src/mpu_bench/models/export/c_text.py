"""The pieces of a C file: names, texts that cannot leave their quotation marks or comments, and constant arrays."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mpu_bench.errors import DataError
from mpu_bench.texts import one_line

_BYTES = {
    "float": 4, "double": 8, "int8_t": 1, "int16_t": 2, "int32_t": 4, "uint8_t": 1, "uint16_t": 2, "uint32_t": 4,
}  # fmt: skip
_ARRAY = re.compile(r"^ *(?:static )?const (\w+) \w+\[(\d+)\]", re.MULTILINE)
_NUMBERS_A_LINE = 12
_PLAIN = re.compile(r"[A-Za-z0-9 _.,:;=<>()\[\]+-]")
_KEYWORDS = frozenset(
    re.findall(
        r"\w+",
        "auto break case char const continue default do double else enum extern float for goto if inline int long main "
        "register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while "
        "machine class",  # of which the file makes names itself: machine_scores, class_scores
    )
)


def identifier(text: str, fallback: str = "model") -> str:
    """Return a text as a name of C."""
    name = re.sub(r"[^A-Za-z0-9]+", "_", text).strip("_")[:60] or fallback
    return f"{fallback}_{name}" if name[0].isdigit() or name in _KEYWORDS else name


def distinct(names: Iterable[str]) -> list[str]:
    """Return names with a number behind those that were there before."""
    used: set[str] = set()
    identifiers = []
    for name in names:
        number, chosen = 2, name
        while chosen in used:
            chosen, number = f"{name}_{number}", number + 1
        used.add(chosen)
        identifiers.append(chosen)
    return identifiers


def text_literal(text: str) -> str:
    """Return a text as C writes it; every byte that is not plainly harmless is a number."""
    return '"' + "".join(chr(b) if _PLAIN.match(chr(b)) else f"\\{b:03o}" for b in _bytes_of(text)) + '"'


def _bytes_of(text: str) -> bytes:
    """Return what C holds of a text: a NUL would end it, and half of a surrogate pair has no bytes."""
    return text.replace("\0", r"\x00").encode(errors="backslashreplace")


def comment(text: str) -> str:
    """Return a text that does not end the comment it stands in."""
    ascii_text = one_line(text, 300).encode("ascii", "backslashreplace").decode()
    return re.sub(r"\*(?=/)|/(?=\*)|\?(?=\?)", r"\g<0> ", ascii_text.replace("\\", "|"))


def number(value: float, kind: str = "float") -> str:
    """Return a number as a constant of single precision, or of ``double``.

    Raises
    ------
    DataError
        If it is beyond the range of single precision.
    """
    if kind == "double":
        return repr(float(value))
    with np.errstate(over="ignore"):
        single = np.float32(value)
    if not np.isfinite(single):
        raise DataError(f"a number of the model, {value:g}, is beyond the range of single precision")
    text = f"{single:.9g}"
    return f"{text}f" if "." in text or "e" in text else f"{text}.0f"


def function(head: str, lines: Iterable[str]) -> str:
    """Return the definition of a function."""
    return head + "\n{\n" + "\n".join(f"  {line}" for line in lines) + "\n}"


@dataclass
class Constants:
    """Constant arrays, in the order they are added."""

    lines: list[str] = field(default_factory=list)

    def add(self, kind: str, name: str, values: Any) -> None:
        """Add an array, row by row; one without elements is none of C's, and gets a zero."""
        flat: NDArray[Any] = np.asarray(values).ravel()
        is_real = kind in ("float", "double")
        texts = [number(value, kind) if is_real else str(int(value)) for value in flat.tolist()] or ["0"]
        parts = [texts[i : i + _NUMBERS_A_LINE] for i in range(0, len(texts), _NUMBERS_A_LINE)]
        body = ",\n  ".join(", ".join(part) for part in parts)
        self.lines.append(f"static const {kind} {name}[{len(texts)}] = {{\n  {body}\n}};")

    def indices(self, name: str, values: Any, largest: int) -> None:
        """Add an array of numbers from 0 to the largest, in the smallest type."""
        self.add("uint8_t" if largest < 1 << 8 else "uint16_t" if largest < 1 << 16 else "uint32_t", name, values)


def array_bytes(text: str) -> int:
    """Return the bytes of the constant numbers of a C file."""
    return sum(_BYTES[kind] * int(size) for kind, size in _ARRAY.findall(text))


class Stored(NamedTuple):
    """A matrix in C: how a loop goes over what is stored of row i, and what it finds there."""

    loop: str
    value: str
    column: str
    terms: int  #: of all rows
    is_sparse: bool


def store(constants: Constants, kind: str, matrix: Any, names: Sequence[str], index: str) -> Stored:
    """Store a CSR matrix as it is or dense, whichever is smaller.

    Parameters
    ----------
    constants : Constants
    kind : str
        The type of its values.
    matrix : CSR array, shape (m, d)
    names : sequence of str
        Of the dense array; of those of values, columns and starts.
    index : str
        The variable that loops count with.
    """
    dense, values, columns, starts = names
    (m, d), count, size = matrix.shape, int(matrix.nnz), _BYTES[kind]
    if count * (size + 1) >= m * d * size:
        constants.add(kind, dense, matrix.toarray())
        loop = f"for ({index} = 0; {index} < {d}; {index}++)"
        return Stored(loop, f"{dense}[i * {d} + {index}]", index, m * d, is_sparse=False)
    constants.add(kind, values, matrix.data)
    constants.indices(columns, matrix.indices, d - 1)
    constants.indices(starts, matrix.indptr, count)
    loop = f"for ({index} = (int32_t){starts}[i]; {index} < (int32_t){starts}[i + 1]; {index}++)"
    return Stored(loop, f"{values}[{index}]", f"{columns}[{index}]", count, is_sparse=True)


VECTORS = ("vectors", "vector_values", "vector_columns", "vector_starts")  #: names for `store`
COEFFICIENTS = ("coefficients", "coefficients", "coefficient_machines", "coefficient_starts")


def expansion(before: Iterable[str], value: Iterable[str], m: int, p: int) -> list[str]:
    """Return the lines that add up kernel values of m vectors in the scores of p machines.

    Those ``before`` are run once, those of a ``value`` for each vector i.
    """
    return [
        "int32_t i, j, k;",
        *before,
        f"for (k = 0; k < {p}; k++) f[k] = biases[k];",
        f"for (i = 0; i < {m}; i++) {{",
        *(f"  {line}" for line in value),
        "}",
        "(void)j;",
    ]


def labels_table(name: str, labels: Sequence[Any]) -> tuple[str, int]:
    """Return the declaration of the classes' labels, and the bytes of texts."""
    whole = all(isinstance(label, int) and not isinstance(label, bool) for label in labels)
    if whole and all(-(2**31) < label < 2**31 for label in labels):
        words = ", ".join(map(str, labels))
        return f"const int32_t {name}_labels[{len(labels)}] = {{{words}}};", 0
    texts = [str(label) for label in labels]
    words = ", ".join(map(text_literal, texts))
    size = sum(len(_bytes_of(text)) + 1 for text in texts) + 4 * len(texts)
    return f"const char *const {name}_labels[{len(labels)}] = {{{words}}};", size
