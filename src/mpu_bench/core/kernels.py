"""The kernels: one NamedTuple each, one overload of `value` each.

A kernel value is a function of the inner product of two rows and of their squared norms, so dense and sparse
rows share it. A new kernel is one tuple, one function and one line in `_VALUES`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mpu_bench.core.compilation import dispatch


class Linear(NamedTuple):
    """K(a, b) = a.b."""


class Gaussian(NamedTuple):
    """K(a, b) = exp(-gamma ||a - b||^2)."""

    gamma: float


class Polynomial(NamedTuple):
    """K(a, b) = (scale a.b + offset)^degree."""

    scale: float
    offset: float
    degree: int


Kernel = Linear | Gaussian | Polynomial


def _linear(_kernel, dot, _a2, _b2):
    return dot


def _gaussian(kernel, dot, a2, b2):
    return np.exp(-kernel.gamma * max(a2 + b2 - 2.0 * dot, 0.0))


def _polynomial(kernel, dot, _a2, _b2):
    base = kernel.scale * dot + kernel.offset
    power = 1.0
    for _ in range(kernel.degree):
        power *= base
    return power


#: ``value(kernel, dot, a2, b2)``: the kernel of two rows with inner product ``dot`` and squared norms ``a2``, ``b2``.
value = dispatch("value", {Linear: _linear, Gaussian: _gaussian, Polynomial: _polynomial})


def _linear_values(_kernel, _products, _norms, _norm):
    return None


def _gaussian_values(kernel, products, norms, norm):
    gamma = kernel.gamma
    for j in range(len(products)):
        products[j] = np.exp(-gamma * max(norm + norms[j] - 2.0 * products[j], 0.0))


def _polynomial_values(kernel, products, _norms, _norm):
    for j in range(len(products)):
        base = kernel.scale * products[j] + kernel.offset
        power = 1.0
        for _ in range(kernel.degree):
            power *= base
        products[j] = power


#: ``values(kernel, products, norms, norm)``: turns the inner products of rows with squared norms ``norms`` (n,) and one
#: row with the squared norm ``norm`` into kernel values, in place.
values = dispatch("values", {Linear: _linear_values, Gaussian: _gaussian_values, Polynomial: _polynomial_values})
