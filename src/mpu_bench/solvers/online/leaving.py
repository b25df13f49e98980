"""Who leaves a full budget of B vectors for one more: the registry of all rules.

A rule is a number, by which one compiled function branches; what a rule remembers is in `Leaving`. Perceptrons ask for
the slot of a new example before it is stored (`slot_for`), and the vector that was there is dropped:

- ``OLDEST``: slots are taken in turn;
- ``RANDOM``: any of the vectors stored before, all equally likely;
- ``MIN_NEEDED``: the vector that is best explained by the others (`cks`); ``MIN_NEEDED_BEFORE`` the new one came;
- ``SHRUNK``: the oldest, after all weights have shrunk just enough (`forgetron`).

Pegasos stores the example first, and one of B + 1 leaves then (`maintain`, lines 5 to 7 of `bpegasos`):

- ``RANDOM``: a vector chosen uniformly, the new one included, is dropped;
- ``SMALLEST``: the vector with the smallest ||alpha_p||^2 K(x_p, x_p) is dropped, the oldest of those within 1e-9.

`projection` and `merging`, which make something of the smallest, have much code and scratch: types of their own.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mpu_bench.core.counters import KERNEL_COMPUTED, KERNEL_EVALUATIONS
from mpu_bench.core.jit import jit, jit_dispatch
from mpu_bench.core.numeric import multiply
from mpu_bench.core.rng import randint
from mpu_bench.core.vectors import stored_kernel_values
from mpu_bench.kernels import value
from mpu_bench.kernels.precision import Precision
from mpu_bench.solvers.online.expansion import change_squared_norm, overlap, remove, smallest

OLDEST, RANDOM, SMALLEST, MIN_NEEDED, SHRUNK, MIN_NEEDED_BEFORE = range(6)

_TIE = 1e-9  # margins are equal that differ by no more than this part
_DAMAGE_PER_MISTAKE = 15 / 32  # of (4) in `forgetron`


class Leaving(NamedTuple):
    """A rule, and what it remembers of the vectors of c functions by slot; what it has no use for is empty."""

    rule: int
    budget: int  #: B
    generator: NDArray[np.uint64]  #: of `RANDOM`
    kernel_matrix: NDArray[np.floating[Any]]  #: (c, B, B) K(x_i, x_j) but for the diagonal
    others: NDArray[np.float64]  #: (c, B) g_j, what all but the j-th give the j-th
    inserted_at: NDArray[np.int64]  #: (c, B) the number of the error it came with
    damage: NDArray[np.float64]  #: (c,) Q of `forgetron`


def new_leaving(
    rule: int,
    budget: int,
    precision: Precision,
    generator: NDArray[np.uint64] | None = None,
    functions: int = 0,
) -> Leaving:
    """Return what a rule remembers of nothing: of so many functions of a perceptron."""
    dtype = np.float32 if precision == "single" else np.float64
    by_slot = functions if rule in (MIN_NEEDED, MIN_NEEDED_BEFORE) else 0
    matrices = functions if rule == SHRUNK else by_slot
    return Leaving(
        rule,
        budget,
        np.zeros(0, np.uint64) if generator is None else generator,
        np.zeros((matrices, budget, budget), dtype),
        np.zeros((by_slot, budget)),
        np.zeros((by_slot, budget), np.int64),
        np.zeros(functions),
    )


@jit_dispatch(forceinline=True)
def asks_for_slot(leaving, margin):
    """Return whether an example with y f(x) = ``margin`` is to be stored."""


@asks_for_slot.register(Leaving)
def _(_leaving, margin):
    return margin <= 0.0


@jit_dispatch
def slot_for(leaving, f, c, first, m, mistakes, kernel, counters):
    """Return the slot that a new example of function c gets, or B if it is the example itself that leaves.

    Parameters
    ----------
    leaving : Leaving, or what another learner has in its place
    f : Hypothesis
        The function's slots begin at ``first``; slots here are counted from there. That of the example is m as yet: its
        coefficient is written there, its kernel row and scores are at hand. Coefficients may be changed.
    c, first, m : integer
        The number of the function, its first slot and how many vectors it has.
    mistakes : integer
        M, the present one included.
    kernel : Kernel
    counters : array of int64
    """


@slot_for.register(Leaving)
def _(leaving, f, c, first, m, mistakes, kernel, counters):
    rule, budget = leaving.rule, leaving.budget
    coefficients, kernel_row = f.coefficients[c, first : first + budget + 1], f.kernel_row[first : first + m]
    if rule == RANDOM:
        return m if m < budget else np.int64(randint(leaving.generator, np.uint32(m)))
    if rule in (MIN_NEEDED, MIN_NEEDED_BEFORE):
        norm = 0.0
        for slot in range(first, first + m):
            norm = max(norm, np.float64(f.vectors.squared_norms[slot]))
        unit = min(value(kernel, norm, norm, norm), 1.0)  # of margins
        return _least_needed(leaving, c, coefficients, kernel_row, f.scores[c], mistakes, unit, counters)
    oldest = (mistakes - 1) % budget
    if rule == SHRUNK:
        row, norm = leaving.kernel_matrix[c, oldest], np.float64(f.vectors.squared_norms[first + oldest])
        if m == budget:
            mu = _margin(coefficients, kernel_row, row, oldest, value(kernel, norm, norm, norm))
            counters[KERNEL_EVALUATIONS] += budget + 1
            counters[KERNEL_COMPUTED] += 1
            phi, leaving.damage[c] = shrink(abs(coefficients[oldest]), mu, leaving.damage[c], mistakes)  # step 2
            if phi < 1.0:
                multiply(coefficients, phi)
        _remember(leaving.kernel_matrix[c], oldest, kernel_row)
    return oldest


@jit
def _least_needed(leaving, c, coefficients, kernel_row, score, mistakes, unit, counters):
    m, budget, others, inserted_at = len(kernel_row), leaving.budget, leaving.others[c], leaving.inserted_at[c]
    sign, slot = coefficients[m], np.int64(m)
    if m == budget:
        new = sign if leaving.rule == MIN_NEEDED else 0.0
        slot = _largest_margin(others, inserted_at, coefficients, kernel_row, score, new, unit)
        counters[KERNEL_EVALUATIONS] += budget + 1
    if slot == budget:  # the new example itself leaves
        return slot
    g = score
    for j in range(m):
        others[j] += sign * kernel_row[j]
    if slot < m:
        leaves, row = coefficients[slot], leaving.kernel_matrix[c, slot]
        g -= leaves * kernel_row[slot]
        for j in range(m):
            others[j] -= leaves * row[j]
    others[slot], inserted_at[slot] = g, mistakes
    _remember(leaving.kernel_matrix[c], slot, kernel_row)
    return slot


@jit
def _largest_margin(others, inserted_at, coefficients, kernel_row, score, sign, unit):
    """Return the slot of ``argmax_j y_j g_j`` after the insertion, B for the new example; the oldest on ties.

    ``sign`` is the weight of the new example; with 0 it is as before the insertion, and the example is no candidate.
    Ties are in units of the largest margin, or of ``unit`` where that is more.
    """
    budget = np.int64(len(kernel_row))
    largest = sign * score if sign != 0.0 else -np.inf
    for j in range(budget):
        largest = max(largest, coefficients[j] * (others[j] + sign * kernel_row[j]))
    threshold, slot = largest - _TIE * max(unit, abs(largest)), budget
    for j in range(budget):
        margin = coefficients[j] * (others[j] + sign * kernel_row[j])
        if margin >= threshold and (slot == budget or inserted_at[j] < inserted_at[slot]):
            slot = np.int64(j)
    return slot


@jit
def _margin(coefficients, kernel_row, row, r, k_rr):
    """Return ``mu = y_r f'(x_r)`` from the kernel values of the stored vectors and of the new one with x_r."""
    total = coefficients[r] * k_rr + coefficients[len(row)] * kernel_row[r]
    for j in range(len(row)):
        if j != r:
            total += coefficients[j] * row[j]
    return total if coefficients[r] > 0 else -total


@jit
def shrink(sigma, mu, damage, mistakes):
    """Return phi of `forgetron`.

    Parameters
    ----------
    sigma, mu : float
        The weight and the margin of the vector that leaves; sigma > 0.
    damage : float
        Q, at most 15/32 (M - 1).
    mistakes : int
        M.

    Returns
    -------
    phi : float
        The largest in (0, 1] for which (4) holds.
    damage : float
        Q + Psi(sigma, phi, mu), at most 15/32 M.
    """
    # (4) is a phi^2 + b phi <= slack, with b > 0 and slack > 0
    a, b, slack = sigma * (sigma - 2.0 * mu), 2.0 * sigma, _DAMAGE_PER_MISTAKE * mistakes - damage
    if a + b <= slack:
        return 1.0, min(damage + a + b, _DAMAGE_PER_MISTAKE * mistakes)
    return 2.0 * slack / (b + np.sqrt(b * b + 4.0 * a * slack)), _DAMAGE_PER_MISTAKE * mistakes


@jit
def _remember(kernel_matrix, slot, kernel_row):
    """Write the kernel values of the vector that comes to a slot with those stored into its row and column."""
    for j in range(len(kernel_row)):
        kernel_matrix[slot, j] = kernel_matrix[j, slot] = kernel_row[j]


@jit_dispatch
def maintain(maintenance, w, kernel, budget, counters):
    """Let one vector go if there are more than the budget."""


@maintain.register(Leaving)
def _(leaving, w, kernel, budget, counters):
    """Drop one: ||w - alpha_p phi_p||^2 = ||w||^2 - 2 sum_i alpha_pi f_i(x_p) + ||alpha_p||^2 K(x_p, x_p)."""
    m, kernel_row = w.f.vectors.size[0], w.f.kernel_row  # that of the example is done with
    if m > budget:
        if leaving.rule == RANDOM:
            p = np.int64(randint(leaving.generator, np.uint32(m)))
        else:
            p = smallest(w.norms, w.inserted_at, m)
        counters[KERNEL_EVALUATIONS] += m
        counters[KERNEL_COMPUTED] += m
        stored_kernel_values(w.f.vectors, kernel, p, kernel_row)
        change_squared_norm(w, w.norms[p] - 2.0 * overlap(w.f.coefficients, p, kernel_row, m))
        remove(w, p)
