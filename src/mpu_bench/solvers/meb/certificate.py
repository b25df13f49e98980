"""What the weights of a ball, and nothing else, say of the optimum: of the radius, and of the L2-SVM itself.

With m_i = y_i f(x_i), s_i = m_i + alpha_i / C_i and R = sum_i alpha_i s_i (symbols: `ball.py`):

    radius   r^2 = Delta^2 - R,   max_i g_i = Delta^2 + R - 2 min_i s_i
    SVM      F(u) = ||u||^2 + b^2 + sum_i C_i max(0, 1 - y_i f_u(x_i))^2
    dual     2 sum_i beta_i - beta' K~ beta,   beta_i >= 0

The multiple beta = t alpha with the largest dual objective has t = 1 / R, which gives 1 / R; so R* = 1 / F*. Each
multiple v of f has an F that is at least F*, so F(v f) R - 1 bounds the relative error of R and of F alike:
R <= (1 + gap) R*. The best v is the minimum of a convex function of one variable. Where all s_i are above zero,
v = 1 / min s and the losses alpha_i / (C_i min s), which are not below those of v f, show that the gap is at most
R^2 / (min s)^2 - 1, which is at most R / (2 min s - R) - 1.

All is in double precision (`solvers/expansions.py`), and rounded so that no gap is below the true one: margins and
responses down, R and w.w up.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mpu_bench.core.problem import Problem
from mpu_bench.core.rows import squared_norms, take
from mpu_bench.core.solver import Measures
from mpu_bench.kernels import Kernel
from mpu_bench.kernels.matrix import kernel_diagonal
from mpu_bench.kernels.precision import centred
from mpu_bench.solvers.certificates import per_example, rounding
from mpu_bench.solvers.expansions import responses_of

_MULTIPLES = 30  # of f that are tried; Newton's method needs a few
_FEW = 16  # roundings beside those of a long sum


class _Bounds(NamedTuple):
    margins: NDArray[np.float64]  #: m_i (n,), from below
    least: float  #: min_i s_i, from below
    squared_norm: float  #: ||w||^2 + b^2, from above
    R: float  #: from above


def of_radius(
    problem: Problem, kernel: Kernel, C: float, members: NDArray[np.uint32], alphas: NDArray[np.float64]
) -> Measures:
    """Bound the squared radius by the farthest of all points.

    Parameters
    ----------
    problem : Problem
    kernel : Kernel
    C : float
    members : array of uint32, shape (m,)
        Examples.
    alphas : array of float64, shape (m,)
        Their weights, of any sum.
    """
    bounds, every_C = _bounds(problem, kernel, C, members, alphas), per_example(C, problem)
    first = squared_norms(take(problem.train, np.zeros(1, np.int64)))
    delta2 = float(kernel_diagonal(kernel, first)[0]) + 1.0 + 1.0 / float(np.max(every_C))
    largest = max(delta2, 1.0 / float(np.min(every_C)))
    error = kernel.growth(first[0]) * rounding(problem.features + _FEW, largest)
    return _known(kernel, Measures.certified(delta2 + bounds.R - 2 * bounds.least, delta2 - bounds.R, error))


def of_svm(
    problem: Problem, kernel: Kernel, C: float, members: NDArray[np.uint32], alphas: NDArray[np.float64]
) -> tuple[Measures, float]:
    """Bound the SVM's objective by the losses of all examples; parameters as of `of_radius`.

    Returns
    -------
    measures : Measures
    multiple : float
        The v of their objective, above zero, of the f whose weights have the sum 1.
    """
    bounds = _bounds(problem, kernel, C, members, alphas)
    loss_weights = np.broadcast_to(per_example(1.0, problem), problem.n)
    objective, best, multiple = np.inf, 0.0, 1.0 / bounds.R
    for _ in range(_MULTIPLES):
        losses = np.maximum(0.0, 1.0 - multiple * bounds.margins)
        value = multiple * multiple * bounds.squared_norm + C * float((loss_weights * losses) @ losses)
        if not (value < objective and multiple > 0.0):
            break
        objective, best, lossy = value, multiple, bounds.margins[losses > 0]
        weighted = loss_weights[losses > 0] * lossy
        multiple = C * float(weighted.sum()) / (bounds.squared_norm + C * float(weighted @ lossy))
    error = rounding(len(bounds.margins) + _FEW, objective)
    return _known(kernel, Measures.certified(objective + error, 1.0 / bounds.R)), best


def _known(kernel: Kernel, measures: Measures) -> Measures:
    """Return measures, of a kernel that is not positive semi-definite without a gap: nothing is bounded then."""
    return measures if kernel.positive_semidefinite else measures._replace(dual_objective=None, gap=None)


def _bounds(
    problem: Problem, kernel: Kernel, C: float, members: NDArray[np.uint32], alphas: NDArray[np.float64]
) -> _Bounds:
    its_C = np.broadcast_to(per_example(C, problem), problem.n)[members]
    problem = replace(problem, train=centred(problem.train, kernel, np.float64))
    alphas, signs = alphas / alphas.sum(), problem.signs()
    coefficients = np.zeros(problem.n)
    coefficients[members] = alphas * signs[members]
    scores, wrong = responses_of(problem, kernel, coefficients)
    margins = signs * (scores + coefficients.sum())
    responses = margins.copy()
    responses[members] += alphas / its_C
    wrong = wrong + rounding(len(members), 1.0) + rounding(_FEW, 1.0) * (np.abs(scores) + 1.0)
    of_sums = float(alphas @ wrong[members]) + rounding(len(members), float(alphas @ np.abs(responses[members])))
    of_norm = of_sums + rounding(len(members), float(alphas @ np.abs(margins[members])))
    squared_norm, R = max(float(alphas @ margins[members]), 0.0), max(float(alphas @ responses[members]), 0.0)
    return _Bounds(margins - wrong, float((responses - wrong).min()), squared_norm + of_norm, R + of_sums)
