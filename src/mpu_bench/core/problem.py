"""A problem: prepared training and test rows with their labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mpu_bench.core.rows import Rows, count


@dataclass(frozen=True, eq=False)
class Problem:
    """Prepared examples, ready for a solver.

    Attributes
    ----------
    name : str
        The dataset's name.
    train, test : Rows
        n and n_test rows; their arrays may be memory-mapped (copy on write).
    labels, test_labels : array of int32, shape (n,) and (n_test,)
        Class indices 0..c-1. With two classes, 1 is the positive one.
    features : int
        The number of columns, d.
    classes : tuple of str
        The classes' names, by index.
    fingerprint : str
        Identifies content and preparation; equal fingerprints mean equal arrays.
    """

    name: str
    train: Rows
    labels: NDArray[np.int32]
    test: Rows
    test_labels: NDArray[np.int32]
    features: int
    classes: tuple[str, ...]
    fingerprint: str

    @property
    def n(self) -> int:
        """The number of training examples."""
        return int(count(self.train))

    @property
    def n_test(self) -> int:
        """The number of test examples."""
        return int(count(self.test))

    @property
    def blocks(self) -> int:
        """The number of blocks the training rows come in; what is not a stream is one block."""
        return 1

    def block(self, number: int) -> tuple[Rows, NDArray[np.int32], int]:  # noqa: ARG002
        """Give a block's rows and labels, and the number of its first row among all."""
        return self.train, self.labels, 0

    def signs(self) -> NDArray[np.float64]:
        """Give the training labels as -1.0 and +1.0, shape (n,); only for two classes."""
        return signs_of(self.labels)


@dataclass(frozen=True, eq=False)
class StreamedProblem(Problem):
    """A problem whose training rows are made block by block, whenever they are asked for; n may be of any size.

    ``train`` and ``labels`` hold the first block only, as a sample.

    Attributes
    ----------
    length : int
        n.
    block_rows : int
        The rows of a block; the last may have fewer.
    make : function
        ``make(number)`` gives the rows and the labels of a block.
    """

    length: int
    block_rows: int
    make: Callable[[int], tuple[Rows, NDArray[np.int32]]]

    @property
    def n(self) -> int:
        """The number of training examples."""
        return self.length

    @property
    def blocks(self) -> int:
        """The number of blocks the training rows come in."""
        return -(-self.length // self.block_rows)

    def block(self, number: int) -> tuple[Rows, NDArray[np.int32], int]:
        """Make a block's rows and labels; also gives the number of its first row among all."""
        rows, labels = self.make(number)
        return rows, labels, number * self.block_rows


def signs_of(labels: NDArray[np.int32]) -> NDArray[np.float64]:
    """Turn class indices 0 and 1 into -1.0 and +1.0."""
    return 2.0 * labels.astype(np.float64) - 1.0
