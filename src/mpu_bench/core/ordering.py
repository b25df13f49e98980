"""Numbers as integers that compare as they do.

Compilers turn the largest of many integers into vector code, the largest of many floats, where one may be NaN, not.
"""

from __future__ import annotations

import numpy as np

from mpu_bench.core.jit import jit

ALL_BUT_SIGN = np.int64(0x7FFFFFFFFFFFFFFF)  #: of the bits of a float64


@jit(forceinline=True)
def order(x):
    """Return an integer that compares as the float64 does."""
    bits = np.float64(x).view(np.int64)
    return bits ^ ((bits >> 63) & ALL_BUT_SIGN)


@jit(forceinline=True)
def number(order):
    """Return the float64 of an `order`."""
    return np.int64(order ^ ((order >> 63) & ALL_BUT_SIGN)).view(np.float64)
