"""A problem: prepared training and test rows with their labels."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray

from mpu_bench.core.clock import untimed
from mpu_bench.core.rows import Ones, Rows, Sparse, count, take
from mpu_bench.errors import DataError

#: of every class by its name, 1 for one that is not named; or n / (classes x examples of the class)
ClassWeight = Mapping[str, float] | Literal["balanced"]


@dataclass(frozen=True, eq=False)
class Problem:
    """Prepared examples, ready for a solver.

    Attributes
    ----------
    name : str
        The dataset's name.
    train, test : Rows
        n and n_test rows; their arrays may be memory-mapped (copy on write). A solver is given no test rows.
    labels, test_labels : array of int32, shape (n,) and (n_test,)
        Class indices 0..c-1. With two classes, 1 is the positive one.
    features : int
        The number of columns, d.
    classes : tuple of str
        The classes' names, by index.
    fingerprint : str
        Identifies content and preparation; equal fingerprints mean equal arrays.
    weights : array of float64, shape (n,), optional
        What the loss of each training example is multiplied by, above 0; for solvers that are `Solver.weighted`.
    threshold : float
        Of two classes: a model predicts the positive one where its score is above.
    """

    name: str
    train: Rows
    labels: NDArray[np.int32]
    test: Rows
    test_labels: NDArray[np.int32]
    features: int
    classes: tuple[str, ...]
    fingerprint: str
    weights: NDArray[np.float64] | None = field(default=None, kw_only=True)
    threshold: float = field(default=0.0, kw_only=True)

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
        """Return a block's rows and labels, and the number of its first row among all."""
        return self.train, self.labels, 0

    def rows_by_block(self) -> Iterator[Rows]:
        """Yield the training rows, block by block; making those of a stream takes no training time."""
        for number in range(self.blocks):
            with untimed():
                rows, *_ = self.block(number)
            yield rows

    def only_class(self) -> int | None:
        """Return the class that all training examples are of, None if there are several; there must be an example."""
        return int(self.labels[0]) if self.labels.min() == self.labels.max() else None

    def weighted(self, class_weight: ClassWeight) -> Self:
        """Return this problem with the weight of its class for every training example.

        Raises
        ------
        DataError
            If there is no such class.
        """
        if class_weight == "balanced":
            counts = np.bincount(self.labels, minlength=len(self.classes))
            of_class = len(self.labels) / (len(self.classes) * np.maximum(counts, 1))
        else:
            if unknown := sorted(set(class_weight) - set(self.classes)):
                raise DataError(f"{self.name}: there is no class '{unknown[0]}'; there are {', '.join(self.classes)}")
            of_class = np.array([float(class_weight.get(name, 1.0)) for name in self.classes])
        return replace(self, weights=of_class[self.labels])

    def without_test(self) -> Self:
        """Return this problem without test rows, as solvers get it."""
        none = np.arange(0)
        return replace(self, test=take(self.test, none), test_labels=self.test_labels[none])

    def signs(self) -> NDArray[np.float64]:
        """Return the training labels as -1.0 and +1.0, shape (n,); only for two classes."""
        return 2.0 * self.labels.astype(np.float64) - 1.0


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
        ``make(number)`` returns the rows and the labels of a block.
    counts : tuple of int
        The examples of every class.
    mean_squared_distance : float
        The mean of ||x - x'||^2 over all pairs of training rows.
    """

    length: int
    block_rows: int
    make: Callable[[int], tuple[Rows, NDArray[np.int32]]]
    counts: tuple[int, ...]
    mean_squared_distance: float

    @property
    def n(self) -> int:
        """The number of training examples."""
        return self.length

    @property
    def blocks(self) -> int:
        """The number of blocks the training rows come in."""
        return -(-self.length // self.block_rows)

    def block(self, number: int) -> tuple[Rows, NDArray[np.int32], int]:
        """Make a block and return its rows, its labels and the number of its first row among all.

        Raises
        ------
        DataError
            If a row holds a number that is not finite, or its label is none of the classes.
        """
        rows, labels = self.make(number)
        first = number * self.block_rows
        _check(self, rows, labels, first)
        return rows, labels, first

    def only_class(self) -> int | None:
        """Return the class that all training examples are of, None if there are several."""
        present = np.flatnonzero(self.counts)
        return int(present[0]) if len(present) == 1 else None


def _check(problem: StreamedProblem, rows: Rows, labels: NDArray[np.int32], first: int) -> None:
    """Refuse labels and values that no prepared file can hold."""
    unknown = np.flatnonzero((labels < 0) | (labels >= len(problem.classes)))
    if len(unknown):
        i = int(unknown[0])
        raise DataError(
            f"{problem.name}: training example {first + i + 1:,} is of class {labels[i]}, counted from 0; there are "
            f"{len(problem.classes)}"
        )
    if isinstance(rows, Ones) or np.isfinite(rows.values).all():
        return
    position = int(np.flatnonzero(~np.isfinite(rows.values))[0])
    row = position // problem.features
    if isinstance(rows, Sparse):
        row = int(np.searchsorted(rows.starts, position, "right")) - 1
    raise DataError(f"{problem.name}: training example {first + row + 1:,} holds a number that is not finite")
