"""What solvers compute with besides rows: BLAS's inner products and sums, numbers as integers, scalars in a record.

Compilers turn the largest of many integers into vector code, the largest of many floats, where one may be NaN, not: so
numbers become integers that compare as they do (`order`).

Scalars that change while a solver runs are the fields of a record (`new_record`): ``p.position += 1`` in jitted code. A
NamedTuple of arrays cannot be assigned to; a one-element record array in it can, field by field.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mpu_bench.core.jit import jit

ALL_BUT_SIGN = np.int64(0x7FFFFFFFFFFFFFFF)  #: of the bits of a float64


@jit(fastmath={"reassoc", "contract"})
def dot(x, y, m):
    """Return the inner product of the first m elements."""
    total = 0.0
    for j in range(np.uint64(0), np.uint64(m)):
        total += x[j] * y[j]
    return total


@jit
def ordered_dot(x, y, m):
    """Return the inner product of the first m elements, added up in order."""
    total = 0.0
    for j in range(m):
        total += x[j] * y[j]
    return total


@jit
def multiply(x, factor):
    """Multiply all elements by a factor, in place."""
    for j in range(len(x)):
        x[j] *= factor


@jit(fastmath={"contract"})
def axpy(a, x, y, m):
    """Add ``a x`` to y in place, over the first m elements."""
    for j in range(np.uint64(0), np.uint64(m)):
        y[j] += a * x[j]


@jit(forceinline=True)
def order(x):
    """Return an integer that compares as the float64 does."""
    bits = np.float64(x).view(np.int64)
    return bits ^ ((bits >> 63) & ALL_BUT_SIGN)


@jit(forceinline=True)
def number(order):
    """Return the float64 of an `order`."""
    return np.int64(order ^ ((order >> 63) & ALL_BUT_SIGN)).view(np.float64)


def new_record(dtype: np.dtype[Any], **values: Any) -> np.recarray[Any, Any]:
    """Return a record array of one element, zero but for ``values``; jitted code works on its element 0.

    Parameters
    ----------
    dtype : dtype
        With named fields, such as ``np.dtype([("position", "i8"), ("gap", "f8")])``.
    **values
        The first values of fields.

    Returns
    -------
    recarray, shape (1,)
    """
    record = np.zeros(1, dtype).view(np.recarray)
    for name, value in values.items():
        record[name] = value
    return record
