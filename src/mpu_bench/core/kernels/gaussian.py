"""The Gaussian kernel."""

from __future__ import annotations

from typing import Any, NamedTuple

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

    def bound(self, squared_norms: Any) -> Any:
        """Return M_i for each ``||x_i||^2``, with |K(x_i, x_j)| <= sqrt(M_i M_j) for rows of these lengths."""
        return np.ones_like(squared_norms, dtype=np.float64)

    def growth(self, squared_norm: float) -> float:
        """Return by how many times the rounding of inner products a value may be wrong, for rows of this length."""
        return max(4.0 * self.gamma * squared_norm, 1.0)  # gamma (||a||^2 + ||b||^2 + 2 |a.b|)

    @property
    def positive_semidefinite(self) -> bool:
        """Whether it is an inner product for any rows; of another, dual variables certify nothing."""
        return True


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
