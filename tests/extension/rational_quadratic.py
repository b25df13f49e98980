"""The rational quadratic kernel, which `test_kernel` adds to a copy of the package: the one file of a kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

import numpy as np
from annotated_types import Ge
from numpy.typing import NDArray

from mpu_bench.kernels.base import CText, Graph, Kernel, Options, Scale, value, values


class _Parameters(NamedTuple):
    gamma: Annotated[float, Ge(0)]


class RationalQuadraticOptions(Options):
    """K(a, b) = 1 / (1 + gamma ||a - b||^2)."""

    gamma: Scale

    def kernel(self, resolve: Callable[[Any], Any]) -> RationalQuadratic:
        return RationalQuadratic(resolve(self.gamma))


class RationalQuadratic(_Parameters, Kernel):
    """K(a, b) = 1 / (1 + gamma ||a - b||^2)."""

    __slots__ = ()

    name = "rational-quadratic"
    options = RationalQuadraticOptions
    shift_invariant = True
    positive_semidefinite = True
    sklearn_words = {"gamma": "gamma"}  # noqa: RUF012

    def bound(self, squared_norms: Any) -> Any:
        return np.ones_like(squared_norms, dtype=np.float64)

    def growth(self, squared_norm: float) -> float:
        return max(4.0 * self.gamma * squared_norm, 1.0)

    def c_float(self, norms: NDArray[Any], number: Callable[[float], str]) -> CText:
        return CText([f"value = 1.0f / (1.0f + {number(self.gamma)} * value);"])

    def onnx(self, graph: Graph, value: str, own: str, norms: NDArray[Any]) -> str:
        scaled = graph.call("Mul", [value, graph.constant(self.gamma)])
        return graph.call("Reciprocal", [graph.call("Add", [scaled, graph.constant(1.0)])])


@value.register(RationalQuadratic)
def _(kernel, dot, a2, b2):
    return 1.0 / (1.0 + kernel.gamma * max(a2 + b2 - 2.0 * dot, 0.0))


@values.register(RationalQuadratic)
def _(kernel, products, norms, norm):
    for j in range(len(products)):
        distance = max(np.float64((norm + norms[j]) - 2.0 * products[j]), 0.0)
        products[j] = 1.0 / (1.0 + kernel.gamma * distance)
