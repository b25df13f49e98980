"""Augmentation (mpu-2010): a constant feature appended to every row, which gives each linear solver a bias."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpu_bench.core.rows import Dense, Ones, Rows, Sparse
from mpu_bench.data.prepare.npy import MAX_PAIRS
from mpu_bench.data.prepare.room import check_memory
from mpu_bench.errors import DataError


def augment(rows: Rows, features: int, rho: float) -> Rows:
    """Append a constant feature to every row, empty rows too.

    Parameters
    ----------
    rows : Rows
        With ``features`` columns; left as they are.
    features : int
        The number of columns, d. The new one is column d, counted from 0.
    rho : float
        Its value, positive; rounded to the type of the rows.

    Returns
    -------
    Rows
        With d + 1 columns. `Ones` become `Sparse` unless ``rho`` is 1; the other types stay what they are.

    Raises
    ------
    DataError
        If the rows come to more pairs than can be stored, or to more memory than there is.
    """
    if isinstance(rows, Dense):
        n, size = len(rows.values), rows.values.itemsize
        check_memory(n * (features + 1) * size, f"appending a feature to {n:,} dense rows", "augment")
        values = np.empty((len(rows.values), features + 1), rows.values.dtype)
        values[:, :features] = rows.values
        values[:, features] = rho
        return Dense(values)
    if len(rows.indices) + len(rows.starts) - 1 > MAX_PAIRS:
        raise DataError(f"augment: the rows would have more than the limit of {MAX_PAIRS:,} values")
    starts = np.add(rows.starts, np.arange(len(rows.starts)), dtype=np.uint32, casting="unsafe")
    old = np.ones(starts[-1], bool)
    old[starts[1:] - np.uint32(1)] = False
    indices: NDArray[np.uint32] = _merged(rows.indices, old, features)
    if isinstance(rows, Sparse):
        return Sparse(_merged(rows.values, old, rho), indices, starts)
    if np.float32(rho) == 1:
        return Ones(indices, starts)
    return Sparse(np.where(old, np.float32(1), np.float32(rho)), indices, starts)


def _merged(array: NDArray[Any], old: NDArray[np.bool_], constant: float) -> NDArray[Any]:
    """Lay the entries of ``array`` out in order where ``old`` is true, and ``constant`` elsewhere."""
    merged = np.full(len(old), constant, array.dtype)
    merged[old] = array
    return merged
