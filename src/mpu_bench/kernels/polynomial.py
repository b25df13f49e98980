"""The polynomial kernel, plain or normalized."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

import numpy as np
from annotated_types import Ge, Le
from numpy.typing import NDArray
from pydantic import Field

from mpu_bench.core.jit import jit
from mpu_bench.errors import ConfigError, DataError
from mpu_bench.kernels.base import CText, Graph, Kernel, Normalize, Options, Scale, value, values

_MAX_DEGREE = 1000
_VALUES_AT_ONCE = 512  # of which a power is taken; they stay in the nearest cache
_LARGEST_SINGLE = 1e37  # of a kernel value in C
_HEADROOM = 1.25  # over the largest of the rows at hand


class _Parameters(NamedTuple):
    scale: float
    offset: float
    degree: Annotated[int, Ge(0), Le(_MAX_DEGREE)]
    normalize: bool = False


class PolynomialOptions(Options):
    """K(a, b) = (scale a.b + offset)^degree."""

    normalize: Normalize = None
    degree: Annotated[int, Field(ge=1, le=100)]
    scale: Scale = 1.0
    offset: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0

    def kernel(self, resolve: Callable[[Any], Any]) -> Polynomial:
        """Return it."""
        return Polynomial(resolve(self.scale), float(self.offset), self.degree, bool(self.normalize))


class Polynomial(_Parameters, Kernel):
    """K(a, b) = (scale a.b + offset)^degree; normalized, K(a, b) / sqrt(K(a, a) K(b, b)), or 0 where that is 0 / 0."""

    __slots__ = ()

    name = "polynomial"
    options = PolynomialOptions
    sklearn_name = "poly"
    sklearn_words = {"scale": "gamma", "offset": "coef0", "degree": "degree"}
    smaller = "take a smaller degree or scale"

    def bound(self, squared_norms: Any) -> Any:
        """Return K(x_i, x_i), or of a scale or offset below 0 more than that."""
        if self.normalize:
            return np.ones_like(squared_norms, dtype=np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            return (abs(self.scale) * np.asarray(squared_norms, np.float64) + abs(self.offset)) ** self.degree

    def growth(self, squared_norm: float) -> float:
        """Return the degree."""
        return float(max(self.degree, 1))

    @property
    def positive_semidefinite(self) -> bool:
        """Whether no term of the sum that it is has a negative factor."""
        return all(  # by signs alone: powers of the numbers may be too large
            np.sign(self.scale) ** k * np.sign(self.offset) ** (self.degree - k) >= 0 for k in range(self.degree + 1)
        )

    def largest(self, squared_norm: float) -> float:
        """Return the larger of a kernel value and an inner product."""
        base = abs(self.scale) * np.float64(squared_norm) + abs(self.offset)
        values = base ** (1 if self.normalize else self.degree)  # normalized before the power is taken
        return float(max(values, squared_norm))

    def for_sklearn(self) -> dict[str, Any]:
        """Return it, where SVC has it."""
        if self.scale <= 0 or self.degree < 1 or self.normalize:
            raise ConfigError(f"scikit-learn's SVC wants a scale and a degree above 0 and no normalize, not {self}")
        return super().for_sklearn()

    def c_float(self, norms: NDArray[Any], number: Callable[[float], str]) -> CText:
        """Return a loop that multiplies."""
        scale, offset, bases = number(self.scale), number(self.offset), self.scale * norms + self.offset
        base, more = f"{scale} * value + {offset}", CText([])
        if self.normalize:
            root = [f"norm = {scale} * norm + {offset};", "norm = norm > 0.0f ? 1.0f / sqrtf(norm) : 0.0f;"]
            more = CText([], before=root, arrays={"vector_roots": _inverse_roots(bases)})
            base = f"({base}) * (norm * vector_roots[i])"
        elif len(bases) and float(np.abs(bases).max()) ** self.degree > _LARGEST_SINGLE:
            raise DataError(
                "values of the polynomial kernel are beyond the range of single precision; scale the features"
            )
        power = f"for (k = 0; k < {self.degree}; k++) value *= base;"
        lines = ["float base;", f"base = {base};", "value = 1.0f;", power]
        return more._replace(value=lines, multiply_adds=self.degree)

    def c_fixed(self, power: int, products: NDArray[Any]) -> CText:
        """Return a loop that multiplies; a value is over the largest at hand, times 2^28."""
        if self.normalize:
            raise DataError("fixed point: a normalized polynomial kernel needs square roots; export floats")
        bases = self.scale * products + self.offset
        largest = _HEADROOM * max(float(np.abs(bases).max(initial=0.0)), abs(self.offset), 1e-12)
        too_large = DataError("fixed point: the values of the polynomial kernel cannot be held; scale the features")
        if not 1e-30 < largest**self.degree < 1e30 or self.scale == 0:
            raise too_large
        farthest = min((largest + abs(self.offset)) / abs(self.scale) * 2.0**power, 2.0**30 - 1)
        up = 29 - math.floor(math.log2(max(farthest, 1.0)))
        factor = round(self.scale / largest * 2.0 ** (28 + 15 - power - up))
        if not 0 < abs(factor) <= 2**15:
            raise too_large
        edge, one = math.floor(farthest), 2**28
        moved = f"value * {2**up}" if up >= 0 else f"value >> {-up}"
        lines = [
            f"value = value > {edge} ? {edge} : value < -{edge} ? -{edge} : value;",
            f"value = product({moved}, {factor}) + {round(self.offset / largest * one)};",
            f"value = value > {one} ? {one} : value < -{one} ? -{one} : value;",
            "j = value >> 13;",
            f"value = {one};",
            f"for (k = 0; k < {self.degree}; k++) value = product(value, j);",
        ]
        return CText(lines, power=28, scale=largest**self.degree, multiply_adds=self.degree)

    def onnx(self, graph: Graph, value: str, row_norms: str, norms: NDArray[Any]) -> str:
        """Add a power of inner products, or of cosines."""
        bases = self._affine(graph, value)
        if self.normalize:
            roots = graph.constant(_inverse_roots(self.scale * norms + self.offset))
            of_rows = self._affine(graph, row_norms)
            is_positive = graph.call("Greater", [of_rows, graph.constant(0.0)])
            root = graph.call("Sqrt", [graph.call("Where", [is_positive, of_rows, graph.constant(1.0)])])
            inverse = graph.call("Where", [is_positive, graph.call("Reciprocal", [root]), graph.constant(0.0)])
            bases = graph.call("Mul", [graph.call("Mul", [bases, roots]), inverse])
        return graph.call("Pow", [bases, graph.constant(float(self.degree))])

    def _affine(self, graph: Graph, value: str) -> str:
        scaled = graph.call("Mul", [value, graph.constant(self.scale)])
        return graph.call("Add", [scaled, graph.constant(self.offset)])


def _inverse_roots(numbers: NDArray[Any]) -> NDArray[Any]:
    return np.where(numbers > 0, 1.0 / np.sqrt(np.maximum(numbers, 1e-300)), 0.0)


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
