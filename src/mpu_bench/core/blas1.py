"""Inner products and sums of vectors of float64, as BLAS names them."""

from __future__ import annotations

import numpy as np

from mpu_bench.core.jit import jit


@jit(fastmath={"reassoc", "contract"})
def dot(x, y, m):
    """Return the inner product of the first m elements."""
    total = 0.0
    for j in range(np.uint64(0), np.uint64(m)):
        total += x[j] * y[j]
    return total


@jit(fastmath={"contract"})
def axpy(a, x, y, m):
    """Add ``a x`` to y in place, over the first m elements."""
    for j in range(np.uint64(0), np.uint64(m)):
        y[j] += a * x[j]
