"""The pieces of a C file: names, texts that cannot leave their quotation marks or comments, and constant arrays."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpu_bench.errors import DataError
from mpu_bench.texts import one_line

_BYTES = {
    "float": 4, "double": 8, "int8_t": 1, "int16_t": 2, "int32_t": 4, "uint8_t": 1, "uint16_t": 2, "uint32_t": 4,
}  # fmt: skip
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
    found = []
    for name in names:
        number, chosen = 2, name
        while chosen in used:
            chosen, number = f"{name}_{number}", number + 1
        used.add(chosen)
        found.append(chosen)
    return found


def text_literal(text: str) -> str:
    """Return a text as C writes it; every byte that is not plainly harmless is a number."""
    return '"' + "".join(chr(b) if _PLAIN.match(chr(b)) else f"\\{b:03o}" for b in text.encode()) + '"'


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


def smallest_unsigned(largest: int) -> str:
    """Return the smallest type that holds numbers from 0 to this one."""
    return "uint8_t" if largest < 1 << 8 else "uint16_t" if largest < 1 << 16 else "uint32_t"


@dataclass
class Constants:
    """Constant arrays, in the order they are added, and how many bytes they take."""

    lines: list[str] = field(default_factory=list)
    bytes: int = 0

    def add(self, kind: str, name: str, values: Any) -> None:
        """Add an array, row by row; one without elements is none of C's, and gets a zero."""
        flat: NDArray[Any] = np.asarray(values).ravel()
        is_real = kind in ("float", "double")
        texts = [number(value, kind) if is_real else str(int(value)) for value in flat.tolist()]
        texts = texts or ["0"]
        parts = [texts[i : i + _NUMBERS_A_LINE] for i in range(0, len(texts), _NUMBERS_A_LINE)]
        body = ",\n  ".join(", ".join(part) for part in parts)
        self.lines.append(f"static const {kind} {name}[{len(texts)}] = {{\n  {body}\n}};")
        self.bytes += _BYTES[kind] * len(texts)

    def indices(self, name: str, values: Any, largest: int) -> None:
        """Add an array of numbers from 0 to the largest, in the smallest type."""
        self.add(smallest_unsigned(largest), name, values)


def labels_table(name: str, labels: Sequence[Any]) -> tuple[str, int]:
    """Return the declaration of the classes' labels, and their bytes."""
    whole = all(isinstance(label, int) and not isinstance(label, bool) for label in labels)
    if whole and all(-(2**31) < label < 2**31 for label in labels):
        words = ", ".join(map(str, labels))
        return f"const int32_t {name}_labels[{len(labels)}] = {{{words}}};", 4 * len(labels)
    texts = [str(label) for label in labels]
    words = ", ".join(map(text_literal, texts))
    size = sum(len(text.encode()) + 1 for text in texts) + 4 * len(texts)
    return f"const char *const {name}_labels[{len(labels)}] = {{{words}}};", size
