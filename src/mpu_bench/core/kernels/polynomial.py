"""The polynomial kernel, plain or normalized."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mpu_bench.core.jit import jit
from mpu_bench.core.kernels.operations import value, values

MOST_DEGREE = 1000
_VALUES_AT_ONCE = 512  # of which a power is taken; they stay in the nearest cache


class Polynomial(NamedTuple):
    """K(a, b) = (scale a.b + offset)^degree; normalized, K(a, b) / sqrt(K(a, a) K(b, b)), or 0 where that is 0 / 0."""

    scale: float
    offset: float
    degree: int
    normalize: bool = False

    def largest(self, squared_norm: float) -> float:
        """Return a bound of what is computed for rows of at most this squared norm; may overflow to infinity."""
        base = abs(self.scale) * np.float64(squared_norm) + abs(self.offset)
        values = base ** (1 if self.normalize else self.degree)  # normalized before the power is taken
        return float(max(values, squared_norm))  # the inner products, too

    def bound(self, squared_norms: Any) -> Any:
        """Return M_i for each ``||x_i||^2``, with |K(x_i, x_j)| <= sqrt(M_i M_j) for rows of these lengths."""
        if self.normalize:
            return np.ones_like(squared_norms, dtype=np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            return (abs(self.scale) * np.asarray(squared_norms, np.float64) + abs(self.offset)) ** self.degree

    def growth(self, squared_norm: float) -> float:  # noqa: ARG002
        """Return by how many times the rounding of inner products a value may be wrong, relative to `bound`."""
        return float(max(self.degree, 1))

    @property
    def positive_semidefinite(self) -> bool:
        """Whether it is an inner product for any rows; of another, dual variables certify nothing."""
        return all(self.scale**k * self.offset ** (self.degree - k) >= 0 for k in range(self.degree + 1))


@value.register(Polynomial)
def _(kernel, dot, a2, b2):
    base = kernel.scale * dot + kernel.offset
    if kernel.normalize:  # the root of degree `degree` of what is divided by, so that nothing grows large
        base *= _inverse_root(kernel.scale * a2 + kernel.offset) * _inverse_root(kernel.scale * b2 + kernel.offset)
    power = 1.0
    for _ in range(kernel.degree):
        power *= base
    return power


@jit(inline="always")
def _inverse_root(number):
    return 1.0 / np.sqrt(number) if number > 0.0 else 0.0


@values.register(Polynomial)
def _(kernel, products, norms, norm):
    _bases(kernel, products, norms, norm)
    _powers(products, kernel.degree)


@jit
def _bases(kernel, products, norms, norm):
    """Turn inner products into what the power is taken of."""
    number = products.dtype.type
    scale, offset = number(kernel.scale), number(kernel.offset)
    if not kernel.normalize:
        for j in range(len(products)):
            products[j] = scale * products[j] + offset
        return
    one, zero, inverse_root = number(1), number(0), number(_inverse_root(kernel.scale * norm + kernel.offset))
    for j in range(len(products)):
        square = scale * norms[j] + offset
        root = np.sqrt(square if square > zero else one)
        products[j] = (scale * products[j] + offset) * inverse_root / root if square > zero else zero


@jit(allocates=True)
def _powers(bases, degree):
    scratch = np.empty(_VALUES_AT_ONCE, bases.dtype)
    for start in range(0, len(bases), _VALUES_AT_ONCE):
        _to_power(bases[start : start + _VALUES_AT_ONCE], degree, scratch)


@jit
def _to_power(numbers, degree, bases):
    """Raise to the degree by squaring and multiplying, all numbers at a time: in vector instructions."""
    for j in range(len(numbers)):
        bases[j] = numbers[j]
    if degree == 0:
        numbers[:] = 1
        return
    bit = 1
    while 2 * bit <= degree:
        bit *= 2
    while bit > 1:
        bit //= 2
        if degree & bit:
            for j in range(len(numbers)):
                numbers[j] *= numbers[j] * bases[j]
        else:
            for j in range(len(numbers)):
                numbers[j] *= numbers[j]
