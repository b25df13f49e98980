"""The linear kernel."""

from __future__ import annotations

from typing import NamedTuple

from mpu_bench.core.kernels.operations import value, values


class Linear(NamedTuple):
    """K(a, b) = a.b."""

    def largest(self, squared_norm: float) -> float:
        """Return a bound of what is computed for rows of at most this squared norm."""
        return squared_norm


@value.register(Linear)
def _(_kernel, dot, _a2, _b2):
    return dot


@values.register(Linear)
def _(_kernel, _products, _norms, _norm):
    return None
