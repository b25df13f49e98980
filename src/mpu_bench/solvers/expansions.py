"""What the coefficients of a kernel expansion certify, whatever precision a solver has found them in.

The kernel values of a solver may be in single precision, and what it keeps of them has gone through as many roundings
as it has made steps. So responses are computed anew, from the coefficients alone and in double precision, and the gap
is rounded up by what these may still be wrong. Where that takes more than a second, the responses that the solver keeps
are taken, with an estimate of their rounding: on the way, and at the end if that at most doubles the gap.

A kernel that is not positive semi-definite, such as a polynomial with an offset below zero, certifies nothing: there
is no dual objective then, and no gap.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mpu_bench.core.models import KernelModel
from mpu_bench.core.problem import Problem
from mpu_bench.core.rows import squared_norms
from mpu_bench.core.solver import Measures
from mpu_bench.kernels import Kernel
from mpu_bench.kernels.matrix import Gram
from mpu_bench.kernels.precision import sum_rounding
from mpu_bench.solvers.certificates import PerExample, certify_kernel, kernel_primal, nu_of, rounding

_MAX_PRODUCTS = 1 << 31  # of two numbers, without another look at what they cost: about a second
_MAX_OF_ROUNDING = 2.0  # times the gap without it, for which nothing is computed anew
_FEW = 16  # roundings of a value once its inner product is known


class Responses(NamedTuple):
    """``f_i = sum_j coefficients_j K(x_j, x_i)``, and by how much each may be wrong; both of shape (n,)."""

    values: NDArray[np.float64]
    wrong: NDArray[np.float64]


class Kept(NamedTuple):
    """The responses that a solver keeps, shape (n,), and the kernel rows that it keeps them of."""

    values: NDArray[np.float64]
    gram: Gram

    def rounded(self, problem: Problem, coefficients: NDArray[np.float64]) -> Responses:
        """Return them with an estimate of the rounding of the kernel values in them."""
        kernel, norms = self.gram.kernel, squared_norms(problem.train)
        length = float(np.linalg.norm(coefficients))
        wrong = sum_rounding(norms, kernel, length, self.gram.kept.dtype, counts_distances=True)
        return Responses(self.values, np.full(len(self.values), wrong))


def responses_of(
    problem: Problem, kernel: Kernel, coefficients: NDArray[np.float64], kept: Kept | None = None
) -> Responses:
    """Return responses from the coefficients alone, or those that are kept where that takes too long.

    Parameters
    ----------
    problem : Problem
    kernel : Kernel
    coefficients : array of float64, shape (n,)
    kept : Kept, optional
    """
    if kept is not None and _takes_long(problem, coefficients):
        return kept.rounded(problem, coefficients)
    model = KernelModel.of_support(problem.train, coefficients, kernel, problem.features)
    wrong = response_rounding(squared_norms(problem.train), kernel, problem.features, coefficients)
    return Responses(model.double_scores(problem.train)[:, 0], wrong)


def response_rounding(
    norms: NDArray[np.float64], kernel: Kernel, features: int, coefficients: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Bound by how much responses in double precision may be wrong; of shape (n,).

    Parameters
    ----------
    norms : array of float64, shape (n,)
        ``||x_i||^2``.
    kernel : Kernel
    features : int
    coefficients : array of float64, shape (n,)
    """
    lengths = np.sqrt(kernel.bound(norms))
    of_value = 2.0 * kernel.growth(norms.max()) * rounding(features + _FEW, 1.0)
    unit = of_value + rounding(int(np.count_nonzero(coefficients)), 1.0)
    return np.asarray(unit * float(np.abs(coefficients) @ lengths) * lengths)


def _takes_long(problem: Problem, coefficients: NDArray[np.float64]) -> bool:
    return int(np.count_nonzero(coefficients)) * max(part.size for part in problem.train) > _MAX_PRODUCTS


def certify_expansion(
    problem: Problem,
    kernel: Kernel,
    coefficients: NDArray[np.float64],
    C: PerExample,
    bias: float = 0.0,
    kept: Kept | None = None,
    has_ended: bool = True,
) -> Measures:
    """Bound the error of a kernel expansion by its own coefficients, which are dual variables.

    Parameters
    ----------
    problem, kernel, coefficients, kept
        As of `responses_of`; the coefficients have the signs of the labels.
    C : array of float64, shape (n,) or (1,)
        The weight of each loss, or of all, above 0.
    bias : float
        b; 0 where there is none.
    has_ended : bool
        Whether these coefficients are the solver's last: then the gap is at most twice what it is without the rounding
        of what is kept.

    Returns
    -------
    Measures
        The primal objective alone, if the kernel is not positive semi-definite.
    """

    def certified(responses: Responses) -> Measures:
        measures = _measured(problem.signs(), coefficients, C, bias, responses, kernel.positive_semidefinite)
        return measures if kernel.positive_semidefinite else measures._replace(nu=None)

    if kept is not None and _takes_long(problem, coefficients):
        measures = certified(kept.rounded(problem, coefficients))
        if not has_ended or not kernel.positive_semidefinite:
            return measures
        unrounded = certified(Responses(kept.values, np.zeros_like(kept.values))).gap
        if measures.gap is not None and unrounded is not None and measures.gap <= _MAX_OF_ROUNDING * unrounded:
            return measures
    return certified(responses_of(problem, kernel, coefficients))


def evaluate_expansion(
    problem: Problem, kernel: Kernel, coefficients: NDArray[np.float64], C: PerExample, kept: Kept
) -> Measures:
    """Return the objective of coefficients that are no dual variables, and nu; parameters as of `certify_expansion`."""
    responses = responses_of(problem, kernel, coefficients, kept)
    return _measured(problem.signs(), coefficients, C, 0.0, responses, certifies=False)


def _measured(
    signs: NDArray[np.float64],
    coefficients: NDArray[np.float64],
    C: PerExample,
    bias: float,
    responses: Responses,
    certifies: bool,
) -> Measures:
    n, (values, wrong), sizes = len(coefficients), responses, np.abs(coefficients)
    squared, slack = float(coefficients @ values), 1.0 - signs * (values + bias)
    losses = np.maximum(0.0, slack)
    wrong = wrong + rounding(2, 1.0) * (np.abs(values) + abs(bias) + 1.0)
    of_losses = float((C * np.where(slack > -wrong, wrong, 0.0)).sum()) + rounding(n, float((C * losses).sum()))
    of_squared = float(sizes @ wrong) / 2 + rounding(n, float(sizes @ np.abs(values)) / 2)
    if not certifies:
        nu = nu_of(losses, squared, of_squared)
        return Measures.evaluated(kernel_primal(squared, losses, C), of_squared + of_losses, nu=nu)
    of_dual = rounding(n, float(sizes.sum())) + abs(bias * float(coefficients.sum()))
    wrong_by = of_squared + max(of_losses, of_dual)
    return certify_kernel(coefficients, squared, losses, C, wrong_by, of_norm=of_squared)
