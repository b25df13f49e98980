"""Turning the labels of a file into class indices."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpu_bench.data.cards.schema import ANY_OTHER


class Labels:
    """Turns the labels of a file into class indices.

    Numbers are compared as numbers: ``-1``, ``-1.0`` and ``-1.`` are one label, as are ``1`` and ``+1``.

    Parameters
    ----------
    classes : mapping of str to tuple of str
        The labels of each class, in the order of the indices. ``*`` stands for every other label.
    """

    def __init__(self, classes: Mapping[str, tuple[str, ...]]) -> None:
        self.classes = classes
        self._by_text = {_plain(label): i for i, labels in enumerate(classes.values()) for label in labels}
        self._other = self._by_text.pop(ANY_OTHER, -1)

    def index(self, label: str) -> int:
        """Return the class of one label, or -1 if it has none."""
        return self._by_text.get(_plain(label), self._other)

    def of_texts(self, labels: Any) -> NDArray[np.int32]:
        """Return the classes of many labels written as text, shape (m,); -1 where there is none."""
        import pandas as pd

        codes, distinct = pd.factorize(pd.Index(labels), use_na_sentinel=False)
        indices = np.array([self.index(str(label)) for label in distinct], np.int32)
        return indices[codes]

    def of_numbers(self, labels: NDArray[np.float64]) -> NDArray[np.int32]:
        """Return the classes of many numeric labels, shape (m,); -1 where there is none."""
        numbers, classes = self._by_number
        if not len(numbers):
            return np.full(len(labels), self._other, np.int32)
        nearest = np.minimum(np.searchsorted(numbers, labels), len(numbers) - 1)
        return np.where(numbers[nearest] == labels, classes[nearest], self._other).astype(np.int32)

    def unknown(self, label: str) -> str:
        """Return a message that a label belongs to no class."""
        known = ", ".join(sorted(self._by_text)[:30])
        return f"the label '{label}' is none of the card's classes ({known})"

    @cached_property
    def _by_number(self) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        pairs = sorted((float(text), i) for text, i in self._by_text.items() if _is_number(text))
        return np.array([number for number, _ in pairs], float), np.array([i for _, i in pairs], np.int32)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _plain(label: str) -> str:
    """Return a label that is a number in its shortest form, others without blanks around."""
    text = label.strip()
    return f"{float(text):.17g}" if _is_number(text) else text
