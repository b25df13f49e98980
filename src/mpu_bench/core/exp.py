"""The exponential function of numbers up to zero, in vector instructions.

np.exp calls a function for each number; these are polynomials without branches, which the compiler turns into vector
instructions: exp(x) = 2^k exp(r) with an integer k and |r| <= ln(2) / 2.
"""

from __future__ import annotations

import math

import numpy as np

from mpu_bench.core.jit import jit

_ROUND = np.float32(12582912.0)  # 1.5 * 2^23: adding it rounds to an integer, taking it away gives that
_LOG2_E = np.float32(1.44269504088896341)
_LN_2_HIGH, _LN_2_LOW = np.float32(0.693359375), np.float32(-2.12194440e-4)  # their sum is ln 2; the first has 10 bits
_SMALLEST = np.float32(-87.33654)  # exp of less is below the normal numbers
_P = tuple(map(np.float32, (1.9875691e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 0.5)))
_P0, _P1, _P2, _P3, _P4, _P5 = _P
_ONE, _ZERO = np.float32(1), np.float32(0)
_EXPONENT_BIAS, _MANTISSA_BITS = np.int32(127), np.int32(23)


@jit(inline="always")
def exp_single(x):
    """Return exp of a float32 up to 0, to 1e-7; zero where it is below 1.2e-38.

    The polynomial is that of Moshier's Cephes library, expf.c.
    """
    clipped = max(x, _SMALLEST)
    k = (clipped * _LOG2_E + _ROUND) - _ROUND
    r = (clipped - k * _LN_2_HIGH) - k * _LN_2_LOW
    power = ((((_P0 * r + _P1) * r + _P2) * r + _P3) * r + _P4) * r + _P5
    power = power * r * r + r + _ONE
    exponent = np.int32(np.int32(np.int32(k) + _EXPONENT_BIAS) << _MANTISSA_BITS)
    return power * exponent.view(np.float32) if x >= _SMALLEST else _ZERO


_ROUND_DOUBLE = 6755399441055744.0  # 1.5 * 2^52
_LOG2_E_DOUBLE = 1.4426950408889634
_LN_2_UPPER, _LN_2_LOWER = 6.93145751953125e-1, 1.42860682030941723212e-6  # their sum is ln 2; the first has 20 bits
_SMALLEST_DOUBLE = -708.0  # exp of a little less is below the normal numbers
_1, _2, _3, _4, _5, _6, _7, _8, _9, _10, _11, _12, _13 = (1.0 / math.factorial(k) for k in range(1, 14))
_EXPONENT_BIAS_DOUBLE, _MANTISSA_BITS_DOUBLE = np.int64(1023), np.int64(52)


@jit(inline="always")
def exp_double(x):
    """Return exp of a float64 up to 0, to 1e-15; zero where it is below 3e-308: `exp_single` with Taylor's series."""
    less_one, power_of_two = _exp_parts(x)
    return (less_one + 1.0) * power_of_two if x >= _SMALLEST_DOUBLE else 0.0


@jit(inline="always")
def expm1_double(x):
    """Return exp(x) - 1 of a float64 up to 0, to 1e-15 of it however small."""
    less_one, power_of_two = _exp_parts(x)
    return less_one * power_of_two + (power_of_two - 1.0)


@jit(inline="always")
def _exp_parts(x):
    """Return a and 2^k with exp(x) = (1 + a) 2^k."""
    clipped = max(x, _SMALLEST_DOUBLE)
    shifted = clipped * _LOG2_E_DOUBLE + _ROUND_DOUBLE
    k = shifted - _ROUND_DOUBLE
    r = (clipped - k * _LN_2_UPPER) - k * _LN_2_LOWER
    power = (((((_13 * r + _12) * r + _11) * r + _10) * r + _9) * r + _8) * r + _7
    power = (((((power * r + _6) * r + _5) * r + _4) * r + _3) * r + _2) * r + _1
    exponent = np.int64((np.int64(k) + _EXPONENT_BIAS_DOUBLE) << _MANTISSA_BITS_DOUBLE)
    return power * r, exponent.view(np.float64)
