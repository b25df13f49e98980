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
