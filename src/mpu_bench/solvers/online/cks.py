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
from mpu_bench.solvers.online.budget_perceptrons import RULES, BudgetPerceptron, budget_of, kernel_matrices, remember

_TIE = 1e-9


class LargestMargin(NamedTuple):
    """What is remembered of the vectors of c machines, by place."""

    others: NDArray[np.float64]  #: (c, B) g_j, what all but the j-th give the j-th
    born: NDArray[np.int64]  #: (c, B) the number of the error it came with
    kernel_matrix: NDArray[np.floating[Any]]  #: (c, B, B) K(x_i, x_j); the diagonal is not used


@dataclass(frozen=True)
class CKS(BudgetPerceptron):
    """CKS; `BudgetPerceptron` has the parameters."""

    name = "cks"
    paper = "forgetron-2005"

    def rule(self, machines: int, seed: int) -> LargestMargin:  # noqa: ARG002
        """Remember the margins."""
        shape = machines, self.vectors
        matrices = kernel_matrices(*shape, self.precision)
        return LargestMargin(np.zeros(shape), np.zeros(shape, np.int64), matrices)


def _drop_largest_margin(rule, c, f, _kernel, counters):
    m, budget = f.vectors.size[0], budget_of(f)
    others, born, kernel_row = rule.others[c], rule.born[c], f.kernel_row[:m]
    sign, place = f.coefficients[m], m
    if m == budget:
        place = _largest_margin(others, born, f.coefficients, kernel_row, f.score[0])
        counters[KERNEL_EVALUATIONS] += budget + 1
    if place == budget:  # the new example itself leaves
        return place
    own = f.score[0]
    for j in range(m):
        others[j] += sign * kernel_row[j]
    if place < m:
        leaving, row = f.coefficients[place], rule.kernel_matrix[c, place]
        own -= leaving * kernel_row[place]
        for j in range(m):
            others[j] -= leaving * row[j]
    others[place], born[place] = own, f.mistakes[0]
    remember(rule.kernel_matrix[c], place, kernel_row)
    return place


RULES[LargestMargin] = _drop_largest_margin


@jit
def _largest_margin(others, born, coefficients, kernel_row, score):
    """Give the place of ``argmax_j y_j g_j`` after the insertion, B for the new example; the oldest on ties."""
    budget = np.int64(len(kernel_row))
    sign = coefficients[budget]
    largest = sign * score
    for j in range(budget):
        largest = max(largest, coefficients[j] * (others[j] + sign * kernel_row[j]))
    least, place = largest - _TIE * max(1.0, abs(largest)), budget
    for j in range(budget):
        if coefficients[j] * (others[j] + sign * kernel_row[j]) >= least and (place == budget or born[j] < born[place]):
            place = np.int64(j)
    return place
