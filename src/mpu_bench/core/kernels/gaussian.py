"""The Gaussian kernel."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mpu_bench.core.exp import exp_double, exp_single
from mpu_bench.core.jit import jit
from mpu_bench.core.kernels.operations import value, values

_TWO, _ZERO = np.float32(2), np.float32(0)


class Gaussian(NamedTuple):
    """K(a, b) = exp(-gamma ||a - b||^2)."""

    gamma: float

    def largest(self, squared_norm: float) -> float:
        """Return a bound of what is computed for rows of at most this squared norm."""
        return squared_norm


@value.register(Gaussian)
def _(kernel, dot, a2, b2):
    return np.exp(-kernel.gamma * max(a2 + b2 - 2.0 * dot, 0.0))


@values.register(Gaussian)
def _(kernel, products, norms, norm):
    if products.itemsize == 4:
        _single_values(kernel.gamma, products, norms, norm)
        return
    _double_values(kernel.gamma, products, norms, norm)


@jit(fastmath={"contract"}, forceinline=True)
def _double_values(gamma, products, norms, norm):
    for j in range(len(products)):
        products[j] = exp_double(-gamma * max((norm + norms[j]) - 2.0 * products[j], 0.0))


@jit(fastmath={"contract"}, forceinline=True)
def _single_values(gamma, products, norms, norm):
    negative, norm = np.float32(-gamma), np.float32(norm)
    for j in range(len(products)):
        distance = (norm + norms[j]) - _TWO * products[j]
        products[j] = exp_single(negative * max(distance, _ZERO))
