"""The linear kernel."""

from __future__ import annotations

from typing import Any, NamedTuple

from mpu_bench.core.kernels.operations import value, values


class Linear(NamedTuple):
    """K(a, b) = a.b."""

    def largest(self, squared_norm: float) -> float:
        """Return a bound of what is computed for rows of at most this squared norm."""
        return squared_norm

    def bound(self, squared_norms: Any) -> Any:
        """Return M_i for each ``||x_i||^2``, with |K(x_i, x_j)| <= sqrt(M_i M_j) for rows of these lengths."""
        return squared_norms

    def growth(self, squared_norm: float) -> float:  # noqa: ARG002
        """Return by how many times the rounding of inner products a value may be wrong, relative to `bound`."""
        return 1.0

    @property
    def positive_semidefinite(self) -> bool:
        """Whether it is an inner product for any rows; of another, dual variables certify nothing."""
        return True


@value.register(Linear)
def _(_kernel, dot, _a2, _b2):
    return dot


@values.register(Linear)
def _(_kernel, _products, _norms, _norm):
    return None
