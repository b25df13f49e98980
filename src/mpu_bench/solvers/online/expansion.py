"""The hypothesis of multi-class Pegasos as a kernel expansion, with its norm carried along.

    f_i(x) = sum_j alpha_ji K(x_j, x)   for every class i,   alpha = scale * coefficients

Every step shrinks all of alpha, which changes the scale alone. With two classes the two columns of alpha are opposite,
so that one function g = f_1 - f_0 is kept: with coefficients 2 alpha_j1, where ||w||^2 = ||w_0||^2 + ||w_1||^2 is
||g||^2 / 2.

The average of the hypotheses after every step is kept the same way: a sum of coefficients, to which the present
coefficients are still to be added as often as the sum of scales says.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mpu_bench.core.jit import jit
from mpu_bench.core.kernels import value
from mpu_bench.core.vectors import Precision, Vectors, drop, enlarged, new_vectors, padded, put, rows_of, weighted_sum

SCALE, SQUARED_NORM, SCALES, INSERTIONS = 0, 1, 2, 3
_LEAST_SCALE = 1e-3  # the sum of scales must not lose what is added last


class Expansion(NamedTuple):
    """w with room for vectors; c functions (1 for two classes). Places without a vector have zero coefficients."""

    vectors: Vectors
    coefficients: NDArray[np.float64]  #: (c, room)
    norms: NDArray[np.float64]  #: (room,) sum_i coefficients_ji^2 K(x_j, x_j)
    ages: NDArray[np.int64]  #: (room,) the number of the insertion: the least is the oldest vector
    kernel_row: NDArray[np.floating[Any]]  #: (room,) K(x_j, x) of the example presented
    scores: NDArray[np.float64]  #: (c,) its f_i(x), or g(x)
    numbers: NDArray[np.float64]  #: (4,) the scale, ||w||^2, the sum of scales since `average` was settled, insertions
    average: NDArray[np.float64]  #: (c, room), or (c, 0) where no average is kept


def new_expansion(classes: int, features: int, size: int, precision: Precision, averaged: bool = False) -> Expansion:
    """Make w = 0 with room for ``size`` vectors."""
    room, functions = int(padded(size)), 1 if classes == 2 else classes
    vectors = new_vectors(features, room, precision)
    return Expansion(
        vectors,
        np.zeros((functions, room)),
        np.zeros(room),
        np.zeros(room, np.int64),
        np.zeros_like(vectors.squared_norms),
        np.zeros(functions),
        np.array([1.0, 0.0, 0.0, 0.0]),
        np.zeros((functions, room if averaged else 0)),
    )


def with_more_room(w: Expansion) -> Expansion:
    """Double the room."""

    def doubled(array: NDArray[Any]) -> NDArray[Any]:
        return np.concatenate([array, np.zeros_like(array)], axis=-1)

    return w._replace(
        vectors=enlarged(w.vectors, 2 * len(w.norms)),
        coefficients=doubled(w.coefficients),
        norms=doubled(w.norms),
        ages=doubled(w.ages),
        kernel_row=doubled(w.kernel_row),
        average=doubled(w.average),
    )


def expansion_of(w: Expansion, steps: int) -> tuple[Any, NDArray[np.float64]]:
    """Give vectors (m, d) and coefficients (m, c), of the average of so many steps where one is kept."""
    m = int(w.vectors.size[0])
    present = w.coefficients[:, :m].T
    if w.average.shape[1]:
        return rows_of(w.vectors), (w.average[:, :m].T + w.numbers[SCALES] * present) / max(steps, 1)
    return rows_of(w.vectors), w.numbers[SCALE] * present


@jit(forceinline=True)
def score_example(w):
    """Compute the scores from the kernel row."""
    m = min(padded(w.vectors.size[0]), len(w.kernel_row))
    for c in range(len(w.scores)):
        w.scores[c] = w.numbers[SCALE] * weighted_sum(w.coefficients, c, w.kernel_row, m)


@jit(forceinline=True)
def shrink(w, factor):
    """Multiply w by a factor; 0 is only for w = 0."""
    w.numbers[SQUARED_NORM] *= factor * factor
    if w.vectors.size[0] > 0:
        w.numbers[SCALE] *= factor
        if w.numbers[SCALE] < _LEAST_SCALE:
            _settle(w)


@jit
def _settle(w):
    """Multiply the scale into the coefficients, and the sum of scales into the average."""
    scale = w.numbers[SCALE]
    for c in range(len(w.coefficients)):
        for j in range(w.average.shape[1]):
            w.average[c, j] += w.numbers[SCALES] * w.coefficients[c, j]
        for j in range(w.coefficients.shape[1]):
            w.coefficients[c, j] *= scale
    for j in range(len(w.norms)):
        w.norms[j] *= scale * scale
    w.numbers[SCALE], w.numbers[SCALES] = 1.0, 0.0


@jit(forceinline=True)
def insert(w, kernel, rows, i, label, rival, rate, margin):
    """Add ``rate K(x_i, .)`` to f_label and take it from f_rival; f_label(x_i) - f_rival(x_i) is ``margin``."""
    m = w.vectors.size[0]
    put(w.vectors, m, rows, i)
    norm = np.float64(w.vectors.squared_norms[m])
    own = value(kernel, norm, norm, norm)
    w.kernel_row[m] = own
    step = rate / w.numbers[SCALE]
    if len(w.coefficients) == 1:
        change_coefficient(w, 0, m, 2.0 * step if label == 1 else -2.0 * step)
    else:
        change_coefficient(w, label, m, step)
        change_coefficient(w, rival, m, -step)
    refresh_norm(w, m, own)
    give_age(w, m)
    w.numbers[SQUARED_NORM] += 2.0 * rate * margin + 2.0 * rate * rate * own


@jit(forceinline=True)
def give_age(w, place):
    """Make the vector at a place the newest."""
    w.ages[place] = np.int64(w.numbers[INSERTIONS])
    w.numbers[INSERTIONS] += 1.0


@jit(forceinline=True)
def change_coefficient(w, c, place, change):
    """Add to a coefficient; the average counts it from now on."""
    w.coefficients[c, place] += change
    if w.average.shape[1] > 0:
        w.average[c, place] -= w.numbers[SCALES] * change


@jit(forceinline=True)
def refresh_norm(w, place, own):
    """Compute the norm of a vector's coefficients, K(x, x) = own."""
    total = 0.0
    for c in range(len(w.coefficients)):
        total += w.coefficients[c, place] ** 2
    w.norms[place] = total * own


@jit(forceinline=True)
def change_squared_norm(w, change):
    """Add to ||w||^2 what a change of the coefficients adds to ``sum_i ||f_i||^2`` or ||g||^2 at scale 1."""
    half = 0.5 if len(w.coefficients) == 1 else 1.0
    w.numbers[SQUARED_NORM] += half * w.numbers[SCALE] ** 2 * change


@jit(forceinline=True)
def forget(w, place):
    """Take the vector at a place out; the last moves there. ||w||^2 is left as it is."""
    last = w.vectors.size[0] - 1
    for c in range(len(w.coefficients)):
        w.coefficients[c, place] = w.coefficients[c, last]
        w.coefficients[c, last] = 0.0
        if w.average.shape[1] > 0:
            w.average[c, place] = w.average[c, last]
            w.average[c, last] = 0.0
    w.norms[place], w.norms[last] = w.norms[last], 0.0
    w.ages[place] = w.ages[last]
    drop(w.vectors, place)


@jit(forceinline=True)
def project_on_ball(w, regularization):
    """Scale w to a length of at most 1 / sqrt(lambda)."""
    product = regularization * w.numbers[SQUARED_NORM]
    if product > 1.0:
        shrink(w, 1.0 / np.sqrt(product))


@jit(forceinline=True)
def add_to_average(w):
    """Count the present hypothesis in the average."""
    if w.average.shape[1] > 0:
        w.numbers[SCALES] += w.numbers[SCALE]


@jit(forceinline=True)
def smallest(w):
    """Choose the vector with the least ``||alpha_p||^2 K(x_p, x_p)``; of those within 1e-9 of it, the oldest."""
    m, norms, ages = w.vectors.size[0], w.norms, w.ages
    limit = _least(norms, m) * (1.0 + 1e-9)
    chosen = np.int64(-1)
    for j in range(np.uint64(0), np.uint64(m)):
        if norms[j] <= limit and (chosen < 0 or ages[j] < ages[chosen]):
            chosen = np.int64(j)
    return chosen


@jit(fastmath={"nnan", "nsz", "reassoc"}, forceinline=True)
def _least(numbers, m):
    least = np.inf
    for j in range(np.uint64(0), np.uint64(m)):
        least = min(least, numbers[j])
    return least


@jit(forceinline=True)
def overlap(w, place, kernel_row):
    """Compute ``sum_i c_i f_i(x)`` at scale 1, c the coefficients at a place and ``kernel_row`` that of x."""
    total, m = 0.0, w.vectors.size[0]
    for c in range(len(w.coefficients)):
        total += w.coefficients[c, place] * weighted_sum(w.coefficients, c, kernel_row, m)
    return total


def squared_norm(w: Expansion) -> float:
    """Give ||w||^2 as it is carried along."""
    return float(w.numbers[SQUARED_NORM])
