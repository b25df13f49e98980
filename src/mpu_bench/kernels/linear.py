"""The linear kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from mpu_bench.kernels.base import Kernel, Normalize, Options, value, values
from mpu_bench.kernels.polynomial import Polynomial


class _Parameters(NamedTuple):
    """There are none."""


class LinearOptions(Options):
    """K(a, b) = a.b."""

    normalize: Normalize = None

    def kernel(self, resolve: Callable[[Any], Any]) -> Kernel:
        """Return it, or the cosine of two rows."""
        return Polynomial(1.0, 0.0, 1, normalize=True) if self.normalize else Linear()


class Linear(_Parameters, Kernel):
    """K(a, b) = a.b; an expansion in it is a weight vector, which is what is exported."""

    __slots__ = ()

    name = "linear"
    options = LinearOptions
    positive_semidefinite = True
    sklearn_name = "linear"

    def bound(self, squared_norms: Any) -> Any:
        """Return ``||x_i||^2``."""
        return squared_norms

    def growth(self, squared_norm: float) -> float:
        """Return 1: a value is an inner product."""
        return 1.0


@value.register(Linear)
def _(_kernel, dot, _a2, _b2):
    return dot


@values.register(Linear)
def _(_kernel, _products, _norms, _norm):
    return None
