"""Whether kernel values in single precision tell examples apart.

A Gaussian's ||a - b||^2 is taken from ||a||^2 + ||b||^2 - 2 a.b, which is as exact as its largest part: of rows that
are far from the origin for their distances, such as years or pressures as they are, little is left of it.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from mpu_bench.core.kernels import Gaussian, Kernel
from mpu_bench.core.problem import Problem
from mpu_bench.core.rows import Dense, Rows, squared_norms

Precision = Literal["single", "double"]

_LARGEST_EXPONENT = 1000.0  # gamma ||x||^2, whose rounding to single precision may change a kernel value by 1e-4 of it


def is_single_enough(rows: Rows, kernel: Kernel) -> bool:
    """Return whether the rounding of squared norms to single precision changes kernel values by next to nothing."""
    return not (
        isinstance(kernel, Gaussian) and kernel.gamma * float(squared_norms(rows).max(initial=0.0)) > _LARGEST_EXPONENT
    )


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
