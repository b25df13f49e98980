"""What a budget does with a vector too many (lines 5 to 7 of `bpegasos`): the simplest ways, and where others register.

- ``random``: a vector chosen uniformly, the new one included, is dropped;
- ``smallest``: the vector with the smallest ||alpha_p||^2 K(x_p, x_p) is dropped, the oldest of those within 1e-9.

`projection` and `merging` have files of their own.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mpu_bench.core.counters import KERNEL_COMPUTED, KERNEL_EVALUATIONS
from mpu_bench.core.jit import jit, jit_dispatch
from mpu_bench.core.rng import randint
from mpu_bench.core.vectors import stored_kernel_values
from mpu_bench.solvers.online.expansion import change_squared_norm, overlap, remove, smallest


class Unlimited(NamedTuple):
    """No vector ever leaves."""


class Random(NamedTuple):
    """A random one is dropped."""

    generator: NDArray[np.uint64]
    kernel_row: NDArray[np.floating[Any]]  #: (capacity,) of the vector that leaves


class Smallest(NamedTuple):
    """The smallest is dropped."""

    kernel_row: NDArray[np.floating[Any]]  #: (capacity,) of the vector that leaves


@jit_dispatch
def maintain(maintenance, w, kernel, budget, counters):
    """Let one vector go if there are more than the budget."""


@maintain.register(Unlimited)
def _(_maintenance, _w, _kernel, _budget, _counters):
    return None


@maintain.register(Random)
def _(maintenance, w, kernel, budget, counters):
    m = w.vectors.size[0]
    if m > budget:
        _drop(w, kernel, np.int64(randint(maintenance.generator, np.uint32(m))), maintenance.kernel_row, counters)


@maintain.register(Smallest)
def _(maintenance, w, kernel, budget, counters):
    m = w.vectors.size[0]
    if m > budget:
        _drop(w, kernel, smallest(w.norms, w.inserted_at, m), maintenance.kernel_row, counters)


@jit(inline="always")
def _drop(w, kernel, p, kernel_row, counters):
    """Drop a vector: ||w - alpha_p phi_p||^2 = ||w||^2 - 2 sum_i alpha_pi f_i(x_p) + ||alpha_p||^2 K(x_p, x_p)."""
    m = w.vectors.size[0]
    counters[KERNEL_EVALUATIONS] += m
    counters[KERNEL_COMPUTED] += m
    stored_kernel_values(w.vectors, kernel, p, kernel_row)
    change_squared_norm(w, w.norms[p] - 2.0 * overlap(w.coefficients, p, kernel_row, m))
    remove(w, p)
