"""Whether kernel values in single precision tell examples apart, and whether scores of them are exact enough.

A Gaussian's ||a - b||^2 is taken from ||a||^2 + ||b||^2 - 2 a.b, which is as exact as its largest part: of rows that
are far from the origin for their distances, such as years or pressures as they are, little is left of it.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from mpu_bench.core.kernels import Gaussian, Kernel, Polynomial
from mpu_bench.core.problem import Problem
from mpu_bench.core.rows import Dense, Rows, squared_norms

Precision = Literal["single", "double"]

_LARGEST_EXPONENT = 1000.0  # gamma ||x||^2, whose rounding to single precision may change a kernel value by 1e-4 of it
_LARGEST_ROUNDING = 0.01  # of a score: scores of support vectors on the margin are 1 apart from zero
_SINGLE_ROUNDING = float(np.finfo(np.float32).eps) / 2


def is_single_enough(rows: Rows, kernel: Kernel) -> bool:
    """Return whether the rounding of squared norms to single precision changes kernel values by next to nothing."""
    return not (
        isinstance(kernel, Gaussian) and kernel.gamma * float(squared_norms(rows).max(initial=0.0)) > _LARGEST_EXPONENT
    )


def is_single_enough_for_scores(vectors: Rows, kernel: Kernel, length: float) -> bool:
    """Return whether scores may be sums of kernel values in single precision.

    Parameters
    ----------
    vectors : Rows
        x_j, those of the model.
    kernel : Kernel
    length : float
        sqrt(sum_j alpha_j^2) of the model's coefficients, the largest of its functions.
    """
    if isinstance(kernel, Gaussian):
        return is_single_enough(vectors, kernel)
    # The values of a linear or polynomial kernel are as large as the rows are long, and far from the origin most of
    # them cancels in a score. Each is rounded by eps / 2 of it, a power by `degree` times that; these are independent,
    # so that their sum grows as the length of the coefficients and not as the sum of their absolute values. What a
    # score is to be compared with is the margin, 1. Rows are taken to be about as long as the vectors.
    rounding = _SINGLE_ROUNDING * length * _scaled_diagonal(kernel, float(squared_norms(vectors).max(initial=0.0)))
    return bool(rounding <= _LARGEST_ROUNDING)  # NaN is not


def _scaled_diagonal(kernel: Kernel, squared_norm: float) -> float:
    """Return K(x, x), times the degree of a polynomial; infinite where it is too large for a float."""
    if not isinstance(kernel, Polynomial):
        return squared_norm
    if kernel.normalize:
        return float(kernel.degree)
    with np.errstate(over="ignore", invalid="ignore"):
        base = abs(kernel.scale) * np.float64(squared_norm) + abs(kernel.offset)
        return float(kernel.degree * base**kernel.degree)


def precision_for(problem: Problem, kernel: Kernel, wanted: Precision) -> Precision:
    """Return the precision of kernel values on a problem: double where single is not enough, whatever is wanted.

    Of a stream it is told from the first block.
    """
    return wanted if is_single_enough(problem.train, kernel) else "double"


def centred(rows: Rows) -> Rows:
    """Return dense rows less their mean, between which the distances are the same; other rows as they are."""
    if not isinstance(rows, Dense):
        return rows
    mean = rows.values.mean(axis=0, dtype=np.float64)
    return Dense((rows.values - mean).astype(rows.values.dtype))
