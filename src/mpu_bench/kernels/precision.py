"""Whether kernel values in single precision tell examples apart, and whether sums of them are exact enough.

The ||a - b||^2 of a shift-invariant kernel is taken from ||a||^2 + ||b||^2 - 2 a.b, which is as exact as its largest
part: of rows that are far from the origin for their distances, such as years or pressures as they are, little is left.

The values of a linear or polynomial kernel are as large as the rows are long, and far from the origin most of them
cancels in a response or score. Each is rounded by eps / 2 of it, a power by `degree` times that; these roundings are
independent, so that their sum grows as the length of the coefficients and not as the sum of their absolute values.

Values up to about 1 may be kept as fixed-point numbers: in the bytes of single precision these are 128 times as exact,
since no bit goes to an exponent.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from mpu_bench.core.problem import Problem
from mpu_bench.core.rows import Dense, Rows, squared_norms
from mpu_bench.kernels import Kernel

Precision = Literal["single", "double"]
RowPrecision = Literal["single", "fixed", "double"]  #: of kernel rows that are kept
DTYPES: dict[RowPrecision, np.dtype[Any]] = {
    "single": np.dtype(np.float32),
    "fixed": np.dtype(np.int32),
    "double": np.dtype(np.float64),
}
FIXED_UNIT = 2.0**-30  #: of fixed-point numbers

FAR = "the rows are so far from the origin that rounding changes kernel values"  #: where double precision is not enough
_LARGEST_GROWTH = 4000.0  # of a Gaussian at gamma ||x||^2 = 1000: single precision may change a value by 1e-4 of it
_LARGEST_GROWTH_IN_DOUBLE = _LARGEST_GROWTH * 2.0**29  # the same of double precision
_LARGEST_FIXED = 1.5  # int32 has room for less than 2
_LARGEST_ROUNDING = 0.01  # of a score: scores of support vectors on the margin are 1 apart from zero
_SMALLEST_NUMBER, _LARGEST_NUMBER = 1e-30, 1e30  # but for zero; what is smaller loses digits in single precision
_RESPONSE_ACCURACY = 1e-3  # of y f(x), where a solver has no tolerance of its own


def is_single_enough(rows: Rows, kernel: Kernel) -> bool:
    """Return whether single precision changes kernel values by next to nothing: squared norms, and what is tiny."""
    return _is_single_enough(squared_norms(rows), kernel)


def _is_single_enough(norms: NDArray[np.float64], kernel: Kernel) -> bool:
    largest = float(norms.max(initial=0.0))
    if kernel.shift_invariant and kernel.growth(largest) > _LARGEST_GROWTH:
        return False
    parameters = [abs(float(parameter)) for parameter in kernel.parameters.values()]
    numbers = (*parameters, largest, float(kernel.bound(largest)))
    return not any(0.0 < number < _SMALLEST_NUMBER for number in numbers) and max(parameters, default=0.0) < (
        _LARGEST_NUMBER
    )


def is_double_enough(rows: Rows, kernel: Kernel, of_angles: bool = False) -> bool:
    """Return whether double precision tells rows apart: by their distances, or by angles of random Fourier features."""
    if not kernel.shift_invariant:  # without a look at the rows, for every score asks
        return True
    growth = kernel.growth(float(squared_norms(rows).max(initial=0.0)))
    return bool((np.sqrt(growth) if of_angles else growth) <= _LARGEST_GROWTH_IN_DOUBLE)


def sum_rounding(
    norms: NDArray[np.float64],
    kernel: Kernel,
    length: float,
    dtype: np.dtype[Any],
    counts_distances: bool = False,
) -> float:
    """Return by how much the rounding of kernel values may change a sum of them; an estimate, not a bound.

    Parameters
    ----------
    norms : array of float64, shape (n,)
        ``||x_j||^2`` of the rows that are summed over, as long as which the others are taken to be.
    kernel : Kernel
    length : float
        sqrt(sum_j alpha_j^2) of the coefficients.
    dtype : dtype
        Of the values.
    counts_distances : bool
        Whether the rounding of the distances of a shift-invariant kernel counts; else `is_single_enough` looks at it.
    """
    largest = float(norms.max(initial=0.0))
    growth = kernel.growth(largest) if counts_distances or not kernel.shift_invariant else 1.0
    with np.errstate(over="ignore", invalid="ignore"):
        unit, bound = (FIXED_UNIT, 1.0) if dtype == np.int32 else (np.finfo(dtype).eps, kernel.bound(largest))
        return float(unit / 2 * length * bound * growth)


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
    norms = squared_norms(vectors)
    if not _is_single_enough(norms, kernel):
        return False
    # what a score is to be compared with is the margin, 1; NaN is not below anything
    return sum_rounding(norms, kernel, length, np.dtype(np.float32)) <= _LARGEST_ROUNDING


def precision_of_rows(
    problem: Problem, kernel: Kernel, coefficient: float | None, accuracy: float = _RESPONSE_ACCURACY
) -> Precision:
    """Return the precision of the kernel rows of which a solver keeps sums, the responses of all n examples.

    Parameters
    ----------
    problem : Problem
    kernel : Kernel
    coefficient : float or None
        The largest that an example may get, such as C; None where that is not known: then single precision is taken for
        values up to 1 only.
    accuracy : float
        Wanted of a response, which is to be compared with 1.

    Returns
    -------
    {"single", "double"}
        Values that are too large for single precision are not saved by this: `matrix.build` refuses them.
    """
    norms = squared_norms(problem.train)
    largest = float(kernel.bound(norms.max()))
    if largest > float(np.finfo(np.float32).max) / 4:
        return "single"
    if not _is_single_enough(norms, kernel):
        return "double"
    if coefficient is None:
        return "single" if largest <= 1.0 else "double"
    length = coefficient * float(np.sqrt(problem.n))
    return "single" if sum_rounding(norms, kernel, length, np.dtype(np.float32)) <= accuracy else "double"


def is_fixed_enough(problem: Problem, kernel: Kernel, coefficient: float, accuracy: float) -> bool:
    """Return whether kernel rows may be kept in fixed point; parameters as of `precision_of_rows`."""
    norms, length = squared_norms(problem.train), coefficient * float(np.sqrt(problem.n))
    if not _is_single_enough(norms, kernel) or kernel.bound(norms.max()) > _LARGEST_FIXED:
        return False
    return sum_rounding(norms, kernel, length, DTYPES["fixed"]) <= accuracy


def precision_for(problem: Problem, kernel: Kernel, wanted: Precision) -> Precision:
    """Return the precision of kernel values on a problem: double where single is not enough, whatever is wanted."""
    return wanted if all(is_single_enough(rows, kernel) for rows in problem.rows_by_block()) else "double"


def centred(rows: Rows, kernel: Kernel, dtype: type[np.floating[Any]] | None = None) -> Rows:
    """Return dense rows less their mean, between which the distances are the same, where that is all a kernel asks for.

    Rows that single precision tells apart, and others, are returned as they are.

    Parameters
    ----------
    rows : Rows
    kernel : Kernel
    dtype : type, optional
        Of the rows returned; that of the rows by default.
    """
    if not (isinstance(rows, Dense) and kernel.shift_invariant) or is_single_enough(rows, kernel):
        return rows
    values = rows.values.astype(dtype or rows.values.dtype)
    return Dense((values - values.mean(axis=0, dtype=np.float64)).astype(values.dtype))


def centred_on(vectors: Dense, rows: Dense, kernel: Kernel) -> tuple[Dense, Dense]:
    """Return both less the mean of the vectors, where the kernel allows it and double precision would not do else."""
    if is_double_enough(vectors, kernel):
        return vectors, rows
    mean = vectors.values.mean(axis=0, dtype=np.float64)
    return Dense(vectors.values - mean), Dense(rows.values - mean)
