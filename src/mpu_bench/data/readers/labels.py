"""Turning the labels of a file into class indices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpu_bench.data.cards.parts import ANY_OTHER
from mpu_bench.preprocessing import label_key


class Labels:
    """Turns the labels of a file into class indices.

    Numbers are compared as numbers: ``-1``, ``-1.0`` and ``-1.`` are one label, as are ``1`` and ``+1``. A label that
    is a class to the letter is that class: ``01`` where there are the classes ``01`` and ``1``.

    Parameters
    ----------
    classes : mapping of str to tuple of str
        The labels of each class, in the order of the indices. ``*`` stands for every other label.
    """

    def __init__(self, classes: Mapping[str, tuple[str, ...]]) -> None:
        self.classes = classes
        self._exact = {label.strip(): i for i, labels in enumerate(classes.values()) for label in labels}
        self._other = self._exact.pop(ANY_OTHER, -1)
        self._alike: dict[str, set[int]] = {}
        for label, i in self._exact.items():
            self._alike.setdefault(label_key(label), set()).add(i)

    def index(self, label: str) -> int:
        """Return the class of one label, or -1 if it has none."""
        word = label.strip()
        alike = self._alike.get(label_key(word), set())
        return self._exact.get(word, min(alike) if len(alike) == 1 else self._other)

    def of_texts(self, labels: Any) -> NDArray[np.int32]:
        """Return the classes of many labels written as text, shape (m,); -1 where there is none."""
        import pandas as pd

        codes, distinct = pd.factorize(pd.Index(labels), use_na_sentinel=False)
        return self._of_distinct(distinct)[codes]

    def of_numbers(self, labels: NDArray[np.float64]) -> NDArray[np.int32]:
        """Return the classes of many numeric labels, shape (m,); -1 where there is none."""
        distinct, codes = np.unique(labels, return_inverse=True)
        return self._of_distinct(distinct)[codes]

    def _of_distinct(self, labels: Iterable[Any]) -> NDArray[np.int32]:
        return np.array([self.index(str(label)) for label in labels], np.int32)

    def unknown(self, label: str) -> str:
        """Return a message that a label belongs to no class."""
        known = ", ".join([*self._exact][:30])
        return f"the label '{label}' is none of the card's classes ({known})"
