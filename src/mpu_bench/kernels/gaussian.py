"""The Gaussian kernel."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

import numpy as np
from annotated_types import Ge
from numpy.typing import NDArray
from pydantic import model_validator

from mpu_bench.core.exp import exp_double, exp_single
from mpu_bench.core.jit import jit_dispatch
from mpu_bench.document import Positive
from mpu_bench.errors import DataError
from mpu_bench.kernels.base import CText, Graph, Kernel, Normalize, Options, Scale, value, values

_TWO, _ZERO = np.float32(2), np.float32(0)


class _Parameters(NamedTuple):
    gamma: Annotated[float, Ge(0)]


class GaussianOptions(Options):
    """K(a, b) = exp(-gamma ||a - b||^2), by gamma or by sigma2 = 1 / (2 gamma); K(a, a) is 1 anyway."""

    normalize: Normalize = None
    gamma: Scale = None
    sigma2: Positive | None = None

    @model_validator(mode="after")
    def _one_width(self) -> GaussianOptions:
        if (self.gamma is None) == (self.sigma2 is None):
            raise ValueError("give either gamma or sigma2")
        return self

    def kernel(self, resolve: Callable[[Any], Any]) -> Gaussian:
        """Return it."""
        return Gaussian(resolve(self.gamma) if self.sigma2 is None else 0.5 / self.sigma2)


class Gaussian(_Parameters, Kernel):
    """K(a, b) = exp(-gamma ||a - b||^2)."""

    __slots__ = ()

    name = "gaussian"
    options = GaussianOptions
    shift_invariant = True
    positive_semidefinite = True
    sklearn_name = "rbf"
    sklearn_words = {"gamma": "gamma"}

    def bound(self, squared_norms: Any) -> Any:
        """Return 1."""
        return np.ones_like(squared_norms, dtype=np.float64)

    def growth(self, squared_norm: float) -> float:
        """Return gamma (||a||^2 + ||b||^2 + 2 |a.b|), or 1."""
        return max(4.0 * self.gamma * float(squared_norm), 1.0)  # which overflows without a warning

    def c_float(self, norms: NDArray[Any], number: Callable[[float], str]) -> CText:
        """Return an exponential of the squared distance."""
        return CText([f"value = expf({number(-self.gamma)} * value);"], exponentials=1)

    def c_fixed(self, power: int, products: NDArray[Any]) -> CText:
        """Return a power of two, times 2^30, between the entries of a table."""
        rate = self.gamma * math.log2(math.e)  # of the exponent of two
        farthest = min(_LARGEST_EXPONENT / rate * 2.0**power if rate > 0 else math.inf, 2.0**30 - 1)
        up = 29 - math.floor(math.log2(max(farthest, 1.0)))
        if farthest < 16:
            raise DataError("fixed point: gamma is too large for the ranges of the features; use more bits")
        exact = rate * 2.0 ** (24 + 15 - power - up)
        more = max(0, 14 - math.floor(math.log2(exact))) if exact > 0 else 0
        factor, more = (round(exact * 2.0**more), more) if more <= _MAX_SHIFT else (0, 0)
        moved = f"value << {up}" if up >= 0 else f"value >> {-up}"
        down, far = f" >> {more}" if more else "", f"value > {math.floor(farthest)}"
        line = f"value = {far} ? 0 : power_of_half(product({moved}, {factor}){down});"
        return CText([line], helpers=_POWER_OF_HALF, power=30, exponentials=1)

    def onnx(self, graph: Graph, value: str, row_norms: str, norms: NDArray[Any]) -> str:
        """Add an exponential of the squared distances."""
        return graph.call("Exp", [graph.call("Mul", [value, graph.constant(-self.gamma)])])


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


_LARGEST_EXPONENT = 24  # below 2^-24 a kernel value is zero
_MAX_SHIFT = 30
_ENTRIES = ", ".join(str(round(2**30 * 2 ** (-i / 64))) for i in range(65))
_POWER_OF_HALF = f"""/* 2^-u times 2^30, of u times 2^24 */
static const int32_t powers_of_half[65] = {{{_ENTRIES}}};

static int32_t power_of_half(int32_t u)
{{
  int32_t i = (u >> 18) & 63, rest = (u >> 6) & 4095, whole = u >> 24, value;
  if (whole > 30) return 0;
  value = powers_of_half[i] - ((((powers_of_half[i] - powers_of_half[i + 1]) >> 5) * rest) >> 7);
  return value >> whole;
}}

"""
