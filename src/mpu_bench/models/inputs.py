"""Arrays of a program as rows of `core`, for prediction."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from mpu_bench.core.rows import Dense, Ones, Rows, Sparse
from mpu_bench.errors import DataError

_FLOATS = (np.float32, np.float64)


def array_rows(X: Any, features: int) -> Rows:
    """Return the rows of an array, a sparse matrix, or rows, which are returned as they are.

    Parameters
    ----------
    X : array, sparse matrix or Rows, shape (n, features)
        Single precision stays; anything else becomes double.
    features : int
        How many columns there must be.

    Raises
    ------
    DataError
        If X has another number of columns, or contains a value that is not a finite number.
    """
    if isinstance(X, Dense | Sparse | Ones):
        _check_columns(X, features)
        return X
    sparse = scipy.sparse.issparse(X)
    try:
        matrix: Any = scipy.sparse.csr_array(X) if sparse else np.asanyarray(X)
        if matrix.dtype.kind in "cmM":  # of which numpy would make a part, or days, without a word
            raise TypeError(f"they are of type {matrix.dtype}")
        matrix = matrix if matrix.dtype in _FLOATS else matrix.astype(np.float64)
        if sparse:
            matrix.check_format()  # compiled code looks at no bounds
    except (TypeError, ValueError) as error:
        raise DataError(f"the rows are {'no valid sparse matrix' if sparse else 'not numeric'}: {error}") from None
    matrix = matrix if sparse else np.ma.filled(matrix, np.nan)  # a masked value is a missing one
    if matrix.ndim != 2 or matrix.shape[1] != features:
        raise DataError(f"the rows are an array of shape {matrix.shape}, where the model takes (n, {features})")
    _check_finite(matrix.data if sparse else matrix)
    if not sparse:
        return Dense(np.array(matrix, order="C"))
    matrix = canonical(matrix)
    return Sparse(matrix.data.copy(), matrix.indices.astype(np.uint32), matrix.indptr.astype(np.uint32))


def canonical(matrix: Any) -> Any:
    """Return a CSR matrix whose columns rise within a row, each once; a copy where the caller's is none.

    Raises
    ------
    DataError
        If entries at one index add up to what is not finite.
    """
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
        _check_finite(matrix.data)
    return matrix


def _check_columns(rows: Rows, features: int) -> None:
    """Refuse rows that compiled code would read beyond the end of an array for."""
    if isinstance(rows, Dense):
        fits = rows.values.shape[1] == features
    else:
        fits = not len(rows.indices) or int(rows.indices.max()) < features
    if not fits:
        raise DataError(f"the rows have the wrong columns; the model takes {features:,}")


def _check_finite(values: Any) -> None:
    if not np.isfinite(values).all():
        index = int(np.argwhere(~np.isfinite(values))[0][0])
        where = f"row {index + 1}" if values.ndim == 2 else "a row"
        raise DataError(f"{where} contains a value that is not a finite number")
