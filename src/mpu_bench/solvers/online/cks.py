"""CKS: the Perceptron that drops the vector which is best explained by the others.

    f(x) = sum_j y_j K(x_j, x)   over the stored vectors S, |S| <= B

Crammer, Kandola, Singer: "Online classification on a budget", NIPS 2003, as Dekel, Shalev-Shwartz, Singer ("The
Forgetron", NIPS 2005, section 5) compare with it: on an error insert the example; past B remove

    argmax_j y_j (f(x_j) - y_j K(x_j, x_j))

the vector whose margin is the largest after its removal. The new example is among the candidates; on ties (within
1e-9, so that rounding does not decide) the oldest leaves. `g_j = f(x_j) - y_j K(x_j, x_j)` is carried along for all
stored vectors.

Counted: |S| kernel evaluations per example presented, and the B + 1 of the vector that leaves with those stored and
the new one; they are at hand in a matrix of B x B kernel values, so nothing is computed for them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mpu_bench.core.counters import KERNEL_EVALUATIONS
from mpu_bench.core.jit import jit
from mpu_bench.kernels.precision import Precision
from mpu_bench.solvers.online.budget_perceptrons import (
    BudgetPerceptron,
    budget_of,
    free_slot,
    kernel_matrices,
    remember,
)

_TIE = 1e-9  # margins are equal that differ by no more than this part


class LargestMargin(NamedTuple):
    """What is remembered of the vectors of c hypotheses, by slot."""

    others: NDArray[np.float64]  #: (c, B) g_j, what all but the j-th give the j-th
    inserted_at: NDArray[np.int64]  #: (c, B) the number of the error it came with
    kernel_matrix: NDArray[np.floating[Any]]  #: (c, B, B) K(x_i, x_j); the diagonal is not used


@dataclass(frozen=True)
class CKS(BudgetPerceptron):
    """CKS; `BudgetPerceptron` has the parameters."""

    name = "cks"
    paper = "forgetron-2005"

    def removal(self, functions: int, precision: Precision, seed: int) -> LargestMargin:  # noqa: ARG002
        """Remember the margins."""
        shape = functions, self.vectors
        matrices = kernel_matrices(*shape, precision)
        return LargestMargin(np.zeros(shape), np.zeros(shape, np.int64), matrices)


@free_slot.register(LargestMargin)
def _(removal, c, f, _kernel, counters):
    m, budget, coefficients, score = f.vectors.size[0], budget_of(f), f.coefficients, f.score[0]
    others, inserted_at, kernel_row = removal.others[c], removal.inserted_at[c], f.kernel_row[:m]
    sign, slot = coefficients[m], m
    if m == budget:
        slot = _largest_margin(others, inserted_at, coefficients, kernel_row, score)
        counters[KERNEL_EVALUATIONS] += budget + 1
    if slot == budget:  # the new example itself leaves
        return slot
    g = score
    for j in range(m):
        others[j] += sign * kernel_row[j]
    if slot < m:
        leaving, row = coefficients[slot], removal.kernel_matrix[c, slot]
        g -= leaving * kernel_row[slot]
        for j in range(m):
            others[j] -= leaving * row[j]
    others[slot], inserted_at[slot] = g, f.mistakes[0]
    remember(removal.kernel_matrix[c], slot, kernel_row)
    return slot


@jit
def _largest_margin(others, inserted_at, coefficients, kernel_row, score):
    """Return the slot of ``argmax_j y_j g_j`` after the insertion, B for the new example; the oldest on ties."""
    budget = np.int64(len(kernel_row))
    sign = coefficients[budget]
    largest = sign * score
    for j in range(budget):
        largest = max(largest, coefficients[j] * (others[j] + sign * kernel_row[j]))
    threshold, slot = largest - _TIE * max(1.0, abs(largest)), budget
    for j in range(budget):
        margin = coefficients[j] * (others[j] + sign * kernel_row[j])
        if margin >= threshold and (slot == budget or inserted_at[j] < inserted_at[slot]):
            slot = np.int64(j)
    return slot
