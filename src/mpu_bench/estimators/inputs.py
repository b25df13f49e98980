"""Arrays of a program as the rows and the problem that a solver takes; nothing is copied that is fit as it is.

numba compiles anew for arrays that may not be written to, such as memory-mapped ones. Solvers never write to rows, so
that a view that may be written to stands for them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpu_bench.core.problem import Problem
from mpu_bench.core.rows import Dense, Rows, Sparse, to_scipy
from mpu_bench.models.inputs import canonical

_MAX_COUNT = np.iinfo(np.uint32).max
_OF_SIMILAR_SCALE = 100.0  # the largest value of a column, and what it is in one column by what it is in another


class _Writable:
    """Stands for the memory of an array, and keeps it."""

    def __init__(self, array: NDArray[Any]) -> None:
        self.array = array
        self.__array_interface__ = array.__array_interface__ | {"data": (array.ctypes.data, False)}


def rows_of(X: Any) -> Rows:
    """Return the rows of a dense array or a CSR matrix of float32 or float64.

    Parameters
    ----------
    X : array of shape (n, d), or CSR matrix
        As `sklearn.utils.validation.validate_data` returns it.

    Returns
    -------
    Rows
        On the same memory, but for what a solver cannot read: an order of C, columns that rise within a row, indices
        of 32 bits.

    Raises
    ------
    ValueError
        If there are more than 4,294,967,295 rows, columns or non-zeros.
    """
    if not is_sparse(X):
        return Dense(writable(np.ascontiguousarray(X)))
    if max(X.nnz, *X.shape) > _MAX_COUNT:
        n, d = X.shape
        raise ValueError(
            f"X has {n:,} rows, {d:,} columns and {X.nnz:,} non-zeros; at most {_MAX_COUNT:,} of each can be held: fit"
            " parts of it, or fewer columns"
        )
    matrix = canonical(X)
    return Sparse(writable(matrix.data), _unsigned(matrix.indices), _unsigned(matrix.indptr))


def writable(array: NDArray[Any]) -> NDArray[Any]:
    """Return the array itself, or a view of the same memory that numba takes for one that may be written to."""
    if type(array) is np.ndarray and array.flags.writeable and array.flags.aligned:
        return array
    if not array.flags.aligned or not array.size:
        return np.array(array, subok=False)
    return np.asarray(_Writable(array))


def _unsigned(numbers: NDArray[Any]) -> NDArray[np.uint32]:
    """Return numbers that are not negative as uint32; 32 bits are seen as such, and not copied."""
    if numbers.dtype.itemsize == np.dtype(np.uint32).itemsize:
        return writable(numbers).view(np.uint32)
    return numbers.astype(np.uint32)


def check_format(X: Any) -> None:
    """Refuse a sparse matrix with an index that names no column: compiled code looks at no bounds."""
    if is_sparse(X):
        try:
            X.check_format()
        except ValueError as error:
            raise ValueError(f"X is no valid sparse matrix: {error}; build it again, with its true shape") from None


def is_sparse(X: Any) -> bool:
    """Return whether X is a CSR matrix, else it is an array."""
    return hasattr(X, "indptr")


def problem_of(
    rows: Rows,
    labels: NDArray[np.int32],
    features: int,
    classes: NDArray[Any],
    weights: NDArray[np.float64] | None = None,
) -> Problem:
    """Return a problem without test rows.

    Parameters
    ----------
    rows : Rows
    labels : array of int32, shape (n,)
        Indices of classes.
    features : int
        The number of columns, d.
    classes : array
        The classes as the caller names them.
    weights : array of float64, shape (n,), optional
        Of the examples.
    """
    none = Dense(np.zeros((0, features), np.float32))
    names = tuple(map(str, classes))
    return Problem("X", rows, labels, none, np.zeros(0, np.int32), features, names, "", weights=weights)


def as_array(rows: Rows, features: int) -> Any:
    """Return rows as an array of shape (n, d), or as a CSR matrix."""
    if isinstance(rows, Dense):
        return rows.values
    return to_scipy(rows, features)


def scales_of(X: Any) -> tuple[float, float] | None:
    """Return the least and the greatest of the largest values of the columns; None where they are similar."""
    ends = [end.toarray().ravel() if is_sparse(X) else end for end in (X.max(axis=0), X.min(axis=0))]
    largest = np.abs(ends).max(axis=0)
    largest = largest[largest > 0]
    if len(largest) and largest.max() > _OF_SIMILAR_SCALE * min(float(largest.min()), 1.0):
        return float(largest.min()), float(largest.max())
    return None
