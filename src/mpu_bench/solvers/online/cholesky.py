"""Projections on the spans of growing sets of vectors, by Cholesky factors of their Gram matrices.

For a set of m vectors with Gram matrix G = L L' and k_j = K(x_j, x), the projection of K(x, .) on their span is
``sum_j d_j K(x_j, .)`` with d = G^-1 k, and its squared norm is k' G^-1 k. With L z = k that is ||z||^2, and L' d = z.
A vector is added by one more row of L, (z, sqrt(K(x, x) - ||z||^2)). This costs half of what the inverse of G does,
and where vectors are almost dependent its rounding stays that of a Gram matrix which is off by some 1e-16.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mpu_bench.core.jit import jit

_JITTER = 1e-9  # of K(x, x), added to the diagonal: equal rows would make a Gram matrix singular


class Spans(NamedTuple):
    """Room for s sets of vectors; set i has ``sizes[i]`` members."""

    members: NDArray[np.int64]  #: (s, room) where the vectors are stored
    sizes: NDArray[np.int64]  #: (s,)
    factors: NDArray[np.float64]  #: (s, room, room) L, by rows


def new_spans(sets: int, room: int) -> Spans:
    """Make room for sets of vectors; all are empty."""
    return Spans(np.zeros((sets, room), np.int64), np.zeros(sets, np.int64), np.zeros((sets, room, room)))


def enlarged(spans: Spans, room: int) -> Spans:
    """Copy the sets into more room."""
    larger, m = new_spans(len(spans.sizes), room), int(spans.sizes.max())
    larger.members[:, :m] = spans.members[:, :m]
    larger.sizes[:] = spans.sizes
    larger.factors[:, :m, :m] = spans.factors[:, :m, :m]
    return larger


@jit
def project(spans, i, kernel_row, z):
    """Project K(x, .) on the span of set i.

    Parameters
    ----------
    spans : Spans
    i : int
    kernel_row : array
        K(x_j, x) for every stored vector.
    z : array of float64, shape (room,)
        Gets z, for `coordinates` and `append`.

    Returns
    -------
    float
        The squared norm of the projection; K(x, x) less this is the squared distance.
    """
    total = 0.0
    factor = spans.factors[i]
    for j in range(spans.sizes[i]):
        z[j] = (kernel_row[spans.members[i, j]] - _dot(factor[j, :j], z[:j])) / factor[j, j]
        total += z[j] * z[j]
    return total


@jit
def coordinates(spans, i, z, d):
    """Turn z into the projection's coordinates d, by member."""
    m, factor = spans.sizes[i], spans.factors[i]
    for j in range(m):
        d[j] = z[j]
    for j in range(m - 1, -1, -1):
        d[j] /= factor[j, j]
        _subtract(d[j], factor[j, :j], d[:j])


@jit
def append(spans, i, place, z, projected, own):
    """Add to set i the vector stored at a place, whose K(x, x) is ``own`` and whose projection gave z."""
    m, factor = spans.sizes[i], spans.factors[i]
    for j in range(m):
        factor[m, j] = z[j]
    factor[m, m] = np.sqrt(max(own - projected, 0.0) + _JITTER * own)
    spans.members[i, m] = place
    spans.sizes[i] = m + 1


@jit(fastmath={"reassoc", "contract"})
def _dot(a, b):
    total = 0.0
    for j in range(len(a)):
        total += a[j] * b[j]
    return total


@jit(fastmath={"contract"})
def _subtract(scale, a, b):
    for j in range(len(a)):
        b[j] -= scale * a[j]
