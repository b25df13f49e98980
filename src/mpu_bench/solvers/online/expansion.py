"""The hypothesis of multi-class Pegasos as a kernel expansion, with its norm carried along.

    f_i(x) = sum_j alpha_ji K(x_j, x)   for every class i,   alpha = scale * coefficients

Every step scales all of alpha, which changes the scale alone. With two classes the two columns of alpha are opposite,
so that one function g = f_1 - f_0 is kept: with coefficients 2 alpha_j1, where ||w||^2 = ||w_0||^2 + ||w_1||^2 is
||g||^2 / 2.

The average of the hypotheses after every step is kept the same way: a sum of coefficients, to which the present
coefficients are still to be added as often as the sum of scales says.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mpu_bench.core.buffers import grown
from mpu_bench.core.jit import jit
from mpu_bench.core.models import KernelModel
from mpu_bench.core.numeric import multiply, new_record, number, order
from mpu_bench.core.problem import Problem
from mpu_bench.core.stream import Chunk
from mpu_bench.core.vectors import drop, padded, put, weighted_sum
from mpu_bench.kernels import Kernel, value
from mpu_bench.kernels.precision import Precision
from mpu_bench.solvers.online import online
from mpu_bench.solvers.online.online import Hypothesis, new_hypothesis

_SMALLEST_SCALE = 1e-3  # the sum of scales must not lose what is added last
_TIE = 1e-9  # norms are equal that differ by no more than this part
_NEWEST = np.int64(np.iinfo(np.int64).max)  # no vector is inserted so late

#: ``scale``; ``squared_norm``: ||w||^2; ``scales``: their sum since they were last multiplied into `Expansion.average`;
#: ``insertions``: how many vectors have been stamped
SCALARS = np.dtype([("scale", "f8"), ("squared_norm", "f8"), ("scales", "f8"), ("insertions", "i8")])


class Expansion(NamedTuple):
    """w with slots for vectors. Slots without a vector have zero coefficients."""

    f: Hypothesis  #: w at scale 1, but for its scores
    norms: NDArray[np.float64]  #: (capacity,) sum_i coefficients_ji^2 K(x_j, x_j)
    inserted_at: NDArray[np.int64]  #: (capacity,) the number of the insertion, the smallest of the oldest vector
    average: NDArray[np.float64]  #: (c, capacity), or (c, 0) where no average is kept
    scalars: np.recarray[Any, Any]  #: (1,) `SCALARS`


def new_expansion(problem: Problem, size: int, precision: Precision, averaged: bool = False) -> Expansion:
    """Return w = 0 with slots for ``size`` rows of a problem."""
    f = new_hypothesis(problem, int(padded(size)), precision)
    functions, capacity = f.coefficients.shape
    average = np.zeros((functions, capacity if averaged else 0))
    return Expansion(f, np.zeros(capacity), np.zeros(capacity, np.int64), average, new_record(SCALARS, scale=1.0))


def with_room(w: Expansion, chunk: Chunk, position: int) -> Expansion:
    """Return w with room for the example at this position."""
    f = online.with_room(w.f, chunk, position)
    functions, capacity = f.coefficients.shape
    if capacity == len(w.norms):
        return w._replace(f=f)
    return w._replace(
        f=f,
        norms=grown(w.norms, capacity),
        inserted_at=grown(w.inserted_at, capacity),
        average=grown(w.average, functions, capacity if w.average.shape[1] else 0),
    )


def model_of(w: Expansion, kernel: Kernel, steps: int) -> KernelModel:
    """Return w, or the average of so many steps where one is kept."""
    model, scalars = online.model_of(w.f, kernel), w.scalars[0]
    coefficients = scalars.scale * model.coefficients
    if w.average.shape[1]:
        sums = w.average[:, : len(coefficients)].T + scalars.scales * model.coefficients
        coefficients = np.ascontiguousarray(sums / max(steps, 1))
    return replace(model, coefficients=coefficients)


@jit(inline="always")
def scale_by(w, factor):
    """Multiply w by a factor; 0 is only for w = 0."""
    scalars = w.scalars[0]
    scalars.squared_norm *= factor * factor
    if w.f.vectors.size[0] > 0:
        scalars.scale *= factor
        if scalars.scale < _SMALLEST_SCALE:
            _multiply_in(w.f.coefficients, w.average, w.norms, scalars)


@jit
def _multiply_in(coefficients, average, norms, scalars):
    """Multiply the scale into the coefficients, and the sum of scales into the average."""
    scale = scalars.scale
    for c in range(len(coefficients)):
        for j in range(average.shape[1]):
            average[c, j] += scalars.scales * coefficients[c, j]
        multiply(coefficients[c], scale)
    multiply(norms, scale * scale)
    scalars.scale, scalars.scales = 1.0, 0.0


@jit(inline="always")
def insert(w, kernel, rows, i, label, rival, rate, margin):
    """Add ``rate K(x_i, .)`` to f_label and take it from f_rival; f_label(x_i) - f_rival(x_i) is ``margin``."""
    scalars, f, slot = w.scalars[0], w.f, w.f.vectors.size[0]
    put(f.vectors, slot, rows, i)
    norm = np.float64(f.vectors.squared_norms[slot])
    k_xx = value(kernel, norm, norm, norm)
    f.kernel_row[slot] = k_xx
    _set_coefficients(f.coefficients, w.average, slot, label, rival, rate / scalars.scale, scalars.scales)
    w.norms[slot] = squared_coefficients(f.coefficients, slot) * k_xx
    stamp(w.inserted_at, slot, scalars)
    scalars.squared_norm += 2.0 * rate * margin + 2.0 * rate * rate * k_xx


@jit
def _set_coefficients(coefficients, average, slot, label, rival, step, scales):
    """Write the coefficients of a new vector, which the average counts from now on."""
    if len(coefficients) == 1:
        coefficients[0, slot] += 2.0 * step if label == 1 else -2.0 * step
    else:
        coefficients[label, slot] += step
        coefficients[rival, slot] -= step
    if average.shape[1] > 0:
        for c in range(len(coefficients)):
            average[c, slot] -= scales * coefficients[c, slot]


@jit(inline="always")
def stamp(inserted_at, slot, scalars):
    """Make the vector in a slot the newest."""
    inserted_at[slot] = scalars.insertions
    scalars.insertions += 1


@jit(inline="always")
def squared_coefficients(coefficients, slot):
    """Return ``sum_i coefficients_ji^2`` of the vector in a slot; times K(x, x) that is its norm."""
    total = 0.0
    for c in range(len(coefficients)):
        total += coefficients[c, slot] ** 2
    return total


@jit(inline="always")
def change_squared_norm(w, change):
    """Add to ||w||^2 what a change of the coefficients adds to ``sum_i ||f_i||^2`` or ||g||^2 at scale 1."""
    scalars = w.scalars[0]
    half = 0.5 if len(w.f.coefficients) == 1 else 1.0
    scalars.squared_norm += half * scalars.scale**2 * change


@jit(inline="always")
def remove(w, slot):
    """Take the vector out of a slot; the last moves there. ||w||^2 is left as it is."""
    coefficients, average, norms, inserted_at = w.f.coefficients, w.average, w.norms, w.inserted_at
    last = w.f.vectors.size[0] - 1
    for c in range(len(coefficients)):
        coefficients[c, slot] = coefficients[c, last]
        coefficients[c, last] = 0.0
        if average.shape[1] > 0:
            average[c, slot] = average[c, last]
            average[c, last] = 0.0
    norms[slot], norms[last] = norms[last], 0.0
    inserted_at[slot] = inserted_at[last]
    drop(w.f.vectors, slot)


@jit(inline="always")
def project_on_ball(w, regularization):
    """Scale w to a norm of at most 1 / sqrt(lambda)."""
    product = regularization * w.scalars[0].squared_norm
    if product > 1.0:
        scale_by(w, 1.0 / np.sqrt(product))


@jit(inline="always")
def add_to_average(w):
    """Count the present hypothesis in the average."""
    if w.average.shape[1] > 0:
        w.scalars[0].scales += w.scalars[0].scale


@jit
def smallest(norms, inserted_at, m):
    """Return the vector with the least ``||alpha_p||^2 K(x_p, x_p)``; of those within 1e-9 of it, the oldest."""
    limit, oldest, slot = least(norms, m) * (1.0 + _TIE), _NEWEST, np.int64(0)
    for j in range(np.uint64(0), np.uint64(m)):
        oldest = min(oldest, inserted_at[j] if norms[j] <= limit else _NEWEST)
    for j in range(np.int64(m)):  # no two have the same number of insertion
        slot += j if inserted_at[j] == oldest else 0
    return slot


@jit
def least(numbers, m):
    """Return the least of the first m numbers."""
    lowest = order(np.inf)
    for j in range(np.int64(m)):
        lowest = min(lowest, order(numbers[j]))
    return number(lowest)


@jit
def overlap(coefficients, slot, kernel_row, m):
    """Return ``sum_i c_i f_i(x)`` at scale 1, c the coefficients in a slot and ``kernel_row`` that of x."""
    total = 0.0
    for c in range(len(coefficients)):
        total += coefficients[c, slot] * weighted_sum(coefficients[c, :m], kernel_row)
    return total
