"""The classes of a model: their labels, with the type they had, and the words that stand for them in a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from mpu_bench.document import Strict
from mpu_bench.errors import DataError
from mpu_bench.preprocessing import label_key
from mpu_bench.texts import listed

_MAX_CHARACTERS = 1 << 26  # of all labels together
_KINDS = {"U": "text", "b": "boolean", "i": "integer", "u": "integer", "f": "number"}
#: kind -> the type of its values in a file, and the types of numbers that its labels may have
_STORED: dict[str, tuple[Any, tuple[str, ...]]] = {
    "text": (str, ("",)),
    "objects": (str, ("",)),
    "boolean": (bool, ("bool",)),
    "integer": (int, tuple(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))),
    "number": (float | int, ("float16", "float32", "float64")),
}


class ClassLabels(Strict):
    """Labels as plain data: ``words`` are, class by class, the words that a file may have for it."""

    kind: Literal["text", "objects", "boolean", "integer", "number"]
    dtype: str
    values: Annotated[tuple[str | bool | int | float, ...], Field(min_length=2)]
    words: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, eq=False)
class Classes:
    """The classes of a model.

    Attributes
    ----------
    labels : array, shape (c,)
        What `predict` returns: texts, integers or floats.
    words : tuple of tuple of str
        Class by class, what stands for it in a file; numbers are compared as numbers: ``+1`` is ``1.0``.
    """

    labels: NDArray[Any]
    words: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, labels: Any, words: Sequence[Sequence[str]] | None = None) -> Classes:
        """Return the classes of these labels; by default each label is its own word.

        Raises
        ------
        DataError
            If the labels are neither texts nor numbers.
        """
        labels = np.asarray(labels)
        texts = tuple((str(label),) for label in labels.tolist())
        classes = cls(labels, texts if words is None else tuple(map(tuple, words)))
        classes.to_json()
        return classes

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def names(self) -> tuple[str, ...]:
        """The labels as text."""
        return tuple(map(str, self.labels.tolist()))

    def to_json(self) -> ClassLabels:
        """Return the classes as plain data."""
        values = self.labels.tolist()
        kind = _KINDS.get(self.labels.dtype.kind)
        if self.labels.dtype.kind == "O" and all(isinstance(value, str) for value in values):
            kind = "objects"
        dtype = "" if kind in ("text", "objects") else self.labels.dtype.name
        if kind is None or self.labels.ndim != 1 or dtype not in _STORED[kind][1]:
            raise DataError("the labels of the classes are neither texts nor numbers: the model cannot be saved")
        return ClassLabels(kind=kind, dtype=dtype, values=tuple(values), words=self.words)  # type: ignore[arg-type]

    @classmethod
    def from_json(cls, data: ClassLabels) -> Classes:
        """Return the classes that `to_json` has made into plain data.

        Raises
        ------
        ValueError
            If they do not fit together.
        """
        kind, types = _STORED[data.kind]
        if data.dtype not in types:
            raise ValueError(f"the labels of the classes cannot be of type '{data.dtype}'")
        if not all(isinstance(value, kind) for value in data.values) or len(data.words) != len(data.values):
            raise ValueError("the labels of the classes do not fit together")
        if kind is str:  # an array of texts has room for the longest at every index
            longest = max(map(len, data.values))  # type: ignore[arg-type]
            if longest * len(data.values) > _MAX_CHARACTERS:
                raise ValueError("the labels of the classes are too long")
        with np.errstate(over="ignore"):
            labels = np.array(data.values, data.dtype or {"text": str, "objects": object}[data.kind])
        if labels.tolist() != list(data.values):
            raise ValueError(f"a label of the classes is beyond the range of {data.dtype}")
        return cls(labels, data.words)

    def indices(self, labels: Sequence[Any], first_row: int = 1) -> NDArray[np.int32]:
        """Return the class of every label of a file or of a program, shape (n,).

        Raises
        ------
        DataError
            With its row: a label that no class has.
        """
        exact = {word: number for number, words in enumerate(self.words) for word in words}
        numbers = [(label_key(word), number) for word, number in exact.items()]
        last = dict(numbers)
        unclear = {key for key, number in numbers if last[key] != number}  # as of '1' and '01', which differ as texts
        alike = {key: number for key, number in numbers if key not in unclear}
        texts = map(self._text, labels)
        positions = [exact[text] if text in exact else alike.get(label_key(text), -1) for text in texts]
        if -1 in positions:
            index, known = positions.index(-1), listed([word for words in self.words for word in words])
            raise DataError(f"row {first_row + index}: its label '{labels[index]}' is none of the model's: {known}")
        return np.array(positions, np.int32)

    def _text(self, label: Any) -> str:
        """Return a label as text: True and False are 1 and 0 where the labels are numbers, as for a classifier."""
        is_number = self.labels.dtype.kind in "iuf" and isinstance(label, bool | np.bool_)
        return str(int(label) if is_number else label)
