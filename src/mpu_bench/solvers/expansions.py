"""What the coefficients of a kernel expansion certify, whatever precision a solver has found them in.

The kernel values of a solver may be in single precision, and what it keeps of them has gone through as many roundings
as it has made steps. So responses are computed anew, from the coefficients alone and in double precision, and the gap
is rounded up by what these may still be wrong. Where that takes long, a run on its way is measured by the responses
that the solver keeps, with an estimate of their rounding; at its end it is not.

A kernel that is not positive semi-definite, such as a polynomial with an offset below zero, certifies nothing: there
is no dual objective then, and no gap.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mpu_bench.core.models import KernelModel
from mpu_bench.core.problem import Problem
from mpu_bench.core.rows import squared_norms
from mpu_bench.core.solver import Measures
from mpu_bench.kernels import Kernel
from mpu_bench.kernels.matrix import Gram
from mpu_bench.kernels.precision import sum_rounding
from mpu_bench.solvers.certificates import Weight, certify_kernel, kernel_primal, rounding

_MOST_PRODUCTS = 1 << 31  # of two numbers, that a run on its way is measured with: about a second
_FEW = 16  # roundings of a value once its inner product is known


def responses_of(
    problem: Problem, kernel: Kernel, coefficients: NDArray[np.float64], kept: NDArray[np.float64], gram: Gram | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return ``f_i = sum_j coefficients_j K(x_j, x_i)``, and by how much each may be wrong; both of shape (n,).

    Parameters
    ----------
    problem : Problem
    kernel : Kernel
    coefficients : array of float64, shape (n,)
    kept : array of float64, shape (n,)
        Those that a solver on its way keeps.
    gram : Gram or None
        That it keeps them of; None at its end, where they are not looked at.
    """
    rows, norms = problem.train, squared_norms(problem.train)
    model = KernelModel.of_support(rows, coefficients, kernel, problem.features)
    products = model.support_vectors * max(part.size for part in rows)
    if gram is not None and products > _MOST_PRODUCTS:
        wrong = sum_rounding(norms, kernel, float(np.linalg.norm(coefficients)), gram.kept.dtype)
        return kept, np.full(len(kept), wrong)
    lengths = np.sqrt(kernel.bound(norms))
    of_value = 2.0 * kernel.growth(norms.max()) * rounding(problem.features + _FEW, 1.0)
    unit = of_value + rounding(model.support_vectors, 1.0)
    return model.double_scores(rows)[:, 0], unit * float(np.abs(coefficients) @ lengths) * lengths


def certify_expansion(
    problem: Problem,
    kernel: Kernel,
    coefficients: NDArray[np.float64],
    C: Weight,
    bias: float,
    kept: NDArray[np.float64],
    gram: Gram | None,
) -> Measures:
    """Bound the error of a kernel expansion by its own coefficients.

    Parameters
    ----------
    problem, kernel, coefficients, kept, gram
        As of `responses_of`; the coefficients have the signs of the labels.
    C : float or array of shape (n,)
        The weight of the losses, above 0.
    bias : float
        b; 0 where there is none.

    Returns
    -------
    Measures
        The primal objective alone, if the kernel is not positive semi-definite.
    """
    n, (responses, wrong), sizes = (
        len(coefficients),
        responses_of(problem, kernel, coefficients, kept, gram),
        np.abs(coefficients),
    )
    squared, slack = float(coefficients @ responses), 1.0 - problem.signs() * (responses + bias)
    losses = np.maximum(0.0, slack)
    if not kernel.positive_semidefinite:
        return Measures(kernel_primal(squared, losses, C))
    wrong = wrong + rounding(2, 1.0) * (np.abs(responses) + abs(bias) + 1.0)
    of_losses = float((C * np.where(slack > -wrong, wrong, 0.0)).sum()) + rounding(n, float((C * losses).sum()))
    of_squared = float(sizes @ wrong) / 2 + rounding(n, float(sizes @ np.abs(responses)) / 2)
    of_dual = rounding(n, float(sizes.sum())) + abs(bias * float(coefficients.sum()))
    return certify_kernel(coefficients, squared, losses, C, of_squared + max(of_losses, of_dual))
