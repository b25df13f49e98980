"""The Gaussian kernel."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mpu_bench.core.exp import exp_double, exp_single
from mpu_bench.core.jit import jit_dispatch
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
    _exponentials(products, kernel.gamma, norms, norm)


@jit_dispatch(fastmath={"contract"}, forceinline=True)
def _exponentials(products, gamma, norms, norm):
    """Turn inner products into kernel values."""


@_exponentials.register(np.float64)
def _(products, gamma, norms, norm):
    for j in range(len(products)):
        products[j] = exp_double(-gamma * max((norm + norms[j]) - 2.0 * products[j], 0.0))


@_exponentials.register(np.float32)
def _(products, gamma, norms, norm):
    negative, norm = np.float32(-gamma), np.float32(norm)
    for j in range(len(products)):
        distance = (norm + norms[j]) - _TWO * products[j]
        products[j] = exp_single(negative * max(distance, _ZERO))
