"""The kernels: one NamedTuple each, one overload of `value` each.

A kernel value is a function of the inner product of two rows and of their squared norms, so dense and sparse
rows share it. A new kernel is one tuple, one function and one line in `_VALUES`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from mpu_bench.core.jit import dispatch, jit


class Linear(NamedTuple):
    """K(a, b) = a.b."""


class Gaussian(NamedTuple):
    """K(a, b) = exp(-gamma ||a - b||^2)."""

    gamma: float


class Polynomial(NamedTuple):
    """K(a, b) = (scale a.b + offset)^degree; normalized, K(a, b) / sqrt(K(a, a) K(b, b)), or 0 where that is 0 / 0."""

    scale: float
    offset: float
    degree: int
    normalize: bool = False


Kernel = Linear | Gaussian | Polynomial


@njit(cache=True, inline="always")
def _inverse_root(number):
    return 1.0 / np.sqrt(number) if number > 0.0 else 0.0


def _linear(_kernel, dot, _a2, _b2):
    return dot


def _gaussian(kernel, dot, a2, b2):
    return np.exp(-kernel.gamma * max(a2 + b2 - 2.0 * dot, 0.0))


def _polynomial(kernel, dot, a2, b2):
    base = kernel.scale * dot + kernel.offset
    if kernel.normalize:  # the root of degree `degree` of what is divided by, so that nothing grows large
        base *= _inverse_root(kernel.scale * a2 + kernel.offset) * _inverse_root(kernel.scale * b2 + kernel.offset)
    power = 1.0
    for _ in range(kernel.degree):
        power *= base
    return power


#: ``value(kernel, dot, a2, b2)``: the kernel of two rows with inner product ``dot`` and squared norms ``a2``, ``b2``.
value = dispatch("value", {Linear: _linear, Gaussian: _gaussian, Polynomial: _polynomial})


_TOGETHER = 512  # values that a power is taken of at a time

_ABOVE = np.float32(12582912.0)  # 1.5 * 2^23: adding it rounds to an integer, taking it away gives that
_LOG2_E = np.float32(1.44269504088896341)
_LN_2_HIGH, _LN_2_LOW = np.float32(0.693359375), np.float32(-2.12194440e-4)  # their sum is ln 2; the first has 10 bits
_LEAST = np.float32(-87.33654)  # exp of less is below the normal numbers
_P = tuple(map(np.float32, (1.9875691e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 0.5)))
_P0, _P1, _P2, _P3, _P4, _P5 = _P
_ONE, _TWO, _ZERO, _BIAS, _SHIFT = np.float32(1), np.float32(2), np.float32(0), np.int32(127), np.int32(23)


@njit(cache=True, inline="always")
def exp_single(x):
    """Compute exp of a float32 up to 0, to 1e-7; zero where it is below 1.2e-38.

    np.exp of a float32 calls a function for each; this is a polynomial without branches, which the compiler turns
    into vector instructions: exp(x) = 2^k exp(r) with an integer k and |r| <= ln(2) / 2. The polynomial is that of
    Moshier's Cephes library, expf.c.
    """
    clipped = max(x, _LEAST)
    k = (clipped * _LOG2_E + _ABOVE) - _ABOVE
    r = (clipped - k * _LN_2_HIGH) - k * _LN_2_LOW
    power = ((((_P0 * r + _P1) * r + _P2) * r + _P3) * r + _P4) * r + _P5
    power = power * r * r + r + _ONE
    exponent = np.int32(np.int32(np.int32(k) + _BIAS) << _SHIFT)
    return power * exponent.view(np.float32) if x >= _LEAST else _ZERO


_HIGHER = 6755399441055744.0  # 1.5 * 2^52
_LOG2_E_DOUBLE = 1.4426950408889634
_LN_2_UPPER, _LN_2_LOWER = 6.93145751953125e-1, 1.42860682030941723212e-6  # their sum is ln 2; the first has 20 bits
_LEAST_DOUBLE = -708.0  # exp of a little less is below the normal numbers
_1, _2, _3, _4, _5, _6, _7, _8, _9, _10, _11, _12, _13 = (1.0 / math.factorial(k) for k in range(1, 14))
_EXPONENT_BIAS, _MANTISSA_BITS = np.int64(1023), np.int64(52)


@njit(cache=True, inline="always")
def exp_double(x):
    """Compute exp of a float64 up to 0, to 1e-15; zero where it is below 3e-308: `exp_single` with Taylor's series."""
    less_one, power_of_two = _exp_parts(x)
    return (less_one + 1.0) * power_of_two if x >= _LEAST_DOUBLE else 0.0


@njit(cache=True, inline="always")
def expm1_double(x):
    """Compute exp(x) - 1 of a float64 up to 0, to 1e-15 of it however small."""
    less_one, power_of_two = _exp_parts(x)
    return less_one * power_of_two + (power_of_two - 1.0)


@njit(cache=True, inline="always")
def _exp_parts(x):
    """Write exp(x) as (1 + a) 2^k; gives a and 2^k."""
    clipped = max(x, _LEAST_DOUBLE)
    shifted = clipped * _LOG2_E_DOUBLE + _HIGHER
    k = shifted - _HIGHER
    r = (clipped - k * _LN_2_UPPER) - k * _LN_2_LOWER
    power = (((((_13 * r + _12) * r + _11) * r + _10) * r + _9) * r + _8) * r + _7
    power = (((((power * r + _6) * r + _5) * r + _4) * r + _3) * r + _2) * r + _1
    exponent = np.int64((np.int64(k) + _EXPONENT_BIAS) << _MANTISSA_BITS)
    return power * r, exponent.view(np.float64)


def _linear_values(_kernel, _products, _norms, _norm):
    return None


def _gaussian_values(kernel, products, norms, norm):
    if products.itemsize == 4:
        _gaussian_singles(kernel.gamma, products, norms, norm)
        return
    _gaussian_doubles(kernel.gamma, products, norms, norm)


@jit(fastmath={"contract"}, forceinline=True)
def _gaussian_doubles(gamma, products, norms, norm):
    for j in range(len(products)):
        products[j] = exp_double(-gamma * max((norm + norms[j]) - 2.0 * products[j], 0.0))


@jit(fastmath={"contract"}, forceinline=True)
def _gaussian_singles(gamma, products, norms, norm):
    negative, norm = np.float32(-gamma), np.float32(norm)
    for j in range(len(products)):
        distance = (norm + norms[j]) - _TWO * products[j]
        products[j] = exp_single(negative * max(distance, _ZERO))


def _polynomial_values(kernel, products, norms, norm):
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
    one, zero, own = number(1), number(0), number(_inverse_root(kernel.scale * norm + kernel.offset))
    for j in range(len(products)):
        square = scale * norms[j] + offset
        root = np.sqrt(square if square > zero else one)
        products[j] = (scale * products[j] + offset) * own / root if square > zero else zero


@jit(allocates=True)
def _powers(numbers, degree):
    scratch = np.empty(_TOGETHER, numbers.dtype)
    for start in range(0, len(numbers), _TOGETHER):
        _to_power(numbers[start : start + _TOGETHER], degree, scratch)


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


#: ``values(kernel, products, norms, norm)``: turns the inner products of rows with squared norms ``norms`` (n,) and one
#: row with the squared norm ``norm`` into kernel values, in place; all float32 or all float64.
values = dispatch(
    "values", {Linear: _linear_values, Gaussian: _gaussian_values, Polynomial: _polynomial_values}, forceinline=True
)
