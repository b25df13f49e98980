"""What is asked of every kernel: functions of inner products and squared norms, which dense and sparse rows share."""

from __future__ import annotations

from mpu_bench.core.jit import jit_dispatch


@jit_dispatch
def value(kernel, dot, a2, b2):
    """Return the kernel of two rows with the inner product ``dot`` and the squared norms ``a2``, ``b2``; a float64."""


@jit_dispatch(forceinline=True)
def values(kernel, products, norms, norm):
    """Turn inner products into kernel values, in place.

    They are those of n rows with one row: ``norms`` (n,) are the squared norms of the rows and ``norm`` that of the
    one; all float32 or all float64.
    """
