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

from mpu_bench.core.buffers import grown
from mpu_bench.core.jit import jit
from mpu_bench.core.numeric import axpy, dot

_JITTER = 1e-9  # of K(x, x), added to the diagonal: equal rows would make a Gram matrix singular


class GrowingCholesky(NamedTuple):
    """Space for the factors of s sets of vectors; set i has ``sizes[i]`` members."""

    members: NDArray[np.int64]  #: (s, capacity) the slots of the vectors
    sizes: NDArray[np.int64]  #: (s,)
    factors: NDArray[np.float64]  #: (s, capacity, capacity) L, by rows


def new_cholesky(sets: int, capacity: int) -> GrowingCholesky:
    """Return sets of vectors that are all empty."""
    return GrowingCholesky(
        np.zeros((sets, capacity), np.int64), np.zeros(sets, np.int64), np.zeros((sets, capacity, capacity))
    )


def enlarged(cholesky: GrowingCholesky, capacity: int) -> GrowingCholesky:
    """Return the sets with space for more vectors."""
    sets = len(cholesky.sizes)
    return cholesky._replace(
        members=grown(cholesky.members, sets, capacity), factors=grown(cholesky.factors, sets, capacity, capacity)
    )


@jit
def project(cholesky, i, kernel_row, z):
    """Project K(x, .) on the span of set i.

    Parameters
    ----------
    cholesky : GrowingCholesky
    i : int
    kernel_row : array
        K(x_j, x) for every stored vector.
    z : array of float64, shape (capacity,)
        Gets z, for `coordinates` and `append`.

    Returns
    -------
    float
        The squared norm of the projection; K(x, x) less this is the squared distance.
    """
    members, factor, total = cholesky.members[i], cholesky.factors[i], 0.0
    for j in range(cholesky.sizes[i]):
        z[j] = (kernel_row[members[j]] - dot(factor[j], z, j)) / factor[j, j]
        total += z[j] * z[j]
    return total


@jit
def coordinates(cholesky, i, z, d):
    """Turn z into the projection's coordinates d, by member."""
    m, factor = cholesky.sizes[i], cholesky.factors[i]
    for j in range(m):
        d[j] = z[j]
    for j in range(m - 1, -1, -1):
        d[j] /= factor[j, j]
        axpy(-d[j], factor[j], d, j)


@jit
def append(cholesky, i, slot, z, projected, k_xx):
    """Add to set i the vector in a slot, whose K(x, x) is ``k_xx`` and whose projection gave z."""
    m, factor = cholesky.sizes[i], cholesky.factors[i]
    for j in range(m):
        factor[m, j] = z[j]
    factor[m, m] = np.sqrt(max(k_xx - projected, 0.0) + _JITTER * k_xx)
    cholesky.members[i, m] = slot
    cholesky.sizes[i] = m + 1
